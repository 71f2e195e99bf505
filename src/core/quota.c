/*-------------------------------------------------------------------------
 *
 * quota.c
 *	  Why spinning threads lost CPU time.  See quota.h.
 *
 *-------------------------------------------------------------------------
 */
#include "core/quota.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/statistics.h"

/* Less is lost on every host: interrupts, the threads of the kernel. */
#define LOSS_LEAST			0.02

/* Shorter gaps are no stall of a quota that a tick enforces. */
#define EVENT_NS			5e5

/* Schedulers take turns of some milliseconds, quotas have longer periods. */
#define PERIOD_LEAST_NS		9e6
#define PERIODS_LEAST		8

/* Of a longer window, this much from its start is folded. */
#define FOLDED_MOST_NS		1e10

/* What makes a period. */
#define COHERENCE_LEAST		0.6
#define EVIDENCE_LEAST		20.0	/* effective number of ends times
									 * coherence squared: by chance in 3 of a
									 * million scans (Rayleigh) */
#define HITS_LEAST			0.6
#define COMMON_LEAST		0.5

/* Of a quota's stall, the CPUs are idle unless others use them. */
#define IDLE_LEAST			0.2

/* An end of a gap belongs to the end of a period within this part of it. */
#define PHASE_TOLERANCE		0.15

/* A rate of CPU time is even when its coefficient of variation is below this, over bins of such length. */
#define EVEN_CV				0.05
#define BIN_NS				1e8

/* The end of a gap, from the start of the window. */
typedef struct Fold
{
	double	   *ends_ns;
	double	   *weights;		/* the length: a stall is longer than what
								 * comes between */
	int			n;
	double		window_ns;
	double		period_ns;
	double		phase_ns;
} Fold;

const char *
nn_loss_verdict_name(NnLossVerdict verdict)
{
	static const char *const names[] = {
		"none", "contention", "throttle", "steal", "steal or cap", "contention or quota", "unknown"
	};

	return names[verdict];
}

static double
window_ns(const NnGapSeries *series)
{
	return (double) (series->to_ns - series->from_ns);
}

static double
gap_end(const NnGapSeries *series, int i)
{
	return (double) (series->gaps[i].start_ns - series->from_ns) + (double) series->gaps[i].length_ns;
}

/*
 * Ends of gaps from a length on, counted from the first thread's start.  With too many of them the least length is doubled.
 */
static void
collect_ends(const NnLossEvidence *evidence, Fold *fold)
{
	double		least_ns = EVENT_NS;
	int			total;
	int			t;
	int			i;

	do
	{
		total = 0;
		for (t = 0; t < evidence->n; t++)
		{
			const NnGapSeries *series = evidence->series[t];

			for (i = 0; i < series->n; i++)
			{
				if (gap_end(series, i) > fold->window_ns)
					break;
				if ((double) series->gaps[i].length_ns < least_ns)
					continue;
				if (total < NN_LOSS_EVENTS)
				{
					fold->ends_ns[total] = gap_end(series, i) +
						((double) series->from_ns - (double) evidence->series[0]->from_ns);
					fold->weights[total] = (double) series->gaps[i].length_ns;
				}
				total++;
			}
		}
		least_ns *= 2;
	} while (total > NN_LOSS_EVENTS);
	fold->n = total;
}

/*
 * How well the phases agree at every frequency from "first" on, in steps of "step": the length of the mean
 * of unit vectors.  One multiplication turns a vector on by a step.
 */
static void
scan(const Fold *fold, double first, double step, int n, double *vectors, double *coherence)
{
	double	   *re = vectors;
	double	   *im = vectors + fold->n;
	double	   *step_re = vectors + 2 * fold->n;
	double	   *step_im = vectors + 3 * fold->n;
	double		total = 0;
	int			i;
	int			k;

	for (i = 0; i < fold->n; i++)
	{
		double		angle = 2 * M_PI * first * fold->ends_ns[i];
		double		turn = 2 * M_PI * step * fold->ends_ns[i];

		re[i] = cos(angle) * fold->weights[i];
		im[i] = sin(angle) * fold->weights[i];
		step_re[i] = cos(turn);
		step_im[i] = sin(turn);
		total += fold->weights[i];
	}
	for (k = 0; k < n; k++)
	{
		double		sum_re = 0;
		double		sum_im = 0;

		for (i = 0; i < fold->n; i++)
		{
			double		next_re = re[i] * step_re[i] - im[i] * step_im[i];

			sum_re += re[i];
			sum_im += im[i];
			im[i] = re[i] * step_im[i] + im[i] * step_re[i];
			re[i] = next_re;
		}
		coherence[k] = sqrt(sum_re * sum_re + sum_im * sum_im) / total;
	}
}

/* Difference of a time to the nearest end of a period. */
static double
off_phase(const Fold *fold, double t_ns)
{
	double		x = (t_ns - fold->phase_ns) / fold->period_ns;

	return (x - floor(x + 0.5)) * fold->period_ns;
}

/* The mean direction at a period is the phase. */
static void
find_phase(Fold *fold)
{
	double		re = 0;
	double		im = 0;
	int			i;

	for (i = 0; i < fold->n; i++)
	{
		double		angle = 2 * M_PI * fold->ends_ns[i] / fold->period_ns;

		re += cos(angle) * fold->weights[i];
		im += sin(angle) * fold->weights[i];
	}
	fold->phase_ns = atan2(im, re) / (2 * M_PI) * fold->period_ns;
}

/* Sharpen period and phase by a line through the ends that belong to it. */
static void
refine(Fold *fold)
{
	int			round;

	for (round = 0; round < 3; round++)
	{
		double		n = 0;
		double		sum_k = 0;
		double		sum_t = 0;
		double		sum_kk = 0;
		double		sum_kt = 0;
		double		spread;
		int			i;

		for (i = 0; i < fold->n; i++)
		{
			double		t = fold->ends_ns[i];
			double		k = floor((t - fold->phase_ns) / fold->period_ns + 0.5);

			if (fabs(off_phase(fold, t)) > PHASE_TOLERANCE * fold->period_ns)
				continue;
			n += fold->weights[i];
			sum_k += fold->weights[i] * k;
			sum_t += fold->weights[i] * t;
			sum_kk += fold->weights[i] * k * k;
			sum_kt += fold->weights[i] * k * t;
		}
		spread = n * sum_kk - sum_k * sum_k;
		if (!(n > 0) || !(spread > 0))
			return;
		fold->period_ns = (n * sum_kt - sum_k * sum_t) / spread;
		fold->phase_ns = (sum_t - fold->period_ns * sum_k) / n;
	}
}

/* How many ends of the same weight would say as much. */
static double
effective_number(const Fold *fold)
{
	double		sum = 0;
	double		sum_sq = 0;
	int			i;

	for (i = 0; i < fold->n; i++)
	{
		sum += fold->weights[i];
		sum_sq += fold->weights[i] * fold->weights[i];
	}
	return sum * sum / sum_sq;
}

/*
 * The longest period at which the phases agree nearly as well as at any.  Returns how well; 0
 * without one.
 */
static double
find_period(Fold *fold, double *scratch)
{
	enum
	{
		CHUNK = NN_LOSS_EVENTS
	};
	double	   *coherence = scratch;
	double	   *vectors = scratch + CHUNK;
	double		step = 1 / (4 * fold->window_ns);
	double		first = PERIODS_LEAST / fold->window_ns;
	int			n = (int) ((1 / PERIOD_LEAST_NS - first) / step) + 1;
	double		best = 0;
	int			i;

	if (fold->n < PERIODS_LEAST || n < 3)
		return 0;
	if (n > CHUNK)
		n = CHUNK;
	scan(fold, first, step, n, vectors, coherence);
	for (i = 0; i < n; i++)
		best = fmax(best, coherence[i]);
	for (i = 0; i < n; i++)
	{
		bool		peak = (i == 0 || coherence[i] >= coherence[i - 1]) &&
			(i == n - 1 || coherence[i] >= coherence[i + 1]);

		if (peak && coherence[i] >= 0.85 * best)
			break;
	}
	fold->period_ns = 1 / (first + i * step);
	find_phase(fold);
	refine(fold);
	if (effective_number(fold) * coherence[i] * coherence[i] < EVIDENCE_LEAST)
		return 0;
	return coherence[i];
}

/* Index of the first gap that ends at or after a time of the series' own window. */
static int
find_gap(const NnGapSeries *series, double t_ns)
{
	int			low = 0;
	int			high = series->n;

	while (low < high)
	{
		int			middle = (low + high) / 2;

		if (gap_end(series, middle) < t_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/*
 * CPU time of a thread from the start of its window to a time in it: known at the ends
 * of gaps, and even in between.
 */
static double
cpu_at(const NnGapSeries *series, double t_ns)
{
	int			i = find_gap(series, t_ns);
	double		from_ns = i > 0 ? gap_end(series, i - 1) : 0;
	double		from_cpu = i > 0 ? (double) series->gaps[i - 1].cpu_ns : 0;
	double		to_ns = i < series->n ? (double) (series->gaps[i].start_ns - series->from_ns) : window_ns(series);
	double		to_cpu = i < series->n ? (double) series->gaps[i].cpu_ns : (double) series->cpu_ns;

	if (i < series->n)
		to_cpu -= series->gaps[i].part_ns[NN_GAP_UNKNOWN];	/* counted as CPU time */
	if (t_ns >= to_ns || to_ns <= from_ns)
		return to_cpu;
	return from_cpu + (to_cpu - from_cpu) * (t_ns - from_ns) / (to_ns - from_ns);
}

/* A time of the first thread's window in that of another one. */
static double
shift(const NnLossEvidence *evidence, int t, double t_ns)
{
	return t_ns + ((double) evidence->series[0]->from_ns - (double) evidence->series[t]->from_ns);
}

static double
cpu_of_all(const NnLossEvidence *evidence, double t_ns)
{
	double		sum = 0;
	int			t;

	for (t = 0; t < evidence->n; t++)
		sum += cpu_at(evidence->series[t], shift(evidence, t, t_ns));
	return sum;
}

/* What a thread does at the end of a period. */
typedef enum AtEnd
{
	RUNS,
	STALL_ENDS,					/* a gap ends there; its length is told */
	STANDS_STILL				/* it is in a longer gap */
} AtEnd;

static AtEnd
at_end(const NnGapSeries *series, double t_ns, double tolerance_ns, double *length_ns)
{
	AtEnd		result = RUNS;
	int			i = find_gap(series, t_ns - tolerance_ns);

	*length_ns = 0;
	for (; i < series->n && (double) (series->gaps[i].start_ns - series->from_ns) < t_ns; i++)
	{
		double		length = (double) series->gaps[i].length_ns;

		if (length < EVENT_NS)
			continue;
		if (gap_end(series, i) > t_ns + tolerance_ns)
			return result == RUNS ? STANDS_STILL : result;
		result = STALL_ENDS;
		*length_ns = fmax(*length_ns, length);
	}
	return result;
}

/*
 * Go through the ends of periods: how many have a stall, how much CPU time was used in periods that end with one.
 * Periods that nobody ran through belong to the next stall: they pay the excess of an earlier one.
 */
static void
measure_periods(const NnLossEvidence *evidence, const Fold *fold, double *stalls, NnLossFinding *finding,
				double *common_share)
{
	double		tolerance_ns = PHASE_TOLERANCE * fold->period_ns;
	double		cpu_ns = 0;
	double		wall_ns = 0;
	double		from_cpu = NAN; /* at the last end of a period with a stall */
	double		from_ns = 0;
	int			hits = 0;
	int			common = 0;
	int			n_stalls = 0;
	double		k = ceil((tolerance_ns - fold->phase_ns) / fold->period_ns);
	double		t_ns;

	for (; (t_ns = fold->phase_ns + k * fold->period_ns) < fold->window_ns - tolerance_ns; k++)
	{
		int			ending = 0;
		int			still = 0;
		int			t;

		for (t = 0; t < evidence->n; t++)
		{
			double		length_ns;
			AtEnd		what = at_end(evidence->series[t], shift(evidence, t, t_ns), tolerance_ns, &length_ns);

			ending += what == STALL_ENDS;
			still += what == STANDS_STILL;
			if (what == STALL_ENDS && n_stalls < NN_LOSS_EVENTS)
				stalls[n_stalls++] = length_ns;
		}
		finding->periods++;
		if (ending + still > 0)
		{
			hits++;
			common += evidence->n == 1 || ending + still > 1;
		}
		if (ending > 0)
		{
			double		now_cpu = cpu_of_all(evidence, t_ns);

			if (!isnan(from_cpu))
			{
				cpu_ns += now_cpu - from_cpu;
				wall_ns += t_ns - from_ns;
			}
			from_cpu = now_cpu;
			from_ns = t_ns;
		}
		else if (still < evidence->n)
			from_cpu = NAN;
	}
	*common_share = hits > 0 ? (double) common / hits : 0;
	finding->hit_share = finding->periods > 0 ? (double) hits / finding->periods : 0;
	if (n_stalls > 0)
		finding->stall_ms = nn_quantile(stalls, n_stalls, 0.5) / (double) NN_NS_PER_MS;
	finding->quota_cpus = wall_ns >= 3 * fold->period_ns ? cpu_ns / wall_ns : finding->cpus;
}

/* Is there a period?  Fills in what it says of a quota. */
static bool
fold_gaps(const NnLossEvidence *evidence, double *scratch, NnLossFinding *finding)
{
	Fold		fold;
	double		common_share;

	fold.ends_ns = scratch;
	fold.weights = scratch + NN_LOSS_EVENTS;
	fold.window_ns = fmin(window_ns(evidence->series[0]), FOLDED_MOST_NS);
	collect_ends(evidence, &fold);
	finding->coherence = find_period(&fold, scratch + 2 * NN_LOSS_EVENTS);
	if (finding->coherence < COHERENCE_LEAST)
		return false;
	measure_periods(evidence, &fold, scratch + 2 * NN_LOSS_EVENTS, finding, &common_share);
	if (finding->hit_share < HITS_LEAST || common_share < COMMON_LEAST ||
		finding->quota_cpus > (1 - LOSS_LEAST) * evidence->n)
	{
		finding->quota_cpus = finding->stall_ms = NAN;
		return false;
	}
	finding->period_ms = fold.period_ns / (double) NN_NS_PER_MS;
	return true;
}

/* Does the rate of all threads' CPU time stay the same? */
static bool
is_even(const NnLossEvidence *evidence, double *bins)
{
	double		last = 0;
	int			n = (int) (window_ns(evidence->series[0]) / BIN_NS);
	int			i;

	if (n > NN_LOSS_EVENTS)
		n = NN_LOSS_EVENTS;
	if (n < PERIODS_LEAST)
		return false;
	for (i = 0; i < n; i++)
	{
		double		now = cpu_of_all(evidence, (i + 1) * BIN_NS);

		bins[i] = now - last;
		last = now;
	}
	return nn_stddev(bins, n) <= EVEN_CV * nn_mean(bins, n);
}

void
nn_loss_explain(const NnLossEvidence *evidence, double *scratch, NnLossFinding *finding)
{
	double		part_ns[NN_GAP_CAUSES] = {0};
	double		lost_ns = 0;
	double		steal_ns;
	bool		regular;
	int			t;
	int			i;

	memset(finding, 0, sizeof(*finding));
	finding->quota_cpus = finding->period_ms = finding->stall_ms = finding->idle_share = NAN;
	for (t = 0; t < evidence->n; t++)
	{
		const NnGapSeries *series = evidence->series[t];

		finding->cpus += (double) series->cpu_ns / window_ns(series);
		lost_ns += window_ns(series) - (double) series->cpu_ns;
		for (i = 0; i < NN_GAP_CAUSES; i++)
			part_ns[i] += series->part_ns[i];
	}
	finding->lost_share = 1 - finding->cpus / evidence->n;
	if (finding->lost_share < LOSS_LEAST)
	{
		finding->verdict = NN_LOSS_NONE;
		return;
	}
	finding->idle_share = evidence->idle_ns / lost_ns;

	/*
	 * What was neither CPU time nor run-queue delay is steal only as far as
	 * the host's account knows of it.
	 */
	steal_ns = part_ns[NN_GAP_STEAL];
	if (evidence->steal_ns < steal_ns)
		steal_ns = evidence->steal_ns;

	regular = fold_gaps(evidence, scratch, finding);
	if (part_ns[NN_GAP_THROTTLED] > 0.2 * lost_ns)
		finding->verdict = NN_LOSS_THROTTLE;
	else if (steal_ns > 0.5 * lost_ns)
		finding->verdict = regular || is_even(evidence, scratch) ? NN_LOSS_STEAL_OR_CAP : NN_LOSS_STEAL;
	else if (finding->idle_share >= IDLE_LEAST)
		finding->verdict = NN_LOSS_THROTTLE;
	else if (regular)
		finding->verdict = NN_LOSS_CONTENTION_OR_QUOTA;
	else if (part_ns[NN_GAP_RUN_QUEUE] > 0.5 * lost_ns)
		finding->verdict = NN_LOSS_CONTENTION;
	else
		finding->verdict = NN_LOSS_UNKNOWN;
}
