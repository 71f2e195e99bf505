/*-------------------------------------------------------------------------
 *
 * target.h
 *	  How the probes that are clients connect to this server, and what they ask.
 *
 *-------------------------------------------------------------------------
 */
#ifndef NN_CALIBRATE_TARGET_H
#define NN_CALIBRATE_TARGET_H

#include "calibrate/calibration.h"
#include "workload/connection.h"

/* Main thread of the worker; lives as long as the process.  NULL with the reason where there is no way. */
extern const NnTarget *nn_calibrate_target(const NnCalibration *calibration, const char **reason);

#endif							/* NN_CALIBRATE_TARGET_H */
