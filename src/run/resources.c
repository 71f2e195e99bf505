/*-------------------------------------------------------------------------
 *
 * resources.c
 *	  Background worker slots and connections that a run needs.
 *
 * What is counted here is what looks free now.  It is taken for certain a moment later, by the
 * conductor, which registers every worker and has every client connected before any load starts.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "postmaster/bgworker.h"
#include "storage/procarray.h"

#include "run/resources.h"
#include "server/compat.h"
#include "server/worker.h"

void
nn_resources_slots_failure(int needed, int free, NnFailure *failure)
{
	memset(failure, 0, sizeof(*failure));
	failure->sqlerrcode = ERRCODE_CONFIGURATION_LIMIT_EXCEEDED;
	snprintf(failure->message, NN_MESSAGE_LEN, "not enough background worker slots");
	snprintf(failure->detail, NN_MESSAGE_LEN,
			 "Needed %d, free %d; max_worker_processes is %d.", needed, free, max_worker_processes);
	snprintf(failure->hint, NN_MESSAGE_LEN,
			 "Raise max_worker_processes, or wait until other workers have ended.");
}

static void
check_connections(const NnRequest *request)
{
	int			reserved = nn_compat_reserved_connections(request->role_is_superuser);
	int			used = CountDBConnections(InvalidOid);
	int			free = Max(MaxConnections - reserved - used, 0);

	if (request->max_clients > free)
		ereport(ERROR,
				(errcode(ERRCODE_TOO_MANY_CONNECTIONS),
				 errmsg("not enough connections for %d clients", request->max_clients),
				 errdetail("Needed %d, free %d; max_connections is %d.",
						   request->max_clients, free, MaxConnections),
				 errhint("Ask for fewer clients, or raise max_connections.")));
}

void
nn_resources_check(NnRequest *request, NnLoadThread *load_threads, bool local)
{
	int			free = nn_worker_slots_free();
	int			others = request->has_workload ? 3 : 2; /* conductor, samples,
														 * workload */
	int			needed;

	others += request->lock_probe_workers;
	needed = others + (request->n_load_threads > 0 ? 1 : 0);
	if (needed > free)
	{
		NnFailure	failure;

		nn_resources_slots_failure(needed, free, &failure);
		ereport(ERROR,
				(errcode(failure.sqlerrcode),
				 errmsg("%s", failure.message),
				 errdetail("%s", failure.detail),
				 errhint("%s", failure.hint)));
	}

	/*
	 * The more processes the better, for each is scheduled on its own; but
	 * the workload must be able to get a parallel worker.
	 */
	request->n_noise_workers = Min(Max(free - others - 1, 1), request->n_load_threads);
	for (int i = 0; i < request->n_load_threads; i++)
		load_threads[i].process = i % request->n_noise_workers;

	if (request->has_workload && local)
		check_connections(request);
}
