/*-------------------------------------------------------------------------
 *
 * knee.c
 *	  Line, queue or broken stick.  See knee.h.
 *
 * All blocks of a level have the same dose and weight, so a model needs
 * only the means of the levels; the scatter within the levels is the same for
 * every model and is added at the end.
 *
 *-------------------------------------------------------------------------
 */
#include "core/knee.h"

#include <math.h>

#include "core/resample.h"

#define RESAMPLE_SEED		UINT64_C(2)
#define FIRST_GRID			200
#define RESAMPLE_GRID		100
#define QUEUE_GRID			400

/* Full load at the largest dose would be 1; beyond that the curve has a pole. */
#define QUEUE_STEEPEST		0.99
#define QUEUE_FLATTEST		(-10.0)

/* A latency is known to 0.39 %: a model cannot be better than that by merit. */
#define RELATIVE_ERROR		0.002

typedef struct NnStick
{
	double		knee;
	double		bend;			/* change of the slope at the knee */
	double		rss;
} NnStick;

static double
weight_of(const NnCurvePoint *point)
{
	return point->n / (point->median * point->median);
}

/* Weighted sum of squares within the levels, the part that no model explains. */
static double
scatter(const NnCurve *curve)
{
	double		sum = 0;
	int			i;

	for (i = 0; i < curve->n_points; i++)
		sum += curve->points[i].within / (curve->points[i].median * curve->points[i].median);
	return sum;
}

/*
 * Least squares of the means on the columns 1, x and, with knee, max(0, x - knee):
 * the columns are made orthogonal one after the other, what remains of the
 * means is the residual.  Returns the sum of squares between levels; *bend
 * is the coefficient of the last column.
 */
static double
fit_lines(const NnCurve *curve, bool with_knee, double knee, double *bend)
{
	double		w = 0;
	double		x_mean = 0;
	double		y_mean = 0;
	double		z_mean = 0;
	double		xx = 0;
	double		xy = 0;
	double		xz = 0;
	double		yy = 0;
	double		yz = 0;
	double		zz = 0;
	double		z_rest;
	double		yz_rest;
	int			i;

	for (i = 0; i < curve->n_points; i++)
	{
		const NnCurvePoint *p = &curve->points[i];

		w += weight_of(p);
		x_mean += weight_of(p) * p->dose;
		y_mean += weight_of(p) * p->mean;
		z_mean += weight_of(p) * (with_knee ? fmax(0, p->dose - knee) : 0);
	}
	x_mean /= w;
	y_mean /= w;
	z_mean /= w;
	for (i = 0; i < curve->n_points; i++)
	{
		const NnCurvePoint *p = &curve->points[i];
		double		x = p->dose - x_mean;
		double		y = p->mean - y_mean;
		double		z = (with_knee ? fmax(0, p->dose - knee) : 0) - z_mean;

		xx += weight_of(p) * x * x;
		xy += weight_of(p) * x * y;
		xz += weight_of(p) * x * z;
		yy += weight_of(p) * y * y;
		yz += weight_of(p) * y * z;
		zz += weight_of(p) * z * z;
	}
	yy -= xy * xy / xx;
	z_rest = zz - xz * xz / xx;
	yz_rest = yz - xz * xy / xx;
	*bend = 0;
	if (with_knee && z_rest > 1e-9 * zz)
	{
		*bend = yz_rest / z_rest;
		yy -= yz_rest * *bend;
	}
	return fmax(yy, 0);
}

/* The knee lies where both parts have two doses or more, the knee itself counted for both. */
static NnStick
fit_stick(const NnCurve *curve, int grid)
{
	double		from = curve->points[1].dose;
	double		to = curve->points[curve->n_points - 2].dose;
	NnStick		best = {NAN, 0, INFINITY};
	int			i;

	for (i = 0; i <= grid; i++)
	{
		NnStick		stick;

		stick.knee = from + (to - from) * i / grid;
		stick.rss = fit_lines(curve, true, stick.knee, &stick.bend);
		if (stick.rss < best.rss)
			best = stick;
	}
	return best;
}

/* Sum of squares between levels of the best s / (1 - load x / largest dose). */
static double
fit_queue(const NnCurve *curve)
{
	double		largest = curve->points[curve->n_points - 1].dose;
	double		best = INFINITY;
	int			k;
	int			i;

	for (k = 0; k <= QUEUE_GRID; k++)
	{
		double		load = QUEUE_FLATTEST + (QUEUE_STEEPEST - QUEUE_FLATTEST) * k / QUEUE_GRID;
		double		gg = 0;
		double		gy = 0;
		double		rss = 0;

		for (i = 0; i < curve->n_points; i++)
		{
			const NnCurvePoint *p = &curve->points[i];
			double		g = 1 / (1 - load * p->dose / largest);

			gg += weight_of(p) * g * g;
			gy += weight_of(p) * g * p->mean;
		}
		for (i = 0; i < curve->n_points; i++)
		{
			const NnCurvePoint *p = &curve->points[i];
			double		residual = p->mean - gy / gg / (1 - load * p->dose / largest);

			rss += weight_of(p) * residual * residual;
		}
		best = fmin(best, rss);
	}
	return best;
}

static double
bic(const NnCurve *curve, double rss_between, int parameters)
{
	double		n = curve->n_blocks;
	double		variance = (rss_between + scatter(curve)) / n;

	return n * log(fmax(variance, RELATIVE_ERROR * RELATIVE_ERROR)) + parameters * log(n);
}

static NnKneeReason
check_curve(const NnCurve *curve)
{
	int			doses = curve->n_points > 0;
	int			i;

	for (i = 1; i < curve->n_points; i++)
		doses += curve->points[i].dose > curve->points[i - 1].dose;
	if (doses < NN_KNEE_MIN_DOSES)
		return NN_KNEE_FEW_DOSES;
	if (curve->fewest < 2 || curve->n_blocks < NN_KNEE_MIN_BLOCKS)
		return NN_KNEE_FEW_BLOCKS;
	for (i = 0; i < curve->n_blocks; i++)
		if (!(curve->blocks[i].value > 0))
			return NN_KNEE_NO_VALUES;
	return NN_KNEE_FOUND;
}

/* Where the knees of resampled blocks lie. */
static NnKneeReason
find_interval(const NnCurve *curve, NnKnee *knee)
{
	double		knees[NN_KNEE_RESAMPLES];
	double		range = curve->points[curve->n_points - 1].dose - curve->points[0].dose;
	NnRandom	random;
	NnCurve		resampled;
	int			i;

	if (!nn_curve_make(curve->blocks, curve->n_blocks, curve->rising, &resampled))
		return NN_KNEE_NO_MEMORY;
	nn_random_seed(&random, RESAMPLE_SEED, 0);
	for (i = 0; i < NN_KNEE_RESAMPLES; i++)
	{
		nn_curve_resample(curve, &random, &resampled);
		knees[i] = fit_stick(&resampled, RESAMPLE_GRID).knee;
	}
	nn_curve_free(&resampled);
	knee->low = fmin(knee->dose, nn_quantile_nearest(knees, NN_KNEE_RESAMPLES, 0.05));
	knee->high = fmax(knee->dose, nn_quantile_nearest(knees, NN_KNEE_RESAMPLES, 0.95));
	return knee->high - knee->low <= NN_KNEE_WIDEST * range ? NN_KNEE_FOUND : NN_KNEE_UNCERTAIN;
}

void
nn_knee_find(const NnCurve *curve, NnKnee *result)
{
	NnStick		stick;
	double		unused;
	double		bic_line;
	double		bic_queue;
	double		bic_stick;

	result->dose = result->low = result->high = result->bic_gain = NAN;
	result->reason = check_curve(curve);
	if (result->reason != NN_KNEE_FOUND)
		return;

	stick = fit_stick(curve, FIRST_GRID);
	bic_stick = bic(curve, stick.rss, 4);
	bic_line = bic(curve, fit_lines(curve, false, 0, &unused), 2);
	bic_queue = bic(curve, fit_queue(curve), 2);
	result->dose = stick.knee;
	result->bic_gain = fmin(bic_line, bic_queue) - bic_stick;

	if (!(result->bic_gain > NN_KNEE_BIC))
		result->reason = bic_line <= bic_queue ? NN_KNEE_LINE : NN_KNEE_QUEUE;
	else if (curve->rising ? stick.bend <= 0 : stick.bend >= 0)
		result->reason = NN_KNEE_FLATTENS;
	else
		result->reason = find_interval(curve, result);
}
