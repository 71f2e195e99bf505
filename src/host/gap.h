/*-------------------------------------------------------------------------
 *
 * gap.h
 *	  Records when the calling thread does not run although it never sleeps, and why.
 *
 * The thread spins on the clock.  After a gap it looks at its own accounts (CPU time, run-queue
 * delay) and, for long gaps, at the host's steal and its control group's throttling: gaps are
 * explained afterwards, so nothing is read while there is none.  The looking takes some
 * microseconds, which count as run; of a look that itself was interrupted the excess counts as a gap.
 *
 * One thread owns a recorder; nothing is allocated.
 *
 *-------------------------------------------------------------------------
 */
#ifndef NN_HOST_GAP_H
#define NN_HOST_GAP_H

#include "core/gaps.h"
#include "host/cgroup.h"

/* What is known at a moment; NaN: not measured. */
typedef struct NnGapLook
{
	uint64_t	at_ns;
	uint64_t	cpu_ns;
	double		run_delay_ns;
	double		throttled_ns;
	double		steal_ns;
} NnGapLook;

typedef struct NnGapRecorder
{
	NnGapSeries series;
	const NnHostRoot *root;
	uint64_t	threshold_ns;
	int			schedstat_fd;	/* -1: no run-queue delay */
	NnCgroupThrottleFile throttle_file;
	uint64_t	last_ns;		/* the last reading of the clock */
	uint64_t	cpu_from_ns;	/* CPU time of the thread at the start */
	uint64_t	stolen_cpu_ns;	/* steal that the kernel counted as CPU time */
	double		steal_from_ns;	/* of the host at the start */
	uint64_t	look_cost_ns;	/* what a look takes when nothing comes
								 * between */
	NnGapLook	look;			/* the last one */
} NnGapRecorder;

/*
 * Begin a window: called by the thread that will spin.  "gaps" has room for so many, see
 * gaps.h.  "root" must outlive the recorder.
 */
extern void nn_gap_start(NnGapRecorder *recorder, const NnHostRoot *root, uint64_t threshold_ns,
						 NnGap *gaps, int room);

/* Spin until the monotonic clock reads until_ns.  Calls may follow each other closely: nothing between them is lost. */
extern void nn_gap_spin(NnGapRecorder *recorder, uint64_t until_ns);

/* End the window; recorder->series is then complete. */
extern void nn_gap_finish(NnGapRecorder *recorder);

#endif							/* NN_HOST_GAP_H */
