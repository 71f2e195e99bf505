/*-------------------------------------------------------------------------
 *
 * curve.c
 *	  Points, fit and largest tolerable dose of a curve.  See curve.h.
 *
 *-------------------------------------------------------------------------
 */
#include "core/curve.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/resample.h"
#include "core/statistics.h"

#define RESAMPLE_SEED	UINT64_C(1)

static int
compare_levels(const void *a, const void *b)
{
	return nn_compare_doubles(&((const NnCurveBlock *) a)->level, &((const NnCurveBlock *) b)->level);
}

/* Equal doses, as of levels that could not be reached, keep the order of their levels. */
static int
compare_points(const void *a, const void *b)
{
	const NnCurvePoint *p = a;
	const NnCurvePoint *q = b;
	int			by_dose = nn_compare_doubles(&p->dose, &q->dose);

	return by_dose != 0 ? by_dose : nn_compare_doubles(&p->level, &q->level);
}

/* Dose, median, mean and scatter of a point from its blocks; "scratch" has room for their values. */
static void
summarise_point(const NnCurveBlock *blocks, NnCurvePoint *point, double *scratch)
{
	int			n = point->n;
	int			i;

	point->dose = point->mean = point->within = 0;
	for (i = 0; i < n; i++)
	{
		scratch[i] = blocks[point->first + i].value;
		point->dose += blocks[point->first + i].dose / n;
		point->mean += scratch[i] / n;
	}
	for (i = 0; i < n; i++)
		point->within += (scratch[i] - point->mean) * (scratch[i] - point->mean);
	qsort(scratch, (size_t) n, sizeof(double), nn_compare_doubles);
	point->median = (scratch[(n - 1) / 2] + scratch[n / 2]) / 2;
}

/*
 * Monotone fit of the medians, weighted by their blocks.  The points lie in the
 * curve's allocation, behind them the scratch memory: medians and weights.
 */
static bool
fit_points(NnCurve *curve, double *scratch)
{
	double	   *weights = scratch + curve->n_points;
	int			i;

	for (i = 0; i < curve->n_points; i++)
	{
		scratch[i] = curve->points[i].median;
		weights[i] = curve->points[i].n;
	}
	nn_isotonic_check(scratch, curve->n_points, curve->rising, &curve->violations);
	if (!nn_isotonic_fit(scratch, weights, curve->n_points, curve->rising, scratch))
		return false;
	for (i = 0; i < curve->n_points; i++)
		curve->points[i].fitted = scratch[i];
	return true;
}

static double *
scratch_of(const NnCurve *curve)
{
	return (double *) (curve->points + curve->n_blocks);
}

bool
nn_curve_make(const NnCurveBlock *blocks, int n, bool rising, NnCurve *curve)
{
	size_t		size = sizeof(NnCurveBlock) + sizeof(NnCurvePoint) + 2 * sizeof(double);
	int			i;

	memset(curve, 0, sizeof(NnCurve));
	curve->rising = rising;
	curve->violations.worst = -1;
	curve->blocks = malloc(size * (size_t) (n > 0 ? n : 1));
	if (curve->blocks == NULL)
		return false;
	for (i = 0; i < n; i++)
		if (isfinite(blocks[i].dose) && isfinite(blocks[i].value))
			curve->blocks[curve->n_blocks++] = blocks[i];
	qsort(curve->blocks, (size_t) curve->n_blocks, sizeof(NnCurveBlock), compare_levels);
	curve->points = (NnCurvePoint *) (curve->blocks + curve->n_blocks);

	for (i = 0; i < curve->n_blocks; i++)
	{
		NnCurvePoint *point;

		if (i > 0 && curve->blocks[i].level == curve->blocks[i - 1].level)
		{
			curve->points[curve->n_points - 1].n++;
			continue;
		}
		point = &curve->points[curve->n_points++];
		point->level = curve->blocks[i].level;
		point->first = i;
		point->n = 1;
	}
	for (i = 0; i < curve->n_points; i++)
	{
		summarise_point(curve->blocks, &curve->points[i], scratch_of(curve));
		if (i == 0 || curve->points[i].n < curve->fewest)
			curve->fewest = curve->points[i].n;
	}
	qsort(curve->points, (size_t) curve->n_points, sizeof(NnCurvePoint), compare_points);
	if (fit_points(curve, scratch_of(curve)))
		return true;
	nn_curve_free(curve);
	return false;
}

void
nn_curve_free(NnCurve *curve)
{
	free(curve->blocks);
	curve->blocks = NULL;
	curve->points = NULL;
	curve->n_points = curve->n_blocks = 0;
}

/* The doses stay: what varies by chance is the value. */
void
nn_curve_resample(const NnCurve *from, NnRandom *random, NnCurve *to)
{
	int			i;
	int			k;

	for (i = 0; i < from->n_points; i++)
	{
		const NnCurvePoint *point = &from->points[i];

		for (k = 0; k < point->n; k++)
			to->blocks[point->first + k].value =
				from->blocks[point->first + nn_random_range(random, 0, point->n - 1)].value;
		summarise_point(to->blocks, &to->points[i], scratch_of(to));
	}
	fit_points(to, scratch_of(to));
}

double
nn_curve_slope(const NnCurve *curve)
{
	double		mean_dose = 0;
	double		mean_value = 0;
	double		xx = 0;
	double		xy = 0;
	int			i;

	for (i = 0; i < curve->n_blocks; i++)
	{
		mean_dose += curve->blocks[i].dose / curve->n_blocks;
		mean_value += curve->blocks[i].value / curve->n_blocks;
	}
	for (i = 0; i < curve->n_blocks; i++)
	{
		double		x = curve->blocks[i].dose - mean_dose;

		xx += x * x;
		xy += x * (curve->blocks[i].value - mean_value);
	}
	return curve->n_points > 1 && xx > 0 ? xy / xx : NAN;
}

/* -INFINITY: never kept; INFINITY: kept at every dose. */
static double
max_dose(const NnCurve *curve, double limit)
{
	const NnCurvePoint *kept = NULL;
	int			i;

	for (i = 0; i < curve->n_points; i++)
	{
		const NnCurvePoint *point = &curve->points[i];

		if (curve->rising ? point->fitted <= limit : point->fitted >= limit)
			kept = point;
		else if (kept == NULL)
			return -INFINITY;
		else
			return kept->dose + (point->dose - kept->dose) *
				((limit - kept->fitted) / (point->fitted - kept->fitted));
	}
	return INFINITY;
}

static void
max_dose_interval(const NnCurve *curve, double limit, NnMaxDose *result)
{
	double		found[NN_CURVE_RESAMPLES];
	NnRandom	random;
	NnCurve		resampled;
	int			i;

	if (!nn_curve_make(curve->blocks, curve->n_blocks, curve->rising, &resampled))
	{
		result->has_interval = false;
		return;
	}
	nn_random_seed(&random, RESAMPLE_SEED, 0);
	for (i = 0; i < NN_CURVE_RESAMPLES; i++)
	{
		nn_curve_resample(curve, &random, &resampled);
		found[i] = max_dose(&resampled, limit);
	}
	nn_curve_free(&resampled);

	result->low = nn_quantile_nearest(found, NN_CURVE_RESAMPLES, 0.025);
	result->high = nn_quantile_nearest(found, NN_CURVE_RESAMPLES, 0.975);
	if (result->reason == NN_MAX_DOSE_FOUND)
	{
		result->low = fmin(result->low, result->dose);
		result->high = fmax(result->high, result->dose);
	}

	/*
	 * What is kept at every dose is kept at the largest; what is beyond both
	 * ends is not known.
	 */
	if (result->low == INFINITY)
		result->low = curve->points[curve->n_points - 1].dose;
	if (!isfinite(result->low))
		result->low = NAN;
	if (!isfinite(result->high))
		result->high = NAN;
}

void
nn_curve_max_dose(const NnCurve *curve, double limit, NnMaxDose *result)
{
	double		dose;

	result->dose = result->low = result->high = NAN;
	result->has_interval = curve->fewest >= 2;
	if (curve->n_points == 0 || curve->points[0].level != 0)
	{
		result->reason = NN_MAX_DOSE_NO_BASELINE;
		result->has_interval = false;
		return;
	}

	dose = max_dose(curve, limit);
	if (dose == -INFINITY)
		result->reason = NN_MAX_DOSE_NEVER;
	else if (dose == INFINITY)
	{
		result->reason = NN_MAX_DOSE_ALWAYS;
		result->dose = curve->points[curve->n_points - 1].dose;
	}
	else
	{
		result->reason = NN_MAX_DOSE_FOUND;
		result->dose = dose;
	}
	if (result->has_interval)
		max_dose_interval(curve, limit, result);
}
