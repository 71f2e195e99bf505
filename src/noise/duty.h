/*-------------------------------------------------------------------------
 *
 * duty.h
 *	  Deliver one order's dose of one stressor in one load thread.
 *
 * Pure C: what the thread needs from its process comes in through NnDutyEnv, so
 * that the loop can be measured without a server.
 *
 *-------------------------------------------------------------------------
 */
#ifndef NN_DUTY_H
#define NN_DUTY_H

#include <stdbool.h>
#include <stdint.h>

#include "noise/meter.h"
#include "noise/stressor.h"

/* Length of a duty period. */
#define NN_DUTY_PERIOD_NS	UINT64_C(10000000)

/*
 * How much dose may be outstanding, in periods' worth.  What a thread falls behind by
 * more than this is lost for good, so a starved or paused thread ends in a
 * burst of at most level x this many periods.
 */
#define NN_DUTY_CATCH_UP	5

/* A hold stressor is asked this often to keep what it has. */
#define NN_HOLD_TICK_NS		UINT64_C(100000000)

/* "unreachable": more than this of the request was not delivered, percentage points. */
#define NN_UNREACHABLE_PCT	1.0

typedef struct NnDutyEnv
{
	bool		(*must_stop) (void *arg);

	/*
	 * Sleep until the monotonic clock reads until_ns, or until must_stop()
	 * becomes true; may return early for no reason.
	 */
	void		(*wait_until) (void *arg, uint64_t until_ns);
	NnMeterRecord record_second;	/* may be NULL */
	void	   *arg;
} NnDutyEnv;

typedef struct NnDutyOrder
{
	double		level_pct;
	uint64_t	start_ns;		/* load starts, monotonic */
	uint64_t	measure_ns;		/* the measured window starts */
	uint64_t	end_ns;			/* and ends; load ends */
	int			n_seconds;		/* whole and partial seconds of the window */
	uint64_t	phase_ns;		/* this thread's periods begin so much later,
								 * < NN_DUTY_PERIOD_NS */
} NnDutyOrder;

typedef struct NnDutyResult
{
	double		achieved_pct;	/* in the window; NaN when it was stopped
								 * before the end */
	double		rate;			/* units per second in the window, or mean
								 * amount held; NaN likewise */
	double		cpu_pct;		/* percent of one CPU in the window; NaN
								 * likewise */
	bool		unreachable;
} NnDutyResult;

/* Phase of load thread "number" (0, 1, …) of "threads" that run at the same time. */
extern uint64_t nn_duty_phase_ns(int number, int threads);

/*
 * Carry out an order; returns at its end or soon after must_stop() becomes true, with
 * no load left.  "bytes" is the amount that a hold stressor's level is a percentage of.
 */
extern void nn_duty_run(const NnStressor *stressor, void *state, uint64_t bytes,
						const NnDutyOrder *order, const NnDutyEnv *env, NnDutyResult *result);

#endif							/* NN_DUTY_H */
