/*-------------------------------------------------------------------------
 *
 * lock_probe.c
 *	  Workers that contend for a lock of our own, and know what they waited for.
 *
 * Nobody can tell who holds an LWLock of the server, so whether a wait is long because its holder was preempted can't be
 * measured there.  Here it can: the lock is one of our own tranche in the run's segment, and its holder keeps an
 * account of the time that it is held on a CPU and without one (core/lock_wait.h).
 *
 * All workers come on the same ticks of the clock and take the lock one after the other; who is late comes on the next
 * tick.  A hold is a fixed amount of CPU time, during which the account is brought up to date all the time.  So K workers
 * use K * hold / period of a CPU, and some microseconds more for each turn.
 *
 * A worker can't be interrupted while it waits for the lock or holds it: until whoever holds it has had its CPU time.  It looks
 * for a stop before each turn.  Who is terminated gives the lock back first; who is killed takes the server with it.
 *
 * Locks: the LWLock of the probe; nothing else is called while it is held.  The account has one writer, its holder; a
 * counter that is odd while it writes lets others read it whole.  Each worker has a result of its own.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include "miscadmin.h"
#include "storage/lwlock.h"

#include "core/clock.h"
#include "core/lock_wait.h"
#include "core/random.h"
#include "host/process.h"
#include "sample/lock_probe.h"
#include "server/worker.h"

#define CLOCK_SLEEP_NS	(2 * NN_NS_PER_MS)
#define LONG_WAIT_NS	NN_NS_PER_MS
#define MAX_READS		1000
#define AT_ONCE_NS		(20 * NN_NS_PER_US)
#define LOOK_NS			(100 * NN_NS_PER_MS)
#define TIMER_SLACK_NS	1000

static void
write_account(NnLockProbe *lock, const NnLockAccount *account)
{
	uint32		version = pg_atomic_read_u32(&lock->version);

	pg_atomic_write_u32(&lock->version, version + 1);
	pg_write_barrier();
	pg_atomic_write_u64(&lock->on_ns, account->on_ns);
	pg_atomic_write_u64(&lock->off_ns, account->off_ns);
	pg_atomic_write_u64(&lock->free_ns, account->free_ns);
	pg_atomic_write_u64(&lock->heir_ns, account->heir_ns);
	pg_atomic_write_u64(&lock->until_ns, account->until_ns);
	pg_atomic_write_u32(&lock->held, account->held);
	pg_write_barrier();
	pg_atomic_write_u32(&lock->version, version + 2);
}

/* A holder may be preempted while it writes: then what is read is old or new by a few microseconds. */
static void
read_account(NnLockProbe *lock, NnLockAccount *account)
{
	uint32		version;
	int			reads = 0;

	do
	{
		version = pg_atomic_read_u32(&lock->version);
		pg_read_barrier();
		account->on_ns = pg_atomic_read_u64(&lock->on_ns);
		account->off_ns = pg_atomic_read_u64(&lock->off_ns);
		account->free_ns = pg_atomic_read_u64(&lock->free_ns);
		account->heir_ns = pg_atomic_read_u64(&lock->heir_ns);
		account->until_ns = pg_atomic_read_u64(&lock->until_ns);
		account->held = pg_atomic_read_u32(&lock->held) != 0;
		pg_read_barrier();
	} while ((version % 2 != 0 || version != pg_atomic_read_u32(&lock->version)) &&
			 ++reads < MAX_READS);
}

/*
 * Hold the lock for a while of CPU time, and enter how that passes.  We have had it from account->until_ns on, when our
 * own CPU time was cpu_ns.  The last entry is a fresh one: the scheduler likes to take the CPU at the end of the system call
 * in the loop.
 */
static void
hold(NnLockProbe *lock, NnLockAccount *account, uint64 cpu_ns)
{
	uint64		until_cpu_ns = cpu_ns + lock->hold_ns;

	do
	{
		uint64		now_ns = nn_now_ns();
		uint64		now_cpu_ns = nn_thread_cpu_ns();
		uint64		wall = now_ns - account->until_ns;
		uint64		cpu = Min(now_cpu_ns - cpu_ns, wall);

		account->on_ns += cpu;
		account->off_ns += wall - cpu;
		account->until_ns = now_ns;
		cpu_ns = now_cpu_ns;
		write_account(lock, account);
	} while (cpu_ns < until_cpu_ns || nn_now_ns() - account->until_ns > NN_LOCK_FRESH_NS);
	account->held = false;
	write_account(lock, account);
}

static void
count(NnLockProbeResult *result, const NnLockWait *wait, uint64 held_ns)
{
	result->acquisitions++;
	nn_histogram_record(&result->hold, held_ns);
	nn_histogram_record(&result->wait, (uint64) wait->wait_ns);
	nn_lock_wait_add(&result->waits, wait);
	if (wait->wait_ns > LONG_WAIT_NS)
	{
		result->long_waits++;
		nn_lock_wait_add(&result->longs, wait);
	}
}

/* Wait for the lock, hold it, give it back. */
static void
take_lock(NnLockProbe *lock, NnLockProbeResult *result, int account_fd)
{
	NnLockAccount from;
	NnLockAccount account;
	NnSchedstat before;
	NnSchedstat after;
	NnLockWait	wait;
	uint64		start_ns;
	uint64		end_ns;
	uint64		end_cpu_ns;
	bool		known;
	int			reads = 0;

	/* If the CPU is taken from us in between, that was before the wait. */
	do
	{
		uint64		since_ns = nn_now_ns();

		known = nn_schedstat_reread(account_fd, &before);
		read_account(lock, &from);
		start_ns = nn_now_ns();
		if (start_ns - since_ns <= AT_ONCE_NS)
			break;
	} while (++reads < MAX_READS);
	LWLockAcquire(&lock->lock, LW_EXCLUSIVE);
	end_ns = nn_now_ns();
	end_cpu_ns = nn_thread_cpu_ns();
	read_account(lock, &account);
	if (account.until_ns != 0 && end_ns > account.until_ns)
		account.free_ns += end_ns - account.until_ns;
	account.until_ns = end_ns;
	account.held = true;
	write_account(lock, &account);

	known = nn_schedstat_reread(account_fd, &after) && known;
	account.heir_ns += nn_lock_wait_divide(start_ns, end_ns, &from, &account,
										   known ? after.run_delay_ns - before.run_delay_ns : 0, &wait);
	hold(lock, &account, end_cpu_ns);
	LWLockRelease(&lock->lock);

	if (!known)
		wait.run_queue_ns = wait.rest_ns = wait.heir_ns = NAN;
	count(result, &wait, account.until_ns - end_ns);
}

/* Sleep until then.  False: the run is to stop. */
static bool
wait_until(NnWorker *worker, uint64 until_ns)
{
	uint64		now_ns;

	while ((now_ns = nn_now_ns()) < until_ns)
	{
		if (until_ns - now_ns <= CLOCK_SLEEP_NS)
			nn_sleep_until_ns(until_ns);
		else if (!nn_worker_wait(worker, until_ns - NN_NS_PER_MS))
			return false;
	}
	return !nn_shared_must_stop(worker->shared);
}

/* Take the lock until the block ends.  False: the run is to stop. */
static bool
run_block(NnWorker *worker, int account_fd, NnRandom *random)
{
	NnShared   *shared = worker->shared;
	NnLockProbe *lock = nn_shared_lock_probe(shared);
	NnLockProbeResult *result = &lock->results[worker->slot->index];
	uint64		start_ns = shared->order.measure_ns;
	uint64		next_ns = start_ns;
	uint64		look_ns = start_ns;

	memset(result, 0, sizeof(*result));
	nn_histogram_reset(&result->hold);
	nn_histogram_reset(&result->wait);
	nn_worker_activity(worker, "probing a lock, block %d", shared->order.block);
	while (next_ns < shared->order.end_ns)
	{
		/* not always the same one first */
		if (!wait_until(worker, next_ns + (uint64) (nn_random_double(random) * lock->hold_ns)))
			return false;
		if (nn_now_ns() >= look_ns)
		{
			if (!nn_worker_wait(worker, look_ns))
				return false;
			look_ns = nn_now_ns() + LOOK_NS;
		}
		take_lock(lock, result, account_fd);
		next_ns = start_ns + ((nn_now_ns() - start_ns) / lock->period_ns + 1) * lock->period_ns;
	}
	nn_worker_activity(worker, "waiting");
	return wait_until(worker, shared->order.end_ns);
}

/* By default a sleeper is woken some 50 us late, and workers would not meet. */
static void
wake_in_time(void)
{
#ifdef PR_SET_TIMERSLACK
	(void) prctl(PR_SET_TIMERSLACK, (unsigned long) TIMER_SLACK_NS, 0UL, 0UL, 0UL);
#endif
}

void
nn_lock_probe_main(Datum main_arg)
{
	NnWorker	worker;
	NnHostRoot	own;
	NnRandom	random;
	int			account_fd;
	bool		going = true;

	nn_worker_start(&worker, main_arg);
	wake_in_time();
	strlcpy(own.proc, NN_HOST_PROC, sizeof(own.proc));
	strlcpy(own.sys, NN_HOST_SYS, sizeof(own.sys));
	account_fd = nn_schedstat_open(&own, MyProcPid);
	nn_random_seed(&random, worker.shared->request.seed, (uint64) worker.slot->index);
	nn_worker_ready(&worker);
	while (going && nn_worker_next_order(&worker))
	{
		if (worker.shared->order.kind == NN_ORDER_RUN)
			going = run_block(&worker, account_fd, &random);
		if (going)
			nn_worker_done(&worker);
	}
}

void
nn_lock_probe_collect(NnShared *shared, NnLockProbeResult *sum)
{
	NnLockProbe *lock = nn_shared_lock_probe(shared);

	memset(sum, 0, sizeof(*sum));
	nn_histogram_reset(&sum->hold);
	nn_histogram_reset(&sum->wait);
	for (int i = 0; i < shared->request.lock_probe_workers; i++)
	{
		const NnLockProbeResult *result = &lock->results[i];

		sum->acquisitions += result->acquisitions;
		sum->long_waits += result->long_waits;
		nn_lock_wait_add(&sum->waits, &result->waits);
		nn_lock_wait_add(&sum->longs, &result->longs);
		nn_histogram_merge(&sum->hold, &result->hold);
		nn_histogram_merge(&sum->wait, &result->wait);
	}
}
