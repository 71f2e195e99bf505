/*-------------------------------------------------------------------------
 *
 * environment.h
 *	  Host and server that a run was made on.
 *
 *-------------------------------------------------------------------------
 */
#ifndef NN_ENVIRONMENT_H
#define NN_ENVIRONMENT_H

#include "host/host.h"

/* noisy_runs.environment: a json object as text, palloc'd. What is not known is null. */
extern char *nn_environment_describe(const NnHostRoot *root);

#endif							/* NN_ENVIRONMENT_H */
