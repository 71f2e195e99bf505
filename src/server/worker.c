/*-------------------------------------------------------------------------
 *
 * worker.c
 *	  Life cycle of our background workers.  See worker.h.
 *
 * A worker attaches to the run's segment, says that it is ready, carries out the conductor's
 * orders and goes home when the run is stopped.  It ends by itself when the
 * postmaster dies, when it is terminated, and when the hard deadline of the run has passed.
 * Its exit callback marks the slot, so that the conductor learns of it at once.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <signal.h>

#include "miscadmin.h"
#include "pgstat.h"
#include "port/pg_bitutils.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/proc.h"
#include "storage/procsignal.h"
#include "tcop/tcopprot.h"
#include "utils/backend_status.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/resowner.h"
#include "utils/wait_event.h"

#include "core/clock.h"
#include "server/compat.h"
#include "server/worker.h"

/* Longest sleep of a worker: bounds how late it publishes its CPU time. */
#define NN_MAX_WAIT_MS	250

/* Of libpq/libpq.h, which asks for the headers of Kerberos where the server was built with it. */
extern bool pq_check_connection(void);

int
nn_my_procno(void)
{
	return NN_MY_PROCNO;
}

void
nn_wake(int procno)
{
	if (procno >= 0 && procno < (int) ProcGlobal->allProcCount)
		SetLatch(&ProcGlobal->allProcs[procno].procLatch);
}

bool
nn_worker_register(const char *role, const char *function, dsm_handle handle,
				   int slot_number, BackgroundWorkerHandle **handle_out)
{
	BackgroundWorker worker;

	memset(&worker, 0, sizeof(worker));
	snprintf(worker.bgw_name, BGW_MAXLEN, NN_NAME " %s", role);
	snprintf(worker.bgw_type, BGW_MAXLEN, NN_NAME " %s", role);
	worker.bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION;
	worker.bgw_start_time = BgWorkerStart_RecoveryFinished;
	worker.bgw_restart_time = BGW_NEVER_RESTART;
	strlcpy(worker.bgw_library_name, NN_NAME, BGW_MAXLEN);
	strlcpy(worker.bgw_function_name, function, BGW_MAXLEN);
	worker.bgw_main_arg = UInt32GetDatum(handle);
	memcpy(worker.bgw_extra, &slot_number, sizeof(slot_number));
	worker.bgw_notify_pid = MyProcPid;
	return RegisterDynamicBackgroundWorker(&worker, handle_out);
}

void
nn_check_client(void)
{
	if (MyProcPort != NULL && WaitEventSetCanReportClosed() && !pq_check_connection())
	{
		ClientConnectionLost = true;
		InterruptPending = true;
	}
	CHECK_FOR_INTERRUPTS();
}

/*
 * An estimate, because the postmaster's table of slots is private to it: slots of
 * workers that are registered but don't run yet are counted as free.
 */
int
nn_worker_slots_free(void)
{
	int			used = 0;
	int			n;

	pgstat_clear_backend_activity_snapshot();
	n = pgstat_fetch_stat_numbackends();
	for (int i = 1; i <= n; i++)
	{
		LocalPgBackendStatus *entry = nn_compat_backend_status(i);

		if (entry && entry->backendStatus.st_backendType == B_BG_WORKER)
			used++;
	}
	return Max(max_worker_processes - used, 0);
}

static NnFailure last_error;
static emit_log_hook_type next_log_hook;

static void
remember_error(ErrorData *edata)
{
	if (edata->elevel >= ERROR && edata->sqlerrcode != ERRCODE_ADMIN_SHUTDOWN)
	{
		last_error.sqlerrcode = edata->sqlerrcode;
		strlcpy(last_error.message, edata->message ? edata->message : "", NN_MESSAGE_LEN);
		strlcpy(last_error.detail, edata->detail ? edata->detail : "", NN_MESSAGE_LEN);
		strlcpy(last_error.hint, edata->hint ? edata->hint : "", NN_MESSAGE_LEN);
	}
	if (next_log_hook)
		next_log_hook(edata);
}

void
nn_worker_remember_errors(void)
{
	next_log_hook = emit_log_hook;
	emit_log_hook = remember_error;
}

const NnFailure *
nn_worker_last_error(void)
{
	return &last_error;
}

/*
 * The conductor wants to know when a worker goes, and what of.  By then the main function, and its NnWorker, may be gone.
 */
static NnShared *exit_shared;
static NnWorkerSlot *exit_slot;

static void
worker_exit(int code, Datum arg)
{
	uint32		ready = NN_WORKER_READY;
	uint32		registered = NN_WORKER_REGISTERED;

	if (pg_atomic_read_u32(&exit_slot->state) != NN_WORKER_FAILED)
		exit_slot->failure = last_error;
	pg_write_barrier();

	/* FAILED stays: it says more than GONE. */
	if (!pg_atomic_compare_exchange_u32(&exit_slot->state, &ready, NN_WORKER_GONE))
		(void) pg_atomic_compare_exchange_u32(&exit_slot->state, &registered, NN_WORKER_GONE);
	nn_wake((int) pg_atomic_read_u32(&exit_shared->conductor_procno));
}

/*
 * Attach to the run and set up signals.  Connects to no database: the worker is seen
 * in pg_stat_activity, and holds up nobody's DROP DATABASE.
 */
void
nn_worker_start(NnWorker *worker, Datum main_arg)
{
	int			number;

	memset(worker, 0, sizeof(*worker));
	memcpy(&number, MyBgworkerEntry->bgw_extra, sizeof(number));
	CurrentResourceOwner = ResourceOwnerCreate(NULL, MyBgworkerEntry->bgw_name);
	worker->shared = nn_shared_attach(DatumGetUInt32(main_arg), &worker->segment);
	if (worker->shared == NULL)
		proc_exit(0);			/* the run has ended already */
	dsm_pin_mapping(worker->segment);
	worker->number = number;
	worker->slot = &nn_shared_workers(worker->shared)[number];
	exit_shared = worker->shared;
	exit_slot = worker->slot;
	before_shmem_exit(worker_exit, (Datum) 0);
	nn_worker_remember_errors();

	pqsignal(SIGTERM, die);
	pqsignal(SIGHUP, SIG_IGN);
	BackgroundWorkerUnblockSignals();
	BackgroundWorkerInitializeConnection(NULL, NULL, 0);

	CurrentMemoryContext = AllocSetContextCreate(TopMemoryContext, "pg_noisyneighbor worker",
												 ALLOCSET_DEFAULT_SIZES);
	pg_atomic_write_u32(&worker->slot->procno, (uint32) nn_my_procno());
	pg_write_barrier();
	pg_atomic_write_u32(&worker->slot->pid, (uint32) MyProcPid);
	nn_worker_activity(worker, "starting");
}

static void
set_state(NnWorker *worker, NnWorkerState state)
{
	pg_write_barrier();
	pg_atomic_write_u32(&worker->slot->state, state);
	nn_wake((int) pg_atomic_read_u32(&worker->shared->conductor_procno));
}

void
nn_worker_ready(NnWorker *worker)
{
	nn_worker_activity(worker, "waiting");
	set_state(worker, NN_WORKER_READY);
}

bool
nn_worker_wait(NnWorker *worker, uint64 until_ns)
{
	long		timeout_ms = NN_MAX_WAIT_MS;

	pg_atomic_write_u64(&worker->slot->cpu_ns, nn_process_cpu_ns());
	if (until_ns != 0)
	{
		uint64		now_ns = nn_now_ns();

		if (now_ns >= until_ns)
			timeout_ms = 0;
		else
			timeout_ms = (long) Min((until_ns - now_ns + NN_NS_PER_MS - 1) / NN_NS_PER_MS,
									NN_MAX_WAIT_MS);
	}
	if (!nn_shared_must_stop(worker->shared))
	{
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
						 timeout_ms, PG_WAIT_EXTENSION);
		ResetLatch(MyLatch);
	}
	CHECK_FOR_INTERRUPTS();
	return !nn_shared_must_stop(worker->shared);
}

/* Is there a new order?  Then it is ours from now on. */
bool
nn_worker_take_order(NnWorker *worker)
{
	uint64		seq = pg_atomic_read_u64(&worker->shared->order_seq);

	if (seq <= worker->order_seq)
		return false;
	pg_read_barrier();
	worker->order_seq = seq;
	return true;
}

/* Wait for the next order.  False: go home. */
bool
nn_worker_next_order(NnWorker *worker)
{
	while (!nn_worker_take_order(worker))
		if (!nn_worker_wait(worker, 0))
			return false;
	return !nn_shared_must_stop(worker->shared);
}

/* The order is carried out and its results are in shared memory. */
void
nn_worker_done(NnWorker *worker)
{
	pg_atomic_write_u64(&worker->slot->cpu_ns, nn_process_cpu_ns());
	pg_write_barrier();
	pg_atomic_write_u64(&worker->slot->done_seq, worker->order_seq);
	nn_wake((int) pg_atomic_read_u32(&worker->shared->conductor_procno));
}

void
nn_worker_fail(NnWorker *worker, int sqlerrcode, const char *message,
			   const char *detail, const char *hint)
{
	NnFailure  *failure = &worker->slot->failure;

	strlcpy(failure->message, message ? message : "worker failed", sizeof(failure->message));
	strlcpy(failure->detail, detail ? detail : "", sizeof(failure->detail));
	strlcpy(failure->hint, hint ? hint : "", sizeof(failure->hint));
	failure->sqlerrcode = sqlerrcode ? sqlerrcode : ERRCODE_INTERNAL_ERROR;
	set_state(worker, NN_WORKER_FAILED);
	proc_exit(0);
}

void
nn_worker_activity(NnWorker *worker, const char *fmt,...)
{
	char		text[256];
	int			len;
	va_list		args;
	int64		run_id;

	SpinLockAcquire(&worker->shared->mutex);
	run_id = worker->shared->run_id;
	SpinLockRelease(&worker->shared->mutex);
	len = snprintf(text, sizeof(text), "run " INT64_FORMAT ": ", run_id);
	va_start(args, fmt);
	vsnprintf(text + len, sizeof(text) - len, fmt, args);
	va_end(args);
	pgstat_report_activity(STATE_RUNNING, text);
}

void
nn_worker_fix_settings(void)
{
	static const char *const settings[][2] = {
		{"search_path", "pg_catalog, pg_temp"},
		{"default_transaction_read_only", "off"},
		{"default_transaction_isolation", "read committed"},
		{"default_transaction_deferrable", "off"},
		{"statement_timeout", "0"},
		{"lock_timeout", NN_LOCK_TIMEOUT},	/* somebody may hold our rows for
											 * long */
		{"synchronous_commit", "local"},	/* a standby that is gone must not
											 * hold up a run */
		{"idle_in_transaction_session_timeout", "0"},
		{"transaction_timeout", "0"},	/* where there is one */
		{"session_replication_role", "origin"},
		{"row_security", "off"},
		{"jit", "off"}
	};

	for (int i = 0; i < (int) lengthof(settings); i++)
		if (GetConfigOption(settings[i][0], true, false) != NULL)
			SetConfigOption(settings[i][0], settings[i][1], PGC_SUSET, PGC_S_OVERRIDE);
}

int
nn_thread_start(pthread_t *thread, void *(*function) (void *), void *arg)
{
	sigset_t	all;
	sigset_t	old;
	int			err;

	sigfillset(&all);
	err = pthread_sigmask(SIG_SETMASK, &all, &old);
	if (err != 0)
		return err;
	err = pthread_create(thread, NULL, function, arg);
	(void) pthread_sigmask(SIG_SETMASK, &old, NULL);
	return err;
}
