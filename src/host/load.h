/*-------------------------------------------------------------------------
 *
 * load.h
 *	  Load of the host, and what its memory limit did to our control group.
 *
 *-------------------------------------------------------------------------
 */
#ifndef NN_HOST_LOAD_H
#define NN_HOST_LOAD_H

#include "host/host.h"

/* Cumulative numbers, of our group and of those below it; NaN: not counted by this kernel. */
typedef struct NnMemoryEvents
{
	double		high;			/* slowed down above memory.high */
	double		max;			/* stopped by the limit, and made to reclaim */
	double		oom_kills;		/* processes killed */
} NnMemoryEvents;

/* Tasks that run, wait for a CPU or for a disk: the kernel's mean over the last minute. NaN with the reason. */
extern double nn_load_read(const NnHostRoot *root, NnWhyNot *why);

/* False with the reason when no group with a memory controller has any of them. */
extern bool nn_memory_events_read(const NnHostRoot *root, NnMemoryEvents *events, NnWhyNot *why);

#endif							/* NN_HOST_LOAD_H */
