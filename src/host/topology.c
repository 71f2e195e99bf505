/*-------------------------------------------------------------------------
 *
 * topology.c
 *	  CPUs, caches, memory and kernel of the host.
 *
 * Everything has a fallback, and what cannot be had is empty or 0: a run must
 * not fail because a container hides a file.  The affinity comes from
 * /proc/self/status, which a recorded host has as well; its mask may name CPUs
 * that are offline or do not exist, so only those that are online count.
 *
 *-------------------------------------------------------------------------
 */
#include "host/topology.h"
#include "host/parse.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

#define MAX_CPUS		8192	/* the most that Linux can be built for */
#define MAX_CACHE_INDEX 16
#define LLC_FALLBACK_BYTES (UINT64_C(32) * 1024 * 1024)

typedef struct CpuSet
{
	uint64_t	words[MAX_CPUS / 64];
} CpuSet;

static inline bool
cpu_set_has(const CpuSet *set, uint32_t cpu)
{
	return (set->words[cpu / 64] >> (cpu % 64)) & 1;
}

static int
cpu_set_count(const CpuSet *set)
{
	int			n = 0;
	int			i;

	for (i = 0; i < MAX_CPUS / 64; i++)
		n += __builtin_popcountll(set->words[i]);
	return n;
}

static int
cpu_set_first(const CpuSet *set)
{
	uint32_t	cpu;

	for (cpu = 0; cpu < MAX_CPUS; cpu++)
		if (cpu_set_has(set, cpu))
			return (int) cpu;
	return -1;
}

/* A list such as "0-3,8,10-11"; false, and empty, when it is not one. */
static bool
parse_cpu_list(const char *text, CpuSet *set)
{
	const char *at = text;

	memset(set, 0, sizeof(*set));
	for (;;)
	{
		uint64_t	first;
		uint64_t	last;

		if (!nn_parse_u64(&at, &first))
			break;
		last = first;
		if (*at == '-')
		{
			at++;
			if (!nn_parse_u64(&at, &last))
				break;
		}
		if (last < first || last >= MAX_CPUS)
			break;
		for (; first <= last; first++)
			set->words[first / 64] |= UINT64_C(1) << (first % 64);
		if (*at == '\0' || *at == '\n')
			return true;
		if (*at++ != ',')
			break;
	}
	memset(set, 0, sizeof(*set));
	return false;
}

/* The value of the line "key: value" of a file; false, and empty, when there is none. */
static bool
find_line(const char *path, const char *key, char *value, size_t size)
{
	char		line[4096];
	NnLines		lines;
	bool		found = false;

	value[0] = '\0';
	if (!nn_lines_open(&lines, path, NULL))
		return false;
	while (!found && nn_lines_next(&lines, line, sizeof(line)))
	{
		const char *at = line;

		if (!nn_parse_prefix(&at, key))
			continue;
		at = nn_skip_blanks(at);
		if (*at != ':')
			continue;
		(void) nn_path(value, size, "%s", nn_skip_blanks(at + 1));
		found = true;
	}
	nn_lines_close(&lines);
	return found;
}

/* First line of root/file; empty when it cannot be read. */
static void
read_string(const char *root, const char *file, char *value, size_t size)
{
	char		path[NN_PATH_LEN];

	value[0] = '\0';
	if (nn_path(path, sizeof(path), "%s/%s", root, file))
		(void) nn_read_word(path, value, size, NULL);
}

/* CPUs that are online, and those of them that we may use; returns a CPU to look at. */
static int
read_cpus(const NnHostRoot *root, NnTopology *topology)
{
	char		path[NN_PATH_LEN];
	char		list[4096];
	CpuSet		online;
	CpuSet		allowed;
	int			i;

	read_string(root->sys, "devices/system/cpu/online", list, sizeof(list));
	if (parse_cpu_list(list, &online))
		topology->online_cpus = cpu_set_count(&online);
	else
	{
		topology->online_cpus = (int) sysconf(_SC_NPROCESSORS_ONLN);
		if (topology->online_cpus < 1)
			topology->online_cpus = 1;
		memset(&online, 0xFF, sizeof(online));
	}

	if (nn_path(path, sizeof(path), "%s/self/status", root->proc) &&
		find_line(path, "Cpus_allowed_list", list, sizeof(list)) &&
		parse_cpu_list(list, &allowed))
	{
		for (i = 0; i < MAX_CPUS / 64; i++)
			allowed.words[i] &= online.words[i];
		topology->affinity_cpus = cpu_set_count(&allowed);
	}
	else
		allowed = online;
	if (topology->affinity_cpus < 1 || topology->affinity_cpus > topology->online_cpus)
		topology->affinity_cpus = topology->online_cpus;

	i = cpu_set_first(&allowed);
	return i < 0 ? 0 : i;
}

/* A size such as "36608K"; 0 when it is none. */
static uint64_t
parse_size(const char *text)
{
	const char *at = text;
	uint64_t	value;
	int			shift = 0;

	if (!nn_parse_u64(&at, &value))
		return 0;
	if (*at == 'K')
		shift = 10;
	else if (*at == 'M')
		shift = 20;
	else if (*at == 'G')
		shift = 30;
	return value > (UINT64_MAX >> shift) ? 0 : value << shift;
}

/* Data caches of one CPU: the second level and the last one. */
static void
read_caches(const NnHostRoot *root, int cpu, NnTopology *topology)
{
	uint64_t	llc_level = 1;	/* a first level is never the last one */
	int			i;

	for (i = 0; i < MAX_CACHE_INDEX; i++)
	{
		char		folder[128];
		char		file[192];
		char		type[32];
		char		text[64];
		const char *at = text;
		uint64_t	level;
		uint64_t	bytes;

		snprintf(folder, sizeof(folder), "devices/system/cpu/cpu%d/cache/index%d", cpu, i);
		snprintf(file, sizeof(file), "%s/type", folder);
		read_string(root->sys, file, type, sizeof(type));
		snprintf(file, sizeof(file), "%s/level", folder);
		read_string(root->sys, file, text, sizeof(text));
		if (strcmp(type, "Instruction") == 0 || !nn_parse_u64(&at, &level))
			continue;
		snprintf(file, sizeof(file), "%s/size", folder);
		read_string(root->sys, file, text, sizeof(text));
		bytes = parse_size(text);
		if (bytes == 0)
			continue;
		if (level == 2)
			topology->l2_bytes = bytes;
		if (level > llc_level)
		{
			llc_level = level;
			topology->llc_bytes = bytes;
			strcpy(topology->llc_source, "sysfs");
		}
	}
	if (topology->llc_bytes > 0)
		return;

#ifdef _SC_LEVEL3_CACHE_SIZE
	{
		long		l2 = sysconf(_SC_LEVEL2_CACHE_SIZE);
		long		l3 = sysconf(_SC_LEVEL3_CACHE_SIZE);

		topology->l2_bytes = l2 > 0 ? (uint64_t) l2 : 0;
		topology->llc_bytes = l3 > 0 ? (uint64_t) l3 : topology->l2_bytes;
		strcpy(topology->llc_source, "sysconf");
		if (topology->llc_bytes > 0)
			return;
	}
#endif
	topology->llc_bytes = LLC_FALLBACK_BYTES;
	strcpy(topology->llc_source, "fallback");
}

/* A line of meminfo in bytes; 0 when there is none. */
static uint64_t
read_meminfo(const char *path, const char *key)
{
	char		text[64];
	const char *at = text;
	uint64_t	kib;

	if (!find_line(path, key, text, sizeof(text)) || !nn_parse_u64(&at, &kib))
		return 0;
	return kib * 1024;
}

static void
read_memory(const NnHostRoot *root, NnTopology *topology)
{
	char		path[NN_PATH_LEN];

	if (!nn_path(path, sizeof(path), "%s/meminfo", root->proc))
		return;
	topology->mem_total_bytes = read_meminfo(path, "MemTotal");

	/* Before Linux 3.14 there is no estimate: only what is free is sure. */
	topology->mem_available_bytes = read_meminfo(path, "MemAvailable");
	if (topology->mem_available_bytes == 0)
		topology->mem_available_bytes = read_meminfo(path, "MemFree");
}

/* The name that a hypervisor gives itself to its guests, by an instruction of x86; empty elsewhere. */
static void
read_hypervisor_signature(char *name, size_t size)
{
	static const char *const known[][2] = {
		{"KVMKVMKVM", "kvm"},
		{"Microsoft Hv", "hyper-v"},
		{"VMwareVMware", "vmware"},
		{"XenVMMXenVMM", "xen"},
		{"TCGTCGTCGTCG", "qemu"},
		{"bhyve bhyve ", "bhyve"},
		{"prl hyperv  ", "parallels"},
	};
	char		signature[13] = "";
	size_t		i;

	name[0] = '\0';
#if defined(__x86_64__) || defined(__i386__)
	{
		unsigned int a,
					b,
					c,
					d;

		__cpuid(0x40000000, a, b, c, d);
		memcpy(signature, &b, 4);
		memcpy(signature + 4, &c, 4);
		memcpy(signature + 8, &d, 4);
	}
#endif
	for (i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strcmp(signature, known[i][0]) == 0)
			(void) nn_path(name, size, "%s", known[i][1]);
}

/*
 * Which hypervisor, if any: the processor's own word where we look at this
 * very host, else what the firmware's tables and the "hypervisor" flag say.
 * 'none' is told only where that flag would exist (x86).
 */
static void
read_virtualisation(const NnHostRoot *root, const char *cpuinfo, NnTopology *topology)
{
	char	   *name = topology->virtualisation;
	size_t		size = sizeof(topology->virtualisation);
	char		flags[4096];
	char		vendor[64];
	bool		x86 = find_line(cpuinfo, "flags", flags, sizeof(flags));
	bool		guest = x86 && strstr(flags, " hypervisor") != NULL;

	read_string(root->sys, "hypervisor/type", name, size);
	if (name[0] != '\0')
		return;
	if (x86 && !guest)
	{
		(void) nn_path(name, size, "none");
		return;
	}
	if (guest && strcmp(root->proc, "/proc") == 0)
		read_hypervisor_signature(name, size);
	if (name[0] != '\0')
		return;

	read_string(root->sys, "class/dmi/id/sys_vendor", vendor, sizeof(vendor));
	if (guest)
		(void) nn_path(name, size, "%s", vendor[0] != '\0' ? vendor : "unknown");
	else if (strcmp(vendor, "QEMU") == 0)
		(void) nn_path(name, size, "qemu");
}

static void
read_cpu_model(const char *cpuinfo, NnTopology *topology)
{
	char		implementer[32];
	char		part[32];

	if (find_line(cpuinfo, "model name", topology->cpu_model, sizeof(topology->cpu_model)))
		return;

	/* arm64 gives numbers only */
	if (find_line(cpuinfo, "CPU implementer", implementer, sizeof(implementer)) &&
		find_line(cpuinfo, "CPU part", part, sizeof(part)))
		(void) nn_path(topology->cpu_model, sizeof(topology->cpu_model),
					   "implementer %s part %s", implementer, part);
}

static void
read_kernel(const NnHostRoot *root, NnTopology *topology)
{
	char		text[32];
	struct utsname names;

	read_string(root->proc, "sys/kernel/osrelease", topology->kernel, sizeof(topology->kernel));
	read_string(root->proc, "sys/kernel/arch", topology->architecture, sizeof(topology->architecture));
	if (uname(&names) == 0)
	{
		(void) nn_path(topology->host_name, sizeof(topology->host_name), "%s", names.nodename);
		if (topology->kernel[0] == '\0')
			(void) nn_path(topology->kernel, sizeof(topology->kernel), "%s", names.release);
		if (topology->architecture[0] == '\0')
			(void) nn_path(topology->architecture, sizeof(topology->architecture), "%s", names.machine);
	}

	read_string(root->proc, "sys/kernel/sched_autogroup_enabled", text, sizeof(text));
	topology->autogroup = text[0] == '0' ? 0 : text[0] == '1' ? 1 : -1;
	read_string(root->sys, "devices/system/clocksource/clocksource0/current_clocksource",
				topology->clocksource, sizeof(topology->clocksource));
}

void
nn_topology_read(const NnHostRoot *root, NnTopology *topology)
{
	char		cpuinfo[NN_PATH_LEN];
	char		governor[128];
	int			cpu;

	memset(topology, 0, sizeof(*topology));
	(void) nn_path(cpuinfo, sizeof(cpuinfo), "%s/cpuinfo", root->proc);

	cpu = read_cpus(root, topology);
	(void) nn_cgroup_limits_read(root, &topology->limits, NULL);
	topology->usable_cpus = topology->affinity_cpus;
	if (topology->limits.quota_cpus < topology->usable_cpus)	/* false for NaN */
		topology->usable_cpus = topology->limits.quota_cpus;

	read_caches(root, cpu, topology);
	read_memory(root, topology);
	read_kernel(root, topology);
	read_cpu_model(cpuinfo, topology);
	read_virtualisation(root, cpuinfo, topology);
	snprintf(governor, sizeof(governor), "devices/system/cpu/cpu%d/cpufreq/scaling_governor", cpu);
	read_string(root->sys, governor, topology->governor, sizeof(topology->governor));
}

uint64_t
nn_memory_room_bytes(const NnTopology *topology)
{
	uint64_t	room = topology->mem_available_bytes;
	double		limit_room = topology->limits.memory_room_bytes;

	/* A limit without a known usage still bounds what can be had. */
	if (isnan(limit_room))
		limit_room = topology->limits.memory_limit_bytes;
	if (isnan(limit_room))
		return room;
	return room == 0 || limit_room < (double) room ? (uint64_t) limit_room : room;
}
