/*-------------------------------------------------------------------------
 *
 * server_counters.h
 *	  Counters of the whole server over a window, and checkpoints in it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef NN_SERVER_COUNTERS_H
#define NN_SERVER_COUNTERS_H

#include "postgres.h"

#include "access/xlogdefs.h"

#include "sample/bands.h"
#include "server/compat.h"
#include "server/shared.h"

/* A window that is open. Plain memory of the caller; nothing to free. */
typedef struct NnCountersWindow
{
	NnCompatCounters from;
	NnBandTracker *bands;
	XLogRecPtr	from_wal;		/* Invalid: not measured */
	int64		completed_from; /* checkpoints completed before; -1: not
								 * measured */
	bool		in_progress_at_start;
} NnCountersWindow;

extern void nn_counters_begin(NnCountersWindow *window, NnBandTracker *bands);

extern void nn_counters_end(NnCountersWindow *window, NnServerCounters *result);

#endif							/* NN_SERVER_COUNTERS_H */
