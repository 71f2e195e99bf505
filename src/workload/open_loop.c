/*-------------------------------------------------------------------------
 *
 * open_loop.c
 *	  The open loop of a driver thread: which client starts which arrival, and what is left over.  See driver.h.
 *
 * A thread passes through its schedule with three cursors, copies of one another that run ahead of each other, so
 * that nothing needs to be stored for an arrival that waits:
 *
 *	 next	the arrival that is started next; those before it have been started
 *	 due	has passed what is due by now: due.passed - next.passed arrivals wait, the backlog
 *	 stale	has passed what would be over the latency limit if it were started now
 *
 * Arrivals are started in their order, by the client that has been idle for longest, so that all connections are used
 * alike.  An arrival waits when no client is idle.  The backlog is looked at when a client becomes idle
 * after none was, which is when it is largest, and by the housekeeping, for the case that none ever does.
 *
 * The lag of the generator is how late an arrival is sent for which a client was idle when it was due: the
 * thread's own fault, or that of who keeps it from the CPU.  Waiting for a client is not: that is the server's.
 *
 *-------------------------------------------------------------------------
 */
#include "workload/driver.h"

#include "core/clock.h"

/* Streams of random numbers: those of the clients are below. */
#define FIRST_STREAM	UINT64_C(0x80000000)

/* Start anew at the start of the block, with the thread's share of the rate. */
void
nn_open_loop_begin(NnDriverThread *thread)
{
	NnOpenLoop *loop = &thread->open_loop;
	const NnDriverOrder *order = &thread->order;

	nn_poller_be_punctual();
	nn_schedule_start(&loop->next, order->rate * thread->n_clients / order->clients,
					  thread->driver->seed,
					  ((uint64_t) order->block << 32) | (FIRST_STREAM + (uint64_t) thread->index),
					  order->start_ns);
	loop->due = loop->next;
	loop->stale = loop->next;
	loop->first = 0;
	loop->n_idle = 0;
	for (int i = 0; i < thread->max_clients; i++)
		thread->clients[i].is_idle = false;
}

/* Take note of the arrivals that wait for a client. */
void
nn_open_loop_look(NnDriverThread *thread, uint64_t now_ns)
{
	NnOpenLoop *loop = &thread->open_loop;
	uint64_t	limit_ns = thread->order.latency_limit_ns;
	uint64_t	backlog;

	/*
	 * What is due when the block has ended is never started, and counted at
	 * its end.
	 */
	if (now_ns >= thread->order.end_ns)
		now_ns = thread->order.end_ns - 1;
	nn_schedule_pass_until(&loop->due, now_ns);
	if (now_ns > limit_ns)
		nn_schedule_pass_until(&loop->stale, now_ns - limit_ns);
	backlog = loop->due.passed > loop->next.passed ? loop->due.passed - loop->next.passed : 0;
	if (loop->n_idle == 0 && thread->open != NULL && backlog > thread->open->backlog_max)
		thread->open->backlog_max = backlog;
}

/* The client has nothing to do from now on. */
void
nn_open_loop_idle(NnDriverThread *thread, NnClient *client, uint64_t now_ns)
{
	NnOpenLoop *loop = &thread->open_loop;

	if (loop->n_idle == 0)
		nn_open_loop_look(thread, now_ns);
	client->idle_ns = now_ns;
	if (client->is_idle)
		return;					/* it was lost while it waited, and is back */
	client->is_idle = true;
	loop->idle[(loop->first + loop->n_idle) % thread->max_clients] = (int) (client - thread->clients);
	loop->n_idle++;
}

/* Take the client that has been idle for longest out of the queue; NULL: none. */
static NnClient *
take_idle(NnDriverThread *thread)
{
	NnOpenLoop *loop = &thread->open_loop;

	while (loop->n_idle > 0)
	{
		NnClient   *client = &thread->clients[loop->idle[loop->first]];

		loop->first = (loop->first + 1) % thread->max_clients;
		loop->n_idle--;
		client->is_idle = false;
		if (client->connection.state == NN_CONNECTION_IDLE && client->retry_ns == 0)
			return client;
		/* Its connection was lost while it waited. */
	}
	return NULL;
}

/*
 * A client for the next arrival, if one is due and a client is idle; its intended_ns is set.  The
 * caller starts the transaction now.  NULL: nothing to start.
 */
NnClient *
nn_open_loop_next(NnDriverThread *thread, uint64_t now_ns)
{
	NnOpenLoop *loop = &thread->open_loop;
	NnClient   *client;

	if (loop->next.next_ns > now_ns || now_ns >= thread->order.end_ns)
		return NULL;
	client = take_idle(thread);
	if (client == NULL)
		return NULL;
	client->intended_ns = loop->next.next_ns;
	nn_schedule_pass(&loop->next);
	if (client->idle_ns <= client->intended_ns)
	{
		nn_driver_close_intervals(thread, now_ns);
		if (thread->open != NULL)
			nn_histogram_record(&thread->open->lag, now_ns - client->intended_ns);
	}
	return client;
}

/* When there is something to start, if that is before "until_ns". */
uint64_t
nn_open_loop_wake_ns(const NnDriverThread *thread, uint64_t now_ns, uint64_t until_ns)
{
	const NnOpenLoop *loop = &thread->open_loop;

	if (loop->n_idle == 0 || now_ns >= thread->order.end_ns || loop->next.next_ns > until_ns)
		return until_ns;
	return loop->next.next_ns;
}

/* The block has ended: count the arrivals that were due and have not been started. */
void
nn_open_loop_end(NnDriverThread *thread)
{
	NnOpenLoop *loop = &thread->open_loop;
	uint64_t	end_ns = thread->order.end_ns;
	uint64_t	limit_ns = thread->order.latency_limit_ns;

	nn_schedule_pass_until(&loop->due, end_ns - 1);
	thread->not_started = loop->due.passed - loop->next.passed;
	if (thread->not_started > thread->open->backlog_max)
		thread->open->backlog_max = thread->not_started;
	if (end_ns > limit_ns)
		nn_schedule_pass_until(&loop->stale, end_ns - limit_ns - 1);
	if (loop->stale.passed > loop->next.passed)
		thread->overdue += loop->stale.passed - loop->next.passed;
}
