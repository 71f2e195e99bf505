/*-------------------------------------------------------------------------
 *
 * steadiness.c
 *	  Does a long series at constant load drift, or jump?  See steadiness.h.
 *
 *-------------------------------------------------------------------------
 */
#include "core/steadiness.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/statistics.h"

#define GROUP			5		/* values whose mean enters the error */
#define GROUPED_FROM	60		/* length from which there are enough groups */
#define SHORTEST_PART	5		/* between two changes */
#define MEDIAN_TO_SD	1.4826	/* of a normal distribution */

const char *
nn_steadiness_name(NnSteadinessVerdict verdict)
{
	static const char *const names[] = {"unknown", "steady", "drift", "jumps"};

	return names[verdict];
}

static double
mean_between(const double *x, int from, int to)
{
	return nn_mean(x + from, to - from);
}

/*
 * Standard deviation that a single value would have if values were independent and gave the means of groups the spread
 * that they have: from the median of the differences of neighbouring groups.
 */
static double
error_of_value(const double *x, int n)
{
	int			group = n >= GROUPED_FROM ? GROUP : 1;
	int			n_differences = n / group - 1;
	double	   *differences = malloc((size_t) n_differences * sizeof(double));
	double		sd;
	int			i;

	if (differences == NULL)
		return NAN;
	for (i = 0; i < n_differences; i++)
		differences[i] = fabs(mean_between(x, (i + 1) * group, (i + 2) * group) - mean_between(x, i * group, (i + 1) * group));
	sd = MEDIAN_TO_SD * nn_quantile(differences, n_differences, 0.5) / sqrt(2) * sqrt(group);
	free(differences);
	return sd;
}

/* What all searches for a jump share. */
typedef struct Search
{
	const double *x;
	double		error;
	double		threshold;		/* in units of the error */
	double		least;			/* absolute */
	NnSteadiness *result;
} Search;

/* The best place for a jump between two places; 0 when there is none. */
static int
find_jump(const Search *search, int from, int to)
{
	int			n = to - from;
	int			at = 0;
	double		best = search->threshold;
	double		total = 0;
	double		left = 0;
	int			i;

	for (i = from; i < to; i++)
		total += search->x[i];
	for (i = from; i < to; i++)
	{
		int			k = i - from;

		if (k >= SHORTEST_PART && n - k >= SHORTEST_PART)
		{
			double		difference = fabs(left / k - (total - left) / (n - k));
			double		score = difference * sqrt((double) k * (n - k) / n) / search->error;

			if (difference >= search->least && score > best)
			{
				best = score;
				at = i;
			}
		}
		left += search->x[i];
	}
	return at;
}

/* Depth is bounded by the number of changes. */
static void
find_jumps(const Search *search, int from, int to)
{
	NnSteadiness *result = search->result;
	int			at;

	if (result->n_changes >= NN_MAX_CHANGES || (at = find_jump(search, from, to)) == 0)
		return;
	result->changes[result->n_changes++].at = at;
	find_jumps(search, from, at);
	find_jumps(search, at, to);
}

static int
compare_changes(const void *a, const void *b)
{
	return ((const NnChange *) a)->at - ((const NnChange *) b)->at;
}

/* Means between the changes; returns the sum of squares that they leave. */
static double
fill_in_means(const double *x, int n, NnSteadiness *result)
{
	double		rest = 0;
	int			from = 0;
	int			i;
	int			k;

	qsort(result->changes, (size_t) result->n_changes, sizeof(NnChange), compare_changes);
	for (k = 0; k <= result->n_changes; k++)
	{
		int			to = k < result->n_changes ? result->changes[k].at : n;
		double		mean = mean_between(x, from, to);

		if (k < result->n_changes)
			result->changes[k].before = mean;
		if (k > 0)
			result->changes[k - 1].after = mean;
		for (i = from; i < to; i++)
			rest += (x[i] - mean) * (x[i] - mean);
		from = to;
	}
	return rest;
}

/* The straight line; returns the sum of squares that it leaves. */
static double
fit_line(const double *x, int n, double error, NnSteadiness *result)
{
	double		middle = (n - 1) / 2.0;
	double		sum_tt = 0;
	double		sum_tx = 0;
	double		rest = 0;
	double		slope;
	double		slope_error;
	double		whole = (n - 1) / result->mean; /* from a slope to the drift */
	int			i;

	for (i = 0; i < n; i++)
	{
		sum_tt += (i - middle) * (i - middle);
		sum_tx += (i - middle) * x[i];
	}
	slope = sum_tx / sum_tt;
	for (i = 0; i < n; i++)
		rest += pow(x[i] - result->mean - slope * (i - middle), 2);
	slope_error = fmax(error, sqrt(rest / (n - 2))) / sqrt(sum_tt);
	result->drift = slope * whole;
	result->drift_low = (slope - nn_t_quantile(0.975, n - 2) * slope_error) * whole;
	result->drift_high = (slope + nn_t_quantile(0.975, n - 2) * slope_error) * whole;
	return rest;
}

static double
bic(int n, double rest, int parameters)
{
	return n * log(fmax(rest, 1e-300) / n) + parameters * log(n);
}

void
nn_steadiness_find(const double *x, int n, double least, NnSteadiness *result)
{
	Search		search = {x, 0, 0, 0, result};
	double		rest_jumps;
	double		rest_line;
	int			i;

	memset(result, 0, sizeof(*result));
	result->mean = result->cv = result->drift = result->drift_low = result->drift_high = NAN;
	if (n < NN_STEADINESS_MIN)
		return;
	for (i = 0; i < n; i++)
		if (!isfinite(x[i]))
			return;
	result->mean = nn_mean(x, n);
	search.error = error_of_value(x, n);
	if (!(result->mean > 0) || isnan(search.error))
		return;
	result->cv = nn_stddev(x, n) / result->mean;

	/*
	 * The largest of n scores of pure noise stays below sqrt(2 ln n) most of
	 * the time; 1.5 more keep false alarms below 1 %.
	 */
	search.threshold = sqrt(2 * log(n)) + 1.5;
	search.least = least * result->mean;
	if (search.error < 1e-9 * result->mean)
		search.error = 1e-9 * result->mean;
	find_jumps(&search, 0, n);
	rest_jumps = fill_in_means(x, n, result);
	rest_line = fit_line(x, n, search.error, result);

	result->verdict = NN_HOLDS;
	if (result->n_changes > 0 && bic(n, rest_jumps, 1 + 2 * result->n_changes) < bic(n, rest_line, 2))
		result->verdict = NN_JUMPS;
	else
	{
		result->n_changes = 0;
		if (fabs(result->drift) >= least && result->drift_low * result->drift_high > 0)
			result->verdict = NN_DRIFTS;
	}
}
