/*-------------------------------------------------------------------------
 *
 * jitter.c
 *	  Gaps, wake-ups and hidden quotas as the extension measures them, without a server.
 *
 *		jitter spin SECONDS CPU			one row: wall, total, longest (ns), number, and the sum of each cause
 *		jitter wakeup SECONDS CPU		one row: p50, p99, maximum (ns), number
 *		jitter quota SECONDS			one row: verdict, quota, period (ms), lost, idle, coherence, hits
 *		jitter stop ROUNDS				a row a SIGSTOP: asked, given, gap, gap without its time in the run queue (ns)
 *		jitter burn SECONDS CPU PERCENT	no row: load of that CPU, in periods of 10 ms
 *
 * Rows are comma-separated.
 *
 *-------------------------------------------------------------------------
 */
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/quota.h"
#include "core/random.h"
#include "host/cpu.h"
#include "host/gap.h"
#include "host/wakeup.h"

#define MOST_THREADS	64
#define ROOM			16384
#define PEER_THRESHOLD	NN_NS_PER_US	/* of oslat */

static const NnHostRoot root = {NN_HOST_PROC, NN_HOST_SYS};

/* A thread that spins; in memory that a child may share. */
typedef struct Spinner
{
	volatile bool spins;
	int			cpu;
	uint64_t	threshold_ns;
	uint64_t	duration_ns;
	double		idle_s;
	double		steal_s;
	NnGapRecorder recorder;
	NnGap		gaps[ROOM];
} Spinner;

static void
stay_on(int cpu)
{
	cpu_set_t	set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set) != 0)
	{
		perror("sched_setaffinity");
		exit(1);
	}
}

static Spinner *
new_spinner(int cpu, double seconds, uint64_t threshold_ns)
{
	Spinner    *spinner = mmap(NULL, sizeof(Spinner), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (spinner == MAP_FAILED)
	{
		perror("mmap");
		exit(1);
	}
	memset(spinner, 0, sizeof(Spinner));	/* no page faults later */
	spinner->cpu = cpu;
	spinner->duration_ns = (uint64_t) (seconds * 1e9);
	spinner->threshold_ns = threshold_ns;
	return spinner;
}

static void *
spin(void *arg)
{
	Spinner    *spinner = arg;
	NnCpuTimes	from = {0};
	NnCpuTimes	to = {0};

	stay_on(spinner->cpu);
	(void) nn_cpu_times_read_one(&root, spinner->cpu, &from, NULL);
	nn_gap_start(&spinner->recorder, &root, spinner->threshold_ns, spinner->gaps, ROOM);
	spinner->spins = true;
	nn_gap_spin(&spinner->recorder, spinner->recorder.series.from_ns + spinner->duration_ns);
	nn_gap_finish(&spinner->recorder);
	(void) nn_cpu_times_read_one(&root, spinner->cpu, &to, NULL);
	spinner->idle_s = to.idle_s - from.idle_s + to.iowait_s - from.iowait_s;
	spinner->steal_s = to.steal_s - from.steal_s;
	return NULL;
}

static void
run_spin(double seconds, int cpu)
{
	Spinner    *spinner = new_spinner(cpu, seconds, PEER_THRESHOLD);
	const NnGapSeries *series = &spinner->recorder.series;

	spin(spinner);
	printf("%.0f,%.0f,%.0f,%.0f", (double) (series->to_ns - series->from_ns), series->total_ns, (double) series->longest_ns,
		   (double) series->count);
	for (int i = 0; i < NN_GAP_CAUSES; i++)
		printf(",%.0f", series->part_ns[i]);
	printf("\n");
}

static void
run_wakeup(double seconds, int cpu)
{
	static NnWakeup wakeup;

	stay_on(cpu);
	nn_wakeup_start(&wakeup, NN_NS_PER_MS);
	nn_wakeup_run(&wakeup, nn_now_ns() + (uint64_t) (seconds * 1e9));
	printf("%.0f,%.0f,%.0f,%.0f\n", nn_histogram_percentile_ns(&wakeup.lateness, 0.5),
		   nn_histogram_percentile_ns(&wakeup.lateness, 0.99), (double) wakeup.lateness.max_ns,
		   (double) wakeup.lateness.count);
}

/* A thread on each CPU that we may use. */
static void
run_quota(double seconds)
{
	static double scratch[NN_LOSS_SCRATCH];
	Spinner    *spinners[MOST_THREADS];
	const NnGapSeries *series[MOST_THREADS];
	pthread_t	threads[MOST_THREADS];
	NnLossEvidence evidence = {series, 0, 0, 0};
	NnLossFinding finding;
	cpu_set_t	usable;

	sched_getaffinity(0, sizeof(usable), &usable);
	for (int cpu = 0; cpu < CPU_SETSIZE && evidence.n < MOST_THREADS; cpu++)
		if (CPU_ISSET(cpu, &usable))
		{
			spinners[evidence.n] = new_spinner(cpu, seconds, 100 * NN_NS_PER_US);
			series[evidence.n] = &spinners[evidence.n]->recorder.series;
			evidence.n++;
		}
	for (int i = 0; i < evidence.n; i++)
		if (pthread_create(&threads[i], NULL, spin, spinners[i]) != 0)
			exit(1);
	for (int i = 0; i < evidence.n; i++)
	{
		pthread_join(threads[i], NULL);
		evidence.idle_ns += 1e9 * spinners[i]->idle_s;
		evidence.steal_ns += 1e9 * spinners[i]->steal_s;
		/* A quota that is hidden is not read either. */
		spinners[i]->recorder.series.part_ns[NN_GAP_RUN_QUEUE] += spinners[i]->recorder.series.part_ns[NN_GAP_THROTTLED];
		spinners[i]->recorder.series.part_ns[NN_GAP_THROTTLED] = 0;
	}
	nn_loss_explain(&evidence, scratch, &finding);
	printf("%s,%.4f,%.3f,%.4f,%.4f,%.3f,%.3f\n", nn_loss_verdict_name(finding.verdict), finding.quota_cpus, finding.period_ms,
		   finding.lost_share, finding.idle_share, finding.coherence, finding.hit_share);
}

/* The gap around a moment; an empty one when there is none. */
static NnGap
gap_at(const NnGapSeries *series, uint64_t at_ns)
{
	static const NnGap none;

	for (int i = 0; i < series->n; i++)
		if (series->gaps[i].start_ns <= at_ns && series->gaps[i].start_ns + series->gaps[i].length_ns >= at_ns)
			return series->gaps[i];
	return none;
}

/* A child that keeps a CPU from going to sleep, and gives way to everybody: waking a CPU takes longer than what is measured. */
static pid_t
start_awake(int cpu)
{
	pid_t		child = fork();

	if (child == 0)
	{
		struct sched_param none = {0};

		stay_on(cpu);
		(void) sched_setscheduler(0, SCHED_IDLE, &none);
		for (;;)
			;
	}
	return child;
}

/* Stop a child on the last CPU from the first one, for 1 to 50 ms each. */
static void
run_stop(int rounds)
{
	enum
	{
		EACH = 20
	};
	int			last_cpu = (int) sysconf(_SC_NPROCESSORS_ONLN) - 1;
	pid_t		awake = start_awake(last_cpu);
	NnRandom	r;

	nn_random_seed(&r, 1, 0);
	for (int round = 0; round < rounds; round++)
	{
		Spinner    *spinner = new_spinner(last_cpu, EACH * 0.06, 10 * NN_NS_PER_US);
		uint64_t	asked_ns[EACH];
		uint64_t	from_ns[EACH];
		uint64_t	to_ns[EACH];
		pid_t		child = fork();

		if (child == 0)
		{
			spin(spinner);
			_exit(0);
		}
		stay_on(0);
		while (!spinner->spins)
			usleep(1000);
		for (int i = 0; i < EACH; i++)
		{
			asked_ns[i] = (uint64_t) nn_random_range(&r, 1000000, 50000000);
			nn_sleep_until_ns(nn_now_ns() + 5 * NN_NS_PER_MS);
			kill(child, SIGSTOP);
			from_ns[i] = nn_now_ns();
			nn_sleep_until_ns(from_ns[i] + asked_ns[i] - NN_NS_PER_MS / 2);
			while (nn_now_ns() < from_ns[i] + asked_ns[i])
				;
			kill(child, SIGCONT);
			to_ns[i] = nn_now_ns();
		}
		waitpid(child, NULL, 0);
		/* The child ends when its time is over: later stops did not reach it. */
		for (int i = 0; i < EACH && to_ns[i] < spinner->recorder.series.to_ns; i++)
		{
			NnGap		gap = gap_at(&spinner->recorder.series, (from_ns[i] + to_ns[i]) / 2);

			printf("%.0f,%.0f,%.0f,%.0f\n", (double) asked_ns[i], (double) (to_ns[i] - from_ns[i]), (double) gap.length_ns,
				   (double) gap.length_ns - gap.part_ns[NN_GAP_RUN_QUEUE] - gap.part_ns[NN_GAP_THROTTLED]);
		}
		munmap(spinner, sizeof(Spinner));
	}
	kill(awake, SIGKILL);
	waitpid(awake, NULL, 0);
}

static void
run_burn(double seconds, int cpu, double percent)
{
	uint64_t	at_ns = nn_now_ns();
	uint64_t	until_ns = at_ns + (uint64_t) (seconds * 1e9);

	stay_on(cpu);
	while (at_ns < until_ns)
	{
		uint64_t	cpu_ns = nn_thread_cpu_ns() + (uint64_t) (percent / 100 * 1e7);

		while (nn_thread_cpu_ns() < cpu_ns && nn_now_ns() < until_ns)
			;
		at_ns += 10 * NN_NS_PER_MS;
		nn_sleep_until_ns(at_ns);
		if (nn_now_ns() > at_ns + 10 * NN_NS_PER_MS)
			at_ns = nn_now_ns();
	}
}

int
main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	double		seconds = argc > 2 ? atof(argv[2]) : 0;
	int			cpu = argc > 3 ? atoi(argv[3]) : 0;

	if (strcmp(what, "spin") == 0)
		run_spin(seconds, cpu);
	else if (strcmp(what, "wakeup") == 0)
		run_wakeup(seconds, cpu);
	else if (strcmp(what, "quota") == 0)
		run_quota(seconds);
	else if (strcmp(what, "stop") == 0)
		run_stop((int) seconds);
	else if (strcmp(what, "burn") == 0)
		run_burn(seconds, cpu, argc > 4 ? atof(argv[4]) : 100);
	else
	{
		fprintf(stderr, "usage: see the head of bench/jitter.c\n");
		return 1;
	}
	return 0;
}
