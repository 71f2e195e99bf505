/*-------------------------------------------------------------------------
 *
 * histogram_datum.h
 *	  A histogram as a value of the SQL type noisy_histogram.
 *
 * The value is a varlena that holds the binary form of core/histogram_codec.h.
 *
 *-------------------------------------------------------------------------
 */
#ifndef NN_HISTOGRAM_DATUM_H
#define NN_HISTOGRAM_DATUM_H

#include "postgres.h"

#include "core/histogram.h"

/*
 * A new value in the current memory context.  ERROR when the histogram counts
 * more than a bigint holds.
 */
extern Datum nn_histogram_to_datum(const NnHistogram *h);

/* Read a value, detoasting it where needed. ERROR (data corrupted) when it is no histogram. */
extern void nn_histogram_from_datum(NnHistogram *h, Datum value);

#endif							/* NN_HISTOGRAM_DATUM_H */
