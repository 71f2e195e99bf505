/*-------------------------------------------------------------------------
 *
 * lock_wait.h
 *	  How a wait for a lock divides: among those who held it, the waiter's own run queue, and the rest.
 *
 * While it holds the lock, the holder keeps an account of it: for how long the lock has been held by somebody on a CPU, for
 * how long by somebody who was not on one, and for how long it was free, all since the beginning of time, and up to
 * which moment that is.  The difference of two readings by a waiter is what became of the lock meanwhile; these
 * three must sum to the wait, whose length is the waiter's own measurement.
 *
 * A waiter that has been woken, and queues for a CPU, can't take the lock, whoever holds it then: so its own
 * run-queue delay comes first.  The lock is free then, unless somebody else comes by and takes it: what was charged to the
 * waiter's queue and to a holder at once is the overlap, and taken off the holder.
 *
 * Only one waiter is woken at a time, and nobody else until it has run.  While it queues for a CPU the others sleep,
 * with the lock free: the account also has the time for which whoever was next in line was kept from a CPU.
 *
 *-------------------------------------------------------------------------
 */
#ifndef NN_LOCK_WAIT_H
#define NN_LOCK_WAIT_H

#include <stdbool.h>
#include <stdint.h>

/* The lock's account, as a waiter reads it. */
typedef struct NnLockAccount
{
	uint64_t	on_ns;			/* held by somebody on a CPU */
	uint64_t	off_ns;			/* held by somebody who had none */
	uint64_t	free_ns;
	uint64_t	heir_ns;		/* of that: the next in line queued for a CPU */
	uint64_t	until_ns;		/* up to this moment; 0: nobody has held it
								 * yet */
	bool		held;			/* from then on; or else free */
} NnLockAccount;

/* A holder that runs brings the account up to date more often than this. */
#define NN_LOCK_FRESH_NS	UINT64_C(10000)

/* One wait, or the sum of many. */
typedef struct NnLockWait
{
	double		wait_ns;		/* sum of the next four */
	double		holder_on_ns;
	double		holder_off_ns;
	double		run_queue_ns;	/* the waiter's own */
	double		rest_ns;
	double		heir_ns;		/* of the rest: the lock was free, and another
								 * one who was to take it queued for a CPU */
	double		overlap_ns;		/* counted by two of them, and taken off the
								 * holder */
	double		known_ns;		/* held and free time by the account: the wait
								 * once more, by the clocks of others */
} NnLockWait;

/*
 * Divide a wait from start_ns to end_ns.  "from" was read when it started, "to" is the account at its end, when the waiter
 * has got the lock.  run_queue_ns is the waiter's run-queue delay meanwhile.  Returns how much of that fell into time in
 * which the lock was free: what the waiter enters as heir_ns.
 */
extern uint64_t nn_lock_wait_divide(uint64_t start_ns, uint64_t end_ns, const NnLockAccount *from,
									const NnLockAccount *to, uint64_t run_queue_ns, NnLockWait *wait);

/* sum += wait */
extern void nn_lock_wait_add(NnLockWait *sum, const NnLockWait *wait);

#endif							/* NN_LOCK_WAIT_H */
