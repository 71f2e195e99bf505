/*-------------------------------------------------------------------------
 *
 * test_attribution.c
 *	  The budget of a latency: it closes, and blames what was really there.
 *
 * Simulated backends know the truth: how long each slept for what, queued and ran.  What the
 * samplers would see of them goes into the formula.
 *
 *-------------------------------------------------------------------------
 */
#include <math.h>

#include "core/attribution.h"
#include "core/random.h"
#include "tap.h"

static double
sum_of(const double ms[NN_COMPONENTS])
{
	double		sum = 0;

	for (int i = 0; i < NN_COMPONENTS; i++)
		sum += ms[i];
	return sum;
}

static void
test_by_hand(void)
{
	double		ms[NN_COMPONENTS];

	/*
	 * 10 ms: 2 of CPU, 3 in the queue, 5 asleep; 6 of 10 samples have an
	 * event
	 */
	NnBudgetInput input = {
		.latency_ms = 10,.service_ms = 10,.wall_ms = 10,.cpu_ms = 2,.run_queue_ms = 3,.steal_ms = NAN,
		.samples = {[NN_WAIT_CPU] = 4,[NN_WAIT_LWLOCK] = 3,[NN_WAIT_IO] = 2,[NN_WAIT_CLIENT] = 1}
	};

	ok(nn_budget(&input, ms), "a budget is made without a figure of steal");
	ok(ms[NN_COMPONENT_CPU] == 2 && ms[NN_COMPONENT_RUN_QUEUE] == 3 && ms[NN_COMPONENT_STEAL] == 0,
	   "what the scheduler counts is taken as it is");
	ok(near(ms[NN_COMPONENT_LWLOCK], 2.5, 1e-12) && near(ms[NN_COMPONENT_IO], 5.0 / 3, 1e-12) &&
	   near(ms[NN_COMPONENT_CLIENT], 5.0 / 6, 1e-12) && ms[NN_COMPONENT_LOCK] == 0,
	   "samples with an event that were taken in the run queue count there alone");
	ok(fabs(ms[NN_COMPONENT_UNEXPLAINED]) < 1e-12, "nothing is left over");

	/*
	 * 8 of 10 samples without an event, and only 5 ms on the CPU or waiting
	 * for it
	 */
	input.samples[NN_WAIT_CPU] = 8;
	input.samples[NN_WAIT_LWLOCK] = 2;
	input.samples[NN_WAIT_IO] = input.samples[NN_WAIT_CLIENT] = 0;
	ok(nn_budget(&input, ms) && near(ms[NN_COMPONENT_LWLOCK], 2, 1e-12) && near(ms[NN_COMPONENT_UNEXPLAINED], 3, 1e-12),
	   "sleep of which the server knows nothing is unexplained");

	input.samples[NN_WAIT_CPU] = input.samples[NN_WAIT_LWLOCK] = 0;
	ok(nn_budget(&input, ms) && ms[NN_COMPONENT_UNEXPLAINED] == 5, "without samples all sleep is unexplained");

	/* an open loop: 4 ms of backlog, and 30 ms idle between operations */
	input.latency_ms = 14;
	input.wall_ms = 40;
	input.samples[NN_WAIT_CPU] = 5;
	input.samples[NN_WAIT_CLIENT] = 32;
	input.samples[NN_WAIT_IO] = 3;
	ok(nn_budget(&input, ms) && ms[NN_COMPONENT_BACKLOG] == 4 && near(ms[NN_COMPONENT_CLIENT], 2, 1e-12) &&
	   near(ms[NN_COMPONENT_IO], 3, 1e-12) && fabs(ms[NN_COMPONENT_UNEXPLAINED]) < 1e-12,
	   "idle time between operations is not the client's part of an operation");

	input.run_queue_ms = NAN;
	ok(!nn_budget(&input, ms) && isnan(ms[NN_COMPONENT_CPU]) && isnan(ms[NN_COMPONENT_UNEXPLAINED]),
	   "without the run queue there is no budget");
	input.run_queue_ms = 50;
	ok(nn_budget(&input, ms) && near(sum_of(ms), 14, 1e-12) && ms[NN_COMPONENT_UNEXPLAINED] < 0,
	   "figures that do not fit together leave a negative rest, and still sum to the latency");
}

/* One state of a simulated backend. */
typedef struct Stretch
{
	NnWaitClass class;
	NnComponent component;
	double		mean_ms;
} Stretch;

/*
 * Backends that go through the stretches in turn, each of random length; woken from each sleep they queue for
 * run_queue_ms on average with the event still shown.  Sampled every interval_ms.  Returns the largest error of a component in
 * percent of the latency.
 */
static double
simulate(const Stretch *stretches, int n, double run_queue_ms, double interval_ms, int operations, uint64_t seed)
{
	NnRandom	random;
	NnBudgetInput input = {.steal_ms = 0};
	double		truth[NN_COMPONENTS] = {0};
	double		ms[NN_COMPONENTS];
	double		now = 0;
	double		next = 0.37 * interval_ms;
	double		worst = 0;

	nn_random_seed(&random, seed, 0);
	for (int op = 0; op < operations; op++)
		for (int i = 0; i < n; i++)
		{
			double		length = -stretches[i].mean_ms * log(1 - nn_random_double(&random));
			double		queue = stretches[i].class == NN_WAIT_CPU || run_queue_ms == 0 ? 0 :
				-run_queue_ms * log(1 - nn_random_double(&random));

			truth[stretches[i].component] += length;
			truth[NN_COMPONENT_RUN_QUEUE] += queue;
			now += length + queue;
			for (; next < now; next += interval_ms)
				input.samples[stretches[i].class]++;
		}
	input.latency_ms = input.service_ms = input.wall_ms = now / operations;
	input.cpu_ms = truth[NN_COMPONENT_CPU] / operations;
	input.run_queue_ms = truth[NN_COMPONENT_RUN_QUEUE] / operations;
	if (!nn_budget(&input, ms) || !near(sum_of(ms), input.latency_ms, 1e-9))
		return INFINITY;
	for (int i = 0; i < NN_COMPONENTS; i++)
		worst = fmax(worst, fabs(ms[i] - truth[i] / operations));
	return 100 * worst / input.latency_ms;
}

static void
test_simulated(void)
{
	static const Stretch lock_heavy[] = {
		{NN_WAIT_CPU, NN_COMPONENT_CPU, 0.4}, {NN_WAIT_LWLOCK, NN_COMPONENT_LWLOCK, 1.5},
		{NN_WAIT_CPU, NN_COMPONENT_CPU, 0.3}, {NN_WAIT_LOCK, NN_COMPONENT_LOCK, 1.2},
		{NN_WAIT_CPU, NN_COMPONENT_CPU, 0.3}, {NN_WAIT_IO, NN_COMPONENT_IO, 0.8},
		{NN_WAIT_CLIENT, NN_COMPONENT_CLIENT, 0.2}
	};
	static const Stretch page_faults[] = {
		{NN_WAIT_CPU, NN_COMPONENT_CPU, 1}, {NN_WAIT_CPU, NN_COMPONENT_UNEXPLAINED, 2},
		{NN_WAIT_OTHER, NN_COMPONENT_OTHER_WAITS, 0.5}, {NN_WAIT_CLIENT, NN_COMPONENT_CLIENT, 0.5}
	};
	double		worst;

	worst = simulate(lock_heavy, 7, 0, 10, 50000, 1);
	ok(worst < 1, "each component is within 1 %% of the latency on an idle host (%.2f)", worst);
	worst = simulate(lock_heavy, 7, 1, 10, 50000, 2);
	ok(worst < 5, "and within 5 %% when each wake-up queues for a CPU as long as the waits last (%.2f)", worst);
	worst = simulate(page_faults, 4, 0, 10, 50000, 3);
	ok(worst < 1, "sleep without an event is found in the difference of both accounts (%.2f)", worst);
}

int
main(void)
{
	test_by_hand();
	test_simulated();
	ok(near(nn_component_name(NN_COMPONENT_RUN_QUEUE)[0], 'r', 0) && nn_component_name(NN_COMPONENT_UNEXPLAINED) != NULL,
	   "every component has a name");
	return tap_done();
}
