/*-------------------------------------------------------------------------
 *
 * histogram.c
 *	  Log-linear latency histogram: everything but the hot path.
 *
 * Recording is inline in the header.  Here are the operations that walk all
 * buckets: they take some microseconds, allocate nothing and hold no lock.
 *
 * Sums are doubles that hold whole nanoseconds: exact up to 2^53 ns (104
 * days of summed latency), relative error 2^-53 per addition beyond.  The
 * standard deviation comes from the sums, so a spread below about 1e-8 of
 * the mean is lost in rounding: far below what a bucket resolves.
 *
 *-------------------------------------------------------------------------
 */
#include "core/histogram.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define SUB_COUNT	(UINT64_C(1) << NN_HISTOGRAM_SUB_BITS)
#define TWO_TO_63	9223372036854775808.0

/* How many bits the values of a bucket have lost. */
static inline uint32_t
bucket_shift(uint32_t bucket)
{
	return bucket < 2 * SUB_COUNT ? 0 : (bucket >> NN_HISTOGRAM_SUB_BITS) - 1;
}

uint64_t
nn_histogram_bucket_low_ns(uint32_t bucket)
{
	uint32_t	shift = bucket_shift(bucket);

	return ((uint64_t) bucket - shift * SUB_COUNT) << shift;
}

uint64_t
nn_histogram_bucket_high_ns(uint32_t bucket)
{
	return nn_histogram_bucket_low_ns(bucket) + (UINT64_C(1) << bucket_shift(bucket));
}

void
nn_histogram_reset(NnHistogram *h)
{
	memset(h, 0, sizeof(*h));
	h->min_ns = UINT64_MAX;
}

/* Sums of foreign histograms may be at their limits, where rounding would carry them over. */
static void
limit_sums(NnHistogram *h)
{
	h->sum_ns = fmin(h->sum_ns, nn_histogram_sum_limit(h));
	h->sum_sq_ns = fmin(h->sum_sq_ns, nn_histogram_sum_sq_limit(h));
}

void
nn_histogram_merge(NnHistogram *into, const NnHistogram *from)
{
	uint32_t	i;

	if (from->count == 0)
		return;
	for (i = 0; i < NN_HISTOGRAM_BUCKETS; i++)
		into->buckets[i] += from->buckets[i];
	into->overflow += from->overflow;
	into->count += from->count;
	into->sum_ns += from->sum_ns;
	into->sum_sq_ns += from->sum_sq_ns;
	if (from->min_ns < into->min_ns)
		into->min_ns = from->min_ns;
	if (from->max_ns > into->max_ns)
		into->max_ns = from->max_ns;
	limit_sums(into);
}

static inline uint64_t
load_u64(const uint64_t *word)
{
	return __atomic_load_n(word, __ATOMIC_RELAXED);
}

static inline double
load_double(const double *word)
{
	double		value;

	__atomic_load(word, &value, __ATOMIC_RELAXED);
	return value;
}

static inline uint64_t
clamp_u64(uint64_t value, uint64_t low, uint64_t high)
{
	return value < low ? low : value > high ? high : value;
}

/* The smallest and the largest value that the counts of "h" allow. */
typedef struct ValueRange
{
	uint64_t	min_low_ns;
	uint64_t	min_high_ns;
	uint64_t	max_low_ns;
	uint64_t	max_high_ns;
} ValueRange;

/*
 * Bounds of minimum and maximum by the counts; the histogram is not empty.
 * All bounds are inclusive.
 */
static void
find_value_range(const NnHistogram *h, ValueRange *range)
{
	const uint64_t beyond = UINT64_C(1) << NN_HISTOGRAM_MAX_BITS;
	uint32_t	first = 0;
	uint32_t	last = NN_HISTOGRAM_BUCKETS;

	while (first < NN_HISTOGRAM_BUCKETS && h->buckets[first] == 0)
		first++;
	while (last > first && h->buckets[last - 1] == 0)
		last--;

	if (first < NN_HISTOGRAM_BUCKETS)
	{
		range->min_low_ns = nn_histogram_bucket_low_ns(first);
		range->min_high_ns = nn_histogram_bucket_high_ns(first) - 1;
	}
	else
	{
		range->min_low_ns = beyond;
		range->min_high_ns = UINT64_MAX - 1;
	}

	if (h->overflow > 0)
	{
		range->max_low_ns = beyond;
		range->max_high_ns = UINT64_MAX - 1;
	}
	else
	{
		range->max_low_ns = nn_histogram_bucket_low_ns(last - 1);
		range->max_high_ns = nn_histogram_bucket_high_ns(last - 1) - 1;
	}
}

/* Count, and with it the extremes of an empty histogram, from the buckets. */
static void
recount(NnHistogram *h)
{
	uint32_t	i;

	h->count = h->overflow;
	for (i = 0; i < NN_HISTOGRAM_BUCKETS; i++)
		h->count += h->buckets[i];
	if (h->count == 0)
		nn_histogram_reset(h);
}

/*
 * The recorder stores the bucket first and the count last, and may be
 * anywhere in between for one value.  So the count is taken from the
 * buckets, and extremes and sum are moved to what the buckets allow.
 */
void
nn_histogram_snapshot(NnHistogram *to, const NnHistogram *from)
{
	ValueRange	range;
	uint32_t	i;

	for (i = 0; i < NN_HISTOGRAM_BUCKETS; i++)
		to->buckets[i] = load_u64(&from->buckets[i]);
	to->overflow = load_u64(&from->overflow);
	to->sum_ns = load_double(&from->sum_ns);
	to->sum_sq_ns = load_double(&from->sum_sq_ns);
	to->min_ns = load_u64(&from->min_ns);
	to->max_ns = load_u64(&from->max_ns);

	recount(to);
	if (to->count == 0)
		return;

	find_value_range(to, &range);
	to->min_ns = clamp_u64(to->min_ns, range.min_low_ns, range.min_high_ns);
	to->max_ns = clamp_u64(to->max_ns, range.max_low_ns, range.max_high_ns);
	if (to->max_ns < to->min_ns || to->count == 1)
		to->max_ns = to->min_ns;
	to->sum_ns = fmin(fmax(to->sum_ns, (double) to->count * (double) to->min_ns),
					  (double) to->count * (double) to->max_ns);
	limit_sums(to);
}

/* later - earlier, not below 0: two snapshots of one recorder never give less. */
static inline uint64_t
growth(uint64_t later, uint64_t earlier)
{
	return later > earlier ? later - earlier : 0;
}

void
nn_histogram_subtract(NnHistogram *result, const NnHistogram *later,
					  const NnHistogram *earlier)
{
	uint64_t	later_min_ns = later->min_ns;
	uint64_t	later_max_ns = later->max_ns;
	ValueRange	range;
	uint32_t	i;

	/*
	 * result may be one of the operands: each field is read before it is
	 * written
	 */
	for (i = 0; i < NN_HISTOGRAM_BUCKETS; i++)
		result->buckets[i] = growth(later->buckets[i], earlier->buckets[i]);
	result->overflow = growth(later->overflow, earlier->overflow);
	result->sum_ns = fmax(later->sum_ns - earlier->sum_ns, 0.0);
	result->sum_sq_ns = fmax(later->sum_sq_ns - earlier->sum_sq_ns, 0.0);

	recount(result);
	if (result->count == 0)
		return;

	find_value_range(result, &range);
	result->min_ns = later_min_ns >= range.min_low_ns && later_min_ns <= range.min_high_ns ?
		later_min_ns : range.min_low_ns;
	result->max_ns = later_max_ns >= range.max_low_ns && later_max_ns <= range.max_high_ns ?
		later_max_ns : range.max_high_ns;

	/* A single value is known exactly, as long as doubles are: it is the sum. */
	if (result->count == 1)
	{
		result->min_ns = result->sum_ns < TWO_TO_63 ?
			clamp_u64((uint64_t) result->sum_ns, range.min_low_ns, range.min_high_ns) : result->max_ns;
		result->max_ns = result->min_ns;
	}
	if (result->max_ns < result->min_ns)
		result->max_ns = result->min_ns;
	limit_sums(result);
}

/*
 * Rank of fraction p among n values, 1 … n: ceil(p * n), where a product that
 * is a whole number but for rounding (0.07 * 100) counts as that number.
 */
static uint64_t
rank_of(double p, uint64_t n)
{
	double		product = p * (double) n;
	double		whole = floor(product + 0.5);
	double		rank = fabs(product - whole) <= product * 4 * DBL_EPSILON ? whole : ceil(product);

	if (rank < 1)
		return 1;
	return rank >= (double) n ? n : (uint64_t) rank;
}

double
nn_histogram_percentile_ns(const NnHistogram *h, double p)
{
	uint64_t	rank;
	uint64_t	seen = 0;
	uint32_t	i;

	if (h->count == 0 || !(p >= 0.0 && p <= 1.0))
		return NAN;

	/* The first and the last value are known exactly. */
	rank = rank_of(p, h->count);
	if (rank <= 1)
		return (double) h->min_ns;
	if (rank >= h->count)
		return (double) h->max_ns;

	for (i = 0; i < NN_HISTOGRAM_BUCKETS; i++)
	{
		seen += h->buckets[i];
		if (seen >= rank)
		{
			double		low = (double) nn_histogram_bucket_low_ns(i);
			double		high = (double) (nn_histogram_bucket_high_ns(i) - 1);

			return fmin(fmax((low + high) / 2, (double) h->min_ns), (double) h->max_ns);
		}
	}

	/* Beyond the buckets: the only value that is known there. */
	return (double) h->max_ns;
}

/* Rounding of the sum must not carry the mean past the extremes. */
double
nn_histogram_mean_ns(const NnHistogram *h)
{
	if (h->count == 0)
		return NAN;
	return fmin(fmax(h->sum_ns / (double) h->count, (double) h->min_ns), (double) h->max_ns);
}

double
nn_histogram_stddev_ns(const NnHistogram *h)
{
	double		n = (double) h->count;
	double		squares;

	if (h->count < 2)
		return NAN;
	if (h->min_ns == h->max_ns)
		return 0.0;
	squares = h->sum_sq_ns - h->sum_ns * (h->sum_ns / n);
	return squares > 0 ? sqrt(squares / (n - 1)) : 0.0;
}
