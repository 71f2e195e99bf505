/*-------------------------------------------------------------------------
 *
 * cpu.c
 *	  CPU time of the whole host, from /proc/stat.
 *
 * The columns of its "cpu" line grew over time (iowait, irq and softirq came
 * with Linux 2.6.0, steal with 2.6.11, guest with 2.6.24): what is not there
 * is NaN.  The kernel counts guest time in user (and nice) as well, so
 * user is taken as it is and guest only reported.
 *
 *-------------------------------------------------------------------------
 */
#include "host/cpu.h"
#include "host/parse.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

/* Columns of the "cpu" line, in order. */
enum
{
	COLUMN_USER,
	COLUMN_NICE,
	COLUMN_SYSTEM,
	COLUMN_IDLE,
	COLUMN_IOWAIT,
	COLUMN_IRQ,
	COLUMN_SOFTIRQ,
	COLUMN_STEAL,
	COLUMN_GUEST,
	COLUMN_GUEST_NICE,
	N_COLUMNS
};

static void
times_from_columns(NnCpuTimes *times, const uint64_t *ticks, int n)
{
	double		tick_s = 1.0 / (double) sysconf(_SC_CLK_TCK);

	times->user_s = tick_s * (double) (ticks[COLUMN_USER] + ticks[COLUMN_NICE]);
	times->system_s = tick_s * (double) (ticks[COLUMN_SYSTEM] + ticks[COLUMN_IRQ] + ticks[COLUMN_SOFTIRQ]);
	times->idle_s = tick_s * (double) ticks[COLUMN_IDLE];
	times->iowait_s = n > COLUMN_IOWAIT ? tick_s * (double) ticks[COLUMN_IOWAIT] : NAN;
	times->steal_s = n > COLUMN_STEAL ? tick_s * (double) ticks[COLUMN_STEAL] : NAN;
	times->guest_s = n > COLUMN_GUEST ?
		tick_s * (double) (ticks[COLUMN_GUEST] + ticks[COLUMN_GUEST_NICE]) : NAN;
}

bool
nn_cpu_times_read(const NnHostRoot *root, NnCpuTimes *times, NnWhyNot *why)
{
	char		path[NN_PATH_LEN];
	char		line[512];
	NnLines		lines;
	uint64_t	ticks[N_COLUMNS] = {0};
	int			n = 0;

	if (!nn_path(path, sizeof(path), "%s/stat", root->proc) ||
		!nn_lines_open(&lines, path, why))
		return false;

	/*
	 * The cpu lines come first; behind them is a line of interrupts that can
	 * be very long.
	 */
	times->cpus = 0;
	while (nn_lines_next(&lines, line, sizeof(line)))
	{
		const char *at = line;

		if (!nn_parse_prefix(&at, "cpu"))
			break;
		if (*at >= '0' && *at <= '9')
			times->cpus++;
		else
			while (n < N_COLUMNS && nn_parse_u64(&at, &ticks[n]))
				n++;
	}
	nn_lines_close(&lines);

	if (n <= COLUMN_IDLE)
	{
		nn_why_not(why, "%s has no line of CPU times", path);
		return false;
	}
	times_from_columns(times, ticks, n);
	return true;
}

bool
nn_cpu_times_read_one(const NnHostRoot *root, int cpu, NnCpuTimes *times, NnWhyNot *why)
{
	char		path[NN_PATH_LEN];
	char		line[512];
	NnLines		lines;
	uint64_t	ticks[N_COLUMNS] = {0};
	uint64_t	number;
	int			n = 0;

	if (!nn_path(path, sizeof(path), "%s/stat", root->proc) ||
		!nn_lines_open(&lines, path, why))
		return false;
	while (n == 0 && nn_lines_next(&lines, line, sizeof(line)))
	{
		const char *at = line;

		if (!nn_parse_prefix(&at, "cpu"))
			break;
		if (*at < '0' || *at > '9' || !nn_parse_u64(&at, &number) || number != (uint64_t) cpu)
			continue;
		while (n < N_COLUMNS && nn_parse_u64(&at, &ticks[n]))
			n++;
	}
	nn_lines_close(&lines);

	if (n <= COLUMN_IDLE)
	{
		nn_why_not(why, "%s has no line of CPU %d", path, cpu);
		return false;
	}
	times->cpus = 1;
	times_from_columns(times, ticks, n);
	return true;
}

/* Growth of a cumulative time, not below 0; NaN where one end was not measured. */
static double
growth(double from, double to)
{
	double		delta = to - from;

	return delta < 0 ? 0 : delta;
}

static double
or_zero(double value)
{
	return isnan(value) ? 0 : value;
}

void
nn_cpu_usage(const NnCpuTimes *from, const NnCpuTimes *to, NnCpuUsage *usage)
{
	double		user = growth(from->user_s, to->user_s);
	double		system = growth(from->system_s, to->system_s);
	double		idle = growth(from->idle_s, to->idle_s);
	double		iowait = growth(from->iowait_s, to->iowait_s);
	double		steal = growth(from->steal_s, to->steal_s);
	double		total = user + system + idle + or_zero(iowait) + or_zero(steal);
	double		percent = total > 0 ? 100 / total : NAN;

	usage->busy_pct = (user + system) * percent;
	usage->user_pct = user * percent;
	usage->system_pct = system * percent;
	usage->iowait_pct = iowait * percent;
	usage->steal_pct = steal * percent;
	usage->idle_pct = idle * percent;
	usage->total_s = total;
}
