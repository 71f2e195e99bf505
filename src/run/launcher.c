/*-------------------------------------------------------------------------
 *
 * launcher.c
 *	  Starting, waiting for and stopping runs, from the caller's side.
 *
 * The caller checks everything, creates the segment, registers the conductor and waits until the run
 * has begun, so that whatever keeps it from beginning is the caller's error.  A caller that waits for the
 * end ties the run to itself: the detach callback of its mapping, which a
 * cancel, an error and the end of the session all go through, stops the run.
 *
 * Waiting must not hold back the xmin horizon: a snapshot held for the length of a run would stop
 * the pruning of the very tables that are measured.  See give_up_xmin().
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/transam.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "miscadmin.h"
#include "nodes/plannodes.h"
#include "storage/latch.h"
#include "storage/proc.h"
#include "storage/procarray.h"
#include "tcop/pquery.h"
#include "utils/portal.h"
#include "utils/snapmgr.h"
#include "utils/wait_event.h"

#include "core/clock.h"
#include "run/launcher.h"
#include "run/store.h"
#include "server/busy.h"
#include "server/text.h"
#include "server/worker.h"

#define NN_POLL_MS	250

/*
 * May the waiting function give up the snapshot that it was called under?
 *
 * Only where nobody reads by that snapshot afterwards: the function is all that a
 * top-level SELECT does, outside a transaction block, under READ COMMITTED. That the
 * expression being executed is the one in the portal's plan is checked by identity.
 */
static bool
is_plain_select(FunctionCallInfo fcinfo)
{
	PlannedStmt *stmt;
	Result	   *plan;
	TargetEntry *target;

	if (IsTransactionBlock() || IsSubTransaction() || IsolationUsesXactSnapshot() ||
		TransactionIdIsValid(GetTopTransactionIdIfAny()) ||
		!ThereAreNoReadyPortals())
		return false;
	if (ActivePortal == NULL || list_length(ActivePortal->stmts) != 1)
		return false;
	stmt = linitial_node(PlannedStmt, ActivePortal->stmts);
	if (stmt->commandType != CMD_SELECT || stmt->hasModifyingCTE || stmt->subplans != NIL ||
		stmt->rowMarks != NIL || stmt->planTree == NULL || !IsA(stmt->planTree, Result))
		return false;
	plan = (Result *) stmt->planTree;
	if (plan->plan.lefttree != NULL || plan->plan.initPlan != NIL || plan->plan.qual != NIL ||
		plan->resconstantqual != NULL || list_length(plan->plan.targetlist) != 1)
		return false;
	target = linitial_node(TargetEntry, plan->plan.targetlist);
	return fcinfo->flinfo->fn_expr == (Node *) target->expr;
}

static void
refuse_unless_plain_select(FunctionCallInfo fcinfo)
{
	if (!ThereAreNoReadyPortals())
		ereport(ERROR,
				(errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
				 errmsg("cannot wait for a run here"),
				 errdetail("A cursor is open in this session; its snapshot would hold back the removal of "
						   "dead rows, and so change what is measured."),
				 errhint("Close it first (pg_cursors lists them, those declared WITH HOLD too), or use "
						 "noisy_start() and CALL noisy_wait().")));
	if (!is_plain_select(fcinfo))
		ereport(ERROR,
				(errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
				 errmsg("cannot wait for a run here"),
				 errdetail("Waiting would hold back the removal of dead rows by the snapshot of this "
						   "query, and so change what is measured."),
				 errhint("Call it as the only expression of a top-level SELECT without FROM, with arguments that "
						 "are no queries of their own, outside a transaction block and under READ COMMITTED; or "
						 "use noisy_start() and CALL noisy_wait().")));
}

/*
 * Stop advertising the snapshot of the query we are called in.  The snapshot itself stays
 * where it is; is_plain_select() or the procedure's own commit makes sure that nothing is read by it any
 * more.  Has to be repeated after anything that may have looked at a catalog.
 */
static void
give_up_xmin(void)
{
	InvalidateCatalogSnapshot();
	if (TransactionIdIsValid(MyProc->xmin))
		MyProc->xmin = InvalidTransactionId;
}

/* Stop a run whose waiting caller goes away. */
static void
caller_gone(dsm_segment *segment, Datum arg)
{
	NnShared   *shared = (NnShared *) DatumGetPointer(arg);

	if (nn_shared_request_stop(shared, NN_STOP_CALLER_GONE))
		nn_wake((int) pg_atomic_read_u32(&shared->conductor_procno));
}

static NnRunState
read_state(NnShared *shared, int *blocks_done)
{
	NnRunState	state;

	SpinLockAcquire(&shared->mutex);
	state = shared->state;
	*blocks_done = shared->blocks_done;
	SpinLockRelease(&shared->mutex);
	return state;
}

/* A number of a progress line; NaN is a dash. */
static const char *
number_or_dash(double value, int decimals)
{
	return isnan(value) ? "-" : psprintf("%.*f", decimals, value);
}

/* What the caller has been told about a run. */
typedef struct Told
{
	int			blocks;
	uint32		judgements;
	bool	   *accepted;		/* of each of these blocks */
} Told;

static NnGuardVerdict
read_verdict(NnShared *shared, int block)
{
	NnGuardVerdict verdict;

	SpinLockAcquire(&shared->mutex);
	verdict = nn_shared_summaries(shared)[block].verdict;
	SpinLockRelease(&shared->mutex);
	return verdict;
}

static void
report_block(NnShared *shared, int number, Told *told)
{
	const NnBlockSummary *summary = &nn_shared_summaries(shared)[number];
	const NnPlanBlock *block = &summary->block;
	NnGuardVerdict verdict = read_verdict(shared, number);
	char		reason[NN_GUARD_REASON_LEN];
	uint64		now_ns = nn_now_ns();
	uint64		ends_ns;
	int			blocks;
	const char *dose;

	SpinLockAcquire(&shared->mutex);
	ends_ns = shared->ends_ns;
	blocks = shared->blocks;
	SpinLockRelease(&shared->mutex);
	told->accepted[number] = verdict.reason == NN_GUARD_ACCEPTED;
	nn_guard_describe(&verdict, reason, sizeof(reason));
	dose = isnan(summary->achieved_pct) ? "no noise" :
		psprintf("level %g %% (achieved %.2f %%)", block->level_pct, summary->achieved_pct);
	if (shared->request.has_workload)
		ereport(NOTICE,
				(errmsg("block %d of %d: %d clients, %s, %s tps, p50 %s ms, p99 %s ms, "
						"%.0f s left%s%s",
						block->block, blocks, block->clients, dose,
						number_or_dash(summary->tps, 1), number_or_dash(summary->p50_ms, 3),
						number_or_dash(summary->p99_ms, 3),
						ends_ns > now_ns ? (ends_ns - now_ns) / 1e9 : 0.0,
						reason[0] ? "; rejected: " : "", reason)));
	else
		ereport(NOTICE,
				(errmsg("block %d of %d: %s", block->block, blocks, dose)));
}

/* Tell about earlier blocks that count otherwise than they did. */
static void
report_changes(NnShared *shared, Told *told)
{
	uint32		judgements;

	SpinLockAcquire(&shared->mutex);
	judgements = shared->judgements;
	SpinLockRelease(&shared->mutex);
	if (judgements == told->judgements)
		return;
	told->judgements = judgements;
	for (int i = 0; i < told->blocks; i++)
	{
		NnGuardVerdict verdict = read_verdict(shared, i);
		bool		accepted = verdict.reason == NN_GUARD_ACCEPTED;
		char		reason[NN_GUARD_REASON_LEN];

		if (accepted == told->accepted[i])
			continue;
		told->accepted[i] = accepted;
		nn_guard_describe(&verdict, reason, sizeof(reason));
		if (accepted)
			ereport(NOTICE, (errmsg("block %d counts after all", i + 1)));
		else
			ereport(NOTICE, (errmsg("block %d is rejected after all: %s", i + 1, reason)));
	}
}

/* Tell about the blocks that have ended since the last call. */
static void
report_blocks(NnShared *shared, Told *told, int blocks_done)
{
	while (told->blocks < blocks_done)
		report_block(shared, told->blocks++, told);
	report_changes(shared, told);
}

/* Is the conductor still there?  Without a handle the lock table tells. */
static bool
conductor_lives(BackgroundWorkerHandle *handle, int pid)
{
	if (handle)
	{
		pid_t		ignored;

		return GetBackgroundWorkerPid(handle, &ignored) != BGWH_STOPPED;
	}
	return BackendPidGetProc(pid) != NULL;
}

/*
 * Sleep until the run's state is "state" or later.  Returns the state.  until is NN_RUN_RUNNING
 * for the begin of the run and NN_RUN_COMPLETED for its end.  "in_query": tell nothing meanwhile, and keep the snapshot.
 */
static NnRunState
wait_for_state(NnShared *shared, NnRunState until, BackgroundWorkerHandle *handle, int pid, bool in_query)
{
	bool		to_the_end = until > NN_RUN_RUNNING && !in_query;
	Told		told = {0};

	if (to_the_end)
		told.accepted = palloc0(shared->request.n_blocks + shared->request.max_repeats);
	if (!handle)
	{
		(void) read_state(shared, &told.blocks);	/* a second waiter starts
													 * here */
		for (int i = 0; i < told.blocks; i++)
			told.accepted[i] = read_verdict(shared, i).reason == NN_GUARD_ACCEPTED;
	}
	for (;;)
	{
		bool		lives = conductor_lives(handle, pid);
		int			blocks_done;
		NnRunState	state = read_state(shared, &blocks_done);

		if (to_the_end)
			report_blocks(shared, &told, blocks_done);
		if (state >= until)
			return state;
		if (!lives)
			return NN_RUN_ABORTED;
		if (to_the_end)
			give_up_xmin();
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, NN_POLL_MS,
						 PG_WAIT_EXTENSION);
		ResetLatch(MyLatch);
		nn_check_client();
	}
}

/* Raise the error that kept a run from beginning, or ended it. */
static void
raise_failure(NnShared *shared, NnRunState state, int64 run_id)
{
	NnFailure	failure;
	bool		nothing_lost;

	SpinLockAcquire(&shared->mutex);
	failure = shared->failure;
	SpinLockRelease(&shared->mutex);
	nn_text_repair(failure.message);
	nn_text_repair(failure.detail);
	nothing_lost = failure.sqlerrcode != ERRCODE_UNDEFINED_OBJECT &&
		failure.sqlerrcode != ERRCODE_UNDEFINED_TABLE;	/* the run's row, or our
														 * tables */
	if (failure.sqlerrcode == 0)
	{
		failure.sqlerrcode = ERRCODE_ADMIN_SHUTDOWN;
		strlcpy(failure.message, "the run ended unexpectedly", sizeof(failure.message));
		strlcpy(failure.hint, "The server's log says why.", sizeof(failure.hint));
	}
	ereport(ERROR,
			(errcode(failure.sqlerrcode),
			 errmsg("%s", failure.message),
			 failure.detail[0] ? errdetail("%s", failure.detail) : 0,
			 failure.hint[0] ? errhint("%s", failure.hint) :
			 run_id && nothing_lost ?
			 errhint("Finished blocks are kept: see noisy_blocks where run_id = " INT64_FORMAT ".",
					 run_id) : 0));
}

/* Tell that a run has not come to its own end, and why where somebody knows. */
static void
report_early_end(NnShared *shared, NnRunState state, int64 run_id)
{
	NnFailure	failure;

	SpinLockAcquire(&shared->mutex);
	failure = shared->failure;
	SpinLockRelease(&shared->mutex);
	nn_text_repair(failure.message);
	ereport(NOTICE,
			(errmsg("run " INT64_FORMAT " was %s%s%s", run_id, nn_run_state_name(state),
					failure.message[0] ? ": " : "", failure.message)));
}

/* Create the segment and register the conductor. */
static NnShared *
start_conductor(const NnRunArgs *args, const NnRunPlan *plan, dsm_segment **segment,
				BackgroundWorkerHandle **handle)
{
	NnShared   *shared = nn_shared_create(&plan->request, plan->blocks, plan->load_threads,
										  args->conninfo, args->label, plan->parameters, segment);

	shared->waiter_procno = nn_my_procno();
	if (!nn_worker_register("conductor", "nn_conductor_main", dsm_segment_handle(*segment), 0,
							handle))
		ereport(ERROR,
				(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
				 errmsg("not enough background worker slots"),
				 errdetail("Needed %d, free 0; max_worker_processes is %d.", shared->n_workers + 1,
						   max_worker_processes),
				 errhint("Raise max_worker_processes, or wait until other workers have ended.")));
	return shared;
}

int64
nn_launch(const NnRunArgs *args, FunctionCallInfo fcinfo)
{
	NnRunPlan	plan;
	NnShared   *shared;
	dsm_segment *segment;
	BackgroundWorkerHandle *handle;
	NnRunState	state;
	int64		run_id;

	if (RecoveryInProgress())
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("recovery is in progress"),
				 errdetail("A standby cannot keep the results of a run."),
				 errhint("Run it on the primary, and use \"conninfo\" to drive this server.")));
	if (args->wait && args->see == NULL)
		refuse_unless_plain_select(fcinfo);
	nn_refuse_if_busy();
	nn_request_build(args, &plan);

	shared = start_conductor(args, &plan, &segment, &handle);
	on_dsm_detach(segment, caller_gone, PointerGetDatum(shared));
	state = wait_for_state(shared, NN_RUN_RUNNING, handle, 0, false);
	run_id = shared->run_id;	/* 0: ended before it began */
	if (state == NN_RUN_FAILED || state == NN_RUN_ABORTED)
	{
		(void) WaitForBackgroundWorkerShutdown(handle); /* so that the next call
														 * finds nothing in its
														 * way */
		raise_failure(shared, state, 0);
	}
	if (run_id == 0)
		ereport(ERROR,
				(errcode(ERRCODE_QUERY_CANCELED),
				 errmsg("the run was stopped before it began")));
	if (!args->wait)
	{
		cancel_on_dsm_detach(segment, caller_gone, PointerGetDatum(shared));
		SpinLockAcquire(&shared->mutex);
		shared->waiter_procno = -1;
		SpinLockRelease(&shared->mutex);
		dsm_detach(segment);
		return run_id;
	}

	state = wait_for_state(shared, NN_RUN_COMPLETED, handle, 0, args->see != NULL);
	(void) WaitForBackgroundWorkerShutdown(handle);
	if (args->see == NULL)
		give_up_xmin();
	else if (state == NN_RUN_COMPLETED)
		args->see(shared, args->see_arg);
	if (state == NN_RUN_FAILED || state == NN_RUN_ABORTED || state == NN_RUN_CANCELLED)
		raise_failure(shared, state, run_id);	/* not we have cancelled it */
	if (state != NN_RUN_COMPLETED)
		report_early_end(shared, state, run_id);
	dsm_detach(segment);
	return run_id;
}

NnShared *
nn_attach_live_run(dsm_segment **segment, int *conductor_pid)
{
	NnLiveRun	live;
	NnShared   *shared;

	*segment = NULL;
	if (!nn_live_run_find(&live) || live.database_oid != MyDatabaseId)
		return NULL;
	*conductor_pid = live.pid;
	shared = nn_shared_attach(live.handle, segment);
	return shared;
}

void
nn_wait_for_run(Oid schema, int64 run_id)
{
	dsm_segment *segment;
	NnShared   *shared;
	int			pid;
	NnRunState	state;

	if (!nn_store_run_known(schema, run_id))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("run " INT64_FORMAT " does not exist", run_id),
				 errhint("The runs of this database are in noisy_runs.")));
	nn_store_release_snapshot();
	shared = nn_attach_live_run(&segment, &pid);
	if (shared != NULL && shared->run_id == run_id)
	{
		state = wait_for_state(shared, NN_RUN_COMPLETED, NULL, pid, false);
		while (conductor_lives(NULL, pid))	/* until its locks and slots are
											 * free */
		{
			give_up_xmin();
			(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, 20,
							 PG_WAIT_EXTENSION);
			ResetLatch(MyLatch);
			CHECK_FOR_INTERRUPTS();
		}
		if (state != NN_RUN_COMPLETED)
			report_early_end(shared, state, run_id);
	}
	if (segment)
		dsm_detach(segment);
}

bool
nn_stop_run(int64 run_id)
{
	dsm_segment *segment;
	int			pid;
	NnShared   *shared = nn_attach_live_run(&segment, &pid);
	bool		stopped = false;

	if (shared != NULL && (run_id == 0 || shared->run_id == run_id))
	{
		stopped = nn_shared_request_stop(shared, NN_STOP_REQUESTED);
		nn_wake((int) pg_atomic_read_u32(&shared->conductor_procno));
		for (int i = 0; i < shared->n_workers; i++)
			nn_wake((int) pg_atomic_read_u32(&nn_shared_workers(shared)[i].procno));
	}
	if (segment)
		dsm_detach(segment);
	return stopped;
}
