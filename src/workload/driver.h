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
 * In a closed loop a client begins its next transaction when the last one has ended, and latency counts from there.  In
 * an open loop (an order with a rate) each thread has a schedule with its clients' share of the
 * rate, and latency counts from the moment at which a transaction was due, whether a client was idle then
 * or not: a server that freezes shows in all the transactions that it keeps waiting.  What was due
 * and has not been started, or not ended, when the window ends is counted, not forgotten.
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
#include "workload/follow.h"
#include "workload/poller.h"
#include "workload/schedule.h"

#define NN_DRIVER_RING	4		/* intervals of a thread: three closed, one
								 * open */

/* What one thread, or all of them, saw in one interval. */
typedef struct NnInterval
{
	uint64_t	errors[NN_ERROR_KINDS];
	uint64_t	cpu_ns;			/* used by the thread */
	uint64_t	late;			/* transactions that succeeded over the limit */
	NnHistogram latency;		/* of the transactions that succeeded */

	/* open loop only; not even reset in a closed one */
	uint64_t	backlog_max;	/* most arrivals that waited for a client at
								 * once; summed over the threads */
	NnHistogram service;		/* the same transactions, from when they were
								 * really sent */
	NnHistogram lag;			/* how late arrivals were sent for which a
								 * client was idle */
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
	double		rate;			/* transactions/s of all clients; 0: a closed
								 * loop */
	uint64_t	latency_limit_ns;	/* UINT64_MAX: none */
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
	uint64_t	intended_ns;	/* when its transaction was due: latency
								 * counts from here */
	uint64_t	begin_ns;		/* when it was sent */
	bool		running;		/* a transaction is in flight */
	NnFollow   *follow;			/* its transactions are followed; NULL: they
								 * are not */
	uint64_t	retry_ns;		/* when a pause ends; 0: no pause */
	bool		connecting;		/* it lost its connection in this block */
	int			attempts;		/* to connect, in a row, that failed */
	int			failures;		/* transactions, in a row, that failed */
	int			polled_fd;		/* -1: not watched */
	int			polled;			/* NN_POLL_* bits */

	/* open loop */
	bool		is_idle;		/* it is in the queue of the idle */
	uint64_t	idle_ns;		/* since when */
} NnClient;

/* The open loop of a thread, see open_loop.c. */
typedef struct NnOpenLoop
{
	NnSchedule	next;			/* stands before the arrival that is started
								 * next */
	NnSchedule	due;			/* has passed what was due at the last look */
	NnSchedule	stale;			/* has passed what was over the limit then */
	int		   *idle;			/* ring of max_clients clients that have
								 * nothing to do, the longest idle first */
	int			first;
	int			n_idle;
} NnOpenLoop;

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
	NnOpenLoop	open_loop;

	/* written by the thread, read by the main thread once "done" says so */
	int			n_failed;		/* clients without a connection after
								 * NN_DRIVER_CONNECT */
	int			n_connected;	/* at the end of the window */
	uint64_t	not_started;	/* arrivals that were due by then and waited
								 * for a client */
	uint64_t	unfinished;		/* transactions that were in flight then */
	uint64_t	overdue;		/* of both: over the latency limit by then */
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
static inline bool
nn_driver_is_open_loop(const NnDriverOrder *order)
{
	return order->rate > 0;
}

extern bool nn_driver_must_stop(NnDriver *driver);
extern void nn_driver_connect(NnDriverThread *thread);
extern void nn_driver_run(NnDriverThread *thread);
extern void nn_driver_watch(NnDriverThread *thread, NnClient *client);
extern void nn_driver_open_client(NnDriverThread *thread, NnClient *client, uint64_t now_ns);
extern void nn_driver_close_intervals(NnDriverThread *thread, uint64_t now_ns);
extern void nn_driver_open_intervals(NnDriverThread *thread);
extern void nn_open_loop_begin(NnDriverThread *thread);
extern void nn_open_loop_look(NnDriverThread *thread, uint64_t now_ns);
extern void nn_open_loop_idle(NnDriverThread *thread, NnClient *client, uint64_t now_ns);
extern NnClient *nn_open_loop_next(NnDriverThread *thread, uint64_t now_ns);
extern uint64_t nn_open_loop_wake_ns(const NnDriverThread *thread, uint64_t now_ns,
									 uint64_t until_ns);
extern void nn_open_loop_end(NnDriverThread *thread);

#endif							/* NN_DRIVER_H */
