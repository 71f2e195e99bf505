/*-------------------------------------------------------------------------
 *
 * test_gaps.c
 *	  Gaps of a spinning thread: explained, bounded in memory, and found in a real one.
 *
 *-------------------------------------------------------------------------
 */
#include "host/gap.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/random.h"
#include "host/wakeup.h"
#include "tap.h"

#define MS	1e6

static const NnHostRoot root = {NN_HOST_PROC, NN_HOST_SYS};
static double part[NN_GAP_CAUSES];

static bool
parts_are(double run_queue, double throttled, double steal, double unknown)
{
	return near(part[NN_GAP_RUN_QUEUE], run_queue, 1e-9) && near(part[NN_GAP_THROTTLED], throttled, 1e-9) &&
		near(part[NN_GAP_STEAL], steal, 1e-9) && near(part[NN_GAP_UNKNOWN], unknown, 1e-9);
}

static void
test_explain(void)
{
	NnGapAccount account = {30 * MS, 20 * MS, 10 * MS, NAN, NAN};

	nn_gap_explain(10 * MS, &account, part);
	ok(parts_are(10 * MS, 0, 0, 0), "a gap in the run queue");
	account.run_delay_ns = 4 * MS;
	nn_gap_explain(10 * MS, &account, part);
	ok(parts_are(4 * MS, 0, 6 * MS, 0), "what is neither CPU time nor run queue was stolen");
	account.throttled_ns = 9 * MS;
	nn_gap_explain(10 * MS, &account, part);
	ok(parts_are(0, 9 * MS, 1 * MS, 0), "throttling is taken out of both");
	account.throttled_ns = 0;
	account.run_delay_ns = 10 * MS;
	account.cpu_ns = 28 * MS;
	nn_gap_explain(10 * MS, &account, part);
	ok(parts_are(10 * MS, 0, 0, 0), "accounts that contradict each other do not explain more than the gap");
	account = (NnGapAccount)
	{
		30		   *MS,
					30 * MS,
					0,
					NAN,
					NAN
	};
	nn_gap_explain(10 * MS, &account, part);
	ok(parts_are(0, 0, 0, 10 * MS), "a gap that counts as CPU time is unknown");
	account.steal_ns = 20 * MS;
	nn_gap_explain(10 * MS, &account, part);
	ok(parts_are(0, 0, 10 * MS, 0), "unless the host counts steal");
	account = (NnGapAccount)
	{
		30		   *MS,
					20 * MS,
					NAN,
					NAN,
					0
	};
	nn_gap_explain(10 * MS, &account, part);
	ok(parts_are(0, 0, 0, 10 * MS), "without the run queue's account nothing is made up");
	account = (NnGapAccount)
	{
		100		   *MS,
					50 * MS,
					0,
					NAN,
					0
	};
	nn_gap_explain(50 * MS, &account, part);
	ok(parts_are(0, 0, 0, 50 * MS), "a long gap that the host's steal does not know of was no steal");
	account.steal_ns = 50 * MS;
	nn_gap_explain(50 * MS, &account, part);
	ok(parts_are(0, 0, 50 * MS, 0), "and one that it knows of was");
}

static void
test_series(void)
{
	static NnGap gaps[64];
	static NnGapSeries series;
	NnRandom	r;
	double		total = 0;
	uint64_t	longest = 0;
	int			missing = 0;
	int			n_long = 0;

	nn_random_seed(&r, 3, 0);
	nn_gap_series_init(&series, gaps, 64, 0);
	for (int i = 0; i < 100000; i++)
	{
		uint64_t	length = i % 5000 == 4999 ? 50000000 + (uint64_t) i : (uint64_t) nn_random_range(&r, 1000, 3000000);

		part[NN_GAP_RUN_QUEUE] = (double) length;
		part[NN_GAP_THROTTLED] = part[NN_GAP_STEAL] = part[NN_GAP_UNKNOWN] = 0;
		nn_gap_series_add(&series, (uint64_t) i * 100000000, length, 0, part);
		total += (double) length;
		longest = length > longest ? length : longest;
	}
	for (int i = 0; i < series.n; i++)
	{
		n_long += gaps[i].length_ns >= 50000000;
		missing += i > 0 && gaps[i].start_ns <= gaps[i - 1].start_ns;
	}
	ok(series.count == 100000 && near(series.total_ns, total, 1e-12) && series.longest_ns == longest &&
	   series.lengths.count == series.count, "every gap counts, whether it is kept or not");
	ok(n_long == 20, "the long ones are kept (%d of 20)", n_long);
	ok(missing == 0 && series.n <= 64, "in order of time");
	ok(near(series.part_ns[NN_GAP_RUN_QUEUE], total, 1e-12) && series.cause_count[NN_GAP_RUN_QUEUE] == 100000,
	   "causes sum to the total");
}

static void
test_settle(void)
{
	static NnGap gaps[4];
	static NnGapSeries series;

	nn_gap_series_init(&series, gaps, 4, 0);
	memset(part, 0, sizeof(part));
	part[NN_GAP_STEAL] = 40 * MS;
	nn_gap_series_add(&series, 1, 40000000, 0, part);
	nn_gap_series_settle(&series, NAN);
	ok(series.part_ns[NN_GAP_STEAL] == 40 * MS, "a host that does not count steal changes nothing");
	nn_gap_series_settle(&series, 30 * MS);
	ok(series.part_ns[NN_GAP_STEAL] == 40 * MS, "a tick less is as good as the same");
	nn_gap_series_settle(&series, 0);
	ok(series.part_ns[NN_GAP_UNKNOWN] == 40 * MS && series.part_ns[NN_GAP_STEAL] == 0 &&
	   series.cause_count[NN_GAP_UNKNOWN] == 1 && series.cause_count[NN_GAP_STEAL] == 0 && series.cause_count[NN_GAP_RUN_QUEUE] == 0,
	   "where the host counted none, it was no steal");
}

/* What the child that is stopped tells. */
typedef struct Told
{
	volatile bool spins;
	NnGapRecorder recorder;
	NnGap		gaps[4096];
} Told;

static void
spin_for(Told *told, double seconds)
{
	uint64_t	until_ns;

	nn_gap_start(&told->recorder, &root, 10 * NN_NS_PER_US, told->gaps, 4096);
	until_ns = nn_now_ns() + (uint64_t) (seconds * 1e9);
	told->spins = true;
	while (nn_now_ns() < until_ns)
		nn_gap_spin(&told->recorder, nn_now_ns() + NN_NS_PER_MS);
	nn_gap_finish(&told->recorder);
}

static void
test_stopped(void)
{
	Told	   *told = mmap(NULL, sizeof(Told), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	const NnGapSeries *series = &told->recorder.series;
	uint64_t	stopped_ns[5];
	uint64_t	resumed_ns[5];
	int			found = 0;
	double		wall_ns;
	double		sum = 0;
	pid_t		child = fork();

	if (child == 0)
	{
		spin_for(told, 1);
		_exit(0);
	}
	while (!told->spins)
		usleep(1000);
	for (int i = 0; i < 5; i++)
	{
		usleep(50000);
		stopped_ns[i] = nn_now_ns();
		kill(child, SIGSTOP);
		usleep(10000 + 10000 * i);
		resumed_ns[i] = nn_now_ns();
		kill(child, SIGCONT);
	}
	waitpid(child, NULL, 0);

	/* On a busy host it also waits before and after. */
	for (int i = 0; i < 5; i++)
		for (int k = 0; k < series->n; k++)
			if (told->gaps[k].start_ns <= resumed_ns[i] &&
				told->gaps[k].start_ns + told->gaps[k].length_ns >= resumed_ns[i] &&
				told->gaps[k].length_ns + 5 * NN_NS_PER_MS >= resumed_ns[i] - stopped_ns[i])
			{
				found++;
				break;
			}
	ok(found == 5, "every time that a process was stopped is found (%d of 5)", found);
	wall_ns = (double) (series->to_ns - series->from_ns);
	ok(fabs(wall_ns - series->total_ns - (double) series->cpu_ns) < 0.1 * wall_ns,
	   "gaps and CPU time make up the window (%.1f + %.1f of %.1f ms)", series->total_ns / MS, (double) series->cpu_ns / MS, wall_ns / MS);
	for (int i = 0; i < NN_GAP_CAUSES; i++)
		sum += series->part_ns[i];
	ok(near(sum, series->total_ns, 1e-6), "their causes sum to their length");
	tap_note("run queue %.1f, throttled %.1f, steal %.1f, unknown %.1f ms", series->part_ns[0] / MS,
			 series->part_ns[1] / MS, series->part_ns[2] / MS, series->part_ns[3] / MS);
	munmap(told, sizeof(Told));
}

static void
test_wakeup(void)
{
	static NnWakeup wakeup;
	uint64_t	from_ns = nn_now_ns();

	nn_wakeup_start(&wakeup, NN_NS_PER_MS);
	nn_wakeup_run(&wakeup, from_ns + 200 * NN_NS_PER_MS);
	ok(wakeup.lateness.count + wakeup.skipped >= 198 && wakeup.lateness.count + wakeup.skipped <= 260,
	   "every wake-up is counted or skipped (%d and %d of 200)", (int) wakeup.lateness.count, (int) wakeup.skipped);
	ok(wakeup.lateness.count > 0 && wakeup.lateness.min_ns < 50 * NN_NS_PER_MS, "lateness is measured (%.0f us at least)",
	   (double) wakeup.lateness.min_ns / 1e3);
}

int
main(void)
{
	test_explain();
	test_series();
	test_settle();
	test_stopped();
	test_wakeup();
	return tap_done();
}
