/*-------------------------------------------------------------------------
 *
 * wakeup.h
 *	  How late the calling thread wakes up from a sleep to an absolute time.
 *
 * As cyclictest does it: sleep to a time on the monotonic clock, read the clock, count the difference; the
 * next wake-up is one interval after the planned time, and those that have passed by then are skipped.
 *
 *-------------------------------------------------------------------------
 */
#ifndef NN_HOST_WAKEUP_H
#define NN_HOST_WAKEUP_H

#include "core/histogram.h"

typedef struct NnWakeup
{
	uint64_t	interval_ns;
	uint64_t	next_ns;
	uint64_t	skipped;		/* wake-ups that were past when it woke up */
	NnHistogram lateness;
} NnWakeup;

extern void nn_wakeup_start(NnWakeup *wakeup, uint64_t interval_ns);

/* Sleep and wake up until the monotonic clock reads until_ns. */
extern void nn_wakeup_run(NnWakeup *wakeup, uint64_t until_ns);

#endif							/* NN_HOST_WAKEUP_H */
