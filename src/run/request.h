/*-------------------------------------------------------------------------
 *
 * request.h
 *	  From the arguments of noisy_run() to a complete, checked request.
 *
 *-------------------------------------------------------------------------
 */
#ifndef NN_REQUEST_H
#define NN_REQUEST_H

#include "host/topology.h"
#include "server/arguments.h"
#include "server/shared.h"

/* Arguments as the SQL functions have them. NULL pointers are SQL NULLs. */
typedef struct NnRunArgs
{
	Oid			function;		/* the SQL function: tells the extension's
								 * schema */
	bool		noise_only;		/* noisy_load(): no workload, one block */
	char	   *workload;
	ArrayType  *clients;
	ArrayType  *levels;
	ArrayType  *noise;
	Jsonb	   *noise_options;
	Interval   *duration;
	Interval   *warmup;
	int			repeats;
	bool		has_rate;
	double		rate;
	char	   *query_mode;
	bool		has_threads;
	int			threads;
	char	   *conninfo;
	char	   *label;
	Jsonb	   *options;
	bool		wait;

	/*
	 * Called with what a run has left when it is completed, while it can
	 * still be read.  Who waits with this waits anywhere in a query, and
	 * keeps its snapshot.
	 */
	void		(*see) (NnShared *shared, void *arg);
	void	   *see_arg;
} NnRunArgs;

/* A request with what hangs on it, all in the current memory context. */
typedef struct NnRunPlan
{
	NnRequest	request;
	NnPlanBlock *blocks;
	NnLoadThread *load_threads;
	char	   *parameters;		/* jsonb as text, without credentials */
	NnTopology	host;
} NnRunPlan;

/*
 * Check everything that can be checked without starting anything, fill in the defaults
 * and make the plan.  Raises an error that names the argument.
 */
extern void nn_request_build(const NnRunArgs *args, NnRunPlan *plan);

/* noise_options and noise; see noise_request.c */
extern void nn_request_noise(const NnRunArgs *args, bool any_dose, NnRunPlan *plan);

#define NN_MAX_BLOCKS	2000	/* as many as the statistics take, see
								 * api/arrays.h */

/*
 * options; see options.c.  Returns the number of repeats to plan, the most that there can be.  max_repeats of
 * the request is -1 where the default is wanted.
 */
extern int	nn_request_options(const NnRunArgs *args, int n_doses, NnRequest *request);

/* The option "lock_probe"; see lock_option.c */
extern void nn_request_lock_probe(const JsonbValue *value, NnRequest *request);

#endif							/* NN_REQUEST_H */
