/*-------------------------------------------------------------------------
 *
 * histogram.h
 *	  What the functions and the aggregates of noisy_histogram share.
 *
 *-------------------------------------------------------------------------
 */
#ifndef NN_API_HISTOGRAM_H
#define NN_API_HISTOGRAM_H

#include "postgres.h"

#include "core/histogram.h"

#define NN_NS_PER_MS_F	1e6

/* A latency in whole nanoseconds; ERROR when it is NaN, infinite, negative or above 292 years. */
extern uint64 nn_latency_from_ms(double ms);

/* Record a latency that SQL gave; ERROR as above. */
extern void nn_histogram_record_ms(NnHistogram *h, double ms);

#endif							/* NN_API_HISTOGRAM_H */
