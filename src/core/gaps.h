/*-------------------------------------------------------------------------
 *
 * gaps.h
 *	  Gaps of a thread that never sleeps: when it did not run, and why.
 *
 * Such a thread reads the clock over and over; two readings that lie further apart than a threshold
 * enclose a gap.  What the kernel says about the thread is read right after a gap and explains
 * it: see nn_gap_explain().
 *
 * Memory: the caller gives an array.  When it is full, the shorter gaps give way: the
 * length from which gaps are kept is doubled until half of the array is free.  Sums and the
 * histogram count every gap, whether it is kept or not.
 *
 *-------------------------------------------------------------------------
 */
#ifndef NN_GAPS_H
#define NN_GAPS_H

#include "core/histogram.h"

typedef enum NnGapCause
{
	NN_GAP_RUN_QUEUE,			/* it was ready, and its CPU did something
								 * else */
	NN_GAP_THROTTLED,			/* a quota of its control group stopped it */
	NN_GAP_STEAL,				/* the hypervisor ran something else */
	NN_GAP_UNKNOWN,				/* it was stopped; or the kernel believes that
								 * it ran: interrupts, or what a hypervisor
								 * does not report */
	NN_GAP_CAUSES
} NnGapCause;

/* What grew between two looks at the thread's accounts.  NaN: not measured. */
typedef struct NnGapAccount
{
	double		wall_ns;
	double		cpu_ns;			/* CPU time of the thread */
	double		run_delay_ns;	/* its time in the run queue */
	double		throttled_ns;	/* of its control group, all CPUs */
	double		steal_ns;		/* of the host, all CPUs, to the tick */
} NnGapAccount;

typedef struct NnGap
{
	uint64_t	start_ns;
	uint64_t	length_ns;
	uint64_t	cpu_ns;			/* CPU time of the thread at its end, from the
								 * start of the series */
	float		part_ns[NN_GAP_CAUSES]; /* they sum to the length */
} NnGap;

typedef struct NnGapSeries
{
	NnGap	   *gaps;			/* those that are kept, in order of time */
	int			n;
	int			room;
	uint64_t	kept_from_ns;	/* shorter ones are only counted */

	uint64_t	from_ns;		/* the window, on the monotonic clock */
	uint64_t	to_ns;
	uint64_t	cpu_ns;			/* CPU time of the thread in it */

	uint64_t	count;			/* of all gaps */
	double		total_ns;
	uint64_t	longest_ns;
	double		part_ns[NN_GAP_CAUSES]; /* sum to total_ns */
	uint64_t	cause_count[NN_GAP_CAUSES]; /* by the main cause; sum to count */
	NnHistogram lengths;
} NnGapSeries;

extern const char *nn_gap_cause_name(NnGapCause cause);

/*
 * Divide a gap among its causes.  "account" holds what grew from the last look, before the gap, to
 * one right behind it.  Time that is neither CPU time nor run-queue delay was stolen: kernels with paravirtual
 * accounting leave it out of the CPU time.  Others count it as CPU time, and then the host's steal tells.
 * Throttling is taken out of both.  Of a long gap (NN_GAP_LONG_NS) that the host's steal does not know of, the
 * thread was not stolen but stopped, which is no cause of ours: unknown.
 */
#define NN_GAP_LONG_NS	2e7

extern void nn_gap_explain(double length_ns, const NnGapAccount *account, double part_ns[NN_GAP_CAUSES]);
extern NnGapCause nn_gap_main_cause(const double part_ns[NN_GAP_CAUSES]);

extern void nn_gap_series_init(NnGapSeries *series, NnGap *gaps, int room, uint64_t from_ns);
extern void nn_gap_series_add(NnGapSeries *series, uint64_t start_ns, uint64_t length_ns, uint64_t cpu_ns,
							  const double part_ns[NN_GAP_CAUSES]);

/*
 * At the end of a window: what the host's steal grew by in it (all CPUs, to a tick of 10 ms) is the most that was
 * stolen.  The rest of what was thought so is unknown.  NaN: the host does not say, and all stays.
 */
extern void nn_gap_series_settle(NnGapSeries *series, double host_steal_ns);

#endif							/* NN_GAPS_H */
