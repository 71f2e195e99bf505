/*-------------------------------------------------------------------------
 *
 * steady.h
 *	  Warm-up of a series, and whether it becomes steady.
 *
 * MSER (White 1997): cut the first d values where the standard error of
 * the mean of the rest, sum of squares / (n - d)^2, is smallest.  A short
 * warm-up costs few values and is cut; a series that goes on changing is cut late.
 *
 * A cut beyond the middle alone is no proof: in a series of ten independent
 * values it happens by chance in a quarter of all cases, because few values
 * easily lie together.  So a series is called not steady when the cut lies beyond the
 * middle and what was cut differs from the rest by more than three standard
 * errors (2 % of independent series of ten values, less of longer ones).
 *
 *-------------------------------------------------------------------------
 */
#ifndef NN_STEADY_H
#define NN_STEADY_H

/* Shorter series have no answer. */
#define NN_STEADY_MIN	10

typedef enum NnSteadyState
{
	NN_STEADY_UNKNOWN,			/* too short, or a value is not finite */
	NN_STEADY,					/* steady after the cut */
	NN_NOT_STEADY
} NnSteadyState;

typedef struct NnSteady
{
	NnSteadyState state;
	int			cut;			/* values to leave out at the beginning */
	double		mean;			/* of the rest */
	double		shift;			/* mean of what was cut minus that of the
								 * rest; 0 without a cut */
} NnSteady;

extern void nn_steady_find(const double *x, int n, NnSteady *result);

#endif							/* NN_STEADY_H */
