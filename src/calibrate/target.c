/*-------------------------------------------------------------------------
 *
 * target.c
 *	  How the probes that are clients connect to this server, and what they ask.
 *
 * They come as the role that called, and look up a random row of the data set that belongs to the extension.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "commands/dbcommands.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "calibrate/target.h"
#include "workload/target.h"

#define NN_ACCOUNTS			"noisy_calibration_accounts"
#define NN_ACCOUNTS_ROWS	10000	/* as the install script makes them */

static bool
make_script(NnScript *script, const char *schema)
{
	NnOperation random_row[] = {
		{NN_OPERATION_CONSTANT, 1},
		{NN_OPERATION_CONSTANT, NN_ACCOUNTS_ROWS},
		{NN_OPERATION_RANDOM, 0}
	};

	nn_script_begin(script, "calibration");
	return nn_script_add_set(script, nn_script_variable(script, "aid", 3), random_row, lengthof(random_row)) &&
		nn_script_add_statement(script, psprintf("SELECT abalance FROM %s WHERE aid OPERATOR(pg_catalog.=) :aid",
												 quote_qualified_identifier(schema, NN_ACCOUNTS)));
}

const NnTarget *
nn_calibrate_target(const NnCalibration *calibration, const char **reason)
{
	static NnTarget target;
	static NnScript script;
	const NnCalibrationRequest *request = &calibration->request;
	const char *database;
	const char *schema;

	nn_target_forget_environment();
	StartTransactionCommand();
	database = get_database_name(request->database_oid);
	schema = get_namespace_name(request->schema_oid);
	if (database == NULL || schema == NULL)
		*reason = "the extension is gone";
	else if (!make_script(&script, schema))
		*reason = "the name of the extension's schema cannot be part of a statement";
	else
		*reason = nn_workload_target_local(&target, request->database_oid, database, request->role_oid, request->role_name);
	CommitTransactionCommand();
	target.mode = NN_SEND_PREPARED;
	target.script = &script;
	if (*reason == NULL && !nn_target_add(&target, "application_name", NN_NAME " calibration"))
		*reason = "out of memory";
	return *reason == NULL ? &target : NULL;
}
