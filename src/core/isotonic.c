/*-------------------------------------------------------------------------
 *
 * isotonic.c
 *	  Pool adjacent violators.  See isotonic.h.
 *
 *-------------------------------------------------------------------------
 */
#include "core/isotonic.h"

#include <math.h>
#include <stdlib.h>

/* Values that were pooled: their weighted mean, weight and number. */
typedef struct NnPool
{
	double		mean;
	double		weight;
	int			n;
} NnPool;

static bool
out_of_order(double first, double second, bool rising)
{
	return rising ? second < first : second > first;
}

bool
nn_isotonic_fit(const double *y, const double *w, int n, bool rising, double *fitted)
{
	NnPool	   *pools;
	int			n_pools = 0;
	int			i;
	int			k;

	if (n <= 0)
		return true;
	pools = malloc(sizeof(NnPool) * (size_t) n);
	if (pools == NULL)
		return false;

	for (i = 0; i < n; i++)
	{
		pools[n_pools].mean = y[i];
		pools[n_pools].weight = w != NULL ? w[i] : 1;
		pools[n_pools].n = 1;
		n_pools++;
		while (n_pools > 1 && out_of_order(pools[n_pools - 2].mean, pools[n_pools - 1].mean, rising))
		{
			NnPool	   *into = &pools[n_pools - 2];
			NnPool	   *from = &pools[n_pools - 1];
			double		weight = into->weight + from->weight;

			into->mean += (from->mean - into->mean) * (from->weight / weight);
			into->weight = weight;
			into->n += from->n;
			n_pools--;
		}
	}
	for (i = 0, k = 0; k < n_pools; k++)
	{
		int			end = i + pools[k].n;

		while (i < end)
			fitted[i++] = pools[k].mean;
	}
	free(pools);
	return true;
}

void
nn_isotonic_check(const double *y, int n, bool rising, NnViolations *result)
{
	int			i;

	result->count = 0;
	result->worst = -1;
	result->worst_pct = 0;
	for (i = 1; i < n; i++)
	{
		double		size_pct;

		if (!out_of_order(y[i - 1], y[i], rising))
			continue;
		size_pct = 100 * fabs(y[i] / y[i - 1] - 1);
		result->count++;
		if (result->worst < 0 || size_pct > result->worst_pct)
		{
			result->worst = i;
			result->worst_pct = size_pct;
		}
	}
}
