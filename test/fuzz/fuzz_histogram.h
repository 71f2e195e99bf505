/*-------------------------------------------------------------------------
 *
 * fuzz_histogram.h
 *	  What holds for every histogram that a decoder has accepted.
 *
 *-------------------------------------------------------------------------
 */
#ifndef NN_FUZZ_HISTOGRAM_H
#define NN_FUZZ_HISTOGRAM_H

#include <math.h>
#include <string.h>

#include "core/histogram_codec.h"
#include "fuzz.h"

/* It comes back from both of its forms as it was. */
static void
require_round_trip(const NnHistogram *h)
{
	static unsigned char binary[NN_HISTOGRAM_BINARY_MAX];
	static char text[NN_HISTOGRAM_TEXT_MAX];
	static NnHistogram back;
	size_t		size = nn_histogram_encode(h, binary);

	require(size <= sizeof(binary));
	require(nn_histogram_decode(&back, binary, size) == NULL);
	require(memcmp(h, &back, sizeof(back)) == 0);

	size = nn_histogram_encode_text(h, text);
	require(size < sizeof(text) && strlen(text) == size);
	require(nn_histogram_decode_text(&back, text) == NULL);
	require(memcmp(h, &back, sizeof(back)) == 0);
}

/* What it is asked is answered in order: min <= p50 <= p99 <= max, and so is the mean. */
static void
require_answers(const NnHistogram *h)
{
	static const double fractions[] = {0, 0.01, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 1};
	double		last = (double) h->min_ns;
	double		mean = nn_histogram_mean_ns(h);
	double		stddev = nn_histogram_stddev_ns(h);
	size_t		i;

	if (h->count == 0)
	{
		require(isnan(mean) && isnan(stddev) && isnan(nn_histogram_percentile_ns(h, 0.5)));
		return;
	}
	for (i = 0; i < sizeof(fractions) / sizeof(fractions[0]); i++)
	{
		double		value = nn_histogram_percentile_ns(h, fractions[i]);

		require(value >= last && value <= (double) h->max_ns);
		last = value;
	}
	require(mean >= (double) h->min_ns && mean <= (double) h->max_ns);
	require(h->count == 1 ? isnan(stddev) : stddev >= 0 && isfinite(stddev));
}

/* All of this, also after it was merged with itself, as often as a count has room. */
static void
require_sound(const NnHistogram *h)
{
	static NnHistogram sum;
	int			i;

	require_round_trip(h);
	require_answers(h);
	sum = *h;
	for (i = 0; i < 64 && sum.count > 0 && sum.count <= NN_HISTOGRAM_COUNT_MAX / 2; i++)
	{
		static NnHistogram twin;

		twin = sum;
		nn_histogram_merge(&sum, &twin);
	}
	require_round_trip(&sum);
	require_answers(&sum);
}

#endif							/* NN_FUZZ_HISTOGRAM_H */
