/*-------------------------------------------------------------------------
 *
 * team.h
 *	  The threads of a trial.
 *
 * The main thread starts a team, waits until nn_team_state() says that all are idle, gives
 * a window, waits again, and takes the values.  It never waits in here.
 *
 *-------------------------------------------------------------------------
 */
#ifndef NN_TEAM_H
#define NN_TEAM_H

#include "postgres.h"

#include <pthread.h>

#include "calibrate/probe.h"

typedef struct NnTeam NnTeam;

typedef enum NnTeamState
{
	NN_TEAM_BUSY,
	NN_TEAM_IDLE,
	NN_TEAM_FAILED,				/* nn_team_error() says why */
	NN_TEAM_ENDED				/* every thread has gone */
} NnTeamState;

/* NULL with the reason in error when the threads can't be started. */
extern NnTeam *nn_team_start(const NnProbe *probe, const NnProbeOptions *options, NnTrial *trial, void *common,
							 const atomic_bool *stop, char *error);
extern NnTeamState nn_team_state(NnTeam *team);
extern const char *nn_team_error(NnTeam *team);

/* Have every thread measure in the window; only while all are idle. */
extern void nn_team_measure(NnTeam *team, const NnWindow *window);

/* The figures of the window that ended last: values[trial->n_figures]. Only while all are idle. */
extern void nn_team_values(NnTeam *team, double *values);

/* Have every thread give back its state and end; nn_team_state() tells when they have. */
extern void nn_team_dismiss(NnTeam *team);

/* Give back the memory of a team that has ended. */
extern void nn_team_free(NnTeam *team);

/* The same for a probe's open(), which may take long. */
typedef struct NnOpening NnOpening;

extern NnOpening *nn_opening_start(const NnProbe *probe, const NnProbeOptions *options, const atomic_bool *stop,
								   char *error);

/* True when it has ended; then *common is what it returned, error the reason where that is NULL, and the memory given back. */
extern bool nn_opening_ended(NnOpening *opening, void **common, char *error);

#endif							/* NN_TEAM_H */
