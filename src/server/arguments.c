/*-------------------------------------------------------------------------
 *
 * arguments.c
 *	  Reading and checking arguments of SQL functions.
 *
 * Errors name the argument or the option, what it is and what it must be.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "mb/pg_wchar.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/numeric.h"

#include "core/clock.h"
#include "server/arguments.h"

#define NN_MAX_ELEMENTS		1000	/* of an array argument */
#define NN_SHOWN_BYTES		64	/* of a name that is not known */

char *
nn_quoted_list(const char *const *names)
{
	StringInfoData buf;

	initStringInfo(&buf);
	for (int i = 0; names[i]; i++)
		appendStringInfo(&buf, "%s\"%s\"", i ? ", " : "", names[i]);
	return buf.data;
}

bool
nn_in_list(const char *name, const char *const *names)
{
	for (int i = 0; names[i]; i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

char *
nn_shorten(const char *name)
{
	int			length = (int) strlen(name);
	int			shown = pg_mbcliplen(name, length, NN_SHOWN_BYTES);

	return psprintf("%.*s%s", shown, name, shown < length ? "..." : "");
}

void
nn_json_each(JsonbContainer *json, const char *what, NnJsonEach each, void *arg)
{
	JsonbIterator *it;
	JsonbIteratorToken token;
	JsonbValue	value;
	char	   *key = NULL;

	if (!JsonContainerIsObject(json))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s must be a json object", what),
				 errhint("For example: '{}'.")));
	it = JsonbIteratorInit(json);
	token = JsonbIteratorNext(&it, &value, true);
	while ((token = JsonbIteratorNext(&it, &value, true)) != WJB_DONE)
	{
		if (token == WJB_KEY)
			key = pnstrdup(value.val.string.val, value.val.string.len);
		else if (token == WJB_VALUE)
			each(key, &value, arg);
	}
}

void
nn_refuse_null(const char *argument)
{
	ereport(ERROR,
			(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
			 errmsg("argument \"%s\" must not be null", argument)));
}

Datum *
nn_array_elements(ArrayType *array, const char *argument, Oid type, int *n)
{
	Datum	   *elements;
	bool	   *nulls;
	int16		len;
	bool		byval;
	char		align;

	if (array == NULL)
		nn_refuse_null(argument);
	if (ARR_NDIM(array) > 1)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("argument \"%s\" must be a one-dimensional array", argument)));
	if (ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array)) > NN_MAX_ELEMENTS)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("argument \"%s\" has too many elements", argument),
				 errdetail("It has %d, and %d are possible.",
						   ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array)), NN_MAX_ELEMENTS)));
	get_typlenbyvalalign(type, &len, &byval, &align);
	deconstruct_array(array, type, len, byval, align, &elements, &nulls, n);
	if (*n == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("argument \"%s\" must not be empty", argument)));
	for (int i = 0; i < *n; i++)
		if (nulls[i])
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("argument \"%s\" must not contain null", argument)));
	return elements;
}

double
nn_interval_s(const Interval *interval)
{
	return interval->time / (double) USECS_PER_SEC
		+ ((double) interval->day + (double) interval->month * DAYS_PER_MONTH) * SECS_PER_DAY;
}

char *
nn_json_string(const JsonbValue *value, const char *key)
{
	if (value->type != jbvString)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("option \"%s\" must be a string", key)));
	return pnstrdup(value->val.string.val, value->val.string.len);
}

uint64
nn_json_duration_ns(const JsonbValue *value, const char *key, double min_ms, double max_ms)
{
	double		ms;

	if (value->type == jbvNumeric)
		ms = DatumGetFloat8(DirectFunctionCall1(numeric_float8, NumericGetDatum(value->val.numeric)));
	else
		ms = 1000 * nn_interval_s(DatumGetIntervalP(DirectFunctionCall3(interval_in,
																		CStringGetDatum(nn_json_string(value, key)),
																		ObjectIdGetDatum(InvalidOid),
																		Int32GetDatum(-1))));
	if (!(ms >= min_ms && ms <= max_ms))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("option \"%s\" is out of range", key),
				 errdetail("It is %g ms and must be from %g ms to %g ms.", ms, min_ms, max_ms)));
	return (uint64) (ms * NN_NS_PER_MS);
}

double
nn_json_number(const JsonbValue *value, const char *key, double least, double most)
{
	double		number = NAN;

	if (value->type == jbvNumeric)
		number = DatumGetFloat8(DirectFunctionCall1(numeric_float8, NumericGetDatum(value->val.numeric)));
	if (!(number >= least && number <= most))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("option \"%s\" must be a number from %g to %g", key, least, most)));
	return number;
}
