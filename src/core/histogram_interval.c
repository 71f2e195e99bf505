/*-------------------------------------------------------------------------
 *
 * histogram_interval.c
 *	  Intervals of percentiles by order statistics.  See histogram_interval.h.
 *
 *-------------------------------------------------------------------------
 */
#include "core/histogram_interval.h"

#include <math.h>

#define NORMAL_975		1.959963984540054

/* The value of a rank, counted from 1; NaN when there is none. */
static double
value_of_rank(const NnHistogram *h, double rank)
{
	double		n = (double) h->count;

	if (rank < 1 || rank > n)
		return NAN;
	/* the middle of the fractions that mean this rank */
	return nn_histogram_percentile_ns(h, (rank - 0.5) / n);
}

void
nn_histogram_percentile_interval_ns(const NnHistogram *h, double p, double *low, double *high)
{
	double		rank = p * (double) h->count;
	double		half = NORMAL_975 * sqrt(rank * (1 - p));

	*low = *high = NAN;
	if (h->count == 0 || !(p >= 0 && p <= 1))
		return;
	*low = value_of_rank(h, floor(rank - half));
	*high = value_of_rank(h, ceil(rank + half));
}
