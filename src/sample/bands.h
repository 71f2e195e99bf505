/*-------------------------------------------------------------------------
 *
 * bands.h
 *	  Checkpoints as bands in time: when each began and ended, why, and what it wrote.
 *
 *-------------------------------------------------------------------------
 */
#ifndef NN_BANDS_H
#define NN_BANDS_H

#include "postgres.h"

#include "access/xlogdefs.h"
#include "datatype/timestamp.h"

#include "server/compat.h"
#include "server/shared.h"

/* How often one should look; edges are right to half of it. */
#define NN_BANDS_POLL_NS	(100 * NN_NS_PER_MS)

/* Lives as long as the sample worker. Plain memory of the caller; nothing to free. */
typedef struct NnBandTracker
{
	NnShared   *shared;
	XLogRecPtr	completed_redo; /* of the checkpoint that was completed last */
	int64		completed;		/* checkpoints seen to be completed; -1: not
								 * measured */
	bool		in_progress;	/* at the last poll */
	TimestampTz polled_at;		/* 0: never */
	NnCompatCheckpoints latest; /* counters at the last poll */
	NnCompatCheckpoints base;	/* counters before the band below */
	NnBand		band;			/* the latest one; number 0: none yet */
} NnBandTracker;

extern void nn_bands_begin(NnBandTracker *tracker, NnShared *shared);

/*
 * Look whether a checkpoint is in progress now or has been completed since the
 * last look; true if so.  Publishes the latest band.
 */
extern bool nn_bands_poll(NnBandTracker *tracker);

/* The last polls of a run.  May take a tenth of a second where a checkpoint is in progress. */
extern void nn_bands_end(NnBandTracker *tracker);

#endif							/* NN_BANDS_H */
