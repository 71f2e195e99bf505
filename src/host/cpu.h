/*-------------------------------------------------------------------------
 *
 * cpu.h
 *	  CPU time of the whole host, from /proc/stat.
 *
 *-------------------------------------------------------------------------
 */
#ifndef NN_HOST_CPU_H
#define NN_HOST_CPU_H

#include "host/host.h"

/* Cumulative CPU time of all CPUs, in seconds; NaN where the kernel has no such column. */
typedef struct NnCpuTimes
{
	double		user_s;			/* user + nice, guest time not counted twice */
	double		system_s;		/* system + irq + softirq */
	double		idle_s;
	double		iowait_s;
	double		steal_s;
	double		guest_s;		/* part of user_s */
	int			cpus;			/* number of cpuN lines */
} NnCpuTimes;

/* Percent of the host's CPU time in an interval; they sum to 100. NaN: not measured. */
typedef struct NnCpuUsage
{
	double		busy_pct;		/* 100 - idle - iowait - steal */
	double		user_pct;
	double		system_pct;
	double		iowait_pct;
	double		steal_pct;
	double		idle_pct;
	double		total_s;		/* CPU seconds that the interval had, all CPUs */
} NnCpuUsage;

extern bool nn_cpu_times_read(const NnHostRoot *root, NnCpuTimes *times, NnWhyNot *why);

/* Of one CPU alone. */
extern bool nn_cpu_times_read_one(const NnHostRoot *root, int cpu, NnCpuTimes *times, NnWhyNot *why);

/* Negative deltas (iowait and idle may go down) are clamped to 0. */
extern void nn_cpu_usage(const NnCpuTimes *from, const NnCpuTimes *to, NnCpuUsage *usage);

#endif							/* NN_HOST_CPU_H */
