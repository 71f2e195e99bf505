/*-------------------------------------------------------------------------
 *
 * lock_probe.c
 *	  Workers that contend for a lock of our own, and know what they waited for.
 *
 * Nobody can tell who holds an LWLock of the server, so whether a wait is long because its holder was preempted can't be
 * measured there.  Here it can: the lock is one of our own tranche in the run's segment, and its holder keeps an
 * account of the time that it is held on a CPU and without one (core/lock_wait.h).
 *
 * All workers come at the same time, every PERIODS hold times, and take the lock one after the other.  A hold is a
 * fixed amount of CPU time, during which the account is brought up to date all the time.  So with K workers
 * the lock is held for K / PERIODS of the time, and they use as much of a CPU.
 *
 * Locks: the LWLock of the probe; nothing else is called while it is held.  The account has one writer, its holder; a
 * counter that is odd while it writes lets others read it whole.  Each worker has a result of its own.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "storage/lwlock.h"

#include "core/clock.h"
#include "core/lock_wait.h"
#include "core/random.h"
#include "host/process.h"
#include "sample/lock_probe.h"
#include "server/worker.h"

#define PERIODS			64
#define MIN_PERIOD_NS	(2 * NN_NS_PER_MS)
#define CLOCK_SLEEP_NS	(2 * NN_NS_PER_MS)
#define LONG_WAIT_NS	NN_NS_PER_MS
#define MAX_READS		1000

/* A holder's own clocks. */
typedef struct Holder
{
	uint64		wall_ns;		/* at the last entry in the account */
	uint64		cpu_ns;
	uint64		on_ns;			/* the account */
	uint64		off_ns;
} Holder;

static void
write_account(NnLockProbe *lock, const Holder *holder, uint64 until_ns)
{
	uint32		version = pg_atomic_read_u32(&lock->version);

	pg_atomic_write_u32(&lock->version, version + 1);
	pg_write_barrier();
	pg_atomic_write_u64(&lock->on_ns, holder->on_ns);
	pg_atomic_write_u64(&lock->off_ns, holder->off_ns);
	pg_atomic_write_u64(&lock->until_ns, until_ns);
	pg_write_barrier();
	pg_atomic_write_u32(&lock->version, version + 2);
}

/* A holder may be preempted between the two: then what is read is old or new by a few microseconds. */
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
		account->until_ns = pg_atomic_read_u64(&lock->until_ns);
		pg_read_barrier();
	} while ((version % 2 != 0 || version != pg_atomic_read_u32(&lock->version)) &&
			 ++reads < MAX_READS);
}

/* Enter what has passed since the last entry. */
static void
enter_time(NnLockProbe *lock, Holder *holder)
{
	uint64		wall_ns = nn_now_ns();
	uint64		cpu_ns = nn_thread_cpu_ns();
	uint64		wall = wall_ns - holder->wall_ns;
	uint64		cpu = Min(cpu_ns - holder->cpu_ns, wall);

	holder->on_ns += cpu;
	holder->off_ns += wall - cpu;
	holder->wall_ns = wall_ns;
	holder->cpu_ns = cpu_ns;
	write_account(lock, holder, wall_ns);
}

/* Hold the lock, which we have, for a while of CPU time; how long it took. */
static uint64
hold(NnLockProbe *lock, uint64 since_ns, uint64 hold_ns)
{
	Holder		holder;
	uint64		until_cpu_ns;

	holder.wall_ns = since_ns;
	holder.cpu_ns = nn_thread_cpu_ns();
	holder.on_ns = pg_atomic_read_u64(&lock->on_ns);
	holder.off_ns = pg_atomic_read_u64(&lock->off_ns);
	until_cpu_ns = holder.cpu_ns + hold_ns;
	do
		enter_time(lock, &holder);
	while (holder.cpu_ns < until_cpu_ns);
	write_account(lock, &holder, 0);
	return holder.wall_ns - since_ns;
}

static void
count(NnLockProbeResult *result, const NnLockWait *wait, uint64 held_ns)
{
	result->acquisitions++;
	nn_histogram_record(&result->hold, held_ns);
	nn_histogram_record(&result->wait, (uint64) wait->wait_ns);
	if (wait->wait_ns > LONG_WAIT_NS)
		result->long_waits++;
	result->wait_s += wait->wait_ns / NN_NS_PER_S;
	result->holder_on_s += wait->holder_on_ns / NN_NS_PER_S;
	result->holder_off_s += wait->holder_off_ns / NN_NS_PER_S;
	result->run_queue_s += wait->run_queue_ns / NN_NS_PER_S;
	result->rest_s += wait->rest_ns / NN_NS_PER_S;
	result->overlap_s += wait->overlap_ns / NN_NS_PER_S;
}

/* Wait for the lock, hold it, give it back. */
static void
take_lock(NnLockProbe *lock, NnLockProbeResult *result, int account_fd)
{
	NnLockAccount from;
	NnLockAccount to;
	NnSchedstat before;
	NnSchedstat after;
	NnLockWait	wait;
	uint64		start_ns;
	uint64		end_ns;
	uint64		held_ns;
	bool		known = nn_schedstat_reread(account_fd, &before);

	read_account(lock, &from);
	start_ns = nn_now_ns();
	LWLockAcquire(&lock->lock, LW_EXCLUSIVE);
	end_ns = nn_now_ns();
	read_account(lock, &to);
	known = nn_schedstat_reread(account_fd, &after) && known;
	held_ns = hold(lock, end_ns, lock->hold_ns);
	LWLockRelease(&lock->lock);

	nn_lock_wait_divide(start_ns, end_ns, &from, &to,
						known ? after.run_delay_ns - before.run_delay_ns : 0, &wait);
	if (!known)
		wait.run_queue_ns = wait.rest_ns = NAN;
	count(result, &wait, held_ns);
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
	uint64		period_ns = Max(PERIODS * lock->hold_ns, MIN_PERIOD_NS);
	uint64		next_ns = shared->order.measure_ns;
	uint64		look_ns = next_ns;

	memset(result, 0, sizeof(*result));
	nn_histogram_reset(&result->hold);
	nn_histogram_reset(&result->wait);
	nn_worker_activity(worker, "probing a lock, block %d", shared->order.block);
	while (next_ns < shared->order.end_ns)
	{
		if (!wait_until(worker, next_ns + (uint64) (nn_random_double(random) * lock->hold_ns)))
			return false;
		if (nn_now_ns() >= look_ns)
		{
			if (!nn_worker_wait(worker, look_ns))
				return false;
			look_ns = nn_now_ns() + 100 * NN_NS_PER_MS;
		}
		take_lock(lock, result, account_fd);
		next_ns = Max(next_ns + period_ns,
					  shared->order.measure_ns +
					  (nn_now_ns() - shared->order.measure_ns) / period_ns * period_ns);
	}
	nn_worker_activity(worker, "waiting");
	return wait_until(worker, shared->order.end_ns);
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
	LWLockRegisterTranche(nn_shared_lock_probe(worker.shared)->lock.tranche, NN_LOCK_PROBE_TRANCHE);
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
		sum->wait_s += result->wait_s;
		sum->holder_on_s += result->holder_on_s;
		sum->holder_off_s += result->holder_off_s;
		sum->run_queue_s += result->run_queue_s;
		sum->rest_s += result->rest_s;
		sum->overlap_s += result->overlap_s;
		nn_histogram_merge(&sum->hold, &result->hold);
		nn_histogram_merge(&sum->wait, &result->wait);
	}
}
