/*-------------------------------------------------------------------------
 *
 * connection_setup.c
 *	  What a connection does before its first transaction.
 *
 * Settings and identity (this server only), the survey of the tables (one connection of the
 * run), the prepared statements.  Part of the state machine of connection.c, for the states
 * SETTING_UP, SURVEYING and PREPARING; runs in client threads.
 *
 *-------------------------------------------------------------------------
 */
#include "workload/connection.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libpq-fe.h>

#include "workload/connection_internal.h"

/* Queries of the survey. */
enum
{
	SURVEY_NEEDS,
	SURVEY_SCALE,
	SURVEY_VACUUM_BRANCHES,
	SURVEY_VACUUM_TELLERS
};

/*
 * Is it the server, database and role that were meant?  A socket that another server listens on, or
 * a rule that maps us to somebody else, must not go unseen.
 */
#define SET_UP_QUERY \
	"SELECT r.oid, d.oid, (extract(epoch FROM pg_catalog.pg_postmaster_start_time())" \
	" OPERATOR(pg_catalog.*) 1000000)::pg_catalog.int8" \
	" FROM pg_catalog.pg_roles r, pg_catalog.pg_database d" \
	" WHERE r.rolname OPERATOR(pg_catalog.=) CURRENT_USER" \
	" AND d.datname OPERATOR(pg_catalog.=) pg_catalog.current_database()"

/*
 * The built-in scripts must find the server's own operators, whatever path a role's or database's
 * defaults give; tables are found by that path.
 */
#define OPERATORS_FIRST_QUERY \
	"SELECT pg_catalog.set_config('search_path', pg_catalog.concat('pg_catalog', CASE WHEN p OPERATOR(pg_catalog.<>) ''" \
	" THEN ', ' END, p), false) FROM pg_catalog.current_setting('search_path') p;"

static NnConnectionEvent prepare_step(NnConnection *c);

static void
check_identity(NnConnection *c, const PGresult *result)
{
	const NnTarget *target = c->target;

	if (PQnfields(result) != 3)
		return;					/* of the settings */
	if (PQntuples(result) == 1 &&
		strtoul(PQgetvalue(result, 0, 0), NULL, 10) == target->role_oid &&
		strtoul(PQgetvalue(result, 0, 1), NULL, 10) == target->database_oid &&
		strtoll(PQgetvalue(result, 0, 2), NULL, 10) == target->server_start_us)
		return;
	nn_connection_set_failure(c, NN_FAILURE_ELSEWHERE, NULL,
							  "The connection led to another server, database or role.");
	c->failed = true;
}

/* Names of tables that are not there go before privileges that are not held. */
static void
check_needs(NnConnection *c, const PGresult *result)
{
	char		missing[NN_CONNECTION_MESSAGE_LEN] = "";
	char		lacking[NN_CONNECTION_MESSAGE_LEN] = "";

	for (int i = 0; i < PQntuples(result); i++)
	{
		const char *table = PQgetvalue(result, i, 0);
		bool		there = PQgetvalue(result, i, 2)[0] == 't';
		char	   *list = there ? lacking : missing;
		size_t		used = strlen(list);

		if (there)
			snprintf(list + used, sizeof(missing) - used, "%s%s on %s", used ? ", " : "",
					 PQgetvalue(result, i, 1), table);
		else if (strstr(list, table) == NULL)
			snprintf(list + used, sizeof(missing) - used, "%s%s", used ? ", " : "", table);
	}
	if (missing[0] == '\0' && lacking[0] == '\0')
		return;
	if (missing[0] != '\0')
		nn_connection_set_failure(c, NN_FAILURE_NO_TABLE, NULL, missing);
	else
		nn_connection_set_failure(c, NN_FAILURE_NO_PRIVILEGE, NULL, lacking);
	c->failed = true;
}

static void
take_scale(NnConnection *c, const PGresult *result)
{
	c->scale = strtoll(PQgetvalue(result, 0, 0), NULL, 10);
	if (c->scale > 0)
		return;
	nn_connection_set_failure(c, NN_FAILURE_NO_ROWS, NULL, "pgbench_branches is empty");
	c->failed = true;
}

static NnConnectionEvent
get_idle(NnConnection *c)
{
	c->state = NN_CONNECTION_IDLE;
	return NN_EVENT_READY;
}

/* Send the survey's query number c->step; after the last one go on to prepare. */
static NnConnectionEvent
survey_step(NnConnection *c)
{
	const NnScriptNeed *need = c->target->script->needs;
	char		query[2048];
	int			used;

	c->state = NN_CONNECTION_SURVEYING;
	switch (c->step)
	{
		case SURVEY_NEEDS:
			used = snprintf(query, sizeof(query),
							"SELECT t, p, pg_catalog.to_regclass(t) IS NOT NULL FROM (VALUES ");
			for (int i = 0; need[i].table != NULL; i++)
				used += snprintf(query + used, sizeof(query) - used, "%s('%s','%s')",
								 i > 0 ? "," : "", need[i].table, need[i].privilege);
			snprintf(query + used, sizeof(query) - used,
					 ") n (t, p) WHERE pg_catalog.to_regclass(t) IS NULL OR NOT"
					 " pg_catalog.has_any_column_privilege(pg_catalog.to_regclass(t), p)");
			return nn_connection_send(c, query);
		case SURVEY_SCALE:
			return nn_connection_send(c, "SELECT pg_catalog.count(*) FROM pgbench_branches");
		case SURVEY_VACUUM_BRANCHES:
			return nn_connection_send(c, "VACUUM pgbench_branches");
		case SURVEY_VACUUM_TELLERS:
			return nn_connection_send(c, "VACUUM pgbench_tellers");
		default:
			c->surveyor = false;
			c->step = 0;
			return prepare_step(c);
	}
}

/* Prepare statement c->step or the next one after it; after the last one it is IDLE. */
static NnConnectionEvent
prepare_step(NnConnection *c)
{
	const NnScript *script = c->target->script;

	c->state = NN_CONNECTION_PREPARING;
	if (c->target->mode != NN_SEND_PREPARED)
		return get_idle(c);
	for (; c->step < script->n_steps; c->step++)
	{
		const NnScriptStep *step = &script->steps[c->step];

		if (step->kind != NN_STEP_STATEMENT)
			continue;
		c->failed = false;
		c->cancelled = false;
		return nn_connection_sent(c, PQsendPrepare(c->conn, step->prepared,
												   nn_script_numbered(script, step),
												   0, NULL));
	}
	return get_idle(c);
}

static NnConnectionEvent
survey_or_prepare(NnConnection *c)
{
	c->step = 0;
	if (c->surveyor && c->target->script->needs != NULL)
		return survey_step(c);
	return prepare_step(c);
}

/* Connected and let in: what is to be done first. */
NnConnectionEvent
nn_connection_set_up(NnConnection *c)
{
	char		query[2048];

	if (!c->target->local)
		return survey_or_prepare(c);
	c->state = NN_CONNECTION_SETTING_UP;
	snprintf(query, sizeof(query), "%s" SET_UP_QUERY,
			 c->target->script->needs != NULL ? OPERATORS_FIRST_QUERY : "");
	return nn_connection_send(c, query);
}

/* Rows of a query of the set-up. */
void
nn_connection_set_up_result(NnConnection *c, const PGresult *result)
{
	if (c->state == NN_CONNECTION_SETTING_UP)
		check_identity(c, result);
	else if (c->state == NN_CONNECTION_SURVEYING && c->step == SURVEY_NEEDS)
		check_needs(c, result);
	else if (c->state == NN_CONNECTION_SURVEYING && c->step == SURVEY_SCALE)
		take_scale(c, result);
}

/* A query of the set-up has ended. */
NnConnectionEvent
nn_connection_set_up_done(NnConnection *c)
{
	/* As with pgbench, a VACUUM that may not be done is done without. */
	bool		optional = c->state == NN_CONNECTION_SURVEYING && c->step >= SURVEY_VACUUM_BRANCHES;

	if (c->failed && !optional)
		return nn_connection_give_up(c);
	if (c->state == NN_CONNECTION_SETTING_UP)
		return survey_or_prepare(c);
	c->step++;
	return c->state == NN_CONNECTION_SURVEYING ? survey_step(c) : prepare_step(c);
}
