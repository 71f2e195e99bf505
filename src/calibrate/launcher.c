/*-------------------------------------------------------------------------
 *
 * launcher.c
 *	  Calibrations from the caller's side: start and wait.
 *
 * The caller checks everything, creates the segment, registers the worker and waits, with a NOTICE per
 * figure.  The detach callback of its mapping, which a cancel, an error and the end of the session all go through, stops
 * the calibration.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xlog.h"
#include "miscadmin.h"
#include "storage/latch.h"
#include "utils/wait_event.h"

#include "calibrate/request.h"
#include "server/busy.h"
#include "server/text.h"
#include "server/worker.h"

#define NN_POLL_MS	250

/* Stop a calibration whose caller goes away. */
static void
caller_gone(dsm_segment *segment, Datum arg)
{
	NnCalibration *calibration = (NnCalibration *) DatumGetPointer(arg);
	uint32		none = NN_STOP_NONE;

	if (pg_atomic_compare_exchange_u32(&calibration->stop, &none, NN_STOP_CALLER_GONE))
		nn_wake((int) pg_atomic_read_u32(&calibration->worker_procno));
}

/* Tell what is new.  Returns the state. */
static NnRunState
report(NnCalibration *calibration, int *told)
{
	NnRunState	state;
	int			n;

	SpinLockAcquire(&calibration->mutex);
	state = calibration->state;
	n = calibration->n_lines;
	SpinLockRelease(&calibration->mutex);
	while (*told < n)
	{
		char		line[NN_LINE_LEN];

		memcpy(line, calibration->lines[(*told)++], sizeof(line));	/* complete, and never
																	 * changed */
		nn_text_repair(line);
		ereport(NOTICE, (errmsg("%s", line)));
	}
	return state;
}

static NnRunState
wait_for_end(NnCalibration *calibration, BackgroundWorkerHandle *handle)
{
	int			told = 0;

	for (;;)
	{
		pid_t		pid;
		bool		lives = GetBackgroundWorkerPid(handle, &pid) != BGWH_STOPPED;
		NnRunState	state = report(calibration, &told);

		if (state > NN_RUN_RUNNING)
			return state;
		if (!lives)
			return NN_RUN_ABORTED;
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, NN_POLL_MS, PG_WAIT_EXTENSION);
		ResetLatch(MyLatch);
		nn_check_client();
	}
}

static void
raise_failure(NnCalibration *calibration)
{
	NnFailure	failure;

	SpinLockAcquire(&calibration->mutex);
	failure = calibration->failure;
	SpinLockRelease(&calibration->mutex);
	if (failure.sqlerrcode == 0)
	{
		failure.sqlerrcode = ERRCODE_ADMIN_SHUTDOWN;
		strlcpy(failure.message, "the calibration ended unexpectedly", sizeof(failure.message));
		strlcpy(failure.hint, "The server's log says why.", sizeof(failure.hint));
	}
	nn_text_repair(failure.message);
	nn_text_repair(failure.detail);
	ereport(ERROR,
			(errcode(failure.sqlerrcode),
			 errmsg("%s", failure.message),
			 failure.detail[0] ? errdetail("%s", failure.detail) : 0,
			 failure.hint[0] ? errhint("%s", failure.hint) : 0));
}

int64
nn_calibrate(const NnCalibrateArgs *args)
{
	NnCalibrationRequest *request = palloc(sizeof(NnCalibrationRequest));
	NnCalibration *calibration;
	dsm_segment *segment;
	BackgroundWorkerHandle *handle;
	char	   *parameters;
	int64		calibration_id;

	if (RecoveryInProgress())
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("recovery is in progress"),
				 errdetail("A standby cannot keep the results of a calibration.")));
	parameters = nn_calibrate_request_build(args, request);
	nn_refuse_if_busy();
	calibration = nn_calibration_create(request, args->label, parameters, &segment);
	if (!nn_worker_register("calibrate", "nn_calibrate_main", dsm_segment_handle(segment), 0, &handle))
		ereport(ERROR,
				(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
				 errmsg("not enough background worker slots"),
				 errdetail("Needed 1, free 0; max_worker_processes is %d.", max_worker_processes),
				 errhint("Raise max_worker_processes, or wait until other workers have ended.")));
	on_dsm_detach(segment, caller_gone, PointerGetDatum(calibration));
	if (wait_for_end(calibration, handle) != NN_RUN_COMPLETED)
	{
		(void) WaitForBackgroundWorkerShutdown(handle);
		raise_failure(calibration);
	}
	(void) WaitForBackgroundWorkerShutdown(handle);
	calibration_id = calibration->calibration_id;
	dsm_detach(segment);
	return calibration_id;
}
