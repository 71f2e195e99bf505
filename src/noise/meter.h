/*-------------------------------------------------------------------------
 *
 * meter.h
 *	  What a load thread achieved in the measured window, and in each second of it.
 *
 * A load thread hands in readings of its cumulative counters whenever it has
 * read its clocks anyway.  The meter interpolates the counters at the
 * boundaries of the seconds, so that the window and its seconds have
 * exactly the length that was ordered and the seconds sum to the window.
 *
 * The error of a boundary is bounded by the distance of the two readings around
 * it: a piece of work (<= 100 us) while the thread burns, nothing while it sleeps.
 *
 * A meter belongs to one thread.  It allocates nothing.
 *
 *-------------------------------------------------------------------------
 */
#ifndef NN_METER_H
#define NN_METER_H

#include <stdbool.h>
#include <stdint.h>

/* Cumulative counters of one load thread, all taken at the same moment. */
typedef struct NnReading
{
	uint64_t	at_ns;			/* monotonic */
	uint64_t	cpu_ns;			/* CPU time of the thread */
	double		dose_ns;		/* the dose delivered: CPU time, or share held
								 * x time */
	double		units;			/* work done, or amount held x seconds */
} NnReading;

/* Called at the end of each second of the window (0, 1, …), in the load thread. */
typedef void (*NnMeterRecord) (void *arg, int second, double achieved_pct);

typedef struct NnMeter
{
	uint64_t	measure_ns;		/* the window starts */
	uint64_t	end_ns;			/* and ends */
	int			n_seconds;		/* whole and partial seconds of the window */
	int			passed;			/* boundaries passed: 0 … n_seconds + 1 */
	NnReading	last;			/* latest reading */
	NnReading	first;			/* at the start of the window */
	NnReading	edge;			/* at the last boundary passed */
	NnMeterRecord record;
	void	   *record_arg;
} NnMeter;

/* Of the whole window; NaN as long as its end has not been passed. */
typedef struct NnMeterResult
{
	double		achieved_pct;
	double		cpu_pct;		/* percent of one CPU */
	double		units_per_s;	/* or the mean amount held */
} NnMeterResult;

extern void nn_meter_start(NnMeter *meter, uint64_t measure_ns, uint64_t end_ns, int n_seconds,
						   const NnReading *now, NnMeterRecord record, void *record_arg);
extern void nn_meter_pass(NnMeter *meter, const NnReading *now);

/* When the next boundary is due, monotonic; UINT64_MAX after the last. */
extern uint64_t nn_meter_next_ns(const NnMeter *meter);

extern void nn_meter_result(const NnMeter *meter, NnMeterResult *result);

/* Hand in a reading: the hot path, a comparison unless a boundary has been passed. */
static inline void
nn_meter_read(NnMeter *meter, const NnReading *now)
{
	if (now->at_ns >= nn_meter_next_ns(meter))
		nn_meter_pass(meter, now);
	meter->last = *now;
}

#endif							/* NN_METER_H */
