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

/* From /proc/PID/status and /proc/PID/sched (the main thread). */
typedef struct NnSwitches
{
	uint64_t	voluntary;		/* it went to sleep */
	uint64_t	involuntary;	/* it was preempted */
	uint64_t	migrations;		/* it was moved to another CPU */
	bool		has_migrations; /* few kernels lack them */
} NnSwitches;

/* From /proc/PID/schedstat (the main thread). */
typedef struct NnSchedstat
{
	uint64_t	run_ns;
	uint64_t	run_delay_ns;
	uint64_t	slices;
} NnSchedstat;

extern bool nn_process_cpu_read(const NnHostRoot *root, pid_t pid, NnProcessCpu *cpu, NnWhyNot *why);
extern bool nn_schedstat_read(const NnHostRoot *root, pid_t pid, NnSchedstat *stat, NnWhyNot *why);

/*
 * The same from a file that is kept open: a single system call.  The file goes on to mean the
 * process that it was opened for, also when its pid is used again.  -1: it can't be opened.
 */
extern int	nn_schedstat_open(const NnHostRoot *root, pid_t pid);
extern bool nn_schedstat_reread(int fd, NnSchedstat *stat);
extern void nn_schedstat_close(int fd);

/* The reason tells about migrations, too, where only they are missing. */
extern bool nn_switches_read(const NnHostRoot *root, pid_t pid, NnSwitches *switches, NnWhyNot *why);

#endif							/* NN_HOST_PROCESS_H */
