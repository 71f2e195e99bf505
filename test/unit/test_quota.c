/*-------------------------------------------------------------------------
 *
 * test_quota.c
 *	  Quotas that no file tells, steal and contention, from gaps of simulated threads.
 *
 * The simulated kernel has a tick of 4 ms, hands a quota out to its CPUs in slices of 5 ms, notices at a tick only
 * that a slice is used up, takes the excess off the next period, and wakes the threads up late.
 *
 *-------------------------------------------------------------------------
 */
#include "core/quota.h"

#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/random.h"
#include "tap.h"

#define THREADS_MOST	4
#define ROOM			8192
#define STEP_NS			(100 * NN_NS_PER_US)
#define TICK_STEPS		40
#define START			(UINT64_C(3) * NN_NS_PER_S)

static NnGapSeries series[THREADS_MOST];
static NnGap gaps[THREADS_MOST][ROOM];
static double scratch[NN_LOSS_SCRATCH];

/* A thread of the simulation. */
typedef struct Spinner
{
	double		runtime_ns;		/* of its slice; below 0: excess */
	double		others_until;	/* somebody else runs on its CPU until then */
	bool		throttled;
	double		resumes_at;
	bool		in_gap;
	double		gap_start;
	double		throttled_ns;	/* of the gap */
	double		cpu_ns;
} Spinner;

typedef struct Scene
{
	int			n;
	double		window_s;
	double		quota_cpus;		/* 0: none */
	double		period_ms;
	double		others_per_s;	/* short work of others on a CPU, exponential */
	double		others_ms;
	bool		as_steal;		/* the quota is the hypervisor's */
	bool		idle;			/* CPUs have nothing else to do */
} Scene;

static double
exponential(NnRandom *r, double mean)
{
	return -mean * log(1 - nn_random_double(r));
}

/* Add a gap; "cause" gets the part that the kernel knows as such, the rest is the run queue. */
static void
add_gap(int t, double start, double end, double cpu_ns, NnGapCause cause, double part)
{
	double		parts[NN_GAP_CAUSES] = {0};
	uint64_t	length = (uint64_t) (end - start);

	if (length < 10000)
		return;
	parts[NN_GAP_RUN_QUEUE] = (double) length;
	if (cause != NN_GAP_RUN_QUEUE)
	{
		parts[NN_GAP_RUN_QUEUE] -= fmin(part, (double) length);
		parts[cause] = fmin(part, (double) length);
	}
	nn_gap_series_add(&series[t], START + (uint64_t) start, length, (uint64_t) cpu_ns, parts);
}

static NnLossFinding
explain(int n, double window_ns, const double *cpu_ns, double idle_ns, double steal_ns)
{
	const NnGapSeries *all[THREADS_MOST];
	NnLossEvidence evidence = {all, n, idle_ns, steal_ns};
	NnLossFinding finding;

	for (int t = 0; t < n; t++)
	{
		series[t].to_ns = START + (uint64_t) window_ns;
		series[t].cpu_ns = (uint64_t) cpu_ns[t];
		all[t] = &series[t];
	}
	nn_loss_explain(&evidence, scratch, &finding);
	return finding;
}

static void
start_series(int n)
{
	for (int t = 0; t < n; t++)
		nn_gap_series_init(&series[t], gaps[t], ROOM, START);
}

/* Give throttled threads out of debt what a new period brings. */
static void
refill(const Scene *scene, Spinner *spinners, double *pool, double now, NnRandom *r)
{
	*pool = scene->quota_cpus * scene->period_ms * 1e6;
	for (int t = 0; t < scene->n; t++)
	{
		Spinner    *s = &spinners[t];
		double		need = 1 - s->runtime_ns;

		if (!s->throttled || *pool <= 0)
			continue;
		if (need > *pool)
			need = *pool;
		*pool -= need;
		s->runtime_ns += need;
		if (s->runtime_ns > 0)
		{
			s->throttled = false;
			s->resumes_at = now + exponential(r, 1e5);
		}
	}
}

static NnLossFinding
simulate(const Scene *scene, NnRandom *r)
{
	Spinner		spinners[THREADS_MOST];
	double		cpu_ns[THREADS_MOST];
	double		window_ns = scene->window_s * 1e9;
	double		period_ns = scene->period_ms * 1e6;
	double		next_refill = nn_random_double(r) * period_ns;
	double		pool = 0;
	double		idle_ns = 0;
	double		steal_ns = 0;
	int			tick_phase = (int) nn_random_range(r, 0, TICK_STEPS - 1);

	memset(spinners, 0, sizeof(spinners));
	start_series(scene->n);
	for (int step = 0; step * (double) STEP_NS < window_ns; step++)
	{
		double		now = step * (double) STEP_NS;

		if (scene->quota_cpus > 0 && now >= next_refill)
		{
			refill(scene, spinners, &pool, now, r);
			next_refill += period_ns;
		}
		for (int t = 0; t < scene->n; t++)
		{
			Spinner    *s = &spinners[t];
			bool		tick = step % TICK_STEPS == tick_phase;
			bool		stalled = s->throttled || now < s->resumes_at;

			if (nn_random_double(r) < scene->others_per_s * STEP_NS / 1e9)
				s->others_until = fmax(now, s->others_until) + exponential(r, scene->others_ms * 1e6);
			if (!stalled && now >= s->others_until)
			{
				if (s->in_gap)
					add_gap(t, s->gap_start, now, s->cpu_ns, scene->as_steal ? NN_GAP_STEAL : NN_GAP_RUN_QUEUE,
							s->throttled_ns);
				s->in_gap = false;
				s->cpu_ns += STEP_NS;
				s->runtime_ns -= STEP_NS;
				if (scene->quota_cpus > 0 && s->runtime_ns <= 0 && pool > 0)
				{
					double		slice = fmin(5e6 - s->runtime_ns, pool);

					s->runtime_ns += slice;
					pool -= slice;
				}
				if (scene->quota_cpus > 0 && s->runtime_ns <= 0 && tick)
					s->throttled = true;
				continue;
			}
			if (!s->in_gap)
			{
				s->in_gap = true;
				s->gap_start = now;
				s->throttled_ns = 0;
			}
			if (stalled)
			{
				s->throttled_ns += STEP_NS;
				idle_ns += scene->idle ? STEP_NS : 0;
				steal_ns += scene->as_steal ? STEP_NS : 0;
			}
		}
	}
	for (int t = 0; t < scene->n; t++)
	{
		const Spinner *s = &spinners[t];

		if (s->in_gap)
			add_gap(t, s->gap_start, window_ns, s->cpu_ns, NN_GAP_RUN_QUEUE, 0);
		cpu_ns[t] = s->cpu_ns;
	}
	return explain(scene->n, window_ns, cpu_ns, idle_ns, steal_ns);
}

static bool
is_recovered(const Scene *scene, const NnLossFinding *finding)
{
	return near(finding->quota_cpus, scene->quota_cpus, 0.03) &&
		fabs(finding->period_ms - scene->period_ms) <= 2;
}

/* Quotas of the range, on quiet, on busy hosts, and as a hypervisor's cap. */
static void
test_recovery(const char *what, double others_per_s, bool idle, bool as_steal, NnLossVerdict verdict)
{
	static const double quotas[] = {0.4, 0.6, 0.8, 1.0, 1.2, 1.4, 1.6};
	static const double periods_ms[] = {20, 50, 100};
	NnRandom	r;
	int			recovered = 0;
	int			judged = 0;
	int			n = 0;

	nn_random_seed(&r, 20, (uint64_t) others_per_s + idle);
	for (int i = 0; i < 7; i++)
		for (int k = 0; k < 3; k++)
			for (int repeat = 0; repeat < 10; repeat++)
			{
				Scene		scene = {2, 4, quotas[i], periods_ms[k], others_per_s, 2, as_steal, idle};
				NnLossFinding finding = simulate(&scene, &r);
				bool		good = is_recovered(&scene, &finding);

				recovered += good;
				judged += finding.verdict == verdict;
				n++;
				if (!good && getenv("NN_VERBOSE"))
					tap_note("%s: %.1f CPUs, %.0f ms: %.3f CPUs, %.2f ms, coherence %.2f, hits %.2f, %s", what, quotas[i],
							 periods_ms[k], finding.quota_cpus, finding.period_ms, finding.coherence,
							 finding.hit_share, nn_loss_verdict_name(finding.verdict));
			}
	ok(recovered >= 0.95 * n, "%s: recovered within 3 %% and 2 ms (%d of %d)", what, recovered, n);
	ok(judged >= 0.95 * n, "%s: called \"%s\" (%d of %d)", what, nn_loss_verdict_name(verdict), judged, n);
}

/* More threads than two, and a quota above what they ask for. */
static void
test_demand(void)
{
	NnRandom	r;
	Scene		four = {4, 4, 1.8, 100, 5, 1, false, true};
	Scene		above = {2, 4, 2.5, 100, 5, 0.2, false, true};
	NnLossFinding finding;

	nn_random_seed(&r, 5, 5);
	finding = simulate(&four, &r);
	ok(is_recovered(&four, &finding), "1.8 CPUs under four threads (%.3f, %.2f ms)", finding.quota_cpus, finding.period_ms);
	ok(near(finding.stall_ms, 55, 0.1), "and their stall is P (1 - L / D) = 55 ms (%.1f)", finding.stall_ms);
	finding = simulate(&above, &r);
	ok(finding.verdict == NN_LOSS_NONE && isnan(finding.quota_cpus), "a quota that never binds is not seen");
}

/* Turns with as many competitors on every CPU, in step with each other and with the tick. */
static NnLossFinding
take_turns(NnRandom *r, double idle_share)
{
	int			competitors = (int) nn_random_range(r, 1, 4);
	double		turn = 4e6 * (double) nn_random_range(r, 1, 3);
	double		cycle = turn * (competitors + 1);
	double		phase = nn_random_double(r) * cycle;
	double		cpu_ns[2];
	double		lost = 0;

	start_series(2);
	for (int t = 0; t < 2; t++)
	{
		cpu_ns[t] = 0;
		for (double at = phase; at + cycle < 4e9; at += cycle)
		{
			cpu_ns[t] += turn;
			add_gap(t, at + turn, at + cycle + exponential(r, 2e4), cpu_ns[t], NN_GAP_RUN_QUEUE, 0);
			lost += cycle - turn;
		}
	}
	return explain(2, 4e9, cpu_ns, idle_share * lost, 0);
}

/* A neighbour that works for a part of every cycle, on both CPUs at once. */
static NnLossFinding
duty_cycle(NnRandom *r, double idle_share, NnGapCause cause)
{
	double		cycle = 1e6 * (double) nn_random_range(r, 10, 200);
	double		share = 0.2 + 0.6 * nn_random_double(r);
	double		cpu_ns[2];
	double		lost = 0;

	start_series(2);
	for (int t = 0; t < 2; t++)
	{
		cpu_ns[t] = 0;
		for (double at = 0; at + cycle < 4e9; at += cycle)
		{
			double		length = cycle * share;

			cpu_ns[t] += cycle - length;
			add_gap(t, at + cycle - length, at + cycle, cpu_ns[t], cause, length);
			lost += length;
		}
	}
	return explain(2, 4e9, cpu_ns, idle_share * lost, cause == NN_GAP_STEAL ? lost : 0);
}

/* No quota: none may be announced. */
static void
test_false_alarms(void)
{
	NnRandom	r;
	int			clean = 0;
	int			contended = 0;
	int			unsure = 0;
	int			in_step = 0;
	int			stolen = 0;
	const int	n = 300;

	nn_random_seed(&r, 99, 0);
	for (int i = 0; i < n; i++)
	{
		Scene		quiet = {2, 4, 0, 100, 20 * nn_random_double(&r), 0.3, false, true};
		Scene		busy = {2, 4, 0, 100, 10 + 90 * nn_random_double(&r), 1 + 10 * nn_random_double(&r), false, true};
		NnLossFinding finding = simulate(&quiet, &r);

		clean += finding.verdict != NN_LOSS_NONE || !isnan(finding.quota_cpus);
		finding = simulate(&busy, &r);
		contended += finding.verdict != NN_LOSS_CONTENTION && finding.verdict != NN_LOSS_NONE;
		unsure += finding.verdict == NN_LOSS_CONTENTION_OR_QUOTA;
		finding = take_turns(&r, 0.05 * nn_random_double(&r));
		in_step += finding.verdict != NN_LOSS_CONTENTION && finding.verdict != NN_LOSS_CONTENTION_OR_QUOTA;
		finding = duty_cycle(&r, 0.05 * nn_random_double(&r), NN_GAP_RUN_QUEUE);
		in_step += finding.verdict != NN_LOSS_CONTENTION && finding.verdict != NN_LOSS_CONTENTION_OR_QUOTA;
		finding = duty_cycle(&r, 0, NN_GAP_STEAL);
		stolen += finding.verdict != NN_LOSS_STEAL_OR_CAP;
	}
	ok(clean <= 0.01 * n, "a quiet host has no quota (%d false alarms in %d)", clean, n);
	ok(contended <= 0.01 * n, "neither has one where others work at random (%d false alarms in %d, %d of them unsure)",
	   contended, n, unsure);
	ok(in_step <= 0.01 * 2 * n, "neighbours that keep time are never called a quota (%d false alarms in %d)", in_step, 2 * n);
	ok(stolen <= 0.01 * n, "steal that keeps time is \"steal or cap\" (%d others in %d)", stolen, n);
}

static void
test_steal(void)
{
	NnRandom	r;
	int			steal = 0;
	const int	n = 200;

	nn_random_seed(&r, 7, 0);
	for (int i = 0; i < n; i++)
	{
		double		cpu_ns[2] = {0, 0};
		double		lost = 0;

		start_series(2);
		for (int t = 0; t < 2; t++)
		{
			double		at = 0;

			for (;;)
			{
				double		run = exponential(&r, 4e7);
				double		length = exponential(&r, 2e7);

				if (at + run + length > 4e9)
					break;
				cpu_ns[t] += run;
				add_gap(t, at + run, at + run + length, cpu_ns[t], NN_GAP_STEAL, length);
				at += run + length;
				lost += length;
			}
			cpu_ns[t] += 4e9 - at;
		}
		steal += explain(2, 4e9, cpu_ns, 0, lost).verdict == NN_LOSS_STEAL;
	}
	ok(steal >= 0.99 * n, "steal at random is steal (%d of %d)", steal, n);
}

int
main(void)
{
	test_recovery("a quiet host", 2, true, false, NN_LOSS_THROTTLE);
	test_recovery("a host with work of others", 20, true, false, NN_LOSS_THROTTLE);
	test_recovery("no idle CPU", 20, false, false, NN_LOSS_CONTENTION_OR_QUOTA);
	test_recovery("a cap of the hypervisor", 2, false, true, NN_LOSS_STEAL_OR_CAP);
	test_demand();
	test_false_alarms();
	test_steal();
	return tap_done();
}
