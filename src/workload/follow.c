/*-------------------------------------------------------------------------
 *
 * follow.c
 *	  One client whose transactions are followed one by one.  See follow.h.
 *
 * The scheduler brings the account of a process up to date when it gives up its CPU, and with every tick.  When the last
 * result of a transaction arrives its backend may still be running, so some microseconds of CPU time
 * are missing: in a closed loop the reading at the end of a transaction is the one at the beginning of the
 * next, which gets them.  Run-queue delay is exact.
 *
 *-------------------------------------------------------------------------
 */
#include "workload/follow.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/random.h"
#include "core/statistics.h"

/* A reading that is not older than this stands for one made now. */
#define FRESH_NS		(100 * NN_NS_PER_US)

/* How often the sampling thread looks whether there is something to sample. */
#define IDLE_NS			(50 * NN_NS_PER_MS)

#define TAIL_FRACTION	0.99

NnFollow *
nn_follow_create(const NnHostRoot *root, NnFollowClassify classify)
{
	NnFollow   *follow = calloc(1, sizeof(NnFollow));

	if (follow == NULL)
		return NULL;
	follow->records = malloc(NN_FOLLOW_MAX_RECORDS * sizeof(NnFollowRecord));
	if (follow->records == NULL)
	{
		free(follow);
		return NULL;
	}
	follow->root = *root;
	follow->classify = classify;
	follow->fd = -1;
	return follow;
}

void
nn_follow_block(NnFollow *follow, uint64_t measure_ns, uint64_t end_ns)
{
	follow->measure_ns = measure_ns;
	follow->end_ns = end_ns;
	follow->n_records = 0;
	follow->begun = false;
	follow->stat_ns = 0;
	atomic_store(&follow->sampling, true);
}

static bool
read_account(NnFollow *follow, int pid, uint64_t now_ns)
{
	if (pid != follow->pid || follow->fd < 0)
	{
		nn_schedstat_close(follow->fd);
		follow->fd = pid > 0 ? nn_schedstat_open(&follow->root, pid) : -1;
		follow->pid = pid;
		atomic_store(&follow->wait_event_info, NULL);
		atomic_store(&follow->wanted_pid, pid);
	}
	if (follow->fd < 0 || !nn_schedstat_reread(follow->fd, &follow->stat))
		return false;
	follow->stat_ns = now_ns;
	return true;
}

static void
read_counts(NnFollow *follow, uint64_t counts[NN_WAIT_CLASSES])
{
	for (int i = 0; i < NN_WAIT_CLASSES; i++)
		counts[i] = atomic_load_explicit(&follow->sampled[i], memory_order_relaxed);
}

/* A transaction is about to be sent to the backend "pid". */
void
nn_follow_begin(NnFollow *follow, int pid, uint64_t now_ns)
{
	follow->begun = true;
	if (pid != follow->pid || follow->stat_ns == 0 || now_ns > follow->stat_ns + FRESH_NS)
		follow->begun = read_account(follow, pid, now_ns);
	read_counts(follow, follow->counts);
}

/* It has ended. */
void
nn_follow_end(NnFollow *follow, uint64_t intended_ns, uint64_t begin_ns, uint64_t now_ns)
{
	NnSchedstat from = follow->stat;
	NnFollowRecord *record = &follow->records[follow->n_records];
	uint64_t	counts[NN_WAIT_CLASSES];

	if (!follow->begun)
		return;
	follow->begun = false;
	if (!read_account(follow, follow->pid, now_ns) || now_ns < follow->measure_ns ||
		now_ns >= follow->end_ns || follow->n_records == NN_FOLLOW_MAX_RECORDS)
		return;
	record->latency_ms = (float) ((double) (now_ns - intended_ns) / NN_NS_PER_MS);
	record->service_ms = (float) ((double) (now_ns - begin_ns) / NN_NS_PER_MS);
	record->cpu_ms = (float) ((double) (follow->stat.run_ns - from.run_ns) / NN_NS_PER_MS);
	record->run_queue_ms =
		(float) ((double) (follow->stat.run_delay_ns - from.run_delay_ns) / NN_NS_PER_MS);
	read_counts(follow, counts);
	for (int i = 0; i < NN_WAIT_CLASSES; i++)
	{
		uint64_t	n = counts[i] - follow->counts[i];

		record->samples[i] = (uint16_t) (n < UINT16_MAX ? n : UINT16_MAX);
	}
	follow->n_records++;
}

/* Body of the thread that samples. */
void *
nn_follow_thread_main(void *arg)
{
	NnFollow   *follow = arg;
	NnRandom	random;
	uint64_t	next_ns = nn_now_ns();

	nn_random_seed(&random, 1, 0);
	for (;;)
	{
		const volatile uint32_t *wait_event_info = atomic_load(&follow->wait_event_info);
		bool		sampling = atomic_load(&follow->sampling) && wait_event_info != NULL;
		double		period_ns = sampling ? NN_FOLLOW_PERIOD_NS : IDLE_NS;

		if (sampling)
			atomic_fetch_add_explicit(&follow->sampled[follow->classify(*wait_event_info)], 1,
									  memory_order_relaxed);
		/* noise has a period; and what was missed is not caught up */
		next_ns += (uint64_t) (period_ns * (0.5 + nn_random_double(&random)));
		if (next_ns < nn_now_ns())
			next_ns = nn_now_ns();
		nn_sleep_until_ns(next_ns);
	}
	return NULL;
}

/* Means over the records from "threshold" on. */
static void
summarise(const NnFollow *follow, double threshold_ms, NnFollowedMean *result)
{
	NnBudgetInput *budget = &result->budget;

	memset(result, 0, sizeof(*result));
	for (int r = 0; r < follow->n_records; r++)
	{
		const NnFollowRecord *record = &follow->records[r];

		if (record->latency_ms < threshold_ms)
			continue;
		result->n++;
		budget->latency_ms += record->latency_ms;
		budget->service_ms += record->service_ms;
		budget->cpu_ms += record->cpu_ms;
		budget->run_queue_ms += record->run_queue_ms;
		for (int i = 0; i < NN_WAIT_CLASSES; i++)
			budget->samples[i] += record->samples[i];
	}
	if (result->n == 0)
		return;
	budget->latency_ms /= (double) result->n;
	budget->service_ms /= (double) result->n;
	budget->cpu_ms /= (double) result->n;
	budget->run_queue_ms /= (double) result->n;
	budget->wall_ms = budget->service_ms;
	budget->steal_ms = NAN;
}

void
nn_follow_results(NnFollow *follow, NnFollowedMean *all, NnFollowedMean *tail)
{
	int			n = follow->n_records;
	double	   *latencies;

	atomic_store(&follow->sampling, false);
	summarise(follow, 0, all);
	memset(tail, 0, sizeof(*tail));
	latencies = n >= NN_FOLLOW_MIN_RECORDS ? malloc(sizeof(double) * (size_t) n) : NULL;
	if (latencies == NULL)
		return;
	for (int r = 0; r < n; r++)
		latencies[r] = follow->records[r].latency_ms;
	summarise(follow, nn_quantile(latencies, n, TAIL_FRACTION), tail);
	free(latencies);
}
