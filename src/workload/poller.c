/*-------------------------------------------------------------------------
 *
 * poller.c
 *	  Waiting for many sockets at once.  See poller.h.
 *
 * With epoll a wait costs the same for 2 clients and for 1000, and nothing is told to the kernel
 * from one statement to the next: a client's socket stays registered for reading.
 *
 * Memory is from malloc(), because threads use it, and belongs to the poller.
 *
 *-------------------------------------------------------------------------
 */
#include "workload/poller.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/clock.h"

#ifdef __linux__

#include <sys/epoll.h>
#include <sys/prctl.h>

/* A wait to the nanosecond in one system call: the C library has had it since 2.35. */
#if defined(__GLIBC__) && defined(__GLIBC_PREREQ)
#if __GLIBC_PREREQ(2, 35)
#define HAVE_EPOLL_PWAIT2
#endif
#endif

/* Events that one system call brings. */
#define BATCH	64

struct NnPoller
{
	int			epoll_fd;
	bool		is_old;			/* the kernel has no epoll_pwait2() */
};

NnPoller *
nn_poller_create(int max_clients)
{
	NnPoller   *poller = malloc(sizeof(*poller));

	(void) max_clients;			/* the kernel keeps the list */
	if (poller == NULL)
		return NULL;
	poller->is_old = false;
	poller->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (poller->epoll_fd < 0)
	{
		free(poller);
		return NULL;
	}
	return poller;
}

void
nn_poller_destroy(NnPoller *poller)
{
	close(poller->epoll_fd);
	free(poller);
}

bool
nn_poller_set(NnPoller *poller, int client, int fd, int wanted)
{
	struct epoll_event event;

	memset(&event, 0, sizeof(event));
	event.events = ((wanted & NN_POLL_READ) ? EPOLLIN : 0) |
		((wanted & NN_POLL_WRITE) ? EPOLLOUT : 0);
	event.data.u32 = (uint32_t) client;

	/*
	 * libpq may have closed the socket and opened another one with the same
	 * number: only the kernel knows whether this one is registered.
	 */
	if (epoll_ctl(poller->epoll_fd, EPOLL_CTL_MOD, fd, &event) == 0)
		return true;
	return errno == ENOENT && epoll_ctl(poller->epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0;
}

void
nn_poller_remove(NnPoller *poller, int client, int fd)
{
	struct epoll_event event;	/* not looked at, but old kernels want one */

	(void) client;
	memset(&event, 0, sizeof(event));
	(void) epoll_ctl(poller->epoll_fd, EPOLL_CTL_DEL, fd, &event);
}

/* What a wait has brought, in our terms. */
static int
take_batch(const struct epoll_event *batch, int n, NnPollerEvent *events)
{
	if (n < 0)
		return errno == EINTR ? 0 : -1;
	for (int i = 0; i < n; i++)
	{
		events[i].client = (int) batch[i].data.u32;
		events[i].ready = ((batch[i].events & EPOLLIN) ? NN_POLL_READ : 0) |
			((batch[i].events & EPOLLOUT) ? NN_POLL_WRITE : 0);
		if (batch[i].events & (EPOLLERR | EPOLLHUP))
			events[i].ready = NN_POLL_READ | NN_POLL_WRITE;
	}
	return n;
}

int
nn_poller_wait(NnPoller *poller, NnPollerEvent *events, int max_events, int timeout_ms)
{
	struct epoll_event batch[BATCH];

	return take_batch(batch, epoll_wait(poller->epoll_fd, batch,
										max_events < BATCH ? max_events : BATCH, timeout_ms),
					  events);
}

/* Without epoll_pwait2(): the epoll descriptor itself is waited for, to the nanosecond. */
static int
wait_by_ppoll(NnPoller *poller, NnPollerEvent *events, int max_events,
			  const struct timespec *timeout)
{
	struct pollfd fd = {.fd = poller->epoll_fd,.events = POLLIN};
	int			n = ppoll(&fd, 1, timeout, NULL);

	if (n <= 0)
		return n == 0 || errno == EINTR ? 0 : -1;
	return nn_poller_wait(poller, events, max_events, 0);
}

int
nn_poller_wait_until(NnPoller *poller, NnPollerEvent *events, int max_events, uint64_t until_ns)
{
	uint64_t	now_ns = nn_now_ns();
	uint64_t	timeout_ns = until_ns > now_ns ? until_ns - now_ns : 0;
	struct timespec timeout;

	timeout.tv_sec = (time_t) (timeout_ns / NN_NS_PER_S);
	timeout.tv_nsec = (long) (timeout_ns % NN_NS_PER_S);
#ifdef HAVE_EPOLL_PWAIT2
	if (!poller->is_old)
	{
		struct epoll_event batch[BATCH];
		int			n = epoll_pwait2(poller->epoll_fd, batch,
									 max_events < BATCH ? max_events : BATCH, &timeout, NULL);

		/* Kernels before 5.11 do not know it, and some containers forbid it. */
		if (n >= 0 || (errno != ENOSYS && errno != EPERM))
			return take_batch(batch, n, events);
		poller->is_old = true;
	}
#endif
	return wait_by_ppoll(poller, events, max_events, &timeout);
}

/* Timers of a thread may be late by its slack, 50 us unless it says otherwise. */
void
nn_poller_be_punctual(void)
{
	(void) prctl(PR_SET_TIMERSLACK, 1UL);
}

#else							/* !__linux__ */

struct NnPoller
{
	int			n;				/* clients 0 … n - 1 may be watched */
	int			next;			/* where the next scan starts, so that nobody
								 * starves */
	struct pollfd *fds;			/* fd -1: not watched */
};

NnPoller *
nn_poller_create(int max_clients)
{
	NnPoller   *poller = malloc(sizeof(*poller));

	if (poller == NULL)
		return NULL;
	poller->n = max_clients;
	poller->next = 0;
	poller->fds = malloc(sizeof(struct pollfd) * (size_t) (max_clients > 0 ? max_clients : 1));
	if (poller->fds == NULL)
	{
		free(poller);
		return NULL;
	}
	for (int i = 0; i < max_clients; i++)
		poller->fds[i].fd = -1;
	return poller;
}

void
nn_poller_destroy(NnPoller *poller)
{
	free(poller->fds);
	free(poller);
}

bool
nn_poller_set(NnPoller *poller, int client, int fd, int wanted)
{
	poller->fds[client].fd = fd;
	poller->fds[client].events = (short) (((wanted & NN_POLL_READ) ? POLLIN : 0) |
										  ((wanted & NN_POLL_WRITE) ? POLLOUT : 0));
	poller->fds[client].revents = 0;
	return true;
}

void
nn_poller_remove(NnPoller *poller, int client, int fd)
{
	(void) fd;
	poller->fds[client].fd = -1;
}

int
nn_poller_wait(NnPoller *poller, NnPollerEvent *events, int max_events, int timeout_ms)
{
	int			found = 0;
	int			ready = poll(poller->fds, (nfds_t) poller->n, timeout_ms);

	if (ready < 0)
		return errno == EINTR ? 0 : -1;
	for (int i = 0; i < poller->n && found < ready && found < max_events; i++)
	{
		int			client = (poller->next + i) % poller->n;
		short		revents = poller->fds[client].revents;

		if (poller->fds[client].fd < 0 || revents == 0)
			continue;
		events[found].client = client;
		events[found].ready = ((revents & POLLIN) ? NN_POLL_READ : 0) |
			((revents & POLLOUT) ? NN_POLL_WRITE : 0);
		if (revents & (POLLERR | POLLHUP | POLLNVAL))
			events[found].ready = NN_POLL_READ | NN_POLL_WRITE;
		found++;
	}
	if (poller->n > 0)
		poller->next = (poller->next + 1) % poller->n;
	return found;
}

/* Whole milliseconds, rounded down: the last part of a wait is spent looking at the clock. */
int
nn_poller_wait_until(NnPoller *poller, NnPollerEvent *events, int max_events, uint64_t until_ns)
{
	uint64_t	now_ns = nn_now_ns();
	uint64_t	timeout_ns = until_ns > now_ns ? until_ns - now_ns : 0;

	return nn_poller_wait(poller, events, max_events, (int) (timeout_ns / NN_NS_PER_MS));
}

void
nn_poller_be_punctual(void)
{
}

#endif							/* __linux__ */
