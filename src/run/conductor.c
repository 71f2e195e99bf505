/*-------------------------------------------------------------------------
 *
 * conductor.c
 *	  The background worker that owns a run.
 *
 * States: starting -> running -> completed | stopped | cancelled | failed | aborted.
 *
 *	 starting	claims the cluster-wide lock, records the run, registers every worker, waits
 *				until all are ready and every client has connected.  A failure here leaves
 *				nothing behind: no load, no row.
 *	 running	gives one order after the other to the workers, waits until all have carried it
 *				out, and commits each block as it ends.
 *	 the end	tells the workers to go home, waits until they have, records the state.
 *
 * The conductor holds no snapshot and no lock on a table between its short transactions. It does
 * not trust the workers: each wait has a bound, and a worker that is gone ends the
 * run.  Nor do they trust it: the load ends with each order's time, and its exit
 * callback stops the run however it ends.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>
#include <signal.h>

#include "access/xact.h"
#include "access/xlog.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgwriter.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "tcop/tcopprot.h"
#include "utils/guc.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/resowner.h"
#include "utils/wait_event.h"

#include "core/clock.h"
#include "run/course.h"
#include "run/ensemble.h"
#include "server/environment.h"
#include "run/store.h"
#include "server/worker.h"

#define NN_LEAD_NS			(20 * NN_NS_PER_MS) /* from an order to its start */
#define NN_RECORD_ATTEMPTS	6	/* to record the end of a run */
#define NN_RECORD_PAUSE_MS	500
#define NN_BLOCK_OVERHEAD_NS (300 * NN_NS_PER_MS)	/* a guess, for the
													 * estimate of the end */

static NnEnsemble conductor;
static char *environment;		/* as it was before our own settings */
static Oid	run_table;			/* its end is the end of the run */

static void
set_state(NnShared *shared, NnRunState state)
{
	SpinLockAcquire(&shared->mutex);
	shared->state = state;
	SpinLockRelease(&shared->mutex);
	nn_ensemble_wake(shared);
}

/* However the conductor ends, the workers go home and the caller learns of it. */
static void
conductor_exit(int code, Datum arg)
{
	NnShared   *shared = conductor.shared;
	bool		ended;

	(void) nn_shared_request_stop(shared, NN_STOP_FINISHED);
	SpinLockAcquire(&shared->mutex);
	ended = shared->state > NN_RUN_RUNNING;
	if (!ended)
	{
		shared->state = NN_RUN_ABORTED;
		shared->failure = *nn_worker_last_error();
		if (shared->failure.sqlerrcode == 0)
		{
			shared->failure.sqlerrcode = ERRCODE_ADMIN_SHUTDOWN;
			strlcpy(shared->failure.message, "the conductor of the run was terminated", NN_MESSAGE_LEN);
		}
	}
	SpinLockRelease(&shared->mutex);
	nn_ensemble_wake(shared);
}

static void
relation_invalidated(Datum arg, Oid relid)
{
	if (relid == InvalidOid || relid == run_table)
		conductor.relation_changed = true;
}

/* Time that so many blocks take. */
static uint64
blocks_ns(NnShared *shared, int blocks)
{
	const NnRequest *request = &shared->request;

	return (uint64) blocks *
		(request->duration_ns + request->warmup_ns + request->settle_ns + NN_BLOCK_OVERHEAD_NS);
}

/* Run one block of those that are left, without keeping it.  measured_at gets the wall clock of the window's start. */
static bool
run_block(NnShared *shared, const NnPlanBlock *block, int left, TimestampTz *measured_at)
{
	const NnRequest *request = &shared->request;
	NnOrder    *order = &shared->order;
	uint64		now_ns;

	SpinLockAcquire(&shared->mutex);
	shared->now = *block;
	shared->ends_ns = nn_now_ns() + blocks_ns(shared, left);
	SpinLockRelease(&shared->mutex);
	pgstat_report_activity(STATE_RUNNING,
						   psprintf("run " INT64_FORMAT ": block %d of %d, %d clients, level %g %%",
									shared->run_id, block->block, block->block - 1 + left,
									block->clients, block->level_pct));

	if (request->checkpoint == NN_CHECKPOINT_BEFORE_BLOCK)
	{
		uint64		since_ns = nn_now_ns();
		uint64		deadline_ns = pg_atomic_read_u64(&shared->hard_deadline_ns);

		/*
		 * Nothing is loaded meanwhile, and nobody knows how long it takes:
		 * stop the clock.
		 */
		nn_ensemble_set_phase(shared, "checkpoint");
		pg_atomic_write_u64(&shared->hard_deadline_ns, PG_UINT64_MAX);
		RequestCheckpoint(CHECKPOINT_IMMEDIATE | CHECKPOINT_FORCE | CHECKPOINT_WAIT);
		pg_atomic_write_u64(&shared->hard_deadline_ns, deadline_ns + nn_now_ns() - since_ns);
	}
	if (!nn_ensemble_connect(&conductor, block->clients))
		return false;

	nn_ensemble_set_phase(shared, "warm-up");
	now_ns = nn_now_ns();
	order->kind = NN_ORDER_RUN;
	order->block = block->block;
	order->clients = block->clients;
	order->level_pct = block->level_pct;
	order->start_ns = now_ns + NN_LEAD_NS;
	order->measure_ns = order->start_ns + request->warmup_ns;
	order->end_ns = order->measure_ns + request->duration_ns;
	order->n_seconds = request->max_seconds;
	*measured_at = GetCurrentTimestamp() + (int64) ((order->measure_ns - now_ns) / NN_NS_PER_US);
	return nn_ensemble_play(&conductor, order->end_ns + NN_ANSWER_BOUND_NS);
}

/* Keep the block that ended last, and tell the caller. */
static void
keep_block(NnShared *shared, NnCourse *course, const NnPlanBlock *block, TimestampTz measured_at)
{
	const int  *changed;
	int			n_changed;

	nn_ensemble_set_phase(shared, "storing");
	nn_course_add(course, block);
	n_changed = nn_course_changed(course, &changed);
	nn_store_block(shared, shared->run_id, block, measured_at, changed, n_changed);
	SpinLockAcquire(&shared->mutex);
	shared->blocks_done = block->block;
	SpinLockRelease(&shared->mutex);
	nn_ensemble_wake(shared);
}

/* Does the block that ended last hurt more than is allowed?  Then the run ends. */
static bool
is_bearable(NnShared *shared, const NnPlanBlock *block)
{
	const NnRequest *request = &shared->request;
	double		slo_ms = (double) request->abort_slo_ns / NN_NS_PER_MS;
	double		p99_ms = nn_shared_summaries(shared)[block->block - 1].p99_ms;

	if (request->abort_slo_ns == 0 || p99_ms <= slo_ms)
		return true;
	if (!isnan(p99_ms))
		return nn_ensemble_give_up(&conductor, NN_RUN_STOPPED, ERRCODE_QUERY_CANCELED, NULL,
								   "the p99 of block %d was %.3f ms, above abort_slo_ms (%g ms)",
								   block->block, p99_ms, slo_ms);

	/* nobody got through: the clients have waited for the whole window */
	if (request->duration_ns <= request->abort_slo_ns)
		return true;
	return nn_ensemble_give_up(&conductor, NN_RUN_STOPPED, ERRCODE_QUERY_CANCELED, NULL,
							   "no transaction ended in block %d, which is longer than abort_slo_ms (%g ms)",
							   block->block, slo_ms);
}

/* Let the noise ebb away before the next block. */
static bool
settle(NnShared *shared)
{
	nn_ensemble_set_phase(shared, "settling");
	return nn_ensemble_rest(&conductor, nn_now_ns() + shared->request.settle_ns);
}

/*
 * A store function may only be called outside a transaction; each call ends with
 * none.  The memory of a block is given back after it.
 */
static bool
run_blocks(NnShared *shared)
{
	MemoryContext block_context = AllocSetContextCreate(TopMemoryContext,
														"pg_noisyneighbor block",
														ALLOCSET_DEFAULT_SIZES);

	NnCourse   *course = nn_course_begin(shared);
	NnPlanBlock block;
	bool		first = true;

	while (nn_course_next(course, &block))
	{
		TimestampTz measured_at;

		MemoryContextSwitchTo(block_context);
		if ((!first && !settle(shared)) ||
			!run_block(shared, &block, nn_course_left(course), &measured_at))
			return false;
		keep_block(shared, course, &block, measured_at);
		if (!is_bearable(shared, &block))
			return false;
		MemoryContextReset(block_context);
		first = false;
	}
	return true;
}

/* From nothing to a run whose workers wait and whose clients are connected. */
static bool
start_run(NnShared *shared)
{
	int			most_blocks = shared->request.n_blocks + shared->request.max_repeats;
	uint64		longest_ns;

	if (!nn_live_run_claim())
	{
		NnLiveRun	live;

		(void) nn_live_run_find(&live);
		return nn_ensemble_give_up(&conductor, NN_RUN_FAILED, ERRCODE_OBJECT_IN_USE,
								   psprintf("Process %d conducts it.", live.pid),
								   "another run is on in this cluster");
	}
	SpinLockAcquire(&shared->mutex);
	shared->ends_ns = nn_now_ns() + blocks_ns(shared, shared->request.n_blocks);
	SpinLockRelease(&shared->mutex);
	longest_ns = blocks_ns(shared, most_blocks) + (uint64) (most_blocks + 1) * (NN_ANSWER_BOUND_NS + NN_START_BOUND_NS);
	pg_atomic_write_u64(&shared->hard_deadline_ns, nn_now_ns() + longest_ns);

	run_table = nn_store_run_table(shared);
	shared->run_id = nn_store_run_begin(shared, environment);
	nn_live_run_advertise(dsm_segment_handle(conductor.segment), shared->run_id);
	pgstat_report_activity(STATE_RUNNING, psprintf("run " INT64_FORMAT ": starting", shared->run_id));
	if (!nn_ensemble_start(&conductor) ||
		!nn_ensemble_connect(&conductor, shared->request.max_clients))
		return false;
	nn_store_run_state(shared, shared->run_id, NN_RUN_RUNNING, NULL);
	set_state(shared, NN_RUN_RUNNING);
	return true;
}

/* Record how the run ended, in the table and for the waiting caller. */
static void
end_run(NnShared *shared, bool started, bool completed)
{
	NnStopReason reason = nn_shared_stop_reason(shared);
	NnRunState	state = completed ? NN_RUN_COMPLETED :
		conductor.failure.sqlerrcode != 0 ? conductor.end_state :
		reason == NN_STOP_CALLER_GONE ? NN_RUN_CANCELLED : NN_RUN_STOPPED;

	nn_ensemble_end(&conductor);
	SpinLockAcquire(&shared->mutex);
	shared->failure = conductor.failure;
	SpinLockRelease(&shared->mutex);
	if (shared->run_id != 0 && OidIsValid(nn_store_run_table(shared)))
	{
		if (started)
		{
			nn_store_run_state(shared, shared->run_id, state,
							   conductor.failure.sqlerrcode ? conductor.failure.message : NULL);
			nn_store_run_end(shared, shared->run_id);
		}
		else
		{
			nn_store_run_forget(shared, shared->run_id);
			shared->run_id = 0;
		}
	}
	set_state(shared, state);
}

/* Take over an error that was raised, as the failure of the run.  Returns its code. */
static int
catch_error(MemoryContext context)
{
	ErrorData  *error;
	int			sqlerrcode;

	MemoryContextSwitchTo(context);
	error = CopyErrorData();
	EmitErrorReport();
	FlushErrorState();
	AbortOutOfAnyTransaction();

	/*
	 * What a statement says when its tables go, tells less than that they
	 * have gone.
	 */
	if (conductor.failure.sqlerrcode == 0 &&
		(!OidIsValid(run_table) || nn_ensemble_check_tables(&conductor)))
	{
		/* no timeout applies to us, so this is somebody's pg_cancel_backend() */
		if (error->sqlerrcode == ERRCODE_QUERY_CANCELED)
			nn_ensemble_give_up(&conductor, NN_RUN_CANCELLED, error->sqlerrcode, NULL,
								"the conductor of the run was cancelled");
		else
			nn_ensemble_give_up(&conductor, NN_RUN_FAILED, error->sqlerrcode, error->detail, "%s", error->message);
		strlcpy(conductor.failure.hint, error->hint ? error->hint :
				error->sqlerrcode == ERRCODE_LOCK_NOT_AVAILABLE ?
				"Somebody holds a lock on the tables of the extension: pg_locks tells who. The run waits for "
				"it for " NN_LOCK_TIMEOUT " at most." : "", NN_MESSAGE_LEN);
	}
	sqlerrcode = error->sqlerrcode;
	FreeErrorData(error);
	return sqlerrcode;
}

/* Will it pass?  The disk is full, or the lock table, or somebody holds our row. */
static bool
is_passing(int sqlerrcode)
{
	return sqlerrcode == ERRCODE_LOCK_NOT_AVAILABLE ||
		ERRCODE_TO_CATEGORY(sqlerrcode) == ERRCODE_INSUFFICIENT_RESOURCES;
}

static void
attach(Datum main_arg)
{
	CurrentResourceOwner = ResourceOwnerCreate(NULL, "pg_noisyneighbor conductor");
	conductor.shared = nn_shared_attach(DatumGetUInt32(main_arg), &conductor.segment);
	if (conductor.shared == NULL)
		proc_exit(0);			/* the caller has gone already */
	dsm_pin_mapping(conductor.segment);
	conductor.clients = -1;
	before_shmem_exit(conductor_exit, (Datum) 0);
	nn_worker_remember_errors();
	pg_atomic_write_u32(&conductor.shared->conductor_procno, (uint32) nn_my_procno());
	pg_atomic_write_u32(&conductor.shared->conductor_pid, (uint32) MyProcPid);
}

/*
 * The load is gone by now; what is left is to record how the run ended.  False when that should be tried once more.
 */
static bool
try_to_end(NnShared *shared, MemoryContext context, bool started, bool completed, int attempt)
{
	volatile int sqlerrcode = 0;
	NnFailure	failure = conductor.failure;

	PG_TRY();
	{
		end_run(shared, started, completed);
	}
	PG_CATCH();
	{
		sqlerrcode = catch_error(context);
	}
	PG_END_TRY();
	if (sqlerrcode == 0)
		return true;
	if (attempt < NN_RECORD_ATTEMPTS && is_passing(sqlerrcode))
	{
		conductor.failure = failure;	/* why the run ended, not why that
										 * could not be recorded */
		return false;
	}
	SpinLockAcquire(&shared->mutex);
	shared->failure = conductor.failure;
	SpinLockRelease(&shared->mutex);
	set_state(shared, NN_RUN_FAILED);
	return true;
}

static void
end_in_any_case(NnShared *shared, MemoryContext context, bool started, bool completed)
{
	int			attempt = 1;

	while (!try_to_end(shared, context, started, completed, attempt++))
		(void) WaitLatch(MyLatch, WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, NN_RECORD_PAUSE_MS, PG_WAIT_EXTENSION);
}

void
nn_conductor_main(Datum main_arg)
{
	MemoryContext context;
	NnShared   *shared;
	volatile bool started = false;
	volatile bool completed = false;

	attach(main_arg);
	shared = conductor.shared;
	pqsignal(SIGTERM, die);
	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	BackgroundWorkerUnblockSignals();
	BackgroundWorkerInitializeConnectionByOid(shared->request.database_oid, InvalidOid, 0);
	context = AllocSetContextCreate(TopMemoryContext, "pg_noisyneighbor conductor",
									ALLOCSET_DEFAULT_SIZES);
	MemoryContextSwitchTo(context);
	environment = nn_environment_describe(&shared->request.root);
	nn_worker_fix_settings();
	CacheRegisterRelcacheCallback(relation_invalidated, (Datum) 0);

	PG_TRY();
	{
		started = start_run(shared);
		completed = started && run_blocks(shared);
	}
	PG_CATCH();
	{
		(void) catch_error(context);
	}
	PG_END_TRY();

	end_in_any_case(shared, context, started, completed);
}
