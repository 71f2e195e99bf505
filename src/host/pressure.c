/*-------------------------------------------------------------------------
 *
 * pressure.c
 *	  Pressure stall information, from /proc/pressure.
 *
 * Cumulative totals only: averages over an interval of our own are differences
 * of two of them, and the kernel's own averages lag behind.
 *
 *-------------------------------------------------------------------------
 */
#include "host/pressure.h"
#include "host/parse.h"

#include <math.h>
#include <string.h>

#define US_PER_S	1e6

/* The total of the line that begins with "kind", in seconds; NaN when there is none. */
static double
total_of(const char *text, const char *kind)
{
	const char *line;

	for (line = text; line != NULL; line = strchr(line, '\n'))
	{
		const char *at = line + (*line == '\n');
		const char *end = strchr(at, '\n');
		const char *total;
		uint64_t	us;

		line = at;
		if (!nn_parse_prefix(&at, kind) || *at != ' ')
			continue;
		total = strstr(at, " total=");
		if (total == NULL || (end != NULL && total > end))
			continue;
		total += strlen(" total=");
		if (nn_parse_u64(&total, &us))
			return (double) us / US_PER_S;
	}
	return NAN;
}

/* Read one file; false with the reason, and NaN. "full" may be NULL. */
static bool
read_resource(const NnHostRoot *root, const char *resource, double *some_s, double *full_s,
			  NnWhyNot *why)
{
	char		path[NN_PATH_LEN];
	char		buf[1024];

	*some_s = NAN;
	if (full_s != NULL)
		*full_s = NAN;
	if (!nn_path(path, sizeof(path), "%s/pressure/%s", root->proc, resource) ||
		nn_read_file(path, buf, sizeof(buf), why) < 0)
		return false;

	*some_s = total_of(buf, "some");
	if (full_s != NULL)
		*full_s = total_of(buf, "full");
	if (isnan(*some_s))
		nn_why_not(why, "%s has no total", path);
	return !isnan(*some_s);
}

/* Where some of the files can be read, "why" tells about the last one that can't. */
bool
nn_pressure_read(const NnHostRoot *root, NnPressure *pressure, NnWhyNot *why)
{
	bool		cpu;
	bool		memory;
	bool		io;

	io = read_resource(root, "io", &pressure->io_some_s, &pressure->io_full_s, why);
	memory = read_resource(root, "memory", &pressure->memory_some_s, &pressure->memory_full_s, why);
	cpu = read_resource(root, "cpu", &pressure->cpu_some_s, NULL, why);
	return cpu || memory || io;
}
