/*-------------------------------------------------------------------------
 *
 * worker.c
 *	  The background worker that carries out a calibration.
 *
 * The main thread goes through the probes and their trials, commits each trial as it ends, and tells the caller.
 * What is measured is done by threads (team.c), while the main thread sleeps on its latch: so it answers at
 * once when the caller is cancelled, the extension is dropped or the server goes down.
 *
 * However the process ends, its exit callback stops the threads, which look at one word and one deadline. Between
 * its short transactions the worker holds no snapshot and no lock on a table.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>
#include <signal.h>

#include "access/xact.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "tcop/tcopprot.h"
#include "utils/guc.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/resowner.h"
#include "utils/wait_event.h"

#include "calibrate/calibration.h"
#include "calibrate/store.h"
#include "calibrate/target.h"
#include "calibrate/team.h"
#include "calibrate/worker.h"
#include "host/cpu.h"
#include "server/environment.h"
#include "server/worker.h"

#define NN_LEAD_NS			(10 * NN_NS_PER_MS) /* from an order to its start */
#define NN_WARM_UP_NS		(200 * NN_NS_PER_MS)
#define NN_POLL_NS			(50 * NN_NS_PER_MS)
#define NN_FAREWELL_NS		(300 * NN_NS_PER_MS)	/* threads that are to end */

static NnCalibration *calibration;
static Oid	table;				/* its end is the end of the calibration */
static bool relation_changed;
static atomic_bool stop_threads;
static uint64 deadline_ns;
static NnFailure failure;		/* why the calibration can't go on */
static const char *no_server;	/* why no probe can connect to this server */

static void
set_state(NnRunState state)
{
	SpinLockAcquire(&calibration->mutex);
	calibration->state = state;
	calibration->failure = failure;
	SpinLockRelease(&calibration->mutex);
	nn_wake(calibration->caller_procno);
}

static void fail(int sqlerrcode, const char *detail, const char *fmt,...) pg_attribute_printf(3, 4);

static void
fail(int sqlerrcode, const char *detail, const char *fmt,...)
{
	va_list		args;

	failure.sqlerrcode = sqlerrcode;
	va_start(args, fmt);
	vsnprintf(failure.message, sizeof(failure.message), fmt, args);
	va_end(args);
	strlcpy(failure.detail, detail ? detail : "", sizeof(failure.detail));
}

static void
fail_dropped(void)
{
	fail(ERRCODE_UNDEFINED_TABLE, NULL, "extension \"%s\" was dropped while the calibration was on", NN_NAME);
}

static void
worker_exit(int code, Datum arg)
{
	atomic_store(&stop_threads, true);
	if (calibration->state <= NN_RUN_RUNNING)
	{
		failure = *nn_worker_last_error();
		if (failure.sqlerrcode == 0)
			fail(ERRCODE_ADMIN_SHUTDOWN, NULL, "the worker of the calibration was terminated");
		set_state(NN_RUN_ABORTED);
	}
}

static void
relation_invalidated(Datum arg, Oid relid)
{
	if (relid == InvalidOid || relid == table)
		relation_changed = true;
}

/* Is there a reason to end?  False: go on. */
static bool
must_end(void)
{
	CHECK_FOR_INTERRUPTS();
	AcceptInvalidationMessages();
	if (relation_changed)
	{
		relation_changed = false;
		if (!OidIsValid(nn_calibration_table(calibration)))
			fail_dropped();
	}
	if (nn_now_ns() > deadline_ns)
		fail(ERRCODE_QUERY_CANCELED, NULL, "the calibration exceeded its hard deadline");
	if (failure.sqlerrcode != 0 || pg_atomic_read_u32(&calibration->stop) != NN_STOP_NONE)
		atomic_store(&stop_threads, true);
	return atomic_load(&stop_threads);
}

/* Sleep until then or until the latch is set. */
static void
doze(uint64 until_ns)
{
	uint64		now_ns = nn_now_ns();
	uint64		left_ns = until_ns > now_ns ? Min(until_ns - now_ns, NN_POLL_NS) : NN_NS_PER_MS;

	(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
					 Max((long) (left_ns / NN_NS_PER_MS), 1), PG_WAIT_EXTENSION);
	ResetLatch(MyLatch);
}

/* Wait until a team is idle.  False: it failed, or the calibration is to end. */
static bool
await_team(NnTeam *team, uint64 until_ns)
{
	for (;;)
	{
		NnTeamState state = nn_team_state(team);

		if (must_end() || state == NN_TEAM_FAILED || state == NN_TEAM_ENDED)
			return false;
		if (state == NN_TEAM_IDLE)
			return true;
		doze(until_ns);
	}
}

/* Let a team go.  One that does not end in time is left to the end of the process. */
static bool
dismiss(NnTeam *team)
{
	uint64		bound_ns = nn_now_ns() + (atomic_load(&stop_threads) ? NN_FAREWELL_NS : 60 * NN_NS_PER_S);

	nn_team_dismiss(team);
	while (nn_team_state(team) != NN_TEAM_ENDED)
	{
		if (nn_now_ns() > bound_ns)
			return false;
		CHECK_FOR_INTERRUPTS();
		doze(nn_now_ns() + 2 * NN_NS_PER_MS);
	}
	nn_team_free(team);
	return true;
}

static bool
measure(NnTeam *team, uint64 length_ns, int repeat)
{
	NnWindow	window;

	window.stop = &stop_threads;
	window.start_ns = nn_now_ns() + NN_LEAD_NS;
	window.end_ns = window.start_ns + length_ns;
	window.repeat = repeat;
	nn_team_measure(team, &window);
	return await_team(team, window.end_ns);
}

/* Add to a trial's note what the host did to it meanwhile. */
static void
note_disturbance(NnTrial *trial, const NnCgroupThrottle *throttle, bool has_throttle, const NnCpuTimes *cpu, bool has_cpu)
{
	const NnHostRoot *root = &calibration->request.root;
	NnCgroupThrottle throttle_now;
	NnCpuTimes	cpu_now;
	NnCpuUsage	usage;
	size_t		length = strlen(trial->note);

	if (has_throttle && nn_cgroup_throttle_read(root, &throttle_now, NULL) &&
		throttle_now.throttled_periods > throttle->throttled_periods && throttle_now.periods > throttle->periods)
		snprintf(trial->note + length, sizeof(trial->note) - length, "%sthrottled in %.0f %% of the periods",
				 length ? "; " : "", 100.0 * (throttle_now.throttled_periods - throttle->throttled_periods) /
				 (throttle_now.periods - throttle->periods));
	length = strlen(trial->note);
	if (has_cpu && nn_cpu_times_read(root, &cpu_now, NULL))
	{
		nn_cpu_usage(cpu, &cpu_now, &usage);
		if (usage.steal_pct >= 0.5)
			snprintf(trial->note + length, sizeof(trial->note) - length, "%s%.1f %% of the CPU time was stolen",
					 length ? "; " : "", usage.steal_pct);
	}
}

/* Store a trial, and tell about it. */
static void
keep_trial(const NnProbe *probe, NnTrial *trial, double *samples, int n)
{
	for (int i = 0; i < trial->n_figures; i++)
	{
		double	   *mine = palloc(sizeof(double) * Max(n, 1));
		double		sum = 0;
		int			measured = 0;

		for (int r = 0; r < n; r++)
		{
			mine[r] = samples[r * NN_MAX_FIGURES + i];
			if (!isnan(mine[r]))
			{
				sum += mine[r];
				measured++;
			}
		}
		nn_calibration_store_figure(calibration, calibration->calibration_id, probe, trial, i, mine, n);
		if (measured > 0)
			nn_calibration_tell(calibration, "%s, %s, %d %s: %.6g %s", probe->name, trial->figures[i].variant, trial->threads,
								trial->threads == 1 ? "thread" : "threads", sum / measured, trial->figures[i].unit);
		else
			nn_calibration_tell(calibration, "%s, %s: not measured%s%s", probe->name, trial->figures[i].variant,
								trial->note[0] ? ": " : "", trial->note);
		pfree(mine);
	}
}

/* Run one trial and keep it. False: the calibration is to end. */
static bool
run_trial(const NnProbe *probe, NnTrial *trial, void *common)
{
	const NnProbeOptions *options = &calibration->request.options;
	uint64		length_ns = trial->duration_ns ? trial->duration_ns : options->duration_ns;
	double	   *samples = palloc0(sizeof(double) * NN_MAX_FIGURES * options->repeats);
	char		error[NN_PROBE_ERROR_LEN] = "";
	int			n = 0;
	NnTeam	   *team = nn_team_start(probe, options, trial, common, &stop_threads, error);
	NnCgroupThrottle throttle;
	NnCpuTimes	cpu;
	bool		has_throttle = nn_cgroup_throttle_read(&calibration->request.root, &throttle, NULL);
	bool		has_cpu = nn_cpu_times_read(&calibration->request.root, &cpu, NULL);
	bool		go_on;

	if (team && await_team(team, 0) && measure(team, Min(NN_WARM_UP_NS, length_ns), -1))
	{
		while (n < options->repeats && measure(team, length_ns, n))
		{
			nn_team_values(team, &samples[n * NN_MAX_FIGURES]);
			n++;
		}
	}
	if (team && nn_team_error(team)[0])
		snprintf(error, sizeof(error), "%s", nn_team_error(team));
	if (team && !dismiss(team))
		return false;
	go_on = !must_end();
	if (error[0])
	{
		trial->invalid = true;
		snprintf(trial->note, sizeof(trial->note), "%s", error);
	}
	note_disturbance(trial, &throttle, has_throttle, &cpu, has_cpu);
	if (go_on || n > 0)
		keep_trial(probe, trial, samples, n);
	pfree(samples);
	return go_on;
}

/* Have a probe take what its trials share.  False: it can't, or the calibration is to end. */
static bool
open_probe(const NnProbe *probe, void **common, char *error)
{
	NnOpening  *opening;

	*common = NULL;
	if (probe->open == NULL)
		return true;
	opening = nn_opening_start(probe, &calibration->request.options, &stop_threads, error);
	if (opening == NULL)
		return false;
	while (!nn_opening_ended(opening, common, error))
	{
		if (must_end())
			return false;
		doze(nn_now_ns() + NN_POLL_NS);
	}
	return *common != NULL;
}

/* A probe that could not be used leaves a row that says so. */
static void
leave_out(const NnProbe *probe, const char *reason)
{
	NnTrial		trial;
	int			n = 0;

	(void) nn_trial_add(&trial, &n, 0, "none", "", NN_COMBINE_SUM);
	trial.invalid = true;
	snprintf(trial.note, sizeof(trial.note), "%s", reason);
	keep_trial(probe, &trial, NULL, 0);
}

/* False: the calibration is to end. */
static bool
run_probe(const NnProbe *probe, const NnTopology *host)
{
	NnTrial    *trials = palloc0(sizeof(NnTrial) * NN_MAX_TRIALS);
	char		error[NN_PROBE_ERROR_LEN] = "";
	void	   *common;
	int			n;
	bool		go_on = true;

	pgstat_report_activity(STATE_RUNNING, psprintf("calibration " INT64_FORMAT ": %s", calibration->calibration_id,
												   probe->name));
	if (probe->connects && calibration->request.options.server == NULL)
	{
		leave_out(probe, no_server);
		return true;
	}
	n = probe->plan(&calibration->request.options, host, trials, error);
	if (n == 0 || !open_probe(probe, &common, error))
	{
		if (must_end())
			return false;
		leave_out(probe, error);
		return true;
	}
	for (int i = 0; i < n && go_on; i++)
		go_on = run_trial(probe, &trials[i], common);

	/* where threads may still use it, it goes with the process */
	if (go_on && probe->close && common)
		probe->close(common);
	pfree(trials);
	return go_on;
}

static bool
run_calibration(const char *environment)
{
	NnTopology	host;

	if (!nn_live_run_claim())
	{
		fail(ERRCODE_OBJECT_IN_USE, NULL, "another run or calibration is on in this cluster");
		return false;
	}
	table = nn_calibration_table(calibration);
	calibration->request.options.server = nn_calibrate_target(calibration, &no_server);
	nn_topology_read(&calibration->request.root, &host);
	calibration->calibration_id = nn_calibration_store_begin(calibration, host.host_name, environment);
	nn_live_calibration_advertise(calibration->calibration_id);
	set_state(NN_RUN_RUNNING);
	for (int i = 0; i < calibration->request.n_probes; i++)
	{
		if (must_end() || !run_probe(nn_probes[calibration->request.probes[i]], &host))
			return false;
	}
	return true;
}

/* Keep an error that was raised as the reason for the end. */
static void
catch_error(MemoryContext context)
{
	ErrorData  *error;

	MemoryContextSwitchTo(context);
	error = CopyErrorData();
	EmitErrorReport();
	FlushErrorState();
	AbortOutOfAnyTransaction();
	atomic_store(&stop_threads, true);

	/* what a statement says when its tables go, tells less */
	if (OidIsValid(table) && !OidIsValid(nn_calibration_table(calibration)))
		fail_dropped();
	else
		fail(error->sqlerrcode, error->detail, "%s", error->message);
	FreeErrorData(error);
}

static void
attach(Datum main_arg)
{
	dsm_segment *segment;

	CurrentResourceOwner = ResourceOwnerCreate(NULL, "pg_noisyneighbor calibrate");
	calibration = nn_calibration_attach(DatumGetUInt32(main_arg), &segment);
	if (calibration == NULL)
		proc_exit(0);			/* the caller has gone already */
	dsm_pin_mapping(segment);
	atomic_init(&stop_threads, false);
	deadline_ns = nn_now_ns() + calibration->request.longest_ns;
	before_shmem_exit(worker_exit, (Datum) 0);
	nn_worker_remember_errors();
	pg_atomic_write_u32(&calibration->worker_procno, (uint32) nn_my_procno());
}

/* Record the end and tell the caller. */
static void
end_calibration(bool completed)
{
	NnRunState	state = completed ? NN_RUN_COMPLETED : failure.sqlerrcode != 0 ? NN_RUN_FAILED : NN_RUN_CANCELLED;

	if (calibration->calibration_id != 0 && OidIsValid(nn_calibration_table(calibration)))
		nn_calibration_store_end(calibration, calibration->calibration_id, state,
								 failure.sqlerrcode ? failure.message : NULL);
	set_state(state);
}

void
nn_calibrate_main(Datum main_arg)
{
	MemoryContext context;
	char	   *environment;
	volatile bool completed = false;

	attach(main_arg);
	pqsignal(SIGTERM, die);
	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	BackgroundWorkerUnblockSignals();
	BackgroundWorkerInitializeConnectionByOid(calibration->request.database_oid, InvalidOid, 0);
	context = AllocSetContextCreate(TopMemoryContext, "pg_noisyneighbor calibrate", ALLOCSET_DEFAULT_SIZES);
	MemoryContextSwitchTo(context);
	environment = nn_environment_describe(&calibration->request.root);
	nn_worker_fix_settings();
	CacheRegisterRelcacheCallback(relation_invalidated, (Datum) 0);

	PG_TRY();
	{
		completed = run_calibration(environment);
	}
	PG_CATCH();
	{
		catch_error(context);
	}
	PG_END_TRY();

	PG_TRY();
	{
		end_calibration(completed);
	}
	PG_CATCH();
	{
		catch_error(context);
		set_state(NN_RUN_FAILED);
	}
	PG_END_TRY();
}
