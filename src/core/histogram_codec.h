/*-------------------------------------------------------------------------
 *
 * histogram_codec.h
 *	  Storage and exchange forms of a histogram.
 *
 * Binary, version 1.  "varint" is an unsigned number of 7 bits per byte, the low
 * ones first, the high bit set in all bytes but the last; "double" is IEEE 754
 * binary64, low byte first:
 *
 *	 byte	version = 1
 *	 varint	count					the end when it is 0
 *	 varint overflow
 *	 varint min_ns
 *	 varint max_ns - min_ns
 *	 double sum_ns
 *	 double sum_sq_ns
 *	 varint number of buckets that are not empty
 *	 per such bucket, in order:
 *	 varint	empty buckets before it since the last one
 *	 varint its count
 *
 * Only what is there is stored: 1000 transactions take about 500 bytes; a histogram
 * with every bucket full stays below 64 KiB.
 *
 * Text, version 1: fields in this order, separated by a space, plain decimal
 * integers (sums of nanoseconds are whole numbers), independent of any locale.
 * A bucket is written by its number, see nn_histogram_bucket():
 *
 *	 v1 count=3 overflow=0 min=900 max=1100 sum=3000 sumsq=3020000 buckets=481:1,506:1,521:1
 *	 v1 count=0
 *
 * Decoding trusts nothing: it reads within the given length, and refuses what no
 * recorder could have written (counts that do not add up, buckets out of order,
 * extremes outside their buckets, sums that are no finite whole numbers).
 * A histogram counts at most 2^63 - 1 values, so that the count is a bigint.
 *
 *-------------------------------------------------------------------------
 */
#ifndef NN_HISTOGRAM_CODEC_H
#define NN_HISTOGRAM_CODEC_H

#include "core/histogram.h"

/* Room that any histogram fits in, bytes; that of the text includes the NUL. */
#define NN_HISTOGRAM_BINARY_MAX (128 + NN_HISTOGRAM_BUCKETS * 11)
#define NN_HISTOGRAM_TEXT_MAX	(512 + NN_HISTOGRAM_BUCKETS * 26)

/* The largest count. */
#define NN_HISTOGRAM_COUNT_MAX	((uint64_t) INT64_MAX)

/*
 * Write the histogram to "buf" of at least the size above; return the length,
 * for the text without its NUL.  The histogram must be consistent (a private
 * one or a snapshot) and count no more than NN_HISTOGRAM_COUNT_MAX.
 */
extern size_t nn_histogram_encode(const NnHistogram *h, unsigned char *buf);
extern size_t nn_histogram_encode_text(const NnHistogram *h, char *buf);

/*
 * Read a histogram back.  Returns NULL, or the reason why this is no histogram: a
 * constant phrase that can be shown to a person ("the counts of the buckets do
 * not add up"); "h" is undefined then.  The text ends at its NUL and may have white
 * space around it.
 */
extern const char *nn_histogram_decode(NnHistogram *h, const unsigned char *data, size_t size);
extern const char *nn_histogram_decode_text(NnHistogram *h, const char *text);

#endif							/* NN_HISTOGRAM_CODEC_H */
