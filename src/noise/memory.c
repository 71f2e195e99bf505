/*-------------------------------------------------------------------------
 *
 * memory.c
 *	  Memory noise: keep an amount of memory resident.
 *
 * The address space is reserved once.  Towards a level the next pages are
 * written to, STEP bytes at a time, or given back to the kernel from the
 * upper end.  Once there, each call goes over the next chunk of what is held: it
 * asks the kernel which pages are still resident, then writes to each of them, which
 * brings back what was swapped out and keeps the pages young.  So a
 * neighbour that uses its memory is imitated, not one that has once touched it.
 *
 * What is reported is what the kernel called resident at the latest look at each
 * chunk, before it was written to again: memory that is being swapped out shows as a dose
 * not delivered.
 *
 * The going over is bounded: SWEEP_CHUNKS chunks a call at most, so holding costs little CPU
 * however much is held (a large amount is gone over more slowly).
 *
 * The mapping and the counters belong to the load thread.
 *
 *-------------------------------------------------------------------------
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "noise/stressors.h"

#define DEFAULT_BYTES	(UINT64_C(256) << 20)
#define STEP_BYTES		(UINT64_C(8) << 20) /* written in one call */
#define RELEASE_BYTES	(UINT64_C(256) << 20)	/* given back in one call */
#define CHUNK_PAGES		1024
#define SWEEP_CALLS		100		/* calls that go over everything, if
								 * SWEEP_CHUNKS allows */
#define SWEEP_CHUNKS	8

typedef struct MemoryState
{
	char	   *base;
	uint64_t	page_bytes;
	uint64_t	pages;			/* of the mapping */
	uint64_t	held;			/* pages written to: those below this one */
	uint64_t	resident;		/* of them, as last seen: the sum of
								 * chunk_resident */
	uint64_t	n_chunks;
	uint64_t	next_chunk;		/* to be gone over */
	uint16_t   *chunk_resident; /* one per CHUNK_PAGES pages */
} MemoryState;

static int
memory_default_workers(const NnTopology *host)
{
	(void) host;
	return 1;
}

static uint64_t
memory_default_bytes(const NnTopology *host)
{
	uint64_t	most = nn_stressor_memory_share(host);

	return most < DEFAULT_BYTES ? most : DEFAULT_BYTES;
}

static void *
memory_create(uint64_t bytes, uint64_t seed, char *error)
{
	MemoryState *memory = calloc(1, sizeof(MemoryState));
	size_t		size;

	(void) seed;
	if (memory == NULL)
	{
		snprintf(error, NN_STRESSOR_ERROR_LEN, "could not allocate %zu bytes: %s",
				 sizeof(MemoryState), strerror(errno));
		return NULL;
	}
	memory->page_bytes = (uint64_t) sysconf(_SC_PAGESIZE);
	memory->pages = (bytes + memory->page_bytes - 1) / memory->page_bytes;
	if (memory->pages == 0)
		memory->pages = 1;
	memory->n_chunks = (memory->pages + CHUNK_PAGES - 1) / CHUNK_PAGES;
	size = (size_t) (memory->pages * memory->page_bytes);
	memory->chunk_resident = calloc(memory->n_chunks, sizeof(uint16_t));
	memory->base = memory->chunk_resident == NULL ? MAP_FAILED :
		mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory->base == MAP_FAILED)
	{
		snprintf(error, NN_STRESSOR_ERROR_LEN, "could not map %zu bytes: %s", size, strerror(errno));
		free(memory->chunk_resident);
		free(memory);
		return NULL;
	}
	return memory;
}

static void
memory_destroy(void *state)
{
	MemoryState *memory = state;

	(void) munmap(memory->base, (size_t) (memory->pages * memory->page_bytes));
	free(memory->chunk_resident);
	free(memory);
}

/* Write to the pages from … to - 1; each gets another content, lest equal ones be merged. */
static void
write_pages(MemoryState *memory, uint64_t from, uint64_t to)
{
	for (uint64_t page = from; page < to; page++)
	{
		volatile uint64_t *word = (volatile uint64_t *) (memory->base + page * memory->page_bytes);

		*word = *word + page + 1;
	}
}

/* How many of the pages from … to - 1 (at most CHUNK_PAGES) are resident? */
static uint64_t
count_resident(const MemoryState *memory, uint64_t from, uint64_t to)
{
#ifdef __linux__
	unsigned char here[CHUNK_PAGES];
	uint64_t	resident = 0;

	if (mincore(memory->base + from * memory->page_bytes,
				(size_t) ((to - from) * memory->page_bytes), here) != 0)
		return to - from;		/* nothing better is known than that they were
								 * written to */
	for (uint64_t i = 0; i < to - from; i++)
		resident += here[i] & 1;
	return resident;
#else
	(void) memory;
	return to - from;
#endif
}

/* Look at a chunk as far as it is held, and store what is resident. */
static void
look_at_chunk(MemoryState *memory, uint64_t chunk)
{
	uint64_t	from = chunk * CHUNK_PAGES;
	uint64_t	to = from + CHUNK_PAGES < memory->held ? from + CHUNK_PAGES : memory->held;
	uint64_t	resident = from < to ? count_resident(memory, from, to) : 0;

	memory->resident += resident - memory->chunk_resident[chunk];
	memory->chunk_resident[chunk] = (uint16_t) resident;
}

/* Take the next pages, up to "wanted". */
static void
grow(MemoryState *memory, uint64_t wanted)
{
	uint64_t	from = memory->held;
	uint64_t	to = from + STEP_BYTES / memory->page_bytes;

	if (to > wanted)
		to = wanted;
	write_pages(memory, from, to);
	memory->held = to;
	for (uint64_t chunk = from / CHUNK_PAGES; chunk * CHUNK_PAGES < to; chunk++)
		look_at_chunk(memory, chunk);
}

/* Give the uppermost pages back, down to "wanted". */
static void
shrink(MemoryState *memory, uint64_t wanted)
{
	uint64_t	from = memory->held;
	uint64_t	to = wanted;

	if (from - to > RELEASE_BYTES / memory->page_bytes)
		to = from - RELEASE_BYTES / memory->page_bytes;
	if (madvise(memory->base + to * memory->page_bytes,
				(size_t) ((from - to) * memory->page_bytes), MADV_DONTNEED) != 0)
		return;
	memory->held = to;
	for (uint64_t chunk = to / CHUNK_PAGES; chunk * CHUNK_PAGES < from; chunk++)
		look_at_chunk(memory, chunk);
}

/* Go over the next chunks of what is held. */
static void
sweep(MemoryState *memory)
{
	uint64_t	held_chunks = (memory->held + CHUNK_PAGES - 1) / CHUNK_PAGES;
	uint64_t	chunks = held_chunks / SWEEP_CALLS + 1;

	if (chunks > SWEEP_CHUNKS)
		chunks = SWEEP_CHUNKS;
	while (chunks-- > 0 && memory->held > 0)
	{
		uint64_t	from;
		uint64_t	to;

		if (memory->next_chunk >= held_chunks)
			memory->next_chunk = 0;
		look_at_chunk(memory, memory->next_chunk);
		from = memory->next_chunk * CHUNK_PAGES;
		to = from + CHUNK_PAGES < memory->held ? from + CHUNK_PAGES : memory->held;
		write_pages(memory, from, to);
		memory->next_chunk++;
	}
}

/* One bounded step towards a level; returns the bytes that are resident. */
static uint64_t
memory_hold(void *state, double level_pct)
{
	MemoryState *memory = state;
	uint64_t	wanted = (uint64_t) ((double) memory->pages * level_pct / 100.0 + 0.5);

	if (wanted > memory->pages)
		wanted = memory->pages;
	if (memory->held < wanted)
		grow(memory, wanted);
	else if (memory->held > wanted)
		shrink(memory, wanted);
	else
		sweep(memory);
	return memory->resident * memory->page_bytes;
}

const NnStressor nn_stressor_memory = {
	.name = "memory",
	.rate_unit = "bytes",
	.version = 1,
	.kind = NN_DOSE_HOLD,
	.options = NN_STRESSOR_WORKERS | NN_STRESSOR_BYTES,
	.default_workers = memory_default_workers,
	.default_bytes = memory_default_bytes,
	.create = memory_create,
	.destroy = memory_destroy,
	.burn = NULL,
	.hold = memory_hold
};
