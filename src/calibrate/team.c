/*-------------------------------------------------------------------------
 *
 * team.c
 *	  The threads of a trial.  See team.h.
 *
 * One mutex guards all that main thread and members share; it is held for a few assignments only.  Memory is
 * malloc()ed, because members must not use the server's.  A team whose threads do not end (one may sit in
 * a request to a disk that does not answer) is left to the end of the process.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "calibrate/team.h"
#include "server/worker.h"

typedef struct NnMember
{
	NnTeam	   *team;
	int			number;
	pthread_t	thread;
	void	   *state;
	double		values[NN_MAX_FIGURES];
} NnMember;

struct NnTeam
{
	/* immutable */
	const NnProbe *probe;
	const NnProbeOptions *options;
	NnTrial    *trial;
	void	   *common;
	int			n;

	pthread_mutex_t mutex;
	pthread_cond_t ordered;
	int			started;		/* threads there are */
	int			idle;
	int			ended;
	int			order;			/* number of the window */
	bool		dismissed;
	NnWindow	window;
	char		error[NN_PROBE_ERROR_LEN];	/* empty: none */

	NnMember   *members;
};

struct NnOpening
{
	const NnProbe *probe;
	const NnProbeOptions *options;
	const atomic_bool *stop;
	pthread_t	thread;
	void	   *common;
	char		error[NN_PROBE_ERROR_LEN];
	atomic_bool ended;
};

/* Wait for the window after "order"; false: go home. */
static bool
await_window(NnTeam *team, int order, NnWindow *window)
{
	bool		dismissed;

	pthread_mutex_lock(&team->mutex);
	while (team->order == order && !team->dismissed)
		pthread_cond_wait(&team->ordered, &team->mutex);
	dismissed = team->dismissed;
	*window = team->window;
	pthread_mutex_unlock(&team->mutex);
	return !dismissed;
}

static void
report(NnTeam *team, int *counter, const char *error)
{
	pthread_mutex_lock(&team->mutex);
	(*counter)++;
	if (error && team->error[0] == '\0')
		snprintf(team->error, sizeof(team->error), "%s", error);
	pthread_mutex_unlock(&team->mutex);
}

static void *
member_main(void *arg)
{
	NnMember   *member = arg;
	NnTeam	   *team = member->team;
	char		error[NN_PROBE_ERROR_LEN] = "";
	NnWindow	window;

	member->state = team->probe->create(team->options, team->trial, member->number, team->common, error);
	if (member->state == NULL)
		report(team, &team->ended, error[0] ? error : "not known");
	else
	{
		report(team, &team->idle, NULL);
		for (int order = 0; await_window(team, order, &window); order++)
		{
			for (int i = 0; i < NN_MAX_FIGURES; i++)
				member->values[i] = NAN;
			while (nn_now_ns() < window.start_ns && !nn_window_stopped(&window))
				nn_sleep_until_ns(window.start_ns);
			team->probe->measure(member->state, &window, member->values);
			report(team, &team->idle, NULL);
		}
		team->probe->destroy(member->state);
		report(team, &team->ended, NULL);
	}
	return NULL;
}

NnTeam *
nn_team_start(const NnProbe *probe, const NnProbeOptions *options, NnTrial *trial, void *common,
			  const atomic_bool *stop, char *error)
{
	NnTeam	   *team = calloc(1, sizeof(NnTeam));

	(void) stop;
	if (team)
		team->members = calloc((size_t) trial->threads, sizeof(NnMember));
	if (team == NULL || team->members == NULL)
	{
		free(team);
		snprintf(error, NN_PROBE_ERROR_LEN, "out of memory");
		return NULL;
	}
	team->probe = probe;
	team->options = options;
	team->trial = trial;
	team->common = common;
	team->n = trial->threads;
	pthread_mutex_init(&team->mutex, NULL);
	pthread_cond_init(&team->ordered, NULL);
	for (int i = 0; i < team->n; i++)
	{
		int			err;

		team->members[i].team = team;
		team->members[i].number = i;
		err = nn_thread_start(&team->members[i].thread, member_main, &team->members[i]);
		if (err != 0)
		{
			pthread_mutex_lock(&team->mutex);
			snprintf(team->error, sizeof(team->error), "could not start thread %d of %d (error %d)", i + 1, team->n, err);
			pthread_mutex_unlock(&team->mutex);
			break;
		}
		pthread_mutex_lock(&team->mutex);
		team->started++;
		pthread_mutex_unlock(&team->mutex);
	}
	return team;
}

NnTeamState
nn_team_state(NnTeam *team)
{
	NnTeamState state;

	pthread_mutex_lock(&team->mutex);
	if (team->ended == team->started && (team->dismissed || team->error[0]))
		state = NN_TEAM_ENDED;
	else if (team->error[0])
		state = NN_TEAM_FAILED;
	else
		state = team->idle == team->n ? NN_TEAM_IDLE : NN_TEAM_BUSY;
	pthread_mutex_unlock(&team->mutex);
	return state;
}

const char *
nn_team_error(NnTeam *team)
{
	return team->error;
}

void
nn_team_measure(NnTeam *team, const NnWindow *window)
{
	pthread_mutex_lock(&team->mutex);
	team->window = *window;
	team->idle = 0;
	team->order++;
	pthread_cond_broadcast(&team->ordered);
	pthread_mutex_unlock(&team->mutex);
}

void
nn_team_values(NnTeam *team, double *values)
{
	for (int i = 0; i < team->trial->n_figures; i++)
	{
		NnCombine	combine = team->trial->figures[i].combine;
		double		value = combine == NN_COMBINE_MAX ? -INFINITY : 0;

		for (int m = 0; m < team->n; m++)
		{
			double		one = team->members[m].values[i];

			/* what one of them could not measure is not measured */
			if (isnan(one) || isnan(value))
				value = NAN;
			else
				value = combine == NN_COMBINE_MAX ? fmax(value, one) : value + one;
		}
		values[i] = combine == NN_COMBINE_MEAN ? value / team->n : value;
	}
	if (team->probe->combine)
	{
		void	  **states = palloc(sizeof(void *) * team->n);

		for (int m = 0; m < team->n; m++)
			states[m] = team->members[m].state;
		team->probe->combine(states, team->n, &team->window, team->trial, values);
		pfree(states);
	}
}

void
nn_team_dismiss(NnTeam *team)
{
	pthread_mutex_lock(&team->mutex);
	team->dismissed = true;
	pthread_cond_broadcast(&team->ordered);
	pthread_mutex_unlock(&team->mutex);
}

void
nn_team_free(NnTeam *team)
{
	for (int i = 0; i < team->started; i++)
		(void) pthread_join(team->members[i].thread, NULL);
	pthread_cond_destroy(&team->ordered);
	pthread_mutex_destroy(&team->mutex);
	free(team->members);
	free(team);
}

static void *
opening_main(void *arg)
{
	NnOpening  *opening = arg;

	opening->common = opening->probe->open(opening->options, opening->stop, opening->error);
	atomic_store(&opening->ended, true);
	return NULL;
}

NnOpening *
nn_opening_start(const NnProbe *probe, const NnProbeOptions *options, const atomic_bool *stop, char *error)
{
	NnOpening  *opening = calloc(1, sizeof(NnOpening));
	int			err;

	if (opening == NULL)
	{
		snprintf(error, NN_PROBE_ERROR_LEN, "out of memory");
		return NULL;
	}
	opening->probe = probe;
	opening->options = options;
	opening->stop = stop;
	atomic_init(&opening->ended, false);
	err = nn_thread_start(&opening->thread, opening_main, opening);
	if (err != 0)
	{
		snprintf(error, NN_PROBE_ERROR_LEN, "could not start a thread (error %d)", err);
		free(opening);
		return NULL;
	}
	return opening;
}

bool
nn_opening_ended(NnOpening *opening, void **common, char *error)
{
	if (!atomic_load(&opening->ended))
		return false;
	(void) pthread_join(opening->thread, NULL);
	*common = opening->common;
	snprintf(error, NN_PROBE_ERROR_LEN, "%s", opening->error);
	free(opening);
	return true;
}
