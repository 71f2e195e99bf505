/*-------------------------------------------------------------------------
 *
 * histogram_aggregate.c
 *	  Aggregates that build a noisy_histogram: of latencies, of histograms.
 *
 * Both share one state, a NnHistogram in the aggregate's memory context, and
 * so their combine, serialize, deserialize and final functions.  A parallel worker
 * sends its state in the binary form; the leader adds it up.  Merging is
 * free of order, so the result does not depend on who saw which row.
 *
 * The state is NULL until the first value: no value at all gives NULL.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"

#include "api/histogram.h"
#include "core/histogram_codec.h"
#include "server/histogram_datum.h"

PG_FUNCTION_INFO_V1(nn_sql_histogram_agg_trans);
PG_FUNCTION_INFO_V1(nn_sql_histogram_merge_trans);
PG_FUNCTION_INFO_V1(nn_sql_histogram_agg_combine);
PG_FUNCTION_INFO_V1(nn_sql_histogram_agg_serialize);
PG_FUNCTION_INFO_V1(nn_sql_histogram_agg_deserialize);
PG_FUNCTION_INFO_V1(nn_sql_histogram_agg_final);

/* The context that outlives the row; ERROR outside of an aggregate, where states are not ours. */
static MemoryContext
aggregate_context(FunctionCallInfo fcinfo)
{
	MemoryContext context;

	if (!AggCheckCallContext(fcinfo, &context))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("function is part of an aggregate and cannot be called by itself")));
	return context;
}

static NnHistogram *
new_state(MemoryContext context)
{
	NnHistogram *state = MemoryContextAlloc(context, sizeof(NnHistogram));

	nn_histogram_reset(state);
	return state;
}

/* The state so far, or a new one. */
static NnHistogram *
get_state(FunctionCallInfo fcinfo, MemoryContext context)
{
	return PG_ARGISNULL(0) ? new_state(context) : (NnHistogram *) PG_GETARG_POINTER(0);
}

/* The state as it is, for an input that changes nothing. */
static Datum
return_unchanged(FunctionCallInfo fcinfo)
{
	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	PG_RETURN_POINTER(PG_GETARG_POINTER(0));
}

static void
merge_checked(NnHistogram *into, const NnHistogram *from)
{
	if (into->count > NN_HISTOGRAM_COUNT_MAX - from->count)
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("histogram counts too many values")));
	nn_histogram_merge(into, from);
}

Datum
nn_sql_histogram_agg_trans(PG_FUNCTION_ARGS)
{
	MemoryContext context = aggregate_context(fcinfo);
	NnHistogram *state;

	if (PG_ARGISNULL(1))
		return return_unchanged(fcinfo);
	state = get_state(fcinfo, context);
	nn_histogram_record_ms(state, PG_GETARG_FLOAT8(1));
	PG_RETURN_POINTER(state);
}

Datum
nn_sql_histogram_merge_trans(PG_FUNCTION_ARGS)
{
	MemoryContext context = aggregate_context(fcinfo);
	NnHistogram *state;
	NnHistogram *value;

	if (PG_ARGISNULL(1))
		return return_unchanged(fcinfo);

	/* The first one becomes the state: a group of one needs no second. */
	if (PG_ARGISNULL(0))
	{
		state = new_state(context);
		nn_histogram_from_datum(state, PG_GETARG_DATUM(1));
		PG_RETURN_POINTER(state);
	}

	state = (NnHistogram *) PG_GETARG_POINTER(0);
	value = palloc(sizeof(NnHistogram));
	nn_histogram_from_datum(value, PG_GETARG_DATUM(1));
	merge_checked(state, value);
	pfree(value);
	PG_RETURN_POINTER(state);
}

/* The second state may be the other's only copy, so the first one is changed, never shared. */
Datum
nn_sql_histogram_agg_combine(PG_FUNCTION_ARGS)
{
	MemoryContext context = aggregate_context(fcinfo);
	NnHistogram *state;

	if (PG_ARGISNULL(1))
		return return_unchanged(fcinfo);
	state = get_state(fcinfo, context);
	merge_checked(state, (NnHistogram *) PG_GETARG_POINTER(1));
	PG_RETURN_POINTER(state);
}

/* A noisy_histogram is binary compatible with the bytea that a serialized state has to be. */
Datum
nn_sql_histogram_agg_serialize(PG_FUNCTION_ARGS)
{
	(void) aggregate_context(fcinfo);
	PG_RETURN_DATUM(nn_histogram_to_datum((NnHistogram *) PG_GETARG_POINTER(0)));
}

/* The result is short-lived: the combine function takes what it needs into its own state. */
Datum
nn_sql_histogram_agg_deserialize(PG_FUNCTION_ARGS)
{
	NnHistogram *state;

	(void) aggregate_context(fcinfo);
	state = palloc(sizeof(NnHistogram));
	nn_histogram_from_datum(state, PG_GETARG_DATUM(0));
	PG_RETURN_POINTER(state);
}

Datum
nn_sql_histogram_agg_final(PG_FUNCTION_ARGS)
{
	(void) aggregate_context(fcinfo);
	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	PG_RETURN_DATUM(nn_histogram_to_datum((NnHistogram *) PG_GETARG_POINTER(0)));
}
