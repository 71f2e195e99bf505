/*-------------------------------------------------------------------------
 *
 * sample_worker.c
 *	  The worker that watches the server and the host during a block.
 *
 * One thread and three rhythms, all laid on the clock at the start of the measured window, so that
 * lateness of one step does not move the next:
 *
 *	 - wait events of every process, once in every sample interval,
 *	 - whether a checkpoint is in progress, every 100 ms, between the windows too,
 *	 - use of the host, at the end of every second.
 *
 * A thread beside it measures what a fixed piece of work costs (probe.c).
 *
 * Server counters and the use of the whole window are read at both ends of it.
 *
 * The moment of a sample moves through its interval from one interval to the next, by
 * the golden ratio, which covers it evenly.  Noise comes in bursts with a period of 10 ms: samples
 * of that period would meet it always in the same phase, and would see
 * the waits of that phase alone.
 *
 * A worker that gets the CPU too late skips what it missed and says how much it was: catching up would
 * count one moment many times.
 *
 * Memory: a context that is reset after each block.  Results go straight to shared->sample and
 * the rows of host seconds, which are ours until the order is done.  No locks.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "utils/memutils.h"

#include "core/clock.h"
#include "host/topology.h"
#include "sample/bands.h"
#include "sample/host_usage.h"
#include "sample/probe.h"
#include "sample/server_counters.h"
#include "sample/waits.h"
#include "server/worker.h"

#define CLOCK_SLEEP_NS		(2 * NN_NS_PER_MS)
#define GOLDEN_RATIO		0.61803398874989485

/* A window that is being measured. */
typedef struct Window
{
	NnWorker   *worker;
	uint64		start_ns;
	uint64		end_ns;

	NnKinds    *kinds;

	/* wait events */
	NnWaits    *waits;
	uint64		interval_ns;
	uint64		tick;			/* number of the next sample */
	uint64		ticks;			/* whole intervals in the window */
	uint64		second_samples; /* in the current second */
	uint64		second_lwlock_waiters;

	/* checkpoints and counters */
	NnBandTracker *bands;
	NnCountersWindow counters;
	uint64		poll_ns;		/* of the next poll */
	bool		second_checkpoint;

	/* host */
	NnHostSampler *host;
	NnHostReading first;
	NnHostReading latest;
	int			second;			/* number of the current second */
	int			n_seconds;
} Window;

static NnProbe *probe;			/* NULL: switched off, or could not be had */

/* When sample "tick" is due; UINT64_MAX behind the last one. */
static uint64
tick_ns(const Window *window, uint64 tick)
{
	double		phase = fmod(0.5 + (double) tick * GOLDEN_RATIO, 1.0);

	if (tick >= window->ticks)
		return UINT64_MAX;
	return window->start_ns + tick * window->interval_ns +
		(uint64) (phase * (double) window->interval_ns);
}

/* End of the current second; the last one ends with the window, whatever its length. */
static uint64
second_end_ns(const Window *window)
{
	if (window->second + 1 >= window->n_seconds)
		return window->end_ns;
	return Min(window->start_ns + (uint64) (window->second + 1) * NN_NS_PER_S, window->end_ns);
}

/*
 * The latch sleeps for whole milliseconds: too coarse for samples every millisecond.  So the last two are slept
 * on the clock, which answers a stop just that little later; whoever does nothing else must look at the
 * latch from time to time.
 */
static bool
wait_until(NnWorker *worker, uint64 until_ns)
{
	uint64		now_ns;

	while ((now_ns = nn_now_ns()) < until_ns)
	{
		if (until_ns - now_ns <= CLOCK_SLEEP_NS)
			nn_sleep_until_ns(until_ns);
		else if (!nn_worker_wait(worker, until_ns - NN_NS_PER_MS))
			return false;
	}
	return !nn_shared_must_stop(worker->shared);
}

/* Prepare a window, before it starts: allocates all that it needs. */
static Window *
window_create(NnWorker *worker, NnBandTracker *bands)
{
	NnShared   *shared = worker->shared;
	Window	   *window = palloc0(sizeof(Window));

	memset(&shared->sample, 0, sizeof(shared->sample));
	window->worker = worker;
	window->bands = bands;
	window->start_ns = shared->order.measure_ns;
	window->end_ns = shared->order.end_ns;
	window->interval_ns = Max(shared->request.sample_interval_ms, 1) * NN_NS_PER_MS;
	window->ticks = (window->end_ns - window->start_ns) / window->interval_ns;
	window->n_seconds = Min(shared->order.n_seconds, shared->request.max_seconds);
	window->kinds = nn_kinds_create(shared);
	window->waits = nn_waits_create(shared, window->kinds);
	window->host = nn_host_sampler_create(shared, window->kinds);
	return window;
}

static void
window_start(Window *window)
{
	nn_host_sampler_read(window->host, true, &window->first);
	window->latest = window->first;
	nn_counters_begin(&window->counters, window->bands);
	window->second_checkpoint = window->bands->in_progress;
	window->poll_ns = window->start_ns + NN_BANDS_POLL_NS;
}

static void
take_sample(Window *window, uint64 now_ns)
{
	uint64		current = (now_ns - window->start_ns) / window->interval_ns;

	window->second_lwlock_waiters += nn_waits_pass(window->waits, now_ns);
	window->second_samples++;
	window->worker->shared->sample.samples_taken++;
	window->tick = Max(window->tick + 1, current);
	if (tick_ns(window, window->tick) <= now_ns)
		window->tick++;
}

/* Every 100 ms: whether a checkpoint is on, and what the latch says.  False: the run is to stop. */
static bool
poll_checkpoint(Window *window, uint64 now_ns)
{
	window->second_checkpoint |= nn_bands_poll(window->bands);
	window->poll_ns += NN_BANDS_POLL_NS;
	if (window->poll_ns <= now_ns)
		window->poll_ns = now_ns + NN_BANDS_POLL_NS;
	return nn_worker_wait(window->worker, now_ns);
}

/*
 * Store the seconds that have ended: one, unless we didn't get the CPU for longer; all of
 * them then get the mean of the time since the last reading.
 */
static void
end_seconds(Window *window, uint64 now_ns)
{
	NnShared   *shared = window->worker->shared;
	bool		last = now_ns >= window->end_ns;
	NnHostReading reading;
	NnHostUsage usage;

	nn_host_sampler_read(window->host, last, &reading);
	nn_host_usage(&window->latest, &reading, &usage);
	window->latest = reading;
	while (window->second < window->n_seconds && second_end_ns(window) <= now_ns)
	{
		NnHostSecond *second = &nn_shared_host_seconds(shared)[window->second];

		second->usage = usage;
		second->lwlock_waiters = window->second_samples == 0 ? NAN :
			(double) window->second_lwlock_waiters / (double) window->second_samples;
		second->checkpoint = window->second_checkpoint;
		window->second++;
	}
	shared->sample.n_seconds = window->second;
	window->second_samples = 0;
	window->second_lwlock_waiters = 0;
	window->second_checkpoint = window->bands->in_progress;
}

/* Start the thread of the probes.  Without it a run lacks their figures, and nothing else. */
static void
start_probe(NnWorker *worker)
{
	const NnRequest *request = &worker->shared->request;
	NnTopology	host;
	pthread_t	thread;

	if (!request->probes)
		return;
	nn_topology_read(&request->root, &host);
	probe = nn_probe_create(&host, request->seed);
	if (probe == NULL || nn_thread_start(&thread, nn_probe_thread_main, probe) != 0)
	{
		probe = NULL;
		return;
	}
#ifdef __linux__
	(void) pthread_setname_np(thread, "nn-probe");
#endif
}

/* Have the probes' figures.  False: the run is to stop. */
static bool
collect_probe(Window *window)
{
	if (probe == NULL)
		return true;
	while (!nn_probe_is_done(probe))
		if (!nn_worker_wait(window->worker, nn_now_ns() + NN_NS_PER_MS))
			return false;
	nn_probe_result(probe, window->worker->shared->sample.probes);
	return true;
}

/* The whole window has been seen. */
static void
window_end(Window *window)
{
	NnSampleResult *result = &window->worker->shared->sample;

	nn_counters_end(&window->counters, &result->counters);
	nn_host_usage(&window->first, &window->latest, &result->usage);
	nn_host_sampler_end(window->host, &window->first, &window->latest);
	result->samples_expected = window->ticks;
}

/* Nothing is measured now, but for checkpoints. */
static bool
idle_until(NnWorker *worker, NnBandTracker *bands, uint64 until_ns)
{
	for (;;)
	{
		uint64		poll_ns = nn_now_ns() + NN_BANDS_POLL_NS;

		if (!wait_until(worker, Min(poll_ns, until_ns)))
			return false;
		if (poll_ns >= until_ns)
			return true;
		(void) nn_bands_poll(bands);
	}
}

static bool
next_order(NnWorker *worker, NnBandTracker *bands)
{
	while (!nn_worker_take_order(worker))
	{
		if (!nn_worker_wait(worker, nn_now_ns() + NN_BANDS_POLL_NS))
			return false;
		(void) nn_bands_poll(bands);
	}
	return !nn_shared_must_stop(worker->shared);
}

/* Carry out one block; false: the run was stopped, and there is no result. */
static bool
run_block(NnWorker *worker, NnBandTracker *bands)
{
	Window	   *window = window_create(worker, bands);
	uint64		now_ns;

	if (probe)
		nn_probe_order(probe, window->start_ns, window->end_ns);
	nn_worker_activity(worker, "sampling, block %d", worker->shared->order.block);
	if (!idle_until(worker, bands, window->start_ns))
		return false;
	window_start(window);
	do
	{
		uint64		next_ns = Min(second_end_ns(window), window->poll_ns);

		next_ns = Min(next_ns, tick_ns(window, window->tick));
		if (!wait_until(worker, next_ns))
			return false;

		now_ns = nn_now_ns();
		if (now_ns >= tick_ns(window, window->tick) && now_ns < window->end_ns)
			take_sample(window, now_ns);
		if ((now_ns >= window->poll_ns || now_ns >= window->end_ns) &&
			!poll_checkpoint(window, now_ns))
			return false;
		if (now_ns >= second_end_ns(window))
			end_seconds(window, now_ns);
	} while (now_ns < window->end_ns);
	window_end(window);
	nn_worker_activity(worker, "waiting");
	return collect_probe(window);
}

void
nn_sample_main(Datum main_arg)
{
	NnWorker	worker;
	NnBandTracker bands;
	MemoryContext block_context;
	bool		going = true;

	nn_worker_start(&worker, main_arg);
	start_probe(&worker);
	block_context = AllocSetContextCreate(CurrentMemoryContext, NN_NAME " sample block",
										  ALLOCSET_DEFAULT_SIZES);
	nn_bands_begin(&bands, worker.shared);
	nn_worker_ready(&worker);
	while (going && next_order(&worker, &bands))
	{
		if (worker.shared->order.kind == NN_ORDER_RUN)
		{
			MemoryContext old_context = MemoryContextSwitchTo(block_context);

			going = run_block(&worker, &bands);
			MemoryContextSwitchTo(old_context);
			MemoryContextReset(block_context);
		}
		if (going)
			nn_worker_done(&worker);
	}
	nn_bands_end(&bands);
}
