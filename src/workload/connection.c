/*-------------------------------------------------------------------------
 *
 * connection.c
 *	  One client connection: a state machine over asynchronous libpq.  See connection.h.
 *
 * Together with connection_setup.c and connection_target.c this is all that speaks with libpq.  Nothing
 * of the server is called: it runs in client threads.
 *
 * The path of a statement is kept short, because the driver competes with the server for the CPUs: one
 * send, one wait, one receive; no text is formatted that the protocol does not need; the only
 * memory that is allocated is libpq's own.
 *
 *-------------------------------------------------------------------------
 */
#include "workload/connection.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libpq-fe.h>

#include "workload/connection_internal.h"
#include "workload/poller.h"

#define MAX_STATEMENT_BYTES 8192

/* --- messages --- */

/*
 * Take the SQLSTATE out of libpq's verbose message ("FATAL:  53300: sorry …") and
 * drop the line with the place in the source, so that people read what they are used to.
 */
static void
take_sqlstate(char *message, char *sqlstate)
{
	char	   *line = message;

	sqlstate[0] = '\0';
	for (char *at = strstr(message, ":  "); at != NULL; at = strstr(at + 1, ":  "))
	{
		if (strspn(at + 3, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ") == 5 &&
			at[8] == ':' && at[9] == ' ')
		{
			memcpy(sqlstate, at + 3, 5);
			sqlstate[5] = '\0';
			memmove(at + 3, at + 10, strlen(at + 10) + 1);
			break;
		}
	}

	while (line != NULL)
	{
		char	   *next = strchr(line, '\n');
		char	   *place = strstr(line, ".c:");

		if (sqlstate[0] != '\0' && line != message && place != NULL &&
			(next == NULL || place < next))
		{
			*line = '\0';
			break;
		}
		line = next ? next + 1 : NULL;
	}
}

/* One line out of several: every run of blanks becomes one blank, those at the end go. */
static void
join_lines(char *message)
{
	char	   *to = message;

	for (const char *from = message; *from != '\0'; from++)
	{
		bool		blank = strchr(" \t\r\n", *from) != NULL;

		if (!blank)
			*to++ = *from;
		else if (to > message && to[-1] != ' ')
			*to++ = ' ';
	}
	if (to > message && to[-1] == ' ')
		to--;
	*to = '\0';
}

void
nn_connection_set_failure(NnConnection *c, NnFailureKind kind,
						  const char *sqlstate, const char *message)
{
	NnConnectionFailure *failure = &c->failure;

	failure->kind = kind;
	failure->wants_password = false;
	snprintf(failure->sqlstate, sizeof(failure->sqlstate), "%s", sqlstate ? sqlstate : "");
	snprintf(failure->message, sizeof(failure->message), "%s", message);
}

/* Close the socket; the failure has been set. */
NnConnectionEvent
nn_connection_give_up(NnConnection *c)
{
	PQfinish(c->conn);
	c->conn = NULL;
	c->fd = -1;
	c->wants = 0;
	c->state = NN_CONNECTION_FAILED;
	return NN_EVENT_FAILED;
}

/* The connection attempt failed, or the connection broke: libpq knows why. */
static NnConnectionEvent
lose(NnConnection *c)
{
	char		message[4 * NN_CONNECTION_MESSAGE_LEN]; /* room for what is
														 * taken out */
	char		sqlstate[6];
	bool		connecting = c->state == NN_CONNECTION_CONNECTING;
	bool		wants_password = PQconnectionNeedsPassword(c->conn);

	snprintf(message, sizeof(message), "%s", PQerrorMessage(c->conn));
	nn_target_strip_secrets(c->target, message);
	take_sqlstate(message, sqlstate);
	join_lines(message);
	if (message[0] == '\0')
		snprintf(message, sizeof(message), "the connection was lost");

	/* The server's last words came as the result of the statement. */
	if (c->failed && c->error.kind == NN_ERROR_CONNECTION)
		snprintf(message, sizeof(message), "%s", c->error.message);
	nn_connection_set_failure(c, connecting ? NN_FAILURE_CONNECT : NN_FAILURE_LOST,
							  sqlstate, message);
	c->failure.wants_password = wants_password;
	c->error.kind = NN_ERROR_CONNECTION;
	snprintf(c->error.message, sizeof(c->error.message), "%s", c->failure.message);
	return nn_connection_give_up(c);
}

/* --- sending --- */

/* What libpq could not write at once is written when the socket allows. */
NnConnectionEvent
nn_connection_sent(NnConnection *c, int result)
{
	int			pending = result == 1 ? PQflush(c->conn) : -1;

	if (pending < 0)
		return lose(c);
	c->wants = pending > 0 ? NN_POLL_READ | NN_POLL_WRITE : NN_POLL_READ;
	return NN_EVENT_WAIT;
}

NnConnectionEvent
nn_connection_send(NnConnection *c, const char *query)
{
	c->failed = false;
	c->cancelled = false;
	return nn_connection_sent(c, PQsendQuery(c->conn, query));
}

static NnConnectionEvent
send_statement(NnConnection *c, const NnScriptStep *step)
{
	const NnScript *script = c->target->script;
	const NnScriptPlace *places = script->places + step->first_place;
	const char *parameters[NN_SCRIPT_MAX_PARAMETERS];
	char		statement[MAX_STATEMENT_BYTES];

	if (c->target->mode == NN_SEND_SIMPLE)
	{
		if (nn_script_interpolate(script, step, c->texts, statement, sizeof(statement)) >=
			(int) sizeof(statement))
			return nn_connection_sent(c, 0);
		return nn_connection_sent(c, PQsendQuery(c->conn, statement));
	}

	for (int i = 0; i < step->n_places; i++)
		parameters[i] = c->texts[places[i].variable];
	if (c->target->mode == NN_SEND_PREPARED)
		return nn_connection_sent(c, PQsendQueryPrepared(c->conn, step->prepared,
														 step->n_places, parameters,
														 NULL, NULL, 0));
	return nn_connection_sent(c, PQsendQueryParams(c->conn, nn_script_numbered(script, step),
												   step->n_places, NULL, parameters,
												   NULL, NULL, 0));
}

/* --- results --- */

static void
note_error(NnConnection *c, const PGresult *result)
{
	const char *sqlstate = PQresultErrorField(result, PG_DIAG_SQLSTATE);
	const char *severity = PQresultErrorField(result, PG_DIAG_SEVERITY_NONLOCALIZED);
	const char *primary = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
	NnError    *error = &c->error;

	if (c->failed)
		return;					/* the first one counts */
	c->failed = true;
	if (severity != NULL && (strcmp(severity, "FATAL") == 0 || strcmp(severity, "PANIC") == 0))
		error->kind = NN_ERROR_CONNECTION;
	else if (sqlstate != NULL && strcmp(sqlstate, "40001") == 0)
		error->kind = NN_ERROR_SERIALIZATION;
	else if (sqlstate != NULL && strcmp(sqlstate, "40P01") == 0)
		error->kind = NN_ERROR_DEADLOCK;
	else
		error->kind = NN_ERROR_OTHER;
	if (primary == NULL)
		primary = PQresultErrorMessage(result);
	if (sqlstate != NULL)
		snprintf(error->message, sizeof(error->message), "%s (SQLSTATE %s)", primary, sqlstate);
	else
		snprintf(error->message, sizeof(error->message), "%s", primary);
	nn_target_strip_secrets(c->target, error->message);
	if (nn_connection_is_setting_up(c))
		nn_connection_set_failure(c, NN_FAILURE_SET_UP, sqlstate, error->message);
}

/* False: the connection cannot be used any more. */
static bool
take_result(NnConnection *c, const PGresult *result)
{
	switch (PQresultStatus(result))
	{
		case PGRES_TUPLES_OK:
			if (nn_connection_is_setting_up(c))
				nn_connection_set_up_result(c, result);
			return true;
		case PGRES_COMMAND_OK:
		case PGRES_EMPTY_QUERY:
			return true;
		case PGRES_COPY_IN:
		case PGRES_COPY_OUT:
		case PGRES_COPY_BOTH:
			return false;		/* nobody is there to copy to or from */
		default:
			note_error(c, result);
			return true;
	}
}

static void
ignore_notice(void *arg, const PGresult *result)
{
	(void) arg;
	(void) result;
}

static NnConnectionEvent
advance_connecting(NnConnection *c)
{
	PostgresPollingStatusType status = PQconnectPoll(c->conn);

	c->fd = PQsocket(c->conn);
	switch (status)
	{
		case PGRES_POLLING_READING:
			c->wants = NN_POLL_READ;
			return NN_EVENT_WAIT;
		case PGRES_POLLING_WRITING:
			c->wants = NN_POLL_WRITE;
			return NN_EVENT_WAIT;
		case PGRES_POLLING_OK:
			break;
		default:
			return lose(c);
	}
	(void) PQsetErrorVerbosity(c->conn, PQERRORS_DEFAULT);
	if (PQsetnonblocking(c->conn, 1) != 0)
		return lose(c);
	return nn_connection_set_up(c);
}

/* --- transactions --- */

/* After an error: make the connection fit for the next transaction. */
static NnConnectionEvent
fail_transaction(NnConnection *c)
{
	if (PQtransactionStatus(c->conn) == PQTRANS_IDLE)
	{
		c->state = NN_CONNECTION_IDLE;
		return NN_EVENT_ERROR;
	}
	c->state = NN_CONNECTION_ROLLING_BACK;
	return nn_connection_send(c, "ROLLBACK");
}

/* Compute and send from c->step on, up to the next statement; after the last one it has committed. */
static NnConnectionEvent
run_step(NnConnection *c)
{
	const NnScript *script = c->target->script;

	for (; c->step < script->n_steps; c->step++)
	{
		const NnScriptStep *step = &script->steps[c->step];

		if (step->kind == NN_STEP_STATEMENT)
		{
			c->failed = false;
			return send_statement(c, step);
		}
		if (!nn_script_evaluate(script, step, c->values, &c->random,
								&c->values[step->variable]))
		{
			c->error.kind = NN_ERROR_OTHER;
			snprintf(c->error.message, sizeof(c->error.message),
					 "the expression of variable \"%s\" has no value",
					 script->variables[step->variable]);
			return fail_transaction(c);
		}
		nn_script_format(c->texts[step->variable], c->values[step->variable]);
	}
	c->state = NN_CONNECTION_IDLE;
	return NN_EVENT_COMMITTED;
}

/* The server is ready for the next query: all results of the last one have come. */
static NnConnectionEvent
query_done(NnConnection *c)
{
	if (PQstatus(c->conn) != CONNECTION_OK ||
		(c->failed && c->error.kind == NN_ERROR_CONNECTION))
		return lose(c);

	switch (c->state)
	{
		case NN_CONNECTION_RUNNING:
			if (c->failed)
				return fail_transaction(c);
			c->step++;
			return run_step(c);
		case NN_CONNECTION_ROLLING_BACK:
			if (c->failed)
				return lose(c);
			c->state = NN_CONNECTION_IDLE;
			return NN_EVENT_ERROR;
		case NN_CONNECTION_SETTING_UP:
		case NN_CONNECTION_SURVEYING:
		case NN_CONNECTION_PREPARING:
			return nn_connection_set_up_done(c);
		default:
			return NN_EVENT_WAIT;	/* IDLE: nothing was asked for */
	}
}

/* --- for the driver --- */

void
nn_connection_init(NnConnection *c, const NnTarget *target)
{
	memset(c, 0, sizeof(*c));
	c->target = target;
	c->fd = -1;
	c->state = NN_CONNECTION_CLOSED;
}

/* Start to connect; CLOSED or FAILED. */
NnConnectionEvent
nn_connection_open(NnConnection *c, uint64_t now_ns)
{
	const NnTarget *target = c->target;

	c->failure.kind = NN_FAILURE_NONE;
	c->failed = false;
	c->error.message[0] = '\0';
	c->since_ns = now_ns;
	c->state = NN_CONNECTION_CONNECTING;
	c->conn = PQconnectStartParams((const char *const *) target->keywords,
								   (const char *const *) target->values,
								   0);
	if (c->conn == NULL)
	{
		nn_connection_set_failure(c, NN_FAILURE_CONNECT, "53200", "out of memory");
		c->state = NN_CONNECTION_FAILED;
		return NN_EVENT_FAILED;
	}

	/*
	 * Verbose messages are the only ones that carry the SQLSTATE of a
	 * refusal.
	 */
	(void) PQsetErrorVerbosity(c->conn, PQERRORS_VERBOSE);
	(void) PQsetNoticeReceiver(c->conn, ignore_notice, NULL);
	c->fd = PQsocket(c->conn);
	c->wants = NN_POLL_WRITE;
	if (PQstatus(c->conn) == CONNECTION_BAD || c->fd < 0)
		return lose(c);
	return NN_EVENT_WAIT;
}

/* The socket is ready for what the connection wants, or an error is to be read from it. */
NnConnectionEvent
nn_connection_advance(NnConnection *c)
{
	if (c->conn == NULL)
		return NN_EVENT_WAIT;
	if (c->state == NN_CONNECTION_CONNECTING)
		return advance_connecting(c);
	if (c->wants & NN_POLL_WRITE)
	{
		int			pending = PQflush(c->conn);

		if (pending < 0)
			return lose(c);
		if (pending == 0)
			c->wants = NN_POLL_READ;
	}
	if (!PQconsumeInput(c->conn))
		return lose(c);
	while (!PQisBusy(c->conn))
	{
		PGresult   *result = PQgetResult(c->conn);
		bool		usable;

		if (result == NULL)
			return query_done(c);
		usable = take_result(c, result);
		PQclear(result);
		if (!usable)
			return lose(c);
	}
	return NN_EVENT_WAIT;
}

/* Begin a transaction; IDLE. */
NnConnectionEvent
nn_connection_begin(NnConnection *c)
{
	c->values[NN_SCRIPT_SCALE] = c->scale;
	nn_script_format(c->texts[NN_SCRIPT_SCALE], c->scale);
	c->step = 0;
	c->state = NN_CONNECTION_RUNNING;
	return run_step(c);
}

/*
 * Make the statement in flight end soon, without waiting for that.  On this server a signal does
 * it, as pg_cancel_backend() would; elsewhere a request could block for as long as the
 * network likes, so that closing the connection has to do.  Before it is set up, nobody knows that it is this
 * server that said which process to signal.
 */
void
nn_connection_cancel(NnConnection *c)
{
	if (c->conn == NULL || !c->target->local || c->state == NN_CONNECTION_CONNECTING ||
		c->state == NN_CONNECTION_SETTING_UP || c->state == NN_CONNECTION_IDLE || PQbackendPID(c->conn) <= 0)
		return;
	(void) kill(PQbackendPID(c->conn), SIGINT);
	c->cancelled = true;
}

/* Setting up has taken too long. */
NnConnectionEvent
nn_connection_expire(NnConnection *c, uint64_t now_ns)
{
	/* A VACUUM that waits for a lock is not worth a failure. */
	if (c->state == NN_CONNECTION_SURVEYING && c->target->local && !c->cancelled)
	{
		nn_connection_cancel(c);
		c->since_ns = now_ns;
		return NN_EVENT_WAIT;
	}
	nn_connection_set_failure(c, NN_FAILURE_TIMEOUT, NULL,
							  c->state == NN_CONNECTION_CONNECTING ?
							  "The server did not answer in time." :
							  "The server did not answer a query of the set-up in time.");
	return nn_connection_give_up(c);
}

void
nn_connection_close(NnConnection *c)
{
	PQfinish(c->conn);
	c->conn = NULL;
	c->fd = -1;
	c->wants = 0;
	c->state = NN_CONNECTION_CLOSED;
}

int
nn_connection_backend_pid(const NnConnection *c)
{
	return c->conn != NULL && c->target->local ? PQbackendPID(c->conn) : 0;
}
