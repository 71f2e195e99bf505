/*-------------------------------------------------------------------------
 *
 * test_probe.c
 *	  Probes of a calibration: plans, figures, and that they end when they are told to.
 *
 * Links: src/calibrate/probe.c src/calibrate/cpu.c src/calibrate/memory.c src/calibrate/cache.c src/calibrate/disk.c src/calibrate/jitter.c src/calibrate/hold.c
 *
 *-------------------------------------------------------------------------
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "calibrate/probe.h"
#include "tap.h"

/* The real one needs a server, and is tested with one. */
const NnProbe nn_probe_postgres = {.name = "postgres"};

static atomic_bool stop;
static NnTrial trials[NN_MAX_TRIALS];

static void
set_options(NnProbeOptions *options, NnTopology *host)
{
	memset(options, 0, sizeof(*options));
	memset(host, 0, sizeof(*host));
	options->n_threads = 2;
	options->threads[0] = 1;
	options->threads[1] = 2;
	options->cpu_max_prime = 1000;
	options->memory_room_bytes = UINT64_C(1) << 24;
	options->disk_bytes = UINT64_C(1) << 21;
	options->n_depths = 1;
	options->depths[0] = 1;
	options->disk_read_pct = 70;
	options->duration_ns = 20 * NN_NS_PER_MS;
	options->repeats = 1;
	host->llc_bytes = UINT64_C(1) << 20;
	host->usable_cpus = 1;
	host->online_cpus = host->affinity_cpus = 1;
}

/* One repeat of a trial by one thread. */
static void
run(const NnProbe *probe, const NnProbeOptions *options, NnTrial *trial, void *common, uint64_t length_ns, double *values)
{
	char		error[NN_PROBE_ERROR_LEN] = "";
	void	   *state = probe->create(options, trial, 0, common, error);
	NnWindow	window = {.stop = &stop};

	for (int i = 0; i < NN_MAX_FIGURES; i++)
		values[i] = NAN;
	if (state == NULL)
		return;
	window.start_ns = nn_now_ns();
	window.end_ns = window.start_ns + length_ns;
	probe->measure(state, &window, values);
	if (probe->combine)
		probe->combine(&state, 1, &window, trial, values);
	probe->destroy(state);
}

static void
test_probe(const NnProbe *probe, const NnProbeOptions *options, const NnTopology *host)
{
	char		error[NN_PROBE_ERROR_LEN] = "";
	int			n = probe->plan(options, host, trials, error);
	void	   *common = probe->open ? probe->open(options, &stop, error) : NULL;
	bool		measured = true;
	uint64_t	since_ns;
	double		values[NN_MAX_FIGURES];

	ok(n > 0 && n <= NN_MAX_TRIALS, "%s has a plan", probe->name);
	ok(probe->open == NULL || common != NULL, "%s opens what its trials share", probe->name);
	for (int i = 0; i < n; i++)
	{
		run(probe, options, &trials[i], common, options->duration_ns, values);
		for (int k = 0; k < trials[i].n_figures; k++)
			measured = measured && values[k] > 0;
	}
	ok(measured, "%s: every figure of every trial is above 0", probe->name);

	atomic_store(&stop, true);
	since_ns = nn_now_ns();
	run(probe, options, &trials[0], common, 60 * NN_NS_PER_S, values);
	ok(nn_now_ns() - since_ns < 5 * NN_NS_PER_S, "%s ends when it is told to", probe->name);
	atomic_store(&stop, false);
	if (common)
		probe->close(common);
}

/* The work of an event must not depend on the host: it grows with the limit as the divisions do. */
static void
test_events(NnProbeOptions *options, const NnTopology *host)
{
	char		error[NN_PROBE_ERROR_LEN];
	double		small[NN_MAX_FIGURES];
	double		large[NN_MAX_FIGURES];

	options->cpu_max_prime = 1000;
	(void) nn_probe_cpu.plan(options, host, trials, error);
	run(&nn_probe_cpu, options, &trials[0], NULL, 200 * NN_NS_PER_MS, small);
	options->cpu_max_prime = 4000;
	(void) nn_probe_cpu.plan(options, host, trials, error);
	run(&nn_probe_cpu, options, &trials[0], NULL, 200 * NN_NS_PER_MS, large);

	/* 5287 and 30970 divisions; other work per number makes it less */
	ok(small[0] / large[0] > 3 && small[0] / large[0] < 12, "an event up to 4000 takes some six times as long as one up to 1000");
}

int
main(void)
{
	char		folder[] = "/tmp/noisy_probe.XXXXXX";
	NnProbeOptions options;
	NnTopology	host;

	atomic_init(&stop, false);
	if (mkdtemp(folder) == NULL || chdir(folder) != 0 || mkdir("base", S_IRWXU) != 0)
		return 1;
	set_options(&options, &host);
	test_probe(&nn_probe_cpu, &options, &host);
	test_probe(&nn_probe_memory, &options, &host);
	test_probe(&nn_probe_cache, &options, &host);
	test_probe(&nn_probe_disk, &options, &host);
	test_events(&options, &host);
	ok(rmdir("base/pgsql_tmp") == 0, "no file is left");
	options.memory_room_bytes = 1024;
	{
		char		error[NN_PROBE_ERROR_LEN] = "";

		ok(nn_probe_memory.plan(&options, &host, trials, error) == 0 && error[0], "memory without room is left out with a reason");
	}
	ok(nn_probe_find("cpu") == &nn_probe_cpu && nn_probe_find("none") == NULL, "probes are found by their names");
	(void) rmdir("base");
	if (chdir("/") != 0 || rmdir(folder) != 0)
		return 1;
	return tap_done();
}
