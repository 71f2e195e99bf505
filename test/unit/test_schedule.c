/*-------------------------------------------------------------------------
 *
 * test_schedule.c
 *	  Arrivals of an open loop: a Poisson process, and what a frozen server looks like through it.
 *
 * Links: src/workload/schedule.c
 *
 *-------------------------------------------------------------------------
 */
#include <stdlib.h>

#include "core/clock.h"
#include "core/histogram.h"
#include "tap.h"
#include "workload/schedule.h"

#define START	(1000 * NN_NS_PER_S)

static uint64_t gaps[200000];

static int
compare(const void *a, const void *b)
{
	uint64_t	x = *(const uint64_t *) a;
	uint64_t	y = *(const uint64_t *) b;

	return (x > y) - (x < y);
}

/* Largest difference between the distribution of the gaps and the exponential one (Kolmogorov). */
static double
distance_to_exponential(int n, double mean_ns)
{
	double		worst = 0;

	qsort(gaps, (size_t) n, sizeof(gaps[0]), compare);
	for (int i = 0; i < n; i++)
	{
		double		expected = 1 - exp(-(double) gaps[i] / mean_ns);

		worst = fmax(worst, fmax(fabs(expected - (double) i / n), fabs(expected - (double) (i + 1) / n)));
	}
	return worst;
}

static void
test_gaps(void)
{
	const int	n = sizeof(gaps) / sizeof(gaps[0]);
	NnSchedule	s;
	double		sum = 0;
	double		sum_sq = 0;
	double		product = 0;
	uint64_t	before_ns = START;
	bool		ordered = true;

	nn_schedule_start(&s, 5000, 1, 7, START);
	for (int i = 0; i < n; i++)
	{
		ordered &= s.next_ns >= before_ns;
		gaps[i] = s.next_ns - before_ns;
		before_ns = s.next_ns;
		nn_schedule_pass(&s);
		sum += (double) gaps[i];
		sum_sq += (double) gaps[i] * (double) gaps[i];
		if (i > 0)
			product += (double) gaps[i] * (double) gaps[i - 1];
	}
	ok(ordered, "arrivals are in order, none before the start");
	ok(s.passed == (uint64_t) n, "what was passed is counted");
	ok(near(sum / n, 200000, 4 / sqrt(n)), "the mean gap is that of the rate");
	ok(near(sqrt(sum_sq / n - sum / n * sum / n), sum / n, 0.02), "gaps scatter as widely as their mean");
	ok(near(product / (n - 1), sum / n * sum / n, 0.02), "a gap says nothing about the next one");
	ok(distance_to_exponential(n, 200000) < 1.63 / sqrt(n), "gaps are exponential (Kolmogorov's test, 1 %%)");
}

/* Arrivals of an interval are as many as the rate says, also late in a long block. */
static void
test_drift(void)
{
	const double rates[] = {0.5, 3, 977, 123456};
	NnSchedule	s;

	for (int i = 0; i < 4; i++)
	{
		double		expected = 200000;
		uint64_t	long_ns = (uint64_t) (expected / rates[i] * NN_NS_PER_S);

		nn_schedule_start(&s, rates[i], 11, (uint64_t) i, START);
		nn_schedule_pass_until(&s, START + long_ns);
		ok(fabs((double) s.passed - expected) < 4 * sqrt(expected), "%g a second: %.0f arrivals in %.0f s are within chance of %.0f",
		   rates[i], (double) s.passed, (double) long_ns / NN_NS_PER_S, expected);
	}

	/*
	 * With gaps of 10 ns, cutting each to nanoseconds would bring 5 % too
	 * many.
	 */
	nn_schedule_start(&s, 1e8, 1, 0, START);
	nn_schedule_pass_until(&s, START + 10 * NN_NS_PER_MS);
	ok(fabs((double) s.passed - 1e6) < 4e3, "whole nanoseconds do not make it run ahead: %.0f for a million", (double) s.passed);
}

static void
test_sequence(void)
{
	NnSchedule	a;
	NnSchedule	b;
	NnSchedule	other;
	bool		same = true;
	int			equal = 0;

	nn_schedule_start(&a, 100, 42, 3, START);
	nn_schedule_start(&other, 100, 42, 4, START);
	b = a;
	nn_schedule_pass_until(&a, START + 10 * NN_NS_PER_S);
	for (uint64_t i = 0; i < a.passed; i++)
	{
		equal += b.next_ns == other.next_ns;
		nn_schedule_pass(&b);
		nn_schedule_pass(&other);
	}
	same = a.next_ns == b.next_ns && a.passed == b.passed;
	ok(same, "a schedule that runs ahead passes through the same arrivals");
	ok(equal == 0, "another thread has other arrivals");
	ok(b.next_ns > START + 10 * NN_NS_PER_S, "nothing is passed that is due later");
}

static void
test_extremes(void)
{
	NnSchedule	s;

	nn_schedule_start(&s, 1e-300, 1, 1, START);
	ok(s.next_ns == UINT64_MAX, "a rate next to nothing brings no arrival");
	nn_schedule_pass_until(&s, UINT64_MAX);
	ok(s.passed == 0, "and waiting for one ends");
	nn_schedule_start(&s, 0, 1, 1, START);
	ok(s.next_ns == UINT64_MAX, "nor does none at all");
}

/*
 * A server that answers at once but for a stall of 500 ms in the middle of 20 s, seen from the intended
 * starts: a share x / 20 s of the transactions has a latency above 500 ms - x.  A client that
 * waits for its answer before it sends again sees one late transaction.
 */
static void
test_stall(void)
{
	const uint64_t window_ns = 20 * NN_NS_PER_S;
	const uint64_t stall_ns = 500 * NN_NS_PER_MS;
	const uint64_t from_ns = START + window_ns / 2;
	static NnHistogram h;
	NnSchedule	s;

	nn_histogram_reset(&h);
	for (uint64_t block = 0; block < 200; block++)
	{
		nn_schedule_start(&s, 1000, block, 0, START);
		while (s.next_ns < START + window_ns)
		{
			uint64_t	done_ns = s.next_ns >= from_ns && s.next_ns < from_ns + stall_ns ?
				from_ns + stall_ns : s.next_ns;

			nn_histogram_record(&h, done_ns - s.next_ns);
			nn_schedule_pass(&s);
		}
	}
	ok(near(nn_histogram_percentile_ns(&h, 0.99) / NN_NS_PER_MS, 300, 0.015),
	   "a stall of 500 ms in 20 s gives a p99 of 300 ms: %.1f", nn_histogram_percentile_ns(&h, 0.99) / NN_NS_PER_MS);
	ok(near(nn_histogram_percentile_ns(&h, 0.98) / NN_NS_PER_MS, 100, 0.05),
	   "and a p98 of 100 ms: %.1f", nn_histogram_percentile_ns(&h, 0.98) / NN_NS_PER_MS);
	ok(nn_histogram_percentile_ns(&h, 0.97) < 1, "and leaves the p97 alone");
}

int
main(void)
{
	test_gaps();
	test_drift();
	test_sequence();
	test_extremes();
	test_stall();
	return tap_done();
}
