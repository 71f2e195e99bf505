/*-------------------------------------------------------------------------
 *
 * store.c
 *	  What a calibration leaves in tables.
 *
 * A calibration is not a run, and its worker may not use the store of runs; this is the whole of its SQL.  It runs as
 * the owner of the tables, with a search_path that nobody else can put anything into.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "calibrate/store.h"
#include "server/text.h"

#define NN_TABLE	"noisy_calibration_records"
#define NN_MAX_ARGS	12

typedef struct StoreArgs
{
	int			n;
	Oid			types[NN_MAX_ARGS];
	Datum		values[NN_MAX_ARGS];
	char		nulls[NN_MAX_ARGS + 1];
} StoreArgs;

/* Where the identity was before a transaction. */
typedef struct Identity
{
	Oid			user;
	int			sec_context;
	int			settings;
	const char *schema;			/* quoted */
} Identity;

static void
add(StoreArgs *args, Oid type, Datum value, bool isnull)
{
	args->types[args->n] = type;
	args->values[args->n] = value;
	args->nulls[args->n] = isnull ? 'n' : ' ';
	args->n++;
}

static void
add_text(StoreArgs *args, const char *value)
{
	char	   *text = pstrdup(value ? value : "");

	nn_text_repair(text);
	add(args, TEXTOID, CStringGetTextDatum(text), value == NULL);
}

static Oid
find_table(NnCalibration *calibration)
{
	return get_relname_relid(NN_TABLE, calibration->request.schema_oid);
}

static Oid
table_owner(NnCalibration *calibration)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(find_table(calibration)));
	Oid			owner;

	if (!HeapTupleIsValid(tuple))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("the tables of extension \"%s\" are gone", NN_NAME),
				 errdetail("The extension was dropped, or its creation was not committed yet.")));
	owner = ((Form_pg_class) GETSTRUCT(tuple))->relowner;
	ReleaseSysCache(tuple);
	return owner;
}

static void
begin(NnCalibration *calibration, Identity *identity)
{
	SetCurrentStatementStartTimestamp();
	StartTransactionCommand();
	PushActiveSnapshot(GetTransactionSnapshot());
	identity->settings = NewGUCNestLevel();
	(void) set_config_option("search_path", "pg_catalog, pg_temp", PGC_USERSET, PGC_S_SESSION,
							 GUC_ACTION_SAVE, true, 0, false);
	GetUserIdAndSecContext(&identity->user, &identity->sec_context);
	SetUserIdAndSecContext(table_owner(calibration),
						   identity->sec_context | SECURITY_LOCAL_USERID_CHANGE | SECURITY_RESTRICTED_OPERATION);
	identity->schema = quote_identifier(get_namespace_name(calibration->request.schema_oid));
	SPI_connect();
}

static void
execute(const Identity *identity, const char *statement, StoreArgs *args, int expected)
{
	char	   *sql = psprintf(statement, identity->schema, identity->schema);
	int			result = SPI_execute_with_args(sql, args->n, args->types, args->values, args->nulls, false, 0);

	if (result != expected)
		elog(ERROR, "could not execute \"%s\": %s", sql, SPI_result_code_string(result));
}

static void
commit(Identity *identity)
{
	SPI_finish();
	SetUserIdAndSecContext(identity->user, identity->sec_context);
	AtEOXact_GUC(true, identity->settings);
	PopActiveSnapshot();
	CommitTransactionCommand();
	pgstat_report_stat(true);
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
	Identity	identity;
	StoreArgs	args = {0};
	StoreArgs	none = {0};
	int64		calibration_id;
	bool		isnull;

	begin(calibration, &identity);
	execute(&identity,
			"UPDATE %s." NN_TABLE " SET state = 'aborted', error = 'the server or the worker of the calibration died'"
			" WHERE state = 'running'", &none, SPI_OK_UPDATE);
	add_text(&args, host);
	add_text(&args, nn_calibration_label(calibration));
	add(&args, NAMEOID, DirectFunctionCall1(namein, CStringGetDatum(calibration->request.role_name)), false);
	add_text(&args, nn_calibration_parameters(calibration));
	add_text(&args, environment);
	execute(&identity,
			"INSERT INTO %s." NN_TABLE " (host, label, role_name, parameters, environment, state)"
			" VALUES ($1, $2, $3, $4::pg_catalog.jsonb, $5::pg_catalog.jsonb, 'running') RETURNING calibration_id",
			&args, SPI_OK_INSERT_RETURNING);
	calibration_id = DatumGetInt64(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull));
	commit(&identity);
	return calibration_id;
}

void
nn_calibration_store_figure(NnCalibration *calibration, int64 calibration_id, const NnProbe *probe,
							const NnTrial *trial, int figure, const double *samples, int n)
{
	Identity	identity;
	StoreArgs	args = {0};
	Datum	   *values = palloc(sizeof(Datum) * Max(n, 1));
	int			measured = 0;

	for (int i = 0; i < n; i++)
		if (!isnan(samples[i]))
			values[measured++] = Float8GetDatum(samples[i]);

	begin(calibration, &identity);
	add(&args, INT8OID, Int64GetDatum(calibration_id), false);
	add_text(&args, probe->name);
	add(&args, INT4OID, Int32GetDatum(probe->version), false);
	add_text(&args, trial->figures[figure].variant);
	add(&args, INT4OID, Int32GetDatum(trial->threads), false);
	add_text(&args, trial->figures[figure].unit);
	add(&args, FLOAT8ARRAYOID,
		PointerGetDatum(construct_array(values, measured, FLOAT8OID, sizeof(float8), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE)),
		false);
	add(&args, BOOLOID, BoolGetDatum(!trial->invalid && measured > 0), false);
	add_text(&args, trial->note[0] ? trial->note : NULL);
	execute(&identity,
			"INSERT INTO %s.noisy_calibration_samples (calibration_id, probe, probe_version, variant, threads, unit,"
			" samples, valid, note) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)", &args, SPI_OK_INSERT);
	commit(&identity);
}

void
nn_calibration_store_end(NnCalibration *calibration, int64 calibration_id, NnRunState state, const char *error)
{
	Identity	identity;
	StoreArgs	args = {0};

	begin(calibration, &identity);
	add(&args, INT8OID, Int64GetDatum(calibration_id), false);
	add_text(&args, nn_run_state_name(state));
	add_text(&args, error);
	execute(&identity,
			"UPDATE %s." NN_TABLE " SET state = $2, error = $3, finished_at = pg_catalog.clock_timestamp()"
			" WHERE calibration_id = $1", &args, SPI_OK_UPDATE);
	commit(&identity);
}
