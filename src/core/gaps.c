/*-------------------------------------------------------------------------
 *
 * gaps.c
 *	  Gaps of a thread that never sleeps.  See gaps.h.
 *
 *-------------------------------------------------------------------------
 */
#include "core/gaps.h"

#include <math.h>
#include <string.h>

#define TICK_NS		1e7

const char *
nn_gap_cause_name(NnGapCause cause)
{
	switch (cause)
	{
		case NN_GAP_RUN_QUEUE:
			return "run queue";
		case NN_GAP_THROTTLED:
			return "throttled";
		case NN_GAP_STEAL:
			return "steal";
		case NN_GAP_UNKNOWN:
		case NN_GAP_CAUSES:
			break;
	}
	return "unknown";
}

/* A value between 0 and a limit that is not below 0; not measured counts as nothing. */
static double
bounded(double value, double limit)
{
	if (!(value > 0))
		return 0;
	return value < limit ? value : limit;
}

void
nn_gap_explain(double length_ns, const NnGapAccount *account, double part_ns[NN_GAP_CAUSES])
{
	bool		delay_known = !isnan(account->run_delay_ns);
	double		delay = bounded(account->run_delay_ns, length_ns);
	double		off_cpu = bounded(account->wall_ns - account->cpu_ns - delay, length_ns - delay);
	double		steal;

	/*
	 * Without the run-queue delay, time off the CPU may be that or steal: the
	 * host's figure decides.
	 */
	steal = delay_known ? off_cpu : 0;
	if (steal >= NN_GAP_LONG_NS && account->steal_ns < steal / 2)
		steal = bounded(account->steal_ns, steal);
	steal += bounded(account->steal_ns - steal, length_ns - delay - steal);

	/*
	 * A throttled thread waits in the run queue, but kernels since 6.18
	 * forget to count that now and then.
	 */
	part_ns[NN_GAP_THROTTLED] = bounded(account->throttled_ns, delay + steal);
	part_ns[NN_GAP_RUN_QUEUE] = fmax(delay - part_ns[NN_GAP_THROTTLED], 0);
	part_ns[NN_GAP_STEAL] = fmin(delay + steal - part_ns[NN_GAP_THROTTLED], steal);
	part_ns[NN_GAP_UNKNOWN] = length_ns - delay - steal;
}

NnGapCause
nn_gap_main_cause(const double part_ns[NN_GAP_CAUSES])
{
	NnGapCause	main_cause = NN_GAP_UNKNOWN;
	int			i;

	for (i = 0; i < NN_GAP_CAUSES; i++)
		if (part_ns[i] > part_ns[main_cause])
			main_cause = (NnGapCause) i;
	return main_cause;
}

void
nn_gap_series_init(NnGapSeries *series, NnGap *gaps, int room, uint64_t from_ns)
{
	memset(series, 0, sizeof(*series));
	series->gaps = gaps;
	series->room = room;
	series->from_ns = from_ns;
	series->to_ns = from_ns;
	nn_histogram_reset(&series->lengths);
}

static void
make_room(NnGapSeries *series)
{
	while (series->n > series->room / 2)
	{
		int			kept = 0;
		int			i;

		series->kept_from_ns = series->kept_from_ns > 0 ? 2 * series->kept_from_ns : 1000;
		for (i = 0; i < series->n; i++)
			if (series->gaps[i].length_ns >= series->kept_from_ns)
				series->gaps[kept++] = series->gaps[i];
		series->n = kept;
	}
}

void
nn_gap_series_add(NnGapSeries *series, uint64_t start_ns, uint64_t length_ns, uint64_t cpu_ns,
				  const double part_ns[NN_GAP_CAUSES])
{
	NnGap	   *gap;
	int			i;

	series->count++;
	series->total_ns += (double) length_ns;
	if (length_ns > series->longest_ns)
		series->longest_ns = length_ns;
	for (i = 0; i < NN_GAP_CAUSES; i++)
		series->part_ns[i] += part_ns[i];
	series->cause_count[nn_gap_main_cause(part_ns)]++;
	nn_histogram_record(&series->lengths, length_ns);

	if (series->n >= series->room)
		make_room(series);
	if (length_ns < series->kept_from_ns || series->n >= series->room)
		return;
	gap = &series->gaps[series->n++];
	gap->start_ns = start_ns;
	gap->length_ns = length_ns;
	gap->cpu_ns = cpu_ns;
	for (i = 0; i < NN_GAP_CAUSES; i++)
		gap->part_ns[i] = (float) part_ns[i];
}

void
nn_gap_series_settle(NnGapSeries *series, double host_steal_ns)
{
	double		stolen_ns = series->part_ns[NN_GAP_STEAL];
	double		share;
	int			i;

	if (isnan(host_steal_ns) || stolen_ns <= host_steal_ns + TICK_NS)
		return;
	share = host_steal_ns > 0 ? host_steal_ns / stolen_ns : 0;
	series->part_ns[NN_GAP_UNKNOWN] += stolen_ns * (1 - share);
	series->part_ns[NN_GAP_STEAL] *= share;
	for (i = 0; i < series->n; i++)
	{
		float	   *part_ns = series->gaps[i].part_ns;

		part_ns[NN_GAP_UNKNOWN] += (float) (part_ns[NN_GAP_STEAL] * (1 - share));
		part_ns[NN_GAP_STEAL] *= (float) share;
	}
	if (share == 0)
	{
		series->cause_count[NN_GAP_UNKNOWN] += series->cause_count[NN_GAP_STEAL];
		series->cause_count[NN_GAP_STEAL] = 0;
	}
}
