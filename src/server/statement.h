/*-------------------------------------------------------------------------
 *
 * statement.h
 *	  SQL of our own workers: transactions and statements on the extension's tables.  For the stores only.
 *
 * The session of such a worker is the bootstrap superuser's.  Statements run as the owner of the
 * tables, in a security-restricted context, with a fixed search_path and qualified names: nothing that
 * others have created is looked up or executed.
 *
 *-------------------------------------------------------------------------
 */
#ifndef NN_STATEMENT_H
#define NN_STATEMENT_H

#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"

#include "server/text.h"

#define NN_MAX_ARGS		40

/* Where the identity was before a store transaction. */
typedef struct StoreContext
{
	Oid			user;
	int			sec_context;
	int			settings;		/* nest level */
	const char *schema;			/* quoted */
} StoreContext;

/* Arguments of a statement, in order. */
typedef struct StoreArgs
{
	int			n;
	Oid			types[NN_MAX_ARGS];
	Datum		values[NN_MAX_ARGS];
	char		nulls[NN_MAX_ARGS + 1];
} StoreArgs;

static inline void
add_arg(StoreArgs *args, Oid type, Datum value, bool isnull)
{
	args->types[args->n] = type;
	args->values[args->n] = value;
	args->nulls[args->n] = isnull ? 'n' : ' ';
	args->n++;
	args->nulls[args->n] = '\0';
}

static inline void
add_int(StoreArgs *args, int64 value)
{
	add_arg(args, INT8OID, Int64GetDatum(value), false);
}

/* -1 is "not measured" */
static inline void
add_counter(StoreArgs *args, int64 value)
{
	add_arg(args, INT8OID, Int64GetDatum(value), value < 0);
}

/* NaN is "not measured" */
static inline void
add_float(StoreArgs *args, double value)
{
	add_arg(args, FLOAT8OID, Float8GetDatum(value), isnan(value));
}

static inline void
add_bool(StoreArgs *args, bool value)
{
	add_arg(args, BOOLOID, BoolGetDatum(value), false);
}

/* NULL is NULL, "" is not. What is no text in this database is made one. */
static inline void
add_given_text(StoreArgs *args, const char *value)
{
	char	   *text = pstrdup(value ? value : "");

	nn_text_repair(text);
	add_arg(args, TEXTOID, value ? CStringGetTextDatum(text) : (Datum) 0, value == NULL);
}

/* NULL and "" are NULL. */
static inline void
add_text(StoreArgs *args, const char *value)
{
	add_given_text(args, value && value[0] ? value : NULL);
}

static inline void
add_level(StoreArgs *args, double level)
{
	add_arg(args, NUMERICOID, DirectFunctionCall1(float8_numeric, Float8GetDatum(level)), false);
}

/* Run a statement with %s for the schema, as often as there are %s in it (at most two). */
static inline void
execute(const StoreContext *context, const char *statement, StoreArgs *args, int expected)
{
	char	   *sql = psprintf(statement, context->schema, context->schema);
	int			result = SPI_execute_with_args(sql, args->n, args->types, args->values, args->nulls,
											   false, 0);

	if (result != expected)
		elog(ERROR, "could not execute \"%s\": %s", sql, SPI_result_code_string(result));
}

/*
 * Become the owner of a table of the schema, who must not run what a caller's search_path leads to, and come back. why_gone is
 * the detail of the error where there is no such table.
 */
extern void nn_statement_assume_owner(Oid schema, const char *table, const char *why_gone, StoreContext *context);
extern void nn_statement_resume_identity(StoreContext *context);

/* The same with a transaction around. */
extern void nn_statement_begin(Oid schema, const char *table, const char *why_gone, StoreContext *context);
extern void nn_statement_commit(StoreContext *context);

#endif							/* NN_STATEMENT_H */
