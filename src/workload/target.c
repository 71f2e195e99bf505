/*-------------------------------------------------------------------------
 *
 * target.c
 *	  Where the clients of a run connect to: this server, or the one of conninfo.
 *
 * This server is reached as a program outside of it would reach it: through the first of its socket folders, or by
 * TCP where it has none, as the role that called.  Neither the server's environment nor its password
 * file takes part, so that a role gets in by pg_hba.conf alone.
 *
 * Main thread of a worker only, before the client threads start.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "nodes/pg_list.h"
#include "utils/guc.h"
#include "utils/timestamp.h"
#include "utils/varlena.h"

#include "core/clock.h"
#include "server/compat.h"
#include "workload/target.h"

#define NN_CONNECT_TIMEOUT_S	10

/* A file that is not there: libpq then has no passwords and says nothing about it. */
#define NN_NO_PASSFILE	"/pg_noisyneighbor/no/passwords"

/*
 * A role's or database's defaults must not end or refuse the statements of a workload. As
 * options of the connection they are in force before the first statement.
 */
#define NN_SESSION_OPTIONS \
	"-c statement_timeout=0 -c lock_timeout=0 -c idle_in_transaction_session_timeout=0" \
	" -c idle_session_timeout=0 -c default_transaction_read_only=off" NN_NO_TRANSACTION_TIMEOUT

/* First element of a list that a setting holds; NULL when it is empty.  palloc'd. */
static char *
first_of(const char *setting, bool folders)
{
	const char *value = GetConfigOption(setting, true, false);
	List	   *list = NIL;
	bool		ok;

	if (value == NULL || value[0] == '\0')
		return NULL;
	if (folders)
		ok = SplitDirectoriesString(pstrdup(value), ',', &list);
	else
		ok = SplitGUCList(pstrdup(value), ',', &list);
	return ok && list != NIL ? (char *) linitial(list) : NULL;
}

/*
 * The host that leads to this server, NULL where it accepts no connections.  A listen address that stands for all of
 * them is replaced by the loopback address of its kind.
 */
static const char *
local_host(void)
{
	char	   *host = first_of("unix_socket_directories", true);

	if (host != NULL)
	{
		/*
		 * A relative folder is one below the data directory; "@" is an
		 * abstract socket.
		 */
		if (is_absolute_path(host) || host[0] == '@')
			return host;
		return psprintf("%s/%s", DataDir, host);
	}
	host = first_of("listen_addresses", false);
	if (host == NULL)
		return NULL;
	if (strcmp(host, "*") == 0 || strcmp(host, "0.0.0.0") == 0)
		return "127.0.0.1";
	if (strcmp(host, "::") == 0)
		return "::1";
	return host;
}

const char *
nn_workload_target_local(NnTarget *target, Oid database_oid, const char *database_name, Oid role_oid, const char *role_name)
{
	const char *host = local_host();
	bool		is_socket;

	if (host == NULL)
		return "this server accepts no connections: both unix_socket_directories and listen_addresses are empty";
	is_socket = host[0] == '/' || host[0] == '@';
	target->local = true;
	target->role_oid = role_oid;
	target->database_oid = database_oid;
	target->server_start_us = PgStartTime +
		(int64) (POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * USECS_PER_DAY;
	target->connect_timeout_ns = NN_CONNECT_TIMEOUT_S * NN_NS_PER_S;
	if (nn_target_add(target, "host", host) &&
		nn_target_add(target, "port", GetConfigOption("port", false, false)) &&
		nn_target_add(target, "dbname", database_name) &&
		nn_target_add(target, "user", role_name) &&
		nn_target_add(target, "options", NN_SESSION_OPTIONS) &&
		nn_target_add(target, "passfile", NN_NO_PASSFILE) &&
		nn_target_add(target, "gssencmode", "disable") &&
		nn_target_add(target, "sslmode", is_socket ? "disable" : "allow"))
		return NULL;
	return "out of memory";
}

static void
set_local(NnWorker *worker, NnTarget *target)
{
	const NnRequest *request = &worker->shared->request;
	const char *reason = nn_workload_target_local(target, request->database_oid, request->database_name,
												  request->role_oid, request->role_name);

	if (reason != NULL)
		nn_worker_fail(worker, ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE, reason, NULL, NULL);
}

static void
set_remote(NnWorker *worker, NnTarget *target, const char *conninfo)
{
	char		error[NN_CONNECTION_MESSAGE_LEN];
	const char *timeout;
	int			timeout_s = 0;

	if (!nn_target_add_conninfo(target, conninfo, error, sizeof(error)))
		nn_worker_fail(worker, ERRCODE_INVALID_PARAMETER_VALUE,
					   "argument \"conninfo\" is not a valid connection string", NULL, NULL);
	timeout = nn_target_get(target, "connect_timeout");
	if (timeout != NULL)
		timeout_s = atoi(timeout);
	if (timeout_s <= 0)
		timeout_s = NN_CONNECT_TIMEOUT_S;
	target->connect_timeout_ns = (uint64) timeout_s * NN_NS_PER_S;
}

void
nn_workload_target(NnWorker *worker, NnTarget *target)
{
	NnShared   *shared = worker->shared;
	const char *conninfo = nn_shared_conninfo(shared);
	int64		run_id;

	SpinLockAcquire(&shared->mutex);
	run_id = shared->run_id;
	SpinLockRelease(&shared->mutex);

	nn_target_forget_environment();
	if (conninfo == NULL)
		set_local(worker, target);
	else
		set_remote(worker, target, conninfo);
	if (!nn_target_add(target, "application_name", psprintf(NN_NAME " run=" INT64_FORMAT, run_id)))
		nn_worker_fail(worker, ERRCODE_OUT_OF_MEMORY, "out of memory", NULL, NULL);

	switch (shared->request.query_mode)
	{
		case NN_QUERY_SIMPLE:
			target->mode = NN_SEND_SIMPLE;
			break;
		case NN_QUERY_EXTENDED:
			target->mode = NN_SEND_EXTENDED;
			break;
		case NN_QUERY_PREPARED:
			target->mode = NN_SEND_PREPARED;
			break;
	}
}
