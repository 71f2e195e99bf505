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

static NnLockAccount
account(uint64_t on, uint64_t off, uint64_t free, uint64_t heir, uint64_t until, bool held)
{
	NnLockAccount result = {on, off, free, heir, until, held};

	return result;
}

static uint64_t entered;		/* what the waiter of the last wait enters as
								 * heir_ns */

/* All in microseconds. */
static NnLockWait
divide(uint64_t start, uint64_t end, NnLockAccount from, NnLockAccount to, uint64_t run_queue)
{
	NnLockAccount *accounts[] = {&from, &to};
	NnLockWait	wait;

	for (int i = 0; i < 2; i++)
	{
		accounts[i]->on_ns *= US;
		accounts[i]->off_ns *= US;
		accounts[i]->free_ns *= US;
		accounts[i]->heir_ns *= US;
		accounts[i]->until_ns *= US;
	}
	entered = nn_lock_wait_divide(start * US, end * US, &from, &to, run_queue * US, &wait) / US;
	return wait;
}

static bool
is(NnLockWait wait, double on, double off, double queue, double rest, double heir, double overlap)
{
	return near(wait.holder_on_ns, on * US, 1e-9) && near(wait.holder_off_ns, off * US, 1e-9) &&
		near(wait.run_queue_ns, queue * US, 1e-9) && near(wait.rest_ns, rest * US, 1e-9) &&
		near(wait.heir_ns, heir * US, 1e-9) && near(wait.overlap_ns, overlap * US, 1e-9);
}

static bool
closes(NnLockWait wait)
{
	return near(wait.known_ns, wait.wait_ns, 1e-9);
}

/* One lock and many who want it, on a clock that ticks in steps: what is known of each wait is exact. */
static bool
simulate(NnRandom *random)
{
	NnLockAccount account = {0, 0, 0, 0, 1000 * US, false};
	uint64_t	now = 1000 * US;

	for (int turn = 0; turn < 2000; turn++)
	{
		NnLockAccount from = account;
		uint64_t	start;
		uint64_t	queue = 0;
		NnLockWait	wait;
		int			others = (int) (nn_random_u64(random) % 4);

		/* the waiter comes at some moment after the last entry */
		now += nn_random_u64(random) % (3 * US);
		start = now;
		for (int i = 0; i < others; i++)
		{
			uint64_t	idle = nn_random_u64(random) % (20 * US);
			uint64_t	on = nn_random_u64(random) % (50 * US);
			uint64_t	off = nn_random_u64(random) % (500 * US);

			now += idle;
			account.free_ns += now - account.until_ns;
			account.on_ns += on;
			account.off_ns += off;
			now += on + off;
			account.until_ns = now;
		}
		queue = nn_random_u64(random) % (100 * US);
		now += queue + nn_random_u64(random) % (2 * US);
		account.free_ns += now - account.until_ns;
		account.until_ns = now;
		account.heir_ns += nn_lock_wait_divide(start, now, &from, &account, queue, &wait);
		if (!closes(wait) || !near(wait.run_queue_ns, (double) queue, 1e-9) || wait.overlap_ns != 0)
			return false;
	}
	return true;
}

int
main(void)
{
	NnRandom	random;
	NnLockWait	wait;
	bool		sums = true;

	wait = divide(1000, 1100, account(500, 50, 7, 0, 1000, true), account(560, 80, 17, 0, 1100, true), 0);
	ok(is(wait, 60, 30, 0, 10, 0, 0) && closes(wait), "holders on and off the CPU, and a rest");
	wait = divide(1000, 1100, account(500, 50, 7, 0, 1000, true), account(560, 50, 47, 0, 1100, true), 30);
	ok(is(wait, 60, 0, 30, 10, 0, 0) && closes(wait) && entered == 30, "the waiter's own run queue");
	wait = divide(1000, 1100, account(500, 50, 7, 5, 1000, true), account(560, 50, 47, 36, 1100, true), 0);
	ok(is(wait, 60, 0, 0, 40, 31, 0) && entered == 0, "somebody else was next in line, and queued");
	wait = divide(1000, 1100, account(500, 50, 0, 0, 995, true), account(560, 50, 45, 0, 1100, true), 0);
	ok(is(wait, 55, 0, 0, 45, 0, 0) && closes(wait), "what a holder on the CPU did before the wait is not in it");
	wait = divide(1000, 1100, account(500, 50, 0, 0, 400, true), account(510, 740, 0, 0, 1100, true), 0);
	ok(is(wait, 10, 90, 0, 0, 0, 0) && closes(wait), "nor is the time for which a holder without one had been away by then");
	wait = divide(1000, 1001, account(500, 50, 0, 0, 400, false), account(500, 50, 601, 0, 1001, true), 0);
	ok(is(wait, 0, 0, 0, 1, 0, 0) && closes(wait), "nor is that for which it had been free");
	wait = divide(1000, 1100, account(500, 50, 0, 0, 400, false), account(510, 650, 90, 0, 1100, true), 0);
	ok(is(wait, 10, 90, 0, 0, 0, 0) && closes(wait), "or that of a holder who had not said so yet");
	wait = divide(1000, 1002, account(500, 50, 0, 0, 990, true), account(504, 50, 8, 0, 1002, true), 0);
	ok(is(wait, 0, 0, 0, 2, 0, 0) && closes(wait), "or between a holder's last entry and its release");
	wait = divide(1000, 1100, account(0, 0, 0, 0, 0, false), account(50, 50, 0, 0, 1100, true), 40);
	ok(is(wait, 30, 30, 40, 0, 0, 40) && entered == 0, "while the waiter queues for a CPU nobody else is to blame");
	wait = divide(1000, 1100, account(0, 0, 0, 0, 0, false), account(0, 0, 0, 0, 1100, true), 900);
	ok(is(wait, 0, 0, 100, 0, 0, 0), "no part is longer than the wait");
	wait = divide(1100, 1000, account(0, 0, 0, 0, 0, false), account(9, 9, 0, 0, 1000, true), 9);
	ok(is(wait, 0, 0, 0, 0, 0, 18), "no wait has no parts");

	nn_random_seed(&random, 7, 0);
	for (int i = 0; i < 10000 && sums; i++)
	{
		NnLockAccount from = {nn_random_u64(&random) % 1000, nn_random_u64(&random) % 1000, nn_random_u64(&random) % 1000,
		nn_random_u64(&random) % 1000, nn_random_u64(&random) % 2000, i % 2 == 0};
		NnLockAccount to = {nn_random_u64(&random) % 2000, nn_random_u64(&random) % 2000, nn_random_u64(&random) % 2000,
		nn_random_u64(&random) % 2000, 0, true};
		double		sum;

		wait = divide(1500, 1500 + nn_random_u64(&random) % 1000, from, to, nn_random_u64(&random) % 500);
		sum = wait.holder_on_ns + wait.holder_off_ns + wait.run_queue_ns + wait.rest_ns;
		sums = fabs(sum - wait.wait_ns) < 1 && wait.holder_on_ns >= 0 && wait.holder_off_ns >= 0 && wait.rest_ns >= 0 &&
			wait.heir_ns >= 0 && wait.heir_ns <= wait.rest_ns && wait.overlap_ns >= 0;
	}
	ok(sums, "whatever was read, the parts sum to the wait and none is negative");
	ok(simulate(&random), "by an account that is kept, every wait closes");
	return tap_done();
}
