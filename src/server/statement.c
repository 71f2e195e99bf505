/*-------------------------------------------------------------------------
 *
 * statement.c
 *	  SQL of our own workers.  See statement.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "server/shared.h"
#include "server/statement.h"

static Oid
table_owner(Oid relid, const char *why_gone)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	Oid			owner;

	if (!HeapTupleIsValid(tuple))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("the tables of extension \"%s\" are gone", NN_NAME),
				 errdetail("%s", why_gone)));
	owner = ((Form_pg_class) GETSTRUCT(tuple))->relowner;
	ReleaseSysCache(tuple);
	return owner;
}

void
nn_statement_assume_owner(Oid schema, const char *table, const char *why_gone, StoreContext *context)
{
	context->settings = NewGUCNestLevel();
	(void) set_config_option("search_path", "pg_catalog, pg_temp", PGC_USERSET, PGC_S_SESSION,
							 GUC_ACTION_SAVE, true, 0, false);
	GetUserIdAndSecContext(&context->user, &context->sec_context);
	SetUserIdAndSecContext(table_owner(get_relname_relid(table, schema), why_gone),
						   context->sec_context | SECURITY_LOCAL_USERID_CHANGE |
						   SECURITY_RESTRICTED_OPERATION);
	context->schema = quote_identifier(get_namespace_name(schema));
	SPI_connect();
}

void
nn_statement_resume_identity(StoreContext *context)
{
	SPI_finish();
	SetUserIdAndSecContext(context->user, context->sec_context);
	AtEOXact_GUC(true, context->settings);
}

void
nn_statement_begin(Oid schema, const char *table, const char *why_gone, StoreContext *context)
{
	SetCurrentStatementStartTimestamp();
	StartTransactionCommand();
	PushActiveSnapshot(GetTransactionSnapshot());
	nn_statement_assume_owner(schema, table, why_gone, context);
}

void
nn_statement_commit(StoreContext *context)
{
	nn_statement_resume_identity(context);
	PopActiveSnapshot();
	CommitTransactionCommand();
	pgstat_report_stat(true);
}
