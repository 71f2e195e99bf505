/*-------------------------------------------------------------------------
 *
 * store_samples.c
 *	  Keeping what the sample worker saw in tables.  See store.h.
 *
 * Also the budget of the latency: it needs what the workload, the samplers and the host measured, and this is
 * where they come together.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/wait_event.h"

#include "core/attribution.h"
#include "core/clock.h"
#include "run/store_internal.h"
#include "sample/lock_probe.h"
#include "server/histogram_datum.h"

static void
store_waits(const StoreContext *context, NnShared *shared, int64 run_id, const NnPlanBlock *block)
{
	const NnSampleResult *sample = &shared->sample;

	for (int i = 0; i < sample->n_waits; i++)
	{
		const NnWaitCount *wait = &sample->waits[i];
		const char *type = pgstat_get_wait_event_type(wait->wait_event_info);
		const char *event = pgstat_get_wait_event(wait->wait_event_info);
		StoreArgs	args = {0};

		add_int(&args, run_id);
		add_int(&args, block->block);
		add_text(&args, sample->backend_types[wait->backend_type]);
		add_text(&args, type ? type : "CPU");
		add_text(&args, event ? event : "CPU");
		add_int(&args, (int64) wait->samples);
		add_int(&args, wait->max_waiters);

		/* two events that the server gives one name are one row */
		execute(context,
				"INSERT INTO %s.noisy_wait_samples AS w (run_id, block, backend_type,"
				" wait_event_type, wait_event, samples, max_waiters)"
				" VALUES ($1, $2, $3, $4, $5, $6, $7)"
				" ON CONFLICT (run_id, block, backend_type, wait_event_type, wait_event) DO UPDATE"
				" SET samples = w.samples + excluded.samples,"
				" max_waiters = w.max_waiters + excluded.max_waiters", &args, SPI_OK_INSERT);
	}
}

/* Pages in bytes; "not measured" stays so. */
static int64
buffer_bytes(int64 buffers)
{
	return buffers < 0 ? -1 : buffers * BLCKSZ;
}

static void
store_counters(const StoreContext *context, NnShared *shared, int64 run_id,
			   const NnPlanBlock *block)
{
	const NnServerCounters *c = &shared->sample.counters;
	StoreArgs	args = {0};

	add_int(&args, run_id);
	add_int(&args, block->block);
	add_counter(&args, c->buffers_checkpointer);
	add_counter(&args, buffer_bytes(c->buffers_checkpointer));
	add_counter(&args, c->buffers_bgwriter);
	add_counter(&args, buffer_bytes(c->buffers_bgwriter));
	add_counter(&args, c->buffers_backends);
	add_counter(&args, buffer_bytes(c->buffers_backends));
	add_counter(&args, c->maxwritten_clean);
	add_counter(&args, c->buffers_alloc);
	add_counter(&args, c->wal_bytes);
	add_counter(&args, c->fsyncs);
	add_counter(&args, c->checkpoints_timed);
	add_counter(&args, c->checkpoints_requested);
	add_counter(&args, c->checkpoints_done);
	add_float(&args, c->write_time_ms);
	add_float(&args, c->sync_time_ms);
	add_bool(&args, c->in_progress_at_end);
	add_text(&args, c->note);
	execute(context,
			"INSERT INTO %s.noisy_bgwriter (run_id, block, checkpointer_buffers,"
			" checkpointer_bytes, bgwriter_buffers, bgwriter_bytes, backend_buffers, backend_bytes,"
			" maxwritten_clean, buffers_alloc, wal_bytes, fsyncs, checkpoints_timed,"
			" checkpoints_requested, checkpoints_done, write_time_ms, sync_time_ms,"
			" in_progress_at_end, note)"
			" VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17,"
			" $18, $19)", &args, SPI_OK_INSERT);
}

/* Over all kinds of processes; kinds that have none do not count. */
static double
sum_of_switches(NnShared *shared, size_t member)
{
	double		sum = NAN;

	for (int k = 0; k < NN_PROCESS_KINDS; k++)
	{
		const NnProcessUse *use = &shared->sample.processes[k];

		if (use->wall_s > 0)
			sum = (isnan(sum) ? 0 : sum) + *(const double *) ((const char *) use + member);
	}
	return sum;
}

static void
store_host(const StoreContext *context, NnShared *shared, int64 run_id, const NnPlanBlock *block)
{
	const NnHostUsage *u = &shared->sample.usage;
	StoreArgs	args = {0};

	add_int(&args, run_id);
	add_int(&args, block->block);
	add_float(&args, u->cpu.busy_pct);
	add_float(&args, u->cpu.user_pct);
	add_float(&args, u->cpu.system_pct);
	add_float(&args, u->cpu.iowait_pct);
	add_float(&args, u->cpu.steal_pct);
	add_float(&args, u->cpu.idle_pct);
	add_float(&args, u->noise_pct);
	add_float(&args, u->server_pct);
	add_float(&args, u->driver_pct);
	add_float(&args, u->own_pct);
	add_float(&args, u->foreign_pct);
	add_float(&args, u->run_delay_pct);
	add_float(&args, u->throttled_pct);
	add_float(&args, u->psi_cpu_some_pct);
	add_float(&args, u->psi_memory_some_pct);
	add_float(&args, u->psi_io_some_pct);
	add_text(&args, shared->sample.usage_why_not.reason);
	execute(context,
			"INSERT INTO %s.noisy_host_usage (run_id, block, busy_pct, user_pct, system_pct,"
			" iowait_pct, steal_pct, idle_pct, noise_pct, server_pct, driver_pct, own_pct,"
			" foreign_pct, run_delay_pct, throttled_pct, psi_cpu_some_pct, psi_memory_some_pct,"
			" psi_io_some_pct, note)"
			" VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17,"
			" $18, $19)", &args, SPI_OK_INSERT);
}

/* The columns that a version 0.1 does not have. */
static void
store_host_events(const StoreContext *context, NnShared *shared, int64 run_id,
				  const NnPlanBlock *block)
{
	const NnHostUsage *u = &shared->sample.usage;
	StoreArgs	args = {0};

	add_int(&args, run_id);
	add_int(&args, block->block);
	add_float(&args, u->throttled_periods_pct);
	add_float(&args, u->psi_memory_full_pct);
	add_float(&args, u->psi_io_full_pct);
	add_float(&args, u->load);
	add_float(&args, u->memory_high);
	add_float(&args, u->memory_max);
	add_float(&args, u->oom_kills);
	add_float(&args, sum_of_switches(shared, offsetof(NnProcessUse, voluntary_switches)));
	add_float(&args, sum_of_switches(shared, offsetof(NnProcessUse, involuntary_switches)));
	add_float(&args, sum_of_switches(shared, offsetof(NnProcessUse, migrations)));
	execute(context,
			"UPDATE %s.noisy_host_usage SET throttled_periods_pct = $3, psi_memory_full_pct = $4,"
			" psi_io_full_pct = $5, load_1min = $6, memory_high_events = $7, memory_max_events = $8,"
			" oom_kills = $9, voluntary_switches = $10, involuntary_switches = $11, migrations = $12"
			" WHERE run_id = $1 AND block = $2", &args, SPI_OK_UPDATE);
}

/* What each kind of server process did. */
static void
store_processes(const StoreContext *context, NnShared *shared, int64 run_id,
				const NnPlanBlock *block)
{
	double		window_s = (double) (shared->order.end_ns - shared->order.measure_ns) / NN_NS_PER_S;

	for (int k = 0; k < NN_PROCESS_KINDS; k++)
	{
		const NnProcessUse *use = &shared->sample.processes[k];
		StoreArgs	args = {0};

		if (!(use->wall_s > 0))
			continue;
		add_int(&args, run_id);
		add_int(&args, block->block);
		add_text(&args, nn_process_kind_name(k));
		add_float(&args, use->wall_s / window_s);
		add_float(&args, use->cpu_s);
		add_float(&args, use->run_delay_s);
		add_float(&args, use->slices);
		add_float(&args, use->voluntary_switches);
		add_float(&args, use->involuntary_switches);
		add_float(&args, use->migrations);
		if (isnan(use->voluntary_switches) || isnan(use->migrations))
			add_text(&args, shared->sample.processes_why_not.reason);
		else
			add_text(&args, NULL);
		execute(context,
				"INSERT INTO %s.noisy_processes (run_id, block, kind, processes, cpu_s, run_delay_s,"
				" slices, voluntary_switches, involuntary_switches, migrations, note)"
				" VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)", &args, SPI_OK_INSERT);
	}
}

static void
store_probes(const StoreContext *context, NnShared *shared, int64 run_id, const NnPlanBlock *block)
{
	static const char *const names[NN_PROBES] = {
		[NN_PROBE_COMPUTE] = "compute",
		[NN_PROBE_L2] = "cache_l2",
		[NN_PROBE_MEMORY] = "memory"
	};

	for (int i = 0; i < NN_PROBES; i++)
	{
		const NnProbeResult *result = &shared->sample.probes[i];
		StoreArgs	args = {0};

		if (result->n == 0 && result->why_not.reason[0] == '\0')
			continue;
		add_int(&args, run_id);
		add_int(&args, block->block);
		add_text(&args, names[i]);
		add_counter(&args, result->set_bytes > 0 ? (int64) result->set_bytes : -1);
		add_int(&args, (int64) result->n);
		add_float(&args, result->p10_ns);
		add_float(&args, result->median_ns);
		add_float(&args, result->p90_ns);
		add_text(&args, result->why_not.reason);
		execute(context,
				"INSERT INTO %s.noisy_block_probes (run_id, block, probe, working_set_bytes, samples,"
				" p10_ns, median_ns, p90_ns, note)"
				" VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)", &args, SPI_OK_INSERT);
	}
}

static void
add_lock_wait(StoreArgs *args, const NnLockWait *wait)
{
	add_float(args, wait->wait_ns / NN_NS_PER_S);
	add_float(args, wait->holder_on_ns / NN_NS_PER_S);
	add_float(args, wait->holder_off_ns / NN_NS_PER_S);
	add_float(args, wait->run_queue_ns / NN_NS_PER_S);
	add_float(args, wait->rest_ns / NN_NS_PER_S);
	add_float(args, wait->heir_ns / NN_NS_PER_S);
	add_float(args, wait->overlap_ns / NN_NS_PER_S);
	add_float(args, wait->known_ns / NN_NS_PER_S);
}

static void
store_lock_probe(const StoreContext *context, NnShared *shared, int64 run_id,
				 const NnPlanBlock *block)
{
	NnLockProbeResult *result;
	Oid			histogram_type = GetSysCacheOid2(TYPENAMENSP, Anum_pg_type_oid,
												 CStringGetDatum("noisy_histogram"),
												 ObjectIdGetDatum(shared->request.schema_oid));
	StoreArgs	args = {0};

	if (shared->request.lock_probe_workers == 0)
		return;
	result = palloc(sizeof(NnLockProbeResult));
	nn_lock_probe_collect(shared, result);
	add_int(&args, run_id);
	add_int(&args, block->block);
	add_int(&args, shared->request.lock_probe_workers);
	add_float(&args, (double) shared->request.lock_probe_hold_ns / NN_NS_PER_US);
	add_float(&args, (double) (shared->request.lock_probe_period_ns - shared->request.lock_probe_hold_ns) / NN_NS_PER_US);
	add_int(&args, (int64) result->acquisitions);
	add_int(&args, (int64) result->long_waits);
	add_arg(&args, histogram_type, nn_histogram_to_datum(&result->hold), false);
	add_arg(&args, histogram_type, nn_histogram_to_datum(&result->wait), false);
	add_lock_wait(&args, &result->waits);
	add_lock_wait(&args, &result->longs);
	execute(context,
			"INSERT INTO %s.noisy_block_lock_probe (run_id, block, workers, hold_us, pause_us, acquisitions,"
			" long_waits, hold, wait, wait_s, holder_on_cpu_s, holder_off_cpu_s, waiter_run_queue_s,"
			" rest_s, next_in_line_s, overlap_s, known_s, long_wait_s, long_holder_on_cpu_s,"
			" long_holder_off_cpu_s, long_waiter_run_queue_s, long_rest_s, long_next_in_line_s,"
			" long_overlap_s, long_known_s)"
			" VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18,"
			" $19, $20, $21, $22, $23, $24, $25)", &args, SPI_OK_INSERT);
}

/* --- budget of the latency --- */

static void
store_budget(const StoreContext *context, int64 run_id, const NnPlanBlock *block,
			 const char *scope, uint64 operations, const NnBudgetInput *input)
{
	double		ms[NN_COMPONENTS];

	if (!nn_budget(input, ms))
		return;
	for (int i = 0; i < NN_COMPONENTS; i++)
	{
		StoreArgs	args = {0};

		add_int(&args, run_id);
		add_int(&args, block->block);
		add_text(&args, scope);
		add_text(&args, nn_component_name(i));
		add_int(&args, (int64) operations);
		add_float(&args, ms[i]);
		execute(context,
				"INSERT INTO %s.noisy_block_budget (run_id, block, scope, component, operations, ms)"
				" VALUES ($1, $2, $3, $4, $5, $6)", &args, SPI_OK_INSERT);
	}
}

/*
 * Steal is counted for the host as a whole; who used how much of the CPUs had that share of it.  What the
 * hypervisor took from a process is in neither its CPU time nor its run-queue delay.
 */
static double
steal_s(NnShared *shared, double cpu_s)
{
	const NnCpuUsage *cpu = &shared->sample.usage.cpu;

	if (!(cpu->busy_pct > 0))
		return NAN;
	return cpu->steal_pct / cpu->busy_pct * cpu_s;
}

static void
store_mean_budget(const StoreContext *context, NnShared *shared, int64 run_id,
				  const NnPlanBlock *block)
{
	const NnWorkloadResult *workload = &shared->workload;
	const NnProcessUse *use = &shared->sample.processes[NN_PROCESS_WORKLOAD];
	double		n = (double) workload->latency.count;
	double		per_operation = 1000 / n;
	NnBudgetInput input;

	if (!shared->request.has_workload || n == 0 || !(use->wall_s > 0))
		return;
	input.latency_ms = nn_histogram_mean_ns(&workload->latency) / NN_NS_PER_MS;
	input.service_ms = shared->request.rate > 0 ?
		nn_histogram_mean_ns(&workload->service) / NN_NS_PER_MS : input.latency_ms;
	input.wall_ms = use->wall_s * per_operation;
	input.cpu_ms = use->cpu_s * per_operation;
	input.run_queue_ms = use->run_delay_s * per_operation;
	input.steal_ms = steal_s(shared, use->cpu_s) * per_operation;
	for (int i = 0; i < NN_WAIT_CLASSES; i++)
		input.samples[i] = (double) shared->sample.workload_samples[i];
	store_budget(context, run_id, block, "mean", workload->latency.count, &input);
}

bool
nn_store_is_current(NnShared *shared)
{
	return OidIsValid(get_relname_relid("noisy_block_budget", shared->request.schema_oid));
}

void
nn_store_samples(const StoreContext *context, NnShared *shared, int64 run_id,
				 const NnPlanBlock *block)
{
	store_waits(context, shared, run_id, block);
	store_counters(context, shared, run_id, block);
	store_host(context, shared, run_id, block);

	if (!nn_store_is_current(shared))
		return;
	store_host_events(context, shared, run_id, block);
	store_processes(context, shared, run_id, block);
	store_probes(context, shared, run_id, block);
	store_lock_probe(context, shared, run_id, block);
	store_mean_budget(context, shared, run_id, block);
	if (shared->request.has_workload && shared->workload.followed.n > 0)
		store_budget(context, run_id, block, "followed", shared->workload.followed.n,
					 &shared->workload.followed.budget);
	if (shared->request.has_workload && shared->workload.tail.n > 0)
		store_budget(context, run_id, block, "tail", shared->workload.tail.n,
					 &shared->workload.tail.budget);
}
