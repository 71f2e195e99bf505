/*-------------------------------------------------------------------------
 *
 * lock_wait.c
 *	  How a wait for a lock divides.  See lock_wait.h.
 *
 *-------------------------------------------------------------------------
 */
#include "core/lock_wait.h"

static double
at_least_0(double value)
{
	return value > 0 ? value : 0;
}

static double
at_most(double value, double most)
{
	return value < most ? value : most;
}

void
nn_lock_wait_divide(uint64_t start_ns, uint64_t end_ns, const NnLockAccount *from,
					const NnLockAccount *to, uint64_t run_queue_ns, NnLockWait *wait)
{
	double		on_ns = at_least_0((double) to->on_ns - (double) from->on_ns);
	double		off_ns = at_least_0((double) to->off_ns - (double) from->off_ns);
	double		whole_ns = end_ns > start_ns ? (double) (end_ns - start_ns) : 0;
	double		left_ns;
	double		held_ns;
	double		scale = 1;

	/*
	 * What the holder of that moment had not accounted for yet, it did before
	 * the wait.  If it was behind by more than it is when it runs, it had no
	 * CPU.
	 */
	if (from->until_ns != 0 && start_ns > from->until_ns)
	{
		double		before_ns = (double) (start_ns - from->until_ns);

		if (before_ns > NN_LOCK_FRESH_NS)
			off_ns = at_least_0(off_ns - before_ns);
		else
			on_ns = at_least_0(on_ns - before_ns);
	}

	wait->wait_ns = whole_ns;
	wait->run_queue_ns = at_most((double) run_queue_ns, whole_ns);
	left_ns = whole_ns - wait->run_queue_ns;
	held_ns = on_ns + off_ns;
	if (held_ns > left_ns)
		scale = left_ns / held_ns;
	wait->holder_on_ns = scale * on_ns;
	wait->holder_off_ns = scale * off_ns;
	wait->rest_ns = at_least_0(left_ns - wait->holder_on_ns - wait->holder_off_ns);
	wait->overlap_ns = at_least_0(held_ns - left_ns);
}
