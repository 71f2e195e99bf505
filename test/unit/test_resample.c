/*-------------------------------------------------------------------------
 *
 * test_resample.c
 *	  Sign flips, bootstrap, intervals of percentiles, and steady state.
 *
 *-------------------------------------------------------------------------
 */
#include <stdlib.h>

#include "core/histogram_interval.h"
#include "core/resample.h"
#include "core/statistics.h"
#include "core/steady.h"
#include "tap.h"

static double
random_normal(NnRandom *random)
{
	double		radius = sqrt(-2 * log(1 - nn_random_double(random)));

	return radius * cos(2 * M_PI * nn_random_double(random));
}

/* The definition, sign vector by sign vector. */
static double
sign_flip_plain(const double *x, int n)
{
	double		observed = 0;
	int			hits = 0;
	int			signs;
	int			i;

	for (i = 0; i < n; i++)
		observed += x[i];
	for (signs = 0; signs < 1 << n; signs++)
	{
		double		sum = 0;

		for (i = 0; i < n; i++)
			sum += (signs >> i & 1) ? -x[i] : x[i];
		hits += fabs(sum) >= fabs(observed) - 1e-9;
	}
	return (double) hits / (1 << n);
}

static void
test_sign_flip(void)
{
	static const double same[] = {0.1, 0.2, 0.3, 0.4, 0.5};
	static const double balanced[] = {1, -1, 2, -2};
	static const double gap[] = {1, NAN};
	double		x[40];
	NnRandom	random;
	double		worst = 0;
	double		exact;
	int			rejected = 0;
	int			run;
	int			i;

	ok(nn_sign_flip_p(same, 5) == 2.0 / 32 && nn_sign_flip_p(same, 1) == 1 && nn_sign_flip_p(same, 3) == 2.0 / 8,
	   "n differences of one sign have p = 2 / 2^n");
	ok(nn_sign_flip_p(balanced, 4) == 1, "differences that cancel have p = 1");
	ok(isnan(nn_sign_flip_p(gap, 2)) && isnan(nn_sign_flip_p(same, 0)), "a gap, or nothing, has none");

	nn_random_seed(&random, 11, 0);
	for (run = 0; run < 200; run++)
	{
		int			n = (int) nn_random_range(&random, 1, 12);

		for (i = 0; i < n; i++)
			x[i] = (double) nn_random_range(&random, -5, 7);	/* many ties */
		worst = fmax(worst, fabs(nn_sign_flip_p(x, n) - sign_flip_plain(x, n)));
	}
	ok(worst == 0, "p is that of the definition, ties included");

	for (i = 0; i < 20; i++)
		x[i] = random_normal(&random) + 0.4;
	exact = nn_sign_flip_p(x, 20);
	x[20] = 1e-9;				/* changes nothing but the method */
	ok(fabs(nn_sign_flip_p(x, 21) - exact) < 0.005, "beyond 20 it is estimated (%.4f, exact %.4f)", nn_sign_flip_p(x, 21), exact);
	for (i = 0; i < 40; i++)
		x[i] = 1;
	ok(nn_sign_flip_p(x, 40) == 1.0 / (NN_SIGN_FLIP_DRAWS + 1), "and never 0");

	for (run = 0; run < 2000; run++)
	{
		for (i = 0; i < 8; i++)
			x[i] = random_normal(&random);
		rejected += nn_sign_flip_p(x, 8) <= 0.05;
	}
	ok(rejected <= 130, "without an effect, p is 0.05 or less in %.1f %% of samples", rejected / 20.0);
}

static double
mean_of(double *x, int n, void *arg)
{
	(void) arg;
	return nn_mean(x, n);
}

static void
test_bootstrap(void)
{
	static const double spread_sample[] = {10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20};
	static const double equal[] = {3, 3, 3};
	static const double negative[] = {-1, -2, -3};
	double		x[40];
	double		low;
	double		high;
	double		low2;
	double		high2;
	double		spread;
	NnRandom	random;
	int			covered = 0;
	int			run;
	int			i;

	nn_random_seed(&random, 12, 0);
	for (run = 0; run < 300; run++)
	{
		NnRandom	own;

		for (i = 0; i < 40; i++)
			x[i] = 5 + random_normal(&random);
		nn_random_seed(&own, 1, 0);
		nn_bootstrap_interval(x, 40, mean_of, NULL, &own, &low, &high);
		covered += low <= 5 && 5 <= high;
	}
	ok(covered >= 270, "a bootstrap interval holds the true mean in %.1f %% of samples", covered / 3.0);

	spread = nn_spread(spread_sample, 11, 1, &low, &high);
	ok(near(spread, 8.0 / 15, 1e-12) && low <= spread && spread <= high && low > 0.1 && high < 1,
	   "spread is (p90 - p10) / p50, with an interval (%.3f: %.3f to %.3f)", spread, low, high);
	nn_spread(spread_sample, 11, 1, &low2, &high2);
	ok(low == low2 && high == high2 && spread_sample[0] == 10, "the same sample has the same interval");
	ok(nn_spread(equal, 3, 1, &low, &high) == 0 && low == 0 && high == 0, "equal values have no spread");
	ok(isnan(nn_spread(equal, 1, 1, &low, &high)) && isnan(low) && isnan(nn_spread(negative, 3, 1, &low, &high)),
	   "one value, or a median below 0, has none that is defined");
}

static void
test_percentile_interval(void)
{
	NnHistogram *h = malloc(sizeof(NnHistogram));
	NnRandom	random;
	double		low;
	double		high;
	int			covered = 0;
	int			run;
	int			i;

	nn_histogram_reset(h);
	for (i = 1; i <= 1000; i++)
		nn_histogram_record(h, (uint64_t) i * 100);
	nn_histogram_percentile_interval_ns(h, 0.5, &low, &high);
	/* ranks 469 and 531 */
	ok(near(low, 46900, 0.004) && near(high, 53100, 0.004), "the interval of a median has ranks n / 2 -+ 0.98 sqrt(n)");
	nn_histogram_percentile_interval_ns(h, 0.999, &low, &high);
	/* rank 999 -+ 1.96: 997 and, beyond the sample, 1001 */
	ok(near(low, 99700, 0.004) && isnan(high), "an end beyond the sample is not known");
	nn_histogram_percentile_interval_ns(h, 1, &low, &high);
	ok(low == 100000 && high == 100000, "the maximum is what it is");
	nn_histogram_reset(h);
	nn_histogram_percentile_interval_ns(h, 0.5, &low, &high);
	ok(isnan(low) && isnan(high), "an empty histogram has no interval");

	nn_random_seed(&random, 13, 0);
	for (run = 0; run < 400; run++)
	{
		nn_histogram_reset(h);
		for (i = 0; i < 2000; i++)
			nn_histogram_record(h, (uint64_t) (-1e6 * log(1 - nn_random_double(&random))));
		nn_histogram_percentile_interval_ns(h, 0.99, &low, &high);
		covered += low * 0.996 <= 1e6 * log(100) && 1e6 * log(100) <= high * 1.004;
	}
	ok(covered >= 372, "the interval holds the true 99th percentile in %.1f %% of samples", covered / 4.0);
	free(h);
}

/* A series of log latencies: white noise of "sd" plus a warm-up or a trend. */
static void
make_series(NnRandom *random, double *x, int n, double sd, double warmup, double decay, double trend)
{
	int			i;

	for (i = 0; i < n; i++)
		x[i] = 1 + sd * random_normal(random) + warmup * exp(-i / decay) + trend * i / n;
}

static void
test_steady(void)
{
	static const double step[] = {5, 5, 5, 1, 1.1, 0.9, 1, 1.1, 0.9, 1, 1, 1.1};
	static const int lengths[] = {10, 30, 60};
	NnRandom	random;
	NnSteady	s;
	double		x[60];
	int			k;

	nn_steady_find(step, 12, &s);
	ok(s.state == NN_STEADY && s.cut == 3 && near(s.mean, 1.0111111, 1e-6) && s.shift > 3.9, "a warm-up is cut, and the rest is steady");
	for (k = 0; k < 12; k++)
		x[k] = k;
	nn_steady_find(x, 12, &s);
	ok(s.state == NN_NOT_STEADY && 2 * s.cut > 12, "a ramp never becomes steady");
	for (k = 0; k < 12; k++)
		x[k] = 4;
	nn_steady_find(x, 12, &s);
	ok(s.state == NN_STEADY && s.cut == 0 && s.shift == 0, "a constant is steady from the start");
	x[3] = NAN;
	nn_steady_find(x, 12, &s);
	ok(s.state == NN_STEADY_UNKNOWN, "a gap leaves it unknown");
	nn_steady_find(step, NN_STEADY_MIN - 1, &s);
	ok(s.state == NN_STEADY_UNKNOWN && isnan(s.mean), "and so does a short series");

	nn_random_seed(&random, 14, 0);
	for (k = 0; k < 3; k++)
	{
		int			n = lengths[k];
		int			false_alarms = 0;
		int			warm = 0;
		int			ramps = 0;
		int			run;

		for (run = 0; run < 1000; run++)
		{
			make_series(&random, x, n, 0.1, 0, 1, 0);
			nn_steady_find(x, n, &s);
			false_alarms += s.state == NN_NOT_STEADY;
			make_series(&random, x, n, 0.1, 1.5, n / 15.0, 0);
			nn_steady_find(x, n, &s);
			warm += s.state == NN_STEADY && s.cut >= 1;
			make_series(&random, x, n, 0.1, 0, 1, -1.5);
			nn_steady_find(x, n, &s);
			ramps += s.state == NN_NOT_STEADY;
		}
		ok(false_alarms <= 30, "%d seconds without a trend are called not steady in %.1f %% of series", n, false_alarms / 10.0);
		ok(warm >= 900, "a short warm-up is cut, and the rest called steady, in %.1f %%", warm / 10.0);
		ok(ramps >= 700, "a trend through all of it is called not steady in %.1f %%", ramps / 10.0);
	}
}

int
main(void)
{
	test_sign_flip();
	test_bootstrap();
	test_percentile_interval();
	test_steady();
	return tap_done();
}
