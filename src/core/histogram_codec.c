/*-------------------------------------------------------------------------
 *
 * histogram_codec.c
 *	  Storage and exchange forms of a histogram; see the header for the format.
 *
 * Both decoders fill buckets and fields from untrusted input, remembering the
 * first and last bucket, and then pass the same check.  Nothing is allocated.
 *
 *-------------------------------------------------------------------------
 */
#include "core/histogram_codec.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BINARY_VERSION	1
#define VARINT_MAX_BYTES 10

/* Room in decimal for the limit of a sum of squares, 2^192 (58 digits). */
#define WHOLE_DIGITS	64

static const char *const truncated = "the data ends too early";
static const char *const malformed_bucket = "a bucket is not of the form number:count";

/*
 * Is this what a recorder leaves behind?  "first" and "last" are the outer
 * buckets that are not empty; first > last when all are empty.
 */
static const char *
check_consistency(const NnHistogram *h, int64_t first, int64_t last)
{
	const uint64_t beyond = UINT64_C(1) << NN_HISTOGRAM_MAX_BITS;
	uint64_t	total = h->overflow;
	int64_t		i;

	if (h->count > NN_HISTOGRAM_COUNT_MAX || h->overflow > h->count)
		return "a count is out of range";
	for (i = first; i <= last; i++)
	{
		if (h->buckets[i] > h->count - total)
			return "the counts of the buckets do not add up";
		total += h->buckets[i];
	}
	if (total != h->count)
		return "the counts of the buckets do not add up";

	if (h->min_ns > h->max_ns)
		return "the minimum is above the maximum";
	if (first <= last ?
		h->min_ns >= beyond || nn_histogram_bucket(h->min_ns) != first :
		h->min_ns < beyond)
		return "the minimum is not in the first bucket";
	if (h->overflow == 0 ?
		h->max_ns >= beyond || nn_histogram_bucket(h->max_ns) != last :
		h->max_ns < beyond)
		return "the maximum is not in the last bucket";
	if (h->count == 1 && h->min_ns != h->max_ns)
		return "one value has two extremes";

	/* The comparisons are also false for NaN; the sign catches -0. */
	if (!(h->sum_ns <= nn_histogram_sum_limit(h)) || signbit(h->sum_ns) ||
		!(h->sum_sq_ns <= nn_histogram_sum_sq_limit(h)) || signbit(h->sum_sq_ns))
		return "a sum is out of range";
	if (h->sum_ns != floor(h->sum_ns) || h->sum_sq_ns != floor(h->sum_sq_ns))
		return "a sum is not a whole number of nanoseconds";
	return NULL;
}

/* ---------------------------------------------------------------- binary */

static unsigned char *
put_varint(unsigned char *to, uint64_t value)
{
	while (value >= 0x80)
	{
		*to++ = (unsigned char) (value | 0x80);
		value >>= 7;
	}
	*to++ = (unsigned char) value;
	return to;
}

static unsigned char *
put_double(unsigned char *to, double value)
{
	uint64_t	bits;
	int			i;

	memcpy(&bits, &value, sizeof(bits));
	for (i = 0; i < 8; i++)
		*to++ = (unsigned char) (bits >> (8 * i));
	return to;
}

size_t
nn_histogram_encode(const NnHistogram *h, unsigned char *buf)
{
	unsigned char *to = buf;
	uint32_t	used = 0;
	uint32_t	next = 0;
	uint32_t	i;

	*to++ = BINARY_VERSION;
	to = put_varint(to, h->count);
	if (h->count == 0)
		return (size_t) (to - buf);

	for (i = 0; i < NN_HISTOGRAM_BUCKETS; i++)
		used += h->buckets[i] != 0;

	to = put_varint(to, h->overflow);
	to = put_varint(to, h->min_ns);
	to = put_varint(to, h->max_ns - h->min_ns);
	to = put_double(to, h->sum_ns);
	to = put_double(to, h->sum_sq_ns);
	to = put_varint(to, used);
	for (i = 0; i < NN_HISTOGRAM_BUCKETS; i++)
	{
		if (h->buckets[i] == 0)
			continue;
		to = put_varint(to, i - next);
		to = put_varint(to, h->buckets[i]);
		next = i + 1;
	}
	return (size_t) (to - buf);
}

/* What is left of the data; "at" is NULL once a read has failed. */
typedef struct Reader
{
	const unsigned char *at;
	const unsigned char *end;
} Reader;

/* 0 and a NULL position when the data ends, or the number is not in its one shortest form. */
static uint64_t
get_varint(Reader *reader)
{
	uint64_t	value = 0;
	int			i;

	for (i = 0; reader->at != NULL && reader->at < reader->end && i < VARINT_MAX_BYTES; i++)
	{
		uint64_t	byte = *reader->at++;

		if (i == VARINT_MAX_BYTES - 1 && byte > 1)
			break;
		value |= (byte & 0x7F) << (7 * i);
		if ((byte & 0x80) == 0)
		{
			if (byte == 0 && i > 0)
				break;
			return value;
		}
	}
	reader->at = NULL;
	return 0;
}

static double
get_double(Reader *reader)
{
	uint64_t	bits = 0;
	double		value;
	int			i;

	if (reader->at == NULL || reader->end - reader->at < 8)
	{
		reader->at = NULL;
		return 0;
	}
	for (i = 0; i < 8; i++)
		bits |= (uint64_t) *reader->at++ << (8 * i);
	memcpy(&value, &bits, sizeof(value));
	return value;
}

const char *
nn_histogram_decode(NnHistogram *h, const unsigned char *data, size_t size)
{
	Reader		reader;
	uint64_t	used;
	uint64_t	next = 0;
	uint64_t	spread;
	uint64_t	i;
	int64_t		first = 0;

	reader.at = data;
	reader.end = data + size;
	if (size == 0)
		return truncated;
	if (*reader.at++ != BINARY_VERSION)
		return "the version is not known";

	nn_histogram_reset(h);
	h->count = get_varint(&reader);
	if (reader.at != NULL && h->count == 0)
		return reader.at == reader.end ? NULL : "there is data after the end";

	h->overflow = get_varint(&reader);
	h->min_ns = get_varint(&reader);
	spread = get_varint(&reader);
	h->max_ns = h->min_ns + spread;
	h->sum_ns = get_double(&reader);
	h->sum_sq_ns = get_double(&reader);
	used = get_varint(&reader);
	if (reader.at == NULL)
		return truncated;
	if (used > NN_HISTOGRAM_BUCKETS)
		return "a bucket is out of range";
	for (i = 0; i < used; i++)
	{
		uint64_t	gap = get_varint(&reader);
		uint64_t	count = get_varint(&reader);

		if (reader.at == NULL)
			return truncated;
		if (gap >= NN_HISTOGRAM_BUCKETS - next)
			return "a bucket is out of range";
		if (count == 0)
			return "a bucket is empty";
		if (i == 0)
			first = (int64_t) gap;
		h->buckets[next + gap] = count;
		next += gap + 1;
	}
	if (reader.at != reader.end)
		return "there is data after the end";
	if (spread > UINT64_MAX - h->min_ns)
		return "the maximum is out of range";
	return check_consistency(h, first, (int64_t) next - 1);
}

/* ------------------------------------------------------------------ text */

static char *
put_u64(char *to, uint64_t value)
{
	char		digits[20];
	int			n = 0;

	do
	{
		digits[n++] = (char) ('0' + value % 10);
		value /= 10;
	} while (value != 0);
	while (n > 0)
		*to++ = digits[--n];
	return to;
}

static char *
put_label(char *to, const char *label)
{
	size_t		n = strlen(label);

	memcpy(to, label, n);
	return to + n;
}

/* A whole number has no decimal point, so no locale can change it. */
static char *
put_whole_double(char *to, double value)
{
	return to + snprintf(to, WHOLE_DIGITS, "%.0f", value);
}

size_t
nn_histogram_encode_text(const NnHistogram *h, char *buf)
{
	char	   *to = buf;
	const char *separator = " buckets=";
	uint32_t	i;

	to = put_u64(put_label(to, "v1 count="), h->count);
	if (h->count > 0)
	{
		to = put_u64(put_label(to, " overflow="), h->overflow);
		to = put_u64(put_label(to, " min="), h->min_ns);
		to = put_u64(put_label(to, " max="), h->max_ns);
		to = put_whole_double(put_label(to, " sum="), h->sum_ns);
		to = put_whole_double(put_label(to, " sumsq="), h->sum_sq_ns);
		if (h->count == h->overflow)
			to = put_label(to, separator);
		for (i = 0; i < NN_HISTOGRAM_BUCKETS; i++)
		{
			if (h->buckets[i] == 0)
				continue;
			to = put_u64(put_label(to, separator), i);
			*to++ = ':';
			to = put_u64(to, h->buckets[i]);
			separator = ",";
		}
	}
	*to = '\0';
	return (size_t) (to - buf);
}

static inline bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static inline const char *
skip_space(const char *at)
{
	while (*at == ' ' || (*at >= '\t' && *at <= '\r'))
		at++;
	return at;
}

/* Skip white space and then "label"; false when it is not there. */
static bool
get_label(const char **at, const char *label)
{
	const char *p = skip_space(*at);
	size_t		n = strlen(label);

	if (strncmp(p, label, n) != 0)
		return false;
	*at = p + n;
	return true;
}

/* A decimal number without sign; false when there is none or it needs more than 64 bits. */
static bool
get_u64(const char **at, uint64_t *value)
{
	const char *p = *at;

	if (!is_digit(*p))
		return false;
	for (*value = 0; is_digit(*p); p++)
	{
		uint64_t	digit = (uint64_t) (*p - '0');

		if (*value > (UINT64_MAX - digit) / 10)
			return false;
		*value = *value * 10 + digit;
	}
	*at = p;
	return true;
}

/* Digits only, which strtod reads alike in every locale. */
static bool
get_whole_double(const char **at, double *value)
{
	char		digits[WHOLE_DIGITS];
	size_t		n = 0;

	while (n < sizeof(digits) - 1 && is_digit((*at)[n]))
	{
		digits[n] = (*at)[n];
		n++;
	}
	if (n == 0 || is_digit((*at)[n]))
		return false;
	digits[n] = '\0';
	*value = strtod(digits, NULL);
	*at += n;
	return true;
}

/* The list of buckets up to its end; NULL or the reason. */
static const char *
get_buckets(const char **at, NnHistogram *h, int64_t *first, int64_t *last)
{
	while (is_digit(**at))
	{
		uint64_t	bucket;
		uint64_t	count;

		if (!get_u64(at, &bucket) || bucket >= NN_HISTOGRAM_BUCKETS)
			return "a bucket is out of range";
		if (**at != ':')
			return malformed_bucket;
		(*at)++;
		if (!get_u64(at, &count))
			return malformed_bucket;
		if ((int64_t) bucket <= *last)
			return "the buckets are not in order";
		if (count == 0)
			return "a bucket is empty";
		if (*last < 0)
			*first = (int64_t) bucket;
		*last = (int64_t) bucket;
		h->buckets[bucket] = count;
		if (**at != ',')
			break;
		(*at)++;
		if (!is_digit(**at))
			return malformed_bucket;
	}
	return NULL;
}

const char *
nn_histogram_decode_text(NnHistogram *h, const char *text)
{
	const char *at = text;
	const char *reason;
	int64_t		first = 0;
	int64_t		last = -1;

	if (!get_label(&at, "v1 "))
		return "the version \"v1\" is not at the beginning";

	nn_histogram_reset(h);
	if (!get_label(&at, "count=") || !get_u64(&at, &h->count))
		return "the field \"count\" is missing or no number";
	if (h->count == 0)
		return *skip_space(at) == '\0' ? NULL : "there is text after the end";
	if (!get_label(&at, "overflow=") || !get_u64(&at, &h->overflow))
		return "the field \"overflow\" is missing or no number";
	if (!get_label(&at, "min=") || !get_u64(&at, &h->min_ns))
		return "the field \"min\" is missing or no number";
	if (!get_label(&at, "max=") || !get_u64(&at, &h->max_ns))
		return "the field \"max\" is missing or no number";
	if (!get_label(&at, "sum=") || !get_whole_double(&at, &h->sum_ns))
		return "the field \"sum\" is missing or no number";
	if (!get_label(&at, "sumsq=") || !get_whole_double(&at, &h->sum_sq_ns))
		return "the field \"sumsq\" is missing or no number";
	if (!get_label(&at, "buckets="))
		return "the field \"buckets\" is missing";
	reason = get_buckets(&at, h, &first, &last);
	if (reason != NULL)
		return reason;
	if (*skip_space(at) != '\0')
		return "there is text after the end";
	return check_consistency(h, first, last);
}
