/*-------------------------------------------------------------------------
 *
 * kinds.c
 *	  What kind of server process a PGPROC belongs to.  See kinds.h.
 *
 * The backends of the workload are client backends of the run's role whose application_name is the run's:
 * the driver sets it.  A workload that is driven on another server has none here.
 *
 * Everything is private memory of the context that it was created in.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/proc.h"
#include "utils/backend_status.h"

#include "core/clock.h"
#include "sample/backends.h"
#include "sample/kinds.h"
#include "server/compat.h"

#define LOOKUP_INTERVAL_NS	(100 * NN_NS_PER_MS)
#define UNKNOWN				(-1)

static bool
is_of_workload(const NnKinds *kinds, const PgBackendStatus *status)
{
	const NnRequest *request = &kinds->shared->request;

	return request->has_workload && status->st_appname != NULL &&
		strcmp(status->st_appname, kinds->workload_name) == 0 &&
		(nn_shared_conninfo(kinds->shared) != NULL || status->st_userid == request->role_oid);
}

static NnProcessKind
kind_of(const NnKinds *kinds, const PgBackendStatus *status)
{
	switch (status->st_backendType)
	{
		case B_BACKEND:
			return is_of_workload(kinds, status) ? NN_PROCESS_WORKLOAD : NN_PROCESS_CLIENT;
		case B_CHECKPOINTER:
			return NN_PROCESS_CHECKPOINTER;
		case B_BG_WRITER:
			return NN_PROCESS_BGWRITER;
		case B_WAL_WRITER:
			return NN_PROCESS_WALWRITER;
		case B_AUTOVAC_LAUNCHER:
		case B_AUTOVAC_WORKER:
			return NN_PROCESS_AUTOVACUUM;
		default:
			return NN_PROCESS_OTHER;
	}
}

/* Find the kinds of those that have none yet. */
static void
look_up(NnKinds *kinds)
{
	int			n;

	pgstat_clear_backend_activity_snapshot();
	n = pgstat_fetch_stat_numbackends();
	for (int p = 0; p < kinds->n_procs; p++)
	{
		if (kinds->pids[p] == 0 || kinds->kinds[p] != UNKNOWN)
			continue;
		for (int i = 1; i <= n && kinds->kinds[p] == UNKNOWN; i++)
		{
			LocalPgBackendStatus *entry = nn_compat_backend_status(i);

			if (entry && entry->backendStatus.st_procpid == kinds->pids[p])
				kinds->kinds[p] = (int8) kind_of(kinds, &entry->backendStatus);
		}
	}
	pgstat_clear_backend_activity_snapshot();
}

void
nn_kinds_refresh(NnKinds *kinds, uint64 now_ns)
{
	bool		unknown = false;

	for (int p = 0; p < kinds->n_procs; p++)
	{
		int			pid = nn_proc_pid(GetPGProcByNumber(p));

		if (pid != kinds->pids[p])
		{
			kinds->pids[p] = pid;
			kinds->kinds[p] = UNKNOWN;
		}
		unknown |= pid != 0 && kinds->kinds[p] == UNKNOWN;
	}
	if (unknown && now_ns >= kinds->looked_up_ns + LOOKUP_INTERVAL_NS)
	{
		look_up(kinds);
		kinds->looked_up_ns = now_ns;
	}
}

NnKinds *
nn_kinds_create(NnShared *shared)
{
	NnKinds    *kinds = palloc0(sizeof(NnKinds));
	int64		run_id;

	SpinLockAcquire(&shared->mutex);
	run_id = shared->run_id;
	SpinLockRelease(&shared->mutex);
	kinds->shared = shared;
	snprintf(kinds->workload_name, sizeof(kinds->workload_name), NN_NAME " run=" INT64_FORMAT, run_id);
	kinds->n_procs = (int) ProcGlobal->allProcCount;
	kinds->pids = palloc0(sizeof(int) * kinds->n_procs);
	kinds->kinds = palloc0(sizeof(int8) * kinds->n_procs);
	nn_kinds_refresh(kinds, nn_now_ns());
	return kinds;
}

NnProcessKind
nn_kinds_find(const NnKinds *kinds, int proc, int pid)
{
	if (!nn_kinds_is_stale(kinds, proc, pid))
		return (NnProcessKind) kinds->kinds[proc];
	return proc < MaxConnections ? NN_PROCESS_CLIENT : NN_PROCESS_OTHER;
}
