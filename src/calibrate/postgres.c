/*-------------------------------------------------------------------------
 *
 * postgres.c
 *	  Probe of the server itself: transactions per second and their latency, on a data set that fits into any cache.
 *
 * Each thread is a client with a connection of its own to this server, as the role that called, and looks up one
 * row after the other by its key, prepared, in a closed loop.  The data set comes with the extension and is
 * only read, so that it is the same on every host: what the figures compare is the path through client, kernel, scheduler and
 * server, not a disk.
 *
 * A transaction counts when it ends in the window, with its whole latency.  The percentiles of a trial come from
 * the histogram of all its clients.
 *
 *-------------------------------------------------------------------------
 */
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate/probe.h"
#include "core/histogram.h"
#include "workload/connection.h"
#include "workload/poller.h"

#define NAME			"small select-only"
#define WAIT_MS			50		/* bounds how late the end is seen */
#define MS				((double) NN_NS_PER_MS)

/* Figures of a trial. */
enum
{
	FIGURE_RATE,
	FIGURE_MEAN,
	FIGURE_P50,
	FIGURE_P95,
	FIGURE_P99
};

typedef struct Client
{
	NnConnection connection;
	bool		broken;			/* a transaction failed */
	NnHistogram latency;		/* of the window */
	NnHistogram merged;			/* of all clients; used in the first one */
} Client;

static int
postgres_plan(const NnProbeOptions *options, const NnTopology *host, NnTrial *trials, char *error)
{
	int			n = 0;

	(void) host;
	(void) error;
	for (int i = 0; i < options->n_threads; i++)
	{
		NnTrial    *trial = nn_trial_add(trials, &n, options->threads[i], NAME, "transactions/s", NN_COMBINE_SUM);

		nn_figure_add(trial, NAME ", mean", "ms", NN_COMBINE_MEAN);
		nn_figure_add(trial, NAME ", p50", "ms", NN_COMBINE_MEAN);
		nn_figure_add(trial, NAME ", p95", "ms", NN_COMBINE_MEAN);
		nn_figure_add(trial, NAME ", p99", "ms", NN_COMBINE_MEAN);
	}
	return n;
}

/* Wait for a while until the connection can go on, and have it do so. */
static NnConnectionEvent
advance(NnConnection *connection)
{
	struct pollfd socket = {.fd = connection->fd};

	if (connection->wants & NN_POLL_READ)
		socket.events |= POLLIN;
	if (connection->wants & NN_POLL_WRITE)
		socket.events |= POLLOUT;
	if (poll(&socket, 1, WAIT_MS) <= 0)
		return NN_EVENT_WAIT;
	return nn_connection_advance(connection);
}

static void
postgres_destroy(void *state)
{
	Client	   *client = state;

	if (nn_connection_is_busy(&client->connection))
		nn_connection_cancel(&client->connection);
	nn_connection_close(&client->connection);
	free(client);
}

static void *
postgres_create(const NnProbeOptions *options, const NnTrial *trial, int thread, void *common, char *error)
{
	Client	   *client = calloc(1, sizeof(Client));
	NnConnection *connection = &client->connection;
	NnConnectionEvent event;

	(void) trial;
	(void) common;
	if (client == NULL)
	{
		snprintf(error, NN_PROBE_ERROR_LEN, "out of memory");
		return NULL;
	}
	nn_connection_init(connection, options->server);
	nn_random_seed(&connection->random, options->seed, (uint64_t) thread);
	connection->scale = 1;
	event = nn_connection_open(connection, nn_now_ns());
	while (event == NN_EVENT_WAIT)
	{
		event = advance(connection);
		if (nn_now_ns() - connection->since_ns > options->server->connect_timeout_ns)
			event = nn_connection_expire(connection, nn_now_ns());
	}
	if (event == NN_EVENT_READY)
		return client;
	snprintf(error, NN_PROBE_ERROR_LEN, "could not connect: %s", connection->failure.message);
	postgres_destroy(client);
	return NULL;
}

/* A transaction, to its end or that of the window, when it stays in flight.  False: it failed. */
static bool
transact(Client *client, const NnWindow *window, NnConnectionEvent *event)
{
	*event = nn_connection_begin(&client->connection);
	while (*event == NN_EVENT_WAIT && !nn_window_over(window))
		*event = advance(&client->connection);
	return *event == NN_EVENT_WAIT || *event == NN_EVENT_COMMITTED;
}

/* Have what the window before left in flight end.  False: it failed, or nobody waits any more. */
static bool
settle(Client *client, const NnWindow *window)
{
	NnConnectionEvent event = NN_EVENT_WAIT;

	while (nn_connection_is_busy(&client->connection) && event == NN_EVENT_WAIT && !nn_window_over(window))
		event = advance(&client->connection);
	return client->connection.state == NN_CONNECTION_IDLE;
}

static void
postgres_measure(void *state, const NnWindow *window, double *values)
{
	Client	   *client = state;
	NnConnectionEvent event;

	(void) values;				/* they come from all clients together */
	nn_histogram_reset(&client->latency);
	if (!settle(client, window))
		client->broken = true;
	while (!client->broken && !nn_window_over(window))
	{
		uint64_t	begin_ns = nn_now_ns();
		uint64_t	end_ns;

		if (!transact(client, window, &event))
			client->broken = true;
		end_ns = nn_now_ns();
		if (event == NN_EVENT_COMMITTED && end_ns <= window->end_ns)
			nn_histogram_record(&client->latency, end_ns - begin_ns);
	}
}

static void
postgres_combine(void **states, int threads, const NnWindow *window, NnTrial *trial, double *values)
{
	NnHistogram *merged = &((Client *) states[0])->merged;

	for (int i = FIGURE_RATE; i <= FIGURE_P99; i++)
		values[i] = NAN;
	nn_histogram_reset(merged);
	for (int i = 0; i < threads; i++)
	{
		Client	   *client = states[i];

		if (client->broken && !nn_window_stopped(window))
		{
			trial->invalid = true;
			snprintf(trial->note, sizeof(trial->note), "a client failed: %s",
					 client->connection.state == NN_CONNECTION_FAILED ? client->connection.failure.message :
					 client->connection.error.message);
			return;
		}
		nn_histogram_merge(merged, &client->latency);
	}
	values[FIGURE_RATE] = nn_window_rate(window, (double) merged->count, window->end_ns);
	values[FIGURE_MEAN] = nn_histogram_mean_ns(merged) / MS;
	values[FIGURE_P50] = nn_histogram_percentile_ns(merged, 0.5) / MS;
	values[FIGURE_P95] = nn_histogram_percentile_ns(merged, 0.95) / MS;
	values[FIGURE_P99] = nn_histogram_percentile_ns(merged, 0.99) / MS;
}

const NnProbe nn_probe_postgres = {
	.name = "postgres",
	.version = 1,
	.connects = true,
	.plan = postgres_plan,
	.create = postgres_create,
	.destroy = postgres_destroy,
	.measure = postgres_measure,
	.combine = postgres_combine
};
