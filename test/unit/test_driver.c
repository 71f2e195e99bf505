/*-------------------------------------------------------------------------
 *
 * test_driver.c
 *	  Intervals of the driver: exact by the threads' clocks, however late they are collected.
 *
 * What the clients of a thread do is replaced by transactions that take no time, so that neither
 * libpq nor a server is needed.
 *
 * Links: src/workload/driver.c src/workload/poller.c src/workload/open_loop.c src/workload/schedule.c
 *
 *-------------------------------------------------------------------------
 */
#include <string.h>

#include "core/clock.h"
#include "tap.h"
#include "workload/driver.h"

#define THREADS		3
#define INTERVALS	12			/* more than the ring has */
#define PER_INTERVAL 1000

static NnInterval collected[INTERVALS];
static bool paced;				/* threads leave the main thread time to
								 * collect */

/* --- stand-ins for clients.c and connection.c --- */

void
nn_connection_init(NnConnection *c, const NnTarget *target)
{
	memset(c, 0, sizeof(*c));
	c->target = target;
}

void
nn_connection_cancel(NnConnection *c)
{
	(void) c;
}

void
nn_connection_close(NnConnection *c)
{
	(void) c;
}

void
nn_driver_connect(NnDriverThread *thread)
{
	thread->n_failed = thread->n_clients;
}

/* Transactions at made-up times: the first of each interval ends exactly where it starts. */
void
nn_driver_run(NnDriverThread *thread)
{
	const NnDriverOrder *order = &thread->order;

	if (thread->n_clients == 0)
		return;
	nn_driver_open_intervals(thread);
	for (int i = 0; i < INTERVALS * PER_INTERVAL; i++)
	{
		uint64_t	at_ns = order->start_ns +
			(uint64_t) i * ((order->end_ns - order->start_ns) / (INTERVALS * PER_INTERVAL));

		while (paced && i % PER_INTERVAL == 0 &&
			   atomic_load(&thread->closed) - atomic_load(&thread->collected) >= 2)
			nn_sleep_until_ns(nn_now_ns() + NN_NS_PER_MS / 10);
		nn_driver_close_intervals(thread, at_ns);
		if (thread->open != NULL)
			nn_histogram_record(&thread->open->latency, (uint64_t) (i / PER_INTERVAL + 1) * 1000000);
	}
	while (thread->open != NULL && !nn_driver_must_stop(thread->driver))
	{
		nn_sleep_until_ns(nn_now_ns() + NN_NS_PER_MS);
		nn_driver_close_intervals(thread, order->end_ns);
	}
}

/* --- the tests --- */

static NnDriver *
start_driver(int clients)
{
	static NnTarget target;
	NnDriver   *driver = nn_driver_create(&target, THREADS, clients, 1);

	for (int i = 0; i < THREADS; i++)
		driver->threads[i]->started =
			pthread_create(&driver->threads[i]->thread, NULL, nn_driver_thread_main,
						   driver->threads[i]) == 0;
	return driver;
}

static void
stop_driver(NnDriver *driver)
{
	nn_driver_stop(driver);
	for (int i = 0; i < THREADS; i++)
		pthread_join(driver->threads[i]->thread, NULL);
}

/* Run a block of 2 warm-up seconds and ten of the window; look only every so often. */
static int
run(NnDriver *driver, int clients, uint64_t pause_ns)
{
	NnDriverOrder order = {.kind = NN_DRIVER_RUN,.clients = clients,.n_warmup = 2,.n_intervals = INTERVALS};
	uint64_t	cpu_ns[THREADS];
	int			n = 0;

	order.start_ns = 1000 * NN_NS_PER_S;
	order.measure_ns = order.start_ns + 2 * NN_NS_PER_S;
	order.end_ns = order.start_ns + INTERVALS * NN_NS_PER_S;
	nn_driver_give_order(driver, &order);
	do
	{
		nn_sleep_until_ns(nn_now_ns() + pause_ns);
		while (n < INTERVALS && nn_driver_collect(driver, &collected[n], cpu_ns))
			n++;
	} while (!nn_driver_is_done(driver));
	while (n < INTERVALS && nn_driver_collect(driver, &collected[n], cpu_ns))
		n++;
	return n;
}

static uint64_t
total(void)
{
	uint64_t	sum = 0;

	for (int i = 0; i < INTERVALS; i++)
		sum += collected[i].latency.count;
	return sum;
}

static void
test_boundaries(void)
{
	NnDriverOrder order = {.kind = NN_DRIVER_RUN};

	order.start_ns = 10 * NN_NS_PER_S;
	order.measure_ns = order.start_ns + 2500 * NN_NS_PER_MS;
	order.end_ns = order.measure_ns + 1200 * NN_NS_PER_MS;
	order.n_warmup = nn_driver_warmup_intervals(order.start_ns, order.measure_ns);
	order.n_intervals = order.n_warmup + 2;
	ok(order.n_warmup == 3, "a warm-up of 2.5 s has three intervals");
	ok(nn_driver_interval_end_ns(&order, 0) == order.start_ns + 500 * NN_NS_PER_MS,
	   "the first of them is the short one");
	ok(nn_driver_interval_end_ns(&order, 2) == order.measure_ns,
	   "the last of them ends where the window starts");
	ok(nn_driver_interval_end_ns(&order, 3) == order.measure_ns + NN_NS_PER_S,
	   "a second of the window is a second");
	ok(nn_driver_interval_end_ns(&order, 4) == order.end_ns,
	   "the last, short one ends with the window");
	ok(nn_driver_warmup_intervals(5, 5) == 0, "no warm-up has no interval");
}

int
main(void)
{
	NnDriver   *driver = start_driver(7);
	NnDriverOrder connect = {.kind = NN_DRIVER_CONNECT,.clients = 7};
	int			n;
	bool		exact = true;

	test_boundaries();

	nn_driver_give_order(driver, &connect);
	while (!nn_driver_is_done(driver))
		nn_sleep_until_ns(nn_now_ns() + NN_NS_PER_MS);
	ok(driver->threads[0]->n_failed == 3 && driver->threads[1]->n_failed == 2 &&
	   driver->threads[2]->n_failed == 2, "7 clients are spread over 3 threads as 3, 2, 2");

	paced = true;
	n = run(driver, 7, NN_NS_PER_MS / 10);
	paced = false;
	for (int i = 0; i < n; i++)
		exact = exact && collected[i].latency.count == THREADS * PER_INTERVAL &&
			collected[i].latency.min_ns == (uint64_t) (i + 1) * 1000000 &&
			collected[i].latency.max_ns == (uint64_t) (i + 1) * 1000000;
	ok(n == INTERVALS, "every interval is collected");
	ok(exact, "each transaction counts where its end lies, boundaries included");
	ok(total() == (uint64_t) THREADS * INTERVALS * PER_INTERVAL, "no transaction is lost");

	n = run(driver, 7, 30 * NN_NS_PER_MS);
	ok(n == INTERVALS, "every interval is collected by a main thread that is late");
	ok(total() == (uint64_t) THREADS * INTERVALS * PER_INTERVAL,
	   "no transaction is lost when the ring is full");

	n = run(driver, 2, NN_NS_PER_MS / 10);
	ok(n == INTERVALS && total() == (uint64_t) 2 * INTERVALS * PER_INTERVAL,
	   "a thread without clients holds up nobody");

	stop_driver(driver);
	ok(nn_driver_is_finished(driver), "threads that wait for an order go home when told to");
	return tap_done();
}
