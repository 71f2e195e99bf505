/*-------------------------------------------------------------------------
 *
 * failure.c
 *	  What a client's failure means to a person: message, detail, hint and SQLSTATE.
 *
 * Main thread of the workload worker only; strings are palloc'd in the worker's context, which
 * the process takes with it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "core/clock.h"
#include "workload/failure.h"

/* SQLSTATE as the server's number; connection_failure when there is none. */
static int
failure_code(const NnConnectionFailure *failure)
{
	const char *s = failure->sqlstate;

	if (strlen(s) != 5)
		return ERRCODE_CONNECTION_FAILURE;
	return MAKE_SQLSTATE(s[0], s[1], s[2], s[3], s[4]);
}

/* What can be done about a connection that was not made. */
static const char *
connect_hint(NnWorker *worker, const NnTarget *target, const NnConnectionFailure *failure)
{
	const NnRequest *request = &worker->shared->request;
	bool		refused = failure->wants_password || strncmp(failure->sqlstate, "28", 2) == 0;

	if (strcmp(failure->sqlstate, "53300") == 0)
		return "Raise max_connections, or run with fewer clients.";
	if (refused && target->local)
		return psprintf("Role \"%s\" must be able to log in to database \"%s\" through \"%s\""
						" without a password, which pg_hba.conf decides.",
						request->role_name, request->database_name,
						nn_target_get(target, "host"));
	if (refused)
		return "Give user and password in conninfo, and let them in by the other server's pg_hba.conf.";
	if (failure->kind == NN_FAILURE_TIMEOUT)
		return psprintf("The server must answer within %d s.",
						(int) (target->connect_timeout_ns / NN_NS_PER_S));
	return NULL;
}

void
nn_workload_fail(NnWorker *worker, const NnTarget *target, const NnConnectionFailure *failure,
				 int failed, int clients)
{
	const NnRequest *request = &worker->shared->request;
	const char *where = target->local ? "" : " on the other server";

	switch (failure->kind)
	{
		case NN_FAILURE_NO_TABLE:
			nn_worker_fail(worker, ERRCODE_UNDEFINED_TABLE,
						   psprintf("tables of workload \"%s\" are missing", request->workload),
						   psprintf("Missing%s: %s.", where, failure->message),
						   target->local ?
						   "Run SELECT noisy_workload_init(scale) or pgbench -i. The clients connect anew: "
						   "they see the search_path of the role or database, not that of a session." :
						   "Run pgbench -i on the other server.");
		case NN_FAILURE_NO_PRIVILEGE:
			nn_worker_fail(worker, ERRCODE_INSUFFICIENT_PRIVILEGE,
						   psprintf("permission denied for the tables of workload \"%s\"",
									request->workload),
						   psprintf("Missing%s: %s.", where, failure->message),
						   "The run's role needs SELECT, INSERT and UPDATE on them.");
		case NN_FAILURE_NO_ROWS:
			nn_worker_fail(worker, ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
						   "table \"pgbench_branches\" is empty",
						   "Its rows tell the scale of the tables.",
						   "Run SELECT noisy_workload_init(scale, replace => true) or pgbench -i.");
		case NN_FAILURE_SET_UP:
			nn_worker_fail(worker, failure_code(failure),
						   psprintf("could not set up %d of %d clients", failed, clients),
						   failure->message,
						   strcmp(failure->sqlstate, "57014") == 0 || strcmp(failure->sqlstate, "55P03") == 0 ?
						   "A client may have to wait for a lock on the tables of the workload: pg_locks "
						   "tells who holds it." : NULL);
		case NN_FAILURE_LOST:
			nn_worker_fail(worker, failure_code(failure),
						   psprintf("%d of %d clients lost their connections for good", failed, clients),
						   failure->message, connect_hint(worker, target, failure));
		default:
			nn_worker_fail(worker, failure_code(failure),
						   psprintf("could not connect %d of %d clients", failed, clients),
						   failure->message, connect_hint(worker, target, failure));
	}
}
