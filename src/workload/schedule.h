/*-------------------------------------------------------------------------
 *
 * schedule.h
 *	  When the transactions of an open loop are due: a Poisson process.
 *
 * Gaps between arrivals are independent and exponential, as those of many users who know
 * nothing of each other.  A schedule is a sequence that its seed decides, not a list: it is computed
 * as far as it is asked for, so that any backlog costs no memory.  Two
 * schedules of one seed pass through the same arrivals; one may run ahead of the other.
 *
 * Pure: no clock is read.  Belongs to one thread.
 *
 *-------------------------------------------------------------------------
 */
#ifndef NN_SCHEDULE_H
#define NN_SCHEDULE_H

#include <stdint.h>

#include "core/random.h"

typedef struct NnSchedule
{
	NnRandom	random;
	uint64_t	start_ns;
	double		mean_gap_ns;
	double		offset_ns;		/* of the next arrival, from the start */
	uint64_t	next_ns;		/* when the next arrival is due; UINT64_MAX:
								 * never */
	uint64_t	passed;			/* arrivals before that one */
} NnSchedule;

/*
 * Stand before the first arrival after start_ns.  "rate" is in arrivals per second, above 0; no arrival
 * ever comes where it is not.  "stream" separates the threads of one seed.
 */
extern void nn_schedule_start(NnSchedule *s, double rate, uint64_t seed, uint64_t stream,
							  uint64_t start_ns);

/* Pass the next arrival. */
extern void nn_schedule_pass(NnSchedule *s);

/* Pass all that is due at until_ns or before. */
static inline void
nn_schedule_pass_until(NnSchedule *s, uint64_t until_ns)
{
	while (s->next_ns <= until_ns && s->next_ns != UINT64_MAX)
		nn_schedule_pass(s);
}

#endif							/* NN_SCHEDULE_H */
