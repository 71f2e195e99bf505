/*-------------------------------------------------------------------------
 *
 * children.c
 *	  The children of one process.
 *
 * The kernel's own list of them (/proc/PID/task/PID/children) depends on how it was built;
 * without it, the parents of all processes are looked at.
 *
 *-------------------------------------------------------------------------
 */
#include "host/children.h"
#include "host/parse.h"

#include <dirent.h>
#include <string.h>

/* Read a process id; false, with "*at" anywhere, when there is none. */
static bool
parse_pid(const char **at, pid_t *pid)
{
	uint64_t	value;

	if (!nn_parse_u64(at, &value) || value == 0 || value > INT32_MAX)
		return false;
	*pid = (pid_t) value;
	return true;
}

/* Parent of a process, from its stat file; -1 when it has none or it can't be read. */
static pid_t
parent_of(const NnHostRoot *root, const char *pid)
{
	char		path[NN_PATH_LEN];
	char		buf[2048];
	const char *at;
	pid_t		parent;

	if (!nn_path(path, sizeof(path), "%s/%s/stat", root->proc, pid) ||
		nn_read_file(path, buf, sizeof(buf), NULL) < 0)
		return -1;

	/* PID (name) S PPID: the name may hold parentheses, the rest does not. */
	at = strrchr(buf, ')');
	if (at == NULL || at[1] != ' ' || at[2] == '\0')
		return -1;
	at += 3;
	return parse_pid(&at, &parent) ? parent : -1;
}

int
nn_process_children_read(const NnHostRoot *root, pid_t parent, pid_t *children, int max,
						 NnWhyNot *why)
{
	char		path[NN_PATH_LEN];
	char		buf[65536];
	DIR		   *dir;
	struct dirent *entry;
	int			n = 0;

	if (nn_path(path, sizeof(path), "%s/%ld/task/%ld/children", root->proc,
				(long) parent, (long) parent) &&
		nn_read_file(path, buf, sizeof(buf), NULL) >= 0)
	{
		const char *at = buf;

		while (n < max && parse_pid(&at, &children[n]))
			n++;
		return n;
	}

	dir = opendir(root->proc);
	if (dir == NULL)
	{
		nn_why_not(why, "%s could not be opened", root->proc);
		return -1;
	}
	while (n < max && (entry = readdir(dir)) != NULL)
	{
		const char *at = entry->d_name;

		if (parse_pid(&at, &children[n]) && *at == '\0' && parent_of(root, entry->d_name) == parent)
			n++;
	}
	closedir(dir);
	return n;
}
