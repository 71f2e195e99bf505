/*-------------------------------------------------------------------------
 *
 * test_lock_wait.c
 *	  A wait for a lock divides into parts that sum to it.
 *
 *-------------------------------------------------------------------------
 */
#include "core/clock.h"
#include "core/lock_wait.h"
#include "core/random.h"
#include "tap.h"

#define US	UINT64_C(1000)

static NnLockWait
divide(uint64_t start_us, uint64_t end_us, NnLockAccount from, NnLockAccount to, uint64_t run_queue_us)
{
	NnLockWait	wait;

	from.on_ns *= US, from.off_ns *= US, from.until_ns *= US;
	to.on_ns *= US, to.off_ns *= US;
	nn_lock_wait_divide(start_us * US, end_us * US, &from, &to, run_queue_us * US, &wait);
	return wait;
}

static bool
is(NnLockWait wait, double on_us, double off_us, double queue_us, double rest_us, double overlap_us)
{
	return near(wait.holder_on_ns, on_us * US, 1e-9) && near(wait.holder_off_ns, off_us * US, 1e-9) &&
		near(wait.run_queue_ns, queue_us * US, 1e-9) && near(wait.rest_ns, rest_us * US, 1e-9) &&
		near(wait.overlap_ns, overlap_us * US, 1e-9);
}

int
main(void)
{
	NnRandom	random;
	bool		sums = true;

	ok(is(divide(1000, 1100, (NnLockAccount) {500, 50, 0}, (NnLockAccount) {560, 80, 0}, 0), 60, 30, 0, 10, 0),
	   "holders on and off the CPU, and a rest");
	ok(is(divide(1000, 1100, (NnLockAccount) {500, 50, 0}, (NnLockAccount) {560, 50, 0}, 30), 60, 0, 30, 10, 0),
	   "the waiter's own run queue");
	ok(is(divide(1000, 1100, (NnLockAccount) {500, 50, 990}, (NnLockAccount) {560, 50, 0}, 0), 50, 0, 0, 50, 0),
	   "what a holder on the CPU did before the wait is not in it");
	ok(is(divide(1000, 1100, (NnLockAccount) {500, 50, 400}, (NnLockAccount) {510, 720, 0}, 0), 10, 70, 0, 20, 0),
	   "nor is the time for which a holder without one had been away by then");
	ok(is(divide(1000, 1100, (NnLockAccount) {0, 0, 0}, (NnLockAccount) {60, 60, 0}, 40), 30, 30, 40, 0, 60),
	   "while the waiter queues for a CPU nobody else is to blame");
	ok(is(divide(1000, 1100, (NnLockAccount) {0, 0, 0}, (NnLockAccount) {0, 0, 0}, 900), 0, 0, 100, 0, 0),
	   "no part is longer than the wait");
	ok(is(divide(1100, 1000, (NnLockAccount) {0, 0, 0}, (NnLockAccount) {9, 9, 0}, 9), 0, 0, 0, 0, 18),
	   "no wait has no parts");

	nn_random_seed(&random, 7, 0);
	for (int i = 0; i < 10000 && sums; i++)
	{
		NnLockAccount from = {nn_random_u64(&random) % 1000, nn_random_u64(&random) % 1000, nn_random_u64(&random) % 2000};
		NnLockAccount to = {nn_random_u64(&random) % 2000, nn_random_u64(&random) % 2000, 0};
		NnLockWait	wait = divide(1500, 1500 + nn_random_u64(&random) % 1000, from, to, nn_random_u64(&random) % 500);
		double		sum = wait.holder_on_ns + wait.holder_off_ns + wait.run_queue_ns + wait.rest_ns;

		sums = fabs(sum - wait.wait_ns) < 1 && wait.holder_on_ns >= 0 && wait.holder_off_ns >= 0 && wait.rest_ns >= 0;
	}
	ok(sums, "whatever was read, the parts sum to the wait and none is negative");
	return tap_done();
}
