/*-------------------------------------------------------------------------
 *
 * ensemble.h
 *	  The workers of a run, as the conductor leads them.
 *
 * Functions that return false do so because the run is to end: by a failure, which is then in
 * "failure", or by a stop request.
 *
 *-------------------------------------------------------------------------
 */
#ifndef NN_ENSEMBLE_H
#define NN_ENSEMBLE_H

#include "server/worker.h"

#define NN_START_BOUND_NS	(60 * NN_NS_PER_S)	/* to start workers and
												 * connect clients */
#define NN_ANSWER_BOUND_NS	(15 * NN_NS_PER_S)	/* to answer after the end of
												 * a block */

typedef struct NnEnsemble
{
	dsm_segment *segment;
	NnShared   *shared;
	BackgroundWorkerHandle **handles;
	int			n_handles;		/* workers registered */
	int			clients;		/* connected by the last PREPARE; -1: none */
	bool		relation_changed;	/* an invalidation came: look whether our
									 * tables are still there */
	NnFailure	failure;		/* of this run; the first one counts */
	NnRunState	end_state;		/* that the failure asks for */
} NnEnsemble;

/* Register every worker, or none, and wait until they are ready. */
extern bool nn_ensemble_start(NnEnsemble *ensemble);

/* Have exactly so many clients connected. */
extern bool nn_ensemble_connect(NnEnsemble *ensemble, int clients);

/* Give out the order in shared->order and wait until all have carried it out, or bound_ns has passed. */
extern bool nn_ensemble_play(NnEnsemble *ensemble, uint64 bound_ns);

/* Do nothing until until_ns. */
extern bool nn_ensemble_rest(NnEnsemble *ensemble, uint64 until_ns);

/* Send the workers home and wait until they have gone. */
extern void nn_ensemble_end(NnEnsemble *ensemble);

/* Wake the workers and the waiting caller. */
extern void nn_ensemble_wake(NnShared *shared);

/* Are our tables still there?  Outside a transaction. */
extern bool nn_ensemble_check_tables(NnEnsemble *ensemble);

/* The phase that noisy_progress shows. */
extern void nn_ensemble_set_phase(NnShared *shared, const char *phase);

/* Note why the run ends; the first reason counts.  Returns false, for the caller to return. */
extern bool nn_ensemble_give_up(NnEnsemble *ensemble, NnRunState state, int sqlerrcode,
								const char *detail, const char *fmt,...) pg_attribute_printf(5, 6);

#endif							/* NN_ENSEMBLE_H */
