/*-------------------------------------------------------------------------
 *
 * knee.h
 *	  The dose from which on a server suffers more than before, if there is one.
 *
 * Three models of the values over the dose x are fitted by least squares:
 *
 *	 line			a + b x
 *	 queue			s / (1 - x / c): what a queue does as its server fills up (c may be
 *					negative, for throughput: s / (1 + x / |c|))
 *	 broken stick	a + b x + d max(0, x - knee)
 *
 * Errors are taken relative to the median of their level, since the scatter of
 * latencies grows with them.  Models are compared by BIC, n ln(rss / n) + k ln n with 2, 2 and 4
 * parameters: a smooth queueing curve has no knee, although a broken stick follows it closely.
 *
 * A knee is reported when the broken stick wins by more than 6 over both others, the
 * slope becomes worse at the knee, and the middle 90 % of the knees of resampled
 * blocks lie together within a quarter of the range of doses.  Otherwise there is no knee,
 * with the reason.
 *
 *-------------------------------------------------------------------------
 */
#ifndef NN_KNEE_H
#define NN_KNEE_H

#include "core/curve.h"

#define NN_KNEE_MIN_DOSES		5
#define NN_KNEE_MIN_BLOCKS		10
#define NN_KNEE_BIC				6.0
#define NN_KNEE_WIDEST			0.25
#define NN_KNEE_RESAMPLES		300

typedef enum NnKneeReason
{
	NN_KNEE_FOUND,
	NN_KNEE_FEW_DOSES,			/* fewer than five different doses */
	NN_KNEE_FEW_BLOCKS,			/* a level with one block, or fewer than ten
								 * blocks */
	NN_KNEE_NO_VALUES,			/* a value that is not above 0 */
	NN_KNEE_LINE,				/* a line does as well */
	NN_KNEE_QUEUE,				/* a queueing curve does as well */
	NN_KNEE_FLATTENS,			/* it becomes flatter, not steeper */
	NN_KNEE_UNCERTAIN,			/* its place is uncertain */
	NN_KNEE_NO_MEMORY
} NnKneeReason;

typedef struct NnKnee
{
	NnKneeReason reason;
	double		dose;			/* of the broken stick; NaN unless a broken
								 * stick was fitted */
	double		low;			/* 90 % of the knees of resampled blocks; NaN
								 * when not done */
	double		high;
	double		bic_gain;		/* by how much the better of line and queue is
								 * worse than the broken stick */
} NnKnee;

extern void nn_knee_find(const NnCurve *curve, NnKnee *result);

#endif							/* NN_KNEE_H */
