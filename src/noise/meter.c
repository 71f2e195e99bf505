/*-------------------------------------------------------------------------
 *
 * meter.c
 *	  What a load thread achieved in the measured window, and in each second of it.
 *
 * The boundaries of a window are its start, every full second after it, and
 * its end.  The last second is a partial one when the window is not a
 * whole number of seconds; its percentage is of its real length.
 *
 * Private to one thread; no locks.
 *
 *-------------------------------------------------------------------------
 */
#include "noise/meter.h"

#include <math.h>

#include "core/clock.h"

/* Start with a reading that was taken before the window starts. */
void
nn_meter_start(NnMeter *meter, uint64_t measure_ns, uint64_t end_ns, int n_seconds,
			   const NnReading *now, NnMeterRecord record, void *record_arg)
{
	meter->measure_ns = measure_ns;
	meter->end_ns = end_ns;
	meter->n_seconds = n_seconds;
	meter->passed = 0;
	meter->last = *now;
	meter->first = *now;
	meter->edge = *now;
	meter->record = record;
	meter->record_arg = record_arg;
}

/* Monotonic time of boundary 0 (the start) … n_seconds (the end). */
static uint64_t
boundary_ns(const NnMeter *meter, int boundary)
{
	uint64_t	at_ns = meter->measure_ns + (uint64_t) boundary * NN_NS_PER_S;

	if (boundary >= meter->n_seconds || at_ns > meter->end_ns)
		return meter->end_ns;
	return at_ns;
}

uint64_t
nn_meter_next_ns(const NnMeter *meter)
{
	if (meter->passed > meter->n_seconds)
		return UINT64_MAX;
	return boundary_ns(meter, meter->passed);
}

/* The counters at a moment between two readings, which is clamped to them. */
static NnReading
interpolate(const NnReading *from, const NnReading *to, uint64_t at_ns)
{
	NnReading	result;
	double		part;

	if (at_ns <= from->at_ns)
		part = 0;
	else if (at_ns >= to->at_ns)
		part = 1;
	else
		part = (double) (at_ns - from->at_ns) / (double) (to->at_ns - from->at_ns);
	result.at_ns = at_ns;
	result.cpu_ns = from->cpu_ns + (uint64_t) (part * (double) (to->cpu_ns - from->cpu_ns));
	result.dose_ns = from->dose_ns + part * (to->dose_ns - from->dose_ns);
	result.units = from->units + part * (to->units - from->units);
	return result;
}

/* Pass every boundary that lies between the latest reading and this one. */
void
nn_meter_pass(NnMeter *meter, const NnReading *now)
{
	while (now->at_ns >= nn_meter_next_ns(meter))
	{
		NnReading	edge = interpolate(&meter->last, now, nn_meter_next_ns(meter));

		if (meter->passed == 0)
			meter->first = edge;
		else if (edge.at_ns > meter->edge.at_ns && meter->record != NULL)
			meter->record(meter->record_arg, meter->passed - 1,
						  100.0 * (edge.dose_ns - meter->edge.dose_ns) /
						  (double) (edge.at_ns - meter->edge.at_ns));
		meter->edge = edge;
		meter->passed++;
	}
}

void
nn_meter_result(const NnMeter *meter, NnMeterResult *result)
{
	double		window_ns;

	result->achieved_pct = NAN;
	result->cpu_pct = NAN;
	result->units_per_s = NAN;
	if (meter->passed <= meter->n_seconds || meter->edge.at_ns <= meter->first.at_ns)
		return;

	window_ns = (double) (meter->edge.at_ns - meter->first.at_ns);
	result->achieved_pct = 100.0 * (meter->edge.dose_ns - meter->first.dose_ns) / window_ns;
	result->cpu_pct = 100.0 * (double) (meter->edge.cpu_ns - meter->first.cpu_ns) / window_ns;
	result->units_per_s = (meter->edge.units - meter->first.units) * (double) NN_NS_PER_S / window_ns;
}
