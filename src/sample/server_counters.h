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

#include "server/compat.h"
#include "server/shared.h"

/* A window that is open. Plain memory of the caller; nothing to free. */
typedef struct NnCountersWindow
{
	NnCompatCounters from;
	XLogRecPtr	from_wal;		/* Invalid: not measured */
	XLogRecPtr	completed_redo; /* of the checkpoint that was completed last */
	int64		completed;		/* checkpoints seen to be completed; -1: not
								 * measured */
	bool		in_progress;	/* at the last poll */
	bool		in_progress_at_start;
} NnCountersWindow;

extern void nn_counters_begin(NnCountersWindow *window);

/*
 * Look whether a checkpoint is in progress now or has been completed since the
 * last look.  Cheap while none is: one word of shared memory.
 */
extern bool nn_counters_poll(NnCountersWindow *window);

extern void nn_counters_end(NnCountersWindow *window, NnServerCounters *result);

#endif							/* NN_SERVER_COUNTERS_H */
