/*-------------------------------------------------------------------------
 *
 * curve.c
 *	  Sensitivity curves for SQL: monotone fit, knee, tolerable dose.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "fmgr.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/float.h"

#include "api/arrays.h"
#include "core/curve.h"
#include "core/isotonic.h"
#include "core/knee.h"

PG_FUNCTION_INFO_V1(nn_sql_isotonic);
PG_FUNCTION_INFO_V1(nn_sql_curve);
PG_FUNCTION_INFO_V1(nn_sql_curve_max_dose);

#define CURVE_COLUMNS	11

static void
fail_for_memory(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_OUT_OF_MEMORY),
			 errmsg("out of memory")));
}

/* fitted, violations, worst_pct of values and, where given, weights. */
Datum
nn_sql_isotonic(PG_FUNCTION_ARGS)
{
	double	   *y;
	double	   *w = NULL;
	NnViolations violations;
	Datum		values[3];
	bool		nulls[3] = {false};
	int			n;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(2))
		PG_RETURN_NULL();
	y = nn_array_argument(fcinfo, 0, "value", NN_NULLS_REFUSED, &n);
	if (!PG_ARGISNULL(1))
		w = nn_array_argument_like(fcinfo, 1, "weight", NN_NULLS_REFUSED, n);
	for (int i = 0; w != NULL && i < n; i++)
		if (w[i] <= 0)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("weight %s is not above 0", float8out_internal(w[i])),
					 errhint("Leave out values that do not count.")));

	nn_isotonic_check(y, n, PG_GETARG_BOOL(2), &violations);
	if (!nn_isotonic_fit(y, w, n, PG_GETARG_BOOL(2), y))
		fail_for_memory();
	values[0] = nn_array_of_floats(y, n);
	values[1] = Int32GetDatum(violations.count);
	nn_put_float(values, nulls, 2, violations.worst_pct);
	return nn_make_row(fcinfo, values, nulls);
}

/*
 * The curve of the blocks in arguments 0 to 2; argument "rising" is a boolean.
 * It must be freed: nothing that may fail comes in between.
 */
static void
get_curve(FunctionCallInfo fcinfo, int rising, NnCurve *curve)
{
	int			n;
	double	   *levels = nn_array_argument(fcinfo, 0, "level", NN_NULLS_REFUSED, &n);
	double	   *doses = nn_array_argument_like(fcinfo, 1, "dose_pct", NN_NULLS_NAN, n);
	double	   *metric = nn_array_argument_like(fcinfo, 2, "value", NN_NULLS_NAN, n);
	NnCurveBlock *blocks = palloc(sizeof(NnCurveBlock) * Max(n, 1));

	for (int i = 0; i < n; i++)
	{
		blocks[i].level = levels[i];
		blocks[i].dose = doses[i];
		blocks[i].value = metric[i];
	}
	if (!nn_curve_make(blocks, n, PG_GETARG_BOOL(rising), curve))
		fail_for_memory();
}

/* Why there is no knee; NULL when there is one. */
static const char *
explain_knee(const NnKnee *knee)
{
	switch (knee->reason)
	{
		case NN_KNEE_FOUND:
			return NULL;
		case NN_KNEE_FEW_DOSES:
			return psprintf("no knee: it takes %d different doses, the baseline included", NN_KNEE_MIN_DOSES);
		case NN_KNEE_FEW_BLOCKS:
			return psprintf("no knee: it takes two blocks at every dose and %d in all", NN_KNEE_MIN_BLOCKS);
		case NN_KNEE_NO_VALUES:
			return "no knee: a block has no value above 0";
		case NN_KNEE_LINE:
			return "no knee: a straight line does as well";
		case NN_KNEE_QUEUE:
			return "no knee: the smooth curve of a queue does as well";
		case NN_KNEE_FLATTENS:
			return "no knee: the curve flattens instead";
		case NN_KNEE_UNCERTAIN:
			return psprintf("no knee: its place is uncertain, %.1f to %.1f %%", knee->low, knee->high);
		case NN_KNEE_NO_MEMORY:
			break;
	}
	fail_for_memory();
	return NULL;
}

Datum
nn_sql_curve(PG_FUNCTION_ARGS)
{
	int			room = Max(ArrayGetNItems(ARR_NDIM(PG_GETARG_ARRAYTYPE_P(0)), ARR_DIMS(PG_GETARG_ARRAYTYPE_P(0))), 1);
	double	   *doses = palloc(sizeof(double) * room);
	double	   *medians = palloc(sizeof(double) * room);
	double	   *fitted = palloc(sizeof(double) * room);
	int			n;
	NnCurve		curve;
	NnKnee		knee;
	NnViolations violations;
	double		slope;
	double		base;
	Datum		values[CURVE_COLUMNS];
	bool		nulls[CURVE_COLUMNS] = {false};

	get_curve(fcinfo, 3, &curve);
	n = curve.n_points;
	for (int i = 0; i < n; i++)
	{
		doses[i] = curve.points[i].dose;
		medians[i] = curve.points[i].median;
		fitted[i] = curve.points[i].fitted;
	}
	violations = curve.violations;
	slope = 10 * nn_curve_slope(&curve);
	nn_knee_find(&curve, &knee);
	nn_curve_free(&curve);
	if (n == 0)
		PG_RETURN_NULL();

	base = fitted[0] > 0 ? fitted[0] : get_float8_nan();
	values[0] = nn_array_of_floats(doses, n);
	values[1] = nn_array_of_floats(medians, n);
	values[2] = nn_array_of_floats(fitted, n);
	values[3] = Int32GetDatum(violations.count);
	nn_put_float(values, nulls, 4, violations.worst_pct);
	nn_put_float(values, nulls, 5, slope);
	nn_put_float(values, nulls, 6, 100 * slope / base);
	nn_put_float(values, nulls, 7, knee.reason == NN_KNEE_FOUND ? knee.dose : get_float8_nan());
	nn_put_float(values, nulls, 8, knee.reason == NN_KNEE_FOUND ? knee.low : get_float8_nan());
	nn_put_float(values, nulls, 9, knee.reason == NN_KNEE_FOUND ? knee.high : get_float8_nan());
	nn_put_text(values, nulls, 10, explain_knee(&knee));
	return nn_make_row(fcinfo, values, nulls);
}

static const char *
explain_max_dose(const NnMaxDose *result)
{
	switch (result->reason)
	{
		case NN_MAX_DOSE_FOUND:
			return result->has_interval ? NULL : "no interval: it takes two blocks at every dose";
		case NN_MAX_DOSE_ALWAYS:
			return "kept at every dose measured";
		case NN_MAX_DOSE_NEVER:
			return "missed without noise already";
		case NN_MAX_DOSE_NO_BASELINE:
			return "there is no block without noise";
	}
	return NULL;
}

Datum
nn_sql_curve_max_dose(PG_FUNCTION_ARGS)
{
	double		limit = PG_GETARG_FLOAT8(3);
	NnCurve		curve;
	NnMaxDose	result;
	Datum		values[4];
	bool		nulls[4] = {false};

	if (isnan(limit) || isinf(limit) || limit <= 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("limit %s is out of range", float8out_internal(limit)),
				 errdetail("It must be a finite number above 0."),
				 errhint("Pass what the metric must keep: milliseconds for a latency, transactions per second for throughput.")));
	get_curve(fcinfo, 4, &curve);
	nn_curve_max_dose(&curve, limit, &result);
	nn_curve_free(&curve);

	nn_put_float(values, nulls, 0, result.dose);
	nn_put_float(values, nulls, 1, result.low);
	nn_put_float(values, nulls, 2, result.high);
	nn_put_text(values, nulls, 3, explain_max_dose(&result));
	return nn_make_row(fcinfo, values, nulls);
}
