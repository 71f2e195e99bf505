/*-------------------------------------------------------------------------
 *
 * store.c
 *	  What a calibration leaves in tables.
 *
 * A calibration is not a run, and its worker may not use the store of runs; this is the whole of its SQL, which runs as
 * server/statement.h says.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/xact.h"
#include "utils/array.h"
#include "utils/lsyscache.h"

#include "calibrate/store.h"
#include "server/statement.h"

#define NN_TABLE	"noisy_calibration_records"
#define NN_WHY_GONE	"The extension was dropped, or its creation was not committed yet."

static Oid
find_table(NnCalibration *calibration)
{
	return get_relname_relid(NN_TABLE, calibration->request.schema_oid);
}

static void
begin(NnCalibration *calibration, StoreContext *context)
{
	nn_statement_begin(calibration->request.schema_oid, NN_TABLE, NN_WHY_GONE, context);
}

Oid
nn_calibration_table(NnCalibration *calibration)
{
	Oid			table;

	StartTransactionCommand();
	table = find_table(calibration);
	CommitTransactionCommand();
	return table;
}

int64
nn_calibration_store_begin(NnCalibration *calibration, const char *host, const char *environment)
{
	StoreContext context;
	StoreArgs	args = {0};
	StoreArgs	none = {0};
	int64		calibration_id;
	bool		isnull;

	begin(calibration, &context);
	execute(&context,
			"UPDATE %s." NN_TABLE " SET state = 'aborted', error = 'the server or the worker of the calibration died'"
			" WHERE state = 'running'", &none, SPI_OK_UPDATE);
	add_given_text(&args, host);
	add_given_text(&args, nn_calibration_label(calibration));
	add_arg(&args, NAMEOID, DirectFunctionCall1(namein, CStringGetDatum(calibration->request.role_name)), false);
	add_given_text(&args, nn_calibration_parameters(calibration));
	add_given_text(&args, environment);
	execute(&context,
			"INSERT INTO %s." NN_TABLE " (host, label, role_name, parameters, environment, state)"
			" VALUES ($1, $2, $3, $4::pg_catalog.jsonb, $5::pg_catalog.jsonb, 'running') RETURNING calibration_id",
			&args, SPI_OK_INSERT_RETURNING);
	calibration_id = DatumGetInt64(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull));
	nn_statement_commit(&context);
	return calibration_id;
}

void
nn_calibration_store_figure(NnCalibration *calibration, int64 calibration_id, const NnProbe *probe,
							const NnTrial *trial, int figure, const double *samples, int n)
{
	StoreContext context;
	StoreArgs	args = {0};
	Datum	   *values = palloc(sizeof(Datum) * Max(n, 1));
	int			measured = 0;

	for (int i = 0; i < n; i++)
		if (!isnan(samples[i]))
			values[measured++] = Float8GetDatum(samples[i]);

	begin(calibration, &context);
	add_int(&args, calibration_id);
	add_given_text(&args, probe->name);
	add_arg(&args, INT4OID, Int32GetDatum(probe->version), false);
	add_given_text(&args, trial->figures[figure].variant);
	add_arg(&args, INT4OID, Int32GetDatum(trial->threads), false);
	add_given_text(&args, trial->figures[figure].unit);
	add_arg(&args, FLOAT8ARRAYOID,
			PointerGetDatum(construct_array(values, measured, FLOAT8OID, sizeof(float8), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE)),
			false);
	add_bool(&args, !trial->invalid && measured > 0);
	add_given_text(&args, trial->note[0] ? trial->note : NULL);
	execute(&context,
			"INSERT INTO %s.noisy_calibration_samples (calibration_id, probe, probe_version, variant, threads, unit,"
			" samples, valid, note) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)", &args, SPI_OK_INSERT);
	nn_statement_commit(&context);
}

void
nn_calibration_store_end(NnCalibration *calibration, int64 calibration_id, NnRunState state, const char *error)
{
	StoreContext context;
	StoreArgs	args = {0};

	begin(calibration, &context);
	add_int(&args, calibration_id);
	add_given_text(&args, nn_run_state_name(state));
	add_given_text(&args, error);
	execute(&context,
			"UPDATE %s." NN_TABLE " SET state = $2, error = $3, finished_at = pg_catalog.clock_timestamp()"
			" WHERE calibration_id = $1", &args, SPI_OK_UPDATE);
	nn_statement_commit(&context);
}
