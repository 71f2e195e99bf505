/*-------------------------------------------------------------------------
 *
 * effects.c
 *	  Paired effects, resampling and steady state for SQL.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/float.h"

#include "api/arrays.h"
#include "api/histogram.h"
#include "core/effect.h"
#include "core/histogram_interval.h"
#include "core/resample.h"
#include "core/steady.h"
#include "server/histogram_datum.h"

PG_FUNCTION_INFO_V1(nn_sql_sign_flip_p);
PG_FUNCTION_INFO_V1(nn_sql_spread);
PG_FUNCTION_INFO_V1(nn_sql_percentile_interval);
PG_FUNCTION_INFO_V1(nn_sql_warmup);
PG_FUNCTION_INFO_V1(nn_sql_paired_effects);
PG_FUNCTION_INFO_V1(nn_sql_blocks_for_power);
PG_FUNCTION_INFO_V1(nn_sql_planning_sd);

#define EFFECT_COLUMNS	10
#define SPREAD_SEED		UINT64CONST(1)

Datum
nn_sql_sign_flip_p(PG_FUNCTION_ARGS)
{
	int			n;
	double	   *d = nn_array_argument(fcinfo, 0, "differences", NN_NULLS_LEFT_OUT, &n);

	if (n == 0)
		PG_RETURN_NULL();
	PG_RETURN_FLOAT8(nn_sign_flip_p(d, n));
}

Datum
nn_sql_spread(PG_FUNCTION_ARGS)
{
	int			n;
	double	   *x = nn_array_argument(fcinfo, 0, "sample", NN_NULLS_LEFT_OUT, &n);
	double		low;
	double		high;
	double		spread = nn_spread(x, n, SPREAD_SEED, &low, &high);
	Datum		values[3];
	bool		nulls[3];

	nn_put_float(values, nulls, 0, 100 * spread);
	nn_put_float(values, nulls, 1, 100 * low);
	nn_put_float(values, nulls, 2, 100 * high);
	return nn_make_row(fcinfo, values, nulls);
}

Datum
nn_sql_percentile_interval(PG_FUNCTION_ARGS)
{
	NnHistogram *h = palloc(sizeof(NnHistogram));
	double		p = PG_GETARG_FLOAT8(1);
	double		low;
	double		high;
	Datum		values[2];
	bool		nulls[2];

	if (!(p >= 0 && p <= 1))
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("percentile %s is out of range", float8out_internal(p)),
				 errdetail("A percentile is given as a fraction from 0 to 1."),
				 errhint("For the 99th percentile, pass 0.99.")));
	nn_histogram_from_datum(h, PG_GETARG_DATUM(0));
	nn_histogram_percentile_interval_ns(h, p, &low, &high);
	nn_put_float(values, nulls, 0, low / NN_NS_PER_MS_F);
	nn_put_float(values, nulls, 1, high / NN_NS_PER_MS_F);
	return nn_make_row(fcinfo, values, nulls);
}

Datum
nn_sql_warmup(PG_FUNCTION_ARGS)
{
	int			n;
	double	   *x = nn_array_argument(fcinfo, 0, "series", NN_NULLS_LEFT_OUT, &n);
	NnSteady	steady;
	Datum		values[3] = {0};
	bool		nulls[3] = {true, true, true};

	nn_steady_find(x, n, &steady);
	if (steady.state != NN_STEADY_UNKNOWN)
	{
		values[0] = Int32GetDatum(steady.cut);
		values[1] = BoolGetDatum(steady.state == NN_STEADY);
		values[2] = Float8GetDatum(steady.shift);
		nulls[0] = nulls[1] = nulls[2] = false;
	}
	return nn_make_row(fcinfo, values, nulls);
}

/* Argument arg: the confidence of intervals. */
static double
confidence_argument(FunctionCallInfo fcinfo, int arg)
{
	double		confidence = PG_GETARG_FLOAT8(arg);

	if (!(confidence > 0 && confidence < 1))
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("confidence %s is not between 0 and 1, both excluded", float8out_internal(confidence)),
				 errhint("For intervals of 95 %%, pass 0.95.")));
	return confidence;
}

static void
put_effect(ReturnSetInfo *rsinfo, const NnEffect *effect)
{
	Datum		values[EFFECT_COLUMNS];
	bool		nulls[EFFECT_COLUMNS] = {false};

	values[0] = Float8GetDatum(effect->level);
	values[1] = Int32GetDatum(effect->blocks);
	values[2] = Int32GetDatum(effect->stalled);
	nn_put_float(values, nulls, 3, exp(effect->effect));
	nn_put_float(values, nulls, 4, exp(effect->effect - effect->half_width));
	nn_put_float(values, nulls, 5, exp(effect->effect + effect->half_width));
	nn_put_float(values, nulls, 6, effect->sign_flip_p);
	nn_put_float(values, nulls, 7, 100 * effect->floor);
	nn_put_text(values, nulls, 8, nn_verdict_name(effect->verdict));
	nulls[9] = effect->blocks_needed == 0;
	values[9] = Int32GetDatum(effect->blocks_needed);
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

Datum
nn_sql_paired_effects(PG_FUNCTION_ARGS)
{
	int			n;
	double	   *levels = nn_array_argument(fcinfo, 0, "level", NN_NULLS_REFUSED, &n);
	double	   *middles = nn_array_argument_like(fcinfo, 1, "middle_s", NN_NULLS_REFUSED, n);
	double	   *metric = nn_array_argument_like(fcinfo, 2, "value", NN_NULLS_NAN, n);
	NnBlockValue *blocks = palloc(sizeof(NnBlockValue) * Max(n, 1));
	NnEffect   *effects = palloc(sizeof(NnEffect) * Max(n, 1));
	double		confidence = confidence_argument(fcinfo, 4);
	int			n_levels;

	for (int i = 0; i < n; i++)
	{
		blocks[i].level = levels[i];
		blocks[i].middle_s = middles[i];
		blocks[i].value = metric[i];
	}
	InitMaterializedSRF(fcinfo, 0);
	n_levels = nn_effects_find(blocks, n, PG_GETARG_BOOL(3), confidence, effects);
	if (n_levels < 0)
		ereport(ERROR,
				(errcode(ERRCODE_OUT_OF_MEMORY),
				 errmsg("out of memory")));
	for (int i = 0; i < n_levels; i++)
		put_effect((ReturnSetInfo *) fcinfo->resultinfo, &effects[i]);
	return (Datum) 0;
}

Datum
nn_sql_blocks_for_power(PG_FUNCTION_ARGS)
{
	double		power = PG_GETARG_FLOAT8(3);
	int			blocks;

	if (!(power > 0 && power < 1))
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("probability %s is not between 0 and 1, both excluded", float8out_internal(power)),
				 errhint("For a verdict in nine runs of ten, pass 0.9.")));
	blocks = nn_blocks_needed(PG_GETARG_FLOAT8(0), PG_GETARG_FLOAT8(1), PG_GETARG_FLOAT8(2), power,
							  confidence_argument(fcinfo, 4));
	if (blocks == 0)
		PG_RETURN_NULL();
	PG_RETURN_INT32(blocks);
}

Datum
nn_sql_planning_sd(PG_FUNCTION_ARGS)
{
	PG_RETURN_FLOAT8(nn_planning_sd(PG_GETARG_FLOAT8(0), PG_GETARG_INT32(1), PG_GETARG_FLOAT8(2),
									PG_GETARG_INT32(3)));
}
