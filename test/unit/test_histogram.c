/*-------------------------------------------------------------------------
 *
 * test_histogram.c
 *	  The histogram against an exact sort.
 *
 *-------------------------------------------------------------------------
 */
#include <pthread.h>
#include <string.h>

#include "core/clock.h"
#include "datasets.h"
#include "tap.h"

/* Per mille, so that the rank is exact in whole numbers. */
static const int fractions[] = {0, 1, 10, 70, 100, 250, 290, 500, 570, 750, 900, 950, 990, 999, 1000};

#define N_FRACTIONS	((int) (sizeof(fractions) / sizeof(fractions[0])))

static int
compare_u64(const void *a, const void *b)
{
	uint64_t	x = *(const uint64_t *) a;
	uint64_t	y = *(const uint64_t *) b;

	return (x > y) - (x < y);
}

static uint64_t
sum_of_counts(const NnHistogram *h)
{
	uint64_t	sum = h->overflow;
	uint32_t	i;

	for (i = 0; i < NN_HISTOGRAM_BUCKETS; i++)
		sum += h->buckets[i];
	return sum;
}

static bool
same_counts(const NnHistogram *a, const NnHistogram *b)
{
	return a->count == b->count && a->overflow == b->overflow &&
		memcmp(a->buckets, b->buckets, sizeof(a->buckets)) == 0;
}

static bool
same_extremes(const NnHistogram *a, const NnHistogram *b)
{
	return a->min_ns == b->min_ns && a->max_ns == b->max_ns;
}

static bool
near_sums(const NnHistogram *a, const NnHistogram *b)
{
	return near(a->sum_ns, b->sum_ns, 1e-12) && near(a->sum_sq_ns, b->sum_sq_ns, 1e-12);
}

static bool
percentiles_rise(const NnHistogram *h)
{
	double		before = (double) h->min_ns;
	int			i;

	for (i = 0; i <= 1000; i++)
	{
		double		value = nn_histogram_percentile_ns(h, i / 1000.0);

		if (!(value >= before))
			return false;
		before = value;
	}
	return before == (double) h->max_ns;
}

/* The largest relative error of the percentiles; beyond the buckets the maximum is right. */
static double
worst_error(const NnHistogram *h, const uint64_t *sorted, int n)
{
	double		worst = 0;
	int			i;

	for (i = 0; i < N_FRACTIONS; i++)
	{
		int			rank = (fractions[i] * n + 999) / 1000;
		uint64_t	exact = sorted[rank > 0 ? rank - 1 : 0];
		double		got = nn_histogram_percentile_ns(h, fractions[i] / 1000.0);
		double		error;

		if (exact >= BEYOND && rank > 1)
			exact = sorted[n - 1];
		error = exact == 0 ? got : fabs(got - (double) exact) / (double) exact;
		worst = fmax(worst, error);
	}
	return worst;
}

static void
test_against_sort(const Dataset *dataset, NnHistogram *h)
{
	uint64_t   *values = make_values(dataset);
	int			n = dataset->n;
	long double sum = 0;
	long double squares = 0;
	double		mean;
	double		error;
	int			i;

	record_all(h, values, n);
	qsort(values, (size_t) n, sizeof(uint64_t), compare_u64);
	for (i = 0; i < n; i++)
		sum += (long double) values[i];
	mean = (double) (sum / n);
	for (i = 0; i < n; i++)
		squares += ((long double) values[i] - sum / n) * ((long double) values[i] - sum / n);

	error = worst_error(h, values, n);
	ok(error <= 1.0 / 256, "%s: percentiles are within 2^-8 of the sorted value (%.5f %%)", dataset->name, 100 * error);
	ok(h->count == (uint64_t) n && sum_of_counts(h) == h->count, "%s: every value is counted once", dataset->name);
	ok(h->min_ns == values[0] && h->max_ns == values[n - 1], "%s: the extremes are exact", dataset->name);
	ok(percentiles_rise(h), "%s: min <= p0.1 <= ... <= p99.9 <= max", dataset->name);
	ok(near(nn_histogram_mean_ns(h), mean, 1e-12), "%s: the mean is exact", dataset->name);
	ok(n < 2 ? isnan(nn_histogram_stddev_ns(h)) :
	   near(nn_histogram_stddev_ns(h), (double) sqrtl(squares / (n - 1)), 1e-7),
	   "%s: the standard deviation is that of the values", dataset->name);
	free(values);
}

static void
test_merge(const Dataset *dataset, NnHistogram *h, NnHistogram *parts, int n_parts)
{
	uint64_t   *values = make_values(dataset);
	NnHistogram *forward = malloc(sizeof(NnHistogram));
	NnHistogram *backward = malloc(sizeof(NnHistogram));
	int			i;

	record_all(h, values, dataset->n);
	for (i = 0; i < n_parts; i++)
		nn_histogram_reset(&parts[i]);
	for (i = 0; i < dataset->n; i++)
		nn_histogram_record(&parts[values[i] * 7 % (uint64_t) n_parts], values[i]);
	nn_histogram_reset(forward);
	nn_histogram_reset(backward);
	for (i = 0; i < n_parts; i++)
	{
		nn_histogram_merge(forward, &parts[i]);
		nn_histogram_merge(backward, &parts[n_parts - 1 - i]);
	}
	ok(same_counts(forward, h) && same_extremes(forward, h) && near_sums(forward, h) &&
	   same_counts(backward, h) && same_extremes(backward, h) && near_sums(backward, h),
	   "%s: parts merged in two orders are the whole", dataset->name);
	free(forward);
	free(backward);
	free(values);
}

/* The second half by a difference of snapshots against the second half recorded by itself. */
static void
test_subtract(const Dataset *dataset, NnHistogram *later, NnHistogram *earlier, NnHistogram *half)
{
	uint64_t   *values = make_values(dataset);
	NnHistogram *difference = malloc(sizeof(NnHistogram));
	int			n_before = dataset->n / 2;
	bool		close;

	record_all(later, values, dataset->n);
	record_all(earlier, values, n_before);
	record_all(half, values + n_before, dataset->n - n_before);
	nn_histogram_subtract(difference, later, earlier);

	/* beyond the buckets only the side is known */
	close = (half->min_ns >= BEYOND ? difference->min_ns >= BEYOND :
			 near((double) difference->min_ns, (double) half->min_ns, 1.0 / 128)) &&
		(half->max_ns >= BEYOND ? difference->max_ns >= BEYOND :
		 near((double) difference->max_ns, (double) half->max_ns, 1.0 / 128));
	ok(same_counts(difference, half) && close && near(difference->sum_ns, half->sum_ns, 1e-9) &&
	   percentiles_rise(difference),
	   "%s: the difference of two snapshots is what was recorded between them", dataset->name);

	nn_histogram_subtract(later, later, earlier);
	ok(memcmp(later, difference, sizeof(*later)) == 0, "%s: the result may replace an operand", dataset->name);
	free(difference);
	free(values);
}

static void
test_difference_details(NnHistogram *later, NnHistogram *earlier, NnHistogram *difference)
{
	nn_histogram_reset(later);
	nn_histogram_record(later, 1000);
	nn_histogram_record(later, 90000000);
	*earlier = *later;
	nn_histogram_subtract(difference, later, earlier);
	ok(difference->count == 0 && difference->min_ns == UINT64_MAX && isnan(nn_histogram_percentile_ns(difference, 0.5)),
	   "a difference without values is empty");

	nn_histogram_record(later, 5000001);
	nn_histogram_subtract(difference, later, earlier);
	ok(difference->min_ns == 5000001 && difference->max_ns == 5000001 &&
	   nn_histogram_percentile_ns(difference, 0.5) == 5000001,
	   "the only value of a difference is known exactly");

	nn_histogram_record(later, 90000003);
	nn_histogram_subtract(difference, later, earlier);
	ok(difference->max_ns == 90000003, "a new maximum is known exactly in a difference");

	nn_histogram_subtract(difference, earlier, later);
	ok(difference->count == 0, "a recorder that was reset gives an empty difference, not a huge one");
}

static void
test_buckets(void)
{
	bool		edges = true;
	bool		adjacent = nn_histogram_bucket_low_ns(0) == 0;
	double		worst = 0;
	uint32_t	i;

	for (i = 0; i < NN_HISTOGRAM_BUCKETS; i++)
	{
		uint64_t	low = nn_histogram_bucket_low_ns(i);
		uint64_t	high = nn_histogram_bucket_high_ns(i);

		edges &= nn_histogram_bucket(low) == i && nn_histogram_bucket(high - 1) == i;
		if (i + 1 < NN_HISTOGRAM_BUCKETS)
			adjacent &= high == nn_histogram_bucket_low_ns(i + 1);
		if (low > 0)
			worst = fmax(worst, (double) (high - 1 - low) / 2 / (double) low);
	}
	ok(edges, "both edges of every bucket fall into it");
	ok(adjacent && nn_histogram_bucket_high_ns(NN_HISTOGRAM_BUCKETS - 1) == BEYOND,
	   "buckets follow each other without gap from 0 to 2^42 ns");
	ok(worst <= 1.0 / 256, "the midpoint of a bucket is within 2^-8 of its values (%.4f %%)", 100 * worst);
}

static void
test_ranks(NnHistogram *h)
{
	int			i;

	nn_histogram_reset(h);
	for (i = 1; i <= 100; i++)
		nn_histogram_record(h, (uint64_t) i);
	ok(nn_histogram_percentile_ns(h, 0.07) == 7 && nn_histogram_percentile_ns(h, 0.29) == 29 &&
	   nn_histogram_percentile_ns(h, 0.57) == 57 && nn_histogram_percentile_ns(h, 0.58) == 58,
	   "a rank that is whole but for rounding is not rounded up");
	ok(nn_histogram_percentile_ns(h, 0.071) == 8, "a rank in between is rounded up");
	ok(isnan(nn_histogram_percentile_ns(h, -0.1)) && isnan(nn_histogram_percentile_ns(h, 1.1)) &&
	   isnan(nn_histogram_percentile_ns(h, NAN)), "a fraction out of range has no percentile");

	nn_histogram_reset(h);
	ok(isnan(nn_histogram_percentile_ns(h, 0.5)) && isnan(nn_histogram_mean_ns(h)) &&
	   isnan(nn_histogram_stddev_ns(h)), "an empty histogram has no percentile, mean or deviation");
}

/* What can be seen when a snapshot is taken while the first or second value is half recorded. */
static void
test_half_recorded(NnHistogram *h, NnHistogram *snapshot)
{
	bool		consistent = true;
	int			seen;

	for (seen = 0; seen < 4; seen++)
	{
		/*
		 * the bucket of the first value is there, some fields are still old
		 * or already those of the second
		 */
		nn_histogram_reset(h);
		h->buckets[nn_histogram_bucket(1000000)]++;
		if (seen & 1)
			h->min_ns = 700;
		if (seen & 2)
			h->max_ns = 90000000;
		nn_histogram_snapshot(snapshot, h);
		consistent &= snapshot->count == 1 && snapshot->min_ns == snapshot->max_ns &&
			nn_histogram_bucket(snapshot->min_ns) == nn_histogram_bucket(1000000) &&
			snapshot->sum_ns == (double) snapshot->min_ns;
	}
	ok(consistent, "a snapshot of a value that is half recorded is a histogram of one value");
}

/* ---- a snapshot of a histogram that is being recorded into ---- */

typedef struct Recorder
{
	NnHistogram h;
	bool		stop;
	pthread_t	thread;
} Recorder;

static void *
record_until_stopped(void *arg)
{
	Recorder   *recorder = arg;
	NnRandom	r;

	nn_random_seed(&r, 1, 1);
	while (!__atomic_load_n(&recorder->stop, __ATOMIC_RELAXED))
		nn_histogram_record(&recorder->h, wide(&r, 0));
	return NULL;
}

static void
test_snapshot(NnHistogram *now, NnHistogram *before, NnHistogram *difference)
{
	Recorder   *recorder = calloc(1, sizeof(Recorder));
	uint64_t	end_ns = nn_now_ns() + 300 * NN_NS_PER_MS;
	uint64_t	total = 0;
	bool		consistent = true;
	bool		grows = true;
	int			n = 0;

	nn_histogram_reset(&recorder->h);
	nn_histogram_reset(before);
	pthread_create(&recorder->thread, NULL, record_until_stopped, recorder);
	do
	{
		nn_histogram_snapshot(now, &recorder->h);
		consistent &= now->count == sum_of_counts(now) &&
			(now->count == 0 || (now->min_ns <= now->max_ns && percentiles_rise(now)));
		grows &= now->count >= before->count;
		nn_histogram_subtract(difference, now, before);
		total += difference->count;
		*before = *now;
		n++;
	} while (nn_now_ns() < end_ns);
	__atomic_store_n(&recorder->stop, true, __ATOMIC_RELAXED);
	pthread_join(recorder->thread, NULL);
	nn_histogram_snapshot(now, &recorder->h);
	nn_histogram_subtract(difference, now, before);
	total += difference->count;

	ok(consistent, "snapshots taken while another thread records are consistent (%d of them)", n);
	ok(grows && total == recorder->h.count, "the counts of all intervals sum to the total (%llu)",
	   (unsigned long long) total);
	free(recorder);
}

int
main(void)
{
	NnHistogram *h = malloc(7 * sizeof(NnHistogram));
	int			i;

	test_buckets();
	for (i = 0; i < N_DATASETS; i++)
	{
		test_against_sort(&datasets[i], &h[0]);
		test_merge(&datasets[i], &h[0], &h[1], 6);
		test_subtract(&datasets[i], &h[0], &h[1], &h[2]);
	}
	test_ranks(&h[0]);
	test_difference_details(&h[0], &h[1], &h[2]);
	test_half_recorded(&h[0], &h[1]);
	test_snapshot(&h[0], &h[1], &h[2]);
	free(h);
	return tap_done();
}
