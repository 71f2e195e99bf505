/*-------------------------------------------------------------------------
 *
 * noise_worker.c
 *	  Noise worker: the process that the load threads of a run live in.
 *
 * A run has one or more noise workers, and each runs the load threads of the plan
 * that name it.  The main thread takes the conductor's orders, hands those to run a block to its
 * load threads (load_pool.c) and answers when the last has finished.  It
 * generates no load itself; while a block runs it sleeps on its latch.
 *
 * However the process ends (the stop of the run, SIGTERM, an error, the death
 * of the postmaster), the exit callback ends the threads before the shared memory
 * of the run is let go.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <string.h>

#include "storage/ipc.h"

#include "core/clock.h"
#include "noise/load_pool.h"
#include "server/worker.h"

/* How often it is looked whether the threads are ready, where a latch cannot tell. */
#define POLL_NS		(2 * NN_NS_PER_MS)

static void
stop_threads(int code, Datum arg)
{
	(void) code;
	nn_load_pool_stop((NnLoadPool *) DatumGetPointer(arg));
}

static void
fail(NnWorker *worker, const char *stressor, const char *error)
{
	char		message[NN_MESSAGE_LEN];

	snprintf(message, sizeof(message), "could not prepare noise \"%s\"", stressor);
	nn_worker_fail(worker, ERRCODE_OUT_OF_MEMORY, message, error,
				   "Ask for fewer \"bytes\" or \"workers\" in noise_options.");
}

/* Wait until all threads are ready for an order; false when the run must stop. */
static bool
wait_for_threads(NnWorker *worker, NnLoadPool *pool)
{
	const char *stressor = NULL;
	const char *error = NULL;

	for (;;)
	{
		switch (nn_load_pool_state(pool, &stressor, &error))
		{
			case NN_POOL_READY:
				return true;
			case NN_POOL_FAILED:
				fail(worker, stressor, error);
				break;
			case NN_POOL_BUSY:
				break;
		}
		if (!nn_worker_wait(worker, nn_now_ns() + POLL_NS))
			return false;
	}
}

/* Run one block: the threads know its end themselves. False when the run must stop. */
static bool
run_block(NnWorker *worker, NnLoadPool *pool)
{
	const NnOrder *order = &worker->shared->order;

	nn_worker_activity(worker, "block %d, level %g %%, %d load threads",
					   order->block, order->level_pct, nn_load_pool_threads(pool));
	nn_load_pool_order(pool, order);
	while (nn_now_ns() < order->end_ns)
	{
		if (!nn_worker_wait(worker, order->end_ns))
			return false;
	}
	return wait_for_threads(worker, pool);
}

void
nn_noise_main(Datum main_arg)
{
	NnWorker	worker;
	NnLoadPool *pool;
	int			err;

	nn_worker_start(&worker, main_arg);
	pool = nn_load_pool_create(worker.shared, worker.slot->index);
	before_shmem_exit(stop_threads, PointerGetDatum(pool));
	err = nn_load_pool_start(pool);
	if (err != 0)
		nn_worker_fail(&worker, ERRCODE_INSUFFICIENT_RESOURCES, "could not start load threads",
					   strerror(err), "Ask for fewer \"workers\" in noise_options.");
	if (!wait_for_threads(&worker, pool))
		return;
	nn_worker_ready(&worker);

	while (nn_worker_next_order(&worker))
	{
		if (worker.shared->order.kind == NN_ORDER_RUN)
		{
			if (!run_block(&worker, pool))
				break;
			nn_worker_activity(&worker, "waiting");
		}
		nn_worker_done(&worker);
	}
}
