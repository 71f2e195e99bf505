/*-------------------------------------------------------------------------
 *
 * test_guard.c
 *	  The block guard: what it rejects, what comes next, and simulated runs under hidden foreign load.
 *
 * All seeds are fixed, so the figures are the same every time.
 *
 *-------------------------------------------------------------------------
 */
#include <string.h>

#include "core/effect.h"
#include "core/guard.h"
#include "core/looks.h"
#include "core/random.h"
#include "core/statistics.h"
#include "tap.h"

#define MAX_SLOTS	200
#define MAX_BLOCKS	400

static double
random_normal(NnRandom *random)
{
	double		radius = sqrt(-2 * log(1 - nn_random_double(random)));

	return radius * cos(2 * M_PI * nn_random_double(random));
}

/* A plan: baseline, doses, baseline, for each repeat of each number of clients. */
static int
make_plan(NnGuardSlot *plan, int n_clients, int repeats, const double *doses, int n_doses)
{
	int			n = 0;
	int			c;
	int			r;
	int			d;

	memset(plan, 0, sizeof(NnGuardSlot) * MAX_SLOTS);
	for (c = 1; c <= n_clients; c++)
		for (r = 1; r <= repeats; r++)
			for (d = -1; d <= n_doses; d++)
			{
				plan[n].clients = c;
				plan[n].repeat = r;
				plan[n++].level = d < 0 || d == n_doses ? 0 : doses[d];
			}
	return n;
}

/* A quiet block of that slot. */
static NnGuardBlock
quiet_block(const NnGuardSlot *plan, int slot)
{
	NnGuardBlock block = {slot, plan[slot].clients, plan[slot].level, 0.5, plan[slot].level, NAN, NN_GUARD_CHECKPOINT_NONE};

	return block;
}

static const char *
reason_of(const NnGuardVerdict *verdict)
{
	static char buf[NN_GUARD_REASON_LEN];

	nn_guard_describe(verdict, buf, sizeof(buf));
	return buf;
}

static void
test_judgement(void)
{
	static const double doses[] = {30};
	NnGuardSlot plan[MAX_SLOTS];
	NnGuardBlock blocks[MAX_SLOTS];
	NnGuardVerdict verdicts[MAX_SLOTS];
	int			n = make_plan(plan, 1, 4, doses, 1);
	int			rejected = 0;
	int			i;

	for (i = 0; i < n; i++)
		blocks[i] = quiet_block(plan, i);
	ok(nn_guard_judge(blocks, n, verdicts), "blocks can be judged");
	for (i = 0; i < n; i++)
		rejected += verdicts[i].reason != NN_GUARD_ACCEPTED;
	ok(rejected == 0 && strcmp(reason_of(&verdicts[0]), "") == 0, "quiet blocks are accepted");

	blocks[4].foreign_pct = 23.44;
	nn_guard_judge(blocks, n, verdicts);
	ok(verdicts[4].reason == NN_GUARD_FOREIGN && verdicts[3].reason == NN_GUARD_ACCEPTED,
	   "a block with foreign load is rejected, its neighbours are not");
	ok(strcmp(reason_of(&verdicts[4]), "foreign CPU 23.4 % of the host, allowed 3.0 %") == 0, "and says how much: %s",
	   reason_of(&verdicts[4]));
	for (i = 0; i < n; i++)
		blocks[i].foreign_pct = 12 + i % 3;
	nn_guard_judge(blocks, n, verdicts);
	for (rejected = 0, i = 0; i < n; i++)
		rejected += verdicts[i].reason != NN_GUARD_ACCEPTED;
	ok(rejected == 0, "steady foreign load is not rejected");
	blocks[4].foreign_pct = 27;
	nn_guard_judge(blocks, n, verdicts);
	ok(verdicts[4].reason == NN_GUARD_FOREIGN && verdicts[4].limit == 26, "more than twice the median is");
	nn_guard_judge(blocks + 4, 1, verdicts);
	ok(verdicts[0].reason != NN_GUARD_FOREIGN, "one block has nothing to be compared with");
	for (i = 0; i < n; i++)
		blocks[i].foreign_pct = NAN;
	nn_guard_judge(blocks, n, verdicts);
	ok(verdicts[4].reason == NN_GUARD_ACCEPTED, "nor have blocks in which foreign load was not measured");

	blocks[7].achieved_pct = 28.5;
	nn_guard_judge(blocks, n, verdicts);
	ok(verdicts[7].reason == NN_GUARD_DOSE, "a dose that is missed by more than a point is rejected: %s", reason_of(&verdicts[7]));
	blocks[1].achieved_pct = 22;
	blocks[4].achieved_pct = 23;
	blocks[7].achieved_pct = 21.5;
	blocks[10].achieved_pct = 14;
	nn_guard_judge(blocks, n, verdicts);
	ok(verdicts[1].reason == NN_GUARD_ACCEPTED && verdicts[4].reason == NN_GUARD_ACCEPTED && verdicts[7].reason == NN_GUARD_ACCEPTED,
	   "where the host cannot deliver the dose, it is held against what it does deliver");
	ok(verdicts[10].reason == NN_GUARD_DOSE, "and rejected when that is missed: %s", reason_of(&verdicts[10]));
	for (i = 0; i < n; i++)
		blocks[i] = quiet_block(plan, i);

	for (i = 0; i < n; i++)
		blocks[i].lag_ms = 0.05;
	blocks[4].lag_ms = 1.5;
	nn_guard_judge(blocks, n, verdicts);
	ok(verdicts[4].reason == NN_GUARD_GENERATOR, "a generator that lagged in one block is rejected: %s", reason_of(&verdicts[4]));
	for (i = 1; i < n; i += 3)
		blocks[i].lag_ms = 9 + i % 2;
	nn_guard_judge(blocks, n, verdicts);
	ok(verdicts[4].reason == NN_GUARD_ACCEPTED, "one that lags under every dose is not: that is what noise does to it");
	for (i = 0; i < n; i++)
		blocks[i] = quiet_block(plan, i);

	blocks[4].checkpoint = NN_GUARD_CHECKPOINT_TIMED;
	nn_guard_judge(blocks, n, verdicts);
	ok(verdicts[4].reason == NN_GUARD_CHECKPOINT && verdicts[3].reason == NN_GUARD_ACCEPTED,
	   "a dose with a checkpoint between baselines without one is rejected: %s", reason_of(&verdicts[4]));
	blocks[3].checkpoint = NN_GUARD_CHECKPOINT_TIMED;
	nn_guard_judge(blocks, n, verdicts);
	ok(verdicts[4].reason == NN_GUARD_CHECKPOINT && verdicts[4].after, "also when only one of them has none: %s", reason_of(&verdicts[4]));
	blocks[5].checkpoint = NN_GUARD_CHECKPOINT_UNKNOWN;
	nn_guard_judge(blocks, n, verdicts);
	ok(verdicts[4].reason == NN_GUARD_ACCEPTED, "not when it is not known");
	for (i = 0; i < n; i++)
		blocks[i] = quiet_block(plan, i);

	blocks[0].foreign_pct = 40;
	nn_guard_judge(blocks, n, verdicts);
	ok(verdicts[0].reason == NN_GUARD_FOREIGN && verdicts[1].reason == NN_GUARD_BRACKET && !verdicts[1].after,
	   "a dose without an accepted baseline before it is rejected: %s", reason_of(&verdicts[1]));
	nn_guard_judge(blocks + 3, 2, verdicts);
	ok(verdicts[0].reason == NN_GUARD_ACCEPTED && verdicts[1].reason == NN_GUARD_ACCEPTED, "one whose baseline is still to come is not");
	blocks[0].foreign_pct = 0.5;
	blocks[2].foreign_pct = 40;
	nn_guard_judge(blocks, n, verdicts);
	ok(verdicts[1].reason == NN_GUARD_ACCEPTED,
	   "the baseline of the next round serves where it follows a rejected one directly");
}

/* Measure a plan as told; foreign load in the blocks (counted from 0) that "loaded" names. Writes the levels. */
static int
follow(NnGuardSlot *plan, int n_plan, const char *loaded, int max_repeats, NnGuardBlock *done, NnGuardVerdict *verdicts, char *order)
{
	int			n = 0;
	int			slot;
	int			furthest = -1;

	for (;;)
	{
		slot = nn_guard_next(plan, n_plan, done, verdicts, n, max_repeats - (n - (furthest + 1)));
		if (slot < 0 || n >= MAX_BLOCKS)
			break;
		furthest = slot > furthest ? slot : furthest;
		done[n] = quiet_block(plan, slot);
		if (n < (int) strlen(loaded) && loaded[n] == 'x')
			done[n].foreign_pct = 30;
		if (n < (int) strlen(loaded) && loaded[n] == 'c')
			done[n].checkpoint = NN_GUARD_CHECKPOINT_TIMED;
		n++;
		nn_guard_judge(done, n, verdicts);
	}
	for (slot = 0; slot < n; slot++)
		order[slot] = (char) ((done[slot].level == 0 ? 'A' : done[slot].level == 30 ? 'd' : 'e') +
							  (verdicts[slot].reason == NN_GUARD_ACCEPTED || done[slot].level == 0 ? 0 : 'D' - 'd'));
	for (slot = 0; slot < n; slot++)
		if (done[slot].level == 0 && verdicts[slot].reason != NN_GUARD_ACCEPTED)
			order[slot] = 'X';
	order[n] = '\0';
	return n;
}

static void
orders(const char *loaded, int max_repeats, const char *expected, const char *name)
{
	static const double doses[] = {30, 40};
	static NnGuardSlot plan[MAX_SLOTS];
	static NnGuardBlock done[MAX_BLOCKS];
	static NnGuardVerdict verdicts[MAX_BLOCKS];
	char		order[MAX_BLOCKS + 1];
	int			n_plan = make_plan(plan, 1, 2, doses, 2);

	follow(plan, n_plan, loaded, max_repeats, done, verdicts, order);
	ok(strcmp(order, expected) == 0, "%s: %s", name, order);
}

/* A baseline, X the same rejected; d and e doses, D and E rejected. */
static void
test_order(void)
{
	orders("", 4, "AdeAAdeA", "without disturbance the plan is followed");
	orders("    x", 4, "AdeAXAdeA", "a rejected baseline is measured again at once");
	orders("     x", 4, "AdeAADdeA", "so is a dose");
	orders("       x", 4, "AdeAAdeXA", "so is the last baseline");
	orders("     xxx", 3, "AdeAADDDeA", "the number of repeats is bounded");
	orders("     xx", 1, "AdeAADEA", "the last repeat is kept for the baseline behind the doses");
	orders("     xxxx", 9, "AdeAADDDDeA", "attempts at one block are bounded, too");
	orders("     x", 0, "AdeAADeA", "without repeats a rejected block is left out");
	orders("     c", 4, "AdeAADeAdA", "a dose that its baselines show to differ follows the round, and a baseline follows it");
	orders("     c", 1, "AdeAADeA", "where there is a repeat left to close it");
	orders("     cc", 4, "AdeAADEAdeA", "several follow together");
	orders(" c", 4, "ADeAdAAdeA", "it is done before the next round");
	orders("x", 6, "XDAeAdAAdeA", "a first baseline that the next block shows to be loaded costs that block");
	orders("   xx", 6, "AdeXXAAdeA", "both baselines between two rounds");
}

/* Two numbers of clients: what belongs together stays together. */
static void
test_clients(void)
{
	static const double doses[] = {30};
	static NnGuardSlot plan[MAX_SLOTS];
	static NnGuardBlock done[MAX_BLOCKS];
	static NnGuardVerdict verdicts[MAX_BLOCKS];
	char		order[MAX_BLOCKS + 1];
	int			n_plan = make_plan(plan, 2, 2, doses, 1);
	int			i;
	int			n = follow(plan, n_plan, "    c", 4, done, verdicts, order);

	ok(strcmp(order, "AdAADAdAAdAAdA") == 0 && done[6].clients == 1 && done[8].clients == 2,
	   "a dose is measured again before the next number of clients: %s", order);
	ok(n == n_plan + 2, "repeats are blocks beyond the plan");
	for (i = 6; i < n_plan; i++)
		plan[i].skipped = i < 9;
	follow(plan, n_plan, "", 4, done, verdicts, order);
	ok(strcmp(order, "AdAAdAAdA") == 0 && done[6].slot == 9, "what is to be skipped is skipped: %s", order);
	n_plan = make_plan(plan, 1, 3, doses, 0) / 2;
	for (i = 0; i < 3; i++)
		plan[i].repeat = i + 1;
	follow(plan, n_plan, "  x", 4, done, verdicts, order);
	ok(strcmp(order, "AAXA") == 0, "runs without a dose are guarded, too: %s", order);
}

/* A host on which somebody else starts something in a share of the blocks. */
typedef struct Neighbour
{
	double		share;			/* of the blocks */
	double		least_pct;		/* CPU of the host that he takes */
	double		most_pct;
	double		harm;			/* added to the logarithm of the latency, per
								 * percent */
} Neighbour;

typedef struct Tally
{
	int			loaded;
	int			caught;
	int			clean;
	int			lost;			/* clean ones that were rejected */
	int			lost_by_itself; /* of these: for foreign load */
	int			blocks;
	int			missing;		/* doses of the plan without a block that
								 * counts */
} Tally;

static double
simulate_guarded(NnRandom *random, const Neighbour *neighbour, bool guarded, double effect, Tally *tally)
{
	static const double doses[] = {30, 40};
	static NnGuardSlot plan[MAX_SLOTS];
	static NnGuardBlock done[MAX_BLOCKS];
	static NnGuardVerdict verdicts[MAX_BLOCKS];
	static bool loaded[MAX_BLOCKS];
	static NnBlockValue values[MAX_BLOCKS];
	static NnBlockValue accepted[MAX_BLOCKS];
	NnEffect	effects[MAX_BLOCKS];
	int			n_plan = make_plan(plan, 1, 6, doses, 2);
	int			max_repeats = guarded ? (n_plan + 1) / 2 : 0;
	int			n = 0;
	int			n_accepted = 0;
	int			furthest = -1;
	int			slot;
	int			i;

	memset(verdicts, 0, sizeof(verdicts));
	while ((slot = nn_guard_next(plan, n_plan, done, verdicts, n, max_repeats - (n - (furthest + 1)))) >= 0)
	{
		double		foreign_pct = fabs(0.4 + 0.4 * random_normal(random));
		double		log_latency = 1 + 0.02 * random_normal(random) + (plan[slot].level > 0 ? effect : 0);

		furthest = slot > furthest ? slot : furthest;
		loaded[n] = nn_random_double(random) < neighbour->share;
		if (loaded[n])
		{
			double		extra_pct = neighbour->least_pct + (neighbour->most_pct - neighbour->least_pct) * nn_random_double(random);

			foreign_pct += extra_pct;
			log_latency += neighbour->harm * extra_pct;
		}
		done[n] = quiet_block(plan, slot);
		done[n].foreign_pct = foreign_pct;
		values[n].level = plan[slot].level;
		values[n].middle_s = n;
		values[n].value = exp(log_latency);
		n++;
		if (guarded)
			nn_guard_judge(done, n, verdicts);
	}
	for (i = 0; i < n; i++)
	{
		bool		counts = verdicts[i].reason == NN_GUARD_ACCEPTED;

		tally->loaded += loaded[i];
		tally->caught += loaded[i] && !counts;
		tally->clean += !loaded[i];
		tally->lost += !loaded[i] && !counts;
		tally->lost_by_itself += !loaded[i] && verdicts[i].reason == NN_GUARD_FOREIGN;
		if (counts)
			accepted[n_accepted++] = values[i];
	}
	tally->blocks += n;
	for (slot = 0; slot < n_plan; slot++)
	{
		bool		found = false;

		for (i = 0; i < n; i++)
			found |= done[i].slot == slot && verdicts[i].reason == NN_GUARD_ACCEPTED;
		tally->missing += plan[slot].level > 0 && !found;
	}
	nn_effects_find(accepted, n_accepted, true, NN_CONFIDENCE, effects);
	return effects[1].effect;
}

static void
test_hidden_load(void)
{
	static const Neighbour neighbour = {0.3, 5, 40, 0.03};
	static const Neighbour nobody = {0, 0, 0, 0};
	enum
	{
	N_RUNS = 400};
	static double with[N_RUNS];
	static double without[N_RUNS];
	double		effect = log(1.5);
	Tally		tally = {0};
	Tally		ignored = {0};
	Tally		alone = {0};
	NnRandom	random;
	double		bias;
	int			run;

	nn_random_seed(&random, 20260301, 0);
	for (run = 0; run < N_RUNS; run++)
	{
		with[run] = simulate_guarded(&random, &neighbour, true, effect, &tally);
		without[run] = simulate_guarded(&random, &neighbour, false, effect, &ignored);
		(void) simulate_guarded(&random, &nobody, true, effect, &alone);
	}
	bias = exp(nn_mean(with, N_RUNS) - effect) - 1;
	tap_note("%d runs with hidden load in %.1f %% of the blocks: %.2f %% of these caught, %.2f %% of the clean ones rejected (%.2f %% for foreign load), %.1f blocks instead of 24, %.2f doses of 12 missing",
			 N_RUNS, 100.0 * tally.loaded / tally.blocks, 100.0 * tally.caught / tally.loaded,
			 100.0 * tally.lost / tally.clean, 100.0 * tally.lost_by_itself / tally.clean, (double) tally.blocks / N_RUNS,
			 (double) tally.missing / N_RUNS);
	tap_note("effect of +50 %%: guarded %+.2f %% off, sd of a run %.1f %%; not guarded %+.2f %% off, sd %.1f %%",
			 100 * bias, 100 * nn_stddev(with, N_RUNS), 100 * (exp(nn_mean(without, N_RUNS) - effect) - 1),
			 100 * nn_stddev(without, N_RUNS));
	tap_note("nobody there: %.2f %% rejected", 100.0 * alone.lost / alone.clean);
	ok(tally.caught >= 0.95 * tally.loaded, "95 %% of the blocks under hidden load are caught");
	ok(tally.lost <= 0.03 * tally.clean, "3 %% of the clean ones at most are rejected");
	ok(fabs(bias) <= 0.05, "the bias of the effect stays below 5 %%");
	ok(nn_stddev(with, N_RUNS) < nn_stddev(without, N_RUNS) / 5, "runs spread five times less than without the guard");
	ok(alone.lost <= 0.01 * alone.clean, "where nobody is, next to nothing is rejected");
}

int
main(void)
{
	test_judgement();
	test_order();
	test_clients();
	test_hidden_load();
	return tap_done();
}
