/*-------------------------------------------------------------------------
 *
 * store_internal.h
 *	  What the files of the store share.  For run/store*.c only.
 *
 *-------------------------------------------------------------------------
 */
#ifndef NN_STORE_INTERNAL_H
#define NN_STORE_INTERNAL_H

#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"

#include "server/shared.h"
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

/* NULL and "" are NULL. What is no text in this database is made one. */
static inline void
add_text(StoreArgs *args, const char *value)
{
	bool		isnull = (value == NULL || value[0] == '\0');
	char	   *text = pstrdup(isnull ? "" : value);

	nn_text_repair(text);
	add_arg(args, TEXTOID, isnull ? (Datum) 0 : CStringGetTextDatum(text), isnull);
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
 * store_samples.c: does the extension have the tables of this version?  Until somebody updates it, the library serves older
 * ones, too.
 */
extern bool nn_store_is_current(NnShared *shared);

/* store_samples.c: what the sample worker saw in the block that ended last. */
extern void nn_store_samples(const StoreContext *context, NnShared *shared, int64 run_id,
							 const NnPlanBlock *block);

/* store_bands.c: checkpoints, and the latency in them. */
extern bool nn_store_has_bands(NnShared *shared);
extern void nn_store_bands(const StoreContext *context, NnShared *shared, int64 run_id);
extern void nn_store_band_latency(const StoreContext *context, NnShared *shared, int64 run_id,
								  const NnPlanBlock *block);

/* store.c: type noisy_histogram of this extension. */
extern Oid	nn_store_histogram_type(NnShared *shared);

#endif							/* NN_STORE_INTERNAL_H */
