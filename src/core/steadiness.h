/*-------------------------------------------------------------------------
 *
 * steadiness.h
 *	  Does a long series at constant load drift, or jump?
 *
 * Jumps are found by halving: where the means on both sides differ most, in units of their error, is a
 * candidate; it counts when it is significant and as large as matters, and then both sides are searched.  The error
 * comes from differences of means of neighbouring groups of values, so that neither a jump nor a drift enters it and
 * values that hang together for a few places do.  A straight line that explains the series better than
 * the jumps do (by BIC) makes it a drift instead.
 *
 *-------------------------------------------------------------------------
 */
#ifndef NN_STEADINESS_H
#define NN_STEADINESS_H

/* Shorter series have no answer. */
#define NN_STEADINESS_MIN	20
#define NN_MAX_CHANGES		15

typedef enum NnSteadinessVerdict
{
	NN_STEADINESS_UNKNOWN,		/* too short, or a value is not finite */
	NN_HOLDS,					/* neither drift nor jump that matters */
	NN_DRIFTS,
	NN_JUMPS
} NnSteadinessVerdict;

typedef struct NnChange
{
	int			at;				/* the first value after it */
	double		before;			/* mean from the change before to this one */
	double		after;			/* mean from this one to the next */
} NnChange;

typedef struct NnSteadiness
{
	NnSteadinessVerdict verdict;
	double		mean;
	double		cv;				/* of single values, jumps and drift included */
	double		drift;			/* from the first to the last value by the
								 * line, as a part of the mean */
	double		drift_low;		/* its 95 % interval */
	double		drift_high;
	int			n_changes;
	NnChange	changes[NN_MAX_CHANGES];	/* in order */
} NnSteadiness;

/* "least" is the smallest change that matters, as a part of the mean: 0.01. */
extern void nn_steadiness_find(const double *x, int n, double least, NnSteadiness *result);

extern const char *nn_steadiness_name(NnSteadinessVerdict verdict);

#endif							/* NN_STEADINESS_H */
