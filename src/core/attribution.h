/*-------------------------------------------------------------------------
 *
 * attribution.h
 *	  Where the time of an operation went: an additive budget of its latency.
 *
 * An operation is a transaction of the workload, the time is that of the backends that carry it out, idle
 * time between operations included:
 *
 *	 wall = cpu + run queue + steal + asleep
 *
 * CPU time and run-queue delay are the scheduler's own account, and exact.  Why a
 * backend slept comes from samples of its wait event, which are shares of the wall time.  A backend that
 * has been woken, and queues for a CPU, still shows the event that it has waited for: that time is in
 * the run queue already, so the samples of events say only how the time asleep is divided.
 * Where samples without an event make up more than CPU, run queue and steal together, the difference is
 * sleep of which the server knows nothing (a page fault that reads from disk): unexplained.
 *
 * What a client sees lacks the time in which its backend waits for the next operation to come:
 *
 *	 client = (asleep for the client) - (wall - service)
 *
 * and in an open loop has the time in which the operation waited for a client to be free:
 *
 *	 backlog = latency - service
 *
 * "Unexplained" is what is left, so that the components always sum to the latency.  It may be negative.
 *
 *-------------------------------------------------------------------------
 */
#ifndef NN_ATTRIBUTION_H
#define NN_ATTRIBUTION_H

#include <stdbool.h>
#include <stdint.h>

/* What a process was seen doing in a sample. */
typedef enum NnWaitClass
{
	NN_WAIT_CPU,				/* no wait event: running or runnable */
	NN_WAIT_LWLOCK,
	NN_WAIT_LOCK,				/* heavyweight lock */
	NN_WAIT_IO,
	NN_WAIT_CLIENT,
	NN_WAIT_OTHER
} NnWaitClass;

#define NN_WAIT_CLASSES	(NN_WAIT_OTHER + 1)

typedef enum NnComponent
{
	NN_COMPONENT_CPU,
	NN_COMPONENT_RUN_QUEUE,
	NN_COMPONENT_STEAL,
	NN_COMPONENT_LWLOCK,
	NN_COMPONENT_LOCK,
	NN_COMPONENT_IO,
	NN_COMPONENT_OTHER_WAITS,
	NN_COMPONENT_CLIENT,		/* client, driver and the way between */
	NN_COMPONENT_BACKLOG,
	NN_COMPONENT_UNEXPLAINED
} NnComponent;

#define NN_COMPONENTS	(NN_COMPONENT_UNEXPLAINED + 1)

/* The name of a component in SQL, e.g. "run_queue". */
extern const char *nn_component_name(NnComponent component);

/* Means per operation. */
typedef struct NnBudgetInput
{
	double		latency_ms;		/* as the client sees it */
	double		service_ms;		/* from sending; the latency in a closed loop */
	double		wall_ms;		/* of the backends, idle time included */
	double		cpu_ms;
	double		run_queue_ms;
	double		steal_ms;		/* NaN: not known, taken for none */
	double		samples[NN_WAIT_CLASSES];	/* numbers, or shares: only their
											 * ratios count */
} NnBudgetInput;

/* Means of transactions that were followed one by one. */
typedef struct NnFollowedMean
{
	uint64_t	n;				/* 0: there are none, and no budget */
	NnBudgetInput budget;
} NnFollowedMean;

/*
 * Divide the latency among the components; they sum to it.  False, and NaN in all of them, when latency,
 * service, wall, CPU or run-queue time is not known.
 */
extern bool nn_budget(const NnBudgetInput *input, double ms[NN_COMPONENTS]);

#endif							/* NN_ATTRIBUTION_H */
