/*-------------------------------------------------------------------------
 *
 * lock_probe.c
 *	  noisy_lock_probe(): a run of the lock probe alone, and its result as a row.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/tuplestore.h"

#include "core/clock.h"
#include "run/launcher.h"
#include "sample/lock_probe.h"

#define NN_COLUMNS	19

PG_FUNCTION_INFO_V1(nn_noisy_lock_probe);

static float8
required_number(FunctionCallInfo fcinfo, int n, const char *name)
{
	if (PG_ARGISNULL(n))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("argument \"%s\" must not be null", name)));
	return PG_GETARG_FLOAT8(n);
}

/* A number of a json object, which has none that is not finite. */
static char *
json_number(float8 number)
{
	return DatumGetCString(DirectFunctionCall1(float8out, Float8GetDatum(isfinite(number) ? number : -1)));
}

static int
set_number(Datum *values, bool *nulls, int column, double number)
{
	values[column] = Float8GetDatum(number);
	nulls[column] = !isfinite(number);
	return column + 1;
}

/* The run has been completed: make a row of it. */
static void
put_row(NnShared *shared, void *arg)
{
	ReturnSetInfo *rsinfo = arg;
	NnLockProbeResult *result = palloc(sizeof(NnLockProbeResult));
	const NnLockWait *waits = &result->waits;
	const NnLockWait *longs = &result->longs;
	Datum		values[NN_COLUMNS] = {0};
	bool		nulls[NN_COLUMNS] = {0};
	int			n = 0;

	nn_lock_probe_collect(shared, result);
	values[n++] = Int64GetDatum(shared->run_id);
	values[n++] = Int64GetDatum((int64) result->acquisitions);
	n = set_number(values, nulls, n, nn_histogram_percentile_ns(&result->hold, 0.5) / NN_NS_PER_MS);
	n = set_number(values, nulls, n, nn_histogram_percentile_ns(&result->hold, 0.99) / NN_NS_PER_MS);
	n = set_number(values, nulls, n, nn_histogram_percentile_ns(&result->wait, 0.5) / NN_NS_PER_MS);
	n = set_number(values, nulls, n, nn_histogram_percentile_ns(&result->wait, 0.99) / NN_NS_PER_MS);
	n = set_number(values, nulls, n, nn_histogram_percentile_ns(&result->wait, 1) / NN_NS_PER_MS);
	values[n++] = Int64GetDatum((int64) result->long_waits);

	/* without a wait, a share of it is not a number */
	n = set_number(values, nulls, n, 100 * waits->holder_on_ns / waits->wait_ns);
	n = set_number(values, nulls, n, 100 * waits->holder_off_ns / waits->wait_ns);
	n = set_number(values, nulls, n, 100 * waits->run_queue_ns / waits->wait_ns);
	n = set_number(values, nulls, n, 100 * waits->rest_ns / waits->wait_ns);
	n = set_number(values, nulls, n, 100 * waits->heir_ns / waits->wait_ns);
	n = set_number(values, nulls, n, 100 * waits->overlap_ns / waits->wait_ns);
	n = set_number(values, nulls, n, 100 * waits->known_ns / waits->wait_ns);
	n = set_number(values, nulls, n, 100 * longs->holder_on_ns / longs->wait_ns);
	n = set_number(values, nulls, n, 100 * longs->holder_off_ns / longs->wait_ns);
	n = set_number(values, nulls, n, 100 * longs->run_queue_ns / longs->wait_ns);
	n = set_number(values, nulls, n, 100 * longs->heir_ns / longs->wait_ns);
	Assert(n == NN_COLUMNS);
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	pfree(result);
}

/* noisy_lock_probe(duration, workers, hold_us, pause_us): a run of one block, without noise; one row */
Datum
nn_noisy_lock_probe(PG_FUNCTION_ARGS)
{
	NnRunArgs	args;
	Datum		level = DirectFunctionCall1(int4_numeric, Int32GetDatum(0));
	Interval	warmup = {.time = USECS_PER_SEC / 20};
	char	   *options;

	InitMaterializedSRF(fcinfo, 0);
	memset(&args, 0, sizeof(args));
	args.function = fcinfo->flinfo->fn_oid;
	args.noise_only = true;
	args.noise = construct_empty_array(TEXTOID);
	args.levels = construct_array(&level, 1, NUMERICOID, -1, false, TYPALIGN_INT);
	args.noise_options = DatumGetJsonbP(DirectFunctionCall1(jsonb_in, CStringGetDatum("{}")));
	args.duration = PG_ARGISNULL(0) ? NULL : PG_GETARG_INTERVAL_P(0);
	args.warmup = &warmup;
	args.repeats = 1;
	if (PG_ARGISNULL(1))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("argument \"%s\" must not be null", "workers")));
	options = psprintf("{\"probes\": false, \"lock_probe\": {\"workers\": %d, \"hold_us\": %s, \"pause_us\": %s}}",
					   PG_GETARG_INT32(1), json_number(required_number(fcinfo, 2, "hold_us")),
					   json_number(required_number(fcinfo, 3, "pause_us")));
	args.options = DatumGetJsonbP(DirectFunctionCall1(jsonb_in, CStringGetDatum(options)));
	args.wait = true;
	args.see = put_row;
	args.see_arg = fcinfo->resultinfo;
	(void) nn_launch(&args, fcinfo);
	return (Datum) 0;
}
