/*-------------------------------------------------------------------------
 *
 * stream.c
 *	  Stream noise: take memory bandwidth, by long sequential passes.
 *
 * Three arrays of doubles, together several times as large as the last-level cache, and the loop
 * a[i] = b[i] + s * c[i] over them, chunk by chunk, round and round: what STREAM (McCalpin) calls
 * triad.  Prefetchers know where it goes, so it is bandwidth that it takes, where cache noise takes
 * cache lines and the time of misses.
 *
 * The bytes counted are those that the program reads and writes, 24 per element.  Where the hardware reads
 * a line before it is written, a third more goes over the bus.
 *
 * The arrays are mapped and written before the first block, and belong to the load thread.
 *
 *-------------------------------------------------------------------------
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "noise/stressors.h"

#define ARRAYS			3
#define CHUNK			4096	/* elements of each array in a piece of work */
#define LLC_MULTIPLE	4
#define FACTOR			3.0

typedef struct StreamState
{
	double	   *arrays;			/* one mapping: a, b and c in turn */
	uint64_t	chunks;			/* of each array */
	uint64_t	next;
} StreamState;

static int
stream_default_workers(const NnTopology *host)
{
	return nn_stressor_llc_workers(host, LLC_MULTIPLE);
}

static uint64_t
stream_default_bytes(const NnTopology *host)
{
	return nn_stressor_llc_bytes(host, LLC_MULTIPLE);
}

static size_t
stream_size(const StreamState *stream)
{
	return (size_t) stream->chunks * CHUNK * ARRAYS * sizeof(double);
}

static void *
stream_create(uint64_t bytes, uint64_t seed, char *error)
{
	StreamState *stream = malloc(sizeof(StreamState));

	(void) seed;
	if (stream == NULL)
	{
		snprintf(error, NN_STRESSOR_ERROR_LEN, "could not allocate %zu bytes: %s",
				 sizeof(StreamState), strerror(errno));
		return NULL;
	}
	stream->next = 0;
	stream->chunks = bytes / (CHUNK * ARRAYS * sizeof(double));
	if (stream->chunks == 0)
		stream->chunks = 1;
	stream->arrays = mmap(NULL, stream_size(stream), PROT_READ | PROT_WRITE,
						  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (stream->arrays == MAP_FAILED)
	{
		snprintf(error, NN_STRESSOR_ERROR_LEN, "could not map %zu bytes: %s", stream_size(stream), strerror(errno));
		free(stream);
		return NULL;
	}
	for (uint64_t i = 0; i < stream->chunks * CHUNK * ARRAYS; i++)
		stream->arrays[i] = 1.0;
	return stream;
}

static void
stream_destroy(void *state)
{
	StreamState *stream = state;

	(void) munmap(stream->arrays, stream_size(stream));
	free(stream);
}

/* The next chunk of each array; returns the bytes read and written. */
static uint64_t
stream_burn(void *state)
{
	StreamState *stream = state;
	const uint64_t length = stream->chunks * CHUNK;
	double	   *restrict a = stream->arrays + stream->next * CHUNK;
	const double *restrict b = a + length;
	const double *restrict c = b + length;

	for (int i = 0; i < CHUNK; i++)
		a[i] = b[i] + FACTOR * c[i];
	if (++stream->next == stream->chunks)
		stream->next = 0;
	return CHUNK * ARRAYS * sizeof(double);
}

const NnStressor nn_stressor_stream = {
	.name = "stream",
	.rate_unit = "bytes/s",
	.version = 1,
	.kind = NN_DOSE_DUTY,
	.options = NN_STRESSOR_WORKERS | NN_STRESSOR_BYTES,
	.default_workers = stream_default_workers,
	.default_bytes = stream_default_bytes,
	.create = stream_create,
	.destroy = stream_destroy,
	.burn = stream_burn,
	.hold = NULL
};
