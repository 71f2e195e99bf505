/*-------------------------------------------------------------------------
 *
 * lock_probe.h
 *	  Workers that contend for a lock of our own, and know what they waited for.
 *
 *-------------------------------------------------------------------------
 */
#ifndef NN_LOCK_PROBE_H
#define NN_LOCK_PROBE_H

#include "postgres.h"

#include "server/shared.h"

/* Sum of the workers' results of the block that ended last. */
extern void nn_lock_probe_collect(NnShared *shared, NnLockProbeResult *sum);

#endif							/* NN_LOCK_PROBE_H */
