/*-------------------------------------------------------------------------
 *
 * process.c
 *	  CPU time and scheduling of one process, from /proc/PID.
 *
 *-------------------------------------------------------------------------
 */
#include "host/process.h"
#include "host/parse.h"

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

bool
nn_schedstat_read(const NnHostRoot *root, pid_t pid, NnSchedstat *stat, NnWhyNot *why)
{
	char		path[NN_PATH_LEN];
	char		buf[256];
	const char *at = buf;

	if (!nn_path(path, sizeof(path), "%s/%ld/schedstat", root->proc, (long) pid) ||
		nn_read_file(path, buf, sizeof(buf), why) < 0)
		return false;
	if (!nn_parse_u64(&at, &stat->run_ns) ||
		!nn_parse_u64(&at, &stat->run_delay_ns) ||
		!nn_parse_u64(&at, &stat->slices))
	{
		nn_why_not(why, "%s does not hold three numbers", path);
		return false;
	}

	/*
	 * A process that runs has had a slice: this is how a kernel without the
	 * figures answers.
	 */
	if (stat->run_ns == 0 && stat->run_delay_ns == 0 && stat->slices == 0)
	{
		nn_why_not(why, "%s holds zeros: the process never ran, or the kernel does not count", path);
		return false;
	}
	return true;
}
