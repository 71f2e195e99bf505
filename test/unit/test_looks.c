/*-------------------------------------------------------------------------
 *
 * test_looks.c
 *	  Runs that go on until there is a verdict: when they are looked at, and how often they are wrong.
 *
 * All seeds are fixed, so the figures are the same every time.
 *
 *-------------------------------------------------------------------------
 */
#include "core/effect.h"
#include "core/looks.h"
#include "core/random.h"
#include "core/statistics.h"
#include "tap.h"

#define FIRST		3
#define LAST		16
#define MAX_BLOCKS	(3 * LAST)
#define RUNS		500

/* How a simulated host behaves; logarithms. */
typedef struct Host
{
	double		block_sd;		/* chance of each block */
	double		walk_sd;		/* random drift from block to block */
} Host;

static double
random_normal(NnRandom *random)
{
	double		radius = sqrt(-2 * log(1 - nn_random_double(random)));

	return radius * cos(2 * M_PI * nn_random_double(random));
}

static void
simulate_run(NnRandom *random, const Host *host, double effect, NnBlockValue *blocks)
{
	double		state = 1;
	int			i;

	for (i = 0; i < MAX_BLOCKS; i++)
	{
		bool		dose = i % 3 == 1;

		state += host->walk_sd * random_normal(random);
		blocks[i].level = dose ? 30 : 0;
		blocks[i].middle_s = i;
		blocks[i].value = exp(state + host->block_sd * random_normal(random) + (dose ? effect : 0));
	}
}

/* The verdict of a run that ends at the first look at which there is one. */
static NnEffect
run_until_verdict(const NnBlockValue *blocks, const int *looks, int n_looks, double confidence, int *rounds)
{
	NnEffect	effects[MAX_BLOCKS];
	int			i;

	for (i = 0; i < n_looks; i++)
	{
		*rounds = looks[i];
		nn_effects_find(blocks, 3 * looks[i], true, confidence, effects);
		if (effects[1].verdict != NN_VERDICT_INCONCLUSIVE)
			break;
	}
	return effects[1];
}

static void
test_looks_made(void)
{
	int			looks[NN_MAX_LOOKS];
	int			first;
	int			last;
	bool		fine = true;

	ok(nn_looks_make(3, 16, looks) == 4 && looks[0] == 3 && looks[1] == 7 && looks[2] == 12 && looks[3] == 16,
	   "there are four looks, evenly from the first to the last");
	ok(nn_looks_make(5, 5, looks) == 1 && looks[0] == 5 && near(nn_looks_confidence(1), 0.95, 1e-12) &&
	   near(nn_looks_confidence(0), 0.95, 1e-12), "one look is a run of fixed length, at 95 %%");
	ok(nn_looks_make(2, 4, looks) == 3 && looks[0] == 2 && looks[1] == 3 && looks[2] == 4 &&
	   near(nn_looks_confidence(3), 1 - 0.05 / 3, 1e-12), "where there is room for three only, each has a third of the 5 %%");
	for (first = 1; first < 40; first++)
		for (last = first; last < 2000; last += 7)
		{
			int			n = nn_looks_make(first, last, looks);
			int			i;

			fine &= n >= 1 && n <= NN_MAX_LOOKS && looks[n - 1] == last && (n == 1 || looks[0] == first);
			for (i = 1; i < n; i++)
				fine &= looks[i] > looks[i - 1];
		}
	ok(fine, "looks rise from the first to the last, whatever these are");
}

/*
 * Nothing happens, or just as much as the floor lets pass: there a claim of an impact is wrong, and the
 * temptation is greatest.
 */
static void
test_false_verdicts(void)
{
	static const Host hosts[] = {{0.01, 0}, {0.02, 0.01}, {0.05, 0.02}, {0.15, 0.1}};
	static NnBlockValue blocks[MAX_BLOCKS];
	int			looks[NN_MAX_LOOKS];
	int			n_looks = nn_looks_make(FIRST, LAST, looks);
	int			every[LAST];
	NnRandom	random;
	int			worst = 0;
	int			worst_greedy = 0;
	int			on_edge;
	int			h;
	int			i;

	for (i = 0; i < LAST - FIRST + 1; i++)
		every[i] = FIRST + i;
	nn_random_seed(&random, 20260401, 0);
	for (on_edge = 0; on_edge < 2; on_edge++)
		for (h = 0; h < 4; h++)
		{
			double		effect = on_edge ? log1p(NN_NOISE_FLOOR_MIN) : 0;
			int			wrong = 0;
			int			greedy = 0;
			double		rounds_sum = 0;
			int			run;

			for (run = 0; run < RUNS; run++)
			{
				int			rounds;

				simulate_run(&random, &hosts[h], effect, blocks);
				wrong += run_until_verdict(blocks, looks, n_looks, nn_looks_confidence(n_looks), &rounds).verdict == NN_VERDICT_IMPACT;
				rounds_sum += rounds;
				greedy += run_until_verdict(blocks, every, LAST - FIRST + 1, NN_CONFIDENCE, &rounds).verdict == NN_VERDICT_IMPACT;
			}
			worst = wrong > worst ? wrong : worst;
			worst_greedy = greedy > worst_greedy ? greedy : worst_greedy;
			tap_note("true effect %.1f %%, blocks spread by %.0f %%: %.2f %% of %d runs said to be an impact after %.1f rounds on average; looking after each round at 95 %%: %.2f %%",
					 100 * (exp(effect) - 1), 100 * hosts[h].block_sd, 100.0 * wrong / RUNS, RUNS, rounds_sum / RUNS, 100.0 * greedy / RUNS);
		}
	ok(worst <= RUNS / 20, "at the fixed looks at most 5 %% of the runs find an impact that is not there (worst: %.2f %%)", 100.0 * worst / RUNS);
	ok(worst_greedy > 2 * worst, "who looks after each round without a correction finds twice as many (worst: %.2f %%)",
	   100.0 * worst_greedy / RUNS);
}

/* A strong effect ends a run early; a weak one is looked for until the last look. */
static void
test_length(void)
{
	static const Host host = {0.02, 0};
	static const double effects[] = {0.8, 0.2, 0.1, 0};
	static NnBlockValue blocks[MAX_BLOCKS];
	int			looks[NN_MAX_LOOKS];
	int			n_looks = nn_looks_make(FIRST, LAST, looks);
	double		rounds_mean[4];
	double		found[4];
	NnRandom	random;
	int			e;

	nn_random_seed(&random, 20260402, 0);
	for (e = 0; e < 4; e++)
	{
		int			run;

		rounds_mean[e] = found[e] = 0;
		for (run = 0; run < RUNS; run++)
		{
			int			rounds;
			NnVerdict	verdict;

			simulate_run(&random, &host, effects[e], blocks);
			verdict = run_until_verdict(blocks, looks, n_looks, nn_looks_confidence(n_looks), &rounds).verdict;
			rounds_mean[e] += (double) rounds / RUNS;
			found[e] += (verdict == (effects[e] > 0 ? NN_VERDICT_IMPACT : NN_VERDICT_WITHIN_NOISE)) * 100.0 / RUNS;
		}
		tap_note("true effect %+.0f %%: the right verdict in %.1f %% of runs, after %.1f rounds on average", 100 * (exp(effects[e]) - 1),
				 found[e], rounds_mean[e]);
	}
	ok(found[0] > 99 && rounds_mean[0] < FIRST + 0.5, "a strong effect ends a run at its first look");
	ok(found[1] > 95 && rounds_mean[1] < LAST / 2.0, "a weaker one in less than half of the rounds");
	ok(rounds_mean[2] > rounds_mean[1], "and one near the floor takes longer");
	ok(found[3] > 90, "nothing is found to be nothing");
}

int
main(void)
{
	test_looks_made();
	test_false_verdicts();
	test_length();
	return tap_done();
}
