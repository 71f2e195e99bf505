/*-------------------------------------------------------------------------
 *
 * test_curve.c
 *	  Monotone curves, tolerable doses and knees on known shapes.
 *
 *-------------------------------------------------------------------------
 */
#include <string.h>

#include "core/curve.h"
#include "core/isotonic.h"
#include "core/knee.h"
#include "core/random.h"
#include "tap.h"

#define MAX_BLOCKS	200
#define RUNS		200

typedef double (*Shape) (double dose);

static double
line(double dose)
{
	return 10 + 0.2 * dose;
}

static double
constant(double dose)
{
	(void) dose;
	return 10;
}

static double
queue(double dose)
{
	return 5 / (1 - dose / 80);
}

static double
throughput(double dose)
{
	return 4000 / (1 + dose / 60);
}

static double
stick(double dose)
{
	return 10 + 0.05 * dose + 1.2 * fmax(0, dose - 33);
}

static double
falling_stick(double dose)
{
	return 4000 - 5 * dose - 60 * fmax(0, dose - 33);
}

static double
flattening(double dose)
{
	return 10 + 2 * fmin(dose, 25);
}

static double
random_normal(NnRandom *random)
{
	double		radius = sqrt(-2 * log(1 - nn_random_double(random)));

	return radius * cos(2 * M_PI * nn_random_double(random));
}

/* Blocks at doses 0, step, 2 step …, each "repeats" times, with relative errors of "sd". */
static int
simulate(NnRandom *random, Shape shape, int doses, int repeats, double step, double sd, NnCurveBlock *blocks)
{
	int			n = 0;
	int			r;
	int			d;

	for (r = 0; r < repeats; r++)
		for (d = 0; d < doses; d++)
		{
			blocks[n].level = d * step;
			blocks[n].dose = d * step * 0.98;	/* delivered is not asked for */
			blocks[n].value = shape(blocks[n].dose) * exp(sd * random_normal(random));
			n++;
		}
	return n;
}

static NnKnee
knee_of(const NnCurveBlock *blocks, int n, bool rising)
{
	NnCurve		curve;
	NnKnee		knee;

	nn_curve_make(blocks, n, rising, &curve);
	nn_knee_find(&curve, &knee);
	nn_curve_free(&curve);
	return knee;
}

static void
test_isotonic(void)
{
	static const double p95[] = {70.52, 91.63, 88.73};
	static const double y[] = {1, 3, 2, 2, 5, 4, 6};
	static const double expected[] = {1, 7.0 / 3, 7.0 / 3, 7.0 / 3, 4.5, 4.5, 6};
	static const double w[] = {1, 1, 3};
	double		fitted[7];
	NnViolations violations;
	double		worst = 0;
	int			i;

	nn_isotonic_fit(y, NULL, 7, true, fitted);
	for (i = 0; i < 7; i++)
		worst = fmax(worst, fabs(fitted[i] - expected[i]));
	ok(worst < 1e-12, "neighbours out of order are pooled into their mean");

	nn_isotonic_fit(p95, w, 3, true, fitted);
	ok(fitted[0] == p95[0] && near(fitted[1], (91.63 + 3 * 88.73) / 4, 1e-12) && fitted[2] == fitted[1],
	   "by their weights");
	nn_isotonic_fit(p95, NULL, 3, false, fitted);
	ok(near(fitted[0], (70.52 + 91.63 + 88.73) / 3, 1e-12) && fitted[2] == fitted[0], "also for a curve that falls");

	nn_isotonic_check(p95, 3, true, &violations);
	ok(violations.count == 1 && violations.worst == 2 && near(violations.worst_pct, 100 * (1 - 88.73 / 91.63), 1e-12),
	   "a percentile that falls at a higher level is reported, with its size");
	nn_isotonic_check(expected, 7, true, &violations);
	ok(violations.count == 0 && violations.worst == -1 && violations.worst_pct == 0, "a curve in order has no violation");
	ok(nn_isotonic_fit(y, NULL, 0, true, fitted), "an empty curve can be fitted");
}

/* No monotone curve may come closer: try to improve the fit step by step. */
static void
test_isotonic_optimum(void)
{
	NnRandom	random;
	double		y[12];
	double		w[12];
	double		fitted[12];
	bool		monotone = true;
	bool		optimal = true;
	int			run;
	int			i;
	int			k;

	nn_random_seed(&random, 7, 0);
	for (run = 0; run < 500; run++)
	{
		double		sum = 0;
		double		fitted_sum = 0;

		for (i = 0; i < 12; i++)
		{
			y[i] = i + 4 * random_normal(&random);
			w[i] = 0.1 + nn_random_double(&random);
		}
		nn_isotonic_fit(y, w, 12, true, fitted);
		for (i = 0; i < 12; i++)
		{
			sum += w[i] * y[i];
			fitted_sum += w[i] * fitted[i];
			monotone &= i == 0 || fitted[i] >= fitted[i - 1];
		}
		optimal &= near(sum, fitted_sum, 1e-9);

		/*
		 * The tails of the residuals: sums from any place on must not be
		 * positive, or raising that tail would help.
		 */
		for (k = 1; k < 12; k++)
		{
			double		tail = 0;

			for (i = k; i < 12; i++)
				tail += w[i] * (y[i] - fitted[i]);
			optimal &= tail <= 1e-9;
		}
	}
	ok(monotone, "the fit is monotone");
	ok(optimal, "and no monotone curve lies closer");
}

static void
test_points(void)
{
	static const NnCurveBlock blocks[] = {
		{40, 39, 9}, {0, 0, 1}, {30, 29, 4}, {0, 0, 3}, {30, 31, 8}, {40, 41, 5},
		{30, 30, 5}, {0, 0, 2}, {40, 40, 4}, {50, NAN, 7}, {50, 50, NAN}
	};
	NnCurve		curve;
	NnCurve		resampled;
	NnRandom	random;

	nn_curve_make(blocks, 11, true, &curve);
	ok(curve.n_points == 3 && curve.n_blocks == 9 && curve.fewest == 3, "blocks are grouped by level, those without dose or value left out");
	ok(curve.points[0].median == 2 && curve.points[1].median == 5 && curve.points[2].median == 5 &&
	   near(curve.points[1].dose, 30, 1e-12) && near(curve.points[2].dose, 40, 1e-12),
	   "a point is the median over the mean dose delivered");
	ok(near(nn_curve_slope(&curve), 0.104966718, 1e-8), "the slope is that of the line through all blocks");

	nn_curve_make(blocks, 11, true, &resampled);
	nn_random_seed(&random, 1, 0);
	nn_curve_resample(&curve, &random, &resampled);
	ok(resampled.points[2].median <= 9 && resampled.points[2].median >= 4 && resampled.points[0].median <= 3,
	   "resampling stays within the levels");
	nn_curve_free(&resampled);
	nn_curve_free(&curve);

	nn_curve_make(blocks, 0, true, &curve);
	ok(curve.n_points == 0 && isnan(nn_curve_slope(&curve)), "a curve may be empty");
	nn_curve_free(&curve);
}

static NnMaxDose
max_dose_of(const NnCurveBlock *blocks, int n, bool rising, double limit)
{
	NnCurve		curve;
	NnMaxDose	result;

	nn_curve_make(blocks, n, rising, &curve);
	nn_curve_max_dose(&curve, limit, &result);
	nn_curve_free(&curve);
	return result;
}

static void
test_max_dose(void)
{
	static const NnCurveBlock blocks[] = {
		{0, 0, 10}, {10, 10, 12}, {20, 20, 11}, {30, 30, 20}, {40, 40, 30}
	};
	static NnCurveBlock many[MAX_BLOCKS];
	NnMaxDose	found;
	NnRandom	random;
	int			covered = 0;
	int			run;

	found = max_dose_of(blocks, 5, true, 15);
	ok(found.reason == NN_MAX_DOSE_FOUND && near(found.dose, 20 + 10 * (15 - 11.5) / (20 - 11.5), 1e-12) && !found.has_interval,
	   "the largest dose lies between two points of the monotone curve; one block per level gives no interval");
	ok(max_dose_of(blocks, 5, true, 20).dose == 30, "a limit that is just kept is kept");
	found = max_dose_of(blocks, 5, true, 31);
	ok(found.reason == NN_MAX_DOSE_ALWAYS && found.dose == 40, "a limit that is always kept gives the largest dose measured, and says so");
	found = max_dose_of(blocks, 5, true, 9);
	ok(found.reason == NN_MAX_DOSE_NEVER && isnan(found.dose), "a limit that is missed without noise gives no dose, and says so");
	ok(max_dose_of(blocks + 1, 4, true, 15).reason == NN_MAX_DOSE_NO_BASELINE, "without a baseline there is no answer");

	nn_random_seed(&random, 20260105, 0);
	for (run = 0; run < RUNS; run++)
	{
		int			n = simulate(&random, line, 6, 6, 10, 0.1, many);

		found = max_dose_of(many, n, true, line(25));
		covered += found.has_interval && !(found.low > 25) && !(found.high < 25);
		if (run == 0)
			ok(found.low <= found.dose && found.dose <= found.high, "the dose lies in its interval (%.1f: %.1f to %.1f)",
			   found.dose, found.low, found.high);
	}
	ok(covered >= RUNS * 85 / 100, "the interval holds the true dose in %.1f %% of runs", 100.0 * covered / RUNS);

	run = simulate(&random, throughput, 6, 4, 10, 0.01, many);
	found = max_dose_of(many, run, false, throughput(30));
	ok(fabs(found.dose - 30) < 3, "a limit on throughput is a lower one");
}

/* How often each answer is given for a shape. */
static void
count_knees(NnRandom *random, Shape shape, int doses, int repeats, double step, double sd, bool rising,
			int *reasons, int *close)
{
	static NnCurveBlock blocks[MAX_BLOCKS];
	int			run;

	memset(reasons, 0, sizeof(int) * (NN_KNEE_NO_MEMORY + 1));
	*close = 0;
	for (run = 0; run < RUNS; run++)
	{
		int			n = simulate(random, shape, doses, repeats, step, sd, blocks);
		NnKnee		knee = knee_of(blocks, n, rising);

		reasons[knee.reason]++;
		*close += knee.reason == NN_KNEE_FOUND && fabs(knee.dose - 33) < 5;
	}
}

static void
test_knees(void)
{
	static const struct
	{
		const char *name;
		Shape		shape;
		bool		rising;
		bool		has_knee;
		NnKneeReason expected;
	}			shapes[] = {
		{"no effect", constant, true, false, NN_KNEE_LINE},
		{"a line", line, true, false, NN_KNEE_LINE},
		{"a queueing curve", queue, true, false, NN_KNEE_QUEUE},
		{"throughput that falls smoothly", throughput, false, false, NN_KNEE_QUEUE},
		{"a curve that flattens", flattening, true, false, NN_KNEE_FLATTENS},
		{"a broken stick", stick, true, true, NN_KNEE_FOUND},
		{"throughput that breaks in", falling_stick, false, true, NN_KNEE_FOUND}
	};
	static const struct
	{
		int			doses;
		int			repeats;
		double		step;
	}			designs[] = {{5, 3, 12}, {7, 5, 10}};
	NnRandom	random;
	int			s;
	int			d;

	nn_random_seed(&random, 20260106, 0);
	for (s = 0; s < (int) (sizeof(shapes) / sizeof(shapes[0])); s++)
		for (d = 0; d < 2; d++)
		{
			int			reasons[NN_KNEE_NO_MEMORY + 1];
			int			close;
			int			found;

			count_knees(&random, shapes[s].shape, designs[d].doses, designs[d].repeats, designs[d].step, 0.05,
						shapes[s].rising, reasons, &close);
			found = reasons[NN_KNEE_FOUND];
			tap_note("%s, %d doses x %d: knee %d (%d within 5 of the truth), line %d, queue %d, flattens %d, uncertain %d",
					 shapes[s].name, designs[d].doses, designs[d].repeats, found, close, reasons[NN_KNEE_LINE],
					 reasons[NN_KNEE_QUEUE], reasons[NN_KNEE_FLATTENS], reasons[NN_KNEE_UNCERTAIN]);
			if (shapes[s].has_knee)
				ok(found >= RUNS * (d == 0 ? 5 : 9) / 10 && close >= found * 8 / 10, "%s: its knee is found in %s of runs with %d doses",
				   shapes[s].name, d == 0 ? "half" : "90 %", designs[d].doses);
			else
				ok(found <= RUNS / 20, "%s has no knee with %d doses", shapes[s].name, designs[d].doses);
		}
}

static void
test_knee_reasons(void)
{
	static NnCurveBlock blocks[MAX_BLOCKS];
	NnRandom	random;
	NnKnee		knee;
	int			n;

	nn_random_seed(&random, 20260107, 0);
	n = simulate(&random, stick, 4, 5, 15, 0.01, blocks);
	knee = knee_of(blocks, n, true);
	ok(knee.reason == NN_KNEE_FEW_DOSES && isnan(knee.dose), "four doses are too few for a knee");
	n = simulate(&random, stick, 12, 1, 5, 0.01, blocks);
	ok(knee_of(blocks, n, true).reason == NN_KNEE_FEW_BLOCKS, "and so is one block per level");
	n = simulate(&random, stick, 6, 3, 12, 0.01, blocks);
	blocks[4].value = 0;
	ok(knee_of(blocks, n, true).reason == NN_KNEE_NO_VALUES, "a block without a value allows no model");
	n = simulate(&random, stick, 6, 3, 12, 0.01, blocks);
	knee = knee_of(blocks, n, true);
	ok(knee.reason == NN_KNEE_FOUND && knee.bic_gain > NN_KNEE_BIC && knee.low <= knee.dose && knee.dose <= knee.high,
	   "a knee comes with its interval (%.1f: %.1f to %.1f)", knee.dose, knee.low, knee.high);
	ok(knee_of(blocks, n, true).low == knee.low, "the same blocks give the same answer");
	ok(knee_of(blocks, 0, true).reason == NN_KNEE_FEW_DOSES, "no block, no knee");
}

int
main(void)
{
	test_isotonic();
	test_isotonic_optimum();
	test_points();
	test_max_dose();
	test_knees();
	test_knee_reasons();
	return tap_done();
}
