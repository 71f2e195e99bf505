/*-------------------------------------------------------------------------
 *
 * run.c
 *	  SQL functions that start, wait for, stop and look at runs.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "executor/spi.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"
#include "utils/tuplestore.h"

#include "core/clock.h"
#include "run/launcher.h"

#define NN_STALLED_NS	(3 * NN_NS_PER_S)

PG_FUNCTION_INFO_V1(nn_noisy_run);
PG_FUNCTION_INFO_V1(nn_noisy_start);
PG_FUNCTION_INFO_V1(nn_noisy_load);
PG_FUNCTION_INFO_V1(nn_noisy_wait);
PG_FUNCTION_INFO_V1(nn_noisy_stop);
PG_FUNCTION_INFO_V1(nn_noisy_live_run);

static char *
text_arg(FunctionCallInfo fcinfo, int n)
{
	return PG_ARGISNULL(n) ? NULL : text_to_cstring(PG_GETARG_TEXT_PP(n));
}

static int
required_int_arg(FunctionCallInfo fcinfo, int n, const char *name)
{
	if (PG_ARGISNULL(n))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("argument \"%s\" must not be null", name)));
	return PG_GETARG_INT32(n);
}

/* The arguments that noisy_run and noisy_start share. */
static void
read_run_args(FunctionCallInfo fcinfo, NnRunArgs *args)
{
	memset(args, 0, sizeof(*args));
	args->function = fcinfo->flinfo->fn_oid;
	args->workload = text_arg(fcinfo, 0);
	args->clients = PG_ARGISNULL(1) ? NULL : PG_GETARG_ARRAYTYPE_P(1);
	args->levels = PG_ARGISNULL(2) ? NULL : PG_GETARG_ARRAYTYPE_P(2);
	args->noise = PG_ARGISNULL(3) ? NULL : PG_GETARG_ARRAYTYPE_P(3);
	args->noise_options = PG_ARGISNULL(4) ? NULL : PG_GETARG_JSONB_P(4);
	args->duration = PG_ARGISNULL(5) ? NULL : PG_GETARG_INTERVAL_P(5);
	args->warmup = PG_ARGISNULL(6) ? NULL : PG_GETARG_INTERVAL_P(6);
	args->repeats = required_int_arg(fcinfo, 7, "repeats");
	args->has_rate = !PG_ARGISNULL(8);
	args->rate = PG_ARGISNULL(8) ? 0 : PG_GETARG_FLOAT8(8);
	args->query_mode = text_arg(fcinfo, 9);
	args->has_threads = !PG_ARGISNULL(10);
	args->threads = PG_ARGISNULL(10) ? 0 : PG_GETARG_INT32(10);
	args->conninfo = text_arg(fcinfo, 11);
	args->label = text_arg(fcinfo, 12);
	args->options = PG_ARGISNULL(13) ? NULL : PG_GETARG_JSONB_P(13);
}

/*
 * noisy_run(workload, clients, levels, noise, noise_options, duration, warmup, repeats, rate,
 * query_mode, threads, conninfo, label, options, wait) RETURNS bigint
 */
Datum
nn_noisy_run(PG_FUNCTION_ARGS)
{
	NnRunArgs	args;

	read_run_args(fcinfo, &args);
	args.wait = PG_ARGISNULL(14) || PG_GETARG_BOOL(14);
	PG_RETURN_INT64(nn_launch(&args, fcinfo));
}

/* noisy_start(the same without wait) RETURNS bigint */
Datum
nn_noisy_start(PG_FUNCTION_ARGS)
{
	NnRunArgs	args;

	read_run_args(fcinfo, &args);
	PG_RETURN_INT64(nn_launch(&args, fcinfo));
}

/* noisy_load(noise, level, duration, noise_options, wait) RETURNS bigint */
Datum
nn_noisy_load(PG_FUNCTION_ARGS)
{
	NnRunArgs	args;
	Datum		level;
	Interval	warmup = {.time = USECS_PER_SEC / 2};	/* until memory is held */

	memset(&args, 0, sizeof(args));
	args.function = fcinfo->flinfo->fn_oid;
	args.noise_only = true;
	args.noise = PG_ARGISNULL(0) ? NULL : PG_GETARG_ARRAYTYPE_P(0);
	if (PG_ARGISNULL(1))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("argument \"%s\" must not be null", "level")));
	level = PG_GETARG_DATUM(1);
	args.levels = construct_array(&level, 1, NUMERICOID, -1, false, TYPALIGN_INT);
	args.duration = PG_ARGISNULL(2) ? NULL : PG_GETARG_INTERVAL_P(2);
	args.noise_options = PG_ARGISNULL(3) ? NULL : PG_GETARG_JSONB_P(3);
	args.warmup = &warmup;
	args.repeats = 1;
	args.options = DatumGetJsonbP(DirectFunctionCall1(jsonb_in, CStringGetDatum("{}")));
	args.wait = PG_ARGISNULL(4) || PG_GETARG_BOOL(4);
	PG_RETURN_INT64(nn_launch(&args, fcinfo));
}

/*
 * noisy_wait(run_id)
 *
 * A procedure, so that it can end its transaction and wait without one.
 */
Datum
nn_noisy_wait(PG_FUNCTION_ARGS)
{
	int64		run_id;

	if (PG_ARGISNULL(0))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("argument \"%s\" must not be null", "run_id")));
	run_id = PG_GETARG_INT64(0);
	if (!fcinfo->context || !IsA(fcinfo->context, CallContext) ||
		castNode(CallContext, fcinfo->context)->atomic)
		ereport(ERROR,
				(errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
				 errmsg("cannot wait for a run inside a transaction block"),
				 errdetail("Waiting would hold back the removal of dead rows, and so change what is "
						   "measured."),
				 errhint("Use CALL noisy_wait() at top level.")));
	nn_wait_for_run(get_func_namespace(fcinfo->flinfo->fn_oid), run_id);
	PG_RETURN_VOID();
}

/* noisy_stop(run_id DEFAULT NULL) RETURNS boolean */
Datum
nn_noisy_stop(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(nn_stop_run(PG_ARGISNULL(0) ? 0 : PG_GETARG_INT64(0)));
}

/* What changes while a run is on. */
typedef struct Progress
{
	int64		run_id;
	NnPlanBlock block;
	int32		blocks;
	char		phase[NAMEDATALEN];
	uint64		started_ns;
	uint64		ends_ns;
	uint64		load_since_ns;	/* start of the latest block */
	uint64		last_commit_ns;
	double		live_tps;
	double		live_p99_ms;
} Progress;

static void
read_progress(NnShared *shared, Progress *progress)
{
	SpinLockAcquire(&shared->mutex);
	progress->run_id = shared->run_id;
	progress->block = shared->now;
	progress->blocks = shared->blocks;
	memcpy(progress->phase, shared->phase, NAMEDATALEN);
	progress->started_ns = shared->started_ns;
	progress->ends_ns = shared->ends_ns;
	progress->load_since_ns = shared->order.start_ns;
	progress->last_commit_ns = shared->last_commit_ns;
	progress->live_tps = shared->live_tps;
	progress->live_p99_ms = shared->live_p99_ms;
	SpinLockRelease(&shared->mutex);
}

/* Does the workload make no progress? */
static bool
is_stalled(const Progress *progress, uint64 now_ns)
{
	return strcmp(progress->phase, "measuring") == 0 && progress->last_commit_ns != 0 &&
		now_ns > Max(progress->last_commit_ns, progress->load_since_ns) + NN_STALLED_NS;
}

static void
set_float(Datum *value, bool *isnull, double number)
{
	*value = Float8GetDatum(number);
	*isnull = isnan(number);
}

/*
 * noisy_live_run() RETURNS SETOF (run_id, block, blocks, phase, clients, level, elapsed_s, remaining_s,
 * tps, p99_ms, idle_s): one row or none
 */
Datum
nn_noisy_live_run(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	dsm_segment *segment;
	int			pid;
	NnShared   *shared;
	Datum		values[11] = {0};
	bool		nulls[11] = {0};
	uint64		now_ns;
	Progress	now;

	InitMaterializedSRF(fcinfo, 0);
	shared = nn_attach_live_run(&segment, &pid);
	if (shared == NULL)
		return (Datum) 0;

	read_progress(shared, &now);
	now_ns = nn_now_ns();
	values[0] = Int64GetDatum(now.run_id);
	nulls[0] = now.run_id == 0;
	values[1] = Int32GetDatum(now.block.block);
	values[2] = Int32GetDatum(now.blocks);
	values[3] = CStringGetTextDatum(is_stalled(&now, now_ns) ? "stalled" : now.phase);
	nulls[1] = nulls[4] = nulls[5] = now.block.block == 0;
	values[4] = Int32GetDatum(now.block.clients);
	values[5] = DirectFunctionCall1(float8_numeric, Float8GetDatum(now.block.level_pct));
	values[6] = Float8GetDatum((now_ns - now.started_ns) / 1e9);
	values[7] = Float8GetDatum(now.ends_ns > now_ns ? (now.ends_ns - now_ns) / 1e9 : 0.0);
	set_float(&values[8], &nulls[8], now.live_tps);
	set_float(&values[9], &nulls[9], now.live_p99_ms);
	set_float(&values[10], &nulls[10], now.last_commit_ns == 0 ? NAN :
			  now_ns < now.last_commit_ns ? 0.0 : (now_ns - now.last_commit_ns) / 1e9);
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	if (segment)
		dsm_detach(segment);
	return (Datum) 0;
}
