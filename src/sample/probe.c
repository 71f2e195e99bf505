/*-------------------------------------------------------------------------
 *
 * probe.c
 *	  What the same small piece of work costs.  See probe.h.
 *
 * In each round the thread does three things, and takes the CPU time of each:
 *
 *	 compute	COMPUTE_STEPS dependent multiplications that touch no memory: tells of the frequency and
 *				of a core that is shared with somebody
 *	 cache_l2	loads from a set of a quarter of the second-level cache, each line once, in an order that no
 *				prefetcher can guess.  The set was walked through EXPOSURE_NS ago, so this tells how much of
 *				it somebody has evicted since then
 *	 memory		loads from a set of twice the last-level cache: the latency of memory, which rises with the
 *				use of its bandwidth; a part of it still hits the cache
 *
 * CPU time leaves out what the scheduler gave to others, so these tell cache and memory pressure from run-queue
 * delay without hardware counters.  Single rounds are noise: a window gives a median and a 90th percentile.
 *
 * The pause between rounds is PAUSES times what a round costs, or MIN_PAUSE_NS if that is more, so the thread uses less than
 * 0.5 % of a CPU however slow the host gets.  It varies by a quarter either way, because noise has a
 * period.
 *
 * The sets are mapped by the thread before its first window, in large pages where the system has
 * them, so that little of the time is page tables'.  A lock is held only while orders change hands.
 *
 *-------------------------------------------------------------------------
 */
#include "sample/probe.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/chase.h"
#include "core/clock.h"
#include "core/random.h"
#include "core/statistics.h"

#define COMPUTE_STEPS	8000
#define MEMORY_STEPS	256
#define L2_SHARE		4
#define EXPOSURE_NS		NN_NS_PER_MS
#define MIN_PAUSE_NS	(25 * NN_NS_PER_MS)
#define MAX_PAUSE_NS	(250 * NN_NS_PER_MS)
#define PAUSES			240
#define MAX_SET_BYTES	(UINT64_C(128) << 20)
#define MAX_SET_SHARE	64		/* of the memory that is available */

/* Kept from being optimised away. */
static volatile uint64_t computed;

NnProbe *
nn_probe_create(const NnTopology *host, uint64_t seed)
{
	NnProbe    *probe = calloc(1, sizeof(NnProbe));
	uint64_t	room = nn_memory_room_bytes(host) / MAX_SET_SHARE;

	if (probe == NULL || pthread_mutex_init(&probe->mutex, NULL) != 0 ||
		pthread_cond_init(&probe->cond, NULL) != 0)
		return NULL;
	probe->seed = seed;
	for (int i = 0; i < NN_PROBES; i++)
	{
		probe->samples[i] = malloc(NN_PROBE_MAX_SAMPLES * sizeof(float));
		if (probe->samples[i] == NULL)
			return NULL;
	}
	probe->set_bytes[NN_PROBE_L2] = host->l2_bytes / L2_SHARE;
	probe->set_bytes[NN_PROBE_MEMORY] = 2 * host->llc_bytes;
	if (host->l2_bytes == 0)
		nn_why_not(&probe->why_not[NN_PROBE_L2], "the size of the second-level cache is not known");
	if (probe->set_bytes[NN_PROBE_MEMORY] > MAX_SET_BYTES ||
		(host->mem_available_bytes > 0 && probe->set_bytes[NN_PROBE_MEMORY] > room))
	{
		probe->set_bytes[NN_PROBE_MEMORY] = 0;
		nn_why_not(&probe->why_not[NN_PROBE_MEMORY],
				   "twice the last-level cache is more than a probe may take");
	}
	return probe;
}

void
nn_probe_order(NnProbe *probe, uint64_t start_ns, uint64_t end_ns)
{
	pthread_mutex_lock(&probe->mutex);
	probe->window++;
	probe->start_ns = start_ns;
	probe->end_ns = end_ns;
	pthread_cond_broadcast(&probe->cond);
	pthread_mutex_unlock(&probe->mutex);
}

bool
nn_probe_is_done(NnProbe *probe)
{
	return atomic_load_explicit(&probe->done, memory_order_acquire) == probe->window;
}

/* A cycle through all lines of a set; NULL when there is no memory for it. */
static NnChaseLine *
make_set(uint64_t bytes, uint64_t seed)
{
	NnChaseLine *lines = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (lines == MAP_FAILED)
		return NULL;
#ifdef MADV_HUGEPAGE
	(void) madvise(lines, bytes, MADV_HUGEPAGE);	/* not known: small ones */
#endif
	if (nn_chase_link(lines, bytes, seed))
		return lines;
	(void) munmap(lines, bytes);
	return NULL;
}

static double
compute(void)
{
	uint64_t	since_ns = nn_thread_cpu_ns();
	uint64_t	x = computed | 1;

	for (int i = 0; i < COMPUTE_STEPS; i++)
	{
		x *= UINT64_C(0x9E3779B97F4A7C15);
		x ^= x >> 29;
	}
	computed = x;
	return (double) (nn_thread_cpu_ns() - since_ns);
}

/* Go on through a set by "steps" lines; ns per line. */
static double
walk(NnChaseLine **at, uint64_t steps)
{
	uint64_t	since_ns = nn_thread_cpu_ns();

	*at = nn_chase_walk(*at, steps);
	return (double) (nn_thread_cpu_ns() - since_ns) / (double) steps;
}

static void
run_round(NnProbe *probe, NnChaseLine *at[NN_PROBES])
{
	int			n = probe->n_samples;

	if (n >= NN_PROBE_MAX_SAMPLES)
		return;
	probe->samples[NN_PROBE_COMPUTE][n] = (float) compute();
	if (at[NN_PROBE_L2] != NULL)
	{
		uint64_t	lines = probe->set_bytes[NN_PROBE_L2] / NN_CHASE_LINE_BYTES;

		(void) walk(&at[NN_PROBE_L2], lines);
		nn_sleep_until_ns(nn_now_ns() + EXPOSURE_NS);
		probe->samples[NN_PROBE_L2][n] = (float) walk(&at[NN_PROBE_L2], lines);
	}
	if (at[NN_PROBE_MEMORY] != NULL)
		probe->samples[NN_PROBE_MEMORY][n] = (float) walk(&at[NN_PROBE_MEMORY], MEMORY_STEPS);
	probe->n_samples = n + 1;
}

static void
run_window(NnProbe *probe, NnChaseLine *at[NN_PROBES], NnRandom *random, uint64_t start_ns, uint64_t end_ns)
{
	double		cost_ns = MIN_PAUSE_NS / PAUSES;
	uint64_t	next_ns = start_ns + (uint64_t) (nn_random_double(random) * MIN_PAUSE_NS);

	probe->n_samples = 0;
	for (;;)
	{
		uint64_t	since_ns;
		double		pause_ns;

		if (next_ns >= end_ns)
			return;
		while (nn_now_ns() < next_ns)
			nn_sleep_until_ns(next_ns);
		if (nn_now_ns() >= end_ns)
			return;
		since_ns = nn_thread_cpu_ns();
		run_round(probe, at);
		cost_ns = 0.75 * cost_ns + 0.25 * (double) (nn_thread_cpu_ns() - since_ns);
		pause_ns = fmin(fmax(PAUSES * cost_ns, MIN_PAUSE_NS), MAX_PAUSE_NS);
		next_ns = nn_now_ns() + (uint64_t) (pause_ns * (0.75 + 0.5 * nn_random_double(random)));
	}
}

/* Body of the thread.  It ends with the process. */
void *
nn_probe_thread_main(void *arg)
{
	NnProbe    *probe = arg;
	NnChaseLine *at[NN_PROBES] = {NULL};
	NnRandom	random;
	uint64_t	window = 0;

	nn_random_seed(&random, probe->seed, 1);
	for (int i = 0; i < NN_PROBES; i++)
		if (probe->set_bytes[i] > 0)
			at[i] = make_set(probe->set_bytes[i], probe->seed);
	for (;;)
	{
		uint64_t	start_ns;
		uint64_t	end_ns;

		pthread_mutex_lock(&probe->mutex);
		while (probe->window == window)
			pthread_cond_wait(&probe->cond, &probe->mutex);
		window = probe->window;
		start_ns = probe->start_ns;
		end_ns = probe->end_ns;
		pthread_mutex_unlock(&probe->mutex);
		run_window(probe, at, &random, start_ns, end_ns);
		for (int i = 0; i < NN_PROBES; i++)
			if (i != NN_PROBE_COMPUTE && at[i] == NULL && probe->set_bytes[i] > 0)
				nn_why_not(&probe->why_not[i], "there was no memory for the probe");
		atomic_store_explicit(&probe->done, window, memory_order_release);
	}
	return NULL;
}

void
nn_probe_result(NnProbe *probe, NnProbeResult results[NN_PROBES])
{
	double	   *values = malloc(sizeof(double) * (size_t) (probe->n_samples + 1));

	for (int i = 0; i < NN_PROBES; i++)
	{
		NnProbeResult *result = &results[i];

		result->set_bytes = probe->set_bytes[i];
		result->n = 0;
		result->p10_ns = result->median_ns = result->p90_ns = NAN;
		result->why_not = probe->why_not[i];
		if (values == NULL || probe->n_samples == 0)
			nn_why_not(&result->why_not, "the probe did not get to run in the window");
		if (values == NULL || probe->n_samples == 0 || result->why_not.reason[0] != '\0')
			continue;
		for (int s = 0; s < probe->n_samples; s++)
			values[s] = probe->samples[i][s];
		result->n = (uint64_t) probe->n_samples;
		result->p10_ns = nn_quantile(values, probe->n_samples, 0.1);
		result->median_ns = nn_quantile(values, probe->n_samples, 0.5);
		result->p90_ns = nn_quantile(values, probe->n_samples, 0.9);
	}
	free(values);
}
