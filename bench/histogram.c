/*-------------------------------------------------------------------------
 *
 * histogram.c
 *	  What the histogram costs: one record, a snapshot, a percentile, storing.
 *
 * The values are drawn before the clock starts.  Of several rounds the best,
 * the median and the worst are printed: on a busy machine only the best measures us and not the neighbours.
 *
 *-------------------------------------------------------------------------
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/clock.h"
#include "core/histogram_codec.h"
#include "core/random.h"

#define N_VALUES	(1 << 20)
#define ROUNDS		9

static uint64_t values[N_VALUES];
static NnHistogram h;
static NnHistogram other;
static unsigned char stored[NN_HISTOGRAM_BINARY_MAX];

/* Log-normal about 1 ms, as latencies are. */
static void
draw_values(void)
{
	NnRandom	r;
	int			i;

	nn_random_seed(&r, 1, 0);
	for (i = 0; i < N_VALUES; i++)
	{
		double		radius = sqrt(-2 * log(1 - nn_random_double(&r)));

		values[i] = (uint64_t) exp(log(1e6) + 0.8 * radius * cos(2 * 3.14159265358979 * nn_random_double(&r)));
	}
}

static void
record(void)
{
	int			i;

	for (i = 0; i < N_VALUES; i++)
		nn_histogram_record(&h, values[i]);
}

static void
take_snapshot(void)
{
	nn_histogram_snapshot(&other, &h);
}

static void
percentile(void)
{
	volatile double p99 = nn_histogram_percentile_ns(&h, 0.99);

	(void) p99;
}

static void
merge(void)
{
	nn_histogram_merge(&other, &h);
}

static void
encode(void)
{
	(void) nn_histogram_encode(&h, stored);
}

static void
decode(void)
{
	if (nn_histogram_decode(&other, stored, nn_histogram_encode(&h, stored)) != NULL)
		abort();
}

static int
compare(const void *a, const void *b)
{
	double		left = *(const double *) a;
	double		right = *(const double *) b;

	return (left > right) - (left < right);
}

/* Nanoseconds of CPU time per operation; "n" operations per call, repeated "calls" times. */
static void
measure(const char *name, void (*run) (void), int calls, int n)
{
	double		cost[ROUNDS];
	int			round;
	int			i;

	for (round = 0; round < ROUNDS; round++)
	{
		uint64_t	start_ns = nn_thread_cpu_ns();

		for (i = 0; i < calls; i++)
			run();
		cost[round] = (double) (nn_thread_cpu_ns() - start_ns) / calls / n;
	}
	qsort(cost, ROUNDS, sizeof(cost[0]), compare);
	printf("%s,%.1f,%.1f,%.1f\n", name, cost[0], cost[ROUNDS / 2], cost[ROUNDS - 1]);
}

int
main(void)
{
	draw_values();
	nn_histogram_reset(&h);
	printf("operation,best_ns,median_ns,worst_ns\n");
	measure("record", record, 4, N_VALUES);
	measure("snapshot", take_snapshot, 200, 1);
	measure("percentile", percentile, 200, 1);
	measure("merge", merge, 200, 1);
	measure("encode", encode, 200, 1);
	measure("encode and decode", decode, 200, 1);
	fprintf(stderr, "stored form: %zu bytes for %llu values\n", nn_histogram_encode(&h, stored),
			(unsigned long long) h.count);
	return 0;
}
