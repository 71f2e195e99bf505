/*-------------------------------------------------------------------------
 *
 * test_meter.c
 *	  What a load thread achieved: windows and seconds from readings.
 *
 * Links: src/noise/meter.c
 *
 *-------------------------------------------------------------------------
 */
#include "noise/meter.h"

#include "core/clock.h"
#include "core/random.h"
#include "tap.h"

#define START	(UINT64_C(7) * NN_NS_PER_S + 123)
#define ROWS	8

static double seconds[ROWS];
static int	recorded;

static void
record(void *arg, int second, double achieved_pct)
{
	(void) arg;
	recorded++;
	if (second >= 0 && second < ROWS)
		seconds[second] = achieved_pct;
}

static NnReading
reading(uint64_t at_ns, double dose_ns)
{
	NnReading	r = {at_ns, (uint64_t) dose_ns, dose_ns, dose_ns / 1000};

	return r;
}

static void
start(NnMeter *meter, double window_s, int n_seconds)
{
	NnReading	now = reading(START - NN_NS_PER_S, 0);

	recorded = 0;
	for (int i = 0; i < ROWS; i++)
		seconds[i] = -1;
	nn_meter_start(meter, START, START + (uint64_t) (window_s * NN_NS_PER_S), n_seconds, &now,
				   record, NULL);
}

static void
hand_in(NnMeter *meter, uint64_t at_ns, double dose_ns)
{
	NnReading	now = reading(at_ns, dose_ns);

	nn_meter_read(meter, &now);
}

static void
test_sleeper(void)
{
	NnMeter		meter;
	NnMeterResult result;

	/*
	 * Burns 3 ms at the beginning of each period of 10 ms, before the window,
	 * too.
	 */
	start(&meter, 2.5, 3);
	for (uint64_t period = 0; period < 400; period++)
	{
		uint64_t	at_ns = START - NN_NS_PER_S + period * 10 * NN_NS_PER_MS;

		hand_in(&meter, at_ns, (double) (period * 3 * NN_NS_PER_MS));
		hand_in(&meter, at_ns + 3 * NN_NS_PER_MS, (double) ((period + 1) * 3 * NN_NS_PER_MS));
	}
	nn_meter_result(&meter, &result);
	ok(near(result.achieved_pct, 30, 1e-9), "the dose of a window is that of the window alone");
	ok(near(result.cpu_pct, 30, 1e-6), "CPU time is told beside it");
	ok(near(result.units_per_s, 300000, 1e-9), "the rate is per second of the window");
	ok(recorded == 3, "each second is told once");
	ok(near(seconds[0], 30, 1e-9) && near(seconds[1], 30, 1e-9) && near(seconds[2], 30, 1e-9),
	   "a partial second is measured by its own length");
	ok(nn_meter_next_ns(&meter) == UINT64_MAX, "nothing is due after the end");
}

static void
test_sparse(void)
{
	NnMeter		meter;
	NnMeterResult result;

	start(&meter, 3, 3);
	hand_in(&meter, START + 3 * NN_NS_PER_S + 500 * NN_NS_PER_MS, 0.45 * NN_NS_PER_S);
	nn_meter_result(&meter, &result);
	ok(recorded == 3, "one reading can pass several seconds");
	ok(near(seconds[0], 10, 1e-9) && near(seconds[2], 10, 1e-9), "what lies between two readings is spread evenly");
	ok(near(result.achieved_pct, 10, 1e-9), "and so is the window's dose");
}

static void
test_unfinished(void)
{
	NnMeter		meter;
	NnMeterResult result;

	start(&meter, 2, 2);
	hand_in(&meter, START + 1500 * NN_NS_PER_MS, 1e9);
	nn_meter_result(&meter, &result);
	ok(isnan(result.achieved_pct) && isnan(result.cpu_pct) && isnan(result.units_per_s),
	   "a window that was not passed to its end has no dose");
	ok(recorded == 1 && seconds[1] == -1, "its whole seconds are told, the broken one is not");
}

static void
test_sum(void)
{
	NnMeter		meter;
	NnMeterResult result;
	NnRandom	random;
	uint64_t	at_ns = START - NN_NS_PER_S;
	double		dose_ns = 0;
	double		sum = 0;

	nn_random_seed(&random, 1, 0);
	start(&meter, 4.25, 5);
	while (at_ns < START + 5 * NN_NS_PER_S)
	{
		uint64_t	step_ns = (uint64_t) nn_random_range(&random, 1000, 90 * NN_NS_PER_MS);

		at_ns += step_ns;
		dose_ns += nn_random_double(&random) * (double) step_ns;
		hand_in(&meter, at_ns, dose_ns);
	}
	nn_meter_result(&meter, &result);
	for (int i = 0; i < 4; i++)
		sum += seconds[i];
	sum += 0.25 * seconds[4];
	ok(near(sum / 4.25, result.achieved_pct, 1e-9), "the seconds sum to the window");
}

int
main(void)
{
	test_sleeper();
	test_sparse();
	test_unfinished();
	test_sum();
	return tap_done();
}
