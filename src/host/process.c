/*-------------------------------------------------------------------------
 *
 * process.c
 *	  CPU time and scheduling of one process, from /proc/PID.
 *
 *-------------------------------------------------------------------------
 */
#include "host/process.h"
#include "host/parse.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* Fields of /proc/PID/stat by their number in proc(5); state is the one behind the name. */
enum
{
	FIELD_STATE = 3,
	FIELD_UTIME = 14,
	FIELD_STIME = 15,
	FIELD_CUTIME = 16,
	FIELD_CSTIME = 17,
	FIELD_STARTTIME = 22
};

bool
nn_process_cpu_read(const NnHostRoot *root, pid_t pid, NnProcessCpu *cpu, NnWhyNot *why)
{
	char		path[NN_PATH_LEN];
	char		buf[2048];
	int64_t		fields[FIELD_STARTTIME + 1];
	double		tick_s = 1.0 / (double) sysconf(_SC_CLK_TCK);
	const char *at;
	int			field;

	if (!nn_path(path, sizeof(path), "%s/%ld/stat", root->proc, (long) pid) ||
		nn_read_file(path, buf, sizeof(buf), why) < 0)
		return false;

	/*
	 * The name may itself hold blanks and parentheses: it ends at the last
	 * one.
	 */
	at = strrchr(buf, ')');
	if (at == NULL || at[1] != ' ' || at[2] == '\0')
	{
		nn_why_not(why, "%s has no process name in parentheses", path);
		return false;
	}
	at += 3;					/* behind the letter of the state */
	for (field = FIELD_STATE + 1; field <= FIELD_STARTTIME; field++)
		if (!nn_parse_i64(&at, &fields[field]))
		{
			nn_why_not(why, "%s has no field %d", path, field);
			return false;
		}

	cpu->own_s = tick_s * ((double) fields[FIELD_UTIME] + (double) fields[FIELD_STIME]);
	cpu->children_s = tick_s * ((double) fields[FIELD_CUTIME] + (double) fields[FIELD_CSTIME]);
	cpu->start_ticks = (uint64_t) fields[FIELD_STARTTIME];
	return true;
}

static bool
parse_schedstat(const char *text, NnSchedstat *stat)
{
	return nn_parse_u64(&text, &stat->run_ns) &&
		nn_parse_u64(&text, &stat->run_delay_ns) &&
		nn_parse_u64(&text, &stat->slices);
}

/*
 * A process that runs has had a slice: this is how a kernel without the
 * figures answers.
 */
static bool
is_zero(const NnSchedstat *stat)
{
	return stat->run_ns == 0 && stat->run_delay_ns == 0 && stat->slices == 0;
}

bool
nn_schedstat_read(const NnHostRoot *root, pid_t pid, NnSchedstat *stat, NnWhyNot *why)
{
	char		path[NN_PATH_LEN];
	char		buf[256];

	if (!nn_path(path, sizeof(path), "%s/%ld/schedstat", root->proc, (long) pid) ||
		nn_read_file(path, buf, sizeof(buf), why) < 0)
		return false;
	if (!parse_schedstat(buf, stat))
	{
		nn_why_not(why, "%s does not hold three numbers", path);
		return false;
	}

	if (is_zero(stat))
	{
		nn_why_not(why, "%s holds zeros: the process never ran, or the kernel does not count", path);
		return false;
	}
	return true;
}

int
nn_schedstat_open(const NnHostRoot *root, pid_t pid)
{
	char		path[NN_PATH_LEN];
	int			fd;

	if (!nn_path(path, sizeof(path), "%s/%ld/schedstat", root->proc, (long) pid))
		return -1;
	do
		fd = open(path, O_RDONLY | O_CLOEXEC);
	while (fd < 0 && errno == EINTR);
	return fd;
}

bool
nn_schedstat_reread(int fd, NnSchedstat *stat)
{
	char		buf[256];
	ssize_t		n;

	do
		n = pread(fd, buf, sizeof(buf) - 1, 0);
	while (n < 0 && errno == EINTR);
	if (n <= 0)
		return false;
	buf[n] = '\0';
	return parse_schedstat(buf, stat) && !is_zero(stat);
}

void
nn_schedstat_close(int fd)
{
	if (fd >= 0)
		close(fd);
}

/* The number of the line that begins with "name"; false when there is none. */
static bool
find_number(const char *path, const char *name, uint64_t *value, NnWhyNot *why)
{
	char		line[512];
	NnLines		lines;
	bool		found = false;

	if (!nn_lines_open(&lines, path, why))
		return false;
	while (!found && nn_lines_next(&lines, line, sizeof(line)))
	{
		const char *at = line;

		if (!nn_parse_prefix(&at, name))
			continue;
		at = nn_skip_blanks(at);
		found = *at == ':' && (at++, nn_parse_u64(&at, value));
	}
	nn_lines_close(&lines);
	if (!found)
		nn_why_not(why, "%s has no line \"%s\"", path, name);
	return found;
}

bool
nn_switches_read(const NnHostRoot *root, pid_t pid, NnSwitches *switches, NnWhyNot *why)
{
	char		path[NN_PATH_LEN];

	if (!nn_path(path, sizeof(path), "%s/%ld/status", root->proc, (long) pid) ||
		!find_number(path, "voluntary_ctxt_switches", &switches->voluntary, why) ||
		!find_number(path, "nonvoluntary_ctxt_switches", &switches->involuntary, why))
		return false;
	switches->has_migrations =
		nn_path(path, sizeof(path), "%s/%ld/sched", root->proc, (long) pid) &&
		find_number(path, "se.nr_migrations", &switches->migrations, why);
	return true;
}
