/*-------------------------------------------------------------------------
 *
 * test_duty.c
 *	  The dose of a load thread, on a host that may be busy with other things.
 *
 * Links: src/noise/duty.c src/noise/meter.c
 *
 * How much CPU a thread can have is not for the test to say, so it is tested what holds on a busy
 * host, too: never more than asked, nothing made up beyond the bound, and a report that agrees with
 * the clocks.  bench/dose measures how near the dose is.
 *
 *-------------------------------------------------------------------------
 */
#include "noise/duty.h"

#include <stdatomic.h>
#include <string.h>

#include "core/clock.h"
#include "tap.h"

#define ROWS	4

/* A stressor that spins 20 us, or is off the CPU for a while when it is told to. */
static uint64_t pause_ns;
static uint64_t pieces;

static uint64_t
spin(void *state)
{
	uint64_t	end_ns = nn_thread_cpu_ns() + 20 * NN_NS_PER_US;

	(void) state;
	if (pause_ns > 0)
	{
		nn_sleep_until_ns(nn_now_ns() + pause_ns);
		pause_ns = 0;
	}
	while (nn_thread_cpu_ns() < end_ns)
		;
	pieces++;
	return 3;
}

/* One that gets a quarter of the way at each step, up to what it can have. */
static uint64_t held;
static uint64_t most_held;

static uint64_t
hold(void *state, double level_pct)
{
	uint64_t	wanted = (uint64_t) (level_pct * 10);

	(void) state;
	if (wanted > held + 250)
		held += 250;
	else
		held = wanted;
	if (held > most_held)
		held = most_held;
	return held;
}

/* A piece that takes 3 ms off the CPU. */
static uint64_t
wait_a_while(void *state)
{
	(void) state;
	pieces++;
	nn_sleep_until_ns(nn_now_ns() + 3 * NN_NS_PER_MS);
	return 1;
}

static uint64_t
fail(void *state)
{
	(void) wait_a_while(state);
	return 0;
}

static const NnStressor spinner = {.name = "spinner",.kind = NN_DOSE_DUTY,.burn = spin};
static const NnStressor waiter = {.name = "waiter",.kind = NN_DOSE_BUSY,.burn = wait_a_while};
static const NnStressor failing = {.name = "failing",.kind = NN_DOSE_BUSY,.burn = fail};
static const NnStressor holder = {.name = "holder",.kind = NN_DOSE_HOLD,.hold = hold};

static double seconds[ROWS];
static uint64_t stop_at_ns;

static bool
must_stop(void *arg)
{
	(void) arg;
	return nn_now_ns() >= stop_at_ns;
}

static void
wait_until(void *arg, uint64_t until_ns)
{
	(void) arg;
	nn_sleep_until_ns(until_ns < stop_at_ns ? until_ns : stop_at_ns);
}

static void
record(void *arg, int second, double achieved_pct)
{
	(void) arg;
	if (second < ROWS)
		seconds[second] = achieved_pct;
}

/* Run an order whose window starts with it; returns the CPU time used, percent of the window. */
static double
run(const NnStressor *stressor, double level_pct, int window_ms, uint64_t phase_ns, NnDutyResult *result)
{
	NnDutyEnv	env = {must_stop, wait_until, record, NULL};
	NnDutyOrder order;
	uint64_t	cpu_ns;

	for (int i = 0; i < ROWS; i++)
		seconds[i] = NAN;
	pieces = 0;
	order.level_pct = level_pct;
	order.start_ns = order.measure_ns = nn_now_ns() + 5 * NN_NS_PER_MS;
	order.end_ns = order.start_ns + (uint64_t) window_ms * NN_NS_PER_MS;
	order.n_seconds = (window_ms + 999) / 1000;
	order.phase_ns = phase_ns;
	if (stop_at_ns != UINT64_MAX)
		stop_at_ns = order.start_ns + 100 * NN_NS_PER_MS;
	cpu_ns = nn_thread_cpu_ns();
	nn_duty_run(stressor, NULL, 1000, &order, &env, result);
	return 100.0 * (double) (nn_thread_cpu_ns() - cpu_ns) / ((double) window_ms * NN_NS_PER_MS);
}

static void
test_levels(void)
{
	static const double levels[] = {1, 10, 30, 75, 90, 100};
	bool		never_more = true;
	bool		agrees = true;
	bool		flagged = true;
	bool		counted = true;

	for (int i = 0; i < (int) (sizeof(levels) / sizeof(levels[0])); i++)
	{
		NnDutyResult result;
		double		cpu_pct = run(&spinner, levels[i], 500, nn_duty_phase_ns(i, 7), &result);

		tap_note("asked %g, achieved %.3f, the clock says %.3f", levels[i], result.achieved_pct, cpu_pct);
		never_more = never_more && result.achieved_pct < levels[i] + 0.5;
		agrees = agrees && fabs(result.achieved_pct - cpu_pct) < 0.5;
		flagged = flagged && result.unreachable == (result.achieved_pct < levels[i] - NN_UNREACHABLE_PCT);
		counted = counted && fabs(result.rate - (double) pieces * 3 / 0.5) <= 6;
	}
	ok(never_more, "no level delivers more than was asked for");
	ok(agrees, "the dose reported is the CPU time of the thread");
	ok(flagged, "unreachable is set when more than a percentage point is missing, and only then");
	ok(counted, "the rate counts the work of every piece");
}

static void
test_busy(void)
{
	NnDutyResult result;
	double		cpu_pct = run(&waiter, 40, 1500, 0, &result);

	tap_note("asked 40, achieved %.3f, %.0f pieces/s, %.2f %% of a CPU", result.achieved_pct, result.rate, cpu_pct);
	ok(fabs(result.achieved_pct - 40) < 5 && result.achieved_pct > 5 * cpu_pct,
	   "a busy stressor's dose is the time it is at work, on the CPU or not");
	ok(fabs(result.rate * 3 - 10 * result.achieved_pct) <= 0.3 * 10 * result.achieved_pct,
	   "pieces that take 3 ms each make it up");
	run(&failing, 40, 500, 0, &result);
	ok(result.achieved_pct == 0 && result.rate == 0 && result.unreachable, "work that fails is no dose");
}

static void
test_seconds(void)
{
	NnDutyResult result;

	run(&spinner, 20, 1500, 0, &result);
	ok(fabs((seconds[0] + 0.5 * seconds[1]) / 1.5 - result.achieved_pct) < 1e-6,
	   "the seconds sum to the window");
	ok(isnan(seconds[2]), "no second is told beyond the window");
}

static void
test_starved(void)
{
	NnDutyResult result;
	const double bound_ms = 40.0 / 100 * (1000 - 400 + (NN_DUTY_CATCH_UP + 1) * 10);

	pause_ns = 400 * NN_NS_PER_MS;
	run(&spinner, 40, 1000, 0, &result);
	tap_note("off the CPU for 400 of 1000 ms at 40 %%: achieved %.3f %%", result.achieved_pct);
	ok(result.achieved_pct < bound_ms / 10 + 0.5, "a starved thread makes up for a few periods and no more");
	ok(result.unreachable, "what it has lost is not kept quiet");
}

static void
test_idle(void)
{
	NnDutyResult result;
	double		cpu_pct = run(&spinner, 0, 1200, 0, &result);

	ok(pieces == 0 && cpu_pct < 1, "level 0 does no work");
	ok(result.achieved_pct < 1 && !result.unreachable && !isnan(seconds[1]), "and is measured like any other");
}

static void
test_stop(void)
{
	NnDutyResult result;
	uint64_t	before_ns = nn_now_ns();
	bool		undefined = true;

	stop_at_ns = 0;
	run(&spinner, 100, 60000, 0, &result);
	undefined = isnan(result.achieved_pct) && !result.unreachable;
	run(&spinner, 10, 60000, 0, &result);
	undefined = undefined && isnan(result.achieved_pct);
	run(&spinner, 0, 60000, 0, &result);
	undefined = undefined && isnan(result.achieved_pct);
	held = 0;
	run(&holder, 50, 60000, 0, &result);
	undefined = undefined && isnan(result.achieved_pct);
	ok(nn_now_ns() - before_ns < 10 * NN_NS_PER_S, "a stop ends a block of a minute at once, whatever its level");
	ok(undefined, "a block that was stopped has no dose");
	stop_at_ns = UINT64_MAX;
}

static void
test_hold(void)
{
	NnDutyResult result;

	held = 0;
	most_held = 1000;
	run(&holder, 80, 500, 0, &result);
	ok(fabs(result.achieved_pct - 80) < 5 && fabs(result.rate - 10 * result.achieved_pct) < 1e-6,
	   "a hold stressor's dose is the share held, over time (%.3f)", result.achieved_pct);
	ok(held == 0, "nothing is held after the block");
	most_held = 300;
	run(&holder, 80, 500, 0, &result);
	ok(result.achieved_pct <= 30 && result.unreachable, "an amount that is not to be had is unreachable (%.3f)",
	   result.achieved_pct);
	run(&holder, 0, 200, 0, &result);
	ok(result.achieved_pct == 0 && result.rate == 0 && !result.unreachable, "level 0 holds nothing");
}

static void
test_phases(void)
{
	bool		different = true;
	bool		in_period = true;

	for (int i = 0; i < 64; i++)
	{
		in_period = in_period && nn_duty_phase_ns(i, 64) < NN_DUTY_PERIOD_NS;
		different = different && (i == 0 || nn_duty_phase_ns(i, 64) > nn_duty_phase_ns(i - 1, 64));
	}
	ok(different && in_period, "64 threads start their periods at 64 different moments of one period");
	ok(nn_duty_phase_ns(0, 0) == 0 && nn_duty_phase_ns(0, 1) == 0, "a single thread starts at once");
}

int
main(void)
{
	stop_at_ns = UINT64_MAX;
	most_held = 1000;
	test_levels();
	test_busy();
	test_seconds();
	test_starved();
	test_idle();
	test_stop();
	test_hold();
	test_phases();
	return tap_done();
}
