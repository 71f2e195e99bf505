/*-------------------------------------------------------------------------
 *
 * store.h
 *	  What a calibration leaves in tables.
 *
 * For the calibrate worker: each call is a transaction of its own and must be made outside of one.
 *
 *-------------------------------------------------------------------------
 */
#ifndef NN_CALIBRATE_STORE_H
#define NN_CALIBRATE_STORE_H

#include "calibrate/calibration.h"

/* The extension's table of calibrations; InvalidOid when the extension has been dropped. */
extern Oid	nn_calibration_table(NnCalibration *calibration);

/* Record the begin of a calibration, and that earlier ones which never ended were aborted.  Returns its id. */
extern int64 nn_calibration_store_begin(NnCalibration *calibration, const char *host, const char *environment);

/* One figure of a trial: a sample per repeat, NaN where there is none. */
extern void nn_calibration_store_figure(NnCalibration *calibration, int64 calibration_id, const NnProbe *probe,
										const NnTrial *trial, int figure, const double *samples, int n);

/* The end.  error may be NULL. */
extern void nn_calibration_store_end(NnCalibration *calibration, int64 calibration_id, NnRunState state,
									 const char *error);

#endif							/* NN_CALIBRATE_STORE_H */
