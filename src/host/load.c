/*-------------------------------------------------------------------------
 *
 * load.c
 *	  Load of the host, and what its memory limit did to our control group.
 *
 * Version 2 counts events in one file, version 1 in two others, and has no "high".
 * They are those of the nearest group, from ours up, that counts.
 *
 *-------------------------------------------------------------------------
 */
#include "host/load.h"
#include "host/cgroup_group.h"
#include "host/parse.h"

#include <math.h>
#include <string.h>

double
nn_load_read(const NnHostRoot *root, NnWhyNot *why)
{
	char		path[NN_PATH_LEN];
	char		word[128];
	const char *at = word;
	uint64_t	whole;
	uint64_t	hundredths;

	if (!nn_path(path, sizeof(path), "%s/loadavg", root->proc) ||
		!nn_read_word(path, word, sizeof(word), why))
		return NAN;
	if (nn_parse_u64(&at, &whole) && *at == '.' && at[1] >= '0' && at[1] <= '9' &&
		at[2] >= '0' && at[2] <= '9')
	{
		hundredths = (uint64_t) (at[1] - '0') * 10 + (uint64_t) (at[2] - '0');
		return (double) whole + (double) hundredths / 100;
	}
	nn_why_not(why, "%s does not begin with a load", path);
	return NAN;
}

/* The number behind "name" in a file of lines "name number"; NaN when there is none. */
static double
count_of(const char *dir, const char *file, const char *name)
{
	char		path[NN_PATH_LEN];
	char		line[128];
	NnLines		lines;
	uint64_t	value;
	double		found = NAN;

	if (!nn_path(path, sizeof(path), "%s/%s", dir, file) || !nn_lines_open(&lines, path, NULL))
		return NAN;
	while (isnan(found) && nn_lines_next(&lines, line, sizeof(line)))
	{
		const char *at = line;

		if (nn_parse_prefix(&at, name) && nn_parse_u64(&at, &value))
			found = (double) value;
	}
	nn_lines_close(&lines);
	return found;
}

static bool
read_group(const char *dir, int version, NnMemoryEvents *events)
{
	if (version == 2)
	{
		events->high = count_of(dir, "memory.events", "high ");
		events->max = count_of(dir, "memory.events", "max ");
		events->oom_kills = count_of(dir, "memory.events", "oom_kill ");
	}
	else
	{
		events->high = NAN;
		events->max = count_of(dir, "memory.failcnt", "");
		events->oom_kills = count_of(dir, "memory.oom_control", "oom_kill ");
	}
	return !isnan(events->high) || !isnan(events->max) || !isnan(events->oom_kills);
}

bool
nn_memory_events_read(const NnHostRoot *root, NnMemoryEvents *events, NnWhyNot *why)
{
	NnCgroupGroup group;

	for (int version = 2; version >= 1; version--)
	{
		if (!nn_cgroup_group_find(root, version, "memory", &group))
			continue;
		do
		{
			if (read_group(group.dir, version, events))
				return true;
		} while (nn_cgroup_group_up(&group));
	}
	events->high = events->max = events->oom_kills = NAN;
	nn_why_not(why, "no control group that counts memory events is mounted below %s", root->sys);
	return false;
}
