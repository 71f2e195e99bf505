/*-------------------------------------------------------------------------
 *
 * test_switch.c
 *	  Switch noise makes as many context switches as it counts.
 *
 * Links: src/noise/stressor.c src/noise/cpu.c src/noise/cache.c src/noise/disk.c src/noise/memory.c src/noise/stream.c
 *
 *-------------------------------------------------------------------------
 */
#include "noise/switch.c"

#include <dirent.h>
#include <sys/resource.h>

#include "tap.h"

#define PIECES	500

/* Entries of a folder of this process. */
static int
count(const char *folder)
{
	DIR		   *dir = opendir(folder);
	int			n = 0;

	if (dir == NULL)
		return -1;
	while (readdir(dir) != NULL)
		n++;
	closedir(dir);
	return n;
}

int
main(void)
{
	char		error[NN_STRESSOR_ERROR_LEN] = "";
	int			files = count("/proc/self/fd");
	void	   *state = switch_create(0, 1, error);
	struct rusage before;
	struct rusage after;
	struct rlimit limit;
	uint64_t	done = 0;
	long		switches;

	ok(state != NULL, "a pair can be had");
	if (state == NULL)
		return tap_done();
	getrusage(RUSAGE_SELF, &before);
	for (int i = 0; i < PIECES; i++)
		done += switch_burn(state);
	getrusage(RUSAGE_SELF, &after);
	switches = after.ru_nvcsw - before.ru_nvcsw;
	ok(done == UINT64_C(2) * ROUNDS * PIECES, "each piece counts its hand-overs");
	ok(fabs((double) switches - (double) done) < 0.5 * (double) done,
	   "and the kernel counts about as many threads that went to sleep (%ld of %llu)", switches, (unsigned long long) done);
	switch_destroy(state);
	ok(count("/proc/self/fd") == files && (count("/proc/self/task") == 3 || count("/proc/self/task") == -1),
	   "no pipe and no partner is left");

	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = (rlim_t) 5;
	setrlimit(RLIMIT_NOFILE, &limit);
	ok(switch_create(0, 1, error) == NULL && strstr(error, "could not create two pipes") != NULL,
	   "without pipes it is refused with the reason (%s)", error);
	return tap_done();
}
