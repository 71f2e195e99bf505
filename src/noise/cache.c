/*-------------------------------------------------------------------------
 *
 * cache.c
 *	  Cache noise: walk a working set larger than the last-level cache in random order.
 *
 * The working set is an array of cache lines.  Each line holds a pointer to
 * its successor, and the pointers form one random cycle through all the lines (Sattolo's
 * algorithm), so no prefetcher can guess the way.  A visit reads the
 * line and writes to it: the line is fetched, made dirty, and written back later.
 *
 * CURSORS cursors, spread evenly over the cycle, walk it at the same time. A single
 * one would wait for one line at a time and leave the memory system mostly
 * idle; real programs have several misses in flight, and so has this neighbour.  A line is
 * visited once in n / CURSORS steps, when it has long been evicted if the working set is larger
 * than the cache.
 *
 * Small pages are asked for, so that the load is the same whatever the host's setting for
 * transparent huge pages is; the walk of the page tables is a part of it.
 *
 * The working set is mapped and written before the first block, and belongs to the load thread.
 *
 *-------------------------------------------------------------------------
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/random.h"
#include "noise/stressors.h"

#define LINE_BYTES		64
#define CURSORS			8
#define STEPS			64		/* of each cursor in a piece of work */
#define LEAST_LINES		1024

typedef struct Line
{
	struct Line *next;
	uint64_t	visits;
	char		padding[LINE_BYTES - sizeof(struct Line *) - sizeof(uint64_t)];
} Line;

typedef struct CacheState
{
	Line	   *lines;
	uint64_t	n_lines;
	Line	   *cursors[CURSORS];
} CacheState;

static int
cache_default_workers(const NnTopology *host)
{
	uint64_t	most = nn_stressor_memory_share(host) / (2 * host->llc_bytes);
	int			cpus = nn_stressor_cpus(host);

	if (most < 1)
		return 1;
	return most < (uint64_t) cpus ? (int) most : cpus;
}

static uint64_t
cache_default_bytes(const NnTopology *host)
{
	uint64_t	most = nn_stressor_memory_share(host) / (uint64_t) cache_default_workers(host);
	uint64_t	bytes = 2 * host->llc_bytes;

	return bytes < most ? bytes : most;
}

/* Link all lines to one cycle. */
static void
link_lines(CacheState *cache, uint64_t seed)
{
	Line	   *lines = cache->lines;
	NnRandom	random;

	nn_random_seed(&random, seed, 0);
	for (uint64_t i = 0; i < cache->n_lines; i++)
	{
		lines[i].next = &lines[i];
		lines[i].visits = 0;
	}
	for (uint64_t i = cache->n_lines - 1; i > 0; i--)
	{
		uint64_t	other = (uint64_t) nn_random_range(&random, 0, (int64_t) i - 1);
		Line	   *swapped = lines[i].next;

		lines[i].next = lines[other].next;
		lines[other].next = swapped;
	}
}

/* Spread the cursors evenly over the cycle, which takes one walk along most of it. */
static void
place_cursors(CacheState *cache)
{
	Line	   *line = cache->lines;

	for (int i = 0; i < CURSORS; i++)
	{
		cache->cursors[i] = line;
		if (i + 1 == CURSORS)
			break;
		for (uint64_t step = cache->n_lines / CURSORS; step > 0; step--)
			line = line->next;
	}
}

static void *
cache_create(uint64_t bytes, uint64_t seed, char *error)
{
	CacheState *cache = malloc(sizeof(CacheState));
	size_t		size;

	if (cache == NULL)
	{
		snprintf(error, NN_STRESSOR_ERROR_LEN, "could not allocate %zu bytes: %s",
				 sizeof(CacheState), strerror(errno));
		return NULL;
	}
	cache->n_lines = bytes / LINE_BYTES;
	if (cache->n_lines < LEAST_LINES)
		cache->n_lines = LEAST_LINES;
	size = (size_t) cache->n_lines * LINE_BYTES;
	cache->lines = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (cache->lines == MAP_FAILED)
	{
		snprintf(error, NN_STRESSOR_ERROR_LEN, "could not map %zu bytes: %s", size, strerror(errno));
		free(cache);
		return NULL;
	}
#ifdef MADV_NOHUGEPAGE
	(void) madvise(cache->lines, size, MADV_NOHUGEPAGE);	/* not known: not needed */
#endif
	link_lines(cache, seed);
	place_cursors(cache);
	return cache;
}

static void
cache_destroy(void *state)
{
	CacheState *cache = state;

	(void) munmap(cache->lines, (size_t) cache->n_lines * LINE_BYTES);
	free(cache);
}

/* Move every cursor on by STEPS lines; returns the lines visited. */
static uint64_t
cache_burn(void *state)
{
	CacheState *cache = state;
	Line	   *cursors[CURSORS];

	memcpy(cursors, cache->cursors, sizeof(cursors));
	for (int step = 0; step < STEPS; step++)
	{
		for (int i = 0; i < CURSORS; i++)
		{
			cursors[i]->visits++;
			cursors[i] = cursors[i]->next;
		}
	}
	memcpy(cache->cursors, cursors, sizeof(cursors));
	return STEPS * CURSORS;
}

const NnStressor nn_stressor_cache = {
	.name = "cache",
	.rate_unit = "lines/s",
	.version = 1,
	.kind = NN_DOSE_DUTY,
	.options = NN_STRESSOR_WORKERS | NN_STRESSOR_BYTES,
	.default_workers = cache_default_workers,
	.default_bytes = cache_default_bytes,
	.create = cache_create,
	.destroy = cache_destroy,
	.burn = cache_burn,
	.hold = NULL
};
