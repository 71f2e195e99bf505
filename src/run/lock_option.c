/*-------------------------------------------------------------------------
 *
 * lock_option.c
 *	  The option "lock_probe": true, or how many workers hold the lock for how long.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "utils/fmgrprotos.h"
#include "utils/numeric.h"

#include "core/clock.h"
#include "run/request.h"
#include "server/arguments.h"

#define NN_LOCK_WORKERS		4
#define NN_LOCK_HOLD_US		50
#define NN_MIN_HOLD_US		1
#define NN_MAX_HOLD_US		10000

static const char *const options_known[] = {"hold_us", "workers", NULL};

static void
read_lock_option(const char *key, const JsonbValue *value, void *arg)
{
	NnRequest  *request = arg;
	double		number = NAN;

	if (!nn_in_list(key, options_known))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("option \"lock_probe\" has no option \"%s\"", nn_shorten(key)),
				 errdetail("Its options are %s.", nn_quoted_list(options_known))));
	if (value->type == jbvNumeric)
		number = DatumGetFloat8(DirectFunctionCall1(numeric_float8,
													NumericGetDatum(value->val.numeric)));
	if (strcmp(key, "workers") == 0)
	{
		if (!(number >= 2 && number <= NN_MAX_LOCK_WORKERS && number == floor(number)))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("number of workers of the lock probe is out of range"),
					 errdetail("It must be an integer from 2 to %d.", NN_MAX_LOCK_WORKERS)));
		request->lock_probe_workers = (int) number;
	}
	else
	{
		if (!(number >= NN_MIN_HOLD_US && number <= NN_MAX_HOLD_US))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("hold time of the lock probe is out of range"),
					 errdetail("It must be a number of microseconds from %d to %d.", NN_MIN_HOLD_US,
							   NN_MAX_HOLD_US)));
		request->lock_probe_hold_ns = (uint64) (number * NN_NS_PER_US);
	}
}

void
nn_request_lock_probe(const JsonbValue *value, NnRequest *request)
{
	request->lock_probe_workers = 0;
	request->lock_probe_hold_ns = NN_LOCK_HOLD_US * NN_NS_PER_US;
	if (value->type == jbvBool && !value->val.boolean)
		return;
	request->lock_probe_workers = NN_LOCK_WORKERS;
	if (value->type == jbvBinary)
		nn_json_each(value->val.binary.data, "option \"lock_probe\"", read_lock_option, request);
	else if (value->type != jbvBool)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("option \"lock_probe\" must be true, false or a json object"),
				 errhint("For example: {\"workers\": 4, \"hold_us\": 50}.")));
}
