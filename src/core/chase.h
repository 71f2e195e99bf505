/*-------------------------------------------------------------------------
 *
 * chase.h
 *	  Dependent loads: cache lines linked to one random cycle, each of which holds the address of the next.
 *
 * No prefetcher can guess the order, and no load can begin before the one before has ended, so the time of a step is
 * the latency of where the lines lie.  The memory is the caller's, and so is the choice of its pages.
 *
 *-------------------------------------------------------------------------
 */
#ifndef NN_CHASE_H
#define NN_CHASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NN_CHASE_LINE_BYTES	64

typedef struct NnChaseLine
{
	struct NnChaseLine *next;
	char		padding[NN_CHASE_LINE_BYTES - sizeof(struct NnChaseLine *)];
} NnChaseLine;

/* Link "bytes" bytes of lines; false when there is no memory for their order. */
extern bool nn_chase_link(NnChaseLine *lines, size_t bytes, uint64_t seed);

/* Go on by so many lines. */
static inline NnChaseLine *
nn_chase_walk(NnChaseLine *at, uint64_t steps)
{
	for (uint64_t i = 0; i < steps; i++)
		at = *(NnChaseLine *volatile *) &at->next;
	return at;
}

#endif							/* NN_CHASE_H */
