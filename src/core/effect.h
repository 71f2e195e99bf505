/*-------------------------------------------------------------------------
 *
 * effect.h
 *	  What noise does to a metric: paired blocks, their interval, a verdict.
 *
 * A run is a sequence of blocks of which some, the baselines, have level 0.
 * A dose block is compared with the baseline at its own time: the nearest baseline
 * before and the nearest after it, interpolated on the logarithm between the
 * middles of the blocks (only one of them where there is no other).  A
 * steady drift of the host cancels out.
 *
 *	 effect		mean over the blocks of d = ln(value) - ln(baseline)
 *	 interval	effect +- t((1 + confidence) / 2, n - 1) sd / sqrt(n)
 *	 floor		max(0.05, 2 sd_aa): what baselines differ by among themselves
 *	 verdict	where the interval lies to -ln(1 + floor) .. ln(1 + floor)
 *
 * sd_aa is the root mean square of the logarithmic differences of adjacent
 * baselines: a baseline block that follows a baseline block directly, as at the border
 * of two repeats.  Where none are adjacent, baselines with the one before them
 * serve, which lie farther apart.
 *
 * Undefined results are NaN.
 *
 *-------------------------------------------------------------------------
 */
#ifndef NN_EFFECT_H
#define NN_EFFECT_H

#include <stdbool.h>

/* The smallest noise floor, as a fraction. */
#define NN_NOISE_FLOOR_MIN	0.05

/* Confidence of an interval that is looked at once. */
#define NN_CONFIDENCE		0.95

/* Probability to plan with, so that nine runs in ten find the verdict that is there: the plan approximates. */
#define NN_EFFECT_POWER		0.93

/* More blocks than this are no advice. */
#define NN_BLOCKS_NEEDED_MAX	1000000

typedef enum NnVerdict
{
	NN_VERDICT_BASELINE,
	NN_VERDICT_INCONCLUSIVE,	/* the interval crosses an edge of the noise
								 * floor, or there is none */
	NN_VERDICT_WITHIN_NOISE,	/* the interval lies inside the noise floor */
	NN_VERDICT_IMPACT,			/* it lies beyond, on the bad side */
	NN_VERDICT_IMPROVED			/* it lies beyond, on the good side */
} NnVerdict;

/* One measured block. */
typedef struct NnBlockValue
{
	double		level;			/* noise asked for; 0 is a baseline */
	double		middle_s;		/* when its middle was, seconds of any clock */
	double		value;			/* the metric; not above 0 or NaN: the block
								 * has none */
} NnBlockValue;

/* One level of a run. */
typedef struct NnEffect
{
	double		level;
	int			blocks;			/* blocks that were compared with a baseline;
								 * 0 for level 0 */
	int			stalled;		/* blocks without a value: they have no ratio,
								 * and no verdict is given */
	double		effect;			/* mean of d; 0 for level 0 */
	double		sd;				/* of d */
	double		half_width;		/* of the interval */
	double		sign_flip_p;
	double		floor;			/* as a fraction */
	NnVerdict	verdict;
	int			blocks_needed;	/* in total; 0: none needed, or no number
								 * helps */
} NnEffect;

/* The name of a verdict in SQL, e.g. "within_noise". */
extern const char *nn_verdict_name(NnVerdict verdict);

/* Noise floor from the spread of A/A pairs; NaN, unknown, gives the minimum. */
extern double nn_noise_floor(double sd_aa);

/* Verdict on a logarithm of a ratio, above 0 is worse.  NaN gives inconclusive. */
extern NnVerdict nn_verdict(double effect, double half_width, double noise_floor);

/*
 * The number of blocks, at least 2, with which a verdict is found with probability
 * "power" when the true logarithm of the ratio is "effect", a block's spread
 * around it is "sd", and baselines spread by sd_aa.  It allows for the
 * chance in the mean of the blocks, and in the noise floor, which the run itself
 * estimates from about as many pairs of baselines.  confidence is that of the
 * interval.  0: more than NN_BLOCKS_NEEDED_MAX, as when the effect lies on the
 * edge of the floor.
 */
/*
 * Standard deviation of d to plan with, from that of so many blocks and the root mean square of
 * the differences of so many A/A pairs.
 */
extern double nn_planning_sd(double sd, int blocks, double sd_aa, int pairs);

extern int	nn_blocks_needed(double effect, double sd, double sd_aa, double power, double confidence);

/*
 * Effects of all levels of blocks[0..n) in the order of the run, by rising
 * level; "effects" has room for n.  higher_is_worse says which side is bad: true for
 * latency, false for throughput.  confidence, in (0, 1), is that of the intervals.  Returns
 * the number of levels, or -1 when there is no memory.
 */
extern int	nn_effects_find(const NnBlockValue *blocks, int n, bool higher_is_worse, double confidence,
							NnEffect *effects);

#endif							/* NN_EFFECT_H */
