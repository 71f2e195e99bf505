/*-------------------------------------------------------------------------
 *
 * cgroup.c
 *	  CPU quota, throttling and memory limit of the group we run in.
 *
 * Our group is found by two files: /proc/self/cgroup names it within its hierarchy,
 * /proc/self/mountinfo says where that hierarchy is mounted and which part of it.
 * A container often sees only its own part, and a name that was given outside of it:
 * when the group does not exist below the mount, the mount's root stands for it.
 * From there the walk goes up to the mount's root, for a parent's limit binds as well.
 *
 * Version 1 mounts every controller by itself, version 2 all of them together, and a
 * hybrid host has both, with each controller in one of them.  So for a controller
 * version 2 is asked first, and version 1 when no group on the way has its files.
 *
 *-------------------------------------------------------------------------
 */
#include "host/cgroup.h"
#include "host/cgroup_group.h"
#include "host/parse.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#define NS_PER_US	UINT64_C(1000)
#define US_PER_MS	1000.0

/* Version 1 writes "no limit" as the largest number of pages. */
#define MEMORY_NO_LIMIT (INT64_C(1) << 60)

/* What a group's files say about a limit. */
typedef enum Finding
{
	NOT_THERE,
	NO_LIMIT,
	LIMIT
} Finding;

/* Is "word" one of the comma-separated words of "list", which ends at a blank, a colon or the end? */
static bool
has_word(const char *list, const char *word)
{
	size_t		n = strlen(word);

	for (;;)
	{
		size_t		length = strcspn(list, ", :");

		if (length == n && strncmp(list, word, n) == 0)
			return true;
		if (list[length] != ',')
			return false;
		list += length + 1;
	}
}

/* Copy the field at "*at" up to the next blank, \ooo replaced by its character; move behind the blank. */
static bool
take_field(const char **at, char *field, size_t size)
{
	const char *p = *at;
	size_t		n = 0;

	for (; *p != ' ' && *p != '\0'; p++)
	{
		if (n + 1 >= size)
			return false;
		if (p[0] == '\\' && p[1] >= '0' && p[1] <= '3' && p[2] >= '0' && p[2] <= '7' &&
			p[3] >= '0' && p[3] <= '7')
		{
			field[n++] = (char) ((p[1] - '0') * 64 + (p[2] - '0') * 8 + (p[3] - '0'));
			p += 3;
		}
		else
			field[n++] = *p;
	}
	field[n] = '\0';
	*at = p + (*p == ' ');
	return n > 0;
}

/*
 * Name of our group in the hierarchy of "controller" (version 1) or in
 * version 2's: the lines are "number:controllers:name".
 */
static bool
find_group_name(const NnHostRoot *root, int version, const char *controller, char *name, size_t size)
{
	char		path[NN_PATH_LEN];
	char		line[NN_PATH_LEN];
	NnLines		lines;
	bool		found = false;

	if (!nn_path(path, sizeof(path), "%s/self/cgroup", root->proc) ||
		!nn_lines_open(&lines, path, NULL))
		return false;
	while (!found && nn_lines_next(&lines, line, sizeof(line)))
	{
		const char *controllers = strchr(line, ':');
		const char *group = controllers ? strchr(controllers + 1, ':') : NULL;

		if (group == NULL)
			continue;
		found = version == 2 ?
			strncmp(line, "0::", 3) == 0 : has_word(controllers + 1, controller);
		if (found)
			found = nn_path(name, size, "%s", group + 1);
	}
	nn_lines_close(&lines);
	return found;
}

/*
 * One line of mountinfo: is it the hierarchy that is looked for?  Its fields
 * are: id, parent, device, root, mount point, options, any number of further
 * ones, "-", type, source, options of the file system.
 */
static bool
parse_mount(const char *line, int version, const char *controller,
			char *part, char *mount, size_t size)
{
	const char *at = line;
	const char *type = strstr(line, " - ");
	const char *options;
	int			i;

	if (type == NULL)
		return false;
	type += strlen(" - ");
	if (version == 2 ? !nn_parse_prefix(&type, "cgroup2 ") : !nn_parse_prefix(&type, "cgroup "))
		return false;
	options = strchr(type, ' ');
	if (version == 1 && (options == NULL || !has_word(options + 1, controller)))
		return false;
	for (i = 0; i < 3; i++)
	{
		at = strchr(at, ' ');
		if (at == NULL)
			return false;
		at++;
	}
	return take_field(&at, part, size) && take_field(&at, mount, size);
}

/*
 * Where a mount point is under our root: paths below /sys move to where /sys
 * is for us.  Others are of no use when /sys is elsewhere.
 */
static bool
rebase_mount(const NnHostRoot *root, const char *mount, char *dir, size_t size)
{
	const char *below = mount;

	if (strcmp(root->sys, "/sys") == 0 || nn_parse_prefix(&below, root->sys))
		return nn_path(dir, size, "%s", mount);
	return nn_parse_prefix(&below, "/sys/") && nn_path(dir, size, "%s/%s", root->sys, below);
}

/* Where the hierarchies usually are, below /sys. */
static const struct
{
	int			version;
	const char *controller;		/* of version 1 */
	const char *folder;
}			usual_places[] = {
	{2, "", "fs/cgroup"},
	{2, "", "fs/cgroup/unified"},
	{1, "cpu", "fs/cgroup/cpu"},
	{1, "cpu", "fs/cgroup/cpu,cpuacct"},
	{1, "memory", "fs/cgroup/memory"},
};

/* Is a hierarchy mounted here?  Every group has this file; a mount point alone may be an empty folder. */
static bool
is_group(const char *dir)
{
	char		path[NN_PATH_LEN];

	return nn_path(path, sizeof(path), "%s/cgroup.procs", dir) && access(path, F_OK) == 0;
}

/*
 * Where the hierarchy is mounted, and which part of it.  Without mountinfo,
 * or when it names nothing that is there, the usual places are tried.
 */
static bool
find_mount(const NnHostRoot *root, int version, const char *controller,
		   char *part, char *dir, size_t size)
{
	char		line[NN_PATH_LEN];
	char		mount[NN_PATH_LEN];
	NnLines		lines;
	bool		found = false;
	size_t		i;

	if (nn_path(dir, size, "%s/self/mountinfo", root->proc) && nn_lines_open(&lines, dir, NULL))
	{
		while (!found && nn_lines_next(&lines, line, sizeof(line)))
			found = parse_mount(line, version, controller, part, mount, sizeof(mount)) &&
				rebase_mount(root, mount, dir, size) &&
				access(dir, F_OK) == 0;
		nn_lines_close(&lines);
	}
	for (i = 0; !found && i < sizeof(usual_places) / sizeof(usual_places[0]); i++)
	{
		if (usual_places[i].version != version ||
			(version == 1 && strcmp(usual_places[i].controller, controller) != 0))
			continue;
		strcpy(part, "/");
		found = nn_path(dir, size, "%s/%s", root->sys, usual_places[i].folder) && is_group(dir);
	}
	return found;
}

/* The folder of our group; false when the hierarchy is not mounted. */
bool
nn_cgroup_group_find(const NnHostRoot *root, int version, const char *controller, NnCgroupGroup *group)
{
	char		part[NN_PATH_LEN];
	char		name[NN_PATH_LEN];
	const char *below = name;

	if (!find_mount(root, version, controller, part, group->dir, sizeof(group->dir)))
		return false;
	group->mount_length = strlen(group->dir);

	/*
	 * A name that climbs out of our namespace, or that is not in the mounted
	 * part: the root stands for it.
	 */
	if (!find_group_name(root, version, controller, name, sizeof(name)) ||
		strstr(name, "/..") != NULL ||
		(strcmp(part, "/") != 0 &&
		 (!nn_parse_prefix(&below, part) || (*below != '/' && *below != '\0'))) ||
		strcmp(below, "/") == 0)
		return true;

	if (!nn_path(group->dir + group->mount_length, sizeof(group->dir) - group->mount_length, "%s", below) ||
		access(group->dir, F_OK) != 0)
		group->dir[group->mount_length] = '\0';
	return true;
}

/* Go to the parent; false at the top of what can be seen. */
bool
nn_cgroup_group_up(NnCgroupGroup *group)
{
	char	   *slash;

	if (strlen(group->dir) <= group->mount_length)
		return false;
	slash = strrchr(group->dir, '/');
	if (slash < group->dir + group->mount_length)
		return false;
	*slash = '\0';
	return true;
}

/* The CPU quota of one group.  "path" gets the file that holds it. */
static Finding
read_quota(const char *dir, int version, double *cpus, double *period_us, char *path, size_t size)
{
	char		buf[128];
	char		period_path[NN_PATH_LEN];
	const char *at = buf;
	int64_t		quota;
	int64_t		period;

	if (version == 2)
	{
		if (!nn_path(path, size, "%s/cpu.max", dir) || nn_read_file(path, buf, sizeof(buf), NULL) < 0)
			return NOT_THERE;
		if (nn_parse_prefix(&at, "max"))
			return NO_LIMIT;
		if (!nn_parse_i64(&at, &quota) || !nn_parse_i64(&at, &period))
			return NOT_THERE;
	}
	else
	{
		if (!nn_path(path, size, "%s/cpu.cfs_quota_us", dir) ||
			!nn_path(period_path, sizeof(period_path), "%s/cpu.cfs_period_us", dir) ||
			!nn_read_i64(path, &quota, NULL) ||
			!nn_read_i64(period_path, &period, NULL))
			return NOT_THERE;
	}
	if (quota <= 0 || period <= 0)
		return NO_LIMIT;
	*cpus = (double) quota / (double) period;
	*period_us = (double) period;
	return LIMIT;
}

/* The quota that binds: the smallest one from our group up. */
typedef struct Quota
{
	bool		mounted;		/* a hierarchy was found */
	bool		controlled;		/* and a group with a CPU controller in it */
	int			version;		/* of the latter */
	double		cpus;			/* NaN: no limit */
	double		period_us;
	char		own_dir[NN_PATH_LEN];	/* our group, the nearest one that is
										 * controlled */
	char		dir[NN_PATH_LEN];	/* the group with the quota */
	char		path[NN_PATH_LEN];	/* and the file */
} Quota;

static void
find_quota(const NnHostRoot *root, Quota *quota)
{
	char		path[NN_PATH_LEN];
	NnCgroupGroup group;
	int			version;

	memset(quota, 0, sizeof(*quota));
	quota->cpus = NAN;
	quota->period_us = NAN;
	for (version = 2; version >= 1 && !quota->controlled; version--)
	{
		if (!nn_cgroup_group_find(root, version, "cpu", &group))
			continue;
		quota->mounted = true;
		do
		{
			double		cpus;
			double		period_us;
			Finding		finding = read_quota(group.dir, version, &cpus, &period_us, path, sizeof(path));

			if (finding == NOT_THERE)
				continue;
			if (!quota->controlled)
			{
				quota->controlled = true;
				quota->version = version;
				strcpy(quota->own_dir, group.dir);
			}
			if (finding == LIMIT && !(cpus >= quota->cpus))
			{
				quota->cpus = cpus;
				quota->period_us = period_us;
				strcpy(quota->dir, group.dir);
				strcpy(quota->path, path);
			}
		} while (nn_cgroup_group_up(&group));
	}
}

/* A limit of memory in bytes; "max" and the largest number of pages mean none. */
static Finding
read_memory_limit(const char *dir, const char *file, double *bytes, char *path, size_t size)
{
	char		word[64];
	const char *at = word;
	int64_t		limit;

	if (!nn_path(path, size, "%s/%s", dir, file) || !nn_read_word(path, word, sizeof(word), NULL))
		return NOT_THERE;
	if (nn_parse_prefix(&at, "max"))
		return NO_LIMIT;
	if (!nn_parse_i64(&at, &limit))
		return NOT_THERE;
	if (limit < 0 || limit >= MEMORY_NO_LIMIT)
		return NO_LIMIT;
	*bytes = (double) limit;
	return LIMIT;
}

/* What a group uses, without the file pages that it would give back first; NaN when not known. */
static double
read_memory_usage(const char *dir, int version)
{
	char		path[NN_PATH_LEN];
	char		line[128];
	NnLines		lines;
	int64_t		usage;
	uint64_t	inactive = 0;

	if (!nn_path(path, sizeof(path), "%s/%s", dir, version == 2 ? "memory.current" : "memory.usage_in_bytes") ||
		!nn_read_i64(path, &usage, NULL))
		return NAN;
	if (nn_path(path, sizeof(path), "%s/memory.stat", dir) && nn_lines_open(&lines, path, NULL))
	{
		while (nn_lines_next(&lines, line, sizeof(line)))
		{
			const char *at = line;

			if (nn_parse_prefix(&at, version == 2 ? "inactive_file " : "total_inactive_file ") &&
				nn_parse_u64(&at, &inactive))
				break;
		}
		nn_lines_close(&lines);
	}
	return fmax((double) usage - (double) inactive, 0);
}

/* Take the limit of one group into account. */
static void
apply_memory_limit(NnCgroupLimits *limits, const char *dir, int version, double bytes, const char *path)
{
	double		usage = read_memory_usage(dir, version);
	double		room = fmax(bytes - usage, 0);

	if (!(bytes >= limits->memory_limit_bytes))
	{
		limits->memory_limit_bytes = bytes;
		limits->memory_usage_bytes = usage;
		(void) nn_path(limits->memory_source, sizeof(limits->memory_source), "%s", path);
	}
	if (!isnan(usage) && !(room >= limits->memory_room_bytes))
		limits->memory_room_bytes = room;
}

/* True when a hierarchy was found. */
static bool
find_memory_limit(const NnHostRoot *root, NnCgroupLimits *limits)
{
	/*
	 * Above "high" a group is slowed down by reclaim: for us as good as a
	 * limit.
	 */
	static const char *const files[3][2] = {
		{NULL, NULL},
		{"memory.limit_in_bytes", NULL},
		{"memory.max", "memory.high"}
	};
	char		path[NN_PATH_LEN];
	NnCgroupGroup group;
	bool		mounted = false;
	bool		controlled = false;
	int			version;
	int			i;

	for (version = 2; version >= 1 && !controlled; version--)
	{
		if (!nn_cgroup_group_find(root, version, "memory", &group))
			continue;
		mounted = true;
		do
		{
			for (i = 0; i < 2 && files[version][i] != NULL; i++)
			{
				double		bytes;
				Finding		finding = read_memory_limit(group.dir, files[version][i], &bytes,
														path, sizeof(path));

				controlled |= finding != NOT_THERE;
				if (finding == LIMIT)
					apply_memory_limit(limits, group.dir, version, bytes, path);
			}
		} while (nn_cgroup_group_up(&group));
	}
	return mounted;
}

bool
nn_cgroup_limits_read(const NnHostRoot *root, NnCgroupLimits *limits, NnWhyNot *why)
{
	Quota		quota;
	bool		memory_mounted;

	memset(limits, 0, sizeof(*limits));
	limits->memory_limit_bytes = NAN;
	limits->memory_usage_bytes = NAN;
	limits->memory_room_bytes = NAN;

	find_quota(root, &quota);
	memory_mounted = find_memory_limit(root, limits);

	limits->quota_cpus = quota.cpus;
	limits->period_ms = quota.period_us / US_PER_MS;
	(void) nn_path(limits->quota_source, sizeof(limits->quota_source), "%s", quota.path);

	if (!quota.mounted)
		nn_why_not(why, "no control group with CPU limits is mounted below %s", root->sys);
	else if (!quota.controlled)
		nn_why_not(why, "our control group has no CPU controller, so no quota");
	else if (isnan(quota.cpus))
		nn_why_not(why, "no CPU quota is set, from %s up", quota.own_dir);
	return quota.mounted || memory_mounted;
}

/* Take what one line of cpu.stat says; 1 when it is one of the three counters. */
static int
parse_throttle(const char *at, int version, NnCgroupThrottle *throttle)
{
	uint64_t	time;

	if (nn_parse_prefix(&at, "nr_periods "))
		return nn_parse_u64(&at, &throttle->periods);
	if (nn_parse_prefix(&at, "nr_throttled "))
		return nn_parse_u64(&at, &throttle->throttled_periods);
	if (!nn_parse_prefix(&at, version == 2 ? "throttled_usec " : "throttled_time ") ||
		!nn_parse_u64(&at, &time))
		return 0;
	throttle->throttled_ns = version == 2 ? time * NS_PER_US : time;
	return 1;
}

/* Read the counters of one group; false when it does not have all of them. */
static bool
read_throttle(const char *path, int version, NnCgroupThrottle *throttle, NnWhyNot *why)
{
	char		line[128];
	NnLines		lines;
	int			found = 0;

	if (!nn_lines_open(&lines, path, why))
		return false;
	while (nn_lines_next(&lines, line, sizeof(line)))
		found += parse_throttle(line, version, throttle);
	nn_lines_close(&lines);
	if (found < 3)
		nn_why_not(why, "%s has no figures of throttling", path);
	return found >= 3;
}

/* The file with the counters of the group that nn_cgroup_throttle_read() speaks of. */
static bool
find_throttle(const NnHostRoot *root, char *path, size_t size, int *version, NnWhyNot *why)
{
	Quota		quota;

	find_quota(root, &quota);
	if (!quota.controlled)
	{
		if (quota.mounted)
			nn_why_not(why, "our control group has no CPU controller, so it is not throttled");
		else
			nn_why_not(why, "no control group with CPU limits is mounted below %s", root->sys);
		return false;
	}
	*version = quota.version;
	return nn_path(path, size, "%s/cpu.stat", isnan(quota.cpus) ? quota.own_dir : quota.dir);
}

bool
nn_cgroup_throttle_read(const NnHostRoot *root, NnCgroupThrottle *throttle, NnWhyNot *why)
{
	char		path[NN_PATH_LEN];
	int			version;

	return find_throttle(root, path, sizeof(path), &version, why) &&
		read_throttle(path, version, throttle, why);
}

bool
nn_cgroup_throttle_open(const NnHostRoot *root, NnCgroupThrottleFile *file, NnWhyNot *why)
{
	char		path[NN_PATH_LEN];
	NnCgroupThrottle throttle;

	file->fd = -1;
	if (!find_throttle(root, path, sizeof(path), &file->version, why) ||
		!read_throttle(path, file->version, &throttle, why))
		return false;
	do
		file->fd = open(path, O_RDONLY | O_CLOEXEC);
	while (file->fd < 0 && errno == EINTR);
	return file->fd >= 0;
}

bool
nn_cgroup_throttle_reread(const NnCgroupThrottleFile *file, NnCgroupThrottle *throttle)
{
	char		buf[2048];
	ssize_t		n;
	int			found = 0;
	char	   *line = buf;

	if (file->fd < 0)
		return false;
	do
		n = pread(file->fd, buf, sizeof(buf) - 1, 0);
	while (n < 0 && errno == EINTR);
	if (n <= 0)
		return false;
	buf[n] = '\0';
	while (line != NULL)
	{
		char	   *end = strchr(line, '\n');

		if (end != NULL)
			*end++ = '\0';
		found += parse_throttle(line, file->version, throttle);
		line = end;
	}
	return found >= 3;
}

void
nn_cgroup_throttle_close(NnCgroupThrottleFile *file)
{
	if (file->fd >= 0)
		close(file->fd);
	file->fd = -1;
}
