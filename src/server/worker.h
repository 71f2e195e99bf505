/*-------------------------------------------------------------------------
 *
 * worker.h
 *	  Life cycle of our background workers.
 *
 * A worker's main function calls nn_worker_start() first, then does its set-up, then
 * nn_worker_ready(), then takes orders with nn_worker_next_order() until that returns false, then returns.
 *
 *	void
 *	nn_xyz_main(Datum main_arg)
 *	{
 *		NnWorker	worker;
 *
 *		nn_worker_start(&worker, main_arg);
 *		... set-up; nn_worker_fail() for what the user should read ...
 *		nn_worker_ready(&worker);
 *		while (nn_worker_next_order(&worker))
 *		{
 *			... carry out worker.shared->order ...
 *			nn_worker_done(&worker);
 *		}
 *	}
 *
 * Load and client threads: started with nn_thread_start (every signal blocked), they
 * call nothing of the server; the main thread waits with nn_worker_wait().
 *
 *-------------------------------------------------------------------------
 */
#ifndef NN_WORKER_H
#define NN_WORKER_H

#include "postgres.h"

#include <pthread.h>

#include "postmaster/bgworker.h"

#include "server/shared.h"

/* Of transactions of our own: somebody may hold a lock on our tables. */
#define NN_LOCK_TIMEOUT	"10s"

typedef struct NnWorker
{
	dsm_segment *segment;
	NnShared   *shared;
	NnWorkerSlot *slot;
	int			number;			/* of the slot */
	uint64		order_seq;		/* of the order that is being carried out */
} NnWorker;

/* --- called by the conductor and by callers --- */

/*
 * Register a worker; false when no slot is free.  "role" is the last word of the name:
 * 'conductor', 'noise', 'workload', 'lock', 'sample'.  The new worker's notify pid is the caller's.
 */
extern bool nn_worker_register(const char *role, const char *function, dsm_handle handle,
							   int slot_number, BackgroundWorkerHandle **handle_out);

/* Set the latch of a process by its PGPROC number; harmless when it has gone. */
extern void nn_wake(int procno);
extern int	nn_my_procno(void);

/* Worker slots of the server that look free now (other than ours to come). */
extern int	nn_worker_slots_free(void);

/*
 * For callers that wait: handle interrupts, and treat a client program that died as a session that ends, without
 * waiting for something to send to it.
 */
extern void nn_check_client(void);

/* --- called by a worker --- */

extern void nn_worker_start(NnWorker *worker, Datum main_arg);
extern void nn_worker_ready(NnWorker *worker);
extern bool nn_worker_take_order(NnWorker *worker);
extern bool nn_worker_next_order(NnWorker *worker);
extern void nn_worker_done(NnWorker *worker);

/*
 * Wait for the latch or until the monotonic clock reads until_ns (0: only the
 * latch; waits are cut to 250 ms).  Publishes the CPU time, handles
 * interrupts and the death of the postmaster.  Returns false when the run must stop.
 */
extern bool nn_worker_wait(NnWorker *worker, uint64 until_ns);

/*
 * Remember the error that this process dies of, for its exit callback: ERROR or FATAL, but not that it was
 * terminated by an administrator.  nn_worker_start() does so.
 */
extern void nn_worker_remember_errors(void);
extern const NnFailure *nn_worker_last_error(void); /* sqlerrcode 0: none */

/* Report a failure to the conductor and exit. Strings may be NULL. */
extern void nn_worker_fail(NnWorker *worker, int sqlerrcode, const char *message,
						   const char *detail, const char *hint) __attribute__((noreturn));

/* Text of pg_stat_activity.query, with the run in front. */
extern void nn_worker_activity(NnWorker *worker, const char *fmt,...) pg_attribute_printf(2, 3);

/* For a worker with a database: its and the role's settings must not reach our transactions. */
extern void nn_worker_fix_settings(void);

/* Start a thread that blocks every signal. 0 or an errno. */
extern int	nn_thread_start(pthread_t *thread, void *(*function) (void *), void *arg);

/* Entry points of the workers. */
extern PGDLLEXPORT void nn_conductor_main(Datum main_arg);
extern PGDLLEXPORT void nn_noise_main(Datum main_arg);
extern PGDLLEXPORT void nn_workload_main(Datum main_arg);
extern PGDLLEXPORT void nn_lock_probe_main(Datum main_arg);
extern PGDLLEXPORT void nn_sample_main(Datum main_arg);

#endif							/* NN_WORKER_H */
