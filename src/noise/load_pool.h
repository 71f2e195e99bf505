/*-------------------------------------------------------------------------
 *
 * load_pool.h
 *	  The load threads of one noise worker.
 *
 * The main thread of the worker owns the pool; its functions are called there only.
 *
 *-------------------------------------------------------------------------
 */
#ifndef NN_LOAD_POOL_H
#define NN_LOAD_POOL_H

#include "postgres.h"

#include "server/shared.h"

typedef struct NnLoadPool NnLoadPool;

typedef enum NnPoolState
{
	NN_POOL_BUSY,				/* threads are creating their state or carry
								 * out the order */
	NN_POOL_READY,				/* all wait for an order */
	NN_POOL_FAILED				/* a thread could not create its state */
} NnPoolState;

/* A pool for the load threads whose process is "process", in the current memory context. */
extern NnLoadPool *nn_load_pool_create(NnShared *shared, int process);

/* Start the threads.  0 or an errno; threads that have been started run on until the stop. */
extern int	nn_load_pool_start(NnLoadPool *pool);
extern int	nn_load_pool_threads(const NnLoadPool *pool);

/* On failure "stressor" is the name of it and "error" the reason. */
extern NnPoolState nn_load_pool_state(NnLoadPool *pool, const char **stressor, const char **error);

/* Let the threads carry out an order; the pool must be ready, and is busy until they have. */
extern void nn_load_pool_order(NnLoadPool *pool, const NnOrder *order);

/* End all threads and wait for them, within a bound.  May be called more than once. */
extern void nn_load_pool_stop(NnLoadPool *pool);

#endif							/* NN_LOAD_POOL_H */
