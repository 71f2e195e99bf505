/*-------------------------------------------------------------------------
 *
 * request.h
 *	  Calibrations from the caller's side: arguments, start, wait.
 *
 *-------------------------------------------------------------------------
 */
#ifndef NN_CALIBRATE_REQUEST_H
#define NN_CALIBRATE_REQUEST_H

#include "postgres.h"

#include "calibrate/calibration.h"
#include "server/arguments.h"

/* Arguments of noisy_calibrate(). NULL pointers are SQL NULLs. */
typedef struct NnCalibrateArgs
{
	Oid			function;		/* tells the extension's schema */
	ArrayType  *probes;
	Interval   *duration;
	bool		has_repeats;
	int			repeats;
	char	   *label;
	Jsonb	   *options;
} NnCalibrateArgs;

/*
 * Check everything that can be checked without starting anything. Raises an error that names the argument.  Returns
 * what was asked for, as jsonb text.
 */
extern char *nn_calibrate_request_build(const NnCalibrateArgs *args, NnCalibrationRequest *request);

/* Calibrate, and wait for the end. Returns the calibration's id. */
extern int64 nn_calibrate(const NnCalibrateArgs *args);

#endif							/* NN_CALIBRATE_REQUEST_H */
