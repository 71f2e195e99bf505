/*-------------------------------------------------------------------------
 *
 * test_memory.c
 *	  Memory noise holds what its level says, and gives it back.
 *
 * Links: src/noise/stressor.c src/noise/stream.c src/noise/switch.c src/noise/cpu.c src/noise/cache.c src/noise/disk.c
 *
 *-------------------------------------------------------------------------
 */
#include "noise/memory.c"

#include "tap.h"

#define MB		(UINT64_C(1) << 20)
#define BYTES	(64 * MB)

/* Step until nothing changes; returns the bytes held. */
static uint64_t
settle(void *state, double level_pct, int *steps)
{
	uint64_t	before;
	uint64_t	held = UINT64_MAX;

	*steps = 0;
	do
	{
		before = held;
		held = memory_hold(state, level_pct);
		++*steps;
	} while (held != before && *steps < 1000);
	return held;
}

/* Anonymous pages of this process that the kernel calls resident. */
static double
resident_bytes(void)
{
#ifdef __linux__
	long long	size = 0;
	long long	resident = 0;
	long long	shared = 0;
	FILE	   *file = fopen("/proc/self/statm", "r");

	if (file == NULL)
		return NAN;
	if (fscanf(file, "%lld %lld %lld", &size, &resident, &shared) != 3)
		resident = 0;
	fclose(file);
	return (double) (resident - shared) * (double) sysconf(_SC_PAGESIZE);
#else
	return NAN;
#endif
}

static void
test_levels(void)
{
	char		error[NN_STRESSOR_ERROR_LEN] = "";
	double		before = resident_bytes();
	void	   *state = memory_create(BYTES, 1, error);
	double		page = (double) sysconf(_SC_PAGESIZE);
	int			steps;
	double		more;

	ok(state != NULL && memory_hold(state, 0) == 0, "nothing is held before the first level");
	ok(settle(state, 50, &steps) == BYTES / 2, "half of the bytes are held at 50 %%");
	ok(steps >= 4, "in bounded steps (%d)", steps);
	more = resident_bytes() - before;
	ok(isnan(more) || fabs(more - (double) BYTES / 2) < 4.0 * MB, "and the kernel agrees (%.1f MB)", more / MB);
	for (int i = 0; i < 300; i++)
		(void) memory_hold(state, 50);
	ok(memory_hold(state, 50) == BYTES / 2, "going over what is held doesn't change the amount");
	ok(fabs((double) settle(state, 33.3, &steps) - 0.333 * (double) BYTES) <= page,
	   "another level is reached to the page");
	ok(settle(state, 100, &steps) == BYTES, "all of it at 100 %%");
	ok(settle(state, 250, &steps) == BYTES, "and never more");
	ok(settle(state, 0, &steps) == 0, "level 0 gives everything back");
	more = resident_bytes() - before;
	ok(isnan(more) || more < 4.0 * MB, "to the kernel, too (%.1f MB)", more / MB);
	memory_destroy(state);
}

static void
test_odd_sizes(void)
{
	char		error[NN_STRESSOR_ERROR_LEN] = "";
	int			steps;
	void	   *state = memory_create(4097, 1, error);

	ok(state != NULL && settle(state, 100, &steps) >= 4097, "a size that is no whole number of pages is rounded up");
	memory_destroy(state);
	ok(memory_create(UINT64_C(1) << 50, 1, error) == NULL && strstr(error, "1125899906842624") != NULL,
	   "an amount that cannot be mapped is refused with the reason (%s)", error);
}

static void
test_defaults(void)
{
	NnTopology	host;

	memset(&host, 0, sizeof(host));
	host.mem_total_bytes = host.mem_available_bytes = UINT64_C(16) << 30;
	host.limits.memory_limit_bytes = NAN;
	host.limits.memory_usage_bytes = NAN;
	host.limits.memory_room_bytes = NAN;
	ok(memory_default_workers(&host) == 1 && memory_default_bytes(&host) == 256 * MB, "256 MB by default");
	host.mem_available_bytes = 1024 * MB;
	ok(memory_default_bytes(&host) == 128 * MB, "or an eighth of what is free if that is less");
}

int
main(void)
{
	test_levels();
	test_odd_sizes();
	test_defaults();
	return tap_done();
}
