/*-------------------------------------------------------------------------
 *
 * plan.h
 *	  The order of the blocks of a run.
 *
 *-------------------------------------------------------------------------
 */
#ifndef NN_PLAN_H
#define NN_PLAN_H

#include "server/shared.h"

/*
 * Number of blocks that nn_plan_make() makes of n_clients client counts, n_doses
 * levels above 0 and repeats.
 */
extern uint64 nn_plan_count(int n_clients, int n_doses, int repeats);

/*
 * Randomised complete blocks, bracketed by baselines.  For every client count and
 * repeat: baseline, every dose once in random order, baseline.  Two baselines meet between
 * repeats: these A/A pairs give the noise floor.  Without doses a repeat is one baseline.
 * The order depends on the seed alone.  plan has room for nn_plan_count() blocks.
 */
extern void nn_plan_make(const int32 *clients, int n_clients, const double *doses, int n_doses,
						 int repeats, uint64 seed, NnPlanBlock *plan);

#endif							/* NN_PLAN_H */
