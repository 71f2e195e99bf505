/*-------------------------------------------------------------------------
 *
 * topology.h
 *	  CPUs, caches, memory and kernel of the host.
 *
 *-------------------------------------------------------------------------
 */
#ifndef NN_HOST_TOPOLOGY_H
#define NN_HOST_TOPOLOGY_H

#include "host/host.h"
#include "host/cgroup.h"

typedef struct NnTopology
{
	int			online_cpus;
	int			affinity_cpus;	/* CPUs in our affinity mask */
	double		usable_cpus;	/* min(affinity, quota): fractional, > 0 */
	uint64_t	l2_bytes;		/* 0: unknown */
	uint64_t	llc_bytes;		/* last-level cache; never 0: a fallback is
								 * used */
	char		llc_source[32]; /* 'sysfs', 'sysconf' or 'fallback' */
	uint64_t	mem_total_bytes;	/* 0: unknown */
	uint64_t	mem_available_bytes;
	NnCgroupLimits limits;
	int			autogroup;		/* sched_autogroup: 1, 0, or -1 not known */
	char		cpu_model[128]; /* strings: empty when not known */
	char		host_name[128];
	char		kernel[128];
	char		architecture[32];
	char		clocksource[32];
	char		governor[32];
	char		virtualisation[64];
} NnTopology;

extern void nn_topology_read(const NnHostRoot *root, NnTopology *topology);

/* min(MemAvailable, cgroup limit - usage), bytes. */
extern uint64_t nn_memory_room_bytes(const NnTopology *topology);

#endif							/* NN_HOST_TOPOLOGY_H */
