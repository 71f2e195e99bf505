/*-------------------------------------------------------------------------
 *
 * cpu.c
 *	  Probe of the processor: how often per second the primes up to a limit are counted.
 *
 * An event is defined as sysbench's test "cpu" defines it, so that events per second compare: every number from
 * 3 up to the limit, the limit itself left out, is divided by 2, 3, … up to its square root until
 * one divides it.  Numbers have 64 bits.  The time is that of the division unit: no memory is touched.
 *
 * A thread's rate counts whole events up to the end of the last one, so that neither a short window nor a slow
 * host cuts any off.
 *
 *-------------------------------------------------------------------------
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "calibrate/probe.h"

/* Numbers between two looks at the window; dividing each takes microseconds at most. */
#define LOOK_EVERY		4096

typedef struct CpuState
{
	uint64_t	limit;
	uint64_t	primes;			/* keeps the compiler from leaving the work
								 * out */
} CpuState;

static int
cpu_plan(const NnProbeOptions *options, const NnTopology *host, NnTrial *trials, char *error)
{
	int			n = 0;

	(void) host;
	(void) error;
	for (int i = 0; i < options->n_threads; i++)
	{
		char		variant[48];
		NnTrial    *trial;

		snprintf(variant, sizeof(variant), "primes %u", options->cpu_max_prime);
		trial = nn_trial_add(trials, &n, options->threads[i], variant, "events/s", NN_COMBINE_SUM);
		trial->bytes = options->cpu_max_prime;
	}
	return n;
}

static void *
cpu_create(const NnProbeOptions *options, const NnTrial *trial, int thread, void *common, char *error)
{
	CpuState   *cpu = calloc(1, sizeof(CpuState));

	(void) options;
	(void) thread;
	(void) common;
	if (cpu == NULL)
		snprintf(error, NN_PROBE_ERROR_LEN, "out of memory");
	else
		cpu->limit = trial->bytes;
	return cpu;
}

/* One event; false when the calibration is to end before it has. */
static bool
count_primes(CpuState *cpu, const NnWindow *window)
{
	uint64_t	primes = 0;

	for (uint64_t number = 3; number < cpu->limit; number++)
	{
		double		root = sqrt((double) number);
		uint64_t	divisor = 2;

		while (divisor <= root && number % divisor != 0)
			divisor++;
		if (divisor > root)
			primes++;
		if (number % LOOK_EVERY == 0 && nn_window_stopped(window))
			return false;
	}
	cpu->primes += primes;
	return true;
}

static void
cpu_measure(void *state, const NnWindow *window, double *values)
{
	double		events = 0;
	uint64_t	ended_ns = window->start_ns;

	do
	{
		if (!count_primes(state, window))
			break;
		events++;
		ended_ns = nn_now_ns();
	} while (!nn_window_over(window));
	values[0] = events > 0 ? nn_window_rate(window, events, ended_ns) : NAN;
}

const NnProbe nn_probe_cpu = {
	.name = "cpu",
	.version = 1,
	.plan = cpu_plan,
	.create = cpu_create,
	.destroy = free,
	.measure = cpu_measure
};
