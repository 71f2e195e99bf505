/*-------------------------------------------------------------------------
 *
 * resample.h
 *	  Answers that assume no distribution: sign flips and the bootstrap.
 *
 * All random numbers come from a given seed, so that the same sample gets the same
 * answer everywhere and always.  Undefined results are NaN.
 *
 *-------------------------------------------------------------------------
 */
#ifndef NN_RESAMPLE_H
#define NN_RESAMPLE_H

#include "core/random.h"

/* Up to this many differences every sign vector is tried. */
#define NN_SIGN_FLIP_EXACT_MAX	20

/* Beyond that, this many random ones. */
#define NN_SIGN_FLIP_DRAWS		32768

/* Resamples that an interval is taken from. */
#define NN_BOOTSTRAP_RESAMPLES	2000

/*
 * Two-sided p of the hypothesis that the n differences are as likely to be
 * positive as negative: the share of the 2^n sign vectors under which the
 * sum is as far from 0 as it is, or farther.  Exact up to
 * NN_SIGN_FLIP_EXACT_MAX; never below 2 / 2^n.  Beyond that estimated from random
 * sign vectors, (hits + 1) / (draws + 1).  NaN when n < 1 or a difference, or
 * the sum of them all, is not finite.
 */
extern double nn_sign_flip_p(const double *x, int n);

/* A number that describes a sample; may reorder it. */
typedef double (*NnStatistic) (double *x, int n, void *arg);

/*
 * 95 % interval of a statistic: the 2.5th and 97.5th percentile of its values on
 * NN_BOOTSTRAP_RESAMPLES samples drawn with replacement.  With few values it
 * is too narrow, as every bootstrap is.  NaN below two values; resamples on
 * which the statistic is NaN are left out.
 */
extern void nn_bootstrap_interval(const double *x, int n, NnStatistic statistic, void *arg,
								  NnRandom *random, double *low, double *high);

/*
 * Quantile p of the sample by nearest rank, counted from the nearer end; sorts
 * the sample, which may hold infinities but no NaN.
 */
extern double nn_quantile_nearest(double *x, int n, double p);

/*
 * Spread of a sample, (p90 - p10) / p50, with its bootstrap interval.  NaN below
 * two values, where one is not finite, or where the median is not above 0.
 */
extern double nn_spread(const double *x, int n, uint64_t seed, double *low, double *high);

#endif							/* NN_RESAMPLE_H */
