/*-------------------------------------------------------------------------
 *
 * kinds.h
 *	  What kind of server process a PGPROC belongs to.
 *
 *-------------------------------------------------------------------------
 */
#ifndef NN_KINDS_H
#define NN_KINDS_H

#include "postgres.h"

#include "server/shared.h"

typedef struct NnKinds
{
	NnShared   *shared;
	char		workload_name[NAMEDATALEN]; /* application_name of the
											 * workload's backends */
	int			n_procs;
	int		   *pids;			/* by number of PGPROC: whom the kind is of;
								 * 0: nobody */
	int8	   *kinds;			/* NnProcessKind; -1: not looked up yet */
	uint64		looked_up_ns;
} NnKinds;

/* Looks everybody up.  Lives in the current memory context. */
extern NnKinds *nn_kinds_create(NnShared *shared);

/*
 * Notice processes that have come and gone, and look up those whose kind is not known.  The look-up copies the
 * status of every backend, so it is made at most every 100 ms.
 */
extern void nn_kinds_refresh(NnKinds *kinds, uint64 now_ns);

/* Has somebody come since the last look? */
static inline bool
nn_kinds_is_stale(const NnKinds *kinds, int proc, int pid)
{
	return kinds->pids[proc] != pid || kinds->kinds[proc] < 0;
}

/* The kind of a process; one that has not been looked up yet is a client, or another one. */
extern NnProcessKind nn_kinds_find(const NnKinds *kinds, int proc, int pid);

#endif							/* NN_KINDS_H */
