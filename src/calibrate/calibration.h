/*-------------------------------------------------------------------------
 *
 * calibration.h
 *	  The shared memory of a calibration.
 *
 * A calibration is done by one background worker, whose threads do what is measured.  The caller creates
 * one dynamic shared memory segment with the request, registers the worker and waits.  Nobody else attaches.
 *
 *	 request, label, parameters	the caller, before the worker is registered; immutable after
 *	 state, failure, id, lines	the worker, under the mutex
 *	 stop						the caller's detach callback, atomically
 *
 * In the lock table the worker holds the claim of the cluster, as a run's conductor does, and a lock of its own
 * that names the calibration; both vanish with it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef NN_CALIBRATION_H
#define NN_CALIBRATION_H

#include "postgres.h"

#include "port/atomics.h"
#include "storage/dsm.h"
#include "storage/spin.h"

#include "calibrate/probe.h"
#include "server/shared.h"

#define NN_MAX_PROBES		16
#define NN_MAX_LINES		1024	/* of progress */
#define NN_LINE_LEN			192

typedef struct NnCalibrationRequest
{
	Oid			database_oid;
	Oid			schema_oid;		/* of the extension */
	Oid			role_oid;
	char		role_name[NAMEDATALEN];
	int			n_probes;
	int			probes[NN_MAX_PROBES];	/* places in nn_probes */
	uint64		longest_ns;		/* from the first probe to the end */
	NnProbeOptions options;
	NnHostRoot	root;
} NnCalibrationRequest;

typedef struct NnCalibration
{
	uint32		magic;
	NnCalibrationRequest request;
	Size		label_offset;	/* 0: NULL */
	Size		parameters_offset;	/* jsonb as text */

	pg_atomic_uint32 stop;		/* NnStopReason */
	pg_atomic_uint32 worker_procno;
	int32		caller_procno;

	slock_t		mutex;
	NnRunState	state;
	int64		calibration_id; /* 0: not recorded */
	NnFailure	failure;
	int32		n_lines;
	char		lines[NN_MAX_LINES][NN_LINE_LEN];
} NnCalibration;

extern NnCalibration *nn_calibration_create(const NnCalibrationRequest *request, const char *label,
											const char *parameters, dsm_segment **segment);

/* NULL when it has gone. */
extern NnCalibration *nn_calibration_attach(dsm_handle handle, dsm_segment **segment);
extern const char *nn_calibration_label(NnCalibration *calibration);
extern const char *nn_calibration_parameters(NnCalibration *calibration);

/* One more line for the caller. */
extern void nn_calibration_tell(NnCalibration *calibration, const char *fmt,...) pg_attribute_printf(2, 3);

#endif							/* NN_CALIBRATION_H */
