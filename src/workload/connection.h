/*-------------------------------------------------------------------------
 *
 * connection.h
 *	  One client connection: a state machine over asynchronous libpq.
 *
 * A connection never blocks (but for the look-up of a host's name by libpq). Whoever
 * drives it waits until the socket is ready for what the connection "wants", calls
 * nn_connection_advance(), and acts on the event that comes back.  What to do next (another
 * transaction, another attempt to connect) and when is the driver's decision; what the protocol
 * does is decided here.
 *
 *	CLOSED --open--> CONNECTING --> SETTING_UP --> SURVEYING --> PREPARING --> IDLE
 *	IDLE --begin--> RUNNING --> IDLE               a transaction
 *	RUNNING --error--> ROLLING_BACK --> IDLE       a failed one
 *	any --lost--> FAILED --open--> CONNECTING
 *
 * A NnConnection belongs to one thread, with all that libpq allocates for it; the NnTarget and the NnScript
 * are shared by all threads and don't change while there are any.  No locks.
 *
 *-------------------------------------------------------------------------
 */
#ifndef NN_CONNECTION_H
#define NN_CONNECTION_H

#include <stdbool.h>
#include <stdint.h>

#include "core/random.h"
#include "workload/script.h"

#define NN_TARGET_MAX_OPTIONS	64
#define NN_CONNECTION_MESSAGE_LEN 512

typedef enum NnSendMode
{
	NN_SEND_SIMPLE,				/* values are written into the statement */
	NN_SEND_EXTENDED,			/* values apart; parsed every time */
	NN_SEND_PREPARED			/* parsed once per connection */
} NnSendMode;

/* Where to connect, and what to do there. Filled by the main thread, then constant. */
typedef struct NnTarget
{
	int			n_options;
	char	   *keywords[NN_TARGET_MAX_OPTIONS + 1];	/* from malloc;
														 * NULL-terminated */
	char	   *values[NN_TARGET_MAX_OPTIONS + 1];
	bool		local;			/* this server: settings are made, statements
								 * cancelled by signal */
	uint32_t	role_oid;		/* expected where local */
	uint32_t	database_oid;
	int64_t		server_start_us;	/* of the postmaster, Unix time; expected
									 * where local */
	uint64_t	connect_timeout_ns;
	NnSendMode	mode;
	const NnScript *script;
} NnTarget;

typedef enum NnConnectionState
{
	/* No socket, nothing in flight.  To CONNECTING by nn_connection_open(). */
	NN_CONNECTION_CLOSED,

	/* libpq is connecting or authenticating.  To SETTING_UP, or FAILED. */
	NN_CONNECTION_CONNECTING,

	/*
	 * Settings and the check of who we are, one query, in flight (this server
	 * only).
	 */
	NN_CONNECTION_SETTING_UP,

	/*
	 * The connection that looks at the tables: query number "step" of the
	 * survey in flight.
	 */
	NN_CONNECTION_SURVEYING,

	/* Statement "step" is being prepared.  To the next one, then IDLE. */
	NN_CONNECTION_PREPARING,

	/*
	 * Connected, no transaction, nothing in flight.  To RUNNING by
	 * nn_connection_begin().
	 */
	NN_CONNECTION_IDLE,

	/*
	 * Statement "step" of a transaction in flight.  To the next one; IDLE
	 * after the last.
	 */
	NN_CONNECTION_RUNNING,

	/* A statement failed and its transaction is being rolled back.  To IDLE. */
	NN_CONNECTION_ROLLING_BACK,

	/*
	 * The attempt failed or the connection was lost; no socket; "failure"
	 * says why.
	 */
	NN_CONNECTION_FAILED
} NnConnectionState;

typedef enum NnConnectionEvent
{
	NN_EVENT_WAIT,				/* go on waiting */
	NN_EVENT_READY,				/* it got IDLE for the first time */
	NN_EVENT_COMMITTED,			/* the transaction has ended; IDLE */
	NN_EVENT_ERROR,				/* the transaction has failed, "error" says
								 * how; IDLE */
	NN_EVENT_FAILED				/* FAILED; an unfinished transaction is lost */
} NnConnectionEvent;

typedef enum NnErrorKind
{
	NN_ERROR_SERIALIZATION,		/* 40001 */
	NN_ERROR_DEADLOCK,			/* 40P01 */
	NN_ERROR_CONNECTION,		/* lost */
	NN_ERROR_OTHER
} NnErrorKind;

#define NN_ERROR_KINDS	(NN_ERROR_OTHER + 1)

/* An error of a transaction. */
typedef struct NnError
{
	NnErrorKind kind;
	char		message[NN_CONNECTION_MESSAGE_LEN];
} NnError;

typedef enum NnFailureKind
{
	NN_FAILURE_NONE,
	NN_FAILURE_CONNECT,			/* refused, unreachable, not let in */
	NN_FAILURE_TIMEOUT,			/* no connection within the time */
	NN_FAILURE_ELSEWHERE,		/* connected, but not as whom or to where it
								 * was meant */
	NN_FAILURE_SET_UP,			/* a query of the set-up failed */
	NN_FAILURE_NO_TABLE,
	NN_FAILURE_NO_PRIVILEGE,
	NN_FAILURE_NO_ROWS,			/* pgbench_branches is empty */
	NN_FAILURE_LOST				/* a connection that had been there */
} NnFailureKind;

/* Why there is no connection. */
typedef struct NnConnectionFailure
{
	NnFailureKind kind;
	bool		wants_password;
	char		sqlstate[6];	/* empty: the server gave none */
	char		message[NN_CONNECTION_MESSAGE_LEN]; /* without passwords */
} NnConnectionFailure;

typedef struct NnConnection
{
	/* set by the driver */
	const NnTarget *target;
	bool		surveyor;		/* looks at the tables when it has connected,
								 * until scale is known */
	int64_t		scale;			/* > 0 before a transaction begins */
	NnRandom	random;

	/* read by the driver */
	NnConnectionState state;
	int			fd;				/* -1: none */
	int			wants;			/* NN_POLL_* bits */
	uint64_t	since_ns;		/* since when it has been setting up */
	NnError		error;
	NnConnectionFailure failure;

	/* its own */
	struct pg_conn *conn;
	int			step;
	bool		failed;			/* the query in flight has failed */
	bool		cancelled;		/* the query in flight was told to end */
	int64_t		values[NN_SCRIPT_MAX_VARIABLES];
	char		texts[NN_SCRIPT_MAX_VARIABLES][NN_SCRIPT_VALUE_LEN];
} NnConnection;

/* --- target: main thread, before there are others --- */
extern bool nn_target_add(NnTarget *target, const char *keyword, const char *value);
extern bool nn_target_add_conninfo(NnTarget *target, const char *conninfo,
								   char *error, int error_size);
extern const char *nn_target_get(const NnTarget *target, const char *keyword);
extern void nn_target_forget_environment(void);

/* --- connection --- */
extern void nn_connection_init(NnConnection *c, const NnTarget *target);
extern NnConnectionEvent nn_connection_open(NnConnection *c, uint64_t now_ns);
extern NnConnectionEvent nn_connection_advance(NnConnection *c);
extern NnConnectionEvent nn_connection_begin(NnConnection *c);
extern void nn_connection_cancel(NnConnection *c);
extern NnConnectionEvent nn_connection_expire(NnConnection *c, uint64_t now_ns);
extern void nn_connection_close(NnConnection *c);

/* Process that serves the connection on this server; 0 elsewhere, or where there is none. */
extern int	nn_connection_backend_pid(const NnConnection *c);

/* Is a socket open, and something awaited from the server? */
static inline bool
nn_connection_is_setting_up(const NnConnection *c)
{
	return c->state >= NN_CONNECTION_CONNECTING && c->state <= NN_CONNECTION_PREPARING;
}

static inline bool
nn_connection_is_busy(const NnConnection *c)
{
	return c->state == NN_CONNECTION_RUNNING || c->state == NN_CONNECTION_ROLLING_BACK;
}

#endif							/* NN_CONNECTION_H */
