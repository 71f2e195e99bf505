/*-------------------------------------------------------------------------
 *
 * launcher.h
 *	  Starting, waiting for and stopping runs, from the caller's side.
 *
 *-------------------------------------------------------------------------
 */
#ifndef NN_LAUNCHER_H
#define NN_LAUNCHER_H

#include "fmgr.h"

#include "run/request.h"

/*
 * Start a run and, with args->wait, wait for its end.  Returns the run's id.  fcinfo is the
 * SQL function's own: it tells whether waiting is possible where it was called.
 */
extern int64 nn_launch(const NnRunArgs *args, FunctionCallInfo fcinfo);

/*
 * Wait for the end of a run of this database; returns at once when it has ended.  For a procedure: ends its
 * transaction.  schema is the extension's.
 */
extern void nn_wait_for_run(Oid schema, int64 run_id);

/* Stop the live run of this database; run_id 0: whichever it is. False: it is not live. */
extern bool nn_stop_run(int64 run_id);

/*
 * Attach to the live run of this database. NULL: there is none.  Detach "segment" unless it is NULL.
 */
extern NnShared *nn_attach_live_run(dsm_segment **segment, int *conductor_pid);

#endif							/* NN_LAUNCHER_H */
