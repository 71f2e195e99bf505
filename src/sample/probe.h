/*-------------------------------------------------------------------------
 *
 * probe.h
 *	  What the same small piece of work costs: a fixed computation, and loads from two working sets.
 *
 * None of the functions calls anything of the server, but for the caller of nn_probe_thread_main(), which starts it
 * in a thread.
 *
 *-------------------------------------------------------------------------
 */
#ifndef NN_PROBE_H
#define NN_PROBE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "host/host.h"
#include "host/topology.h"
#include "server/shared.h"

#define NN_PROBE_MAX_SAMPLES	65536	/* of each probe in a window */

typedef struct NnProbe
{
	/* immutable once the thread has started */
	uint64_t	set_bytes[NN_PROBES];	/* 0: none, why_not says why */
	NnWhyNot	why_not[NN_PROBES];
	uint64_t	seed;

	/* under the mutex */
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	uint64_t	window;			/* number of the window that was ordered last */
	uint64_t	start_ns;
	uint64_t	end_ns;

	/*
	 * the thread's own while a window is on; the caller's when "done" has the
	 * window's number
	 */
	_Atomic uint64_t done;
	int			n_samples;
	float	   *samples[NN_PROBES]; /* ns per computation or load */
} NnProbe;

/* Decide on the working sets.  From malloc(), for as long as the process lives; NULL: no memory. */
extern NnProbe *nn_probe_create(const NnTopology *host, uint64_t seed);

extern void *nn_probe_thread_main(void *probe);

/* Probe from start_ns to end_ns. */
extern void nn_probe_order(NnProbe *probe, uint64_t start_ns, uint64_t end_ns);

/* Has the window that was ordered last ended?  Its end is seen within a few milliseconds. */
extern bool nn_probe_is_done(NnProbe *probe);

/* What the window gave, once it is done. */
extern void nn_probe_result(NnProbe *probe, NnProbeResult results[NN_PROBES]);

#endif							/* NN_PROBE_H */
