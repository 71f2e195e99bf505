/*-------------------------------------------------------------------------
 *
 * gap.c
 *	  Records when the calling thread does not run.  See gap.h.
 *
 *-------------------------------------------------------------------------
 */
#include "host/gap.h"

#include <math.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/clock.h"
#include "host/cpu.h"
#include "host/process.h"

/*
 * The kernel's CPU clock may run a little faster or slower than the
 * monotonic one (500 ppm at most): a look at least this often keeps the
 * difference below 10 us.
 */
#define LOOK_EVERY_NS	(20 * NN_NS_PER_MS)

/* Throttling lasts milliseconds, and is expensive to read. */
#define THROTTLE_FROM_NS	(500 * NN_NS_PER_US)

/* The host's steal counts in ticks, and /proc/stat is long. */
#define STEAL_FROM_NS	(4 * NN_NS_PER_MS)

/* A look that takes so much longer than usual was interrupted. */
#define LOOK_SLACK_NS	(20 * NN_NS_PER_US)

static double
read_steal_ns(const NnHostRoot *root)
{
	NnCpuTimes	times;

	return nn_cpu_times_read(root, &times, NULL) ? times.steal_s * (double) NN_NS_PER_S : NAN;
}

/* The accounts that are cheap to read: two system calls. */
static void
look_at_thread(const NnGapRecorder *recorder, NnGapLook *look)
{
	NnSchedstat stat;

	look->at_ns = nn_now_ns();
	look->cpu_ns = nn_thread_cpu_ns();
	look->run_delay_ns = recorder->schedstat_fd >= 0 && nn_schedstat_reread(recorder->schedstat_fd, &stat) ?
		(double) stat.run_delay_ns : NAN;
}

/* Look at everything that a gap of this length can be explained by. */
static void
look(NnGapRecorder *recorder, uint64_t length_ns, NnGapAccount *account)
{
	NnGapLook	before = recorder->look;
	NnGapLook  *now = &recorder->look;
	NnCgroupThrottle throttle;
	double		off_cpu;
	double		stolen;

	look_at_thread(recorder, now);
	account->wall_ns = (double) (now->at_ns - before.at_ns);
	account->cpu_ns = (double) (now->cpu_ns - before.cpu_ns);
	account->run_delay_ns = now->run_delay_ns - before.run_delay_ns;
	account->throttled_ns = NAN;
	account->steal_ns = NAN;

	if (length_ns >= THROTTLE_FROM_NS && nn_cgroup_throttle_reread(&recorder->throttle_file, &throttle))
	{
		now->throttled_ns = (double) throttle.throttled_ns;
		account->throttled_ns = now->throttled_ns - before.throttled_ns;
	}

	/*
	 * The host's steal is asked for when the thread's own accounts don't
	 * explain the gap, or when they call a long one steal.
	 */
	off_cpu = fmax(account->wall_ns - account->cpu_ns, 0);
	stolen = off_cpu - (isnan(account->run_delay_ns) ? off_cpu : account->run_delay_ns);
	if (isnan(account->run_delay_ns))
		off_cpu = 0;
	if ((double) length_ns - off_cpu >= (double) STEAL_FROM_NS || stolen >= NN_GAP_LONG_NS)
	{
		now->steal_ns = read_steal_ns(recorder->root);
		account->steal_ns = now->steal_ns - before.steal_ns;
	}
}

/* CPU time that the thread really had since the start. */
static uint64_t
thread_cpu(const NnGapRecorder *recorder, uint64_t cpu_ns)
{
	uint64_t	taken_off = recorder->cpu_from_ns + recorder->stolen_cpu_ns;

	return cpu_ns > taken_off ? cpu_ns - taken_off : 0;
}

/* Add a gap, explained by a look right behind it. */
static void
add_gap(NnGapRecorder *recorder, uint64_t start_ns, uint64_t length_ns)
{
	NnGapAccount account;
	double		part_ns[NN_GAP_CAUSES];

	look(recorder, length_ns, &account);
	nn_gap_explain((double) length_ns, &account, part_ns);

	/*
	 * Where the host's steal explains a gap, the kernel may have counted that
	 * as CPU time.
	 */
	if (account.steal_ns > 0)
	{
		double		counted_ns = part_ns[NN_GAP_RUN_QUEUE] + part_ns[NN_GAP_THROTTLED] + part_ns[NN_GAP_STEAL] -
			fmax(account.wall_ns - account.cpu_ns, 0);

		if (counted_ns > (double) NN_NS_PER_MS)
			recorder->stolen_cpu_ns += (uint64_t) counted_ns;
	}
	nn_gap_series_add(&recorder->series, start_ns, length_ns, thread_cpu(recorder, recorder->look.cpu_ns), part_ns);
}

/*
 * Look, for a gap or without one (length 0), and go on from there.  The time of a look is ours, and
 * no gap; unless it took much longer than usual.
 */
static void
look_and_go_on(NnGapRecorder *recorder, uint64_t start_ns, uint64_t length_ns)
{
	uint64_t	from_ns = start_ns + length_ns;
	uint64_t	took_ns;

	for (;;)
	{
		if (length_ns > 0)
			add_gap(recorder, start_ns, length_ns);
		else
			look_at_thread(recorder, &recorder->look);
		recorder->last_ns = nn_now_ns();
		took_ns = recorder->last_ns - from_ns;

		/*
		 * Long gaps need more files, the cost of which is not known: these
		 * take well below a millisecond.
		 */
		if (took_ns <= (length_ns >= THROTTLE_FROM_NS ? NN_NS_PER_MS : recorder->look_cost_ns + LOOK_SLACK_NS))
			return;
		length_ns = took_ns - recorder->look_cost_ns;
		start_ns = from_ns + recorder->look_cost_ns;
		from_ns = recorder->last_ns;
	}
}

void
nn_gap_start(NnGapRecorder *recorder, const NnHostRoot *root, uint64_t threshold_ns, NnGap *gaps, int room)
{
	static const NnHostRoot own = {NN_HOST_PROC, NN_HOST_SYS};
	NnCgroupThrottle throttle;
	int			i;

	recorder->root = root;
	recorder->threshold_ns = threshold_ns;

	/*
	 * The id of a thread of ours means something in our own /proc only.
	 */
	recorder->schedstat_fd = nn_schedstat_open(&own, (pid_t) syscall(SYS_gettid));
	nn_cgroup_throttle_open(&own, &recorder->throttle_file, NULL);
	recorder->look.throttled_ns = nn_cgroup_throttle_reread(&recorder->throttle_file, &throttle) ?
		(double) throttle.throttled_ns : NAN;
	recorder->look.steal_ns = recorder->steal_from_ns = read_steal_ns(root);

	recorder->look_cost_ns = UINT64_MAX;
	for (i = 0; i < 20; i++)
	{
		uint64_t	from_ns = nn_now_ns();
		uint64_t	took_ns;

		look_at_thread(recorder, &recorder->look);
		took_ns = nn_now_ns() - from_ns;
		if (took_ns < recorder->look_cost_ns)
			recorder->look_cost_ns = took_ns;
	}

	recorder->cpu_from_ns = recorder->look.cpu_ns;
	recorder->stolen_cpu_ns = 0;
	recorder->last_ns = recorder->look.at_ns;
	nn_gap_series_init(&recorder->series, gaps, room, recorder->look.at_ns);
}

void
nn_gap_spin(NnGapRecorder *recorder, uint64_t until_ns)
{
	uint64_t	last_ns = recorder->last_ns;
	uint64_t	look_ns = recorder->look.at_ns + LOOK_EVERY_NS;

	do
	{
		uint64_t	now_ns = nn_now_ns();

		if (now_ns - last_ns > recorder->threshold_ns)
		{
			look_and_go_on(recorder, last_ns, now_ns - last_ns);
			now_ns = recorder->last_ns;
			look_ns = now_ns + LOOK_EVERY_NS;
		}
		else if (now_ns >= look_ns)
		{
			look_and_go_on(recorder, now_ns, 0);
			now_ns = recorder->last_ns;
			look_ns = now_ns + LOOK_EVERY_NS;
		}
		last_ns = now_ns;
	} while (last_ns < until_ns);
	recorder->last_ns = last_ns;
}

void
nn_gap_finish(NnGapRecorder *recorder)
{
	recorder->series.to_ns = recorder->last_ns;
	recorder->series.cpu_ns = thread_cpu(recorder, nn_thread_cpu_ns());
	nn_gap_series_settle(&recorder->series, read_steal_ns(recorder->root) - recorder->steal_from_ns);
	nn_schedstat_close(recorder->schedstat_fd);
	nn_cgroup_throttle_close(&recorder->throttle_file);
	recorder->schedstat_fd = -1;
}
