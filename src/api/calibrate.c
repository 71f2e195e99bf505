/*-------------------------------------------------------------------------
 *
 * calibrate.c
 *	  SQL functions of calibrations.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "miscadmin.h"
#include "utils/builtins.h"

#include "calibrate/request.h"

PG_FUNCTION_INFO_V1(nn_noisy_calibrate);
PG_FUNCTION_INFO_V1(nn_noisy_live_calibration);

/* noisy_calibrate(probes, duration, repeats, label, options) RETURNS bigint */
Datum
nn_noisy_calibrate(PG_FUNCTION_ARGS)
{
	NnCalibrateArgs args;

	memset(&args, 0, sizeof(args));
	args.function = fcinfo->flinfo->fn_oid;
	args.probes = PG_ARGISNULL(0) ? NULL : PG_GETARG_ARRAYTYPE_P(0);
	args.duration = PG_ARGISNULL(1) ? NULL : PG_GETARG_INTERVAL_P(1);
	args.has_repeats = !PG_ARGISNULL(2);
	args.repeats = PG_ARGISNULL(2) ? 0 : PG_GETARG_INT32(2);
	args.label = PG_ARGISNULL(3) ? NULL : text_to_cstring(PG_GETARG_TEXT_PP(3));
	args.options = PG_ARGISNULL(4) ? NULL : PG_GETARG_JSONB_P(4);
	PG_RETURN_INT64(nn_calibrate(&args));
}

/* noisy_live_calibration() RETURNS bigint: low 32 bits of the id of the one that is on in this database, or NULL */
Datum
nn_noisy_live_calibration(PG_FUNCTION_ARGS)
{
	NnLiveRun	live;

	if (!nn_live_run_find(&live) || live.calibration_id == 0 || live.calibration_database_oid != MyDatabaseId)
		PG_RETURN_NULL();
	PG_RETURN_INT64((int64) live.calibration_id);
}
