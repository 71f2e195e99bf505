/*-------------------------------------------------------------------------
 *
 * statistics.h
 *	  Statistics of blocks: paired effects and their intervals.
 *
 * The replicate is the block, never the transaction.  Undefined results are NaN.
 *
 *-------------------------------------------------------------------------
 */
#ifndef NN_STATISTICS_H
#define NN_STATISTICS_H

#include <stdint.h>

extern double nn_mean(const double *x, int n);
extern double nn_stddev(const double *x, int n);	/* sample, n - 1 */

/* Quantile p in (0, 1) of Student's t with df > 0 degrees of freedom. */
extern double nn_t_quantile(double p, double df);

/* Cumulative distribution of Student's t. */
extern double nn_t_cdf(double t, double df);

/* Quantile by linear interpolation between order statistics (R type 7); sorts a copy. p in [0, 1]. */
extern double nn_quantile(const double *x, int n, double p);

/* For qsort() of doubles that are no NaN, ascending. */
extern int	nn_compare_doubles(const void *a, const void *b);

#endif							/* NN_STATISTICS_H */
