/*-------------------------------------------------------------------------
 *
 * pressure.h
 *	  Pressure stall information, from /proc/pressure.
 *
 *-------------------------------------------------------------------------
 */
#ifndef NN_HOST_PRESSURE_H
#define NN_HOST_PRESSURE_H

#include "host/host.h"

typedef struct NnPressure
{
	double		cpu_some_s;		/* cumulative seconds; NaN: not measured */
	double		memory_some_s;
	double		memory_full_s;
	double		io_some_s;
	double		io_full_s;
} NnPressure;

/* False with the reason when no file can be read. */
extern bool nn_pressure_read(const NnHostRoot *root, NnPressure *pressure, NnWhyNot *why);

#endif							/* NN_HOST_PRESSURE_H */
