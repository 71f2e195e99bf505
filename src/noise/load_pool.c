/*-------------------------------------------------------------------------
 *
 * load_pool.c
 *	  The load threads of one noise worker.
 *
 * One POSIX thread per load thread of the plan.  It creates the state of its stressor, then
 * waits on a condition variable for orders, carries each out with nn_duty_run()
 * and says so.  Threads call nothing of the server; in the run's shared memory
 * they read the stop request and write their own NnLoadThread and NnDoseSecond rows.
 *
 * Locks: the pool's mutex guards everything in the section "under the mutex" of the
 * structs below; nothing is called with it held but pthread functions.
 *
 * The end: the shared memory is unmapped when the process exits, so no thread that
 * may touch it can be left behind.  A thread that carries out an order looks at
 * the stop flag every piece of work, so waiting for it takes
 * milliseconds.  One that still creates its state (a large working set takes seconds) touches
 * nothing but its own memory and looks at the flag before anything else: it is not waited for.  The wait
 * has a bound, because a piece of work may hang where memory is short (page faults of a control group
 * over its limit sleep for seconds): so a thread that has been told to stop never touches shared memory again.
 *
 * The pool belongs to the memory context that it was created in, which must live as long as
 * the process does: threads may outlive everything else.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>

#include "storage/shmem.h"

#include "core/clock.h"
#include "noise/duty.h"
#include "noise/load_pool.h"
#include "noise/stressors.h"
#include "server/worker.h"

/* A thread that may touch shared memory is waited for this long. */
#define STOP_BOUND_NS	(10 * NN_NS_PER_S)

typedef enum ThreadState
{
	THREAD_NOT_STARTED,
	THREAD_CREATING,			/* its own memory only */
	THREAD_LIVE,				/* waits for orders or carries one out */
	THREAD_FAILED,				/* ended: "error" says why */
	THREAD_ENDED				/* ended as it was told to */
} ThreadState;

typedef struct PoolThread
{
	/* immutable once the thread is started */
	NnLoadPool *pool;
	pthread_t	thread;
	int			number;			/* row of the shared load threads */
	const NnStressor *stressor;
	uint64_t	bytes;
	uint64_t	seed;
	uint64_t	phase_ns;
	char		name[16];		/* of the thread, as long as the kernel allows */

	/* under the mutex */
	ThreadState state;
	uint64_t	done;			/* the last order it has carried out */
	char		error[NN_STRESSOR_ERROR_LEN];
} PoolThread;

struct NnLoadPool
{
	/* immutable */
	NnShared   *shared;
	int			n_threads;

	pthread_mutex_t mutex;
	pthread_cond_t ordered;		/* a new order, or the stop */
	pthread_cond_t ended;		/* a thread has ended */

	pg_atomic_uint32 stop;

	/* under the mutex */
	NnOrder		order;
	uint64_t	given;			/* number of the latest order */

	PoolThread	threads[FLEXIBLE_ARRAY_MEMBER];
};

/* The clock that condition variables wait by. */
#ifdef __APPLE__
#define COND_CLOCK	CLOCK_REALTIME
#else
#define COND_CLOCK	CLOCK_MONOTONIC
#endif

static void
init_condition(pthread_cond_t *condition)
{
	pthread_condattr_t attributes;

	pthread_condattr_init(&attributes);
#ifndef __APPLE__
	pthread_condattr_setclock(&attributes, COND_CLOCK);
#endif
	pthread_cond_init(condition, &attributes);
	pthread_condattr_destroy(&attributes);
}

/* Wait for a condition, or until the monotonic clock reads until_ns; may return early. */
static void
timed_wait(NnLoadPool *pool, pthread_cond_t *condition, uint64_t until_ns)
{
	uint64_t	now_ns = nn_now_ns();
	struct timespec deadline;

	if (until_ns <= now_ns)
		return;
	until_ns = nn_clock_read_ns(COND_CLOCK) + (until_ns - now_ns);
	deadline.tv_sec = (time_t) (until_ns / NN_NS_PER_S);
	deadline.tv_nsec = (long) (until_ns % NN_NS_PER_S);
	pthread_cond_timedwait(condition, &pool->mutex, &deadline);
}

/* --- in the load threads --- */

/* Told to stop by our own process, which may be about to let the shared memory go. */
static inline bool
is_stopped(NnLoadPool *pool)
{
	return pg_atomic_read_u32(&pool->stop) != 0;
}

static bool
thread_must_stop(void *arg)
{
	NnLoadPool *pool = ((PoolThread *) arg)->pool;

	return is_stopped(pool) || nn_shared_must_stop(pool->shared);
}

static void
thread_wait_until(void *arg, uint64_t until_ns)
{
	NnLoadPool *pool = ((PoolThread *) arg)->pool;

	pthread_mutex_lock(&pool->mutex);
	if (!is_stopped(pool))
		timed_wait(pool, &pool->ordered, until_ns);
	pthread_mutex_unlock(&pool->mutex);
}

static void
thread_record_second(void *arg, int second, double achieved_pct)
{
	PoolThread *thread = arg;
	NnShared   *shared = thread->pool->shared;

	if (!is_stopped(thread->pool) && second < shared->request.max_seconds)
		nn_shared_dose_second(shared, thread->number, second)->achieved_pct = (float) achieved_pct;
}

/* Carry out a block; the thread's results are complete in shared memory afterwards, unless it was stopped. */
static void
thread_run_block(PoolThread *thread, void *stressor_state, const NnOrder *order)
{
	NnShared   *shared = thread->pool->shared;
	NnLoadThread *load = &nn_shared_load_threads(shared)[thread->number];
	NnDutyEnv	env;
	NnDutyOrder duty;
	NnDutyResult result;

	for (int second = 0; second < shared->request.max_seconds; second++)
		nn_shared_dose_second(shared, thread->number, second)->achieved_pct = NAN;

	env.must_stop = thread_must_stop;
	env.wait_until = thread_wait_until;
	env.record_second = thread_record_second;
	env.arg = thread;
	duty.level_pct = order->level_pct;
	duty.start_ns = order->start_ns;
	duty.measure_ns = order->measure_ns;
	duty.end_ns = order->end_ns;
	duty.n_seconds = order->n_seconds;
	duty.phase_ns = thread->phase_ns;
	nn_duty_run(thread->stressor, stressor_state, thread->bytes, &duty, &env, &result);
	if (is_stopped(thread->pool))
		return;

	load->requested_pct = order->level_pct;
	load->achieved_pct = result.achieved_pct;
	load->rate = result.rate;
	load->cpu_pct = result.cpu_pct;
	load->unreachable = result.unreachable;
}

/*
 * Wait for an order that the thread hasn't carried out; false at the stop.  The one that it has
 * finished is marked first.
 */
static bool
thread_next_order(PoolThread *thread, uint64_t *current, NnOrder *order)
{
	NnLoadPool *pool = thread->pool;
	bool		go_on;

	pthread_mutex_lock(&pool->mutex);
	thread->done = *current;
	while (!is_stopped(pool) && pool->given == thread->done)
		pthread_cond_wait(&pool->ordered, &pool->mutex);
	go_on = !is_stopped(pool);
	*current = pool->given;
	*order = pool->order;
	pthread_mutex_unlock(&pool->mutex);
	return go_on;
}

static void
thread_set_state(PoolThread *thread, ThreadState state)
{
	NnLoadPool *pool = thread->pool;

	pthread_mutex_lock(&pool->mutex);
	thread->state = state;
	pthread_cond_broadcast(&pool->ended);
	pthread_mutex_unlock(&pool->mutex);
}

static void
thread_set_name(const PoolThread *thread)
{
#ifdef __linux__
	(void) pthread_setname_np(pthread_self(), thread->name);
#else
	(void) thread;
#endif
}

static void *
thread_main(void *arg)
{
	PoolThread *thread = arg;
	uint64_t	current = 0;
	NnOrder		order;
	char		error[NN_STRESSOR_ERROR_LEN] = "";
	void	   *stressor_state;

	thread_set_name(thread);
	stressor_state = thread->stressor->create(thread->bytes, thread->seed, error);
	if (stressor_state == NULL)
	{
		memcpy(thread->error, error, sizeof(error));
		thread_set_state(thread, THREAD_FAILED);
		return NULL;
	}

	/*
	 * From here on the thread may touch shared memory, unless it has been
	 * told to stop.
	 */
	thread_set_state(thread, THREAD_LIVE);
	while (thread_next_order(thread, &current, &order))
		thread_run_block(thread, stressor_state, &order);
	thread->stressor->destroy(stressor_state);
	thread_set_state(thread, THREAD_ENDED);
	return NULL;
}

/* --- in the main thread --- */

/* Fill in what a load thread needs to know of the plan. */
static void
init_thread(NnLoadPool *pool, int number, int duty_number, int duty_threads)
{
	const NnRequest *request = &pool->shared->request;
	const NnLoadThread *load = &nn_shared_load_threads(pool->shared)[number];
	const NnStressorSpec *spec = &request->stressors[load->stressor];
	PoolThread *thread = &pool->threads[pool->n_threads++];

	thread->pool = pool;
	thread->number = number;
	thread->stressor = nn_stressor_find(spec->name);
	if (thread->stressor == NULL)
		elog(ERROR, "there is no stressor \"%s\"", spec->name);
	thread->bytes = spec->bytes;
	thread->seed = request->seed + (uint64_t) number;
	thread->phase_ns = nn_duty_phase_ns(duty_number, duty_threads);
	snprintf(thread->name, sizeof(thread->name), "nn-%s-%d", spec->name, load->worker);
	thread->state = THREAD_NOT_STARTED;
}

static bool
is_duty(const NnShared *shared, const NnLoadThread *load)
{
	const NnStressor *stressor = nn_stressor_find(shared->request.stressors[load->stressor].name);

	return stressor != NULL && stressor->kind != NN_DOSE_HOLD;
}

NnLoadPool *
nn_load_pool_create(NnShared *shared, int process)
{
	const NnLoadThread *loads = nn_shared_load_threads(shared);
	const int	n_loads = shared->request.n_load_threads;
	int			duty_threads = 0;
	int			duty_number = 0;
	NnLoadPool *pool;

	pool = palloc0(add_size(offsetof(NnLoadPool, threads),
							mul_size(sizeof(PoolThread), n_loads)));
	pool->shared = shared;
	pthread_mutex_init(&pool->mutex, NULL);
	init_condition(&pool->ordered);
	init_condition(&pool->ended);
	pg_atomic_init_u32(&pool->stop, 0);

	for (int i = 0; i < n_loads; i++)
		duty_threads += is_duty(shared, &loads[i]);
	for (int i = 0; i < n_loads; i++)
	{
		if (loads[i].process == process)
			init_thread(pool, i, duty_number, duty_threads);
		duty_number += is_duty(shared, &loads[i]);
	}
	return pool;
}

int
nn_load_pool_threads(const NnLoadPool *pool)
{
	return pool->n_threads;
}

int
nn_load_pool_start(NnLoadPool *pool)
{
	for (int i = 0; i < pool->n_threads; i++)
	{
		PoolThread *thread = &pool->threads[i];
		int			err;

		/* Nobody else looks at the state of a thread that isn't started. */
		thread->state = THREAD_CREATING;
		err = nn_thread_start(&thread->thread, thread_main, thread);
		if (err != 0)
		{
			thread->state = THREAD_NOT_STARTED;
			return err;
		}
	}
	return 0;
}

NnPoolState
nn_load_pool_state(NnLoadPool *pool, const char **stressor, const char **error)
{
	NnPoolState state = NN_POOL_READY;

	pthread_mutex_lock(&pool->mutex);
	for (int i = 0; i < pool->n_threads && state != NN_POOL_FAILED; i++)
	{
		PoolThread *thread = &pool->threads[i];

		if (thread->state == THREAD_FAILED)
		{
			state = NN_POOL_FAILED;
			*stressor = thread->stressor->name;
			*error = thread->error;
		}
		else if (thread->state != THREAD_LIVE || thread->done != pool->given)
			state = NN_POOL_BUSY;
	}
	pthread_mutex_unlock(&pool->mutex);
	return state;
}

void
nn_load_pool_order(NnLoadPool *pool, const NnOrder *order)
{
	pthread_mutex_lock(&pool->mutex);
	pool->order = *order;
	pool->given++;
	pthread_cond_broadcast(&pool->ordered);
	pthread_mutex_unlock(&pool->mutex);
}

/* Is there a thread that has to be waited for? */
static bool
has_live_thread(const NnLoadPool *pool)
{
	for (int i = 0; i < pool->n_threads; i++)
	{
		if (pool->threads[i].state == THREAD_LIVE)
			return true;
	}
	return false;
}

void
nn_load_pool_stop(NnLoadPool *pool)
{
	uint64_t	bound_ns = nn_now_ns() + STOP_BOUND_NS;

	pg_atomic_write_u32(&pool->stop, 1);
	pthread_mutex_lock(&pool->mutex);
	pthread_cond_broadcast(&pool->ordered);
	while (has_live_thread(pool) && nn_now_ns() < bound_ns)
		timed_wait(pool, &pool->ended, bound_ns);
	pthread_mutex_unlock(&pool->mutex);
}
