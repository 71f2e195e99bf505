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

/*
 * Have the target lead to this server, as a program outside of it would come.  Returns NULL, or why that cannot be.
 */
extern const char *nn_workload_target_local(NnTarget *target, Oid database_oid, const char *database_name, Oid role_oid,
											const char *role_name);

#endif							/* NN_WORKLOAD_TARGET_H */
