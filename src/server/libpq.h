/*-------------------------------------------------------------------------
 *
 * libpq.h
 *	  Connection strings.
 *
 *-------------------------------------------------------------------------
 */
#ifndef NN_LIBPQ_H
#define NN_LIBPQ_H

/* Raise an error when the connection string cannot be parsed. The string itself is never shown. */
extern void nn_conninfo_check(const char *conninfo);

/* Host, port, database and user of a connection string; no credentials. palloc'd. */
extern char *nn_conninfo_describe(const char *conninfo);

#endif							/* NN_LIBPQ_H */
