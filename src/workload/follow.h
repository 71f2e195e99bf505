/*-------------------------------------------------------------------------
 *
 * follow.h
 *	  One client whose transactions are followed one by one.
 *
 * Before and after each of its transactions the driver's thread reads the scheduler's account of the backend that
 * carries it out; a thread beside it looks at the backend's wait event every NN_FOLLOW_PERIOD_NS.  So there is a
 * budget of time for every single transaction, and one of the slowest hundredth.
 *
 * Who touches what: the records and the readings are the driver thread's until the order is done, then the main thread's;
 * counts of samples are written by the sampling thread alone; the pid and the place of the wait event are
 * atomic.  Nothing here calls anything of the server; the main thread, which may, finds the place.
 *
 * Memory is from malloc() and lives as long as the process.
 *
 *-------------------------------------------------------------------------
 */
#ifndef NN_FOLLOW_H
#define NN_FOLLOW_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/attribution.h"
#include "host/process.h"

#define NN_FOLLOW_PERIOD_NS		UINT64_C(4000000)
#define NN_FOLLOW_MAX_RECORDS	262144
#define NN_FOLLOW_MIN_RECORDS	100 /* for a slowest hundredth */

/* One transaction. */
typedef struct NnFollowRecord
{
	float		latency_ms;
	float		service_ms;
	float		cpu_ms;
	float		run_queue_ms;
	uint16_t	samples[NN_WAIT_CLASSES];
} NnFollowRecord;

/* Class of a wait event; the server's numbers are the caller's business. */
typedef NnWaitClass (*NnFollowClassify) (uint32_t wait_event_info);

typedef struct NnFollow
{
	/* immutable */
	NnHostRoot	root;
	NnFollowClassify classify;
	NnFollowRecord *records;

	/* the driver thread's own */
	uint64_t	measure_ns;		/* transactions that end in this window count */
	uint64_t	end_ns;
	int			pid;			/* of the backend whose account is open */
	int			fd;				/* -1: none */
	bool		begun;			/* the transaction in flight is followed */
	NnSchedstat stat;			/* at the last reading */
	uint64_t	stat_ns;		/* when that was */
	uint64_t	counts[NN_WAIT_CLASSES];	/* when the transaction began */
	int			n_records;

	/* shared */
	_Atomic int wanted_pid;		/* whose wait event is to be found; 0:
								 * nobody's */
	const volatile uint32_t *_Atomic wait_event_info;	/* NULL: not found */
	_Atomic bool sampling;
	_Atomic uint64_t sampled[NN_WAIT_CLASSES];
} NnFollow;

/* NULL: no memory. */
extern NnFollow *nn_follow_create(const NnHostRoot *root, NnFollowClassify classify);

/* --- the driver's thread --- */
extern void nn_follow_block(NnFollow *follow, uint64_t measure_ns, uint64_t end_ns);
extern void nn_follow_begin(NnFollow *follow, int pid, uint64_t now_ns);
extern void nn_follow_end(NnFollow *follow, uint64_t intended_ns, uint64_t begin_ns, uint64_t now_ns);

/* --- the thread that samples; its argument is the NnFollow. It ends with the process. --- */
extern void *nn_follow_thread_main(void *follow);

/* --- the main thread, between two orders --- */

/* Of all transactions, and of the slowest hundredth: n = 0 where there are too few. */
extern void nn_follow_results(NnFollow *follow, NnFollowedMean *all, NnFollowedMean *tail);

#endif							/* NN_FOLLOW_H */
