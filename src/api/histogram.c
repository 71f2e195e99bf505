/*-------------------------------------------------------------------------
 *
 * histogram.c
 *	  SQL type noisy_histogram: input and output, and what it can be asked.
 *
 * SQL speaks milliseconds, the histogram nanoseconds: 0.001 ms is 1000 ns, and a
 * fraction of a nanosecond is rounded.  The aggregates are in
 * histogram_aggregate.c.
 *
 * A decoded histogram takes 37 kB: it lives in the memory context of the call.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "lib/stringinfo.h"
#include "libpq/pqformat.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/float.h"

#include "api/histogram.h"
#include "core/histogram_codec.h"
#include "server/histogram_datum.h"

PG_FUNCTION_INFO_V1(nn_sql_histogram_in);
PG_FUNCTION_INFO_V1(nn_sql_histogram_out);
PG_FUNCTION_INFO_V1(nn_sql_histogram_recv);
PG_FUNCTION_INFO_V1(nn_sql_histogram_send);
PG_FUNCTION_INFO_V1(nn_sql_histogram_record);
PG_FUNCTION_INFO_V1(nn_sql_histogram_percentile);
PG_FUNCTION_INFO_V1(nn_sql_histogram_percentiles);
PG_FUNCTION_INFO_V1(nn_sql_histogram_count);
PG_FUNCTION_INFO_V1(nn_sql_histogram_mean);
PG_FUNCTION_INFO_V1(nn_sql_histogram_stddev);
PG_FUNCTION_INFO_V1(nn_sql_histogram_min);
PG_FUNCTION_INFO_V1(nn_sql_histogram_max);
PG_FUNCTION_INFO_V1(nn_sql_histogram_buckets);

#define BUCKET_COLUMNS	3
#define SHOWN_BYTES		60

/* One nanosecond less than this still fits a signed 64-bit number. */
#define NS_LIMIT		9223372036854775808.0

/* Argument "n" as a private, decoded histogram. */
static NnHistogram *
get_histogram(FunctionCallInfo fcinfo, int n)
{
	NnHistogram *h = palloc(sizeof(NnHistogram));

	nn_histogram_from_datum(h, PG_GETARG_DATUM(n));
	return h;
}

/* A result in milliseconds; NaN, which says that there is none, is NULL. */
static Datum
return_ms(FunctionCallInfo fcinfo, double ns)
{
	if (isnan(ns))
		PG_RETURN_NULL();
	PG_RETURN_FLOAT8(ns / NN_NS_PER_MS_F);
}

uint64
nn_latency_from_ms(double ms)
{
	double		ns = rint(ms * NN_NS_PER_MS_F);

	if (isnan(ms) || ms < 0 || !(ns < NS_LIMIT))
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("latency of %s ms is out of range", float8out_internal(ms)),
				 errdetail("A latency is a number of milliseconds from 0 to %.0f.",
						   floor(NS_LIMIT / NN_NS_PER_MS_F)),
				 errhint("Leave out what was not measured, or pass NULL for it.")));
	return (uint64) ns;
}

void
nn_histogram_record_ms(NnHistogram *h, double ms)
{
	uint64		ns = nn_latency_from_ms(ms);

	if (h->count >= NN_HISTOGRAM_COUNT_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("histogram counts too many values")));
	nn_histogram_record(h, ns);
}

/* -------------------------------------------------------- input and output */

/* The beginning of a text that may be very long, for a message. */
static char *
shorten(const char *text)
{
	int			length = (int) strlen(text);
	int			shown = pg_mbcliplen(text, length, SHOWN_BYTES);

	return psprintf("%.*s%s", shown, text, shown < length ? "..." : "");
}

Datum
nn_sql_histogram_in(PG_FUNCTION_ARGS)
{
	char	   *text = PG_GETARG_CSTRING(0);
	NnHistogram *h = palloc(sizeof(NnHistogram));
	const char *reason = nn_histogram_decode_text(h, text);

	if (reason != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
				 errmsg("invalid input syntax for type %s: \"%s\"", "noisy_histogram", shorten(text)),
				 errdetail("In this text, %s.", reason),
				 errhint("Build histograms with noisy_histogram_agg() or noisy_record().")));
	PG_RETURN_DATUM(nn_histogram_to_datum(h));
}

Datum
nn_sql_histogram_out(PG_FUNCTION_ARGS)
{
	NnHistogram *h = get_histogram(fcinfo, 0);
	char	   *text = palloc(NN_HISTOGRAM_TEXT_MAX);
	size_t		length = nn_histogram_encode_text(h, text);

	PG_RETURN_CSTRING(repalloc(text, length + 1));
}

Datum
nn_sql_histogram_recv(PG_FUNCTION_ARGS)
{
	StringInfo	buf = (StringInfo) PG_GETARG_POINTER(0);
	NnHistogram *h = palloc(sizeof(NnHistogram));
	int			size = buf->len - buf->cursor;
	const char *reason = nn_histogram_decode(h, (const unsigned char *) pq_getmsgbytes(buf, size),
											 (size_t) size);

	if (reason != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
				 errmsg("invalid binary form of type %s", "noisy_histogram"),
				 errdetail("In %d bytes, %s.", size, reason)));
	PG_RETURN_DATUM(nn_histogram_to_datum(h));
}

/* Stored values are in the binary form already; decoding one keeps damage from spreading. */
Datum
nn_sql_histogram_send(PG_FUNCTION_ARGS)
{
	PG_RETURN_DATUM(nn_histogram_to_datum(get_histogram(fcinfo, 0)));
}

/* ---------------------------------------------------------------- functions */

/* A NULL histogram starts an empty one; a NULL latency changes nothing. */
Datum
nn_sql_histogram_record(PG_FUNCTION_ARGS)
{
	NnHistogram *h;

	if (PG_ARGISNULL(0))
	{
		h = palloc(sizeof(NnHistogram));
		nn_histogram_reset(h);
	}
	else
		h = get_histogram(fcinfo, 0);
	if (!PG_ARGISNULL(1))
		nn_histogram_record_ms(h, PG_GETARG_FLOAT8(1));
	PG_RETURN_DATUM(nn_histogram_to_datum(h));
}

static void
check_fraction(double p)
{
	if (isnan(p) || p < 0 || p > 1)
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("percentile fraction %s is not between 0 and 1", float8out_internal(p)),
				 errhint("The 99th percentile is 0.99.")));
}

Datum
nn_sql_histogram_percentile(PG_FUNCTION_ARGS)
{
	double		p = PG_GETARG_FLOAT8(1);

	check_fraction(p);
	return return_ms(fcinfo, nn_histogram_percentile_ns(get_histogram(fcinfo, 0), p));
}

/* An array of the same shape; NULL for a NULL element, and NULL as a whole for an empty histogram. */
Datum
nn_sql_histogram_percentiles(PG_FUNCTION_ARGS)
{
	NnHistogram *h = get_histogram(fcinfo, 0);
	ArrayType  *fractions = PG_GETARG_ARRAYTYPE_P(1);
	Datum	   *values;
	bool	   *nulls;
	int			n;
	int			i;

	deconstruct_array(fractions, FLOAT8OID, sizeof(float8), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE,
					  &values, &nulls, &n);
	for (i = 0; i < n; i++)
		if (!nulls[i])
			check_fraction(DatumGetFloat8(values[i]));
	if (h->count == 0)
		PG_RETURN_NULL();
	for (i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (!nulls[i])
			values[i] = Float8GetDatum(nn_histogram_percentile_ns(h, DatumGetFloat8(values[i])) /
									   NN_NS_PER_MS_F);
	}
	PG_RETURN_ARRAYTYPE_P(construct_md_array(values, nulls, ARR_NDIM(fractions), ARR_DIMS(fractions),
											 ARR_LBOUND(fractions), FLOAT8OID, sizeof(float8),
											 FLOAT8PASSBYVAL, TYPALIGN_DOUBLE));
}

Datum
nn_sql_histogram_count(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT64((int64) get_histogram(fcinfo, 0)->count);
}

Datum
nn_sql_histogram_mean(PG_FUNCTION_ARGS)
{
	return return_ms(fcinfo, nn_histogram_mean_ns(get_histogram(fcinfo, 0)));
}

Datum
nn_sql_histogram_stddev(PG_FUNCTION_ARGS)
{
	return return_ms(fcinfo, nn_histogram_stddev_ns(get_histogram(fcinfo, 0)));
}

Datum
nn_sql_histogram_min(PG_FUNCTION_ARGS)
{
	return return_ms(fcinfo, nn_histogram_percentile_ns(get_histogram(fcinfo, 0), 0));
}

Datum
nn_sql_histogram_max(PG_FUNCTION_ARGS)
{
	return return_ms(fcinfo, nn_histogram_percentile_ns(get_histogram(fcinfo, 0), 1));
}

static void
put_bucket(ReturnSetInfo *rsinfo, double low_ns, double high_ns, uint64 count)
{
	Datum		values[BUCKET_COLUMNS];
	bool		nulls[BUCKET_COLUMNS] = {false};

	values[0] = Float8GetDatum(low_ns / NN_NS_PER_MS_F);
	values[1] = Float8GetDatum(high_ns / NN_NS_PER_MS_F);
	values[2] = Int64GetDatum((int64) count);
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

/* Buckets that are not empty, in order; what is beyond the last one has no upper end. */
Datum
nn_sql_histogram_buckets(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	NnHistogram *h = get_histogram(fcinfo, 0);
	uint32		i;

	InitMaterializedSRF(fcinfo, 0);
	for (i = 0; i < NN_HISTOGRAM_BUCKETS; i++)
		if (h->buckets[i] > 0)
			put_bucket(rsinfo, (double) nn_histogram_bucket_low_ns(i),
					   (double) nn_histogram_bucket_high_ns(i), h->buckets[i]);
	if (h->overflow > 0)
		put_bucket(rsinfo, ldexp(1.0, NN_HISTOGRAM_MAX_BITS), get_float8_infinity(), h->overflow);
	return (Datum) 0;
}
