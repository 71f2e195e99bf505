/*-------------------------------------------------------------------------
 *
 * memory.c
 *	  Probe of the memory: bandwidth beyond the caches, and in blocks of 1 KiB.
 *
 * "read" and "write" go through a working set of four times the last-level cache, shared out among the threads, from
 * one end to the other, in words of 64 bits.  What is written is different in each round.
 *
 * "write 1 KiB blocks" is what sysbench's test "memory" does by default: one block of 1 KiB, the same for all
 * threads, is written again and again, and the clock is read before and after each block.  The block stays in
 * the caches, so this is the speed of a core and of its clock, not of the memory; it is here because that figure is
 * published so often.
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

#define LLC_MULTIPLE	4
#define CHUNK_BYTES		(UINT64_C(1) << 20)
#define BLOCK_BYTES		1024
#define MIB				1048576.0

enum
{
	MEMORY_READ,
	MEMORY_WRITE,
	MEMORY_BLOCKS
};

typedef struct MemoryState
{
	int			kind;
	uint64_t   *words;
	uint64_t	bytes;			/* a multiple of CHUNK_BYTES, or BLOCK_BYTES */
	uint64_t	sum;			/* keeps the compiler from leaving the work
								 * out */
	bool		is_common;		/* words belong to everybody */
} MemoryState;

/* The block that all threads write, as sysbench has it. */
static uint64_t common_block[BLOCK_BYTES / sizeof(uint64_t)] __attribute__((aligned(4096)));

static int
memory_plan(const NnProbeOptions *options, const NnTopology *host, NnTrial *trials, char *error)
{
	uint64_t	wanted = options->memory_bytes ? options->memory_bytes : LLC_MULTIPLE * host->llc_bytes;
	uint64_t	bytes = wanted < options->memory_room_bytes ? wanted : options->memory_room_bytes;
	static const char *const names[] = {"read", "write", "write 1 KiB blocks"};
	int			n = 0;

	for (int i = 0; i < options->n_threads; i++)
	{
		uint64_t	share = bytes / (uint64_t) options->threads[i] / CHUNK_BYTES * CHUNK_BYTES;

		if (share == 0)
		{
			snprintf(error, NN_PROBE_ERROR_LEN, "there is no memory for a working set");
			return 0;
		}
		for (int kind = MEMORY_READ; kind <= MEMORY_BLOCKS; kind++)
		{
			NnTrial    *trial = nn_trial_add(trials, &n, options->threads[i], names[kind], "MiB/s", NN_COMBINE_SUM);

			trial->kind = kind;
			trial->bytes = kind == MEMORY_BLOCKS ? BLOCK_BYTES : share;
			if (kind == MEMORY_BLOCKS)
				continue;
			snprintf(trial->note, sizeof(trial->note), "working set %llu MB, last-level cache %llu MB (%s)",
					 (unsigned long long) (share * (uint64_t) options->threads[i] >> 20),
					 (unsigned long long) (host->llc_bytes >> 20), host->llc_source);
			trial->invalid = share * (uint64_t) options->threads[i] < 2 * host->llc_bytes;
		}
	}
	return n;
}

static void *
memory_create(const NnProbeOptions *options, const NnTrial *trial, int thread, void *common, char *error)
{
	MemoryState *memory = calloc(1, sizeof(MemoryState));

	(void) options;
	(void) common;
	if (memory == NULL)
	{
		snprintf(error, NN_PROBE_ERROR_LEN, "out of memory");
		return NULL;
	}
	memory->kind = trial->kind;
	memory->bytes = trial->bytes;
	memory->is_common = trial->kind == MEMORY_BLOCKS;
	memory->words = common_block;
	if (memory->is_common)
		return memory;
	memory->words = mmap(NULL, memory->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory->words == MAP_FAILED)
	{
		snprintf(error, NN_PROBE_ERROR_LEN, "could not map %llu bytes (error %d)",
				 (unsigned long long) memory->bytes, errno);
		free(memory);
		return NULL;
	}
	memset(memory->words, thread + 1, memory->bytes);
	return memory;
}

static void
memory_destroy(void *state)
{
	MemoryState *memory = state;

	if (!memory->is_common)
		(void) munmap(memory->words, memory->bytes);
	free(memory);
}

static uint64_t
read_words(const uint64_t *words, uint64_t n)
{
	uint64_t	sums[4] = {0};

	for (uint64_t i = 0; i < n; i += 4)
	{
		sums[0] += words[i];
		sums[1] += words[i + 1];
		sums[2] += words[i + 2];
		sums[3] += words[i + 3];
	}
	return sums[0] + sums[1] + sums[2] + sums[3];
}

static void
write_words(uint64_t *words, uint64_t n, uint64_t value)
{
	for (uint64_t i = 0; i < n; i++)
		words[i] = value;
	__asm__ volatile (""::"r" (words):"memory");
}

/* Blocks that all threads write at once; what they write is not looked at. */
static void
measure_blocks(const NnWindow *window, double *values)
{
	uint64_t	blocks = 0;
	uint64_t	begun_ns;
	uint64_t	ended_ns;

	do
	{
		begun_ns = nn_now_ns();
		for (size_t i = 0; i < BLOCK_BYTES / sizeof(uint64_t); i++)
			((volatile uint64_t *) common_block)[i] = begun_ns;
		ended_ns = nn_now_ns();
		blocks++;
	} while (ended_ns < window->end_ns && !nn_window_stopped(window));
	values[0] = nn_window_rate(window, (double) blocks * BLOCK_BYTES / MIB, ended_ns);
}

static void
memory_measure(void *state, const NnWindow *window, double *values)
{
	MemoryState *memory = state;
	uint64_t	at = 0;
	uint64_t	done = 0;
	uint64_t	ended_ns = window->start_ns;

	if (memory->kind == MEMORY_BLOCKS)
	{
		measure_blocks(window, values);
		return;
	}
	do
	{
		uint64_t   *chunk = memory->words + at / sizeof(uint64_t);

		if (memory->kind == MEMORY_READ)
			memory->sum += read_words(chunk, CHUNK_BYTES / sizeof(uint64_t));
		else
			write_words(chunk, CHUNK_BYTES / sizeof(uint64_t), ended_ns);
		done += CHUNK_BYTES;
		at = (at + CHUNK_BYTES) % memory->bytes;
		ended_ns = nn_now_ns();
	} while (!nn_window_over(window));
	values[0] = nn_window_rate(window, (double) done / MIB, ended_ns);
}

const NnProbe nn_probe_memory = {
	.name = "memory",
	.version = 1,
	.plan = memory_plan,
	.create = memory_create,
	.destroy = memory_destroy,
	.measure = memory_measure
};
