/*-------------------------------------------------------------------------
 *
 * bands.c
 *	  Checkpoints as bands in time.  See bands.h.
 *
 * Whether a checkpoint is in progress: a checkpoint moves the redo pointer in shared memory when it
 * begins, and writes it to the control file when it is complete.  So one is in progress
 * exactly while the pointer in shared memory is ahead of the control file.  The file is
 * read only while that is so.  A checkpoint that finds nothing to do
 * moves neither, and isn't seen.
 *
 * The control file may be written while we read it: a copy with a wrong checksum is
 * not used, and the next poll sees a better one.
 *
 * An edge lies between two polls, and is taken to be halfway.  What a checkpoint is due to, and what
 * it has written, comes from the checkpointer's counters: it reports them whenever it pauses, and when a checkpoint
 * has ended, shortly after the control file.  So the latest band is brought up to date until the next one begins.
 *
 * A checkpoint of a shutdown begins when every worker has gone, so none is ever seen here.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xlog.h"
#include "access/xlog_internal.h"
#include "catalog/pg_control.h"
#include "port/pg_crc32c.h"
#include "utils/timestamp.h"

#include "core/clock.h"
#include "host/host.h"
#include "sample/bands.h"

#define NN_REPORT_NS		(150 * NN_NS_PER_MS)	/* the checkpointer
													 * reports between its
													 * naps of 100 ms */
#define NN_LAST_POLLS_NS	(10 * NN_NS_PER_MS)

/* Redo pointer of the checkpoint that was completed last; Invalid when it can't be read now. */
static XLogRecPtr
read_completed_redo(void)
{
	char		buf[PG_CONTROL_FILE_SIZE + 1];
	ControlFileData control;
	pg_crc32c	crc;

	/* The server's working directory is its data directory. */
	if (nn_read_file(XLOG_CONTROL_FILE, buf, sizeof(buf), NULL) < (ssize_t) sizeof(control))
		return InvalidXLogRecPtr;
	memcpy(&control, buf, sizeof(control));
	INIT_CRC32C(crc);
	COMP_CRC32C(crc, &control, offsetof(ControlFileData, crc));
	FIN_CRC32C(crc);
	if (!EQ_CRC32C(crc, control.crc) || control.pg_control_version != PG_CONTROL_VERSION)
		return InvalidXLogRecPtr;
	return control.checkPointCopy.redo;
}

/* Bring what the band is due to and what it wrote up to date. */
static void
count(NnBandTracker *tracker, const NnCompatCheckpoints *now)
{
	NnBand	   *band = &tracker->band;
	const NnCompatCheckpoints *base = &tracker->base;

	if (now->reset != base->reset)
	{
		band->buffers = -1;
		band->was_reset = true;
		return;
	}
	if (band->kind == NN_BAND_UNKNOWN)
		band->kind = now->requested > base->requested ? NN_BAND_REQUESTED :
			now->timed > base->timed ? NN_BAND_TIMED : NN_BAND_UNKNOWN;
	if (!band->was_reset && now->buffers >= base->buffers)
		band->buffers = now->buffers - base->buffers;
}

/* A checkpoint has begun; "base" are the counters before it. */
static void
open_band(NnBandTracker *tracker, TimestampTz started_at, const NnCompatCheckpoints *base)
{
	NnBand	   *band = &tracker->band;
	int32		number = band->number + 1;

	memset(band, 0, sizeof(*band));
	band->number = number;
	band->started_at = started_at;
	band->began_before = tracker->polled_at == 0;
	tracker->base = *base;
}

/* Where a band begins that follows the other without a pause: what the first was due to is counted already. */
static NnCompatCheckpoints
base_after(const NnBandTracker *tracker, const NnCompatCheckpoints *now)
{
	NnCompatCheckpoints base = *now;

	if (tracker->band.kind != NN_BAND_UNKNOWN && now->reset == tracker->base.reset)
	{
		base.timed = tracker->base.timed + (tracker->band.kind == NN_BAND_TIMED);
		base.requested = tracker->base.requested + (tracker->band.kind == NN_BAND_REQUESTED);
	}
	return base;
}

static void
publish(NnBandTracker *tracker)
{
	NnShared   *shared = tracker->shared;
	const NnBand *band = &tracker->band;

	SpinLockAcquire(&shared->mutex);
	shared->bands[(band->number - 1) % NN_MAX_BANDS] = *band;
	shared->n_bands = band->number;
	SpinLockRelease(&shared->mutex);

	/*
	 * for the clients' side: odd while one is in progress, another number
	 * after each change
	 */
	pg_atomic_write_u32(&shared->band_mark, (uint32) band->number * 2 - (tracker->in_progress ? 1 : 0));
}

void
nn_bands_begin(NnBandTracker *tracker, NnShared *shared)
{
	memset(tracker, 0, sizeof(*tracker));
	tracker->shared = shared;
	tracker->completed = -1;
	(void) nn_bands_poll(tracker);
}

bool
nn_bands_poll(NnBandTracker *tracker)
{
	/*
	 * In this order: a checkpoint that ends in between is then seen to have
	 * ended.
	 */
	XLogRecPtr	redo = GetRedoRecPtr();
	TimestampTz now_at = GetCurrentTimestamp();
	TimestampTz edge_at = tracker->polled_at ? tracker->polled_at + (now_at - tracker->polled_at) / 2 : now_at;
	bool		was_on = tracker->in_progress;
	bool		ended = false;
	NnCompatCheckpoints now;

	if (redo != tracker->completed_redo)
	{
		XLogRecPtr	completed = read_completed_redo();

		if (completed != InvalidXLogRecPtr && completed != tracker->completed_redo)
		{
			ended = tracker->completed_redo != InvalidXLogRecPtr;
			tracker->completed = ended ? tracker->completed + 1 : 0;	/* we can tell from here
																		 * on */
			tracker->completed_redo = completed;
		}
	}
	tracker->in_progress = tracker->completed_redo != InvalidXLogRecPtr &&
		redo > tracker->completed_redo;

	nn_compat_checkpoints_read(&now);
	if (tracker->polled_at == 0)
		tracker->latest = now;
	if (ended && !was_on)
		open_band(tracker, tracker->polled_at, &tracker->latest);
	if (ended)
	{
		tracker->band.ended_at = was_on ? edge_at : now_at;
		tracker->band.complete = true;
		count(tracker, &now);
		if (tracker->in_progress)
		{
			NnCompatCheckpoints base = base_after(tracker, &now);

			publish(tracker);
			open_band(tracker, edge_at, &base);
		}
	}
	else if (tracker->in_progress && !was_on)
		open_band(tracker, edge_at, &tracker->latest);
	if (tracker->in_progress)
		tracker->band.ended_at = now_at;	/* so far */
	if (tracker->band.number > 0)
	{
		count(tracker, &now);
		publish(tracker);
	}
	tracker->latest = now;
	tracker->polled_at = now_at;
	return was_on || ended || tracker->in_progress;
}

/*
 * What the checkpointer had last reported can be a nap of its old.  So a band that the run does not see to its end
 * ends where it reported again.
 */
void
nn_bands_end(NnBandTracker *tracker)
{
	uint64		until_ns = nn_now_ns() + NN_REPORT_NS;
	int64		reported;

	(void) nn_bands_poll(tracker);
	reported = tracker->latest.buffers;
	while (tracker->in_progress && tracker->latest.buffers == reported && nn_now_ns() < until_ns)
	{
		nn_sleep_until_ns(nn_now_ns() + NN_LAST_POLLS_NS);
		(void) nn_bands_poll(tracker);
	}
}
