/*-------------------------------------------------------------------------
 *
 * fuzz_host.c
 *	  Everything that is read from /proc and /sys, control groups among it.
 *
 * Links: test/fuzz/fake_files.c
 *
 * The input is a set of files, see fake_files.h.  Where one of them is below /host, they are looked at
 * as with proc_path = /host/proc and sys_path = /host/sys.
 *
 *-------------------------------------------------------------------------
 */
#include <math.h>
#include <string.h>

#include "fake_files.h"
#include "fuzz.h"
#include "host/children.h"
#include "host/cpu.h"
#include "host/load.h"
#include "host/pressure.h"
#include "host/process.h"
#include "host/topology.h"

#define require_string(field) require(memchr((field), '\0', sizeof(field)) != NULL)
#define MAX_CHILDREN 8

static const pid_t pids[] = {1, 4242, 2147483647};

static bool
is_none_or_at_least(double value, double low)
{
	return isnan(value) || (isfinite(value) && value >= low);
}

static void
look_at_topology(const NnHostRoot *root)
{
	static NnTopology t;

	nn_topology_read(root, &t);
	require(t.online_cpus >= 1 && t.affinity_cpus >= 1 && t.affinity_cpus <= t.online_cpus);
	require(t.usable_cpus > 0 && t.usable_cpus <= t.affinity_cpus);
	require(t.llc_bytes > 0 && t.llc_source[0] != '\0');
	require(t.autogroup >= -1 && t.autogroup <= 1);
	require_string(t.llc_source);
	require_string(t.cpu_model);
	require_string(t.host_name);
	require_string(t.kernel);
	require_string(t.architecture);
	require_string(t.clocksource);
	require_string(t.governor);
	require_string(t.virtualisation);
	(void) nn_memory_room_bytes(&t);
}

static void
look_at_groups(const NnHostRoot *root)
{
	NnWhyNot	why = {""};
	NnCgroupLimits l;
	NnCgroupThrottle throttle;

	if (!nn_cgroup_limits_read(root, &l, &why))
		require(why.reason[0] != '\0');
	require_string(why.reason);
	require_string(l.quota_source);
	require_string(l.memory_source);
	require(isnan(l.quota_cpus) || (isfinite(l.quota_cpus) && l.quota_cpus > 0));
	require(isnan(l.quota_cpus) == isnan(l.period_ms));
	require((l.quota_source[0] == '\0') == isnan(l.quota_cpus));
	require(is_none_or_at_least(l.memory_limit_bytes, 0) && is_none_or_at_least(l.memory_usage_bytes, 0));
	require(is_none_or_at_least(l.memory_room_bytes, 0));
	require(isnan(l.memory_room_bytes) || l.memory_room_bytes <= l.memory_limit_bytes || isnan(l.memory_usage_bytes));

	why.reason[0] = '\0';
	if (!nn_cgroup_throttle_read(root, &throttle, &why))
		require(why.reason[0] != '\0');
}

static void
look_at_cpu(const NnHostRoot *root)
{
	static const NnCpuTimes start;
	NnWhyNot	why = {""};
	NnCpuTimes	times;
	NnCpuUsage	u;

	if (!nn_cpu_times_read(root, &times, &why))
	{
		require(why.reason[0] != '\0');
		return;
	}
	require(is_none_or_at_least(times.user_s, 0) && is_none_or_at_least(times.idle_s, 0));
	nn_cpu_usage(&start, &times, &u);
	require(is_none_or_at_least(u.busy_pct, 0) && is_none_or_at_least(u.steal_pct, 0));
	if (u.total_s > 0)
		require(fabs(u.busy_pct + u.idle_pct + (isnan(u.iowait_pct) ? 0 : u.iowait_pct) +
					 (isnan(u.steal_pct) ? 0 : u.steal_pct) - 100) < 1e-6);
	nn_cpu_usage(&times, &start, &u);
	require(u.total_s == 0 && isnan(u.busy_pct));
}

static void
look_at_pressure(const NnHostRoot *root)
{
	NnWhyNot	why = {""};
	NnPressure	p;

	if (!nn_pressure_read(root, &p, &why))
		require(why.reason[0] != '\0');
	require(is_none_or_at_least(p.cpu_some_s, 0));
	require(is_none_or_at_least(p.memory_some_s, 0) && is_none_or_at_least(p.memory_full_s, 0));
	require(is_none_or_at_least(p.io_some_s, 0) && is_none_or_at_least(p.io_full_s, 0));
}

static void
look_at_load(const NnHostRoot *root)
{
	NnWhyNot	why = {""};
	NnMemoryEvents events;

	require(is_none_or_at_least(nn_load_read(root, &why), 0));
	why.reason[0] = '\0';
	if (!nn_memory_events_read(root, &events, &why))
		require(why.reason[0] != '\0');
	require(is_none_or_at_least(events.high, 0) && is_none_or_at_least(events.max, 0) && is_none_or_at_least(events.oom_kills, 0));
}

static void
look_at_process(const NnHostRoot *root, pid_t pid)
{
	NnWhyNot	why = {""};
	NnProcessCpu cpu;
	NnSchedstat stat;
	NnSwitches	switches;
	pid_t		children[MAX_CHILDREN];
	int			n;

	if (nn_process_cpu_read(root, pid, &cpu, &why))
		require(isfinite(cpu.own_s) && isfinite(cpu.children_s));
	else
		require(why.reason[0] != '\0');
	why.reason[0] = '\0';
	require(nn_schedstat_read(root, pid, &stat, &why) || why.reason[0] != '\0');
	why.reason[0] = '\0';
	require(nn_switches_read(root, pid, &switches, &why) || why.reason[0] != '\0');

	n = nn_process_children_read(root, pid, children, MAX_CHILDREN, &why);
	require(n >= -1 && n <= MAX_CHILDREN);
	while (n-- > 0)
		require(children[n] > 0);
}

int
LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	static const NnHostRoot own = {"/proc", "/sys"};
	static const NnHostRoot elsewhere = {"/host/proc", "/host/sys"};
	const NnHostRoot *root = memmem(data, size, "=/host/", 7) != NULL ? &elsewhere : &own;
	size_t		i;

	fake_files_use((const char *) data, size);
	look_at_topology(root);
	look_at_groups(root);
	look_at_cpu(root);
	look_at_pressure(root);
	look_at_load(root);
	for (i = 0; i < sizeof(pids) / sizeof(pids[0]); i++)
		look_at_process(root, pids[i]);
	require(fake_files_open() == 0);
	return 0;
}
