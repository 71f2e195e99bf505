/*-------------------------------------------------------------------------
 *
 * test_steadiness.c
 *	  Drift and jumps of long series, and none where there is only noise.
 *
 *-------------------------------------------------------------------------
 */
#include "core/steadiness.h"

#include <stdlib.h>

#include "core/random.h"
#include "tap.h"

#define N		300
#define TRIES	500

static double x[N];

static double
normal(NnRandom *r)
{
	return sqrt(-2 * log(1 - nn_random_double(r))) * cos(2 * M_PI * nn_random_double(r));
}

/* Noise about 1000 with a deviation of 1 %; neighbours correlate by rho. */
static void
make_noise(NnRandom *r, double rho)
{
	double		last = normal(r);

	for (int i = 0; i < N; i++)
	{
		last = rho * last + sqrt(1 - rho * rho) * normal(r);
		x[i] = 1000 + 10 * last;
	}
}

static void
test_noise(double rho, double allowed)
{
	NnRandom	r;
	NnSteadiness s;
	int			alarms = 0;

	nn_random_seed(&r, 11, 0);
	for (int i = 0; i < TRIES; i++)
	{
		make_noise(&r, rho);
		nn_steadiness_find(x, N, 0.01, &s);
		alarms += s.verdict != NN_HOLDS;
	}
	ok(alarms <= allowed * TRIES, "noise whose neighbours correlate by %.1f holds (%d false alarms in %d)", rho, alarms, TRIES);
}

static void
test_jump(void)
{
	NnRandom	r;
	NnSteadiness s;
	int			found = 0;
	int			sized = 0;

	nn_random_seed(&r, 12, 0);
	for (int i = 0; i < TRIES; i++)
	{
		int			at = (int) nn_random_range(&r, 20, N - 20);

		make_noise(&r, 0);
		for (int k = at; k < N; k++)
			x[k] *= 0.97;
		nn_steadiness_find(x, N, 0.01, &s);
		found += s.verdict == NN_JUMPS && s.n_changes == 1 && abs(s.changes[0].at - at) <= 3;
		sized += s.n_changes == 1 && fabs(s.changes[0].after / s.changes[0].before - 0.97) < 0.01;
	}
	ok(found >= 0.95 * TRIES, "a jump by -3 %% is found where it is (%d of %d)", found, TRIES);
	ok(sized >= 0.95 * TRIES, "and as large as it is (%d of %d)", sized, TRIES);
}

static void
test_two_jumps(void)
{
	NnRandom	r;
	NnSteadiness s;
	int			found = 0;

	nn_random_seed(&r, 13, 0);
	for (int i = 0; i < TRIES; i++)
	{
		make_noise(&r, 0);
		for (int k = 100; k < 160; k++)
			x[k] *= 0.9;
		nn_steadiness_find(x, N, 0.01, &s);
		found += s.verdict == NN_JUMPS && s.n_changes == 2 && abs(s.changes[0].at - 100) <= 2 && abs(s.changes[1].at - 160) <= 2;
	}
	ok(found >= 0.95 * TRIES, "a dip has a beginning and an end (%d of %d)", found, TRIES);
}

static void
test_drift(void)
{
	NnRandom	r;
	NnSteadiness s;
	int			found = 0;
	int			covered = 0;

	nn_random_seed(&r, 14, 0);
	for (int i = 0; i < TRIES; i++)
	{
		make_noise(&r, 0);
		for (int k = 0; k < N; k++)
			x[k] *= 1.025 - 0.05 * k / (N - 1);
		nn_steadiness_find(x, N, 0.01, &s);
		found += s.verdict == NN_DRIFTS && s.n_changes == 0;
		covered += s.drift_low <= -0.05 && s.drift_high >= -0.05;
	}
	ok(found >= 0.95 * TRIES, "a drift by -5 %% is one, and no jumps (%d of %d)", found, TRIES);
	ok(covered >= 0.92 * TRIES && covered <= 0.985 * TRIES, "its interval covers it (%d of %d)", covered, TRIES);
}

static void
test_edges(void)
{
	NnSteadiness s;

	for (int i = 0; i < N; i++)
		x[i] = 5;
	nn_steadiness_find(x, N, 0.01, &s);
	ok(s.verdict == NN_HOLDS && s.mean == 5 && s.cv == 0, "a constant series holds");
	x[150] = 4;
	nn_steadiness_find(x, N, 0.01, &s);
	ok(s.verdict == NN_HOLDS, "one odd value is no jump");
	for (int i = 200; i < N; i++)
		x[i] = 6;
	nn_steadiness_find(x, N, 0.01, &s);
	ok(s.verdict == NN_JUMPS && s.n_changes >= 1 && s.changes[s.n_changes - 1].at == 200, "a jump without any noise is found");
	nn_steadiness_find(x, NN_STEADINESS_MIN - 1, 0.01, &s);
	ok(s.verdict == NN_STEADINESS_UNKNOWN && isnan(s.mean), "a short series has no answer");
	x[3] = NAN;
	nn_steadiness_find(x, N, 0.01, &s);
	ok(s.verdict == NN_STEADINESS_UNKNOWN, "neither has one with a gap");
}

int
main(void)
{
	test_noise(0, 0.01);
	test_noise(0.5, 0.02);
	test_jump();
	test_two_jumps();
	test_drift();
	test_edges();
	return tap_done();
}
