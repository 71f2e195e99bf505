/*-------------------------------------------------------------------------
 *
 * compat.h
 *	  Every difference between server versions 15 to 18, and nothing else.
 *
 *-------------------------------------------------------------------------
 */
#ifndef NN_COMPAT_H
#define NN_COMPAT_H

#include "postgres.h"

/* The macros of variable-length values moved out of postgres.h in 16. */
#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif

#include "storage/proc.h"
#include "utils/backend_status.h"

/* Number of our own PGPROC in ProcGlobal->allProcs. */
#if PG_VERSION_NUM >= 170000
#define NN_MY_PROCNO	MyProcNumber
#else
#define NN_MY_PROCNO	(MyProc->pgprocno)
#endif

/*
 * Entry n (1-based) of the backend status snapshot; NULL: none.  The function was renamed in 16.
 */
#if PG_VERSION_NUM >= 160000
#define nn_compat_backend_status(n) pgstat_get_local_beentry_by_index(n)
#else
#define nn_compat_backend_status(n) pgstat_fetch_stat_local_beentry(n)
#endif

/* A setting of sessions that is new in 17, as an option of a connection. */
#if PG_VERSION_NUM >= 170000
#define NN_NO_TRANSACTION_TIMEOUT " -c transaction_timeout=0"
#else
#define NN_NO_TRANSACTION_TIMEOUT ""
#endif

/* Connections kept for superusers and, from 16, for pg_use_reserved_connections. */
extern int	nn_compat_reserved_connections(bool superuser);

/* Absolute counters of the server; -1 and NaN where this version has none (see notes). */
typedef struct NnCompatCounters
{
	int64		buffers_checkpointer;
	int64		buffers_bgwriter;
	int64		buffers_backends;
	int64		maxwritten_clean;
	int64		buffers_alloc;
	int64		fsyncs;
	int64		checkpoints_timed;
	int64		checkpoints_requested;
	int64		checkpoints_done;
	double		write_time_ms;
	double		sync_time_ms;
	int64		reset_checkpointer; /* TimestampTz of the last reset */
	int64		reset_bgwriter;
	int64		reset_io;
	const char *note;			/* what this version cannot tell, or NULL */
} NnCompatCounters;

/* Those of the counters that tell of a checkpoint that is on. */
typedef struct NnCompatCheckpoints
{
	int64		timed;
	int64		requested;
	int64		buffers;		/* pages written */
	int64		reset;			/* TimestampTz of the last reset */
} NnCompatCheckpoints;

extern void nn_compat_checkpoints_read(NnCompatCheckpoints *counters);
extern void nn_compat_counters_read(NnCompatCounters *counters);

#endif							/* NN_COMPAT_H */
