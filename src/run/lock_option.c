/*-------------------------------------------------------------------------
 *
 * lock_option.c
 *	  The option "lock_probe": true, or how many workers hold the lock for how long, and rest.
 *
 * Without a word about the rest, workers rest for so long that together they use about NN_LOCK_SHARE_PCT of one CPU.
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

#define NN_LOCK_WORKERS		2
#define NN_LOCK_HOLD_US		20
#define NN_LOCK_SHARE_PCT	4
#define NN_LOCK_TURN_NS		(15 * NN_NS_PER_US) /* CPU time of a turn, beyond
												 * its hold */
#define NN_MIN_PERIOD_NS	(2 * NN_NS_PER_MS)
#define NN_MIN_HOLD_US		1
#define NN_MAX_HOLD_US		10000
#define NN_MAX_PAUSE_US		1000000

static const char *const options_known[] = {"hold_us", "pause_us", "workers", NULL};

typedef struct LockOption
{
	NnRequest  *request;
	double		pause_us;		/* NaN: not given */
} LockOption;

static void
read_lock_option(const char *key, const JsonbValue *value, void *arg)
{
	LockOption *option = arg;
	NnRequest  *request = option->request;
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
	else if (strcmp(key, "pause_us") == 0)
	{
		if (!(number >= 0 && number <= NN_MAX_PAUSE_US))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("pause of the lock probe is out of range"),
					 errdetail("It must be a number of microseconds from 0 to %d.", NN_MAX_PAUSE_US)));
		option->pause_us = number;
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

/* From one turn of a worker to its next, at rest as little as asked for, or by default. */
static uint64
period_ns(const NnRequest *request, double pause_us)
{
	uint64		hold_ns = request->lock_probe_hold_ns;

	if (!isnan(pause_us))
		return hold_ns + (uint64) (pause_us * NN_NS_PER_US);
	return Max(request->lock_probe_workers * (hold_ns + NN_LOCK_TURN_NS) * 100 / NN_LOCK_SHARE_PCT,
			   NN_MIN_PERIOD_NS);
}

void
nn_request_lock_probe(const JsonbValue *value, NnRequest *request)
{
	LockOption	option = {request, NAN};

	request->lock_probe_workers = 0;
	request->lock_probe_hold_ns = NN_LOCK_HOLD_US * NN_NS_PER_US;
	if (value->type == jbvBool && !value->val.boolean)
		return;
	request->lock_probe_workers = NN_LOCK_WORKERS;
	if (value->type == jbvBinary)
		nn_json_each(value->val.binary.data, "option \"lock_probe\"", read_lock_option, &option);
	else if (value->type != jbvBool)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("option \"lock_probe\" must be true, false or a json object"),
				 errhint("For example: {\"workers\": 4, \"hold_us\": 50}.")));
	request->lock_probe_period_ns = period_ns(request, option.pause_us);
}
