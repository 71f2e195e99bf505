/*-------------------------------------------------------------------------
 *
 * effect.c
 *	  Paired effects and verdicts.  See effect.h.
 *
 * Scratch memory is malloc'd and freed within a call.
 *
 *-------------------------------------------------------------------------
 */
#include "core/effect.h"

#include <math.h>
#include <stdlib.h>

#include "core/resample.h"
#include "core/statistics.h"

/*
 * Variance of d over that of the difference of two blocks: a block against the mean
 * of two baselines varies by 1 + 1/2 of a block's variance, an A/A pair by 2.
 */
#define PAIRED_BY_AA	0.75

const char *
nn_verdict_name(NnVerdict verdict)
{
	switch (verdict)
	{
		case NN_VERDICT_BASELINE:
			return "baseline";
		case NN_VERDICT_INCONCLUSIVE:
			return "inconclusive";
		case NN_VERDICT_WITHIN_NOISE:
			return "within_noise";
		case NN_VERDICT_IMPACT:
			return "impact";
		case NN_VERDICT_IMPROVED:
			return "improved";
	}
	return "inconclusive";
}

double
nn_noise_floor(double sd_aa)
{
	return fmax(NN_NOISE_FLOOR_MIN, 2 * sd_aa); /* fmax ignores NaN */
}

NnVerdict
nn_verdict(double effect, double half_width, double noise_floor)
{
	double		edge = log1p(noise_floor);

	if (effect - half_width > edge)
		return NN_VERDICT_IMPACT;
	if (effect + half_width < -edge)
		return NN_VERDICT_IMPROVED;
	if (effect + half_width < edge && effect - half_width > -edge)
		return NN_VERDICT_WITHIN_NOISE;
	return NN_VERDICT_INCONCLUSIVE;
}

/*
 * Do n blocks keep the interval clear of the edge with probability "power"?  Three
 * things may come between, independent of each other: a mean that lies closer to
 * the edge, an interval that comes out wider, and a floor that comes out higher.
 * A standard deviation has a relative error of 1 / sqrt(2 df).
 */
static bool
blocks_suffice(int n, double effect, double sd, double sd_aa, double power, double confidence)
{
	double		df = n - 1;
	double		quantile = nn_t_quantile(power, INFINITY);
	double		excess = quantile / sqrt(2 * df);
	double		edge = log1p(nn_noise_floor(sd_aa));
	double		error = sd / sqrt(n);
	double		half_width = nn_t_quantile((1 + confidence) / 2, df) * error;
	double		moved = log1p(nn_noise_floor(sd_aa * (1 + excess))) - edge;

	return half_width + hypot(hypot(quantile * error, half_width * excess), moved) < fabs(effect - edge);
}

int
nn_blocks_needed(double effect, double sd, double sd_aa, double power, double confidence)
{
	int			low = 1;
	int			high = 2;

	effect = fabs(effect);
	if (!isfinite(effect) || !(sd >= 0) || !(power > 0 && power < 1) || !(confidence > 0 && confidence < 1))
		return 0;

	/* Inside the floor there are two edges to stay clear of. */
	if (effect < log1p(nn_noise_floor(sd_aa)))
		power = (1 + power) / 2;

	while (!blocks_suffice(high, effect, sd, sd_aa, power, confidence))
	{
		if (high >= NN_BLOCKS_NEEDED_MAX)
			return 0;
		low = high;
		high = 2 * high < NN_BLOCKS_NEEDED_MAX ? 2 * high : NN_BLOCKS_NEEDED_MAX;
	}
	while (high - low > 1)
	{
		int			middle = low + (high - low) / 2;

		if (blocks_suffice(middle, effect, sd, sd_aa, power, confidence))
			high = middle;
		else
			low = middle;
	}
	return high;
}

static bool
has_value(const NnBlockValue *block)
{
	return isfinite(block->value) && block->value > 0;
}

static bool
is_baseline(const NnBlockValue *block)
{
	return block->level == 0 && has_value(block);
}

/* Index of the nearest baseline from "from" on in steps of "step"; -1: none. */
static int
find_baseline(const NnBlockValue *blocks, int n, int from, int step)
{
	int			i;

	for (i = from; i >= 0 && i < n; i += step)
		if (is_baseline(&blocks[i]))
			return i;
	return -1;
}

/* Logarithm of the baseline at the time of block i; NaN: there is no baseline. */
static double
log_baseline(const NnBlockValue *blocks, int n, int i)
{
	int			before = find_baseline(blocks, n, i - 1, -1);
	int			after = find_baseline(blocks, n, i + 1, 1);
	double		log_before;
	double		log_after;
	double		span;

	if (before < 0 && after < 0)
		return NAN;
	if (before < 0 || after < 0)
		return log(blocks[before < 0 ? after : before].value);

	log_before = log(blocks[before].value);
	log_after = log(blocks[after].value);
	span = blocks[after].middle_s - blocks[before].middle_s;
	if (span == 0)
		return (log_before + log_after) / 2;
	return log_before + (log_after - log_before) * ((blocks[i].middle_s - blocks[before].middle_s) / span);
}

/* Root mean square of the differences of A/A pairs, and their number in *pairs. */
static double
baseline_spread(const NnBlockValue *blocks, int n, int *pairs)
{
	double		sum_sq[2] = {0, 0}; /* of bracketing pairs, of adjacent ones */
	int			count[2] = {0, 0};
	int			adjacent;
	int			i;

	for (i = 1; i < n; i++)
	{
		int			before = is_baseline(&blocks[i]) ? find_baseline(blocks, n, i - 1, -1) : -1;
		double		d;

		if (before < 0)
			continue;
		d = log(blocks[i].value) - log(blocks[before].value);
		adjacent = blocks[i - 1].level == 0;
		sum_sq[adjacent] += d * d;
		count[adjacent]++;
	}
	adjacent = count[1] > 0;
	*pairs = count[adjacent];
	return count[adjacent] > 0 ? sqrt(sum_sq[adjacent] / count[adjacent]) : NAN;
}

/*
 * Spread of d to plan with: that of the level, together with that of the A/A
 * pairs by their degrees of freedom, because a few blocks alone may lie together
 * by chance.
 */
double
nn_planning_sd(double sd, int blocks, double sd_aa, int pairs)
{
	double		df = blocks - 1;
	double		variance = PAIRED_BY_AA * sd_aa * sd_aa;

	if (blocks < 2)
		return sqrt(variance);
	if (pairs == 0)
		return sd;
	return sqrt(fmax(sd * sd, (df * sd * sd + pairs * variance) / (df + pairs)));
}

/* The effect of one level other than 0; "d" is scratch memory for n values. */
static void
find_effect(const NnBlockValue *blocks, int n, bool higher_is_worse, double confidence, double sd_aa, int pairs,
			double *d, NnEffect *effect)
{
	double		worse;
	int			i;

	effect->blocks = 0;
	effect->stalled = 0;
	for (i = 0; i < n; i++)
	{
		double		base;

		if (blocks[i].level != effect->level)
			continue;
		if (!has_value(&blocks[i]))
		{
			effect->stalled++;
			continue;
		}
		base = log_baseline(blocks, n, i);
		if (!isnan(base))
			d[effect->blocks++] = log(blocks[i].value) - base;
	}
	effect->effect = nn_mean(d, effect->blocks);
	effect->sd = nn_stddev(d, effect->blocks);
	effect->half_width = nn_t_quantile((1 + confidence) / 2, effect->blocks - 1) * effect->sd / sqrt(effect->blocks);
	effect->sign_flip_p = nn_sign_flip_p(d, effect->blocks);
	effect->floor = nn_noise_floor(sd_aa);
	effect->blocks_needed = 0;

	worse = higher_is_worse ? effect->effect : -effect->effect;
	effect->verdict = effect->stalled > 0 ? NN_VERDICT_INCONCLUSIVE :
		nn_verdict(worse, effect->half_width, effect->floor);
	if (effect->verdict != NN_VERDICT_INCONCLUSIVE || effect->stalled > 0)
		return;
	if (effect->blocks == 0 || (effect->blocks < 2 && pairs == 0))
		effect->blocks_needed = 2;
	else
		effect->blocks_needed = nn_blocks_needed(worse, nn_planning_sd(effect->sd, effect->blocks, sd_aa, pairs),
												 sd_aa, NN_EFFECT_POWER, confidence);

	/*
	 * A verdict is missing, so more of the same are needed whatever the plan
	 * says.
	 */
	if (effect->blocks_needed > 0 && effect->blocks_needed <= effect->blocks)
		effect->blocks_needed = effect->blocks + 1;
}

static void
describe_baseline(const NnBlockValue *blocks, int n, double sd_aa, NnEffect *effect)
{
	int			i;

	effect->blocks = 0;
	effect->stalled = 0;
	for (i = 0; i < n; i++)
		if (blocks[i].level == 0 && !has_value(&blocks[i]))
			effect->stalled++;
	effect->effect = 0;
	effect->sd = effect->half_width = effect->sign_flip_p = NAN;
	effect->floor = nn_noise_floor(sd_aa);
	effect->verdict = NN_VERDICT_BASELINE;
	effect->blocks_needed = 0;
}

/* Put the levels of the blocks into effects[], by size and each once; returns their number. */
static int
list_levels(const NnBlockValue *blocks, int n, NnEffect *effects)
{
	int			n_levels = 0;
	int			i;

	for (i = 0; i < n; i++)
	{
		int			place = 0;
		int			k;

		while (place < n_levels && effects[place].level < blocks[i].level)
			place++;
		if (place < n_levels && effects[place].level == blocks[i].level)
			continue;
		for (k = n_levels; k > place; k--)
			effects[k] = effects[k - 1];
		effects[place].level = blocks[i].level;
		n_levels++;
	}
	return n_levels;
}

int
nn_effects_find(const NnBlockValue *blocks, int n, bool higher_is_worse, double confidence, NnEffect *effects)
{
	int			n_levels = list_levels(blocks, n, effects);
	int			pairs;
	double		sd_aa = baseline_spread(blocks, n, &pairs);
	double	   *d;
	int			i;

	if (n_levels == 0)
		return 0;
	d = malloc(sizeof(double) * (size_t) n);
	if (d == NULL)
		return -1;
	for (i = 0; i < n_levels; i++)
	{
		if (effects[i].level == 0)
			describe_baseline(blocks, n, sd_aa, &effects[i]);
		else
			find_effect(blocks, n, higher_is_worse, confidence, sd_aa, pairs, d, &effects[i]);
	}
	free(d);
	return n_levels;
}
