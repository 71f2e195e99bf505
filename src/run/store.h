/*-------------------------------------------------------------------------
 *
 * store.h
 *	  Keeping runs in tables: the only user of SPI.
 *
 * What writes is a transaction of its own, in the conductor.  Tables are used with the rights of
 * their owner.  Errors are raised.
 *
 *-------------------------------------------------------------------------
 */
#ifndef NN_STORE_H
#define NN_STORE_H

#include "utils/timestamp.h"

#include "server/shared.h"

/*
 * Record a new run as 'starting' and return its id.  Runs that are recorded as live by
 * now belong to conductors that died: they are marked as aborted.
 */
extern int64 nn_store_run_begin(NnShared *shared, const char *environment);

/* Forget a run that did not start. */
extern void nn_store_run_forget(NnShared *shared, int64 run_id);

/*
 * Record a state; a final one gets its time, 'running' the scale that the workload found.  error may be NULL.
 */
extern void nn_store_run_state(NnShared *shared, int64 run_id, NnRunState state, const char *error);

/*
 * Record the block that ended last, with everything measured in it; its summary is filled in already.  And the
 * verdicts on earlier blocks that have changed, whose numbers are in changed[0..n_changed).
 */
extern void nn_store_block(NnShared *shared, int64 run_id, const NnPlanBlock *block,
						   TimestampTz measured_at, const int *changed, int n_changed);

/* Record what is only known now that the last block has ended.  Raises no error. */
extern void nn_store_run_end(NnShared *shared, int64 run_id);

/* The table of runs; InvalidOid after DROP EXTENSION. */
extern Oid	nn_store_run_table(NnShared *shared);

/* Is there such a run?  In the caller's own transaction. */
extern bool nn_store_run_known(Oid schema, int64 run_id);

/*
 * End the transaction of a procedure that was called outside a transaction block, and go on in
 * a new one, without a snapshot.
 */
extern void nn_store_release_snapshot(void);

#endif							/* NN_STORE_H */
