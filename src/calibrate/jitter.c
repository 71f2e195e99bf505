/*-------------------------------------------------------------------------
 *
 * jitter.c
 *	  Probe of the scheduler: how late threads wake up, and when those that never sleep do not run.
 *
 * wake-ups	Each thread sleeps to a time on the clock, every millisecond, as cyclictest does it. Postponing timers
 *			by up to 50 us, which the kernel does for ordinary threads, is a part of the figure.
 * gaps		A thread on each CPU that may be used reads the clock over and over.  What lies between two readings is
 *			explained by what the kernel says about the thread (host/gap.c); all gaps together tell contention,
 *			steal and quotas apart, and which quota it is, whether or not a file tells it (core/quota.c).
 *
 *-------------------------------------------------------------------------
 */
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate/probe.h"
#include "core/quota.h"
#include "host/cpu.h"
#include "host/gap.h"
#include "host/wakeup.h"

#define INTERVAL_NS			NN_NS_PER_MS
#define GAP_FROM_NS			(10 * NN_NS_PER_US)
#define GAPS_KEPT			8192
#define SPIN_NS				(20 * NN_NS_PER_MS) /* between two looks at the
												 * window */
#define MOST_THREADS		256
#define PERCENT				100.0

enum
{
	KIND_WAKEUPS,
	KIND_GAPS
};

/* Figures of the trials, in their order. */
enum
{
	WAKEUP_P50,
	WAKEUP_P99,
	WAKEUP_MAX
};

enum
{
	GAPS_LOST,
	GAPS_LONGEST,
	GAPS_NUMBER,
	GAPS_CAUSE,					/* and so on, one for each cause */
	GAPS_QUOTA = GAPS_CAUSE + NN_GAP_CAUSES,
	GAPS_PERIOD,
	GAPS_STALL
};

/* The files of /proc that a thread reads about itself. */
static const NnHostRoot root = {NN_HOST_PROC, NN_HOST_SYS};

typedef struct JitterState
{
	int			kind;
	int			cpu;			/* where it stays; -1: anywhere */
	NnWakeup	wakeup;
	NnHistogram merged;			/* of the first thread: of all */
	NnGapRecorder recorder;
	double		idle_ns;		/* of its CPU, in the window */
	double		steal_ns;
	int			verdicts[NN_LOSS_UNKNOWN + 1];	/* of the first thread: number
												 * of repeats */
	double		lost_most;
	double		scratch[NN_LOSS_SCRATCH];
	NnGap		gaps[GAPS_KEPT];
} JitterState;

static int
jitter_plan(const NnProbeOptions *options, const NnTopology *host, NnTrial *trials, char *error)
{
	static const char *const causes[NN_GAP_CAUSES] = {
		"gaps, run queue", "gaps, throttled", "gaps, steal", "gaps, unknown"
	};
	int			cpus = host->affinity_cpus;
	NnTrial    *trial;
	int			n = 0;

	(void) options;
	(void) error;
	if (cpus < 1)
		cpus = 1;
	if (cpus > MOST_THREADS)
		cpus = MOST_THREADS;
	for (int threads = 1; threads <= cpus; threads += cpus > 1 ? cpus - 1 : 1)
	{
		trial = nn_trial_add(trials, &n, threads, "wake-up, p50", "us", NN_COMBINE_MEAN);
		nn_figure_add(trial, "wake-up, p99", "us", NN_COMBINE_MEAN);
		nn_figure_add(trial, "wake-up, longest", "us", NN_COMBINE_MAX);
		trial->kind = KIND_WAKEUPS;
	}

	trial = nn_trial_add(trials, &n, cpus, "gaps, lost", "% of the time", NN_COMBINE_MEAN);
	nn_figure_add(trial, "gaps, longest", "us", NN_COMBINE_MAX);
	nn_figure_add(trial, "gaps, number", "1/s", NN_COMBINE_MEAN);
	for (int i = 0; i < NN_GAP_CAUSES; i++)
		nn_figure_add(trial, causes[i], "% of the time", NN_COMBINE_MEAN);
	nn_figure_add(trial, "quota", "CPUs", NN_COMBINE_MEAN);
	nn_figure_add(trial, "quota, period", "ms", NN_COMBINE_MEAN);
	nn_figure_add(trial, "quota, stall", "ms", NN_COMBINE_MEAN);
	trial->kind = KIND_GAPS;
	return n;
}

/* Have the calling thread stay on one of the CPUs that it may use; -1 when that can't be. */
static int
stay_on(int number)
{
	cpu_set_t	usable;
	cpu_set_t	one;

	if (sched_getaffinity(0, sizeof(usable), &usable) != 0)
		return -1;
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
	{
		if (!CPU_ISSET(cpu, &usable) || number-- > 0)
			continue;
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		return sched_setaffinity(0, sizeof(one), &one) == 0 ? cpu : -1;
	}
	return -1;
}

static void *
jitter_create(const NnProbeOptions *options, const NnTrial *trial, int thread, void *common, char *error)
{
	JitterState *jitter = malloc(sizeof(JitterState));

	(void) options;
	(void) common;
	if (jitter == NULL)
	{
		snprintf(error, NN_PROBE_ERROR_LEN, "out of memory");
		return NULL;
	}
	/* Every page is written now: a page fault would be a gap. */
	memset(jitter, 0, sizeof(*jitter));
	jitter->kind = trial->kind;
	jitter->cpu = trial->kind == KIND_GAPS ? stay_on(thread) : -1;
	return jitter;
}

static void
measure_gaps(JitterState *jitter, const NnWindow *window)
{
	NnCpuTimes	from;
	NnCpuTimes	to;
	bool		known = jitter->cpu >= 0 && nn_cpu_times_read_one(&root, jitter->cpu, &from, NULL);
	uint64_t	until_ns;

	nn_gap_start(&jitter->recorder, &root, GAP_FROM_NS, jitter->gaps, GAPS_KEPT);
	do
	{
		until_ns = jitter->recorder.last_ns + SPIN_NS;
		nn_gap_spin(&jitter->recorder, until_ns < window->end_ns ? until_ns : window->end_ns);
	} while (!nn_window_over(window));
	nn_gap_finish(&jitter->recorder);

	known = known && nn_cpu_times_read_one(&root, jitter->cpu, &to, NULL);
	jitter->idle_ns = jitter->steal_ns = NAN;
	if (known)
	{
		/* Both may go down by a tick. */
		jitter->idle_ns = fmax(to.idle_s - from.idle_s, 0) * (double) NN_NS_PER_S;
		if (!isnan(to.iowait_s))
			jitter->idle_ns += fmax(to.iowait_s - from.iowait_s, 0) * (double) NN_NS_PER_S;
		if (!isnan(to.steal_s))
			jitter->steal_ns = fmax(to.steal_s - from.steal_s, 0) * (double) NN_NS_PER_S;
	}
}

static void
gap_figures(const NnGapSeries *series, double *values)
{
	double		window_ns = (double) (series->to_ns - series->from_ns);

	if (!(window_ns > 0))
		return;
	values[GAPS_LOST] = PERCENT * series->total_ns / window_ns;
	values[GAPS_LONGEST] = (double) series->longest_ns / (double) NN_NS_PER_US;
	values[GAPS_NUMBER] = (double) series->count / window_ns * (double) NN_NS_PER_S;
	for (int i = 0; i < NN_GAP_CAUSES; i++)
		values[GAPS_CAUSE + i] = PERCENT * series->part_ns[i] / window_ns;
}

static void
jitter_measure(void *state, const NnWindow *window, double *values)
{
	JitterState *jitter = state;

	if (jitter->kind == KIND_GAPS)
	{
		measure_gaps(jitter, window);
		gap_figures(&jitter->recorder.series, values);
		return;
	}
	nn_wakeup_start(&jitter->wakeup, INTERVAL_NS);
	while (!nn_window_over(window))
	{
		uint64_t	until_ns = nn_now_ns() + SPIN_NS;

		nn_wakeup_run(&jitter->wakeup, until_ns < window->end_ns ? until_ns : window->end_ns);
		if (jitter->wakeup.next_ns >= window->end_ns)
			break;
	}
}

/* Of several threads, the percentiles come from the histogram of all. */
static void
combine_wakeups(void **states, int threads, double *values)
{
	NnHistogram *merged = &((JitterState *) states[0])->merged;

	nn_histogram_reset(merged);
	for (int i = 0; i < threads; i++)
		nn_histogram_merge(merged, &((JitterState *) states[i])->wakeup.lateness);
	values[WAKEUP_P50] = nn_histogram_percentile_ns(merged, 0.5) / (double) NN_NS_PER_US;
	values[WAKEUP_P99] = nn_histogram_percentile_ns(merged, 0.99) / (double) NN_NS_PER_US;
	values[WAKEUP_MAX] = merged->count > 0 ? (double) merged->max_ns / (double) NN_NS_PER_US : NAN;
}

/* Say in words what the repeats so far were found to be. */
static void
write_note(JitterState *first, const NnLossFinding *finding, char *note)
{
	int			length;

	length = snprintf(note, NN_PROBE_ERROR_LEN, "up to %.1f %% lost; cause:", PERCENT * first->lost_most);
	for (int i = 0; i <= NN_LOSS_UNKNOWN && length < NN_PROBE_ERROR_LEN; i++)
		if (first->verdicts[i] > 0)
			length += snprintf(note + length, (size_t) (NN_PROBE_ERROR_LEN - length), "%s %s (%d)",
							   note[length - 1] == ':' ? "" : ",", nn_loss_verdict_name((NnLossVerdict) i), first->verdicts[i]);
	if (!isnan(finding->period_ms) && length < NN_PROBE_ERROR_LEN)
		snprintf(note + length, (size_t) (NN_PROBE_ERROR_LEN - length), "; %s of %.3g CPUs each %.1f ms",
				 finding->verdict == NN_LOSS_THROTTLE ? "a quota" : "if it is a quota, one", finding->quota_cpus,
				 finding->period_ms);
}

static void
combine_gaps(void **states, int threads, NnTrial *trial, double *values)
{
	JitterState *first = states[0];
	const NnGapSeries *series[MOST_THREADS];
	NnLossEvidence evidence = {series, threads, 0, 0};
	NnLossFinding finding;

	values[GAPS_QUOTA] = values[GAPS_PERIOD] = values[GAPS_STALL] = NAN;
	for (int i = 0; i < threads; i++)
	{
		JitterState *jitter = states[i];

		series[i] = &jitter->recorder.series;
		evidence.idle_ns += jitter->idle_ns;
		evidence.steal_ns += jitter->steal_ns;
		if (series[i]->to_ns <= series[i]->from_ns)
			return;
	}
	nn_loss_explain(&evidence, first->scratch, &finding);
	first->verdicts[finding.verdict]++;
	first->lost_most = fmax(first->lost_most, finding.lost_share);

	/* What may be nothing but neighbours that keep time is in the note only. */
	if (finding.verdict == NN_LOSS_THROTTLE || finding.verdict == NN_LOSS_STEAL_OR_CAP)
	{
		values[GAPS_QUOTA] = finding.quota_cpus;
		values[GAPS_PERIOD] = finding.period_ms;
		values[GAPS_STALL] = finding.stall_ms;
	}
	write_note(first, &finding, trial->note);
}

static void
jitter_combine(void **states, int threads, const NnWindow *window, NnTrial *trial, double *values)
{
	(void) window;
	if (trial->kind == KIND_GAPS)
		combine_gaps(states, threads, trial, values);
	else
		combine_wakeups(states, threads, values);
}

const NnProbe nn_probe_jitter = {
	.name = "jitter",
	.version = 1,
	.plan = jitter_plan,
	.create = jitter_create,
	.destroy = free,
	.measure = jitter_measure,
	.combine = jitter_combine
};
