/*-------------------------------------------------------------------------
 *
 * probe.h
 *	  What a probe of a calibration is: one descriptor, one file.
 *
 * A probe measures one ability of the host.  It is a list of trials: each is a number of threads that
 * do the same for some time, as often as repeats were asked for.  A trial gives one or more
 * figures, which become a row of noisy_calibration_results each, with a value per repeat.
 *
 * Adding one is writing a file with a descriptor and naming it in probe.c.
 *
 *	 plan()		in the main thread, before anything starts: which trials
 *	 open()		in a thread, before the first trial: what all trials share, like a file
 *	 create()	in each thread of a trial
 *	 measure()	in each thread, once per repeat, all at the same time
 *	 combine()	in the main thread, after each repeat: the figures of the trial from those of its threads
 *	 destroy(), close()
 *
 * Everything but plan() and combine() runs in threads that call nothing of the server, and must look at
 * nn_window_over() at least every 100 ms.  plan() and combine() call nothing of the server either.
 * Memory is malloc()ed; what open() and create() take, close() and destroy() give back.
 *
 *-------------------------------------------------------------------------
 */
#ifndef NN_PROBE_H
#define NN_PROBE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/clock.h"
#include "host/topology.h"

#define NN_PROBE_ERROR_LEN		256
#define NN_MAX_PROBE_THREADS	16	/* different numbers of threads */
#define NN_MAX_FIGURES			16	/* of a trial */
#define NN_MAX_TRIALS			64	/* of a probe */
#define NN_MAX_DEPTHS			8

/* What was asked for. Immutable while a calibration is on. */
typedef struct NnProbeOptions
{
	int			n_threads;
	int			threads[NN_MAX_PROBE_THREADS];	/* 1, 2, … usable CPUs by
												 * default */
	uint32_t	cpu_max_prime;
	uint64_t	memory_bytes;	/* of all threads together, 0: chosen */
	uint64_t	memory_room_bytes;	/* no probe takes more */
	uint64_t	disk_bytes;		/* of the file */
	int			n_depths;
	int			depths[NN_MAX_DEPTHS];	/* requests in flight */
	double		disk_read_pct;	/* of the mixed load */
	uint64_t	hold_ns;		/* 0: no long constant load */
	double		level_pct;		/* of that load */
	uint64_t	duration_ns;	/* of one repeat */
	int			repeats;
	uint64_t	seed;
	const struct NnTarget *server;	/* how to connect to this server; only in
									 * the worker, and only where a probe asks
									 * for it */
} NnProbeOptions;

/* How a figure of a trial comes from those of its threads, where the probe has no combine(). */
typedef enum NnCombine
{
	NN_COMBINE_SUM,
	NN_COMBINE_MEAN,
	NN_COMBINE_MAX
} NnCombine;

typedef struct NnFigure
{
	char		variant[48];
	const char *unit;			/* 'events/s', 'ns'; a time is better the
								 * shorter it is */
	NnCombine	combine;
} NnFigure;

typedef struct NnTrial
{
	int			threads;
	uint64_t	duration_ns;	/* of a repeat; 0: as asked for */
	int			kind;			/* the probe's own */
	uint64_t	bytes;			/* the probe's own */
	double		argument;		/* the probe's own */
	int			n_figures;
	NnFigure	figures[NN_MAX_FIGURES];
	bool		invalid;		/* the figures must not be compared: note says
								 * why */
	char		note[NN_PROBE_ERROR_LEN];	/* for people; combine() and
											 * create() may add to it */
} NnTrial;

/* The time in which all threads of a trial are to measure. */
typedef struct NnWindow
{
	const atomic_bool *stop;
	uint64_t	start_ns;		/* all threads begin here */
	uint64_t	end_ns;
	int			repeat;			/* 0, 1, … */
} NnWindow;

/* Has the time passed, or is the calibration to end? */
static inline bool
nn_window_over(const NnWindow *window)
{
	return atomic_load_explicit(window->stop, memory_order_relaxed) || nn_now_ns() >= window->end_ns;
}

static inline bool
nn_window_stopped(const NnWindow *window)
{
	return atomic_load_explicit(window->stop, memory_order_relaxed);
}

typedef struct NnProbe
{
	const char *name;
	int			version;		/* of the kernel: results of different
								 * versions don't compare */
	bool		connects;		/* it needs options->server */

	/*
	 * Fill trials[NN_MAX_TRIALS]; returns their number, or 0 with the reason
	 * in error: the probe is left out then.
	 */
	int			(*plan) (const NnProbeOptions *options, const NnTopology *host, NnTrial *trials, char *error);

	/*
	 * Optional.  Returns what all trials share, or NULL with the reason in
	 * error. May take long: *stop says that nobody waits for it any more.
	 */
	void	   *(*open) (const NnProbeOptions *options, const atomic_bool *stop, char *error);
	void		(*close) (void *common);

	/*
	 * The state of thread 0, 1, … of a trial, or NULL with the reason in
	 * error.
	 */
	void	   *(*create) (const NnProbeOptions *options, const NnTrial *trial, int thread, void *common, char *error);
	void		(*destroy) (void *state);

	/*
	 * Measure until the window is over; values[i] becomes what this thread
	 * has of figure i.  NaN: nothing could be measured.
	 */
	void		(*measure) (void *state, const NnWindow *window, double *values);

	/* Optional: the figures of a trial from the states of its threads. */
	void		(*combine) (void **states, int threads, const NnWindow *window, NnTrial *trial, double *values);
} NnProbe;

/* All probes, terminated by NULL. */
extern const NnProbe *const nn_probes[];

/* NULL when there is none of that name. */
extern const NnProbe *nn_probe_find(const char *name);

/* Begin a trial with one figure. */
extern NnTrial *nn_trial_add(NnTrial *trials, int *n, int threads, const char *variant, const char *unit,
							 NnCombine combine);

/* One more figure of a trial. */
extern void nn_figure_add(NnTrial *trial, const char *variant, const char *unit, NnCombine combine);

/* A rate per second since the window's start, up to the moment at which the last piece ended. */
static inline double
nn_window_rate(const NnWindow *window, double amount, uint64_t ended_ns)
{
	return ended_ns > window->start_ns ? amount / ((double) (ended_ns - window->start_ns) / 1e9) : 0;
}

extern const NnProbe nn_probe_cpu;
extern const NnProbe nn_probe_memory;
extern const NnProbe nn_probe_cache;
extern const NnProbe nn_probe_jitter;
extern const NnProbe nn_probe_hold;
extern const NnProbe nn_probe_disk;
extern const NnProbe nn_probe_postgres;

#endif							/* NN_PROBE_H */
