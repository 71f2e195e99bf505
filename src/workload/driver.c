/*-------------------------------------------------------------------------
 *
 * driver.c
 *	  The threads that drive the clients: orders, intervals, coming and going.  See driver.h.
 *
 * What the clients of a thread do under an order is in connecting.c, clients.c and open_loop.c.
 *
 *-------------------------------------------------------------------------
 */
#include "workload/driver.h"

#include <stdlib.h>
#include <string.h>

#include "core/clock.h"

/* Clients of a thread out of so many in all. */
static int
share_of(int clients, int n_threads, int index)
{
	return index < clients ? (clients - index + n_threads - 1) / n_threads : 0;
}

/* Whether the thread has anything to do in an order. */
static bool
is_active(const NnDriver *driver, const NnDriverThread *thread)
{
	return share_of(driver->order.clients, driver->n_threads, thread->index) > 0;
}

static NnDriverThread *
create_thread(NnDriver *driver, int index, int n_clients)
{
	NnDriverThread *thread = calloc(1, sizeof(NnDriverThread));

	if (thread == NULL)
		return NULL;
	thread->driver = driver;
	thread->index = index;
	thread->max_clients = share_of(n_clients, driver->n_threads, index);
	thread->clients = calloc((size_t) thread->max_clients + 1, sizeof(NnClient));
	thread->open_loop.idle = calloc((size_t) thread->max_clients + 1, sizeof(int));
	thread->poller = nn_poller_create(thread->max_clients);
	if (thread->clients == NULL || thread->open_loop.idle == NULL || thread->poller == NULL)
		return NULL;
	for (int i = 0; i < thread->max_clients; i++)
	{
		NnClient   *client = &thread->clients[i];

		nn_connection_init(&client->connection, driver->target);
		client->number = index + i * driver->n_threads;
		client->connection.surveyor = client->number == 0;
		client->polled_fd = -1;
	}
	return thread;
}

/*
 * Everything that the threads need; they are started by the caller, with nn_driver_thread_main() and an element
 * of "threads" each.  NULL: no memory, or no file descriptor.
 */
NnDriver *
nn_driver_create(const NnTarget *target, int n_threads, int n_clients, uint64_t seed)
{
	NnDriver   *driver = calloc(1, sizeof(NnDriver));

	if (driver == NULL)
		return NULL;
	driver->target = target;
	driver->n_threads = n_threads;
	driver->seed = seed;
	driver->threads = calloc((size_t) n_threads, sizeof(NnDriverThread *));
	if (driver->threads == NULL ||
		pthread_mutex_init(&driver->mutex, NULL) != 0 ||
		pthread_cond_init(&driver->cond, NULL) != 0)
		return NULL;
	for (int i = 0; i < n_threads; i++)
	{
		driver->threads[i] = create_thread(driver, i, n_clients);
		if (driver->threads[i] == NULL)
			return NULL;
	}
	return driver;
}

/* Give all threads the next order; the last one is done. */
void
nn_driver_give_order(NnDriver *driver, const NnDriverOrder *order)
{
	pthread_mutex_lock(&driver->mutex);
	driver->order = *order;
	driver->order_number++;
	for (int i = 0; i < driver->n_threads; i++)
	{
		atomic_store_explicit(&driver->threads[i]->closed, 0, memory_order_relaxed);
		atomic_store_explicit(&driver->threads[i]->collected, 0, memory_order_relaxed);
		atomic_store_explicit(&driver->threads[i]->lost, 0, memory_order_relaxed);
	}
	pthread_cond_broadcast(&driver->cond);
	pthread_mutex_unlock(&driver->mutex);
}

/* Has every thread carried out the order? */
bool
nn_driver_is_done(NnDriver *driver)
{
	for (int i = 0; i < driver->n_threads; i++)
	{
		if (atomic_load_explicit(&driver->threads[i]->done, memory_order_acquire) !=
			driver->order_number)
			return false;
	}
	return true;
}

static void
merge_interval(NnInterval *into, const NnInterval *from, bool open_loop)
{
	nn_histogram_merge(&into->latency, &from->latency);
	for (int kind = 0; kind < NN_ERROR_KINDS; kind++)
		into->errors[kind] += from->errors[kind];
	into->cpu_ns += from->cpu_ns;
	into->late += from->late;
	if (!open_loop)
		return;
	into->backlog_max += from->backlog_max;
	nn_histogram_merge(&into->service, &from->service);
	nn_histogram_merge(&into->lag, &from->lag);
}

static void
reset_interval(NnInterval *interval, bool open_loop)
{
	memset(interval->errors, 0, sizeof(interval->errors));
	interval->cpu_ns = 0;
	interval->late = 0;
	nn_histogram_reset(&interval->latency);
	if (!open_loop)
		return;
	interval->backlog_max = 0;
	nn_histogram_reset(&interval->service);
	nn_histogram_reset(&interval->lag);
}

/*
 * Merge the next interval into "into", which is reset first.  False: some
 * thread has not closed it yet.  The CPU time of each thread is stored in thread_cpu_ns[].
 */
bool
nn_driver_collect(NnDriver *driver, NnInterval *into, uint64_t *thread_cpu_ns)
{
	bool		open_loop = nn_driver_is_open_loop(&driver->order);

	for (int i = 0; i < driver->n_threads; i++)
	{
		NnDriverThread *thread = driver->threads[i];

		if (is_active(driver, thread) &&
			atomic_load_explicit(&thread->closed, memory_order_acquire) <=
			atomic_load_explicit(&thread->collected, memory_order_relaxed))
			return false;
	}

	reset_interval(into, open_loop);
	for (int i = 0; i < driver->n_threads; i++)
	{
		NnDriverThread *thread = driver->threads[i];
		uint64_t	number = atomic_load_explicit(&thread->collected, memory_order_relaxed);

		thread_cpu_ns[i] = 0;
		if (!is_active(driver, thread))
			continue;
		merge_interval(into, &thread->ring[number % NN_DRIVER_RING], open_loop);
		thread_cpu_ns[i] = thread->ring[number % NN_DRIVER_RING].cpu_ns;
		atomic_store_explicit(&thread->collected, number + 1, memory_order_release);
	}
	return true;
}

/* When a transaction was last seen to succeed, monotonic; 0: never. */
uint64_t
nn_driver_last_commit_ns(NnDriver *driver)
{
	uint64_t	last_ns = 0;

	for (int i = 0; i < driver->n_threads; i++)
	{
		uint64_t	commit_ns = atomic_load_explicit(&driver->threads[i]->last_commit_ns,
													 memory_order_relaxed);

		if (commit_ns > last_ns)
			last_ns = commit_ns;
	}
	return last_ns;
}

/* Clients that have given up in this block. */
int
nn_driver_lost(NnDriver *driver)
{
	int			n = 0;

	for (int i = 0; i < driver->n_threads; i++)
		n += atomic_load_explicit(&driver->threads[i]->lost, memory_order_acquire);
	return n;
}

/* Tell the threads to go; may be called more than once. */
void
nn_driver_stop(NnDriver *driver)
{
	atomic_store(&driver->stop, true);
	pthread_mutex_lock(&driver->mutex);
	pthread_cond_broadcast(&driver->cond);
	pthread_mutex_unlock(&driver->mutex);
}

bool
nn_driver_is_finished(NnDriver *driver)
{
	for (int i = 0; i < driver->n_threads; i++)
	{
		if (driver->threads[i]->started && !atomic_load(&driver->threads[i]->finished))
			return false;
	}
	return true;
}

bool
nn_driver_must_stop(NnDriver *driver)
{
	return atomic_load_explicit(&driver->stop, memory_order_relaxed);
}

/* --- intervals --- */

int
nn_driver_warmup_intervals(uint64_t start_ns, uint64_t measure_ns)
{
	if (measure_ns <= start_ns)
		return 0;
	return (int) ((measure_ns - start_ns + NN_NS_PER_S - 1) / NN_NS_PER_S);
}

uint64_t
nn_driver_interval_end_ns(const NnDriverOrder *order, int number)
{
	uint64_t	end_ns;

	if (number < order->n_warmup)
		return order->measure_ns - (uint64_t) (order->n_warmup - 1 - number) * NN_NS_PER_S;
	end_ns = order->measure_ns + (uint64_t) (number - order->n_warmup + 1) * NN_NS_PER_S;
	return number == order->n_intervals - 1 || end_ns > order->end_ns ? order->end_ns : end_ns;
}

/* Open interval 0. */
void
nn_driver_open_intervals(NnDriverThread *thread)
{
	thread->open = &thread->ring[0];
	reset_interval(thread->open, nn_driver_is_open_loop(&thread->order));
	thread->cpu_ns = nn_thread_cpu_ns();
	thread->boundary_ns = nn_driver_interval_end_ns(&thread->order, 0);
}

/* Clients that have a connection. */
static int
count_connected(const NnDriverThread *thread)
{
	int			n = 0;

	for (int i = 0; i < thread->n_clients; i++)
	{
		NnConnectionState state = thread->clients[i].connection.state;

		if (state >= NN_CONNECTION_IDLE && state <= NN_CONNECTION_ROLLING_BACK)
			n++;
	}
	return n;
}

/* Take stock of what the window leaves behind. */
static void
end_window(NnDriverThread *thread)
{
	const NnDriverOrder *order = &thread->order;

	thread->n_connected = count_connected(thread);
	thread->not_started = 0;
	thread->unfinished = 0;
	thread->overdue = 0;
	for (int i = 0; i < thread->n_clients; i++)
	{
		const NnClient *client = &thread->clients[i];

		if (!client->running)
			continue;
		thread->unfinished++;
		if (order->end_ns - client->intended_ns > order->latency_limit_ns)
			thread->overdue++;
	}
	if (nn_driver_is_open_loop(order))
		nn_open_loop_end(thread);
	thread->open = NULL;
	thread->boundary_ns = UINT64_MAX;
}

/* Close every interval that has ended and for whose successor there is room. */
void
nn_driver_close_intervals(NnDriverThread *thread, uint64_t now_ns)
{
	while (now_ns >= thread->boundary_ns)
	{
		uint64_t	number = atomic_load_explicit(&thread->closed, memory_order_relaxed);
		uint64_t	collected = atomic_load_explicit(&thread->collected, memory_order_acquire);
		uint64_t	cpu_ns = nn_thread_cpu_ns();

		if (number - collected >= NN_DRIVER_RING - 1)
			return;
		thread->open->cpu_ns = cpu_ns - thread->cpu_ns;
		thread->cpu_ns = cpu_ns;
		number++;
		if ((int) number < thread->order.n_intervals)
		{
			thread->open = &thread->ring[number % NN_DRIVER_RING];
			reset_interval(thread->open, nn_driver_is_open_loop(&thread->order));
			thread->boundary_ns = nn_driver_interval_end_ns(&thread->order, (int) number);
		}
		else
		{
			end_window(thread);
		}
		atomic_store_explicit(&thread->closed, number, memory_order_release);
	}
}

/* --- thread --- */

/* Wait for an order.  False: go home. */
static bool
next_order(NnDriverThread *thread, uint64_t *number)
{
	NnDriver   *driver = thread->driver;

	pthread_mutex_lock(&driver->mutex);
	while (driver->order_number == *number && !nn_driver_must_stop(driver))
		pthread_cond_wait(&driver->cond, &driver->mutex);
	*number = driver->order_number;
	thread->order = driver->order;
	pthread_mutex_unlock(&driver->mutex);
	thread->n_clients = share_of(thread->order.clients, driver->n_threads, thread->index);
	return !nn_driver_must_stop(driver);
}

/*
 * Body of a client thread.  Statements that are in flight when the run is stopped are
 * cancelled where that is cheap; the rest ends with its connection.
 */
void *
nn_driver_thread_main(void *arg)
{
	NnDriverThread *thread = arg;
	uint64_t	number = 0;

	while (next_order(thread, &number))
	{
		if (thread->order.kind == NN_DRIVER_CONNECT)
			nn_driver_connect(thread);
		else
			nn_driver_run(thread);
		if (nn_driver_must_stop(thread->driver))
			break;
		atomic_store_explicit(&thread->done, number, memory_order_release);
	}
	for (int i = 0; i < thread->max_clients; i++)
	{
		nn_connection_cancel(&thread->clients[i].connection);
		nn_connection_close(&thread->clients[i].connection);
	}
	atomic_store(&thread->finished, true);
	return NULL;
}
