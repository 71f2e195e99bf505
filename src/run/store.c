/*-------------------------------------------------------------------------
 *
 * store.c
 *	  Keeping runs in tables: with store_samples.c the only user of SPI.  See store.h.
 *
 * Statements run as server/statement.h says.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/xact.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/numeric.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "core/clock.h"
#include "noise/stressor.h"
#include "run/store.h"
#include "run/store_internal.h"
#include "server/histogram_datum.h"

#define NN_RUN_TABLE	"noisy_run_records"
#define NN_WHY_GONE		"The extension was dropped while a run was on."

static Oid
run_table(Oid schema)
{
	return get_relname_relid(NN_RUN_TABLE, schema);
}

static void
assume_owner(Oid schema, StoreContext *context)
{
	nn_statement_assume_owner(schema, NN_RUN_TABLE, NN_WHY_GONE, context);
}

static void
begin(NnShared *shared, StoreContext *context)
{
	nn_statement_begin(shared->request.schema_oid, NN_RUN_TABLE, NN_WHY_GONE, context);
}

static void
run_deleted(int64 run_id)
{
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_OBJECT),
			 errmsg("run " INT64_FORMAT " was deleted while it was on", run_id)));
}

int64
nn_store_run_begin(NnShared *shared, const char *environment)
{
	StoreContext context;
	StoreArgs	args = {0};
	bool		isnull;
	int64		run_id;

	begin(shared, &context);
	execute(&context,
			"UPDATE %s." NN_RUN_TABLE " SET state = 'aborted',"
			" error = 'the server or the conductor of the run died'"
			" WHERE state IN ('starting', 'running')", &args, SPI_OK_UPDATE);

	add_given_text(&args, nn_shared_label(shared));
	add_arg(&args, NAMEOID, DirectFunctionCall1(namein, CStringGetDatum(shared->request.role_name)),
			false);
	add_text(&args, shared->request.has_workload ? shared->request.workload : NULL);
	add_text(&args, nn_shared_parameters(shared));
	add_text(&args, environment);
	add_int(&args, (int64) shared->request.seed);
	execute(&context,
			"INSERT INTO %s." NN_RUN_TABLE
			" (label, state, role_name, workload, parameters, environment, seed)"
			" VALUES ($1, 'starting', $2, $3, $4::pg_catalog.jsonb, $5::pg_catalog.jsonb, $6)"
			" RETURNING run_id", &args, SPI_OK_INSERT_RETURNING);
	run_id = DatumGetInt64(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull));
	nn_statement_commit(&context);
	return run_id;
}

void
nn_store_run_forget(NnShared *shared, int64 run_id)
{
	StoreContext context;
	StoreArgs	args = {0};

	begin(shared, &context);
	add_int(&args, run_id);
	execute(&context, "DELETE FROM %s." NN_RUN_TABLE " WHERE run_id = $1", &args, SPI_OK_DELETE);
	nn_statement_commit(&context);
}

void
nn_store_run_state(NnShared *shared, int64 run_id, NnRunState state, const char *error)
{
	StoreContext context;
	StoreArgs	args = {0};

	begin(shared, &context);
	add_int(&args, run_id);
	add_text(&args, nn_run_state_name(state));
	add_bool(&args, state > NN_RUN_RUNNING);
	add_text(&args, error);
	add_int(&args, shared->workload.scale);
	execute(&context,
			"UPDATE %s." NN_RUN_TABLE " SET state = $2, error = $4,"
			" parameters = CASE WHEN $2 = 'running' AND workload IS NOT NULL"
			" THEN parameters OPERATOR(pg_catalog.||) pg_catalog.jsonb_build_object('scale', $5) ELSE parameters END,"
			" finished_at = CASE WHEN $3 THEN pg_catalog.clock_timestamp() END"
			" WHERE run_id = $1", &args, SPI_OK_UPDATE);
	if (SPI_processed == 0)
		run_deleted(run_id);
	nn_statement_commit(&context);
}

Oid
nn_store_histogram_type(NnShared *shared)
{
	return GetSysCacheOid2(TYPENAMENSP, Anum_pg_type_oid, CStringGetDatum("noisy_histogram"),
						   ObjectIdGetDatum(shared->request.schema_oid));
}

/* What an open loop and a latency limit add to a block's row. */
static void
add_open_loop(StoreArgs *args, NnShared *shared, Oid histogram_type)
{
	const NnWorkloadResult *workload = &shared->workload;
	bool		has_workload = shared->request.has_workload;
	bool		is_open = has_workload && shared->request.rate > 0;
	bool		has_limit = has_workload && shared->request.latency_limit_ns > 0;
	double		all = (double) (workload->latency.count + workload->not_started + workload->unfinished);

	add_arg(args, histogram_type,
			is_open ? nn_histogram_to_datum(&workload->service) : (Datum) 0, !is_open);
	add_float(args, is_open ? shared->request.rate : NAN);
	add_counter(args, is_open ? (int64) workload->backlog_max : -1);
	add_counter(args, is_open ? (int64) workload->not_started : -1);
	add_counter(args, has_workload ? (int64) workload->unfinished : -1);
	add_counter(args, has_limit ? (int64) workload->late : -1);
	add_float(args, has_limit && all > 0 ? 100.0 * workload->late / all : NAN);
	add_float(args, is_open ? workload->generator_lag_p99_ms : NAN);
}

/* Whether a block counts, and why not. */
static void
add_verdict(StoreArgs *args, NnShared *shared, int block)
{
	const NnGuardVerdict *verdict = &nn_shared_summaries(shared)[block - 1].verdict;
	char		reason[NN_GUARD_REASON_LEN];

	nn_guard_describe(verdict, reason, sizeof(reason));
	add_bool(args, verdict->reason == NN_GUARD_ACCEPTED);
	add_text(args, reason);
}

static void
store_verdict(const StoreContext *context, NnShared *shared, int64 run_id, int block)
{
	StoreArgs	args = {0};

	add_int(&args, run_id);
	add_int(&args, block);
	add_verdict(&args, shared, block);
	execute(context,
			"UPDATE %s.noisy_blocks SET accepted = $3, reject_reason = $4 WHERE run_id = $1 AND block = $2",
			&args, SPI_OK_UPDATE);
}

static void
store_block_row(const StoreContext *context, NnShared *shared, int64 run_id,
				const NnPlanBlock *block, TimestampTz measured_at)
{
	const NnWorkloadResult *workload = &shared->workload;
	const NnWorkloadErrors *errors = &workload->errors;
	bool		has_workload = shared->request.has_workload;
	double		duration_s = (has_workload ? workload->window_ns :
							  shared->order.end_ns - shared->order.measure_ns) / 1e9;
	Oid			histogram_type = nn_store_histogram_type(shared);
	StoreArgs	args = {0};

	add_int(&args, run_id);
	add_int(&args, block->block);
	add_int(&args, block->repeat);
	add_int(&args, block->clients);
	add_level(&args, block->level_pct);
	add_float(&args, nn_shared_summaries(shared)[block->block - 1].achieved_pct);
	add_arg(&args, TIMESTAMPTZOID, TimestampTzGetDatum(measured_at), false);
	add_float(&args, duration_s);
	add_counter(&args, has_workload ? (int64) workload->latency.count : -1);
	add_counter(&args, has_workload ? (int64) (errors->serialization + errors->deadlock +
											   errors->connection + errors->other) : -1);
	add_counter(&args, has_workload ? (int64) errors->serialization : -1);
	add_counter(&args, has_workload ? (int64) errors->deadlock : -1);
	add_counter(&args, has_workload ? (int64) errors->connection : -1);
	add_counter(&args, has_workload ? (int64) errors->other : -1);
	add_text(&args, has_workload ? workload->last_error : NULL);
	add_float(&args, has_workload ? workload->latency.count / duration_s : NAN);
	add_arg(&args, histogram_type,
			has_workload ? nn_histogram_to_datum(&workload->latency) : (Datum) 0, !has_workload);
	add_float(&args, has_workload ? workload->driver_cpu_s : NAN);
	add_float(&args, has_workload ? workload->driver_busiest_pct : NAN);
	add_arg(&args, BOOLOID, BoolGetDatum(workload->driver_busiest_pct >= 90), !has_workload);
	add_int(&args, (int64) shared->sample.samples_expected);
	add_int(&args, (int64) shared->sample.samples_taken);
	add_open_loop(&args, shared, histogram_type);
	add_verdict(&args, shared, block->block);
	execute(context,
			"INSERT INTO %s.noisy_blocks (run_id, block, repeat, clients, level, achieved_pct,"
			" started_at, duration_s, transactions, errors, serialization_failures,"
			" deadlocks, connection_errors, other_errors, last_error, tps, latency, driver_cpu_s,"
			" driver_busiest_pct, driver_bound, samples_expected, samples_taken, service, rate,"
			" backlog_max, not_started, unfinished, late, late_pct, generator_lag_p99_ms, accepted,"
			" reject_reason) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16,"
			" $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, $28, $29, $30, $31, $32)", &args,
			SPI_OK_INSERT);
}

static void
store_dose(const StoreContext *context, NnShared *shared, int64 run_id, const NnPlanBlock *block)
{
	int			n_seconds = shared->order.n_seconds;
	Datum	   *seconds = palloc(sizeof(Datum) * n_seconds);
	bool	   *nulls = palloc(sizeof(bool) * n_seconds);

	for (int i = 0; i < shared->request.n_load_threads; i++)
	{
		NnLoadThread *thread = &nn_shared_load_threads(shared)[i];
		const NnStressorSpec *spec = &shared->request.stressors[thread->stressor];
		StoreArgs	args = {0};
		int			dims[1] = {n_seconds};
		int			lower[1] = {1};

		for (int s = 0; s < n_seconds; s++)
		{
			float		achieved = nn_shared_dose_second(shared, i, s)->achieved_pct;

			seconds[s] = Float4GetDatum(achieved);
			nulls[s] = isnan(achieved);
		}
		add_int(&args, run_id);
		add_int(&args, block->block);
		add_text(&args, spec->name);
		add_int(&args, thread->worker);
		add_float(&args, thread->requested_pct);
		add_float(&args, thread->achieved_pct);
		add_float(&args, thread->rate);
		add_text(&args, nn_stressor_find(spec->name)->rate_unit);
		add_float(&args, thread->cpu_pct);
		add_bool(&args, thread->unreachable);
		add_arg(&args, FLOAT4ARRAYOID,
				PointerGetDatum(construct_md_array(seconds, nulls, 1, dims, lower, FLOAT4OID,
												   sizeof(float4), true, TYPALIGN_INT)), false);
		execute(context,
				"INSERT INTO %s.noisy_dose (run_id, block, stressor, worker, requested_pct,"
				" achieved_pct, rate, rate_unit, cpu_pct, unreachable, achieved_by_second_pct)"
				" VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)", &args, SPI_OK_INSERT);
	}
}

#define TIMELINE_INSERT \
	"INSERT INTO %s.noisy_timeline (run_id, block, at, second, clients, level," \
	" transactions, errors, tps, p50_ms, p95_ms, p99_ms, max_ms, noise_cpu_pct," \
	" server_cpu_pct, driver_cpu_pct, foreign_cpu_pct, host_busy_pct, host_idle_pct," \
	" steal_pct, run_delay_pct, throttled_pct, lwlock_waiters, checkpoint"
#define TIMELINE_VALUES \
	" VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16," \
	" $17, $18, $19, $20, $21, $22, $23, $24"

static void
store_timeline(const StoreContext *context, NnShared *shared, int64 run_id,
			   const NnPlanBlock *block, TimestampTz measured_at)
{
	bool		has_workload = shared->request.has_workload;
	uint64		window_ns = shared->order.end_ns - shared->order.measure_ns;
	bool		is_current = nn_store_is_current(shared);

	for (int s = 0; s < shared->order.n_seconds; s++)
	{
		NnWorkloadSecond *workload = &nn_shared_workload_seconds(shared)[s];
		NnHostSecond *host = &nn_shared_host_seconds(shared)[s];
		double		length_s = Min(1.0, (window_ns - s * NN_NS_PER_S) / 1e9);
		bool		has_row = has_workload && s < shared->workload.n_seconds;
		bool		has_host = s < shared->sample.n_seconds;
		StoreArgs	args = {0};

		add_int(&args, run_id);
		add_int(&args, block->block);
		add_arg(&args, TIMESTAMPTZOID,
				TimestampTzGetDatum(measured_at + (int64) s * USECS_PER_SEC), false);
		add_int(&args, s + 1);
		add_int(&args, block->clients);
		add_level(&args, block->level_pct);
		add_counter(&args, has_row ? (int64) workload->transactions : -1);
		add_counter(&args, has_row ? (int64) workload->errors : -1);
		add_float(&args, has_row ? workload->transactions / length_s : NAN);
		add_float(&args, has_row ? workload->p50_ms : NAN);
		add_float(&args, has_row ? workload->p95_ms : NAN);
		add_float(&args, has_row ? workload->p99_ms : NAN);
		add_float(&args, has_row ? workload->max_ms : NAN);
		add_float(&args, has_host ? host->usage.noise_pct : NAN);
		add_float(&args, has_host ? host->usage.server_pct : NAN);
		add_float(&args, has_host ? host->usage.driver_pct : NAN);
		add_float(&args, has_host ? host->usage.foreign_pct : NAN);
		add_float(&args, has_host ? host->usage.cpu.busy_pct : NAN);
		add_float(&args, has_host ? host->usage.cpu.idle_pct : NAN);
		add_float(&args, has_host ? host->usage.cpu.steal_pct : NAN);
		add_float(&args, has_host ? host->usage.run_delay_pct : NAN);
		add_float(&args, has_host ? host->usage.throttled_pct : NAN);
		add_float(&args, has_host ? host->lwlock_waiters : NAN);
		add_arg(&args, BOOLOID, BoolGetDatum(host->checkpoint), !has_host);
		if (is_current)
		{
			add_float(&args, has_row ? workload->avg_ms : NAN);
			add_float(&args, has_host ? host->usage.psi_cpu_some_pct : NAN);
			add_float(&args, has_host ? host->usage.psi_memory_some_pct : NAN);
			add_float(&args, has_host ? host->usage.psi_io_some_pct : NAN);
		}
		execute(context, is_current ?
				TIMELINE_INSERT ", avg_ms, psi_cpu_some_pct, psi_memory_some_pct, psi_io_some_pct)"
				TIMELINE_VALUES ", $25, $26, $27, $28)" : TIMELINE_INSERT ")" TIMELINE_VALUES ")",
				&args, SPI_OK_INSERT);
	}
}

/* Hold the run's row until the transaction ends, or say that somebody has deleted it. */
static void
hold_run_row(const StoreContext *context, int64 run_id)
{
	StoreArgs	args = {0};

	add_int(&args, run_id);
	execute(context, "SELECT FROM %s." NN_RUN_TABLE " WHERE run_id = $1 FOR KEY SHARE", &args,
			SPI_OK_SELECT);
	if (SPI_processed == 0)
		run_deleted(run_id);
}

void
nn_store_block(NnShared *shared, int64 run_id, const NnPlanBlock *block, TimestampTz measured_at,
			   const int *changed, int n_changed)
{
	StoreContext context;

	begin(shared, &context);
	hold_run_row(&context, run_id);
	store_block_row(&context, shared, run_id, block, measured_at);
	store_dose(&context, shared, run_id, block);
	store_timeline(&context, shared, run_id, block, measured_at);
	nn_store_samples(&context, shared, run_id, block);
	if (nn_store_has_bands(shared))
	{
		nn_store_bands(&context, shared, run_id);
		nn_store_band_latency(&context, shared, run_id, block);
	}
	for (int i = 0; i < n_changed; i++)
		store_verdict(&context, shared, run_id, changed[i]);
	nn_statement_commit(&context);
}

/*
 * The checkpoints once more, after the last block.  They are an extra: what makes storing them fail is logged, and
 * the run's end is as it is.
 */
void
nn_store_run_end(NnShared *shared, int64 run_id)
{
	MemoryContext caller_context = CurrentMemoryContext;
	StoreContext context;

	PG_TRY();
	{
		begin(shared, &context);
		if (nn_store_has_bands(shared))
			nn_store_bands(&context, shared, run_id);
		nn_statement_commit(&context);
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(caller_context);
		EmitErrorReport();
		FlushErrorState();
		AbortOutOfAnyTransaction();
	}
	PG_END_TRY();
}

Oid
nn_store_run_table(NnShared *shared)
{
	Oid			table;

	StartTransactionCommand();
	table = run_table(shared->request.schema_oid);
	CommitTransactionCommand();
	return table;
}

bool
nn_store_run_known(Oid schema, int64 run_id)
{
	StoreContext context;
	StoreArgs	args = {0};
	bool		known;

	assume_owner(schema, &context);
	add_int(&args, run_id);
	execute(&context, "SELECT FROM %s." NN_RUN_TABLE " WHERE run_id = $1", &args, SPI_OK_SELECT);
	known = SPI_processed > 0;
	nn_statement_resume_identity(&context);
	return known;
}

void
nn_store_release_snapshot(void)
{
	SPI_connect_ext(SPI_OPT_NONATOMIC);
	SPI_commit();
	SPI_finish();
}
