/*-------------------------------------------------------------------------
 *
 * connecting.c
 *	  The clients of a driver thread get their connections.  See driver.h.
 *
 * All connect at the same time, but for a bound, and none waits for another one: a host that does not
 * answer costs its time-out once.
 *
 *-------------------------------------------------------------------------
 */
#include "workload/driver.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/clock.h"

#define MAX_EVENTS		64
#define MAX_WAIT_NS		(50 * NN_NS_PER_MS) /* bounds how late a stop is seen */
#define PAUSE_NS		(100 * NN_NS_PER_MS)	/* before a server that is
												 * full is asked again */

/*
 * Clients of a thread that connect at the same time.  A server needs some milliseconds of CPU for
 * each: a thousand at once would wait for one another until some of them have waited too long.
 */
#define MAX_CONNECTING	16

/* A server that is full or still starting is asked again for so long. */
#define FULL_RETRY_NS	(2 * NN_NS_PER_S)

/* Watch the client's socket for what its connection wants. */
void
nn_driver_watch(NnDriverThread *thread, NnClient *client)
{
	NnConnection *c = &client->connection;

	if (c->fd < 0)
	{
		if (client->polled_fd >= 0)
			nn_poller_remove(thread->poller, (int) (client - thread->clients), client->polled_fd);
		client->polled_fd = -1;
		return;
	}

	/*
	 * While it connects, libpq may have changed sockets without changing
	 * numbers.
	 */
	if (c->fd == client->polled_fd && c->wants == client->polled &&
		c->state != NN_CONNECTION_CONNECTING)
		return;
	if (!nn_poller_set(thread->poller, (int) (client - thread->clients), c->fd, c->wants))
	{
		/* No memory in the kernel: rare enough to be a lost connection. */
		int			err = errno;

		nn_connection_close(c);
		c->state = NN_CONNECTION_FAILED;
		c->failure.kind = NN_FAILURE_CONNECT;
		snprintf(c->failure.message, sizeof(c->failure.message),
				 "could not watch a socket: errno %d", err);
		client->polled_fd = -1;
		return;
	}
	client->polled_fd = c->fd;
	client->polled = c->wants;
}

static bool
is_settled(const NnClient *client)
{
	return client->connection.state == NN_CONNECTION_IDLE ||
		(client->connection.state == NN_CONNECTION_FAILED && client->retry_ns == 0);
}

/* Have the client connect; its connection is CLOSED or FAILED. */
void
nn_driver_open_client(NnDriverThread *thread, NnClient *client, uint64_t now_ns)
{
	client->retry_ns = 0;
	(void) nn_connection_open(&client->connection, now_ns);
	nn_driver_watch(thread, client);
}

/* Is the server merely full, or not up yet? */
static bool
is_transient(const NnConnectionFailure *failure)
{
	return strcmp(failure->sqlstate, "53300") == 0 || strcmp(failure->sqlstate, "57P03") == 0;
}

/* A client that connects or wants to: look at the clock for it. */
static void
tend_connecting(NnDriverThread *thread, NnClient *client, uint64_t now_ns, uint64_t begun_ns)
{
	NnConnection *c = &client->connection;

	if (nn_connection_is_setting_up(c) &&
		now_ns - c->since_ns > thread->driver->target->connect_timeout_ns)
	{
		(void) nn_connection_expire(c, now_ns);
		nn_driver_watch(thread, client);
	}
	if (c->state != NN_CONNECTION_FAILED)
		return;
	if (client->retry_ns == 0 && is_transient(&c->failure) && now_ns < begun_ns + FULL_RETRY_NS)
		client->retry_ns = now_ns + PAUSE_NS;
	if (client->retry_ns != 0 && now_ns >= client->retry_ns)
		nn_driver_open_client(thread, client, now_ns);
}

/* Advance the clients that are ready. */
static void
serve_connecting(NnDriverThread *thread, int timeout_ms)
{
	NnPollerEvent events[MAX_EVENTS];
	int			n = nn_poller_wait(thread->poller, events, MAX_EVENTS, timeout_ms);

	for (int i = 0; i < n; i++)
	{
		NnClient   *client = &thread->clients[events[i].client];

		(void) nn_connection_advance(&client->connection);
		nn_driver_watch(thread, client);
	}
}

/* Sum up for the main thread. */
static void
report_connections(NnDriverThread *thread)
{
	thread->n_failed = 0;
	for (int i = 0; i < thread->n_clients; i++)
	{
		const NnConnection *c = &thread->clients[i].connection;

		if (c->state == NN_CONNECTION_IDLE)
			continue;
		if (thread->n_failed == 0)
			thread->failure = c->failure;
		thread->n_failed++;
	}
}

/* Open as many of the clients that have no connection as may connect at the same time. */
static void
open_some(NnDriverThread *thread, uint64_t now_ns)
{
	int			connecting = 0;

	for (int i = 0; i < thread->n_clients; i++)
	{
		if (nn_connection_is_setting_up(&thread->clients[i].connection))
			connecting++;
	}
	for (int i = 0; i < thread->n_clients && connecting < MAX_CONNECTING; i++)
	{
		NnClient   *client = &thread->clients[i];

		if (client->connection.state != NN_CONNECTION_CLOSED)
			continue;
		nn_driver_open_client(thread, client, now_ns);
		connecting++;
		if (nn_driver_must_stop(thread->driver))
			break;
	}
}

/* Close the clients that are not wanted, and those that failed the last time. */
static void
close_others(NnDriverThread *thread)
{
	for (int i = 0; i < thread->max_clients; i++)
	{
		NnClient   *client = &thread->clients[i];

		client->attempts = 0;
		client->retry_ns = 0;
		if (i < thread->n_clients && client->connection.state != NN_CONNECTION_FAILED)
			continue;
		nn_connection_close(&client->connection);
		nn_driver_watch(thread, client);
	}
}

/* NN_DRIVER_CONNECT: have exactly the clients that are wanted. */
void
nn_driver_connect(NnDriverThread *thread)
{
	uint64_t	begun_ns = nn_now_ns();
	bool		settled;

	/* Connections that were closed from the other side while nobody looked. */
	serve_connecting(thread, 0);
	close_others(thread);
	do
	{
		uint64_t	now_ns = nn_now_ns();

		settled = true;
		open_some(thread, now_ns);
		for (int i = 0; i < thread->n_clients; i++)
		{
			tend_connecting(thread, &thread->clients[i], now_ns, begun_ns);
			settled = settled && is_settled(&thread->clients[i]);
		}
		if (!settled)
			serve_connecting(thread, (int) (MAX_WAIT_NS / NN_NS_PER_MS));
	} while (!settled && !nn_driver_must_stop(thread->driver));
	report_connections(thread);
}
