/*-------------------------------------------------------------------------
 *
 * schedule.c
 *	  When the transactions of an open loop are due: a Poisson process.  See schedule.h.
 *
 * The sum of the gaps is kept as a double and only the result is cut to nanoseconds: cutting each
 * gap would make the arrivals come too early, more and more so as time goes by.
 *
 *-------------------------------------------------------------------------
 */
#include "workload/schedule.h"

#include <math.h>

#include "core/clock.h"

/* Later than this, 146 years after the start, is never. */
#define NEVER_NS	4611686018427387904.0

/* The next gap: an exponential variate by inversion. */
static void
add_gap(NnSchedule *s)
{
	s->offset_ns -= log1p(-nn_random_double(&s->random)) * s->mean_gap_ns;
	s->next_ns = s->offset_ns < NEVER_NS ? s->start_ns + (uint64_t) s->offset_ns : UINT64_MAX;
}

void
nn_schedule_start(NnSchedule *s, double rate, uint64_t seed, uint64_t stream, uint64_t start_ns)
{
	nn_random_seed(&s->random, seed, stream);
	s->start_ns = start_ns;
	s->mean_gap_ns = rate > 0 ? (double) NN_NS_PER_S / rate : INFINITY;
	s->offset_ns = 0;
	s->passed = 0;
	add_gap(s);
}

void
nn_schedule_pass(NnSchedule *s)
{
	s->passed++;
	add_gap(s);
}
