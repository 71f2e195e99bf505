/*-------------------------------------------------------------------------
 *
 * server_counters.c
 *	  Counters of the whole server over a window, and checkpoints in it.
 *
 * Counters are the differences of two readings of the statistics system; what was reset in between
 * is not measured, and the note says so.  WAL is the distance between two
 * insert positions.
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
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/xlog.h"
#include "access/xlog_internal.h"
#include "catalog/pg_control.h"
#include "port/pg_crc32c.h"

#include "host/host.h"
#include "sample/server_counters.h"

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

bool
nn_counters_poll(NnCountersWindow *window)
{
	/*
	 * In this order: a checkpoint that ends in between is then seen to have
	 * ended.
	 */
	XLogRecPtr	redo = GetRedoRecPtr();
	bool		seen = window->in_progress;

	if (redo != window->completed_redo)
	{
		XLogRecPtr	completed = read_completed_redo();

		if (completed != InvalidXLogRecPtr && completed != window->completed_redo)
		{
			if (window->completed_redo == InvalidXLogRecPtr)
				window->completed = 0;	/* we can tell from here on */
			else
			{
				window->completed++;
				seen = true;
			}
			window->completed_redo = completed;
		}
	}
	window->in_progress = window->completed_redo != InvalidXLogRecPtr &&
		redo > window->completed_redo;
	return seen || window->in_progress;
}

void
nn_counters_begin(NnCountersWindow *window)
{
	memset(window, 0, sizeof(*window));
	window->completed = -1;
	(void) nn_counters_poll(window);
	window->in_progress_at_start = window->in_progress;
	nn_compat_counters_read(&window->from);
	window->from_wal = RecoveryInProgress() ? InvalidXLogRecPtr : GetXLogInsertRecPtr();
}

/* Growth of a counter; -1 where an end was not measured or it went backwards. */
static int64
growth(int64 from, int64 to, bool reset)
{
	return reset || from < 0 || to < from ? -1 : to - from;
}

static double
growth_ms(double from, double to, bool reset)
{
	return reset || !(to >= from) ? NAN : to - from;
}

/* Add a sentence to the note of a window, as far as there is room. */
static void
add_note(NnServerCounters *result, const char *note)
{
	if (note == NULL)
		return;
	if (result->note[0] != '\0')
		strlcat(result->note, "; ", sizeof(result->note));
	strlcat(result->note, note, sizeof(result->note));
}

void
nn_counters_end(NnCountersWindow *window, NnServerCounters *result)
{
	const NnCompatCounters *from = &window->from;
	NnCompatCounters to;
	bool		reset_checkpointer;
	bool		reset_bgwriter;
	bool		reset_io;

	(void) nn_counters_poll(window);
	nn_compat_counters_read(&to);
	memset(result, 0, sizeof(*result));
	reset_checkpointer = to.reset_checkpointer != from->reset_checkpointer;
	reset_bgwriter = to.reset_bgwriter != from->reset_bgwriter;
	reset_io = to.reset_io != from->reset_io;

#define GROWTH(field, reset)	result->field = growth(from->field, to.field, reset)
	GROWTH(buffers_checkpointer, reset_checkpointer);
	GROWTH(checkpoints_timed, reset_checkpointer);
	GROWTH(checkpoints_requested, reset_checkpointer);
	GROWTH(checkpoints_done, reset_checkpointer);
	GROWTH(buffers_bgwriter, reset_bgwriter);
	GROWTH(maxwritten_clean, reset_bgwriter);
	GROWTH(buffers_alloc, reset_bgwriter);
	GROWTH(buffers_backends, reset_io);
	GROWTH(fsyncs, reset_io);
#undef GROWTH
	result->write_time_ms = growth_ms(from->write_time_ms, to.write_time_ms, reset_checkpointer);
	result->sync_time_ms = growth_ms(from->sync_time_ms, to.sync_time_ms, reset_checkpointer);

	result->wal_bytes = -1;
	if (window->from_wal != InvalidXLogRecPtr)
		result->wal_bytes = (int64) (GetXLogInsertRecPtr() - window->from_wal);

	result->in_progress_at_end = window->in_progress;
	if (reset_checkpointer || reset_bgwriter || reset_io)
		add_note(result, "statistics were reset in the window");
	if (from->checkpoints_done < 0)
	{
		result->checkpoints_done = window->completed;
		add_note(result, "completed checkpoints were polled every 100 ms");
	}
	if (window->in_progress_at_start)
		add_note(result, "times include a checkpoint that began before the window");
	if (window->in_progress)
		add_note(result, "times lack the checkpoint in progress at the end");
	add_note(result, to.note);
}
