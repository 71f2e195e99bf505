/*-------------------------------------------------------------------------
 *
 * process.h
 *	  CPU time and scheduling of one process.
 *
 *-------------------------------------------------------------------------
 */
#ifndef NN_HOST_PROCESS_H
#define NN_HOST_PROCESS_H

#include "host/host.h"

/* From /proc/PID/stat: whole process, all its threads, in seconds (clock ticks resolution). */
typedef struct NnProcessCpu
{
	double		own_s;			/* utime + stime */
	double		children_s;		/* cutime + cstime: children that ended and
								 * were waited for */
	uint64_t	start_ticks;	/* start time since boot: tells a reused pid */
} NnProcessCpu;

/* From /proc/PID/schedstat (the main thread). */
typedef struct NnSchedstat
{
	uint64_t	run_ns;
	uint64_t	run_delay_ns;
	uint64_t	slices;
} NnSchedstat;

extern bool nn_process_cpu_read(const NnHostRoot *root, pid_t pid, NnProcessCpu *cpu, NnWhyNot *why);
extern bool nn_schedstat_read(const NnHostRoot *root, pid_t pid, NnSchedstat *stat, NnWhyNot *why);

#endif							/* NN_HOST_PROCESS_H */
