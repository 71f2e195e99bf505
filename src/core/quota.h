/*-------------------------------------------------------------------------
 *
 * quota.h
 *	  Why spinning threads lost CPU time: a quota, steal or contention; and which quota.
 *
 * N threads that never sleep, one a CPU, under a quota of L < N CPUs with period P use it up in P L / N and stand
 * still for the rest, P (1 - L / N), all of them, until the period ends.  So a quota that no file tells shows itself:
 *
 *	the ends of gaps	lie on multiples of P.  (The beginnings do so less sharply: the kernel notices
 *						at its next tick that a quota is used up, and takes the excess off the next period.)
 *						P is found by folding them: the longest period at which their phases agree.
 *	CPU time			of all threads together is L P in each period: L is taken from whole
 *						periods at the end of which somebody stood still.
 *	an idle CPU			beside a thread that is ready to run is what contention never leaves.
 *
 * What cannot be told is said so: steal that keeps to a period or to an even rate may be a cap of the hypervisor; a
 * period without idle CPUs may be neighbours that keep time.
 *
 *-------------------------------------------------------------------------
 */
#ifndef NN_QUOTA_H
#define NN_QUOTA_H

#include "core/gaps.h"

typedef enum NnLossVerdict
{
	NN_LOSS_NONE,				/* nearly everything was delivered */
	NN_LOSS_CONTENTION,			/* others ran on our CPUs */
	NN_LOSS_THROTTLE,			/* a quota */
	NN_LOSS_STEAL,				/* the hypervisor ran others */
	NN_LOSS_STEAL_OR_CAP,
	NN_LOSS_CONTENTION_OR_QUOTA,
	NN_LOSS_UNKNOWN				/* the kernel says that we ran, or nothing */
} NnLossVerdict;

/* Series of threads that spun side by side.  NaN: not measured. */
typedef struct NnLossEvidence
{
	const NnGapSeries *const *series;
	int			n;
	double		idle_ns;		/* of their CPUs, waiting for a disk included */
	double		steal_ns;		/* of their CPUs */
} NnLossEvidence;

typedef struct NnLossFinding
{
	NnLossVerdict verdict;
	double		cpus;			/* CPU time of all / length of the window */
	double		lost_share;		/* 1 - cpus / n */
	double		idle_share;		/* idle time of the CPUs / lost time; NaN
								 * unknown */

	/* What a quota would be, if it is one.  NaN: there is no period. */
	double		quota_cpus;
	double		period_ms;
	double		stall_ms;		/* median of the gaps at the end of a period */
	double		coherence;		/* 0 … 1: how well the phases agree */
	double		hit_share;		/* periods that end with a gap */
	int			periods;
} NnLossFinding;

extern const char *nn_loss_verdict_name(NnLossVerdict verdict);

/*
 * "scratch" has room for NN_LOSS_SCRATCH numbers.  Eight periods are needed to find one; of a window longer than ten
 * seconds the first ten are searched.
 */
#define NN_LOSS_EVENTS	4096
#define NN_LOSS_SCRATCH	(8 * NN_LOSS_EVENTS)

extern void nn_loss_explain(const NnLossEvidence *evidence, double *scratch, NnLossFinding *finding);

#endif							/* NN_QUOTA_H */
