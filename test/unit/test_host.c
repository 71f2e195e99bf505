/*-------------------------------------------------------------------------
 *
 * test_host.c
 *	  What is read from /proc and /sys on recorded hosts, and on this one.
 *
 *-------------------------------------------------------------------------
 */
#include <stdlib.h>
#include <unistd.h>

#include "host/cpu.h"
#include "host/parse.h"
#include "host/pressure.h"
#include "host/process.h"
#include "host/topology.h"
#include "hosts.h"

/* Ticks of the recorded hosts. */
#define TICK 100.0

static void
test_cpu_times(void)
{
	NnHostRoot	root = recorded("hybrid-2cpu");
	NnCpuTimes	times;
	NnCpuTimes	later;
	NnCpuUsage	usage;
	NnWhyNot	why = {""};

	ok(nn_cpu_times_read(&root, &times, &why) && times.cpus == 2 && times.user_s > 0 && times.steal_s > 0 &&
	   times.guest_s == 0, "stat: a real host has all columns");

	root = recorded("old-kernel");
	ok(nn_cpu_times_read(&root, &times, &why) && times.cpus == 2 && times.user_s == 1200 / TICK &&
	   times.system_s == 300 / TICK && times.idle_s == 4000 / TICK,
	   "stat: user and nice, system, idle are read from a short line");
	ok(isnan(times.iowait_s) && isnan(times.steal_s) && isnan(times.guest_s),
	   "stat: columns that the kernel does not have are not measured");
	later = times;
	later.user_s += 1;
	later.idle_s += 3;
	nn_cpu_usage(&times, &later, &usage);
	ok(usage.busy_pct == 25 && usage.idle_pct == 75 && isnan(usage.steal_pct) && isnan(usage.iowait_pct) && usage.total_s == 4,
	   "usage: missing columns leave the others right");

	root = recorded("sparse-cpus");
	ok(nn_cpu_times_read(&root, &times, &why) && times.cpus == 6 && times.user_s == 201000 / TICK &&
	   times.guest_s == 60500 / TICK, "stat: guest time is a part of user time, not added to it");
	ok(nn_cpu_times_read_one(&root, 8, &later, &why) && later.cpus == 1 && later.idle_s == 150000 / TICK,
	   "stat: the times of one CPU are those of its number");
	ok(!nn_cpu_times_read_one(&root, 4, &later, &why) && strstr(why.reason, "no line of CPU 4") != NULL,
	   "stat: a CPU that is not there is named");
	why.reason[0] = '\0';
	root = recorded("sparse-cpus-later");
	ok(nn_cpu_times_read(&root, &later, &why) && later.iowait_s < times.iowait_s, "stat: iowait went down");
	nn_cpu_usage(&times, &later, &usage);
	ok(usage.iowait_pct == 0 && near(usage.busy_pct, 40.5, 1e-9) && near(usage.user_pct, 30, 1e-9) &&
	   near(usage.system_pct, 10.5, 1e-9) && near(usage.idle_pct, 59.5, 1e-9) && near(usage.total_s, 20, 1e-9),
	   "usage: a time that went down counts as 0 (busy %.2f)", usage.busy_pct);
	ok(near(usage.busy_pct + usage.idle_pct + usage.iowait_pct + usage.steal_pct, 100, 1e-12), "usage: the parts sum to 100");
	nn_cpu_usage(&later, &later, &usage);
	ok(isnan(usage.busy_pct) && usage.total_s == 0, "usage: no time, no percentage");

	root = recorded("arm64");
	ok(!nn_cpu_times_read(&root, &times, &why) && strstr(why.reason, "/arm64/proc/stat does not exist") != NULL,
	   "stat: a missing file is named");
}

static void
test_processes(void)
{
	NnHostRoot	root = recorded("hybrid-2cpu");
	NnProcessCpu cpu;
	NnSchedstat stat;
	NnWhyNot	why = {""};

	ok(nn_process_cpu_read(&root, 4242, &cpu, &why) && cpu.own_s == (1234 + 567) / TICK && cpu.children_s == (89 + 10) / TICK &&
	   cpu.start_ticks == 987654, "process: a name with blanks and parentheses does not shift the fields");
	ok(nn_process_cpu_read(&root, 4243, &cpu, &why) && cpu.own_s == 15 / TICK && cpu.children_s == -1 / TICK,
	   "process: a negative time is read as it is");
	ok(!nn_process_cpu_read(&root, 4244, &cpu, &why) && strstr(why.reason, "field") != NULL, "process: a short line is refused");
	ok(!nn_process_cpu_read(&root, 99999, &cpu, &why) && strstr(why.reason, "does not exist") != NULL,
	   "process: one that is gone is said to be");

	ok(nn_schedstat_read(&root, 4242, &stat, &why) && stat.run_ns == 18012345678 && stat.run_delay_ns == 912345678 &&
	   stat.slices == 4567, "schedstat: run time, delay and slices are read");
	ok(!nn_schedstat_read(&root, 4243, &stat, &why) && strstr(why.reason, "zeros") != NULL,
	   "schedstat: a kernel that does not count is not taken for an idle process");
	ok(!nn_schedstat_read(&root, 4244, &stat, &why), "schedstat: something else is refused");
}

static void
test_pressure(void)
{
	NnHostRoot	root = recorded("hybrid-2cpu");
	NnPressure	pressure;
	NnWhyNot	why = {""};

	ok(nn_pressure_read(&root, &pressure, &why) && pressure.cpu_some_s > 1 && pressure.io_some_s > 1 &&
	   pressure.io_full_s > 1 && pressure.memory_some_s == 0 && pressure.memory_full_s == 0 && why.reason[0] == '\0',
	   "pressure: a real host has all totals");

	root = recorded("v2-half-cpu");
	ok(nn_pressure_read(&root, &pressure, &why) && pressure.io_some_s == 1.5 && pressure.io_full_s == 0.25,
	   "pressure: what can be read is read");
	ok(isnan(pressure.cpu_some_s) && isnan(pressure.memory_some_s) && why.reason[0] != '\0',
	   "pressure: what opens but cannot be read, or is missing, has a reason (%s)", strrchr(why.reason, '/'));

	root = recorded("old-kernel");
	why.reason[0] = '\0';
	ok(!nn_pressure_read(&root, &pressure, &why) && isnan(pressure.io_full_s) && strstr(why.reason, "does not exist") != NULL,
	   "pressure: a kernel without it is no error, but has a reason");
}

static void
test_topology(void)
{
	NnHostRoot	root = recorded("hybrid-2cpu");
	NnTopology	topology;

	nn_topology_read(&root, &topology);
	ok(topology.online_cpus == 2 && topology.affinity_cpus == 2 && topology.usable_cpus == 2 && topology.autogroup == 1,
	   "topology: a real host without limits may use all its CPUs");
	ok(topology.l2_bytes == 512 * 1024 && topology.llc_bytes == 32768 * 1024 && strcmp(topology.llc_source, "sysfs") == 0,
	   "topology: caches are those of sysfs");
	ok(strcmp(topology.cpu_model, "AMD EPYC") == 0 && strcmp(topology.kernel, "6.18.44") == 0 &&
	   strcmp(topology.architecture, "x86_64") == 0 && strcmp(topology.clocksource, "tsc") == 0 &&
	   strcmp(topology.virtualisation, "unknown") == 0 && topology.governor[0] == '\0',
	   "topology: model, kernel, clock source, and a guest of an unknown host");
	ok(topology.mem_total_bytes == UINT64_C(24683652) * 1024 && topology.mem_available_bytes > 0 &&
	   nn_memory_room_bytes(&topology) == topology.mem_available_bytes, "topology: without a limit the room is what is available");

	root = recorded("sparse-cpus");
	nn_topology_read(&root, &topology);
	ok(topology.online_cpus == 6 && topology.affinity_cpus == 5,
	   "topology: of a mask wider than the host only CPUs that are online count");
	ok(topology.llc_bytes == 37486592 && topology.l2_bytes == 2048 * 1024, "topology: a cache of 36608K has 37486592 bytes");
	ok(strcmp(topology.governor, "schedutil") == 0 && topology.autogroup == 0 && strcmp(topology.virtualisation, "QEMU") == 0,
	   "topology: what belongs to a CPU is read of one that we may use");

	root = recorded("v2-nested");
	nn_topology_read(&root, &topology);
	ok(topology.affinity_cpus == 8 && topology.usable_cpus == 1.5, "topology: a quota binds below the affinity");
	ok(nn_memory_room_bytes(&topology) == 394967296, "topology: a memory limit binds below what is available");
	root = recorded("v2-half-cpu");
	nn_topology_read(&root, &topology);
	ok(topology.usable_cpus == 0.5 && nn_memory_room_bytes(&topology) == 0, "topology: half a CPU is never 0");

	root = recorded("old-kernel");
	nn_topology_read(&root, &topology);
	ok(topology.llc_bytes > 0 && (strcmp(topology.llc_source, "sysconf") == 0 || strcmp(topology.llc_source, "fallback") == 0),
	   "topology: without a cache folder there is still a size, and its source (%s)", topology.llc_source);
	ok(topology.mem_available_bytes == UINT64_C(3000000) * 1024 && topology.autogroup == -1 && topology.online_cpus >= 1 &&
	   topology.usable_cpus >= 1 && strcmp(topology.virtualisation, "none") == 0 && topology.clocksource[0] == '\0',
	   "topology: an old kernel leaves out what it does not say");

	root = recorded("arm64");
	nn_topology_read(&root, &topology);
	ok(strcmp(topology.cpu_model, "implementer 0x41 part 0xd0c") == 0 && topology.virtualisation[0] == '\0' &&
	   topology.llc_bytes == 1024 * 1024 && topology.online_cpus == 64 && strcmp(topology.architecture, "aarch64") == 0,
	   "topology: arm64 has numbers instead of a model, and may end at the second cache level");
}

/* The machine that the test runs on: whatever it has must be sane. */
static void
test_this_host(void)
{
	NnHostRoot	root = {"/proc", "/sys"};
	NnTopology	topology;
	NnProcessCpu cpu;
	NnCpuTimes	times;
	NnWhyNot	why = {""};

	if (access("/proc/self/stat", R_OK) != 0)
	{
		tap_skip("this host has no /proc");
		return;
	}
	nn_topology_read(&root, &topology);
	ok(topology.usable_cpus > 0 && topology.affinity_cpus >= 1 && topology.affinity_cpus <= topology.online_cpus &&
	   topology.usable_cpus <= topology.affinity_cpus && topology.llc_bytes > 0 && topology.mem_total_bytes > 0 &&
	   topology.kernel[0] != '\0', "this host is described");
	tap_note("%g of %d CPUs (%s), quota %g, cache %llu (%s), %s, %s", topology.usable_cpus, topology.online_cpus,
			 topology.cpu_model, topology.limits.quota_cpus, (unsigned long long) topology.llc_bytes, topology.llc_source,
			 topology.virtualisation, topology.kernel);
	ok(nn_process_cpu_read(&root, getpid(), &cpu, &why) && cpu.own_s >= 0 && cpu.own_s < 3600 && cpu.start_ticks > 0,
	   "this process is found");
	ok(nn_cpu_times_read(&root, &times, &why) && times.cpus >= 1 && times.idle_s >= 0, "this host's CPU times are found");
}

static void
test_files(void)
{
	NnHostRoot	root = recorded("hybrid-2cpu");
	char		path[NN_PATH_LEN];
	char		buf[64];
	NnWhyNot	why = {""};
	const char *at = " 18446744073709551615 18446744073709551616";
	uint64_t	u = 0;
	int64_t		i = 0;

	(void) nn_path(path, sizeof(path), "%s/pressure/io", root.proc);
	ok(nn_read_file(path, buf, sizeof(buf), &why) == -1 && strstr(why.reason, "longer than 63 bytes") != NULL,
	   "a file that does not fit is refused, not cut");
	ok(nn_read_file(root.proc, buf, sizeof(buf), &why) == -1 && strstr(why.reason, "directory") != NULL,
	   "a file that opens but cannot be read is not there");
	ok(nn_read_file("/nowhere/at/all", buf, sizeof(buf), NULL) == -1, "nobody has to want the reason");
	ok(nn_parse_u64(&at, &u) && u == UINT64_MAX && !nn_parse_u64(&at, &u), "numbers of 64 bits are read, larger ones refused");
	at = "-9223372036854775807 - 5";
	ok(nn_parse_i64(&at, &i) && i == -INT64_MAX && !nn_parse_i64(&at, &i), "a sign belongs to a number");
}

int
main(int argc, char **argv)
{
	fixtures = argc > 1 ? argv[1] : "test/fixtures";
	if (sysconf(_SC_CLK_TCK) != (long) TICK)
		tap_note("this host has %ld ticks per second, the recorded ones have 100", sysconf(_SC_CLK_TCK));
	test_files();
	test_cpu_times();
	test_processes();
	test_pressure();
	test_topology();
	test_this_host();
	return tap_done();
}
