/*-------------------------------------------------------------------------
 *
 * arrays.c
 *	  Arrays in, rows out.  See arrays.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/float.h"

#include "api/arrays.h"

double *
nn_array_argument(FunctionCallInfo fcinfo, int n, const char *name, NnArrayNulls nulls, int *count)
{
	ArrayType  *array = PG_GETARG_ARRAYTYPE_P(n);
	Datum	   *elements;
	bool	   *is_null;
	double	   *values;
	int			n_elements;

	deconstruct_array(array, FLOAT8OID, sizeof(float8), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE,
					  &elements, &is_null, &n_elements);
	if (n_elements > NN_ARRAY_VALUES_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("array \"%s\" has %d elements", name, n_elements),
				 errdetail("At most %d are taken.", NN_ARRAY_VALUES_MAX),
				 errhint("Pass one value per block, not one per transaction.")));

	values = palloc(sizeof(double) * Max(n_elements, 1));
	*count = 0;
	for (int i = 0; i < n_elements; i++)
	{
		if (is_null[i] && nulls == NN_NULLS_LEFT_OUT)
			continue;
		if (is_null[i] && nulls == NN_NULLS_REFUSED)
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("array \"%s\" has an element that is null", name),
					 errhint("Leave the block out of all arrays.")));
		values[*count] = is_null[i] ? get_float8_nan() : DatumGetFloat8(elements[i]);
		if (!is_null[i] && (isnan(values[*count]) || isinf(values[*count])))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("array \"%s\" has an element that is %s", name, float8out_internal(values[*count])),
					 errdetail("Elements must be finite numbers."),
					 errhint("Pass NULL for what was not measured.")));
		(*count)++;
	}
	return values;
}

double *
nn_array_argument_like(FunctionCallInfo fcinfo, int n, const char *name, NnArrayNulls nulls, int count)
{
	int			own_count;
	double	   *values = nn_array_argument(fcinfo, n, name, nulls, &own_count);

	if (own_count != count)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("arrays have different numbers of elements"),
				 errdetail("The first array has %d, \"%s\" has %d.", count, name, own_count),
				 errhint("Pass one element per block in each array.")));
	return values;
}

Datum
nn_array_of_floats(const double *x, int n)
{
	Datum	   *elements = palloc(sizeof(Datum) * Max(n, 1));

	for (int i = 0; i < n; i++)
		elements[i] = Float8GetDatum(x[i]);
	return PointerGetDatum(construct_array(elements, n, FLOAT8OID, sizeof(float8), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE));
}

void
nn_put_float(Datum *values, bool *nulls, int column, double value)
{
	nulls[column] = isnan(value);
	values[column] = nulls[column] ? (Datum) 0 : Float8GetDatum(value);
}

void
nn_put_text(Datum *values, bool *nulls, int column, const char *value)
{
	nulls[column] = value == NULL;
	values[column] = value == NULL ? (Datum) 0 : CStringGetTextDatum(value);
}

Datum
nn_make_row(FunctionCallInfo fcinfo, Datum *values, bool *nulls)
{
	TupleDesc	row;

	if (get_call_result_type(fcinfo, NULL, &row) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(row), values, nulls));
}
