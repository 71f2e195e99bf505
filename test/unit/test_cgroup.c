/*-------------------------------------------------------------------------
 *
 * test_cgroup.c
 *	  Limits and throttling of control groups on recorded hosts.
 *
 *-------------------------------------------------------------------------
 */
#include "host/cgroup.h"
#include "hosts.h"

static bool
read_limits(const char *host, NnCgroupLimits *limits, NnWhyNot *why)
{
	NnHostRoot	root = recorded(host);

	why->reason[0] = '\0';
	return nn_cgroup_limits_read(&root, limits, why);
}

static bool
read_throttle(const char *host, NnCgroupThrottle *throttle, NnWhyNot *why)
{
	NnHostRoot	root = recorded(host);

	why->reason[0] = '\0';
	return nn_cgroup_throttle_read(&root, throttle, why);
}

static void
test_version_2(void)
{
	NnCgroupLimits limits;
	NnCgroupThrottle throttle;
	NnWhyNot	why;

	ok(read_limits("v2-nested", &limits, &why) && limits.quota_cpus == 1.5 && limits.period_ms == 50 && why.reason[0] == '\0',
	   "v2: the smallest quota of the parents binds when our own is \"max\"");
	ok(ends_with(limits.quota_source, "/v2-nested/sys/fs/cgroup/kubepods.slice/burstable.slice/cpu.max"),
	   "v2: the file of the binding quota is named");
	ok(limits.memory_limit_bytes == 1073741824 && limits.memory_usage_bytes == 500000000 &&
	   ends_with(limits.memory_source, "/pod 1.slice/memory.high"),
	   "v2: memory.high counts as a limit, and file pages that give way do not count as used");
	ok(limits.memory_room_bytes == 394967296,
	   "v2: the room is the smallest one on the way up (%.0f)", limits.memory_room_bytes);
	ok(read_throttle("v2-nested", &throttle, &why) && throttle.periods == 1000 && throttle.throttled_periods == 250 &&
	   throttle.throttled_ns == UINT64_C(12345678000),
	   "v2: throttling is read where the binding quota is");

	ok(read_limits("v2-half-cpu", &limits, &why) && limits.quota_cpus == 0.5 && limits.period_ms == 100,
	   "v2: half a CPU is half a CPU");
	ok(limits.memory_room_bytes == 0, "v2: a usage above the limit leaves no room, not a negative one");
	ok(read_throttle("v2-half-cpu", &throttle, &why) && throttle.throttled_periods == 39,
	   "v2: a container reads its own throttling");
}

static void
test_version_1(void)
{
	NnCgroupLimits limits;
	NnCgroupThrottle throttle;
	NnWhyNot	why;

	ok(read_limits("v1-container", &limits, &why) && limits.quota_cpus == 1.8 && limits.period_ms == 100 &&
	   ends_with(limits.quota_source, "/cpu,cpuacct/cpu.cfs_quota_us"),
	   "v1: a group that is named as the host knows it is found at the mount's root");
	ok(limits.memory_limit_bytes == 1073741824 && limits.memory_usage_bytes == 573741824 &&
	   limits.memory_room_bytes == 500000000,
	   "v1: limit, usage and room of memory are read");
	ok(read_throttle("v1-container", &throttle, &why) && throttle.throttled_ns == UINT64_C(165000000000) &&
	   throttle.periods == 3000,
	   "v1: throttled time is in nanoseconds");

	ok(read_limits("v1-parent", &limits, &why) && limits.quota_cpus == 2.5 &&
	   ends_with(limits.quota_source, "/cpu/system.slice/cpu.cfs_quota_us"),
	   "v1: -1 is no quota, and a parent's quota binds; without mountinfo the usual places are tried");
	ok(isnan(limits.memory_limit_bytes) && isnan(limits.memory_room_bytes), "v1: the largest number of pages is no limit");
	ok(read_throttle("v1-parent", &throttle, &why) && throttle.throttled_ns == 5000000,
	   "v1: throttling is read where the parent's quota is");
}

static void
test_without_limits(void)
{
	NnCgroupLimits limits;
	NnCgroupThrottle throttle;
	NnWhyNot	why;

	ok(read_limits("hybrid-2cpu", &limits, &why) && isnan(limits.quota_cpus) && isnan(limits.period_ms) &&
	   limits.quota_source[0] == '\0' && strstr(why.reason, "no CPU quota is set") != NULL,
	   "hybrid: the CPU controller is found in version 1, and that there is no quota is said");
	tap_note("%s", why.reason);
	ok(isnan(limits.memory_limit_bytes) && limits.memory_source[0] == '\0', "hybrid: there is no memory limit");
	ok(read_throttle("hybrid-2cpu", &throttle, &why) && throttle.periods == 0, "hybrid: throttling is 0, not unknown");

	ok(!read_limits("old-kernel", &limits, &why) && isnan(limits.quota_cpus) && strstr(why.reason, "mounted") != NULL,
	   "without control groups the reason is given");
	ok(!read_throttle("old-kernel", &throttle, &why) && why.reason[0] != '\0', "and for throttling as well");
}

int
main(int argc, char **argv)
{
	fixtures = argc > 1 ? argv[1] : "test/fixtures";
	test_version_2();
	test_version_1();
	test_without_limits();
	return tap_done();
}
