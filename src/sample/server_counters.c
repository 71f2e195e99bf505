/*-------------------------------------------------------------------------
 *
 * server_counters.c
 *	  Counters of the whole server over a window, and checkpoints in it.
 *
 * Counters are the differences of two readings of the statistics system; what was reset in between
 * is not measured, and the note says so.  WAL is the distance between two
 * insert positions.
 *
 * Whether a checkpoint was on is the business of bands.c.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/xlog.h"

#include "sample/server_counters.h"

void
nn_counters_begin(NnCountersWindow *window, NnBandTracker *bands)
{
	memset(window, 0, sizeof(*window));
	window->bands = bands;
	(void) nn_bands_poll(bands);
	window->completed_from = bands->completed;
	window->in_progress_at_start = bands->in_progress;
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

	(void) nn_bands_poll(window->bands);
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

	result->in_progress_at_end = window->bands->in_progress;
	if (reset_checkpointer || reset_bgwriter || reset_io)
		add_note(result, "statistics were reset in the window");
	if (from->checkpoints_done < 0)
	{
		result->checkpoints_done = window->completed_from < 0 ? -1 :
			window->bands->completed - window->completed_from;
		add_note(result, "completed checkpoints were polled every 100 ms");
	}
	if (window->in_progress_at_start)
		add_note(result, "times include a checkpoint that began before the window");
	if (window->bands->in_progress)
		add_note(result, "times lack the checkpoint in progress at the end");
	add_note(result, to.note);
}
