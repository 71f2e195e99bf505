/*-------------------------------------------------------------------------
 *
 * test_follow.c
 *	  Transactions that are followed one by one: their accounts, and the slowest hundredth.
 *
 * The "backend" is a child process that spins.
 *
 * Links: src/workload/follow.c
 *
 *-------------------------------------------------------------------------
 */
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/clock.h"
#include "tap.h"
#include "workload/follow.h"

#define HOUR_NS		(3600 * NN_NS_PER_S)

static NnWaitClass
classify(uint32_t wait_event_info)
{
	return (NnWaitClass) wait_event_info;
}

/* The account is exact to a scheduler tick, which may be 10 ms. */
static void
test_account(NnFollow *follow, pid_t child, pid_t sleeper)
{
	NnFollowRecord *record = follow->records;
	uint64_t	since_ns = nn_now_ns();
	double		ms;

	nn_follow_block(follow, since_ns, since_ns + HOUR_NS);
	nn_follow_begin(follow, child, since_ns);
	nn_sleep_until_ns(since_ns + 200 * NN_NS_PER_MS);
	nn_follow_end(follow, since_ns, since_ns, nn_now_ns());
	ok(follow->n_records == 1, "a transaction of a process that spins is recorded");
	ms = record->cpu_ms + record->run_queue_ms;
	ok(record->cpu_ms > 0 && ms > record->service_ms - 25 && ms < record->service_ms + 25,
	   "CPU time and run-queue delay make up its time (%.1f + %.1f of %.1f ms)", record->cpu_ms,
	   record->run_queue_ms, record->service_ms);

	since_ns = nn_now_ns();
	nn_follow_begin(follow, sleeper, since_ns);
	nn_sleep_until_ns(since_ns + 20 * NN_NS_PER_MS);
	nn_follow_end(follow, since_ns - 5 * NN_NS_PER_MS, since_ns, nn_now_ns());
	record++;
	ok(follow->n_records == 2 && record->cpu_ms + record->run_queue_ms < 5,
	   "another backend has its own account: one that sleeps uses nothing (%.2f ms)",
	   record->cpu_ms + record->run_queue_ms);
	ok(near(record->latency_ms - record->service_ms, 5, 1e-3), "latency counts from when it was due");

	nn_follow_begin(follow, 0, nn_now_ns());
	nn_follow_end(follow, since_ns, since_ns, nn_now_ns());
	ok(follow->n_records == 2, "a transaction of an unknown backend is not recorded");
	nn_follow_block(follow, nn_now_ns() + HOUR_NS, nn_now_ns() + 2 * HOUR_NS);
	nn_follow_begin(follow, child, nn_now_ns());
	nn_follow_end(follow, since_ns, since_ns, nn_now_ns());
	ok(follow->n_records == 0, "nor is one that ends outside of the window");
}

/* Latencies of 1 … n ms, each slept for a lock in its last tenth. */
static void
test_tail(NnFollow *follow, pid_t sleeper, int n)
{
	NnFollowedMean all;
	NnFollowedMean tail;
	uint64_t	now_ns = nn_now_ns();

	nn_follow_block(follow, now_ns, now_ns + HOUR_NS);
	for (int i = 1; i <= n; i++)
	{
		now_ns = nn_now_ns();
		nn_follow_begin(follow, sleeper, now_ns);
		if (i > n / 10 * 9)
			atomic_fetch_add(&follow->sampled[NN_WAIT_LOCK], 2);
		else
			atomic_fetch_add(&follow->sampled[NN_WAIT_CLIENT], 1);
		nn_follow_end(follow, now_ns - (uint64_t) i * NN_NS_PER_MS, now_ns - (uint64_t) i * NN_NS_PER_MS, now_ns);
	}
	nn_follow_results(follow, &all, &tail);
	ok(all.n == (uint64_t) n && near(all.budget.latency_ms, (n + 1) / 2.0, 1e-4), "the mean is over all (%.3f ms)",
	   all.budget.latency_ms);
	if (n < NN_FOLLOW_MIN_RECORDS)
	{
		ok(tail.n == 0, "%d transactions have no slowest hundredth", n);
		return;
	}
	ok(tail.n == (uint64_t) (n / 100) && near(tail.budget.latency_ms, n - n / 200.0 + 0.5, 1e-4),
	   "the tail is the slowest hundredth (%d of %d, %.2f ms)", (int) tail.n, n, tail.budget.latency_ms);
	ok(tail.budget.samples[NN_WAIT_LOCK] == 2.0 * (double) tail.n && tail.budget.samples[NN_WAIT_CLIENT] == 0 &&
	   all.budget.samples[NN_WAIT_LOCK] == 2 * n / 10,
	   "and what it slept for is that of these transactions");
}

int
main(void)
{
	NnHostRoot	root = {.proc = NN_HOST_PROC,.sys = NN_HOST_SYS};
	NnFollow   *follow = nn_follow_create(&root, classify);
	NnSchedstat stat;
	pid_t		child;
	pid_t		sleeper;

	if (!nn_schedstat_read(&root, getpid(), &stat, NULL))
	{
		tap_skip("this kernel keeps no account of processes");
		return tap_done();
	}
	child = fork();
	if (child == 0)
		for (;;)
			(void) getppid();
	sleeper = fork();
	if (sleeper == 0)
		for (;;)
			pause();
	nn_sleep_until_ns(nn_now_ns() + 50 * NN_NS_PER_MS);
	test_account(follow, child, sleeper);
	test_tail(follow, sleeper, 1000);
	test_tail(follow, sleeper, 99);
	kill(child, SIGKILL);
	kill(sleeper, SIGKILL);
	(void) waitpid(child, NULL, 0);
	(void) waitpid(sleeper, NULL, 0);
	return tap_done();
}
