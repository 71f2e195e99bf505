/*-------------------------------------------------------------------------
 *
 * driver.h
 *	  The threads that drive the clients, and what they measure.
 *
 * Client i belongs to thread i mod n_threads for the whole run.  The main thread gives an order (connect
 * so many clients; run a block) to all threads at once and waits until all have answered; between orders they
 * sleep on a condition variable.
 *
 * Time is cut into intervals: the seconds of the warm-up, counted back from the start of the measured
 * window, then the seconds of the window, the last of which may be a shorter one.  A
 * transaction counts in the interval in which its last result arrived, by the clock of the thread
 * that received it, whenever somebody looks.  So the intervals of the window sum to the
 * window, and its length is exactly what was ordered.  A transaction that began in the
 * warm-up and ended in the window counts, with its whole latency; one that ends after the window does not.
 *
 * Each thread records into a ring of intervals of its own: no locks, one writer.  It
 * publishes how many intervals it has closed; the main thread merges them and publishes how many it has
 * collected.  A thread that finds the ring full keeps the interval open a little longer,
 * so that nothing is lost however late the main thread is.
 *
 * The threads touch no shared memory of the server, only what is here: a thread that is stuck in a
 * look-up of a host's name while the process goes home finds nothing unmapped under its feet.
 *
 * Memory is from malloc(), belongs to the NnDriver and lives as long as the process.
 *
 *-------------------------------------------------------------------------
 */
#ifndef NN_DRIVER_H
#define NN_DRIVER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/histogram.h"
#include "workload/connection.h"
#include "workload/poller.h"

#define NN_DRIVER_RING	4		/* intervals of a thread: three closed, one
								 * open */

/* What one thread, or all of them, saw in one interval. */
typedef struct NnInterval
{
	uint64_t	errors[NN_ERROR_KINDS];
	uint64_t	cpu_ns;			/* used by the thread */
	NnHistogram latency;		/* of the transactions that succeeded */
} NnInterval;

typedef enum NnDriverOrderKind
{
	NN_DRIVER_CONNECT,			/* have exactly "clients" connections */
	NN_DRIVER_RUN				/* run transactions on them */
} NnDriverOrderKind;

typedef struct NnDriverOrder
{
	NnDriverOrderKind kind;
	int			clients;

	/* NN_DRIVER_RUN */
	int			block;			/* selects the random numbers */
	int64_t		scale;
	uint64_t	start_ns;
	uint64_t	measure_ns;
	uint64_t	end_ns;
	int			n_warmup;		/* intervals before measure_ns */
	int			n_intervals;	/* all, those of the warm-up included */
} NnDriverOrder;

typedef struct NnClient
{
	NnConnection connection;
	int			number;			/* in the whole run: 0, 1, … */
	uint64_t	begin_ns;		/* of its transaction */
	uint64_t	retry_ns;		/* when a pause ends; 0: no pause */
	bool		connecting;		/* it lost its connection in this block */
	int			attempts;		/* to connect, in a row, that failed */
	int			failures;		/* transactions, in a row, that failed */
	int			polled_fd;		/* -1: not watched */
	int			polled;			/* NN_POLL_* bits */
} NnClient;

typedef struct NnDriver NnDriver;

typedef struct NnDriverThread
{
	/* immutable */
	NnDriver   *driver;
	int			index;
	int			max_clients;
	NnClient   *clients;
	NnPoller   *poller;
	pthread_t	thread;
	bool		started;

	/* the thread's own */
	NnDriverOrder order;
	int			n_clients;		/* of this order */
	int			n_running;		/* transactions in flight */
	int			n_unsettled;	/* clients that connect, or pause */
	uint64_t	cpu_ns;			/* when the open interval began */
	uint64_t	boundary_ns;	/* when it ends; UINT64_MAX after the last one */
	NnInterval *open;			/* NULL outside of the intervals */

	/* written by the thread, read by the main thread once "done" says so */
	int			n_failed;		/* clients without a connection after
								 * NN_DRIVER_CONNECT */
	int			n_connected;	/* at the end of the window */
	NnConnectionFailure failure;	/* of one of them */
	uint64_t	error_ns;		/* when the last error came; 0: none in this
								 * block */
	NnError		error;

	/* shared while an order is carried out: written by the thread */
	_Atomic uint64_t done;		/* the last order that it has carried out */
	_Atomic uint64_t closed;	/* intervals of the block that are closed */
	_Atomic uint64_t last_commit_ns;
	_Atomic int lost;			/* clients that gave up in this block */
	_Atomic bool finished;		/* it has gone */

	/* and by the main thread */
	_Atomic uint64_t collected; /* intervals that it has merged */

	NnInterval	ring[NN_DRIVER_RING];
} NnDriverThread;

struct NnDriver
{
	/* immutable */
	const NnTarget *target;
	int			n_threads;
	NnDriverThread **threads;
	uint64_t	seed;

	/*
	 * the threads stop when this is set, or when the clock has passed the
	 * deadline
	 */
	_Atomic bool stop;
	_Atomic uint64_t deadline_ns;	/* 0: none */

	/* under the mutex */
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	uint64_t	order_number;
	NnDriverOrder order;
};

/* --- main thread --- */
extern NnDriver *nn_driver_create(const NnTarget *target, int n_threads, int n_clients,
								  uint64_t seed);
extern void *nn_driver_thread_main(void *thread);
extern void nn_driver_give_order(NnDriver *driver, const NnDriverOrder *order);
extern bool nn_driver_is_done(NnDriver *driver);
extern bool nn_driver_collect(NnDriver *driver, NnInterval *into, uint64_t *thread_cpu_ns);
extern uint64_t nn_driver_last_commit_ns(NnDriver *driver);
extern int	nn_driver_lost(NnDriver *driver);
extern void nn_driver_stop(NnDriver *driver);
extern bool nn_driver_is_finished(NnDriver *driver);

/* Intervals of a warm-up. */
extern int	nn_driver_warmup_intervals(uint64_t start_ns, uint64_t measure_ns);

/* End of interval "number" of a block. */
extern uint64_t nn_driver_interval_end_ns(const NnDriverOrder *order, int number);

/* --- between the files of the driver --- */
extern bool nn_driver_must_stop(NnDriver *driver);
extern void nn_driver_connect(NnDriverThread *thread);
extern void nn_driver_run(NnDriverThread *thread);
extern void nn_driver_watch(NnDriverThread *thread, NnClient *client);
extern void nn_driver_close_intervals(NnDriverThread *thread, uint64_t now_ns);
extern void nn_driver_open_intervals(NnDriverThread *thread);

#endif							/* NN_DRIVER_H */
