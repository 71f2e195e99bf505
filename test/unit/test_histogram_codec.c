/*-------------------------------------------------------------------------
 *
 * test_histogram_codec.c
 *	  Storage and exchange forms: what is written comes back, what is broken is refused.
 *
 *-------------------------------------------------------------------------
 */
#include <locale.h>
#include <string.h>

#include "core/histogram_codec.h"
#include "datasets.h"
#include "tap.h"

static unsigned char binary[NN_HISTOGRAM_BINARY_MAX];
static char text[NN_HISTOGRAM_TEXT_MAX];

/* A copy that ends where its memory ends, so that a sanitizer sees a read beyond it. */
static const char *
decode_exact(NnHistogram *h, const unsigned char *data, size_t size)
{
	unsigned char *copy = malloc(size > 0 ? size : 1);
	const char *reason;

	memcpy(copy, data, size);
	reason = nn_histogram_decode(h, copy, size);
	free(copy);
	return reason;
}

static const char *
decode_exact_text(NnHistogram *h, const char *data, size_t size)
{
	char	   *copy = malloc(size + 1);
	const char *reason;

	memcpy(copy, data, size);
	copy[size] = '\0';
	reason = nn_histogram_decode_text(h, copy);
	free(copy);
	return reason;
}

static void
test_round_trip(const char *name, const NnHistogram *h, NnHistogram *back)
{
	size_t		size = nn_histogram_encode(h, binary);
	size_t		length = nn_histogram_encode_text(h, text);

	ok(size <= 65536 && decode_exact(back, binary, size) == NULL && memcmp(h, back, sizeof(*h)) == 0,
	   "%s: comes back from the binary form (%zu bytes)", name, size);
	ok(length == strlen(text) && decode_exact_text(back, text, length) == NULL && memcmp(h, back, sizeof(*h)) == 0,
	   "%s: comes back from the text form (%zu bytes)", name, length);
}

/* Every bucket, every number as long as it can be. */
static void
fill_worst_case(NnHistogram *h)
{
	uint32_t	i;

	nn_histogram_reset(h);
	for (i = 0; i < NN_HISTOGRAM_BUCKETS; i++)
		h->buckets[i] = NN_HISTOGRAM_COUNT_MAX / (NN_HISTOGRAM_BUCKETS + 1);
	h->overflow = NN_HISTOGRAM_COUNT_MAX / (NN_HISTOGRAM_BUCKETS + 1);
	h->count = h->overflow * (NN_HISTOGRAM_BUCKETS + 1);
	h->min_ns = 0;
	h->max_ns = UINT64_MAX;
	h->sum_ns = ldexp(1.0, 127);
	h->sum_sq_ns = ldexp(1.0, 191);
}

static void
test_truncated(const NnHistogram *h, NnHistogram *back)
{
	size_t		size = nn_histogram_encode(h, binary);
	size_t		length = nn_histogram_encode_text(h, text);
	bool		refused = true;
	size_t		i;

	for (i = 0; i < size; i++)
		refused &= decode_exact(back, binary, i) != NULL;
	ok(refused, "the binary form is refused when it is cut anywhere");
	binary[size] = 0;
	ok(decode_exact(back, binary, size + 1) != NULL, "the binary form is refused when something follows it");

	refused = true;
	for (i = 0; i < length; i++)
		refused &= decode_exact_text(back, text, i) != NULL;
	ok(refused, "the text form is refused when it is cut anywhere");
}

static void
test_damaged_binary(const NnHistogram *h, NnHistogram *back)
{
	unsigned char *damaged = malloc(NN_HISTOGRAM_BINARY_MAX);
	unsigned char *again = malloc(NN_HISTOGRAM_BINARY_MAX);
	size_t		size = nn_histogram_encode(h, binary);
	bool		same = true;
	int			accepted = 0;
	NnRandom	r;
	int			i;

	nn_random_seed(&r, 7, 0);
	for (i = 0; i < 50000; i++)
	{
		int			changes = (int) nn_random_range(&r, 1, 3);

		memcpy(damaged, binary, size);
		while (changes-- > 0)
			damaged[nn_random_range(&r, 0, (int64_t) size - 1)] = (unsigned char) nn_random_u64(&r);
		if (decode_exact(back, damaged, size) == NULL)
		{
			accepted++;
			same &= nn_histogram_encode(back, again) == size && memcmp(damaged, again, size) == 0;
		}
	}
	ok(same, "what is accepted of 50000 damaged values is written again as it was read (%d accepted)", accepted);
	free(damaged);
	free(again);
}

static void
test_damaged_text(const NnHistogram *h, NnHistogram *back)
{
	static const char letters[] = "0123456789:,= v-.eEx\n";
	char	   *damaged = malloc(NN_HISTOGRAM_TEXT_MAX);
	char	   *again = malloc(NN_HISTOGRAM_TEXT_MAX);
	size_t		length = nn_histogram_encode_text(h, text);
	NnHistogram *twice = malloc(sizeof(NnHistogram));
	bool		same = true;
	int			accepted = 0;
	NnRandom	r;
	int			i;

	nn_random_seed(&r, 8, 0);
	for (i = 0; i < 50000; i++)
	{
		memcpy(damaged, text, length + 1);
		damaged[nn_random_range(&r, 0, (int64_t) length - 1)] =
			letters[nn_random_range(&r, 0, (int64_t) sizeof(letters) - 2)];
		if (decode_exact_text(back, damaged, length) == NULL)
		{
			accepted++;
			nn_histogram_encode_text(back, again);
			same &= nn_histogram_decode_text(twice, again) == NULL && memcmp(back, twice, sizeof(*back)) == 0;
		}
	}
	ok(same, "what is accepted of 50000 damaged texts comes back (%d accepted)", accepted);
	free(damaged);
	free(again);
	free(twice);
}

/* Texts that no recorder could have written. */
static const char *const bad_texts[][2] = {
	{"", "nothing at all"},
	{"v1", "a version alone"},
	{"v2 count=0", "another version"},
	{"v1 count=0 buckets=", "something after an empty histogram"},
	{"v1 count=1", "missing fields"},
	{"v1 count=1 overflow=0 min=5 max=5 sum=5 sumsq=25", "no buckets"},
	{"v1 count=2 overflow=0 min=5 max=5 sum=5 sumsq=25 buckets=5:1", "too few values in the buckets"},
	{"v1 count=1 overflow=0 min=5 max=5 sum=5 sumsq=25 buckets=5:2", "too many values in the buckets"},
	{"v1 count=1 overflow=0 min=5 max=5 sum=5 sumsq=25 buckets=5:18446744073709551615,6:2", "counts that overflow"},
	{"v1 count=1 overflow=2 min=5 max=5 sum=5 sumsq=25 buckets=", "more beyond than there are"},
	{"v1 count=1 overflow=0 min=4 max=5 sum=5 sumsq=25 buckets=5:1", "a minimum outside its bucket"},
	{"v1 count=1 overflow=0 min=5 max=6 sum=5 sumsq=25 buckets=5:1", "a maximum outside its bucket"},
	{"v1 count=2 overflow=0 min=7 max=5 sum=12 sumsq=74 buckets=5:1,7:1", "a minimum above the maximum"},
	{"v1 count=2 overflow=1 min=5 max=6 sum=11 sumsq=61 buckets=5:1", "a maximum that is not beyond"},
	{"v1 count=1 overflow=0 min=256 max=257 sum=257 sumsq=66049 buckets=256:1", "one value with two extremes"},
	{"v1 count=2 overflow=0 min=5 max=6 sum=11 sumsq=61 buckets=6:1,5:1", "buckets out of order"},
	{"v1 count=2 overflow=0 min=5 max=5 sum=10 sumsq=50 buckets=5:1,5:1", "a bucket twice"},
	{"v1 count=1 overflow=0 min=5 max=5 sum=5 sumsq=25 buckets=5:1,6:0", "an empty bucket"},
	{"v1 count=1 overflow=0 min=5 max=5 sum=5 sumsq=25 buckets=5:1,", "a comma at the end"},
	{"v1 count=1 overflow=0 min=5 max=5 sum=5 sumsq=25 buckets=5:", "a bucket without count"},
	{"v1 count=1 overflow=0 min=5 max=5 sum=5 sumsq=25 buckets=5", "a bucket without colon"},
	{"v1 count=1 overflow=0 min=5 max=5 sum=5 sumsq=25 buckets=4608:1", "a bucket that does not exist"},
	{"v1 count=1 overflow=0 min=5 max=5 sum=5 sumsq=25 buckets=99999999999999999999:1", "a bucket beyond 64 bits"},
	{"v1 count=-1 overflow=0 min=5 max=5 sum=5 sumsq=25 buckets=5:1", "a negative count"},
	{"v1 count=18446744073709551615 overflow=18446744073709551615 min=4398046511104 max=4398046511104 sum=1 sumsq=1 buckets=",
	"a count beyond a bigint"},
	{"v1 count=1 overflow=0 min=5 max=5 sum=nan sumsq=25 buckets=5:1", "a sum that is no number"},
	{"v1 count=1 overflow=0 min=5 max=5 sum=5.0 sumsq=25 buckets=5:1", "a sum with a decimal point"},
	{"v1 count=1 overflow=0 min=5 max=5 sum=1e3 sumsq=25 buckets=5:1", "a sum with an exponent"},
	{"v1 count=1 overflow=0 min=5 max=5 sum=-5 sumsq=25 buckets=5:1", "a negative sum"},
	{"v1 count=1 overflow=0 min=5 max=5 sum=999999999999999999999999999999999999999999 sumsq=25 buckets=5:1",
	"a sum beyond what can be"},
	{"v1 count=1 overflow=0 min=5 max=5 sum=5 sumsq=25 buckets=5:1 more", "something after the end"},
};

static void
test_bad_texts(NnHistogram *back)
{
	size_t		i;

	for (i = 0; i < sizeof(bad_texts) / sizeof(bad_texts[0]); i++)
		ok(decode_exact_text(back, bad_texts[i][0], strlen(bad_texts[i][0])) != NULL, "refused: %s", bad_texts[i][1]);
}

/* Binary values that differ from a good one in one thing. */
static void
test_bad_binaries(NnHistogram *h, NnHistogram *back)
{
	static const unsigned char overlong[] = {1, 0x80, 0};
	static const unsigned char endless[] = {1, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF};
	static const unsigned char too_big[] = {1, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 2};
	double		infinity = INFINITY;
	double		fraction = 4.5;
	size_t		size;

	ok(decode_exact(back, overlong, sizeof(overlong)) != NULL, "a number written longer than needed is refused");
	ok(decode_exact(back, endless, sizeof(endless)) != NULL, "a number without end is refused");
	ok(decode_exact(back, too_big, sizeof(too_big)) != NULL, "a number of more than 64 bits is refused");

	nn_histogram_reset(h);
	nn_histogram_record(h, 5);
	size = nn_histogram_encode(h, binary);
	binary[0] = 2;
	ok(decode_exact(back, binary, size) != NULL, "another version is refused");
	binary[0] = 1;
	memcpy(binary + 5, &infinity, sizeof(double));
	ok(decode_exact(back, binary, size) != NULL, "an infinite sum is refused");
	memcpy(binary + 5, &fraction, sizeof(double));
	ok(decode_exact(back, binary, size) != NULL, "a sum with a fraction is refused");
}

static void
test_locale(NnHistogram *h, NnHistogram *back)
{
	static const char *const commas[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "nb_NO.UTF-8", "ru_RU.UTF-8"};
	const char *locale = NULL;
	size_t		i;

	for (i = 0; i < sizeof(commas) / sizeof(commas[0]) && locale == NULL; i++)
		locale = setlocale(LC_ALL, commas[i]);
	if (locale == NULL)
	{
		tap_skip("there is no locale with a decimal comma");
		return;
	}
	nn_histogram_reset(h);
	for (i = 0; i < 1000; i++)
		nn_histogram_record(h, 1234567 + i * 54321);
	nn_histogram_encode_text(h, text);
	ok(strcspn(text, "' .") == 2 && nn_histogram_decode_text(back, text) == NULL && memcmp(h, back, sizeof(*h)) == 0,
	   "the text form is the same with a decimal comma (%s)", locale);
	setlocale(LC_ALL, "C");
}

int
main(void)
{
	NnHistogram *h = malloc(sizeof(NnHistogram));
	NnHistogram *back = malloc(sizeof(NnHistogram));
	int			i;

	for (i = 0; i < N_DATASETS; i++)
	{
		uint64_t   *values = make_values(&datasets[i]);

		record_all(h, values, datasets[i].n);
		test_round_trip(datasets[i].name, h, back);
		free(values);
	}
	nn_histogram_reset(h);
	test_round_trip("empty", h, back);
	ok(strcmp(text, "v1 count=0") == 0, "the text of an empty histogram is \"v1 count=0\"");
	fill_worst_case(h);
	test_round_trip("every bucket full", h, back);

	nn_histogram_reset(h);
	nn_histogram_record(h, 900);
	nn_histogram_record(h, 1000);
	nn_histogram_record(h, 1100);
	nn_histogram_encode_text(h, text);
	ok(strcmp(text, "v1 count=3 overflow=0 min=900 max=1100 sum=3000 sumsq=3020000 buckets=481:1,506:1,521:1") == 0,
	   "the text is as its description says");
	ok(nn_histogram_decode_text(back, " \t v1  count=1 overflow=0\nmin=5 max=5 sum=5 sumsq=25 buckets=5:1 \n") == NULL,
	   "white space around the fields is accepted");

	{
		uint64_t   *values = make_values(&datasets[9]);

		record_all(h, values, 300);
		free(values);
	}
	test_truncated(h, back);
	test_damaged_binary(h, back);
	test_damaged_text(h, back);
	test_bad_texts(back);
	test_bad_binaries(h, back);
	test_locale(h, back);
	free(h);
	free(back);
	return tap_done();
}
