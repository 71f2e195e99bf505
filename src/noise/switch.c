/*-------------------------------------------------------------------------
 *
 * switch.c
 *	  Switch noise: make the scheduler work, by threads that wake each other and go to sleep.
 *
 * A load thread and a partner hand a byte to and fro through two pipes.  Each waits for the other, so every hand-over
 * puts one thread to sleep and wakes one up.
 *
 * One of the two is always on its way, and the other asleep; so the dose is the time that the
 * load thread spends handing over, with whatever part of it on the CPU.  Of the partner's CPU time nothing is in the
 * load thread's own account.
 *
 * The partner touches nothing but the pipes.  It ends when they are closed, or with the process.
 *
 *-------------------------------------------------------------------------
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "noise/stressors.h"

#define ROUNDS	8				/* in a piece of work */

typedef struct SwitchState
{
	int			there[2];		/* pipe to the partner */
	int			back[2];		/* and from it */
	pthread_t	partner;
} SwitchState;

/* Signals are blocked in load threads, and so in the partner; EINTR can only come from a debugger. */
static bool
receive(int from)
{
	char		byte;
	ssize_t		n;

	do
		n = read(from, &byte, 1);
	while (n < 0 && errno == EINTR);
	return n == 1;
}

static bool
send_to(int to)
{
	const char	byte = 0;
	ssize_t		n;

	do
		n = write(to, &byte, 1);
	while (n < 0 && errno == EINTR);
	return n == 1;
}

static void *
partner_main(void *arg)
{
	const SwitchState *state = arg;

	while (receive(state->there[0]) && send_to(state->back[1]))
		;
	return NULL;
}

static void
close_both(int *ends)
{
	(void) close(ends[0]);
	(void) close(ends[1]);
}

static void *
switch_create(uint64_t bytes, uint64_t seed, char *error)
{
	SwitchState *state = malloc(sizeof(SwitchState));
	int			err;

	(void) bytes;
	(void) seed;
	if (state == NULL)
	{
		snprintf(error, NN_STRESSOR_ERROR_LEN, "could not allocate %zu bytes: %s",
				 sizeof(SwitchState), strerror(errno));
		return NULL;
	}
	err = pipe(state->there) == 0 ? 0 : errno;
	if (err == 0)
	{
		err = pipe(state->back) == 0 ? 0 : errno;
		if (err == 0)
		{
			err = pthread_create(&state->partner, NULL, partner_main, state);
			if (err == 0)
				return state;
			close_both(state->back);
		}
		close_both(state->there);
	}
	snprintf(error, NN_STRESSOR_ERROR_LEN, "could not create two pipes and a thread: %s", strerror(err));
	free(state);
	return NULL;
}

static void
switch_destroy(void *arg)
{
	SwitchState *state = arg;

	/* The partner reads the end of the pipe. */
	(void) close(state->there[1]);
	(void) pthread_join(state->partner, NULL);
	(void) close(state->there[0]);
	close_both(state->back);
	free(state);
}

/* Hand the byte to and fro; returns the hand-overs. */
static uint64_t
switch_burn(void *arg)
{
	const SwitchState *state = arg;

	for (int i = 0; i < ROUNDS; i++)
	{
		if (!send_to(state->there[1]) || !receive(state->back[0]))
			return 0;
	}
	return 2 * ROUNDS;
}

const NnStressor nn_stressor_switch = {
	.name = "switch",
	.rate_unit = "switches/s",
	.version = 1,
	.kind = NN_DOSE_BUSY,
	.options = NN_STRESSOR_WORKERS,
	.default_workers = nn_stressor_cpus,
	.default_bytes = NULL,
	.create = switch_create,
	.destroy = switch_destroy,
	.burn = switch_burn,
	.hold = NULL
};
