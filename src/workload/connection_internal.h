/*-------------------------------------------------------------------------
 *
 * connection_internal.h
 *	  What the files of the connection's state machine share.  For connection*.c only.
 *
 *-------------------------------------------------------------------------
 */
#ifndef NN_CONNECTION_INTERNAL_H
#define NN_CONNECTION_INTERNAL_H

#include "workload/connection.h"

struct pg_result;

/* connection.c */
extern void nn_connection_set_failure(NnConnection *c, NnFailureKind kind,
									  const char *sqlstate, const char *message);
extern NnConnectionEvent nn_connection_give_up(NnConnection *c);
extern NnConnectionEvent nn_connection_sent(NnConnection *c, int result);
extern NnConnectionEvent nn_connection_send(NnConnection *c, const char *query);

/* connection_setup.c */
extern NnConnectionEvent nn_connection_set_up(NnConnection *c);
extern NnConnectionEvent nn_connection_set_up_done(NnConnection *c);
extern void nn_connection_set_up_result(NnConnection *c, const struct pg_result *result);

/* connection_target.c */
extern void nn_target_strip_secrets(const NnTarget *target, char *message);

#endif							/* NN_CONNECTION_INTERNAL_H */
