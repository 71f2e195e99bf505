/*-------------------------------------------------------------------------
 *
 * statistics.c
 *	  Statistics for SQL: what the views need and the server does not have.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/float.h"

#include "core/statistics.h"

PG_FUNCTION_INFO_V1(nn_sql_t_quantile);

Datum
nn_sql_t_quantile(PG_FUNCTION_ARGS)
{
	double		p = PG_GETARG_FLOAT8(0);
	double		df = PG_GETARG_FLOAT8(1);

	if (!(p > 0 && p < 1))
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("probability %s is not between 0 and 1, both excluded", float8out_internal(p)),
				 errhint("For a 95 %% interval to both sides, the probability is 0.975.")));
	if (!(df > 0))
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("degrees of freedom %s are not above 0", float8out_internal(df)),
				 errhint("The mean of n blocks has n - 1 degrees of freedom.")));
	PG_RETURN_FLOAT8(nn_t_quantile(p, df));
}
