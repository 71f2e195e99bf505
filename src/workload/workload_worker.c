/*-------------------------------------------------------------------------
 *
 * workload_worker.c
 *	  The background worker that drives the clients of a run.
 *
 * The main thread takes the conductor's orders, gives them on to the driver's threads (driver.h), and
 * merges what they measured into shared memory, second by second.  It alone talks to the
 * server; the threads see neither its memory nor its state.  It tells them to stop when the run is to stop:
 * they look every 50 ms.
 *
 * The worker's exit callback stops the threads too, and waits for a moment until they have cancelled what is in
 * flight.  A thread that does not answer is inside a look-up of a host's name, where nothing can
 * reach it, and ends with the process.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>
#include <sys/resource.h>

#include "miscadmin.h"
#include "storage/fd.h"
#include "storage/ipc.h"
#include "storage/proc.h"
#include "storage/procarray.h"
#include "utils/guc.h"

#include "core/clock.h"
#include "server/worker.h"
#include "workload/driver.h"
#include "workload/failure.h"
#include "workload/target.h"

#define NN_TICK_NS			(50 * NN_NS_PER_MS) /* of the main thread during a
												 * block */
#define NN_SHORT_TICK_NS	(5 * NN_NS_PER_MS)	/* when an answer is close */
#define NN_JOIN_BOUND_NS	(2 * NN_NS_PER_S)
#define NN_SPARE_FILES		128 /* descriptors beside the clients' sockets */

typedef struct Workload
{
	NnWorker   *worker;
	NnDriver   *driver;
	NnTarget	target;
	NnScript	script;
	int64		scale;			/* 0: the tables have not been looked at */

	/* the block */
	NnDriverOrder order;
	int			collected;		/* intervals merged so far */
	NnInterval	interval;		/* the one that was merged last */
	uint64	   *thread_cpu_ns;	/* of that interval, by thread */
	uint64	   *window_cpu_ns;	/* of the window so far, by thread */
	uint64		main_cpu_ns;	/* of the main thread when the window started */
	NnHistogram lag;			/* of the generator in the window */
	uint32		band_mark;		/* when the last interval ended */

	NnFollow   *follow;			/* of client 0; NULL: it is not followed */
	int			follow_pid;		/* whose wait event was looked for last */
} Workload;

static Workload *workload;

/* Exit callback: the load ends before anything of this process is taken down. */
static void
stop_threads(int code, Datum arg)
{
	uint64		bound_ns = nn_now_ns() + NN_JOIN_BOUND_NS;

	if (workload->driver == NULL)
		return;
	nn_driver_stop(workload->driver);
	while (!nn_driver_is_finished(workload->driver) && nn_now_ns() < bound_ns)
		nn_sleep_until_ns(nn_now_ns() + NN_NS_PER_MS);
}

/* Each client has a socket: more than the usual limit allows a process at once. */
static void
raise_file_limit(int clients)
{
	struct rlimit limit;
	rlim_t		needed = (rlim_t) clients + NN_SPARE_FILES + (rlim_t) max_files_per_process;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= needed)
		return;
	limit.rlim_cur = limit.rlim_max != RLIM_INFINITY && limit.rlim_max < needed ?
		limit.rlim_max : needed;
	(void) setrlimit(RLIMIT_NOFILE, &limit);
}

static void
start_threads(Workload *w)
{
	const NnRequest *request = &w->worker->shared->request;
	int			n_threads = Max(1, Min(request->threads, request->max_clients));

	raise_file_limit(request->max_clients);
	w->thread_cpu_ns = palloc0(sizeof(uint64) * n_threads);
	w->window_cpu_ns = palloc0(sizeof(uint64) * n_threads);
	w->driver = nn_driver_create(&w->target, n_threads, request->max_clients, request->seed);
	if (w->driver == NULL)
		nn_worker_fail(w->worker, ERRCODE_OUT_OF_MEMORY, "out of memory", NULL, NULL);
	for (int i = 0; i < n_threads; i++)
	{
		NnDriverThread *thread = w->driver->threads[i];
		int			err = nn_thread_start(&thread->thread, nn_driver_thread_main, thread);

		if (err != 0)
			nn_worker_fail(w->worker, ERRCODE_INSUFFICIENT_RESOURCES,
						   psprintf("could not start client thread %d of %d", i + 1, n_threads),
						   psprintf("%s.", strerror(err)), NULL);
		thread->started = true;
#ifdef __linux__
		(void) pthread_setname_np(thread->thread, psprintf("nn-client-%d", i + 1));
#endif
	}
}

static NnWaitClass
classify(uint32_t wait_event_info)
{
	return nn_shared_wait_class(wait_event_info);
}

/*
 * Have client 0 followed.  Its backend is a process of this server, and that of the server's own account, so
 * the settings' folders don't count.  Without it a run lacks the budget of the tail, and nothing else.
 */
static void
start_follow(Workload *w)
{
	NnHostRoot	root;
	NnFollow   *follow;
	pthread_t	thread;

	if (!w->worker->shared->request.tail || !w->target.local)
		return;
	strlcpy(root.proc, NN_HOST_PROC, sizeof(root.proc));
	strlcpy(root.sys, NN_HOST_SYS, sizeof(root.sys));
	follow = nn_follow_create(&root, classify);
	if (follow == NULL || nn_thread_start(&thread, nn_follow_thread_main, follow) != 0)
		return;
#ifdef __linux__
	(void) pthread_setname_np(thread, "nn-follow");
#endif
	w->follow = follow;
	w->driver->threads[0]->clients[0].follow = follow;
}

/*
 * Show the sampling thread where the backend of client 0 tells what it waits for.  The place stays readable when the
 * backend has gone; the driver's thread takes it back when it sees another one.
 */
static void
find_wait_event(Workload *w)
{
	int			pid;
	PGPROC	   *proc;

	if (w->follow == NULL)
		return;
	pid = atomic_load(&w->follow->wanted_pid);
	if (pid <= 0 || (pid == w->follow_pid && atomic_load(&w->follow->wait_event_info) != NULL))
		return;
	w->follow_pid = pid;
	proc = BackendPidGetProc(pid);
	if (proc != NULL)
		atomic_store(&w->follow->wait_event_info, &proc->wait_event_info);
}

/* Hand the run's last moment on to the threads; they can't see it themselves. */
static void
share_deadline(Workload *w)
{
	atomic_store(&w->driver->deadline_ns,
				 pg_atomic_read_u64(&w->worker->shared->hard_deadline_ns));
}

/* --- connecting --- */

/* Have the driver connect so many clients.  False: the run is to stop. */
static bool
connect_clients(Workload *w, int clients)
{
	NnDriverOrder order;
	NnDriver   *driver = w->driver;

	memset(&order, 0, sizeof(order));
	order.kind = NN_DRIVER_CONNECT;
	order.clients = clients;
	share_deadline(w);
	nn_driver_give_order(driver, &order);
	while (!nn_driver_is_done(driver))
	{
		if (!nn_worker_wait(w->worker, nn_now_ns() + NN_SHORT_TICK_NS))
			return false;
	}
	return true;
}

/* A failure of a client that could not connect, and how many there are. */
static int
find_failure(Workload *w, const NnConnectionFailure **failure)
{
	int			failed = 0;

	for (int i = 0; i < w->driver->n_threads; i++)
	{
		NnDriverThread *thread = w->driver->threads[i];

		if (thread->n_failed > 0 && failed == 0)
			*failure = &thread->failure;
		failed += thread->n_failed;
	}
	return failed;
}

/*
 * NN_ORDER_PREPARE.  The first time one client connects before the others and looks at the tables, so
 * that what is wrong is said once and not by a thousand connections.
 */
static bool
prepare(Workload *w)
{
	NnShared   *shared = w->worker->shared;
	int			clients = shared->order.clients;
	const NnConnectionFailure *failure = NULL;
	int			failed;

	nn_worker_activity(w->worker, "connecting %d clients", clients);
	if (w->scale == 0)
	{
		if (!connect_clients(w, 1))
			return false;
		if (find_failure(w, &failure) > 0)
			nn_workload_fail(w->worker, &w->target, failure, clients, clients);
		w->scale = w->driver->threads[0]->clients[0].connection.scale;
	}
	if (!connect_clients(w, clients))
		return false;
	failed = find_failure(w, &failure);
	if (failed > 0)
		nn_workload_fail(w->worker, &w->target, failure, failed, clients);
	shared->workload.scale = (int32) w->scale;
	return true;
}

/* --- a block --- */

static double
percentile_ms(const NnHistogram *h, double p)
{
	return nn_histogram_percentile_ns(h, p) / (double) NN_NS_PER_MS;
}

static uint64
sum_of_errors(const uint64_t *errors)
{
	uint64		sum = 0;

	for (int kind = 0; kind < NN_ERROR_KINDS; kind++)
		sum += errors[kind];
	return sum;
}

/* What is seen while the run is on. */
static void
show_progress(Workload *w)
{
	NnShared   *shared = w->worker->shared;
	const NnHistogram *latency = &w->interval.latency;
	uint64		from_ns = w->collected > 0 ?
		nn_driver_interval_end_ns(&w->order, w->collected - 1) : w->order.start_ns;
	uint64		to_ns = nn_driver_interval_end_ns(&w->order, w->collected);
	double		tps = NAN;
	double		p99_ms = percentile_ms(latency, 0.99);

	if (to_ns > from_ns)
		tps = (double) latency->count * NN_NS_PER_S / (double) (to_ns - from_ns);
	SpinLockAcquire(&shared->mutex);
	shared->live_tps = tps;
	shared->live_p99_ms = p99_ms;
	SpinLockRelease(&shared->mutex);
}

static void
store_second(Workload *w, int second)
{
	NnShared   *shared = w->worker->shared;
	const NnHistogram *latency = &w->interval.latency;
	NnWorkloadSecond *row;

	if (second >= shared->request.max_seconds)
		return;
	row = &nn_shared_workload_seconds(shared)[second];
	row->transactions = latency->count;
	row->errors = sum_of_errors(w->interval.errors);
	row->avg_ms = nn_histogram_mean_ns(latency) / NN_NS_PER_MS;
	row->p50_ms = percentile_ms(latency, 0.50);
	row->p95_ms = percentile_ms(latency, 0.95);
	row->p99_ms = percentile_ms(latency, 0.99);
	row->max_ms = latency->count > 0 ? (double) latency->max_ns / NN_NS_PER_MS : NAN;
	shared->workload.n_seconds = second + 1;
}

/*
 * Which side of the checkpoints the interval lies on.  A band is seen up to a poll late, so an edge may be off
 * by that.
 */
static void
add_to_side(Workload *w)
{
	NnShared   *shared = w->worker->shared;
	NnWorkloadResult *result = &shared->workload;
	uint32		mark = pg_atomic_read_u32(&shared->band_mark);
	uint64		from_ns = w->collected > 0 ?
		nn_driver_interval_end_ns(&w->order, w->collected - 1) : w->order.start_ns;
	double		length_s = (double) (nn_driver_interval_end_ns(&w->order, w->collected) - from_ns) / NN_NS_PER_S;
	bool		changed = mark != w->band_mark;

	w->band_mark = mark;
	if (changed || w->collected < w->order.n_warmup)
		return;
	if (mark % 2 == 1)
	{
		result->inside_s += length_s;
		nn_histogram_merge(&result->inside, &w->interval.latency);
	}
	else
	{
		result->outside_s += length_s;
		nn_histogram_merge(&result->outside, &w->interval.latency);
	}
}

/* An interval of the window: add it to the block's result. */
static void
add_to_result(Workload *w)
{
	NnWorkloadResult *result = &w->worker->shared->workload;
	const uint64_t *errors = w->interval.errors;

	nn_histogram_merge(&result->latency, &w->interval.latency);
	result->late += w->interval.late;
	if (nn_driver_is_open_loop(&w->order))
	{
		nn_histogram_merge(&result->service, &w->interval.service);
		nn_histogram_merge(&w->lag, &w->interval.lag);
		result->backlog_max = Max(result->backlog_max, w->interval.backlog_max);
	}
	result->errors.serialization += errors[NN_ERROR_SERIALIZATION];
	result->errors.deadlock += errors[NN_ERROR_DEADLOCK];
	result->errors.connection += errors[NN_ERROR_CONNECTION];
	result->errors.other += errors[NN_ERROR_OTHER];
	for (int i = 0; i < w->driver->n_threads; i++)
		w->window_cpu_ns[i] += w->thread_cpu_ns[i];
	store_second(w, w->collected - w->order.n_warmup);
}

/* Merge the intervals that all threads have closed. */
static void
collect(Workload *w)
{
	NnShared   *shared = w->worker->shared;
	uint64		last_commit_ns = nn_driver_last_commit_ns(w->driver);

	while (w->collected < w->order.n_intervals &&
		   nn_driver_collect(w->driver, &w->interval, w->thread_cpu_ns))
	{
		show_progress(w);
		add_to_side(w);
		if (w->collected >= w->order.n_warmup)
			add_to_result(w);
		w->collected++;
		if (w->collected == w->order.n_warmup)
			w->main_cpu_ns = nn_thread_cpu_ns();
	}
	SpinLockAcquire(&shared->mutex);
	shared->last_commit_ns = last_commit_ns;
	SpinLockRelease(&shared->mutex);
}

static void
begin_result(Workload *w)
{
	NnShared   *shared = w->worker->shared;
	NnWorkloadResult *result = &shared->workload;
	const NnOrder *order = &shared->order;

	memset(result, 0, sizeof(*result));
	result->scale = (int32) w->scale;
	nn_histogram_reset(&result->latency);
	nn_histogram_reset(&result->service);
	nn_histogram_reset(&result->inside);
	nn_histogram_reset(&result->outside);
	nn_histogram_reset(&w->lag);
	w->band_mark = pg_atomic_read_u32(&shared->band_mark);
	memset(w->window_cpu_ns, 0, sizeof(uint64) * w->driver->n_threads);

	memset(&w->order, 0, sizeof(w->order));
	w->order.kind = NN_DRIVER_RUN;
	w->order.clients = order->clients;
	w->order.block = order->block;
	w->order.scale = w->scale;
	w->order.rate = shared->request.rate;
	w->order.latency_limit_ns = shared->request.latency_limit_ns > 0 ?
		shared->request.latency_limit_ns : PG_UINT64_MAX;
	w->order.start_ns = order->start_ns;
	w->order.measure_ns = order->measure_ns;
	w->order.end_ns = order->end_ns;
	w->order.n_warmup = nn_driver_warmup_intervals(order->start_ns, order->measure_ns);
	w->order.n_intervals = w->order.n_warmup + order->n_seconds;
	w->collected = 0;
	w->main_cpu_ns = nn_thread_cpu_ns();
}

/* The block is over and every interval merged. */
static void
end_result(Workload *w)
{
	NnWorkloadResult *result = &w->worker->shared->workload;
	uint64		window_ns = w->order.end_ns - w->order.measure_ns;
	uint64		busiest_ns = 0;
	uint64		cpu_ns = nn_thread_cpu_ns() - w->main_cpu_ns;
	uint64		error_ns = 0;

	for (int i = 0; i < w->driver->n_threads; i++)
	{
		NnDriverThread *thread = w->driver->threads[i];

		cpu_ns += w->window_cpu_ns[i];
		busiest_ns = Max(busiest_ns, w->window_cpu_ns[i]);
		if (thread->n_clients == 0)
			continue;
		result->clients += thread->n_connected;
		result->not_started += thread->not_started;
		result->unfinished += thread->unfinished;
		result->late += thread->overdue;
		if (thread->error_ns >= w->order.measure_ns && thread->error_ns > error_ns)
		{
			error_ns = thread->error_ns;
			strlcpy(result->last_error, thread->error.message, sizeof(result->last_error));
		}
	}
	if (w->follow != NULL)
		nn_follow_results(w->follow, &result->followed, &result->tail);
	result->window_ns = window_ns;
	result->driver_cpu_s = (double) cpu_ns / NN_NS_PER_S;
	result->generator_lag_p99_ms = percentile_ms(&w->lag, 0.99);
	result->driver_busiest_pct = 100.0 * (double) busiest_ns / (double) window_ns;
}

/*
 * When nobody is left to drive, there is nothing to wait for.  (A client that gave up has its
 * failure in its connection, which its thread does not touch any more in this block.)
 */
static void
check_lost(Workload *w)
{
	NnConnectionFailure failure;

	if (nn_driver_lost(w->driver) < w->order.clients)
		return;
	failure = w->driver->threads[0]->clients[0].connection.failure;
	failure.kind = NN_FAILURE_LOST;
	nn_workload_fail(w->worker, &w->target, &failure, w->order.clients, w->order.clients);
}

/* NN_ORDER_RUN.  False: the run is to stop. */
static bool
run_block(Workload *w)
{
	const NnOrder *order = &w->worker->shared->order;

	nn_worker_activity(w->worker, "block %d, %d clients", order->block, order->clients);
	share_deadline(w);
	begin_result(w);
	nn_driver_give_order(w->driver, &w->order);
	while (!nn_driver_is_done(w->driver))
	{
		uint64		now_ns = nn_now_ns();
		uint64		tick_ns = now_ns >= order->end_ns ? NN_SHORT_TICK_NS : NN_TICK_NS;
		uint64		until_ns = now_ns + tick_ns;

		if (now_ns < order->end_ns && until_ns > order->end_ns)
			until_ns = order->end_ns + NN_NS_PER_MS;
		if (!nn_worker_wait(w->worker, until_ns))
			return false;
		share_deadline(w);
		find_wait_event(w);
		collect(w);
		check_lost(w);
	}
	collect(w);
	end_result(w);
	return true;
}

/* Entry point: see server/worker.h. */
void
nn_workload_main(Datum main_arg)
{
	NnWorker	worker;
	const NnRequest *request;
	bool		go_on = true;

	nn_worker_start(&worker, main_arg);
	workload = palloc0(sizeof(Workload));
	workload->worker = &worker;
	before_shmem_exit(stop_threads, (Datum) 0);

	request = &worker.shared->request;
	if (!nn_script_builtin(&workload->script, request->workload))
		nn_worker_fail(&worker, ERRCODE_INVALID_PARAMETER_VALUE,
					   psprintf("workload \"%s\" does not exist", request->workload), NULL, NULL);
	workload->target.script = &workload->script;
	nn_workload_target(&worker, &workload->target);
	start_threads(workload);
	start_follow(workload);
	nn_worker_ready(&worker);

	while (go_on && nn_worker_next_order(&worker))
	{
		if (worker.shared->order.kind == NN_ORDER_PREPARE)
			go_on = prepare(workload);
		else
			go_on = run_block(workload);
		if (go_on)
		{
			nn_worker_activity(&worker, "waiting");
			nn_worker_done(&worker);
		}
	}
}
