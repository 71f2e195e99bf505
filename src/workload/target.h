/*-------------------------------------------------------------------------
 *
 * target.h
 *	  Where the clients of a run connect to.
 *
 *-------------------------------------------------------------------------
 */
#ifndef NN_WORKLOAD_TARGET_H
#define NN_WORKLOAD_TARGET_H

#include "postgres.h"

#include "server/worker.h"
#include "workload/connection.h"

/* Fill in everything of the target but the script; fails the worker where that cannot be. */
extern void nn_workload_target(NnWorker *worker, NnTarget *target);

#endif							/* NN_WORKLOAD_TARGET_H */
