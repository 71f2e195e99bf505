/*-------------------------------------------------------------------------
 *
 * lock_wait.c
 *	  How a wait for a lock divides.  See lock_wait.h.
 *
 *-------------------------------------------------------------------------
 */
#include "core/lock_wait.h"

static double
at_most(double value, double most)
{
	return value < most ? value : most;
}

static double
growth(uint64_t from, uint64_t to)
{
	return to > from ? (double) (to - from) : 0;
}

static double
less(double value, double by)
{
	return value > by ? value - by : 0;
}

/* Take as much of *by off *value as there is. */
static void
take(double *by, double *value)
{
	double		taken = at_most(*by, *value);

	*by -= taken;
	*value -= taken;
}

uint64_t
nn_lock_wait_divide(uint64_t start_ns, uint64_t end_ns, const NnLockAccount *from,
					const NnLockAccount *to, uint64_t run_queue_ns, NnLockWait *wait)
{
	double		on_ns = growth(from->on_ns, to->on_ns);
	double		off_ns = growth(from->off_ns, to->off_ns);
	double		free_ns = growth(from->free_ns, to->free_ns);
	double		heir_ns = growth(from->heir_ns, to->heir_ns);
	double		whole_ns = growth(start_ns, end_ns);
	double		before_ns = from->until_ns != 0 ? growth(from->until_ns, start_ns) : 0;
	double		own_free_ns;
	double		held_ns;
	double		left_ns;
	double		scale = 1;

	/*
	 * What had not been accounted for when the wait started, was before it.
	 * If a holder was behind by more than it is when it runs, it had no CPU;
	 * and so had one that had not yet said that it has the lock.
	 */
	if (!from->held)
		take(&before_ns, &free_ns);
	if (before_ns > NN_LOCK_FRESH_NS)
		take(&before_ns, &off_ns);
	take(&before_ns, &on_ns);
	take(&before_ns, &free_ns); /* it had just been given back */

	wait->wait_ns = whole_ns;
	wait->known_ns = on_ns + off_ns + free_ns;
	wait->run_queue_ns = at_most((double) run_queue_ns, whole_ns);
	own_free_ns = at_most(wait->run_queue_ns, free_ns);
	held_ns = on_ns + off_ns;
	left_ns = at_most(less(held_ns, wait->run_queue_ns - own_free_ns), whole_ns - wait->run_queue_ns);
	if (held_ns > left_ns)
		scale = left_ns / held_ns;
	wait->holder_on_ns = scale * on_ns;
	wait->holder_off_ns = scale * off_ns;
	wait->overlap_ns = held_ns - left_ns;
	wait->rest_ns = less(whole_ns, wait->run_queue_ns + wait->holder_on_ns + wait->holder_off_ns);
	wait->heir_ns = at_most(at_most(heir_ns, free_ns - own_free_ns), wait->rest_ns);
	return (uint64_t) own_free_ns;
}

void
nn_lock_wait_add(NnLockWait *sum, const NnLockWait *wait)
{
	sum->wait_ns += wait->wait_ns;
	sum->holder_on_ns += wait->holder_on_ns;
	sum->holder_off_ns += wait->holder_off_ns;
	sum->run_queue_ns += wait->run_queue_ns;
	sum->rest_ns += wait->rest_ns;
	sum->heir_ns += wait->heir_ns;
	sum->overlap_ns += wait->overlap_ns;
	sum->known_ns += wait->known_ns;
}
