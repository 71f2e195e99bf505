/*-------------------------------------------------------------------------
 *
 * host_usage.h
 *	  Use of the host in an interval: who used the CPUs, and pressure.
 *
 *-------------------------------------------------------------------------
 */
#ifndef NN_HOST_USAGE_H
#define NN_HOST_USAGE_H

#include "postgres.h"

#include "host/cgroup.h"
#include "host/cpu.h"
#include "host/load.h"
#include "host/pressure.h"
#include "sample/backends.h"
#include "server/shared.h"

/* What was read at one moment. */
typedef struct NnHostReading
{
	uint64		at_ns;
	bool		cpu_valid;
	NnCpuTimes	cpu;
	NnServerCpu server;
	bool		throttle_valid;
	NnCgroupThrottle throttle;
	bool		pressure_valid;
	NnPressure	pressure;
	double		load;			/* NaN: not measured */
	NnMemoryEvents memory;
} NnHostReading;

typedef struct NnHostSampler NnHostSampler;

/*
 * Start a window: clears usage and its reason in shared->sample.  Lives in the current memory context.
 */
extern NnHostSampler *nn_host_sampler_create(NnShared *shared, NnKinds *kinds);

/*
 * "thorough", for the ends of a window: see nn_backends_read; context switches are read, too.  The first thing
 * that can't be measured goes to usage_why_not.
 */
extern void nn_host_sampler_read(NnHostSampler *sampler, bool thorough, NnHostReading *reading);

/* The window has ended: what the processes did in it goes to shared->sample, files are closed. */
extern void nn_host_sampler_end(NnHostSampler *sampler, const NnHostReading *from,
								const NnHostReading *to);

/* Use between two readings. */
extern void nn_host_usage(const NnHostReading *from, const NnHostReading *to, NnHostUsage *usage);

/* All NaN. */
extern void nn_host_usage_clear(NnHostUsage *usage);

#endif							/* NN_HOST_USAGE_H */
