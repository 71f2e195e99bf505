/*-------------------------------------------------------------------------
 *
 * poller.h
 *	  Waiting for many sockets at once.
 *
 * epoll where the system has it, poll() elsewhere.  A poller belongs to one thread.  Sockets are
 * registered under the number of a client; readiness is reported as long as it lasts (level-triggered), so
 * that a reader may stop before a socket is drained.
 *
 *-------------------------------------------------------------------------
 */
#ifndef NN_POLLER_H
#define NN_POLLER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdint.h>

#define NN_POLL_READ	0x1
#define NN_POLL_WRITE	0x2

typedef struct NnPoller NnPoller;

typedef struct NnPollerEvent
{
	int			client;
	int			ready;			/* NN_POLL_* bits; an error makes all of them
								 * ready */
} NnPollerEvent;

/* For clients 0 … max_clients - 1.  NULL with errno set when that fails. */
extern NnPoller *nn_poller_create(int max_clients);
extern void nn_poller_destroy(NnPoller *poller);

/*
 * Watch a client's socket for "wanted" (NN_POLL_* bits).  May be called again
 * with another socket or other wishes.  False with errno set when that fails.
 */
extern bool nn_poller_set(NnPoller *poller, int client, int fd, int wanted);

/* Stop watching a socket that is being closed, or has just been closed by this thread. */
extern void nn_poller_remove(NnPoller *poller, int client, int fd);

/*
 * Wait up to timeout_ms for any of them.  Returns the number of events, at most max_events; 0
 * after the timeout or a signal, -1 with errno set on failure.
 */
extern int	nn_poller_wait(NnPoller *poller, NnPollerEvent *events, int max_events,
						   int timeout_ms);

/*
 * The same until the monotonic clock reads until_ns, exact to some microseconds where the system can do that (once the
 * thread has called nn_poller_be_punctual()).  Elsewhere it returns early, by less than a
 * millisecond, rather than late: callers look at the clock and wait again.
 */
extern int	nn_poller_wait_until(NnPoller *poller, NnPollerEvent *events, int max_events,
								 uint64_t until_ns);

/* Have the system wake the calling thread when its waits end, and not a little later to save power. */
extern void nn_poller_be_punctual(void);

#endif							/* NN_POLLER_H */
