/*-------------------------------------------------------------------------
 *
 * ensemble.c
 *	  The workers of a run, as the conductor leads them.  See ensemble.h.
 *
 * Each wait has a bound, and looks around while it waits: a worker that failed or is gone, a stop
 * request, the hard deadline and the end of our own tables all end it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "postmaster/interrupt.h"
#include "storage/latch.h"
#include "utils/guc.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/wait_event.h"

#include "core/clock.h"
#include "run/ensemble.h"
#include "run/resources.h"
#include "run/store.h"

#define NN_TICK_MS			200 /* how often the conductor looks around */
#define NN_HOME_BOUND_NS	(2 * NN_NS_PER_S)	/* to go home before being
												 * terminated */

void
nn_ensemble_wake(NnShared *shared)
{
	int			waiter;

	for (int i = 0; i < shared->n_workers; i++)
		if (pg_atomic_read_u32(&nn_shared_workers(shared)[i].pid) != 0)
			nn_wake((int) pg_atomic_read_u32(&nn_shared_workers(shared)[i].procno));
	SpinLockAcquire(&shared->mutex);
	waiter = shared->waiter_procno;
	SpinLockRelease(&shared->mutex);
	nn_wake(waiter);
}

void
nn_ensemble_set_phase(NnShared *shared, const char *phase)
{
	SpinLockAcquire(&shared->mutex);
	strlcpy(shared->phase, phase, sizeof(shared->phase));
	SpinLockRelease(&shared->mutex);
}

bool
nn_ensemble_give_up(NnEnsemble *ensemble, NnRunState state, int sqlerrcode, const char *detail,
					const char *fmt,...)
{
	NnFailure  *failure = &ensemble->failure;
	va_list		args;

	if (failure->sqlerrcode != 0)
		return false;
	va_start(args, fmt);
	vsnprintf(failure->message, sizeof(failure->message), fmt, args);
	va_end(args);
	strlcpy(failure->detail, detail ? detail : "", sizeof(failure->detail));
	failure->sqlerrcode = sqlerrcode;
	ensemble->end_state = state;
	return false;
}

static const char *
worker_role(const NnWorkerSlot *slot)
{
	return slot->kind == NN_WORKER_NOISE ? "noise" :
		slot->kind == NN_WORKER_WORKLOAD ? "workload" :
		slot->kind == NN_WORKER_LOCK_PROBE ? "lock" : "sample";
}

/* Are all workers alive?  A failure of one is the failure of the run. */
static bool
check_workers(NnEnsemble *ensemble)
{
	NnShared   *shared = ensemble->shared;

	for (int i = 0; i < ensemble->n_handles; i++)
	{
		NnWorkerSlot *slot = &nn_shared_workers(shared)[i];
		NnWorkerState state = (NnWorkerState) pg_atomic_read_u32(&slot->state);
		pid_t		pid;

		pg_read_barrier();
		if (state == NN_WORKER_FAILED)
		{
			if (ensemble->failure.sqlerrcode == 0)
			{
				ensemble->failure = slot->failure;
				ensemble->end_state = NN_RUN_FAILED;
			}
			return false;
		}
		if (state == NN_WORKER_GONE && slot->failure.sqlerrcode != 0)
		{
			nn_ensemble_give_up(ensemble, NN_RUN_FAILED, slot->failure.sqlerrcode, slot->failure.detail,
								"%s worker of the run failed: %s", worker_role(slot), slot->failure.message);
			return false;
		}
		if (state == NN_WORKER_GONE ||
			GetBackgroundWorkerPid(ensemble->handles[i], &pid) == BGWH_STOPPED)
			return nn_ensemble_give_up(ensemble, NN_RUN_ABORTED, ERRCODE_ADMIN_SHUTDOWN, NULL,
									   "%s worker of the run ended unexpectedly (pid %u)",
									   worker_role(slot), pg_atomic_read_u32(&slot->pid));
	}
	return true;
}

bool
nn_ensemble_check_tables(NnEnsemble *ensemble)
{
	if (OidIsValid(nn_store_run_table(ensemble->shared)))
		return true;
	return nn_ensemble_give_up(ensemble, NN_RUN_FAILED, ERRCODE_UNDEFINED_TABLE, NULL,
							   "extension \"%s\" was dropped while the run was on", NN_NAME);
}

/*
 * Sleep for a tick or until woken, or until until_ns (0: a tick), and look around.  False when
 * the run is to end.
 */
static bool
look_around(NnEnsemble *ensemble, uint64 until_ns)
{
	NnShared   *shared = ensemble->shared;
	long		timeout_ms = NN_TICK_MS;
	uint64		now_ns = nn_now_ns();

	if (until_ns != 0)
		timeout_ms = until_ns <= now_ns ? 0 :
			(long) Min((until_ns - now_ns) / NN_NS_PER_MS + 1, NN_TICK_MS);
	(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, timeout_ms,
					 PG_WAIT_EXTENSION);
	ResetLatch(MyLatch);
	CHECK_FOR_INTERRUPTS();
	if (ConfigReloadPending)
	{
		ConfigReloadPending = false;
		ProcessConfigFile(PGC_SIGHUP);
	}

	AcceptInvalidationMessages();
	if (ensemble->relation_changed)
	{
		ensemble->relation_changed = false;
		if (!nn_ensemble_check_tables(ensemble))
			return false;
	}
	if (nn_shared_stop_reason(shared) != NN_STOP_NONE)
		return false;
	if (nn_shared_must_stop(shared))
		return nn_ensemble_give_up(ensemble, NN_RUN_FAILED, ERRCODE_QUERY_CANCELED, NULL,
								   "the run exceeded its hard deadline");
	return check_workers(ensemble);
}

/* Register every worker, or none. */
static bool
register_workers(NnEnsemble *ensemble)
{
	NnShared   *shared = ensemble->shared;
	static const char *const functions[] = {
		[NN_WORKER_NOISE] = "nn_noise_main",
		[NN_WORKER_WORKLOAD] = "nn_workload_main",
		[NN_WORKER_LOCK_PROBE] = "nn_lock_probe_main",
		[NN_WORKER_SAMPLE] = "nn_sample_main"
	};

	ensemble->handles = MemoryContextAllocZero(TopMemoryContext,
											   sizeof(*ensemble->handles) * shared->n_workers);
	for (int i = 0; i < shared->n_workers; i++)
	{
		NnWorkerSlot *slot = &nn_shared_workers(shared)[i];

		if (!nn_worker_register(worker_role(slot), functions[slot->kind],
								dsm_segment_handle(ensemble->segment), i, &ensemble->handles[i]))
		{
			nn_resources_slots_failure(shared->n_workers + 1, i + 1, &ensemble->failure);
			ensemble->end_state = NN_RUN_FAILED;
			return false;
		}
		ensemble->n_handles = i + 1;
	}
	return true;
}

static bool
wait_until_ready(NnEnsemble *ensemble)
{
	NnShared   *shared = ensemble->shared;
	uint64		bound_ns = nn_now_ns() + NN_START_BOUND_NS;

	for (;;)
	{
		int			ready = 0;

		for (int i = 0; i < shared->n_workers; i++)
			if (pg_atomic_read_u32(&nn_shared_workers(shared)[i].state) == NN_WORKER_READY)
				ready++;
		if (ready == shared->n_workers)
			return true;
		if (nn_now_ns() > bound_ns)
			return nn_ensemble_give_up(ensemble, NN_RUN_FAILED, ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE, NULL,
									   "%d of %d workers did not start in time", shared->n_workers - ready,
									   shared->n_workers);
		if (!look_around(ensemble, 0))
			return false;
	}
}

static bool
all_done(NnShared *shared, uint64 seq)
{
	for (int i = 0; i < shared->n_workers; i++)
		if (pg_atomic_read_u64(&nn_shared_workers(shared)[i].done_seq) < seq)
			return false;
	pg_read_barrier();
	return true;
}

/* Post the order in shared->order. */
static uint64
post_order(NnShared *shared)
{
	uint64		seq = pg_atomic_read_u64(&shared->order_seq) + 1;

	pg_write_barrier();
	pg_atomic_write_u64(&shared->order_seq, seq);
	nn_ensemble_wake(shared);
	return seq;
}

/* Wait until every worker has carried out the order. */
static bool
wait_until_done(NnEnsemble *ensemble, uint64 seq, uint64 bound_ns)
{
	NnShared   *shared = ensemble->shared;
	NnOrder    *order = &shared->order;
	bool		measuring = false;

	while (!all_done(shared, seq))
	{
		uint64		now_ns = nn_now_ns();

		if (order->kind == NN_ORDER_RUN && !measuring && now_ns >= order->measure_ns)
		{
			nn_ensemble_set_phase(shared, "measuring");
			measuring = true;
		}
		if (now_ns > bound_ns)
		{
			for (int i = 0; i < shared->n_workers; i++)
				if (pg_atomic_read_u64(&nn_shared_workers(shared)[i].done_seq) < seq)
					return nn_ensemble_give_up(ensemble, NN_RUN_ABORTED, ERRCODE_QUERY_CANCELED, NULL,
											   "%s worker of the run did not answer in time (pid %u)",
											   worker_role(&nn_shared_workers(shared)[i]),
											   pg_atomic_read_u32(&nn_shared_workers(shared)[i].pid));
		}
		if (!look_around(ensemble, measuring ? 0 : order->measure_ns))
			return false;
	}
	return true;
}

bool
nn_ensemble_start(NnEnsemble *ensemble)
{
	return register_workers(ensemble) && wait_until_ready(ensemble);
}

bool
nn_ensemble_play(NnEnsemble *ensemble, uint64 bound_ns)
{
	return wait_until_done(ensemble, post_order(ensemble->shared), bound_ns);
}

bool
nn_ensemble_connect(NnEnsemble *ensemble, int clients)
{
	NnShared   *shared = ensemble->shared;

	if (!shared->request.has_workload || ensemble->clients == clients)
		return true;
	nn_ensemble_set_phase(shared, "connecting");
	memset(&shared->order, 0, sizeof(shared->order));
	shared->order.kind = NN_ORDER_PREPARE;
	shared->order.clients = clients;
	ensemble->clients = clients;
	return nn_ensemble_play(ensemble, nn_now_ns() + NN_START_BOUND_NS);
}

bool
nn_ensemble_rest(NnEnsemble *ensemble, uint64 until_ns)
{
	while (nn_now_ns() < until_ns)
		if (!look_around(ensemble, until_ns))
			return false;
	return true;
}

void
nn_ensemble_end(NnEnsemble *ensemble)
{
	NnShared   *shared = ensemble->shared;
	uint64		bound_ns = nn_now_ns() + NN_HOME_BOUND_NS;
	bool		terminated = false;

	(void) nn_shared_request_stop(shared, NN_STOP_FINISHED);
	nn_ensemble_wake(shared);
	for (int i = 0; i < ensemble->n_handles; i++)
	{
		pid_t		pid;

		while (GetBackgroundWorkerPid(ensemble->handles[i], &pid) != BGWH_STOPPED)
		{
			if (nn_now_ns() > bound_ns && !terminated)
			{
				for (int j = i; j < ensemble->n_handles; j++)
					TerminateBackgroundWorker(ensemble->handles[j]);
				bound_ns += NN_HOME_BOUND_NS;
				terminated = true;
			}
			else if (nn_now_ns() > bound_ns)
				return;			/* stopped by SIGSTOP, perhaps: it burns
								 * nothing */
			(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, 50,
							 PG_WAIT_EXTENSION);
			ResetLatch(MyLatch);
			CHECK_FOR_INTERRUPTS();
		}
	}
}
