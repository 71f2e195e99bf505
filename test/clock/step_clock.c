/*-------------------------------------------------------------------------
 *
 * step_clock.c
 *	  A wall clock that a test can step: a library for LD_PRELOAD.
 *
 * The file that NN_CLOCK_FILE names holds a number of seconds, an int64_t, that is
 * added to what the wall clock says. It is mapped, so that a change is seen at once by every process
 * that has the library. The monotonic clock is left alone, as it is when an administrator sets the time.
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const int64_t no_step = 0;
static const volatile int64_t *step_s = &no_step;
static int	(*real_clock_gettime) (clockid_t, struct timespec *);

__attribute__((constructor))
static void
map_step(void)
{
	const char *path = getenv("NN_CLOCK_FILE");
	int			fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	void	   *map;

	real_clock_gettime = (int (*) (clockid_t, struct timespec *)) dlsym(RTLD_NEXT, "clock_gettime");
	if (fd < 0)
		return;
	map = mmap(NULL, sizeof(int64_t), PROT_READ, MAP_SHARED, fd, 0);
	if (map != MAP_FAILED)
		step_s = map;
	(void) close(fd);
}

int
clock_gettime(clockid_t id, struct timespec *now)
{
	int			result;

	if (real_clock_gettime == NULL)
		map_step();
	result = real_clock_gettime(id, now);
	if (result == 0 && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE))
		now->tv_sec += *step_s;
	return result;
}

int
gettimeofday(struct timeval *restrict now, void *restrict zone)
{
	struct timespec precise;

	(void) zone;
	if (clock_gettime(CLOCK_REALTIME, &precise) != 0)
		return -1;
	now->tv_sec = precise.tv_sec;
	now->tv_usec = precise.tv_nsec / 1000;
	return 0;
}

time_t
time(time_t *result)
{
	struct timespec now;

	if (clock_gettime(CLOCK_REALTIME, &now) != 0)
		return -1;
	if (result)
		*result = now.tv_sec;
	return now.tv_sec;
}
