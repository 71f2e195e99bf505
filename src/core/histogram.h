/*-------------------------------------------------------------------------
 *
 * histogram.h
 *	  Log-linear latency histogram in nanoseconds.
 *
 * Values below 2^8 ns have a bucket each; above, every power of two is cut
 * into 2^7 equal sub-buckets, so that the midpoint of a bucket is within
 * 2^-8 = 0.39 % of every value in it.  Values of 2^42 ns (73 minutes) and more are
 * counted in "overflow" (and in count, sum, max), never folded into the last bucket.
 *
 * Memory: a NnHistogram is one flat object of NN_HISTOGRAM_BUCKETS counters
 * (about 37 kB) without pointers: it may live in private memory, in shared memory or on the
 * heap.  Recording is done by one thread; another thread may read at any
 * time (every field is a 64-bit word that is stored whole).  A reader takes a
 * difference of two snapshots for an interval: see nn_histogram_snapshot.
 *
 *-------------------------------------------------------------------------
 */
#ifndef NN_HISTOGRAM_H
#define NN_HISTOGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NN_HISTOGRAM_SUB_BITS	7
#define NN_HISTOGRAM_MAX_BITS	42
#define NN_HISTOGRAM_BUCKETS \
	((NN_HISTOGRAM_MAX_BITS - NN_HISTOGRAM_SUB_BITS + 1) << NN_HISTOGRAM_SUB_BITS)

typedef struct NnHistogram
{
	uint64_t	count;			/* values recorded, overflow included */
	uint64_t	overflow;		/* values >= 2^42 ns */
	uint64_t	min_ns;			/* UINT64_MAX when empty */
	uint64_t	max_ns;			/* exact, also beyond the last bucket */
	double		sum_ns;
	double		sum_sq_ns;		/* sum of squares, for the standard deviation */
	uint64_t	buckets[NN_HISTOGRAM_BUCKETS];
} NnHistogram;

/* Bucket of a value below 2^42. */
static inline uint32_t
nn_histogram_bucket(uint64_t value_ns)
{
	int			shift;

	if (value_ns < (UINT64_C(1) << (NN_HISTOGRAM_SUB_BITS + 1)))
		return (uint32_t) value_ns;
	shift = 63 - NN_HISTOGRAM_SUB_BITS - __builtin_clzll(value_ns);
	return ((uint32_t) shift << NN_HISTOGRAM_SUB_BITS) + (uint32_t) (value_ns >> shift);
}

extern uint64_t nn_histogram_bucket_low_ns(uint32_t bucket);
extern uint64_t nn_histogram_bucket_high_ns(uint32_t bucket);	/* exclusive */

extern void nn_histogram_reset(NnHistogram *h);

/*
 * No sum, and no sum of squares, is above these: twice what so many values up
 * to max_ns can add up to, which leaves room for the rounding of additions.
 */
static inline double
nn_histogram_sum_limit(const NnHistogram *h)
{
	return 2.0 * (double) h->count * (double) h->max_ns;
}

static inline double
nn_histogram_sum_sq_limit(const NnHistogram *h)
{
	return nn_histogram_sum_limit(h) * (double) h->max_ns;
}

/* Record one value: the hot path, <= 25 ns. */
static inline void
nn_histogram_record(NnHistogram *h, uint64_t value_ns)
{
	double		v = (double) value_ns;

	if (value_ns < (UINT64_C(1) << NN_HISTOGRAM_MAX_BITS))
		h->buckets[nn_histogram_bucket(value_ns)]++;
	else
		h->overflow++;
	h->sum_ns += v;
	h->sum_sq_ns += v * v;
	if (value_ns < h->min_ns)
		h->min_ns = value_ns;
	if (value_ns > h->max_ns)
		h->max_ns = value_ns;
	h->count++;
}

/* into += from.  Commutative and associative; counts are conserved. */
extern void nn_histogram_merge(NnHistogram *into, const NnHistogram *from);

/*
 * Copy a histogram that another thread is recording into.  "to" gets
 * consistent counts: count = sum(buckets) + overflow.
 */
extern void nn_histogram_snapshot(NnHistogram *to, const NnHistogram *from);

/*
 * result = later - earlier, two snapshots of the same recorder.  Minimum and maximum of the
 * difference are known only to the bucket: they are taken from the bucket
 * edges, unless the later snapshot's exact extreme lies in that bucket.
 */
extern void nn_histogram_subtract(NnHistogram *result, const NnHistogram *later,
								  const NnHistogram *earlier);

/*
 * Value at fraction "p" in [0, 1], ns: the midpoint of the bucket that holds
 * the value of rank ceil(p * count), clamped to [min, max].  The first and the
 * last rank are the minimum and the maximum, exactly.  A rank beyond the last
 * bucket gives the maximum: all that is known there.  NaN when the histogram
 * is empty or p is out of range.
 */
extern double nn_histogram_percentile_ns(const NnHistogram *h, double p);
extern double nn_histogram_mean_ns(const NnHistogram *h);	/* NaN when empty */
extern double nn_histogram_stddev_ns(const NnHistogram *h); /* sample; NaN below 2
															 * values */

#endif							/* NN_HISTOGRAM_H */
