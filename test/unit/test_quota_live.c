/*-------------------------------------------------------------------------
 *
 * test_quota_live.c
 *	  A real CPU quota, found by the gaps of spinning threads, and by the counters of the kernel.
 *
 * test/run makes a control group with 0.8 CPUs each 50 ms that we may enter, and names its folder in NN_QUOTA_GROUP.
 *
 *-------------------------------------------------------------------------
 */
#include "core/quota.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/clock.h"
#include "host/gap.h"
#include "tap.h"

#define THREADS		2
#define SECONDS		3
#define ROOM		8192
#define QUOTA		0.8
#define PERIOD_MS	50

static const NnHostRoot root = {NN_HOST_PROC, NN_HOST_SYS};
static NnGapRecorder recorders[THREADS];
static NnGap gaps[THREADS][ROOM];
static double scratch[NN_LOSS_SCRATCH];

static void *
spin(void *arg)
{
	NnGapRecorder *recorder = arg;

	nn_gap_start(recorder, &root, 100 * NN_NS_PER_US, gaps[recorder - recorders], ROOM);
	nn_gap_spin(recorder, recorder->series.from_ns + SECONDS * NN_NS_PER_S);
	nn_gap_finish(recorder);
	return NULL;
}

static bool
enter(const char *group)
{
	char		path[4096];
	FILE	   *file;
	bool		entered;

	snprintf(path, sizeof(path), "%s/cgroup.procs", group);
	file = fopen(path, "w");
	if (file == NULL)
		return false;
	entered = fprintf(file, "%ld\n", (long) getpid()) > 0;
	return fclose(file) == 0 && entered;
}

int
main(void)
{
	const char *group = getenv("NN_QUOTA_GROUP");
	const NnGapSeries *series[THREADS];
	NnLossEvidence evidence = {series, THREADS, NAN, NAN};
	NnLossFinding finding;
	pthread_t	threads[THREADS];
	double		throttled_ns = 0;
	double		total_ns = 0;

	if (sysconf(_SC_NPROCESSORS_ONLN) < THREADS || group == NULL || !enter(group))
	{
		tap_skip("a real quota: %s", group ? "the control group can't be entered, or there is one CPU only" :
				 "root may make no control group of version 1 here");
		return tap_done();
	}
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, spin, &recorders[i]) != 0)
			return 1;
	for (int i = 0; i < THREADS; i++)
	{
		pthread_join(threads[i], NULL);
		series[i] = &recorders[i].series;
		throttled_ns += recorders[i].series.part_ns[NN_GAP_THROTTLED];
		total_ns += recorders[i].series.total_ns;
	}
	nn_loss_explain(&evidence, scratch, &finding);
	ok(finding.verdict == NN_LOSS_THROTTLE, "a real quota: it is called \"%s\"", nn_loss_verdict_name(finding.verdict));
	ok(throttled_ns > 0.5 * total_ns, "the kernel's counter explains most of the gaps (%.0f of %.0f ms)", throttled_ns / 1e6,
	   total_ns / 1e6);
	ok(near(finding.quota_cpus, QUOTA, 0.1), "the gaps alone tell its CPUs (%.3f of %.1f)", finding.quota_cpus, QUOTA);
	ok(fabs(finding.period_ms - PERIOD_MS) <= 2, "and its period (%.2f of %d ms)", finding.period_ms, PERIOD_MS);
	return tap_done();
}
