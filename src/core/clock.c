/*-------------------------------------------------------------------------
 *
 * clock.c
 *	  Sleeping on the clock base of the measurements.
 *
 * Sleeps are to an absolute moment: the time that a caller spends between
 * reading the clock and going to sleep does not add up over many periods.
 *
 *-------------------------------------------------------------------------
 */
#include "core/clock.h"

#ifndef TIMER_ABSTIME

/* Without absolute sleeps: one relative sleep of what is left. */
void
nn_sleep_until_ns(uint64_t until_ns)
{
	uint64_t	now_ns = nn_now_ns();
	struct timespec ts;

	if (until_ns <= now_ns)
		return;
	ts.tv_sec = (time_t) ((until_ns - now_ns) / NN_NS_PER_S);
	ts.tv_nsec = (long) ((until_ns - now_ns) % NN_NS_PER_S);
	nanosleep(&ts, NULL);
}

#else

void
nn_sleep_until_ns(uint64_t until_ns)
{
	struct timespec ts;

	ts.tv_sec = (time_t) (until_ns / NN_NS_PER_S);
	ts.tv_nsec = (long) (until_ns % NN_NS_PER_S);
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
}

#endif							/* TIMER_ABSTIME */
