/*-------------------------------------------------------------------------
 *
 * steady.c
 *	  Warm-up and steady state by MSER.  See steady.h.
 *
 *-------------------------------------------------------------------------
 */
#include "core/steady.h"

#include <math.h>

#define SIGNIFICANT_ERRORS	3.0

/* Count, mean and sum of squared deviations, added to value by value (Welford). */
typedef struct NnMoments
{
	int			n;
	double		mean;
	double		sum_sq;
} NnMoments;

static void
add_value(NnMoments *m, double x)
{
	double		before = x - m->mean;

	m->n++;
	m->mean += before / m->n;
	m->sum_sq += before * (x - m->mean);
}

/* A quarter of the series stays, and never less than three values. */
static int
last_cut(int n)
{
	int			keep = n / 4;

	return n - (keep < 3 ? 3 : keep);
}

void
nn_steady_find(const double *x, int n, NnSteady *result)
{
	NnMoments	rest = {0};
	NnMoments	best = {0};
	NnMoments	cut = {0};
	double		least = INFINITY;
	double		error;
	int			i;

	result->state = NN_STEADY_UNKNOWN;
	result->cut = 0;
	result->mean = NAN;
	result->shift = NAN;
	if (n < NN_STEADY_MIN)
		return;

	/* From the end, so that the earliest of equally good cuts wins. */
	for (i = n - 1; i >= 0; i--)
	{
		double		mser;

		if (!isfinite(x[i]))
			return;
		add_value(&rest, x[i]);
		mser = rest.sum_sq / ((double) rest.n * rest.n);
		if (i <= last_cut(n) && mser <= least)
		{
			least = mser;
			best = rest;
			result->cut = i;
		}
	}
	for (i = 0; i < result->cut; i++)
		add_value(&cut, x[i]);

	result->mean = best.mean;
	result->shift = cut.n > 0 ? cut.mean - best.mean : 0;
	error = sqrt((cut.sum_sq + best.sum_sq) / (n - 2) * (1.0 / (cut.n > 0 ? cut.n : 1) + 1.0 / best.n));
	if (2 * result->cut > n && fabs(result->shift) > SIGNIFICANT_ERRORS * error)
		result->state = NN_NOT_STEADY;
	else
		result->state = NN_STEADY;
}
