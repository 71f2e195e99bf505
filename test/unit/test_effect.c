/*-------------------------------------------------------------------------
 *
 * test_effect.c
 *	  Effects, verdicts and how many blocks they take, on simulated runs.
 *
 * A simulated run is what a host that drifts would give: repeats of baseline,
 * dose, baseline; each block's logarithm is the host's momentary state, plus
 * chance of its own, plus the effect of the dose.  All seeds are fixed, so the
 * figures are the same every time.
 *
 *-------------------------------------------------------------------------
 */
#include "core/effect.h"
#include "core/random.h"
#include "core/statistics.h"
#include "tap.h"

#define MAX_REPEATS		100
#define MAX_BLOCKS		(3 * MAX_REPEATS)
#define BLOCK_S			12.0
#define RUNS			200
#define POWER_RUNS		1000

/* How a simulated host behaves; logarithms. */
typedef struct Host
{
	double		block_sd;		/* chance of each block */
	double		trend_per_s;	/* steady drift */
	double		walk_sd;		/* random drift from block to block */
} Host;

static double
random_normal(NnRandom *random)
{
	double		radius = sqrt(-2 * log(1 - nn_random_double(random)));

	return radius * cos(2 * M_PI * nn_random_double(random));
}

/* Blocks of a run: baseline, dose, baseline, for each repeat. */
static int
simulate_run(NnRandom *random, const Host *host, int repeats, double effect, NnBlockValue *blocks)
{
	double		state = 1;
	int			n = 3 * repeats;
	int			i;

	for (i = 0; i < n; i++)
	{
		bool		dose = i % 3 == 1;

		state += host->trend_per_s * BLOCK_S + host->walk_sd * random_normal(random);
		blocks[i].level = dose ? 30 : 0;
		blocks[i].middle_s = i * BLOCK_S;
		blocks[i].value = exp(state + host->block_sd * random_normal(random) + (dose ? effect : 0));
	}
	return n;
}

static NnEffect
effect_of(const NnBlockValue *blocks, int n, bool higher_is_worse)
{
	NnEffect	effects[MAX_BLOCKS];

	nn_effects_find(blocks, n, higher_is_worse, NN_CONFIDENCE, effects);
	return effects[1];
}

static const Host hosts[] = {
	{0.02, 0, 0},
	{0.05, 0.0005, 0.02},
	{0.066, -0.001, 0.05},
	{0.15, 0, 0.1}
};

#define N_HOSTS	((int) (sizeof(hosts) / sizeof(hosts[0])))

/* Runs in which nothing happens, and how often one is said to. */
static void
test_false_alarms(void)
{
	static NnBlockValue blocks[MAX_BLOCKS];
	static const int repeats[] = {2, 3, 5, 10};
	NnRandom	random;
	int			impacts = 0;
	int			improvements = 0;
	int			naive = 0;
	int			naive_improvements = 0;
	int			worst = 0;
	int			all = 0;
	int			h;
	int			k;
	int			run;

	nn_random_seed(&random, 20260101, 0);
	for (h = 0; h < N_HOSTS; h++)
		for (k = 0; k < 4; k++)
		{
			int			found = 0;

			for (run = 0; run < RUNS; run++)
			{
				int			n = simulate_run(&random, &hosts[h], repeats[k], 0, blocks);
				NnVerdict	verdict = effect_of(blocks, n, true).verdict;
				double		ratio = blocks[1].value / blocks[0].value;

				found += verdict == NN_VERDICT_IMPACT;
				improvements += verdict == NN_VERDICT_IMPROVED;
				naive += ratio > 1.05;
				naive_improvements += ratio < 1 / 1.05;
				all++;
			}
			impacts += found;
			worst = found > worst ? found : worst;
		}
	tap_note("%d runs without an effect: %.2f %% said to be an impact, %.2f %% an improvement (worst host and length: %d of %d)",
			 all, 100.0 * impacts / all, 100.0 * improvements / all, worst, RUNS);
	tap_note("one block against one block at a threshold of 5 %%: %.1f %% said to be an impact, %.1f %% an improvement",
			 100.0 * naive / all, 100.0 * naive_improvements / all);
	ok(worst <= RUNS / 20, "on no host more than 5 %% of 200 runs without an effect are called an impact");
	ok(naive > 4 * impacts, "one block against one block gives more than four times as many false alarms");
}

/*
 * A person who does as told: a run of four repeats, and while it is
 * inconclusive, as many blocks as it asks for, at most "looks" times.
 */
static NnEffect
follow_advice(NnRandom *random, const Host *host, double effect, int looks, NnBlockValue *blocks, int *blocks_used)
{
	int			repeats = 4;
	NnEffect	result;

	/*
	 * More repeats of the same run: all of it is drawn, and read as far as
	 * asked.
	 */
	simulate_run(random, host, MAX_REPEATS, effect, blocks);
	result = effect_of(blocks, 3 * repeats, true);
	while (looks-- > 0 && result.verdict == NN_VERDICT_INCONCLUSIVE && result.blocks_needed > 0)
	{
		repeats = result.blocks_needed < MAX_REPEATS ? result.blocks_needed : MAX_REPEATS;
		result = effect_of(blocks, 3 * repeats, true);
	}
	*blocks_used = repeats;
	return result;
}

/* +10 % is found with as many blocks as blocks_needed names. */
static void
test_power(void)
{
	static NnBlockValue blocks[MAX_BLOCKS];
	static const Host quiet[] = {{0.01, 0, 0}, {0.015, 0.0002, 0}, {0.02, 0, 0.003}, {0.025, -0.0002, 0}};
	double		effect = log(1.1);
	NnRandom	random;
	int			h;

	nn_random_seed(&random, 20260102, 0);
	for (h = 0; h < 4; h++)
	{
		double		sd = quiet[h].block_sd * sqrt(1.5);
		double		sd_aa = quiet[h].block_sd * sqrt(2);
		int			named = nn_blocks_needed(effect, sd, sd_aa, NN_EFFECT_POWER, NN_CONFIDENCE);
		int			found = 0;
		int			advised = 0;
		int			used = 0;
		int			most = 0;
		int			run;

		for (run = 0; run < POWER_RUNS; run++)
		{
			int			n = simulate_run(&random, &quiet[h], named, effect, blocks);

			found += effect_of(blocks, n, true).verdict == NN_VERDICT_IMPACT;
		}
		for (run = 0; run < RUNS; run++)
		{
			int			blocks_used;

			advised += follow_advice(&random, &quiet[h], effect, 3, blocks, &blocks_used).verdict == NN_VERDICT_IMPACT;
			used += blocks_used;
			most = blocks_used > most ? blocks_used : most;
		}
		tap_note("block sd %.3f: %d blocks named, +10 %% found in %.1f %% of runs; by following the advice of the run in %.1f %% (%.1f blocks on average, %d at most)",
				 quiet[h].block_sd, named, 100.0 * found / POWER_RUNS, 100.0 * advised / RUNS, (double) used / RUNS, most);
		ok(found >= POWER_RUNS * 9 / 10, "+10 %% at a block's spread of %.1f %% is found in 90 %% of runs with the %d blocks that it takes",
		   100 * quiet[h].block_sd, named);
		ok(advised >= RUNS * 9 / 10, "and in 90 %% of runs that are prolonged as they say");
	}
}

/*
 * The same blocks of the same host, paired and not: one order alternates, the other
 * has all baselines first and all doses after them.
 */
static void
test_pairing(void)
{
	static const Host drifting = {0.03, 0.002, 0.04};
	static NnBlockValue blocks[MAX_BLOCKS];
	double		paired[RUNS];
	double		unpaired[RUNS];
	double		trend_off[RUNS];
	double		ratio;
	NnRandom	random;
	int			repeats = 6;
	int			run;

	nn_random_seed(&random, 20260103, 0);
	for (run = 0; run < RUNS; run++)
	{
		int			n = simulate_run(&random, &drifting, repeats, 0.2, blocks);
		double		base = 0;
		double		dose = 0;
		int			i;

		paired[run] = effect_of(blocks, n, true).effect;

		/* As many blocks and seconds, two thirds of them baselines too. */
		n = simulate_run(&random, &drifting, repeats, 0, blocks);
		for (i = 0; i < n; i++)
		{
			if (i < 2 * repeats)
				base += log(blocks[i].value) / (2 * repeats);
			else
				dose += (log(blocks[i].value) + 0.2) / repeats;
		}
		unpaired[run] = dose - base;
		/* even to somebody who knew the trend */
		trend_off[run] = unpaired[run] - drifting.trend_per_s * BLOCK_S * 1.5 * repeats;
	}
	ratio = pow(nn_stddev(trend_off, RUNS) / nn_stddev(paired, RUNS), 2);
	tap_note("true effect 0.2: paired %.3f +- %.3f, one after the other %.3f +- %.3f: %.1f times the variance",
			 nn_mean(paired, RUNS), nn_stddev(paired, RUNS), nn_mean(unpaired, RUNS), nn_stddev(unpaired, RUNS), ratio);
	ok(ratio >= 5, "pairing makes the variance of the effect at least five times smaller under drift");
	ok(fabs(nn_mean(paired, RUNS) - 0.2) < 0.02 && fabs(nn_mean(unpaired, RUNS) - 0.2) > 0.1,
	   "and keeps the effect free of the drift");
}

static void
test_coverage(void)
{
	static NnBlockValue blocks[MAX_BLOCKS];
	NnRandom	random;
	int			covered = 0;
	int			run;

	nn_random_seed(&random, 20260104, 0);
	for (run = 0; run < 2000; run++)
	{
		NnEffect	e = effect_of(blocks, simulate_run(&random, &hosts[1], 5, 0.3, blocks), true);

		covered += fabs(e.effect - 0.3) <= e.half_width;
	}
	ok(covered >= 1880 && covered <= 1930, "the 95 %% interval holds the true effect in %.1f %% of runs", covered / 20.0);
}

/* Against values worked out by hand. */
static void
test_by_hand(void)
{
	static const NnBlockValue run[] = {
		{0, 0, 1}, {30, 10, 2 * 1.189207115002721}, {40, 30, 0.25 * 1.681792830507429}, {0, 40, 2},
		{0, 50, 2 * 1.1}, {40, 60, 0.25 * 2.2}, {30, 70, NAN}, {0, 80, 2.2}
	};
	static const NnBlockValue one_sided[] = {{0, 0, 4}, {10, 1, 8}, {20, 2, 6}};
	NnEffect	effects[8];
	int			n = nn_effects_find(run, 8, true, NN_CONFIDENCE, effects);

	ok(n == 3 && effects[0].level == 0 && effects[1].level == 30 && effects[2].level == 40, "levels come in order, each once");
	ok(effects[0].verdict == NN_VERDICT_BASELINE && effects[0].effect == 0 && near(effects[0].floor, 2 * log(1.1), 1e-12),
	   "the noise floor is twice what adjacent baselines differ by");
	ok(effects[1].blocks == 1 && near(effects[1].effect, log(2), 1e-12) && effects[1].stalled == 1 &&
	   effects[1].verdict == NN_VERDICT_INCONCLUSIVE && effects[1].blocks_needed == 0,
	   "the baseline is interpolated in time; a level with a stalled block has no verdict");
	ok(effects[2].blocks == 2 && near(effects[2].effect, log(0.25), 1e-12) &&
	   effects[2].verdict == NN_VERDICT_IMPROVED && effects[2].sign_flip_p == 0.5, "two blocks give a verdict, their sign flip p is 2 / 2^2");
	nn_effects_find(run, 8, false, NN_CONFIDENCE, effects);
	ok(effects[2].verdict == NN_VERDICT_IMPACT, "the same is an impact on throughput");

	n = nn_effects_find(one_sided, 3, true, NN_CONFIDENCE, effects);
	ok(n == 3 && near(effects[1].effect, log(2), 1e-12) && near(effects[2].effect, log(1.5), 1e-12) &&
	   effects[1].blocks_needed == 2 && effects[1].floor == NN_NOISE_FLOOR_MIN && isnan(effects[1].half_width),
	   "a baseline on one side serves; one block has no interval and needs a second");
	ok(nn_effects_find(one_sided + 1, 2, true, NN_CONFIDENCE, effects) == 2 && isnan(effects[0].effect) && effects[0].blocks == 0,
	   "without a baseline there is no effect");
	ok(nn_effects_find(one_sided, 0, true, NN_CONFIDENCE, effects) == 0, "no block, no level");
}

static void
test_verdicts(void)
{
	ok(nn_verdict(0.2, 0.1, 0.05) == NN_VERDICT_IMPACT && nn_verdict(-0.2, 0.1, 0.05) == NN_VERDICT_IMPROVED &&
	   nn_verdict(0.01, 0.03, 0.05) == NN_VERDICT_WITHIN_NOISE && nn_verdict(0.2, 0.18, 0.05) == NN_VERDICT_INCONCLUSIVE &&
	   nn_verdict(NAN, 0.1, 0.05) == NN_VERDICT_INCONCLUSIVE && nn_verdict(0.2, NAN, 0.05) == NN_VERDICT_INCONCLUSIVE,
	   "verdicts say where the interval lies to the noise floor");
	ok(nn_noise_floor(NAN) == 0.05 && nn_noise_floor(0.01) == 0.05 && nn_noise_floor(0.1) == 0.2,
	   "the noise floor is 5 %%, or twice the spread of the baselines");
	ok(nn_blocks_needed(log(1.05), 0.1, 0, 0.9, NN_CONFIDENCE) == 0 && nn_blocks_needed(0.1, NAN, 0, 0.9, NN_CONFIDENCE) == 0 &&
	   nn_blocks_needed(1, 1e-6, 0, 0.9, NN_CONFIDENCE) == 2, "an effect on the edge is never resolved, a clear one by two blocks");
	ok(nn_blocks_needed(0.1, 0.05, 0, 0.99, NN_CONFIDENCE) > nn_blocks_needed(0.1, 0.05, 0, 0.9, NN_CONFIDENCE) &&
	   nn_blocks_needed(0.1, 0.05, 0, 0.9, NN_CONFIDENCE) > nn_blocks_needed(0.1, 0.05, 0, 0.5, NN_CONFIDENCE) &&
	   nn_blocks_needed(0.1, 0.06, 0, 0.9, NN_CONFIDENCE) > nn_blocks_needed(0.1, 0.05, 0, 0.9, NN_CONFIDENCE) &&
	   nn_blocks_needed(0.1, 0.05, 0.025, 0.9, NN_CONFIDENCE) > nn_blocks_needed(0.1, 0.05, 0, 0.9, NN_CONFIDENCE),
	   "more certainty, more spread and a moving floor need more blocks");
}

int
main(void)
{
	test_by_hand();
	test_verdicts();
	test_false_alarms();
	test_power();
	test_pairing();
	test_coverage();
	return tap_done();
}
