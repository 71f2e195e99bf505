/*-------------------------------------------------------------------------
 *
 * histogram_interval.h
 *	  How well a percentile is known from the values of one histogram.
 *
 *-------------------------------------------------------------------------
 */
#ifndef NN_HISTOGRAM_INTERVAL_H
#define NN_HISTOGRAM_INTERVAL_H

#include "core/histogram.h"

/*
 * 95 % interval of percentile "p" in [0, 1] by order statistics: the values of
 * ranks n p - 1.96 sqrt(n p (1 - p)), rounded down, and n p + 1.96 sqrt(n p (1 - p)), rounded up, ns.
 * An end whose rank does not exist is NaN: the sample does not bound it.
 *
 * It takes the values for independent.  Latencies of one block are not, so
 * the true interval is wider; between blocks only blocks tell.
 */
extern void nn_histogram_percentile_interval_ns(const NnHistogram *h, double p, double *low, double *high);

#endif							/* NN_HISTOGRAM_INTERVAL_H */
