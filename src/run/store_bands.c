/*-------------------------------------------------------------------------
 *
 * store_bands.c
 *	  Keeping the checkpoints that were on while a run was, and the latency in them.
 *
 * A band is stored as far as it is known when a block ends, and again when more is known: after the next
 * block, and when the run has ended.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/lsyscache.h"

#include "run/store_internal.h"
#include "server/histogram_datum.h"

/* The latest band that nothing more will be known of. */
static int32 final_number;

static const char *
kind_name(NnBandKind kind)
{
	return kind == NN_BAND_TIMED ? "timed" : kind == NN_BAND_REQUESTED ? "requested" : NULL;
}

/* Why something of the band is missing; NULL: nothing is. */
static const char *
note(const NnBand *band)
{
	StringInfoData buf;

	initStringInfo(&buf);
	if (band->began_before)
		appendStringInfoString(&buf, "it began before the run; ");
	if (!band->complete)
		appendStringInfoString(&buf, "it was in progress when it was last seen; ");
	if (band->was_reset)
		appendStringInfoString(&buf, "statistics were reset while it was on; ");
	if (band->kind == NN_BAND_UNKNOWN)
		appendStringInfoString(&buf, "the checkpointer has not said what it was due to; ");
	if (buf.len == 0)
		return NULL;
	buf.data[buf.len - 2] = '\0';
	return buf.data;
}

static void
store_band(const StoreContext *context, int64 run_id, const NnBand *band)
{
	StoreArgs	args = {0};

	add_int(&args, run_id);
	add_int(&args, band->number);
	add_arg(&args, TIMESTAMPTZOID, Int64GetDatum(band->started_at), false);
	add_arg(&args, TIMESTAMPTZOID, Int64GetDatum(band->ended_at), false);
	add_text(&args, kind_name(band->kind));
	add_bool(&args, band->complete);
	add_counter(&args, band->buffers);
	add_counter(&args, band->buffers < 0 ? -1 : band->buffers * BLCKSZ);
	add_text(&args, note(band));
	execute(context,
			"INSERT INTO %s.noisy_checkpoints (run_id, checkpoint, started_at, ended_at, kind,"
			" complete, buffers_written, bytes_written, note)"
			" VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)"
			" ON CONFLICT (run_id, checkpoint) DO UPDATE SET ended_at = EXCLUDED.ended_at,"
			" kind = EXCLUDED.kind, complete = EXCLUDED.complete,"
			" buffers_written = EXCLUDED.buffers_written, bytes_written = EXCLUDED.bytes_written,"
			" note = EXCLUDED.note", &args, SPI_OK_INSERT);
}

/* The tables are missing until somebody updates the extension. */
bool
nn_store_has_bands(NnShared *shared)
{
	return OidIsValid(get_relname_relid("noisy_checkpoints", shared->request.schema_oid));
}

void
nn_store_bands(const StoreContext *context, NnShared *shared, int64 run_id)
{
	int32		n;

	SpinLockAcquire(&shared->mutex);
	n = shared->n_bands;
	SpinLockRelease(&shared->mutex);

	/* What was lost to the ring stays a gap in the numbers. */
	for (int32 number = Max(final_number, n - NN_MAX_BANDS) + 1; number <= n; number++)
	{
		NnBand		band;

		SpinLockAcquire(&shared->mutex);
		band = shared->bands[(number - 1) % NN_MAX_BANDS];
		SpinLockRelease(&shared->mutex);
		if (band.number != number)
			continue;
		store_band(context, run_id, &band);
		if (number < n)
			final_number = number;
	}
}

void
nn_store_band_latency(const StoreContext *context, NnShared *shared, int64 run_id,
					  const NnPlanBlock *block)
{
	const NnWorkloadResult *workload = &shared->workload;
	Oid			histogram_type = nn_store_histogram_type(shared);
	StoreArgs	args = {0};

	if (!shared->request.has_workload || workload->inside_s == 0)
		return;
	add_int(&args, run_id);
	add_int(&args, block->block);
	add_float(&args, workload->inside_s);
	add_float(&args, workload->outside_s);
	add_arg(&args, histogram_type, nn_histogram_to_datum(&workload->inside), false);
	add_arg(&args, histogram_type, nn_histogram_to_datum(&workload->outside), false);
	execute(context,
			"INSERT INTO %s.noisy_checkpoint_latency (run_id, block, inside_s, outside_s, inside, outside)"
			" VALUES ($1, $2, $3, $4, $5, $6)", &args, SPI_OK_INSERT);
}
