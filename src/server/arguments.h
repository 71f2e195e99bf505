/*-------------------------------------------------------------------------
 *
 * arguments.h
 *	  Reading and checking arguments of SQL functions.
 *
 *-------------------------------------------------------------------------
 */
#ifndef NN_ARGUMENTS_H
#define NN_ARGUMENTS_H

#include "postgres.h"

#include "utils/array.h"
#include "utils/jsonb.h"
#include "utils/timestamp.h"

/* Length of an interval; months count as 30 days. */
extern double nn_interval_s(const Interval *interval);

/* Raise the error for an argument that is null. */
extern void nn_refuse_null(const char *argument) __attribute__((noreturn));

/* Call "each" for every key of a json object; raises an error for anything but an object. */
typedef void (*NnJsonEach) (const char *key, const JsonbValue *value, void *arg);
extern void nn_json_each(JsonbContainer *json, const char *what, NnJsonEach each, void *arg);

/* A list of names in double quotes, for messages. */
extern char *nn_quoted_list(const char *const *names);

/* The beginning of a name that may be very long, for messages. */
extern char *nn_shorten(const char *name);

/* Is "name" in the NULL-terminated list? */
extern bool nn_in_list(const char *name, const char *const *names);

/* Elements of a one-dimensional array that has some and no NULLs; NULL pointers are refused. */
extern Datum *nn_array_elements(ArrayType *array, const char *argument, Oid type, int *n);

/* The value of a json key: each raises an error that names the option where it is something else. */
extern char *nn_json_string(const JsonbValue *value, const char *key);
extern double nn_json_number(const JsonbValue *value, const char *key, double least, double most);

/* '10 ms', or a number of milliseconds */
extern uint64 nn_json_duration_ns(const JsonbValue *value, const char *key, double min_ms, double max_ms);

#endif							/* NN_ARGUMENTS_H */
