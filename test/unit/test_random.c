/*-------------------------------------------------------------------------
 *
 * test_random.c
 *	  Random numbers are the same everywhere, and uniform; sleeping lasts long enough.
 *
 *-------------------------------------------------------------------------
 */
#include <stdlib.h>

#include "core/clock.h"
#include "core/random.h"
#include "tap.h"

/* First outputs of xoshiro256** from the state {1, 2, 3, 4}, as its reference code gives them. */
static const uint64_t reference[] = {
	UINT64_C(11520), UINT64_C(0), UINT64_C(1509978240), UINT64_C(1215971899390074240),
	UINT64_C(1216172134540287360), UINT64_C(607988272756665600), UINT64_C(16172922978634559625),
	UINT64_C(8476171486693032832), UINT64_C(10595114339597558777), UINT64_C(2904607092377533576)
};

static void
test_sequence(void)
{
	NnRandom	a = {{1, 2, 3, 4}};
	NnRandom	b;
	bool		same = true;
	int			equal = 0;
	int			i;

	for (i = 0; i < 10; i++)
		same &= nn_random_u64(&a) == reference[i];
	ok(same, "the generator gives the numbers of its definition");

	nn_random_seed(&a, 42, 0);
	nn_random_seed(&b, 42, 0);
	same = true;
	for (i = 0; i < 1000; i++)
		same &= nn_random_u64(&a) == nn_random_u64(&b);
	ok(same, "the same seed and stream give the same numbers");
	nn_random_seed(&a, 42, 0);
	ok(nn_random_u64(&a) == UINT64_C(5538992099151046670), "seed 42 gives what it gave in every version");

	nn_random_seed(&a, 42, 1);
	nn_random_seed(&b, 43, 0);
	for (i = 0; i < 1000; i++)
		equal += nn_random_u64(&a) == nn_random_u64(&b);
	ok(equal == 0, "neighbouring seeds and streams have nothing in common");
}

static void
test_ranges(void)
{
	NnRandom	r;
	int			counts[7] = {0};
	double		chi_square = 0;
	double		sum = 0;
	bool		inside = true;
	int			i;

	nn_random_seed(&r, 1, 0);
	for (i = 0; i < 70000; i++)
		counts[nn_random_range(&r, -3, 3) + 3]++;
	for (i = 0; i < 7; i++)
		chi_square += pow(counts[i] - 10000, 2) / 10000;
	ok(chi_square < 30, "a range is uniform, both ends included (chi square %.1f)", chi_square);

	for (i = 0; i < 1000; i++)
	{
		int64_t		high = nn_random_range(&r, INT64_MAX - 1, INT64_MAX);
		double		d = nn_random_double(&r);

		(void) nn_random_range(&r, INT64_MIN, INT64_MAX);
		inside &= high >= INT64_MAX - 1 && nn_random_range(&r, 5, 5) == 5 && d >= 0 && d < 1;
		sum += d;
	}
	ok(inside, "the ends of int64 and a range of one are handled");
	ok(fabs(sum / 1000 - 0.5) < 0.05, "doubles lie in [0, 1) with mean 1/2 (%.3f)", sum / 1000);
}

static void
test_cycle(void)
{
	static const uint32_t sizes[] = {1, 2, 3, 1000, 65537};
	NnRandom	r;
	size_t		s;

	nn_random_seed(&r, 5, 0);
	for (s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++)
	{
		uint32_t	n = sizes[s];
		uint32_t   *next = malloc(n * sizeof(uint32_t));
		uint32_t	at = 0;
		uint32_t	steps = 0;

		nn_random_cycle(&r, next, n);
		do
		{
			at = next[at];
			steps++;
		} while (at != 0 && steps <= n);
		ok(steps == n, "a cycle of %u visits every element once", n);
		free(next);
	}
	nn_random_cycle(&r, NULL, 0);
}

static void
test_clock(void)
{
	uint64_t	start_ns = nn_now_ns();
	uint64_t	cpu_ns = nn_thread_cpu_ns();

	nn_sleep_until_ns(start_ns + 20 * NN_NS_PER_MS);
	ok(nn_now_ns() >= start_ns + 20 * NN_NS_PER_MS, "a sleep does not end before its time");
	ok(nn_thread_cpu_ns() - cpu_ns < 15 * NN_NS_PER_MS, "a sleep takes no CPU time");
	nn_sleep_until_ns(0);
	nn_sleep_until_ns(start_ns);
	ok(true, "a sleep until a moment that has passed returns");
}

int
main(void)
{
	test_sequence();
	test_ranges();
	test_cycle();
	test_clock();
	return tap_done();
}
