/*-------------------------------------------------------------------------
 *
 * resample.c
 *	  Sign flips and the bootstrap.  See resample.h.
 *
 * Scratch memory is malloc'd and freed within a call.
 *
 *-------------------------------------------------------------------------
 */
#include "core/resample.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/statistics.h"

#define SIGN_FLIP_SEED	UINT64_C(1)
#define INTERVAL_LOW	0.025
#define INTERVAL_HIGH	0.975

static bool
all_finite(const double *x, int n)
{
	int			i;

	for (i = 0; i < n; i++)
		if (!isfinite(x[i]))
			return false;
	return true;
}

/*
 * Share of all sign vectors whose sum reaches "least".  They are visited in Gray
 * code order: each step flips one sign.  Flipping all signs only negates the
 * sum, so the last sign stays as it is.
 */
static double
sign_flip_exact(const double *x, int n, double sum, double least)
{
	bool		negative[NN_SIGN_FLIP_EXACT_MAX] = {false};
	uint32_t	vectors = UINT32_C(1) << (n - 1);
	uint32_t	hits = 0;
	uint32_t	i;

	for (i = 1;; i++)
	{
		int			flipped;

		if (fabs(sum) >= least)
			hits++;
		if (i == vectors)
			break;
		flipped = __builtin_ctz(i);
		negative[flipped] = !negative[flipped];
		sum += negative[flipped] ? -2 * x[flipped] : 2 * x[flipped];
	}
	return (double) hits / vectors;
}

static double
sign_flip_sampled(const double *x, int n, double least)
{
	/* A table, because a branch would be mispredicted half the time. */
	static const double sign[2] = {1, -1};
	NnRandom	random;
	uint32_t	hits = 0;
	uint32_t	draw;

	nn_random_seed(&random, SIGN_FLIP_SEED, (uint64_t) n);
	for (draw = 0; draw < NN_SIGN_FLIP_DRAWS; draw++)
	{
		uint64_t	signs = 0;
		double		sum = 0;
		int			i;

		for (i = 0; i < n; i++)
		{
			if (i % 64 == 0)
				signs = nn_random_u64(&random);
			sum += sign[signs & 1] * x[i];
			signs >>= 1;
		}
		if (fabs(sum) >= least)
			hits++;
	}
	return (hits + 1.0) / (NN_SIGN_FLIP_DRAWS + 1.0);
}

double
nn_sign_flip_p(const double *x, int n)
{
	double		sum = 0;
	double		size = 0;
	double		least;
	int			i;

	if (n < 1 || !all_finite(x, n))
		return NAN;
	for (i = 0; i < n; i++)
	{
		sum += x[i];
		size += fabs(x[i]);
	}
	/* Flipping a sign takes twice a difference from the sum. */
	if (!isfinite(2 * size))
		return NAN;

	/* Sums that differ by rounding alone are equal. */
	least = fabs(sum) - 1e-12 * size;

	if (n <= NN_SIGN_FLIP_EXACT_MAX)
		return sign_flip_exact(x, n, sum, least);
	return sign_flip_sampled(x, n, least);
}

double
nn_quantile_nearest(double *x, int n, double p)
{
	int			outside;

	if (n < 1 || !(p >= 0 && p <= 1))
		return NAN;
	qsort(x, (size_t) n, sizeof(double), nn_compare_doubles);
	outside = (int) (fmin(p, 1 - p) * n);
	return x[p < 0.5 ? outside : n - 1 - outside];
}

void
nn_bootstrap_interval(const double *x, int n, NnStatistic statistic, void *arg,
					  NnRandom *random, double *low, double *high)
{
	double	   *sample;
	double	   *found;
	int			n_found = 0;
	int			r;

	*low = *high = NAN;
	if (n < 2)
		return;
	sample = malloc(sizeof(double) * ((size_t) n + NN_BOOTSTRAP_RESAMPLES));
	if (sample == NULL)
		return;
	found = sample + n;

	for (r = 0; r < NN_BOOTSTRAP_RESAMPLES; r++)
	{
		double		value;
		int			i;

		for (i = 0; i < n; i++)
			sample[i] = x[nn_random_range(random, 0, n - 1)];
		value = statistic(sample, n, arg);
		if (!isnan(value))
			found[n_found++] = value;
	}
	if (n_found > 0)
	{
		*low = nn_quantile_nearest(found, n_found, INTERVAL_LOW);
		*high = nn_quantile_nearest(found, n_found, INTERVAL_HIGH);
	}
	free(sample);
}

/* Quantile of a sorted sample, by linear interpolation as nn_quantile. */
static double
sorted_quantile(const double *x, int n, double p)
{
	double		position = p * (n - 1);
	int			below = (int) position;

	if (below + 1 >= n)
		return x[n - 1];
	return x[below] + (position - below) * (x[below + 1] - x[below]);
}

static double
spread_of(double *x, int n, void *arg)
{
	double		median;

	(void) arg;
	qsort(x, (size_t) n, sizeof(double), nn_compare_doubles);
	median = sorted_quantile(x, n, 0.5);
	if (!(median > 0))
		return NAN;
	return (sorted_quantile(x, n, 0.9) - sorted_quantile(x, n, 0.1)) / median;
}

double
nn_spread(const double *x, int n, uint64_t seed, double *low, double *high)
{
	NnRandom	random;
	double	   *sample;
	double		spread;

	*low = *high = NAN;
	if (n < 2 || !all_finite(x, n))
		return NAN;
	sample = malloc(sizeof(double) * (size_t) n);
	if (sample == NULL)
		return NAN;
	memcpy(sample, x, sizeof(double) * (size_t) n);
	spread = spread_of(sample, n, NULL);
	free(sample);

	if (!isnan(spread))
	{
		nn_random_seed(&random, seed, 0);
		nn_bootstrap_interval(x, n, spread_of, NULL, &random, low, high);
	}
	return spread;
}
