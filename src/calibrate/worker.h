/*-------------------------------------------------------------------------
 *
 * worker.h
 *	  The background worker that carries out a calibration.
 *
 *-------------------------------------------------------------------------
 */
#ifndef NN_CALIBRATE_WORKER_H
#define NN_CALIBRATE_WORKER_H

#include "postgres.h"

extern PGDLLEXPORT void nn_calibrate_main(Datum main_arg);

#endif							/* NN_CALIBRATE_WORKER_H */
