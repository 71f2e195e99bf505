/*-------------------------------------------------------------------------
 *
 * cache.c
 *	  Cache noise: walk a working set larger than the last-level cache in random order.
 *
 * The working set is an array of cache lines.  Each line holds a pointer to its successor, and the
 * pointers form one cycle through all lines, in an order that no prefetcher can guess.  A visit reads
 * the line and writes to it: the line is fetched, made dirty, and written back later.
 *
 * CURSORS cursors walk the cycle at the same time.  A single one would wait for one line at a time
 * and leave the memory system mostly idle; real programs have several misses in flight, and so has
 * this neighbour.  They are spread evenly over the cycle, so that a line is visited again after all
 * others have been, when it has long been evicted if the working set is larger than the cache.
 *
 * To have them evenly spread without walking the cycle first, it is made of CURSORS equal segments of
 * the array: each is a random cycle of its own (Sattolo's algorithm), and these are joined to one.  Cursor i
 * starts where the cycle enters segment i.
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
#define LLC_MULTIPLE	2		/* of a working set, by default */
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
	return nn_stressor_llc_workers(host, LLC_MULTIPLE);
}

static uint64_t
cache_default_bytes(const NnTopology *host)
{
	return nn_stressor_llc_bytes(host, LLC_MULTIPLE);
}

/*
 * Link all lines to one cycle and place the cursors.  "order" is room for one segment; it
 * is small beside the working set, which is written sequentially.
 */
static void
link_lines(CacheState *cache, uint64_t seed, uint32_t *order)
{
	const uint64_t segment = cache->n_lines / CURSORS;
	NnRandom	random;

	nn_random_seed(&random, seed, 0);
	for (int i = 0; i < CURSORS; i++)
	{
		Line	   *lines = cache->lines + (uint64_t) i * segment;

		nn_random_cycle(&random, order, (uint32_t) segment);
		for (uint64_t line = 0; line < segment; line++)
		{
			lines[line].next = &lines[order[line]];
			lines[line].visits = 0;
		}
		cache->cursors[i] = lines[0].next;
	}

	/*
	 * The first line of a segment ends it: its successor becomes the start of
	 * the next segment.
	 */
	for (int i = 0; i < CURSORS; i++)
		cache->lines[(uint64_t) i * segment].next = cache->cursors[(i + 1) % CURSORS];
}

/* NULL with the reason in error */
static Line *
map_lines(size_t size, char *error)
{
	void	   *lines = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (lines == MAP_FAILED)
	{
		snprintf(error, NN_STRESSOR_ERROR_LEN, "could not map %zu bytes: %s", size, strerror(errno));
		return NULL;
	}
#ifdef MADV_NOHUGEPAGE
	(void) madvise(lines, size, MADV_NOHUGEPAGE);	/* not known: not needed */
#endif
	return lines;
}

static void *
cache_create(uint64_t bytes, uint64_t seed, char *error)
{
	CacheState *cache;
	uint64_t	segment = bytes / LINE_BYTES / CURSORS;
	uint32_t   *order;

	if (segment < LEAST_LINES / CURSORS)
		segment = LEAST_LINES / CURSORS;
	if (segment > UINT32_MAX)
	{
		snprintf(error, NN_STRESSOR_ERROR_LEN, "a working set may have 2 TB at most");
		return NULL;
	}
	cache = malloc(sizeof(CacheState));
	order = malloc((size_t) segment * sizeof(uint32_t));
	if (cache == NULL || order == NULL)
		snprintf(error, NN_STRESSOR_ERROR_LEN, "could not allocate %zu bytes: %s",
				 (size_t) segment * sizeof(uint32_t), strerror(errno));
	else
	{
		cache->n_lines = segment * CURSORS;
		cache->lines = map_lines((size_t) cache->n_lines * LINE_BYTES, error);
		if (cache->lines != NULL)
		{
			link_lines(cache, seed, order);
			free(order);
			return cache;
		}
	}
	free(order);
	free(cache);
	return NULL;
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
