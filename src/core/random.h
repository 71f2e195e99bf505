/*-------------------------------------------------------------------------
 *
 * random.h
 *	  Small reproducible random numbers, one state per thread.
 *
 * xoshiro256** seeded by splitmix64 (Blackman and Vigna).  The same seed gives the same
 * sequence on every platform and version: a stored seed reproduces the
 * order of the blocks.  Not for secrets.
 *
 *-------------------------------------------------------------------------
 */
#ifndef NN_RANDOM_H
#define NN_RANDOM_H

#include <stddef.h>
#include <stdint.h>

typedef struct NnRandom
{
	uint64_t	s[4];
} NnRandom;

/* "stream" separates the threads of one seed. */
extern void nn_random_seed(NnRandom *r, uint64_t seed, uint64_t stream);
extern uint64_t nn_random_u64(NnRandom *r);

/* Uniform in [low, high], both included, without modulo bias; low <= high. */
extern int64_t nn_random_range(NnRandom *r, int64_t low, int64_t high);

/* Uniform in [0, 1). */
extern double nn_random_double(NnRandom *r);

/* Fill memory; size is a multiple of 8 bytes. */
extern void nn_random_fill(NnRandom *r, void *memory, size_t size);

/* A single cycle through all n elements (Sattolo): next[i] is the successor of i. */
extern void nn_random_cycle(NnRandom *r, uint32_t *next, uint32_t n);

#endif							/* NN_RANDOM_H */
