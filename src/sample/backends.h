/*-------------------------------------------------------------------------
 *
 * backends.h
 *	  CPU time of the server's processes and of our own.
 *
 *-------------------------------------------------------------------------
 */
#ifndef NN_BACKENDS_H
#define NN_BACKENDS_H

#include "postgres.h"

#include "storage/proc.h"

#include "host/host.h"
#include "sample/kinds.h"
#include "server/shared.h"

/* Cumulative seconds; only differences of two readings mean something. NaN: not measured. */
typedef struct NnServerCpu
{
	double		server_s;		/* every process of the server, ended ones
								 * too, but our workers */
	double		noise_s;		/* noise workers */
	double		driver_s;		/* the workload worker */
	double		own_s;			/* conductor, sample and lock workers */
	double		run_delay_s;	/* run-queue delay of the server's processes */
	NnProcessUse processes[NN_PROCESS_KINDS];	/* seen since the sampler was
												 * made */
} NnServerCpu;

typedef struct NnBackends NnBackends;

/* Lives in the current memory context, and holds files open until nn_backends_close(). */
extern NnBackends *nn_backends_create(NnShared *shared, NnKinds *kinds);
extern void nn_backends_close(NnBackends *backends);

/*
 * Read all of it.  "thorough" is for the ends of a window: it looks at the children of
 * every single backend too (programs that it has run), which costs as much again as the rest.  A
 * reason is given where something can't be measured.
 */
extern void nn_backends_read(NnBackends *backends, bool thorough, NnServerCpu *cpu,
							 NnWhyNot *why);

/*
 * Context switches and migrations of the processes that live now are added to nn_backends_read()'s figures from
 * the first call on: for the ends of a window.
 */
extern void nn_backends_read_switches(NnBackends *backends, NnServerCpu *cpu, NnWhyNot *why);

/* Is this one of the run's own workers, or its conductor? */
extern bool nn_process_is_ours(NnShared *shared, int pid);

/*
 * Pid of the live process that a PGPROC belongs to; 0: none.  Before version 17 an
 * ended process leaves its pid behind, but it gives up its latch.
 */
static inline int
nn_proc_pid(const PGPROC *proc)
{
	int			pid = *(const volatile int *) &proc->pid;

	return *(const volatile int *) &proc->procLatch.owner_pid == pid ? pid : 0;
}

#endif							/* NN_BACKENDS_H */
