/*-------------------------------------------------------------------------
 *
 * clients.c
 *	  The clients of a driver thread run transactions.  See driver.h.
 *
 * One loop per block: wait for sockets, advance the connections that are ready, act on what they
 * report.  In a closed loop a client runs one transaction after the other: the moment at which the last result of
 * a transaction arrived is the moment at which the next one begins, which makes it one reading of the
 * clock per transaction.  In an open loop (open_loop.c) a client that is done becomes idle; an idle one starts
 * the next arrival that is due, and the wait for sockets ends when the next one will be.
 *
 * A client whose connection is lost connects again, after a pause that grows from one attempt to the next; when
 * MAX_ATTEMPTS in a row have failed it is lost for the block.  A client all of whose transactions fail pauses in
 * the same way, so that a table that is dropped under the load does not flood the server's log.
 *
 *-------------------------------------------------------------------------
 */
#include "workload/driver.h"

#include "core/clock.h"

#define MAX_EVENTS		64
#define MAX_WAIT_NS		(50 * NN_NS_PER_MS) /* bounds how late a stop is seen */
#define MIN_BACKOFF_NS	(50 * NN_NS_PER_MS)
#define MAX_BACKOFF_NS	NN_NS_PER_S
#define MAX_ATTEMPTS	10

/* Waits without a look at the clock for what no socket tells. */
#define MAX_TURNS		256

/* Transactions of a client that fail in a row without a pause. */
#define MAX_FAILURES	5

/* What transactions in flight are given after the end of a block, before and after they are cancelled. */
#define DRAIN_NS		(2 * NN_NS_PER_S)
#define CANCEL_NS		NN_NS_PER_S

static void next_transaction(NnDriverThread *thread, NnClient *client, uint64_t now_ns);

static void
count_error(NnDriverThread *thread, const NnError *error, uint64_t now_ns)
{
	nn_driver_close_intervals(thread, now_ns);
	if (thread->open == NULL)
		return;
	thread->open->errors[error->kind]++;
	thread->error_ns = now_ns;
	thread->error = *error;
}

/* The client's transaction has ended, some way or other. */
static inline void
end_transaction(NnDriverThread *thread, NnClient *client)
{
	client->running = false;
	thread->n_running--;
}

static uint64_t
backoff_ns(int attempts)
{
	uint64_t	pause_ns = attempts < 8 ? MIN_BACKOFF_NS << attempts : MAX_BACKOFF_NS;

	return pause_ns < MAX_BACKOFF_NS ? pause_ns : MAX_BACKOFF_NS;
}

/* The connection is gone, or an attempt to have one again has failed: plan the next. */
static void
plan_attempt(NnDriverThread *thread, NnClient *client, uint64_t now_ns)
{
	if (client->attempts >= MAX_ATTEMPTS)
	{
		client->retry_ns = 0;
		thread->n_unsettled--;
		atomic_fetch_add_explicit(&thread->lost, 1, memory_order_release);
		return;
	}
	client->retry_ns = now_ns + backoff_ns(client->attempts);
	client->attempts++;
}

/* Its transaction has failed: go on, with a pause when that happens again and again. */
static void
go_on_after_error(NnDriverThread *thread, NnClient *client, uint64_t now_ns)
{
	if (client->connection.error.kind == NN_ERROR_OTHER)
		client->failures++;
	if (client->failures <= MAX_FAILURES)
	{
		next_transaction(thread, client, now_ns);
		return;
	}
	client->retry_ns = now_ns + backoff_ns(client->failures - MAX_FAILURES - 1);
	thread->n_unsettled++;
}

/* Act on what a connection reports, other than a success. */
static void
handle_trouble(NnDriverThread *thread, NnClient *client, NnConnectionEvent event,
			   bool was_running)
{
	NnConnection *c = &client->connection;
	uint64_t	now_ns = nn_now_ns();

	switch (event)
	{
		case NN_EVENT_ERROR:
			count_error(thread, &c->error, now_ns);
			end_transaction(thread, client);
			go_on_after_error(thread, client, now_ns);
			break;
		case NN_EVENT_FAILED:
			nn_driver_watch(thread, client);
			if (was_running)
			{
				count_error(thread, &c->error, now_ns);
				end_transaction(thread, client);
			}
			if (client->retry_ns == 0 && !client->connecting)
				thread->n_unsettled++;
			client->connecting = true;
			plan_attempt(thread, client, now_ns);
			break;
		case NN_EVENT_READY:
			thread->n_unsettled--;
			client->connecting = false;
			next_transaction(thread, client, now_ns);
			break;
		default:
			break;
	}
}

/* Send the client's next transaction, whose intended_ns is set. */
static void
begin_transaction(NnDriverThread *thread, NnClient *client, uint64_t now_ns)
{
	NnConnectionEvent event;

	client->begin_ns = now_ns;
	if (client->follow != NULL)
		nn_follow_begin(client->follow, nn_connection_backend_pid(&client->connection), now_ns);
	client->running = true;
	thread->n_running++;
	event = nn_connection_begin(&client->connection);
	if (event != NN_EVENT_WAIT)
		handle_trouble(thread, client, event, true);
	else if (client->connection.wants != client->polled)
		nn_driver_watch(thread, client);
}

/* The client is free for another transaction: in a closed loop now, unless the block has ended. */
static void
next_transaction(NnDriverThread *thread, NnClient *client, uint64_t now_ns)
{
	if (nn_driver_is_open_loop(&thread->order))
		nn_open_loop_idle(thread, client, now_ns);
	else if (now_ns < thread->order.end_ns)
	{
		client->intended_ns = now_ns;
		begin_transaction(thread, client, now_ns);
	}
}

/* Open loop: start what is due, as far as there are idle clients. */
static void
start_due(NnDriverThread *thread, uint64_t now_ns)
{
	NnClient   *client;

	while ((client = nn_open_loop_next(thread, now_ns)) != NULL)
	{
		begin_transaction(thread, client, now_ns);
		if (thread->open_loop.n_idle == 0)
			break;
		now_ns = nn_now_ns();
	}
}

static inline void
record_transaction(NnDriverThread *thread, const NnClient *client, uint64_t now_ns)
{
	NnInterval *open = thread->open;
	uint64_t	latency_ns = now_ns - client->intended_ns;

	nn_histogram_record(&open->latency, latency_ns);
	if (latency_ns > thread->order.latency_limit_ns)
		open->late++;
	if (nn_driver_is_open_loop(&thread->order))
		nn_histogram_record(&open->service, now_ns - client->begin_ns);
}

/* A socket is ready. The hot path: nothing here but what every transaction needs. */
static inline void
serve_client(NnDriverThread *thread, NnClient *client)
{
	NnConnection *c = &client->connection;
	bool		was_running = nn_connection_is_busy(c);
	NnConnectionEvent event = nn_connection_advance(c);

	if (event == NN_EVENT_COMMITTED)
	{
		uint64_t	now_ns = nn_now_ns();

		if (now_ns >= thread->boundary_ns)
			nn_driver_close_intervals(thread, now_ns);
		if (thread->open != NULL)
			record_transaction(thread, client, now_ns);
		if (client->follow != NULL)
			nn_follow_end(client->follow, client->intended_ns, client->begin_ns, now_ns);
		atomic_store_explicit(&thread->last_commit_ns, now_ns, memory_order_relaxed);
		end_transaction(thread, client);
		client->attempts = 0;
		client->failures = 0;
		next_transaction(thread, client, now_ns);
		if (nn_driver_is_open_loop(&thread->order))
			start_due(thread, now_ns);
		return;
	}
	if (event != NN_EVENT_WAIT)
		handle_trouble(thread, client, event, was_running);
	if (c->wants != client->polled || c->fd != client->polled_fd ||
		c->state == NN_CONNECTION_CONNECTING)
		nn_driver_watch(thread, client);
}

/* A client's pause is over. */
static void
end_pause(NnDriverThread *thread, NnClient *client, uint64_t now_ns)
{
	NnConnection *c = &client->connection;

	client->retry_ns = 0;
	if (c->state == NN_CONNECTION_IDLE)
	{
		thread->n_unsettled--;
		next_transaction(thread, client, now_ns);
		return;
	}
	nn_driver_open_client(thread, client, now_ns);
	if (c->state == NN_CONNECTION_FAILED)
		plan_attempt(thread, client, now_ns);
}

/* Clients that connect, or pause.  Returns when to look again. */
static uint64_t
tend_unsettled(NnDriverThread *thread, uint64_t now_ns)
{
	uint64_t	next_ns = now_ns + MAX_WAIT_NS;

	for (int i = 0; i < thread->n_clients; i++)
	{
		NnClient   *client = &thread->clients[i];
		NnConnection *c = &client->connection;

		if (client->retry_ns != 0 && now_ns >= client->retry_ns)
			end_pause(thread, client, now_ns);
		else if (nn_connection_is_setting_up(c) &&
				 now_ns - c->since_ns > thread->driver->target->connect_timeout_ns)
		{
			(void) nn_connection_expire(c, now_ns);
			nn_driver_watch(thread, client);
			if (c->state == NN_CONNECTION_FAILED)
				plan_attempt(thread, client, now_ns);
		}
		if (client->retry_ns != 0 && client->retry_ns < next_ns)
			next_ns = client->retry_ns;
	}
	return next_ns > now_ns ? next_ns : now_ns;
}

/* After the end of the block: what still runs is cancelled, and at last given up. */
static void
drain(NnDriverThread *thread, uint64_t now_ns, bool *cancelled)
{
	uint64_t	over_ns = now_ns - thread->order.end_ns;

	if (over_ns < DRAIN_NS || (*cancelled && over_ns < DRAIN_NS + CANCEL_NS))
		return;
	for (int i = 0; i < thread->n_clients; i++)
	{
		NnClient   *client = &thread->clients[i];

		if (!nn_connection_is_busy(&client->connection))
			continue;
		if (!*cancelled && thread->driver->target->local)
		{
			nn_connection_cancel(&client->connection);
			continue;
		}
		nn_connection_close(&client->connection);
		nn_driver_watch(thread, client);
	}
	if (*cancelled || !thread->driver->target->local)
		thread->n_running = 0;
	*cancelled = true;
}

/* Sleep until the block starts.  False: the run is to stop. */
static bool
wait_for_start(NnDriverThread *thread)
{
	uint64_t	now_ns;

	while ((now_ns = nn_now_ns()) < thread->order.start_ns)
	{
		uint64_t	until_ns = now_ns + MAX_WAIT_NS;

		if (nn_driver_must_stop(thread->driver))
			return false;
		nn_sleep_until_ns(until_ns < thread->order.start_ns ? until_ns : thread->order.start_ns);
	}
	return true;
}

/*
 * Begin a client's block.  A client that was lost in the block before gets one more attempt.  Attempts
 * are counted on from block to block: a server that is gone must end the run, however short its blocks are.
 */
static void
begin_client(NnDriverThread *thread, NnClient *client, uint64_t now_ns)
{
	NnConnection *c = &client->connection;

	c->scale = thread->order.scale;
	nn_random_seed(&c->random, thread->driver->seed,
				   ((uint64_t) thread->order.block << 32) | (uint32_t) client->number);
	client->failures = 0;
	client->retry_ns = 0;
	client->running = false;
	client->connecting = c->state != NN_CONNECTION_IDLE;
	if (!client->connecting)
		client->attempts = 0;
	if (!client->connecting)
	{
		next_transaction(thread, client, now_ns);
		return;
	}
	thread->n_unsettled++;
	if (!nn_connection_is_setting_up(c))
		client->retry_ns = now_ns;	/* at the first look at the clock */
}

static void
begin_block(NnDriverThread *thread)
{
	thread->n_running = 0;
	thread->n_unsettled = 0;
	thread->error_ns = 0;
	thread->n_connected = 0;
	nn_driver_open_intervals(thread);
	if (nn_driver_is_open_loop(&thread->order))
		nn_open_loop_begin(thread);
	if (thread->clients[0].follow != NULL)
		nn_follow_block(thread->clients[0].follow, thread->order.measure_ns, thread->order.end_ns);
	for (int i = 0; i < thread->n_clients; i++)
		begin_client(thread, &thread->clients[i],
					 nn_driver_is_open_loop(&thread->order) ? thread->order.start_ns : nn_now_ns());
}

/* Look at the clock for all that is not told by a socket.  Returns when to look again. */
static uint64_t
keep_house(NnDriverThread *thread, uint64_t now_ns, bool *cancelled)
{
	uint64_t	deadline_ns = atomic_load_explicit(&thread->driver->deadline_ns,
												   memory_order_relaxed);
	uint64_t	next_ns = now_ns + MAX_WAIT_NS;

	if (deadline_ns != 0 && now_ns > deadline_ns)
		atomic_store(&thread->driver->stop, true);
	if (nn_driver_is_open_loop(&thread->order))
		nn_open_loop_look(thread, now_ns);
	nn_driver_close_intervals(thread, now_ns);
	if (now_ns >= thread->order.end_ns)
		drain(thread, now_ns, cancelled);
	else if (thread->n_unsettled > 0)
		next_ns = tend_unsettled(thread, now_ns);
	if (now_ns < thread->order.end_ns && thread->order.end_ns < next_ns)
		next_ns = thread->order.end_ns;
	return next_ns;
}

/* The block is over for the clients: hand over the intervals. */
static void
end_block(NnDriverThread *thread)
{
	while (thread->open != NULL && !nn_driver_must_stop(thread->driver))
	{
		/* The ring is full. */
		nn_sleep_until_ns(nn_now_ns() + NN_NS_PER_MS);
		nn_driver_close_intervals(thread, nn_now_ns());
	}
	for (int i = 0; i < thread->n_clients; i++)
	{
		if (thread->clients[i].connection.state == NN_CONNECTION_FAILED)
			thread->failure = thread->clients[i].connection.failure;
	}
}

/* Every client runs one transaction after the other until the block ends. */
static void
run_closed_loop(NnDriverThread *thread)
{
	bool		cancelled = false;
	int			turns = 0;
	int			timeout_ms = thread->n_unsettled > 0 ? 1 : (int) (MAX_WAIT_NS / NN_NS_PER_MS);

	while (!nn_driver_must_stop(thread->driver))
	{
		NnPollerEvent events[MAX_EVENTS];
		int			n = nn_poller_wait(thread->poller, events, MAX_EVENTS, timeout_ms);

		for (int i = 0; i < n; i++)
			serve_client(thread, &thread->clients[events[i].client]);
		if (n <= 0 || thread->n_unsettled > 0 || thread->n_running == 0 ||
			++turns >= MAX_TURNS)
		{
			uint64_t	now_ns = nn_now_ns();

			turns = 0;
			timeout_ms = (int) ((keep_house(thread, now_ns, &cancelled) - now_ns +
								 NN_NS_PER_MS - 1) / NN_NS_PER_MS);
			if (thread->n_running == 0 && nn_now_ns() >= thread->order.end_ns)
				break;
		}
	}
}

/* Transactions start when they are due, as long as there are idle clients, until the block ends. */
static void
run_open_loop(NnDriverThread *thread)
{
	bool		cancelled = false;
	uint64_t	house_ns = 0;
	uint64_t	now_ns = 0;

	while (!nn_driver_must_stop(thread->driver))
	{
		NnPollerEvent events[MAX_EVENTS];
		int			n = nn_poller_wait_until(thread->poller, events, MAX_EVENTS,
											 nn_open_loop_wake_ns(thread, now_ns, house_ns));

		for (int i = 0; i < n; i++)
			serve_client(thread, &thread->clients[events[i].client]);
		now_ns = nn_now_ns();
		start_due(thread, now_ns);
		if (now_ns >= house_ns || thread->n_unsettled > 0)
			house_ns = keep_house(thread, now_ns, &cancelled);
		if (thread->n_running == 0 && now_ns >= thread->order.end_ns)
			break;
	}
}

/* NN_DRIVER_RUN: the clients run transactions until the block ends. */
void
nn_driver_run(NnDriverThread *thread)
{
	if (thread->n_clients == 0 || !wait_for_start(thread))
		return;
	begin_block(thread);
	if (nn_driver_is_open_loop(&thread->order))
		run_open_loop(thread);
	else
		run_closed_loop(thread);
	end_block(thread);
}
