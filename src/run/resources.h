/*-------------------------------------------------------------------------
 *
 * resources.h
 *	  Background worker slots and connections that a run needs.
 *
 *-------------------------------------------------------------------------
 */
#ifndef NN_RESOURCES_H
#define NN_RESOURCES_H

#include "server/shared.h"

/*
 * Count slots and connections, raise an error that names the setting where they don't
 * suffice, and spread the load threads over as many noise workers as slots allow.
 * local: the clients connect to this server.
 */
extern void nn_resources_check(NnRequest *request, NnLoadThread *load_threads, bool local);

/* The error for slots, as the conductor needs it too: it finds out for certain. */
extern void nn_resources_slots_failure(int needed, int free, NnFailure *failure);

#endif							/* NN_RESOURCES_H */
