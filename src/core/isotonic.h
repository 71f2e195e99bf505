/*-------------------------------------------------------------------------
 *
 * isotonic.h
 *	  The curve that only rises (or only falls) and lies closest to the data.
 *
 * More noise cannot make a server faster: where a measured curve says so, it is
 * chance, or something else changed.  The fit pools neighbours that are out
 * of order into their weighted mean (pool adjacent violators), which is
 * the weighted least squares fit among all monotone curves; the report says
 * what had to be pooled.
 *
 *-------------------------------------------------------------------------
 */
#ifndef NN_ISOTONIC_H
#define NN_ISOTONIC_H

#include <stdbool.h>

/*
 * Fit values y[0..n) with weights w > 0 (NULL: all equal).  "fitted" may be y.
 * False: no memory, and nothing is written.
 */
extern bool nn_isotonic_fit(const double *y, const double *w, int n, bool rising, double *fitted);

typedef struct NnViolations
{
	int			count;			/* neighbours that are out of order */
	int			worst;			/* index of the second of the worst two; -1:
								 * none */
	double		worst_pct;		/* by how much it lies on the wrong side of
								 * the first, percent; 0: none */
} NnViolations;

/* What is out of order in y[0..n), which must be positive for worst_pct to make sense. */
extern void nn_isotonic_check(const double *y, int n, bool rising, NnViolations *result);

#endif							/* NN_ISOTONIC_H */
