/*-------------------------------------------------------------------------
 *
 * waits.h
 *	  Samples of what every process of the server waits for.
 *
 *-------------------------------------------------------------------------
 */
#ifndef NN_WAITS_H
#define NN_WAITS_H

#include "postgres.h"

#include "sample/kinds.h"
#include "server/shared.h"

typedef struct NnWaits NnWaits;

/*
 * Start a window: clears the wait events in shared->sample.  Lives in the current memory context; "kinds" is
 * kept up to date.
 */
extern NnWaits *nn_waits_create(NnShared *shared, NnKinds *kinds);

/* Sample every process once.  Returns the number of processes that wait for an LWLock. */
extern int	nn_waits_pass(NnWaits *waits, uint64 now_ns);

#endif							/* NN_WAITS_H */
