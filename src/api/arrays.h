/*-------------------------------------------------------------------------
 *
 * arrays.h
 *	  Samples that SQL passes as arrays, and results that may be missing.
 *
 *-------------------------------------------------------------------------
 */
#ifndef NN_API_ARRAYS_H
#define NN_API_ARRAYS_H

#include "postgres.h"

#include "fmgr.h"
#include "funcapi.h"

/*
 * Statistics of more values than this would hold up a query that cannot be
 * cancelled meanwhile; a run has hundreds of blocks.
 */
#define NN_ARRAY_VALUES_MAX	2000

typedef enum NnArrayNulls
{
	NN_NULLS_LEFT_OUT,
	NN_NULLS_NAN,
	NN_NULLS_REFUSED
} NnArrayNulls;

/*
 * Values of argument n, a float8[] that is not NULL, in the current memory
 * context, and their number in *count.  ERROR when there are too many, and for
 * NULL where it is refused; infinite values are errors, too.
 */
extern double *nn_array_argument(FunctionCallInfo fcinfo, int n, const char *name, NnArrayNulls nulls, int *count);

/* The same for an array that must be as long as another one. */
extern double *nn_array_argument_like(FunctionCallInfo fcinfo, int n, const char *name, NnArrayNulls nulls, int count);

extern Datum nn_array_of_floats(const double *x, int n);

/* A column of a row: NaN, which says that there is none, becomes NULL. */
extern void nn_put_float(Datum *values, bool *nulls, int column, double value);
extern void nn_put_text(Datum *values, bool *nulls, int column, const char *value);

/* The composite result of a function with OUT arguments. */
extern Datum nn_make_row(FunctionCallInfo fcinfo, Datum *values, bool *nulls);

#endif							/* NN_API_ARRAYS_H */
