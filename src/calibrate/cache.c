/*-------------------------------------------------------------------------
 *
 * cache.c
 *	  Probe of the caches: how long a load takes whose address comes from the load before.
 *
 * One thread follows a chain of pointers through a working set, one in each cache line, in a random order that
 * visits each once; so neither prefetching nor several loads at once help.  The sizes double from 16 kB to four
 * times the last-level cache: the steps of the ladder are the host's caches, as they are to be had now.
 *
 * Small pages are asked for, so that hosts with and without transparent huge pages compare; the walk of the
 * page tables is a part of the figure for large sizes.
 *
 *-------------------------------------------------------------------------
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "calibrate/probe.h"
#include "core/chase.h"

#define SMALLEST_BYTES	(UINT64_C(16) << 10)
#define LLC_MULTIPLE	4
#define STEPS			4096	/* between two looks at the clock */
#define MOST_NS			(NN_NS_PER_S / 2)	/* of a repeat: there are many
											 * sizes */

typedef struct CacheState
{
	NnChaseLine *lines;
	size_t		bytes;
	NnChaseLine *at;
} CacheState;

static void
size_name(uint64_t bytes, char *name, size_t size)
{
	if (bytes >= UINT64_C(1) << 20)
		snprintf(name, size, "%llu MB", (unsigned long long) (bytes >> 20));
	else
		snprintf(name, size, "%llu kB", (unsigned long long) (bytes >> 10));
}

static int
cache_plan(const NnProbeOptions *options, const NnTopology *host, NnTrial *trials, char *error)
{
	uint64_t	largest = LLC_MULTIPLE * host->llc_bytes;
	int			n = 0;

	if (largest > options->memory_room_bytes)
		largest = options->memory_room_bytes;
	for (uint64_t bytes = SMALLEST_BYTES; bytes <= largest; bytes *= 2)
	{
		char		name[48];
		NnTrial    *trial;

		size_name(bytes, name, sizeof(name));
		trial = nn_trial_add(trials, &n, 1, name, "ns", NN_COMBINE_MEAN);
		trial->bytes = bytes;
		trial->duration_ns = options->duration_ns < MOST_NS ? options->duration_ns : MOST_NS;
	}
	if (n == 0)
		snprintf(error, NN_PROBE_ERROR_LEN, "there is no memory for a working set");
	return n;
}

static void
cache_destroy(void *state)
{
	CacheState *cache = state;

	(void) munmap(cache->lines, cache->bytes);
	free(cache);
}

static void *
cache_create(const NnProbeOptions *options, const NnTrial *trial, int thread, void *common, char *error)
{
	CacheState *cache = calloc(1, sizeof(CacheState));

	(void) thread;
	(void) common;
	if (cache == NULL)
	{
		snprintf(error, NN_PROBE_ERROR_LEN, "out of memory");
		return NULL;
	}
	cache->bytes = trial->bytes;
	cache->lines = mmap(NULL, cache->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (cache->lines == MAP_FAILED)
	{
		snprintf(error, NN_PROBE_ERROR_LEN, "could not map %zu bytes (error %d)", cache->bytes, errno);
		free(cache);
		return NULL;
	}
#ifdef MADV_NOHUGEPAGE
	(void) madvise(cache->lines, cache->bytes, MADV_NOHUGEPAGE);
#endif
	if (!nn_chase_link(cache->lines, cache->bytes, options->seed))
	{
		snprintf(error, NN_PROBE_ERROR_LEN, "out of memory");
		cache_destroy(cache);
		return NULL;
	}
	cache->at = cache->lines;
	return cache;
}

static void
cache_measure(void *state, const NnWindow *window, double *values)
{
	CacheState *cache = state;
	uint64_t	steps = 0;
	uint64_t	ended_ns;

	do
	{
		cache->at = nn_chase_walk(cache->at, STEPS);
		steps += STEPS;
		ended_ns = nn_now_ns();
	} while (!nn_window_over(window));
	values[0] = (double) (ended_ns - window->start_ns) / (double) steps;
}

const NnProbe nn_probe_cache = {
	.name = "cache",
	.version = 1,
	.plan = cache_plan,
	.create = cache_create,
	.destroy = cache_destroy,
	.measure = cache_measure
};
