/*-------------------------------------------------------------------------
 *
 * lock_wait.h
 *	  How a wait for a lock divides: among those who held it, the waiter's own run queue, and the rest.
 *
 * While it holds the lock, the holder publishes how long the lock has been held by somebody on a CPU, and by somebody who
 * was not on one, both since the beginning of time, and up to which moment that is.  The
 * difference of two readings by a waiter is what others did with the lock meanwhile.
 *
 * A waiter that has been woken, and queues for a CPU, can't take the lock, whoever holds it then: so its own
 * run-queue delay comes first, and holders are charged with no more than what is left of the
 * wait.  What was charged to both at once is the overlap.
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
	uint64_t	until_ns;		/* up to this moment, while it is held; 0: it
								 * was free */
} NnLockAccount;

/* A holder that runs brings the account up to date more often than this. */
#define NN_LOCK_FRESH_NS	UINT64_C(50000)

typedef struct NnLockWait
{
	double		wait_ns;		/* sum of the four */
	double		holder_on_ns;
	double		holder_off_ns;
	double		run_queue_ns;	/* the waiter's own */
	double		rest_ns;
	double		overlap_ns;		/* counted by two of them, and taken off the
								 * holder */
} NnLockWait;

/*
 * Divide a wait from start_ns to end_ns.  "from" was read when it started, "to" when it ended, by the waiter, who holds
 * the lock then.
 */
extern void nn_lock_wait_divide(uint64_t start_ns, uint64_t end_ns, const NnLockAccount *from,
								const NnLockAccount *to, uint64_t run_queue_ns, NnLockWait *wait);

#endif							/* NN_LOCK_WAIT_H */
