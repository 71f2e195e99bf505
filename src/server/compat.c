/*-------------------------------------------------------------------------
 *
 * compat.c
 *	  Every difference between server versions 15 to 18, and nothing else.
 *
 * Where a counter lives:
 *
 *						15, 16				17						18
 *	 checkpoints, pages	checkpointer's		renamed in it			the same
 *	 checkpoints done	-					-						checkpointer's
 *	 backends' pages	checkpointer's		I/O statistics: counts	bytes
 *	 backends' fsyncs	checkpointer's		I/O statistics			the same
 *	 time of reset		bgwriter's for all	one for each kind		the same
 *
 * "Backends' writes" means the same in all of them: pages of permanent relations that were
 * written or added to a file by anybody but the checkpointer and the background
 * writer.  Only what goes around the buffer manager (index builds, copies of a
 * relation) is missing from 17 on.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/postmaster.h"

#include "server/compat.h"

int
nn_compat_reserved_connections(bool superuser)
{
	if (superuser)
		return 0;
#if PG_VERSION_NUM >= 160000
	return SuperuserReservedConnections + ReservedConnections;
#else
	return ReservedBackends;
#endif
}

#if PG_VERSION_NUM >= 170000

/*
 * Pages written to or added to relation files, or fsyncs of them, by every
 * kind of process that "wanted" it.
 */
static int64
backends_io(const PgStat_IO * io, IOOp op)
{
	int64		sum = 0;

	for (int type = 0; type < BACKEND_NUM_TYPES; type++)
	{
		const		PgStat_BktypeIO *stats = &io->stats[type];

		if (type == B_CHECKPOINTER || type == B_BG_WRITER)
			continue;
		for (int context = 0; context < IOCONTEXT_NUM_TYPES; context++)
		{
#if PG_VERSION_NUM >= 180000
			/* One operation may cover many pages here; bytes are exact. */
			if (pgstat_is_ioop_tracked_in_bytes(op))
			{
				sum += (int64) (stats->bytes[IOOBJECT_RELATION][context][op] / BLCKSZ);
				continue;
			}
#endif
			sum += stats->counts[IOOBJECT_RELATION][context][op];
		}
	}
	return sum;
}

#endif

/*
 * Read the counters as they are now.  Backends and the checkpointer report theirs at most
 * about once per second.  Works in a worker that is connected to no database.
 */
void
nn_compat_counters_read(NnCompatCounters *counters)
{
	const PgStat_BgWriterStats *bgwriter;
	const PgStat_CheckpointerStats *checkpointer;

	/* Without this, what was read first is what is seen for ever. */
	pgstat_clear_snapshot();
	bgwriter = pgstat_fetch_stat_bgwriter();
	checkpointer = pgstat_fetch_stat_checkpointer();

	memset(counters, 0, sizeof(*counters));
	counters->buffers_bgwriter = bgwriter->buf_written_clean;
	counters->maxwritten_clean = bgwriter->maxwritten_clean;
	counters->buffers_alloc = bgwriter->buf_alloc;
	counters->reset_bgwriter = bgwriter->stat_reset_timestamp;

#if PG_VERSION_NUM >= 170000
	{
		const		PgStat_IO *io = pgstat_fetch_stat_io();

		counters->buffers_backends = backends_io(io, IOOP_WRITE) + backends_io(io, IOOP_EXTEND);
		counters->fsyncs = backends_io(io, IOOP_FSYNC);
		counters->reset_io = io->stat_reset_timestamp;
	}
	counters->buffers_checkpointer = checkpointer->buffers_written;
	counters->checkpoints_timed = checkpointer->num_timed;
	counters->checkpoints_requested = checkpointer->num_requested;
	counters->write_time_ms = (double) checkpointer->write_time;
	counters->sync_time_ms = (double) checkpointer->sync_time;
	counters->reset_checkpointer = checkpointer->stat_reset_timestamp;
#else
	counters->buffers_backends = checkpointer->buf_written_backend;
	counters->fsyncs = checkpointer->buf_fsync_backend;
	counters->buffers_checkpointer = checkpointer->buf_written_checkpoints;
	counters->checkpoints_timed = checkpointer->timed_checkpoints;
	counters->checkpoints_requested = checkpointer->requested_checkpoints;
	counters->write_time_ms = (double) checkpointer->checkpoint_write_time;
	counters->sync_time_ms = (double) checkpointer->checkpoint_sync_time;

	/* All are reset together here. */
	counters->reset_checkpointer = bgwriter->stat_reset_timestamp;
	counters->reset_io = bgwriter->stat_reset_timestamp;
#endif

#if PG_VERSION_NUM >= 180000
	counters->checkpoints_done = checkpointer->num_performed;
#else
	counters->checkpoints_done = -1;
#endif
#if PG_VERSION_NUM >= 170000
	counters->note = "of the writes by backends, those through the buffer manager are counted";
#else
	counters->note = NULL;
#endif

	pgstat_clear_snapshot();
}

/* Cheap enough for several times per second. */
void
nn_compat_checkpoints_read(NnCompatCheckpoints *counters)
{
	const PgStat_CheckpointerStats *checkpointer;

	pgstat_clear_snapshot();
	checkpointer = pgstat_fetch_stat_checkpointer();
#if PG_VERSION_NUM >= 170000
	counters->timed = checkpointer->num_timed;
	counters->requested = checkpointer->num_requested;
	counters->buffers = checkpointer->buffers_written;
	counters->reset = checkpointer->stat_reset_timestamp;
#else
	counters->timed = checkpointer->timed_checkpoints;
	counters->requested = checkpointer->requested_checkpoints;
	counters->buffers = checkpointer->buf_written_checkpoints;
	counters->reset = pgstat_fetch_stat_bgwriter()->stat_reset_timestamp;
#endif
	pgstat_clear_snapshot();
}
