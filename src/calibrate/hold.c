/*-------------------------------------------------------------------------
 *
 * hold.c
 *	  Probe of endurance: the same part load for long, and whether the host keeps up.
 *
 * A thread on each usable CPU works for a part of every 10 ms, by the credit of the time that has passed, so that a
 * late wake-up is made up for.  Its work is counted in pieces (primes below 1000), in bins of time that go on over
 * the repeats: these are parts of one load.  Two series are judged at the end, for drift and for jumps
 * (core/steadiness.c): the pieces in a second, which is what the host delivers, and the pieces in a second of CPU time, which
 * fall when the clock of the processor does, or when a neighbour shares its core.
 *
 *-------------------------------------------------------------------------
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate/probe.h"
#include "core/steadiness.h"
#include "host/cgroup.h"

#define PERIOD_NS		(10 * NN_NS_PER_MS)
#define MOST_CREDIT_NS	(3 * PERIOD_NS) /* of a thread that was starved */
#define PIECE_LIMIT		1000
#define LONGEST_BIN_NS	NN_NS_PER_S
#define BINS			600
#define FEWEST_BINS		40
#define MOST_THREADS	256
#define LEAST_CHANGE	0.01
#define PERCENT			100.0

/* The figures, in their order. */
enum
{
	RATE,
	SPEED,
	DOSE,
	THROTTLED,
	RATE_DRIFT,					/* from here on: known at the end */
	RATE_JUMPS,
	RATE_LARGEST,
	SPEED_DRIFT,
	SPEED_JUMPS,
	SPEED_LARGEST,
	N_HOLD_FIGURES
};

static const NnHostRoot root = {NN_HOST_PROC, NN_HOST_SYS};

typedef struct HoldState
{
	double		level;
	int			repeats;
	bool		first;			/* it reads what is of the whole group */
	uint64_t	bin_ns;
	int			bins_per_repeat;
	double	   *pieces;			/* of each bin of all repeats */
	double	   *cpu_ns;
	double	   *series;			/* for the judgement */
	uint64_t	primes;
} HoldState;

static int
hold_plan(const NnProbeOptions *options, const NnTopology *host, NnTrial *trials, char *error)
{
	NnTrial    *trial;
	int			threads = host->affinity_cpus;
	int			n = 0;

	if (options->hold_ns == 0)
	{
		snprintf(error, NN_PROBE_ERROR_LEN, "no time was given to it");
		return 0;
	}
	if (threads < 1)
		threads = 1;
	if (threads > MOST_THREADS)
		threads = MOST_THREADS;
	trial = nn_trial_add(trials, &n, threads, "pieces, by the clock", "1/s", NN_COMBINE_SUM);
	nn_figure_add(trial, "pieces, by CPU time", "1/s", NN_COMBINE_MEAN);
	nn_figure_add(trial, "dose", "% of a CPU", NN_COMBINE_MEAN);
	nn_figure_add(trial, "throttled", "% of the time", NN_COMBINE_SUM);
	nn_figure_add(trial, "by the clock, drift", "%", NN_COMBINE_SUM);
	nn_figure_add(trial, "by the clock, jumps", "", NN_COMBINE_SUM);
	nn_figure_add(trial, "by the clock, largest jump", "%", NN_COMBINE_SUM);
	nn_figure_add(trial, "by CPU time, drift", "%", NN_COMBINE_SUM);
	nn_figure_add(trial, "by CPU time, jumps", "", NN_COMBINE_SUM);
	nn_figure_add(trial, "by CPU time, largest jump", "%", NN_COMBINE_SUM);
	trial->duration_ns = options->hold_ns / (uint64_t) options->repeats;
	trial->argument = options->level_pct;
	return n;
}

static void
hold_destroy(void *state)
{
	HoldState  *hold = state;

	free(hold->pieces);
	free(hold->cpu_ns);
	free(hold->series);
	free(hold);
}

static void *
hold_create(const NnProbeOptions *options, const NnTrial *trial, int thread, void *common, char *error)
{
	HoldState  *hold = calloc(1, sizeof(HoldState));
	uint64_t	bin_ns = options->hold_ns / BINS;
	size_t		bins;

	(void) common;
	if (hold == NULL)
	{
		snprintf(error, NN_PROBE_ERROR_LEN, "out of memory");
		return NULL;
	}
	if (bin_ns < LONGEST_BIN_NS)
		bin_ns = options->hold_ns / FEWEST_BINS < LONGEST_BIN_NS ? options->hold_ns / FEWEST_BINS : LONGEST_BIN_NS;
	hold->level = trial->argument / PERCENT;
	hold->repeats = options->repeats;
	hold->first = thread == 0;
	hold->bin_ns = bin_ns;
	hold->bins_per_repeat = (int) (trial->duration_ns / bin_ns);
	if (hold->bins_per_repeat < 1)
	{
		hold->bins_per_repeat = 1;
		hold->bin_ns = trial->duration_ns;
	}
	bins = (size_t) hold->bins_per_repeat * (size_t) hold->repeats;
	hold->pieces = calloc(bins, sizeof(double));
	hold->cpu_ns = calloc(bins, sizeof(double));
	hold->series = calloc(bins, sizeof(double));
	if (hold->pieces == NULL || hold->cpu_ns == NULL || hold->series == NULL)
	{
		snprintf(error, NN_PROBE_ERROR_LEN, "out of memory");
		hold_destroy(hold);
		return NULL;
	}
	return hold;
}

/* The same work every time: some ten microseconds. */
static void
work(HoldState *hold)
{
	for (uint64_t number = 3; number < PIECE_LIMIT; number++)
	{
		uint64_t	divisor = 2;

		while (divisor * divisor <= number && number % divisor != 0)
			divisor++;
		if (divisor * divisor > number)
			hold->primes++;
	}
}

/* Count a piece in the bin of its end.  The warm-up counts nowhere. */
static void
count_piece(HoldState *hold, const NnWindow *window, uint64_t now_ns, uint64_t cpu_ns)
{
	uint64_t	bin = (now_ns - window->start_ns) / hold->bin_ns;

	if (window->repeat < 0 || window->repeat >= hold->repeats || bin >= (uint64_t) hold->bins_per_repeat)
		return;
	bin += (uint64_t) window->repeat * (uint64_t) hold->bins_per_repeat;
	hold->pieces[bin]++;
	hold->cpu_ns[bin] += (double) cpu_ns;
}

static void
hold_measure(void *state, const NnWindow *window, double *values)
{
	HoldState  *hold = state;
	uint64_t	cpu_from_ns = nn_thread_cpu_ns();
	uint64_t	cpu_ns = 0;
	uint64_t	now_ns = nn_now_ns();
	uint64_t	forgiven_ns = 0;
	double		pieces = 0;
	double		wall_ns;
	NnCgroupThrottle from;
	NnCgroupThrottle to;
	bool		known = hold->first && nn_cgroup_throttle_read(&root, &from, NULL);

	while (!nn_window_over(window))
	{
		uint64_t	passed_ns = now_ns > window->start_ns ? now_ns - window->start_ns : 0;
		double		credit_ns = hold->level * (double) (passed_ns + PERIOD_NS) - (double) (cpu_ns + forgiven_ns);

		if (credit_ns > (double) MOST_CREDIT_NS)
		{
			forgiven_ns += (uint64_t) (credit_ns - (double) MOST_CREDIT_NS);
			credit_ns = (double) MOST_CREDIT_NS;
		}
		for (double until_ns = (double) cpu_ns + credit_ns; (double) cpu_ns < until_ns && !nn_window_over(window);)
		{
			uint64_t	used_ns;

			work(hold);
			used_ns = nn_thread_cpu_ns() - cpu_from_ns;
			count_piece(hold, window, nn_now_ns(), used_ns - cpu_ns);
			cpu_ns = used_ns;
			pieces++;
		}
		now_ns = nn_now_ns();
		passed_ns = now_ns > window->start_ns ? now_ns - window->start_ns : 0;
		now_ns = window->start_ns + (passed_ns / PERIOD_NS + 1) * PERIOD_NS;
		if (hold->level < 1)
			nn_sleep_until_ns(now_ns < window->end_ns ? now_ns : window->end_ns);
		now_ns = nn_now_ns();
	}
	wall_ns = (double) (now_ns - window->start_ns);
	values[RATE] = pieces / wall_ns * (double) NN_NS_PER_S;
	values[SPEED] = cpu_ns > 0 ? pieces / (double) cpu_ns * (double) NN_NS_PER_S : NAN;
	values[DOSE] = PERCENT * (double) cpu_ns / wall_ns;

	/* Of the whole group; the other threads add nothing to it. */
	values[THROTTLED] = 0;
	if (hold->first)
		values[THROTTLED] = known && nn_cgroup_throttle_read(&root, &to, NULL) ?
			PERCENT * (double) (to.throttled_ns - from.throttled_ns) / wall_ns : NAN;
}

/* Judge one of the two series, of all threads together. */
static void
judge(void **states, int threads, bool by_cpu_time, NnSteadiness *steadiness)
{
	HoldState  *first = states[0];
	int			n = first->bins_per_repeat * first->repeats;

	for (int i = 0; i < n; i++)
	{
		double		pieces = 0;
		double		cpu_ns = 0;

		for (int t = 0; t < threads; t++)
		{
			pieces += ((HoldState *) states[t])->pieces[i];
			cpu_ns += ((HoldState *) states[t])->cpu_ns[i];
		}
		first->series[i] = by_cpu_time ? pieces / cpu_ns : pieces;
	}
	nn_steadiness_find(first->series, n, LEAST_CHANGE, steadiness);
}

static double
largest_jump(const NnSteadiness *steadiness, int *at)
{
	double		largest = 0;

	for (int i = 0; i < steadiness->n_changes; i++)
	{
		double		jump = steadiness->changes[i].after / steadiness->changes[i].before - 1;

		if (fabs(jump) > fabs(largest))
		{
			largest = jump;
			*at = steadiness->changes[i].at;
		}
	}
	return largest;
}

/* Fill in three figures and say the same in words. */
static void
tell(const HoldState *first, const NnSteadiness *steadiness, const char *what, double *values, NnTrial *trial)
{
	size_t		length = strlen(trial->note);
	char	   *note = trial->note + length;
	size_t		room = sizeof(trial->note) - length;
	const char *comma = length > 0 ? "; " : "";
	int			at = 0;

	if (steadiness->verdict == NN_STEADINESS_UNKNOWN)
	{
		snprintf(note, room, "%s%s: not judged", comma, what);
		return;
	}
	values[0] = PERCENT * steadiness->drift;
	values[1] = steadiness->n_changes;
	values[2] = PERCENT * largest_jump(steadiness, &at);
	if (steadiness->verdict == NN_HOLDS)
		snprintf(note, room, "%s%s: steady, CV %.2f %%", comma, what, PERCENT * steadiness->cv);
	else if (steadiness->verdict == NN_DRIFTS)
		snprintf(note, room, "%s%s: drifts by %.1f %% (%.1f to %.1f)", comma, what, PERCENT * steadiness->drift,
				 PERCENT * steadiness->drift_low, PERCENT * steadiness->drift_high);
	else
		snprintf(note, room, "%s%s: jumps %d times, most by %+.1f %% at %.0f s", comma, what, steadiness->n_changes,
				 values[2], at * ((double) first->bin_ns / (double) NN_NS_PER_S));
}

static void
hold_combine(void **states, int threads, const NnWindow *window, NnTrial *trial, double *values)
{
	HoldState  *first = states[0];
	NnSteadiness steadiness;

	for (int i = RATE_DRIFT; i < N_HOLD_FIGURES; i++)
		values[i] = NAN;
	if (window->repeat != first->repeats - 1)
		return;
	judge(states, threads, false, &steadiness);
	tell(first, &steadiness, "by the clock", &values[RATE_DRIFT], trial);
	judge(states, threads, true, &steadiness);
	tell(first, &steadiness, "by CPU time", &values[SPEED_DRIFT], trial);
}

const NnProbe nn_probe_hold = {
	.name = "hold",
	.version = 1,
	.plan = hold_plan,
	.create = hold_create,
	.destroy = hold_destroy,
	.measure = hold_measure,
	.combine = hold_combine
};
