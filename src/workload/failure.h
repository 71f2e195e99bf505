/*-------------------------------------------------------------------------
 *
 * failure.h
 *	  What a client's failure means to a person.
 *
 *-------------------------------------------------------------------------
 */
#ifndef NN_WORKLOAD_FAILURE_H
#define NN_WORKLOAD_FAILURE_H

#include "postgres.h"

#include "server/worker.h"
#include "workload/connection.h"

/* Report that "failed" of "clients" clients have no connection, and exit. */
extern void nn_workload_fail(NnWorker *worker, const NnTarget *target,
							 const NnConnectionFailure *failure, int failed, int clients)
			__attribute__((noreturn));

#endif							/* NN_WORKLOAD_FAILURE_H */
