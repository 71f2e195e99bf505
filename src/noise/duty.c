/*-------------------------------------------------------------------------
 *
 * duty.c
 *	  Deliver one order's dose of one stressor in one load thread.
 *
 * Duty stressors: a credit loop.  Time is cut into periods of P = 10 ms.  At the
 * beginning of each, at time t, the thread looks at how much CPU time is due by the
 * period's end and has not been used,
 *
 *		need = target * (t - t0 + P) - cpu(t)
 *
 * burns that much in short pieces and sleeps to the absolute beginning of the
 * next period.  t is the monotonic clock and cpu the thread's own CPU clock, so
 * that time off the CPU (preemption, steal, a late wake-up) is seen and made up for
 * in the next period, and the overshoot of a piece is taken off it.  A thread whose
 * period has passed while it was burning doesn't sleep.  The first and the last period may be
 * shorter; what is due by their ends is shorter likewise.
 *
 * Making up is bounded: when the dose that is outstanding exceeds NN_DUTY_CATCH_UP
 * periods' worth, the rest is forgotten.  It then is missing from the achieved
 * dose, which is measured from the same clocks and says so.
 *
 * The periods of the threads of a run are shifted against each other by
 * P / threads.  Were they in step, n threads at 40 % would take n CPUs away for 4 ms and
 * none for 6 ms; shifted, n x 40 % are taken in (nearly) every instant, and the load
 * is what it says in windows shorter than a period, too.
 *
 * Busy stressors: the same loop, with the time spent in the pieces of work in the place of the CPU time.  What
 * waits for a disk uses little CPU time, and its pieces may take long; the overshoot is taken off
 * the next periods.
 *
 * Hold stressors: hold() is called until it has what the level asks for, then
 * every 100 ms.  The dose is the share held, integrated over time.
 *
 * The caller owns the state; nothing is allocated here.  No locks.
 *
 *-------------------------------------------------------------------------
 */
#include "noise/duty.h"

#include <math.h>

#include "core/clock.h"

typedef struct DutyRun
{
	const NnStressor *stressor;
	void	   *state;
	uint64_t	bytes;
	const NnDutyOrder *order;
	const NnDutyEnv *env;
	NnReading	now;			/* cpu_ns and dose_ns count from the start of
								 * the order */
	uint64_t	cpu_origin_ns;
	NnMeter		meter;
} DutyRun;

uint64_t
nn_duty_phase_ns(int number, int threads)
{
	if (threads <= 1)
		return 0;
	return NN_DUTY_PERIOD_NS * (uint64_t) (number % threads) / (uint64_t) threads;
}

/*
 * Read the clocks, after a piece of work (worked) or a rest.  The dose of a duty stressor is its CPU time, that of a
 * busy stressor the time of the pieces; read_held() knows that of the others.
 */
static void
read_clocks(DutyRun *run, bool worked)
{
	uint64_t	before_ns = run->now.at_ns;

	run->now.at_ns = nn_now_ns();
	run->now.cpu_ns = nn_thread_cpu_ns() - run->cpu_origin_ns;
	if (run->stressor->kind == NN_DOSE_DUTY)
		run->now.dose_ns = (double) run->now.cpu_ns;
	else if (worked)
		run->now.dose_ns += (double) (run->now.at_ns - before_ns);
	nn_meter_read(&run->meter, &run->now);
}

static bool
must_stop(const DutyRun *run)
{
	return run->env->must_stop(run->env->arg);
}

/* Sleep until a time that may be far away; false when the run has been stopped. */
static bool
wait_until(const DutyRun *run, uint64_t until_ns)
{
	while (nn_now_ns() < until_ns)
	{
		if (must_stop(run))
			return false;
		run->env->wait_until(run->env->arg, until_ns);
	}
	return !must_stop(run);
}

/* Level 0: wake up at the boundaries of the seconds only. */
static void
run_idle(DutyRun *run)
{
	while (run->now.at_ns < run->order->end_ns)
	{
		uint64_t	until_ns = nn_meter_next_ns(&run->meter);

		if (!wait_until(run, until_ns < run->order->end_ns ? until_ns : run->order->end_ns))
			return;
		read_clocks(run, false);
	}
}

/*
 * Burn until the dose reaches goal_ns or the order ends; false when the run has been
 * stopped.
 */
static bool
burn_until(DutyRun *run, double goal_ns)
{
	while (run->now.dose_ns < goal_ns && run->now.at_ns < run->order->end_ns)
	{
		uint64_t	units;

		if (must_stop(run))
			return false;
		units = run->stressor->burn(run->state);
		run->now.units += (double) units;
		read_clocks(run, units > 0);
	}
	return true;
}

/* The end of the period that the moment lies in. */
static uint64_t
period_end_ns(const NnDutyOrder *order, uint64_t at_ns)
{
	uint64_t	next_ns = order->start_ns + order->phase_ns;

	if (at_ns >= next_ns)
		next_ns += ((at_ns - next_ns) / NN_DUTY_PERIOD_NS + 1) * NN_DUTY_PERIOD_NS;
	return next_ns < order->end_ns ? next_ns : order->end_ns;
}

static void
run_duty(DutyRun *run)
{
	const NnDutyOrder *order = run->order;
	const double target = order->level_pct / 100.0;
	const double most_ns = target * (double) (NN_DUTY_CATCH_UP * NN_DUTY_PERIOD_NS);
	double		lost_ns = 0;

	if (!wait_until(run, order->start_ns))
		return;
	read_clocks(run, false);

	while (run->now.at_ns < order->end_ns)
	{
		uint64_t	next_ns = period_end_ns(order, run->now.at_ns);
		double		behind_ns = target * (double) (run->now.at_ns - order->start_ns)
			- run->now.dose_ns - lost_ns;

		if (behind_ns > most_ns)
		{
			lost_ns += behind_ns - most_ns;
			behind_ns = most_ns;
		}
		if (!burn_until(run, run->now.dose_ns + behind_ns + target * (double) (next_ns - run->now.at_ns)))
			return;

		/*
		 * The period may be over already: then there is new credit, and no
		 * time to sleep.
		 */
		while (run->now.at_ns < next_ns)
		{
			nn_sleep_until_ns(next_ns);
			if (must_stop(run))
				return;
			read_clocks(run, false);
		}
	}
}

/*
 * Read the clocks of a hold stressor's thread.  It held "from" at the latest reading and holds
 * "to" now, and on the way the mean of both.
 */
static void
read_held(DutyRun *run, uint64_t from, uint64_t to)
{
	uint64_t	at_ns = nn_now_ns();
	double		held_ns = ((double) from + (double) to) / 2 * (double) (at_ns - run->now.at_ns);

	run->now.at_ns = at_ns;
	run->now.cpu_ns = nn_thread_cpu_ns() - run->cpu_origin_ns;
	if (run->bytes > 0)
		run->now.dose_ns += held_ns / (double) run->bytes;
	run->now.units += held_ns / (double) NN_NS_PER_S;
	nn_meter_read(&run->meter, &run->now);
}

/* Is "to" nearer to the amount wanted than "from"? */
static bool
is_nearer(double wanted, uint64_t from, uint64_t to)
{
	return fabs((double) to - wanted) < fabs((double) from - wanted);
}

static void
run_hold(DutyRun *run)
{
	const double level_pct = run->order->level_pct;
	const double wanted = level_pct / 100.0 * (double) run->bytes;
	const uint64_t end_ns = run->order->end_ns;
	uint64_t	held = 0;
	uint64_t	next_ns = run->order->start_ns;

	if (!wait_until(run, next_ns))
		return;
	read_held(run, 0, 0);

	while (run->now.at_ns < end_ns)
	{
		uint64_t	before = held;

		held = run->stressor->hold(run->state, level_pct);
		read_held(run, before, held);
		if (must_stop(run))
			return;
		if (is_nearer(wanted, before, held))
			continue;			/* on the way: the next step follows at once */

		do
			next_ns += NN_HOLD_TICK_NS;
		while (next_ns <= run->now.at_ns);
		if (!wait_until(run, next_ns < end_ns ? next_ns : end_ns))
			return;
		read_held(run, held, held);
	}
}

/*
 * Let go of everything that a hold stressor holds: nothing is held between the
 * blocks.  A run that has been stopped leaves it to the end of the thread.
 */
static void
release(DutyRun *run)
{
	uint64_t	before = UINT64_MAX;

	while (!must_stop(run))
	{
		uint64_t	held = run->stressor->hold(run->state, 0);

		if (held == 0 || held >= before)
			break;
		before = held;
	}
}

void
nn_duty_run(const NnStressor *stressor, void *state, uint64_t bytes,
			const NnDutyOrder *order, const NnDutyEnv *env, NnDutyResult *result)
{
	DutyRun		run;
	NnMeterResult window;

	run.stressor = stressor;
	run.state = state;
	run.bytes = bytes;
	run.order = order;
	run.env = env;
	run.cpu_origin_ns = nn_thread_cpu_ns();
	run.now.at_ns = nn_now_ns();
	run.now.cpu_ns = 0;
	run.now.dose_ns = 0;
	run.now.units = 0;
	nn_meter_start(&run.meter, order->measure_ns, order->end_ns, order->n_seconds, &run.now,
				   env->record_second, env->arg);

	if (!(order->level_pct > 0))
		run_idle(&run);
	else if (stressor->kind == NN_DOSE_HOLD)
	{
		run_hold(&run);
		release(&run);
	}
	else
		run_duty(&run);

	nn_meter_result(&run.meter, &window);
	result->achieved_pct = window.achieved_pct;
	result->rate = window.units_per_s;
	result->cpu_pct = window.cpu_pct;
	result->unreachable = order->level_pct - window.achieved_pct > NN_UNREACHABLE_PCT;
}
