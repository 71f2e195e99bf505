/*-------------------------------------------------------------------------
 *
 * detail.c
 *	  What else is known about a host: for the record, not for decisions.
 *
 *-------------------------------------------------------------------------
 */
#include "host/detail.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/clock.h"
#include "host/parse.h"

#define CLOCK_READS		1000

/* The value of a line "name : value"; false when the line has another name. */
static bool
line_value(const char *line, const char *name, char *value, size_t size)
{
	const char *at = line;

	if (!nn_parse_prefix(&at, name))
		return false;
	at = nn_skip_blanks(at);
	if (*at != ':')
		return false;
	snprintf(value, size, "%s", nn_skip_blanks(at + 1));
	return true;
}

/* Digits and a point, whatever the locale. */
static double
decimal(const char *text)
{
	uint64_t	whole;
	double		value;
	double		place = 0.1;

	if (!nn_parse_u64(&text, &whole))
		return NAN;
	value = (double) whole;
	if (*text == '.')
	{
		for (text++; *text >= '0' && *text <= '9'; text++, place /= 10)
			value += (*text - '0') * place;
	}
	return value;
}

static void
read_cpuinfo(const NnHostRoot *root, NnHostDetail *detail)
{
	char		path[NN_PATH_LEN];
	char		line[512];
	char		mhz[64] = "";
	NnLines		lines;

	if (!nn_path(path, sizeof(path), "%s/cpuinfo", root->proc) || !nn_lines_open(&lines, path, NULL))
		return;
	while (nn_lines_next(&lines, line, sizeof(line)) && line[0] != '\0')	/* of the first CPU */
	{
		(void) line_value(line, "microcode", detail->microcode, sizeof(detail->microcode));
		(void) line_value(line, "cpu MHz", mhz, sizeof(mhz));
	}
	nn_lines_close(&lines);
	detail->cpu_mhz = decimal(mhz);
}

static void
read_affinity(const NnHostRoot *root, NnHostDetail *detail)
{
	char		path[NN_PATH_LEN];
	char		line[1024];
	NnLines		lines;

	if (!nn_path(path, sizeof(path), "%s/self/status", root->proc) || !nn_lines_open(&lines, path, NULL))
		return;
	while (nn_lines_next(&lines, line, sizeof(line)))
		(void) line_value(line, "Cpus_allowed_list", detail->affinity, sizeof(detail->affinity));
	nn_lines_close(&lines);
}

/* Lines "number:controllers:path"; version 2 has no controllers. */
static void
read_cgroup(const NnHostRoot *root, NnHostDetail *detail)
{
	char		path[NN_PATH_LEN];
	char		line[1024];
	NnLines		lines;
	bool		found = false;

	if (!nn_path(path, sizeof(path), "%s/self/cgroup", root->proc) || !nn_lines_open(&lines, path, NULL))
		return;
	while (nn_lines_next(&lines, line, sizeof(line)) && !found)
	{
		char	   *controllers = strchr(line, ':');
		char	   *group = controllers ? strchr(controllers + 1, ':') : NULL;

		if (group == NULL)
			continue;
		*group++ = '\0';
		controllers++;
		found = strcmp(controllers, "cpu") == 0 || strncmp(controllers, "cpu,", 4) == 0 || strstr(controllers, ",cpu,") != NULL;
		if (found || controllers[0] == '\0')
			snprintf(detail->cgroup_path, sizeof(detail->cgroup_path), "%s", group);
	}
	nn_lines_close(&lines);
}

/* Lines "id parent device root mount-point options … - kind device options": the longest mount point that leads to us. */
static void
read_file_system(const NnHostRoot *root, NnHostDetail *detail)
{
	char		path[NN_PATH_LEN];
	char		line[2048];
	char		here[1024];
	size_t		best = 0;
	NnLines		lines;

	if (getcwd(here, sizeof(here)) == NULL || !nn_path(path, sizeof(path), "%s/self/mountinfo", root->proc) ||
		!nn_lines_open(&lines, path, NULL))
		return;
	while (nn_lines_next(&lines, line, sizeof(line)))
	{
		char		point[1024];
		char		kind[64];
		char		device[256];
		const char *rest = strstr(line, " - ");
		size_t		length;

		if (rest == NULL || sscanf(line, "%*s %*s %*s %*s %1023s", point) != 1 ||
			sscanf(rest + 3, "%63s %255s", kind, device) != 2)
			continue;
		length = strlen(point);
		if (strncmp(here, point, length) != 0 || length < best ||
			(length > 1 && here[length] != '/' && here[length] != '\0'))
			continue;
		best = length;			/* of equals the last one lies on top */
		memcpy(detail->file_system, kind, sizeof(kind));
		memcpy(detail->device, device, sizeof(device));
	}
	nn_lines_close(&lines);
}

static double
read_number(const char *path, double unit)
{
	int64_t		value;

	return nn_read_i64(path, &value, NULL) ? (double) value / unit : NAN;
}

static double
time_clock(void)
{
	uint64_t	since_ns = nn_now_ns();
	uint64_t	now_ns = since_ns;

	for (int i = 0; i < CLOCK_READS; i++)
		now_ns = nn_now_ns();
	return (double) (now_ns - since_ns) / CLOCK_READS;
}

void
nn_host_detail_read(const NnHostRoot *root, NnHostDetail *detail)
{
	char		path[NN_PATH_LEN];

	memset(detail, 0, sizeof(*detail));
	detail->smt = detail->cpu_mhz = detail->cpu_max_mhz = NAN;
	read_cpuinfo(root, detail);
	read_affinity(root, detail);
	read_cgroup(root, detail);
	read_file_system(root, detail);
	if (nn_path(path, sizeof(path), "%s/devices/system/node/online", root->sys))
		(void) nn_read_word(path, detail->numa_nodes, sizeof(detail->numa_nodes), NULL);
	if (nn_path(path, sizeof(path), "%s/devices/system/cpu/smt/active", root->sys))
		detail->smt = read_number(path, 1);
	if (nn_path(path, sizeof(path), "%s/devices/system/cpu/cpu0/cpufreq/scaling_max_freq", root->sys))
		detail->cpu_max_mhz = read_number(path, 1000);
	detail->clock_read_ns = time_clock();
}
