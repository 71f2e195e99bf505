/*-------------------------------------------------------------------------
 *
 * cgroup.h
 *	  CPU quota, throttling and memory limit of the group we run in.
 *
 * Version 2 is looked at first, then version 1, each controller by itself (hosts may
 * have both mounted).  A limit is the minimum over the group and all its parents that
 * can be seen; "max" and -1 mean no limit.
 *
 *-------------------------------------------------------------------------
 */
#ifndef NN_HOST_CGROUP_H
#define NN_HOST_CGROUP_H

#include "host/host.h"

typedef struct NnCgroupLimits
{
	double		quota_cpus;		/* NaN: no quota binds (why says so or why
								 * unreadable) */
	double		period_ms;		/* of the binding quota; NaN without one */
	char		quota_source[256];	/* file that holds the binding quota;
									 * empty without one */
	double		memory_limit_bytes; /* NaN: no limit */
	double		memory_usage_bytes; /* of the group that holds the limit,
									 * without inactive file pages, which give
									 * way; NaN without one */
	double		memory_room_bytes;	/* smallest limit - usage of all groups,
									 * not below 0; NaN: no limit */
	char		memory_source[256];
} NnCgroupLimits;

/* Cumulative, of the group that holds the binding quota (the kernel counts there), else of our own. */
typedef struct NnCgroupThrottle
{
	uint64_t	throttled_ns;	/* summed over CPUs: with n of them stopped it
								 * grows n times as fast as the clock */
	uint64_t	periods;
	uint64_t	throttled_periods;
} NnCgroupThrottle;

/* False with the reason when no hierarchy can be found at all. */
extern bool nn_cgroup_limits_read(const NnHostRoot *root, NnCgroupLimits *limits, NnWhyNot *why);
extern bool nn_cgroup_throttle_read(const NnHostRoot *root, NnCgroupThrottle *throttle, NnWhyNot *why);

/* The same from a file that is kept open: a single system call.  It stays with the group that was found then. */
typedef struct NnCgroupThrottleFile
{
	int			fd;				/* -1: not open */
	int			version;		/* of the hierarchy */
} NnCgroupThrottleFile;

extern bool nn_cgroup_throttle_open(const NnHostRoot *root, NnCgroupThrottleFile *file, NnWhyNot *why);
extern bool nn_cgroup_throttle_reread(const NnCgroupThrottleFile *file, NnCgroupThrottle *throttle);
extern void nn_cgroup_throttle_close(NnCgroupThrottleFile *file);

#endif							/* NN_HOST_CGROUP_H */
