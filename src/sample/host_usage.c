/*-------------------------------------------------------------------------
 *
 * host_usage.c
 *	  Use of the host in an interval: who used the CPUs, and pressure.
 *
 * Percentages of CPU are of the time that all CPUs of the host had, so that the parts add up:
 * busy = server + noise + driver + own + foreign.  Run-queue delay is in
 * percent of one CPU and may exceed 100.  Throttling is in percent of the time; the kernel
 * adds it up over CPUs, so this may exceed 100 as well.
 *
 * How busy the host was: on most kernels user and system time are sampled, one tick at a time, and a load
 * that sleeps and wakes in step with the ticks (our own noise, with its period of
 * 10 ms) is over- or underestimated: 36 to 40 % was shown for 30.5 %.  Idle time
 * is measured exactly by a tickless kernel.  So busy is what the clock says the CPUs had, less idle,
 * iowait and steal, and only its split into user and system comes from the
 * samples.  Where the kernel samples idle time too, both ways agree.
 *
 * Sources that are not there are tried once per window.  Everything is private
 * memory of the context that it was created in.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "core/clock.h"
#include "sample/host_usage.h"

/*
 * How far the sum of the columns may be from the time that the CPUs had before we
 * no longer believe that both are about the same CPUs and the same time.
 */
#define MIN_CAPACITY_RATIO	0.5
#define MAX_CAPACITY_RATIO	2.0

struct NnHostSampler
{
	NnShared   *shared;
	const NnHostRoot *root;
	NnWhyNot   *why_not;		/* the first reason, for the user */
	NnBackends *backends;
	bool		has_throttle;	/* worth trying */
	bool		has_pressure;
	bool		has_load;
	bool		has_memory;
};

void
nn_host_usage_clear(NnHostUsage *usage)
{
	/* Nothing but doubles in there. */
	double	   *values = (double *) usage;

	StaticAssertStmt(sizeof(NnHostUsage) % sizeof(double) == 0, "NnHostUsage holds doubles");
	for (int i = 0; i < sizeof(NnHostUsage) / sizeof(double); i++)
		values[i] = NAN;
}

NnHostSampler *
nn_host_sampler_create(NnShared *shared, NnKinds *kinds)
{
	NnHostSampler *sampler = palloc0(sizeof(NnHostSampler));

	sampler->shared = shared;
	sampler->root = &shared->request.root;
	sampler->why_not = &shared->sample.usage_why_not;
	sampler->backends = nn_backends_create(shared, kinds);
	sampler->has_throttle = true;
	sampler->has_pressure = true;
	sampler->has_load = true;
	sampler->has_memory = true;
	sampler->why_not->reason[0] = '\0';
	shared->sample.processes_why_not.reason[0] = '\0';
	nn_host_usage_clear(&shared->sample.usage);
	return sampler;
}

static void
keep_first_reason(NnHostSampler *sampler, const NnWhyNot *why)
{
	if (sampler->why_not->reason[0] == '\0')
		*sampler->why_not = *why;
}

/* What is no more than nice to have: it is read after what has to be of one moment. */
static void
read_rest(NnHostSampler *sampler, bool thorough, NnHostReading *reading)
{
	NnWhyNot	why = {.reason = ""};

	reading->load = NAN;
	if (sampler->has_load)
	{
		reading->load = nn_load_read(sampler->root, &why);
		sampler->has_load = !isnan(reading->load);
	}
	reading->memory.high = reading->memory.max = reading->memory.oom_kills = NAN;
	if (sampler->has_memory)
		sampler->has_memory = nn_memory_events_read(sampler->root, &reading->memory, &why);
	keep_first_reason(sampler, &why);
	if (thorough)
		nn_backends_read_switches(sampler->backends, &reading->server,
								  &sampler->shared->sample.processes_why_not);
}

void
nn_host_sampler_read(NnHostSampler *sampler, bool thorough, NnHostReading *reading)
{
	NnWhyNot	why = {.reason = ""};

	/*
	 * The host's time, the clock and the server's processes belong together.
	 * The latter take longest, and the part of it that matters comes at its
	 * end.
	 */
	nn_backends_read(sampler->backends, thorough, &reading->server, &why);
	reading->cpu_valid = nn_cpu_times_read(sampler->root, &reading->cpu, &why);
	reading->at_ns = nn_now_ns();
	keep_first_reason(sampler, &why);

	reading->throttle_valid = false;
	if (sampler->has_throttle)
	{
		why.reason[0] = '\0';
		reading->throttle_valid = nn_cgroup_throttle_read(sampler->root, &reading->throttle, &why);
		sampler->has_throttle = reading->throttle_valid;
		keep_first_reason(sampler, &why);
	}
	reading->pressure_valid = false;
	if (sampler->has_pressure)
	{
		why.reason[0] = '\0';
		reading->pressure_valid = nn_pressure_read(sampler->root, &reading->pressure, &why);
		sampler->has_pressure = reading->pressure_valid;
		keep_first_reason(sampler, &why);
	}
	read_rest(sampler, thorough, reading);
}

/* Replace the sampled busy time by the measured one: see above. */
static void
measure_busy(NnCpuUsage *usage, double capacity_s)
{
	double		ratio = usage->total_s / capacity_s;
	double		sampled_pct = usage->user_pct + usage->system_pct;
	double		user_share = sampled_pct > 0 ? usage->user_pct / sampled_pct : 1;

	if (!(ratio >= MIN_CAPACITY_RATIO && ratio <= MAX_CAPACITY_RATIO))
		return;
	usage->total_s = capacity_s;
	usage->idle_pct *= ratio;
	usage->iowait_pct *= ratio;
	usage->steal_pct *= ratio;
	usage->busy_pct = 100 - usage->idle_pct;
	if (!isnan(usage->iowait_pct))
		usage->busy_pct -= usage->iowait_pct;
	if (!isnan(usage->steal_pct))
		usage->busy_pct -= usage->steal_pct;

	/*
	 * The columns count in ticks, so a host that did nothing may come out
	 * below 0.
	 */
	usage->busy_pct = Max(usage->busy_pct, 0);
	usage->user_pct = usage->busy_pct * user_share;
	usage->system_pct = usage->busy_pct * (1 - user_share);
}

/* Growth of a number; not below 0, NaN where an end is. */
static double
growth(double from, double to)
{
	return to - from < 0 ? 0 : to - from;
}

/* Growth in percent of "whole"; not below 0, NaN where an end is. */
static double
percent(double from, double to, double whole)
{
	double		growth = to - from;

	if (!(whole > 0))
		return NAN;
	return growth < 0 ? 0 : 100 * growth / whole;
}

/* The files are not read in the very moment that the clock is: no time is longer than all of it. */
static double
percent_of_time(double from, double to, double whole)
{
	double		pct = percent(from, to, whole);

	return pct > 100 ? 100 : pct;
}

void
nn_host_usage(const NnHostReading *from, const NnHostReading *to, NnHostUsage *usage)
{
	double		wall_s = (double) (to->at_ns - from->at_ns) / NN_NS_PER_S;

	nn_host_usage_clear(usage);
	if (!(wall_s > 0))
		return;

	if (from->cpu_valid && to->cpu_valid)
	{
		double		total_s;

		nn_cpu_usage(&from->cpu, &to->cpu, &usage->cpu);
		if (from->cpu.cpus == to->cpu.cpus)
			measure_busy(&usage->cpu, wall_s * to->cpu.cpus);
		total_s = usage->cpu.total_s;
		usage->server_pct = percent(from->server.server_s, to->server.server_s, total_s);
		usage->noise_pct = percent(from->server.noise_s, to->server.noise_s, total_s);
		usage->driver_pct = percent(from->server.driver_s, to->server.driver_s, total_s);
		usage->own_pct = percent(from->server.own_s, to->server.own_s, total_s);
		usage->foreign_pct = usage->cpu.busy_pct - usage->server_pct - usage->noise_pct -
			usage->driver_pct - usage->own_pct;
		if (usage->foreign_pct < 0)
			usage->foreign_pct = 0;
	}
	usage->run_delay_pct = percent(from->server.run_delay_s, to->server.run_delay_s, wall_s);
	if (from->throttle_valid && to->throttle_valid)
	{
		usage->throttled_periods_pct =
			percent((double) from->throttle.throttled_periods, (double) to->throttle.throttled_periods,
					growth((double) from->throttle.periods, (double) to->throttle.periods));
		usage->throttled_pct = percent((double) from->throttle.throttled_ns / NN_NS_PER_S,
									   (double) to->throttle.throttled_ns / NN_NS_PER_S, wall_s);
	}
	usage->load = to->load;
	usage->memory_high = growth(from->memory.high, to->memory.high);
	usage->memory_max = growth(from->memory.max, to->memory.max);
	usage->oom_kills = growth(from->memory.oom_kills, to->memory.oom_kills);
	if (from->pressure_valid && to->pressure_valid)
	{
		const NnPressure *a = &from->pressure;
		const NnPressure *b = &to->pressure;

		usage->psi_cpu_some_pct = percent_of_time(a->cpu_some_s, b->cpu_some_s, wall_s);
		usage->psi_memory_some_pct = percent_of_time(a->memory_some_s, b->memory_some_s, wall_s);
		usage->psi_memory_full_pct = percent_of_time(a->memory_full_s, b->memory_full_s, wall_s);
		usage->psi_io_some_pct = percent_of_time(a->io_some_s, b->io_some_s, wall_s);
		usage->psi_io_full_pct = percent_of_time(a->io_full_s, b->io_full_s, wall_s);
	}
}

void
nn_host_sampler_end(NnHostSampler *sampler, const NnHostReading *from, const NnHostReading *to)
{
	NnSampleResult *result = &sampler->shared->sample;
	bool		has_delay = !isnan(to->server.run_delay_s);

	for (int k = 0; k < NN_PROCESS_KINDS; k++)
	{
		const NnProcessUse *a = &from->server.processes[k];
		const NnProcessUse *b = &to->server.processes[k];
		NnProcessUse *use = &result->processes[k];

		use->wall_s = has_delay ? growth(a->wall_s, b->wall_s) : NAN;
		use->cpu_s = has_delay ? growth(a->cpu_s, b->cpu_s) : NAN;
		use->run_delay_s = has_delay ? growth(a->run_delay_s, b->run_delay_s) : NAN;
		use->slices = has_delay ? growth(a->slices, b->slices) : NAN;

		/* read at the ends only, so they are of the window already */
		use->voluntary_switches = b->voluntary_switches;
		use->involuntary_switches = b->involuntary_switches;
		use->migrations = b->migrations;
	}
	if (!has_delay && result->processes_why_not.reason[0] == '\0')
		result->processes_why_not = result->usage_why_not;
	nn_backends_close(sampler->backends);
}
