/*-------------------------------------------------------------------------
 *
 * test_children.c
 *	  Finding the children of a process, with and without the kernel's list.
 *
 *-------------------------------------------------------------------------
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/children.h"
#include "tap.h"

static char folder[] = "/tmp/pg_noisyneighbor_children_XXXXXX";

/* Put a file under the folder; the folders above it are made. */
static void
put(const char *name, const char *text)
{
	char		path[512];
	char	   *slash;
	FILE	   *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	for (slash = path + strlen(folder) + 1; (slash = strchr(slash, '/')) != NULL; slash++)
	{
		*slash = '\0';
		(void) mkdir(path, 0700);
		*slash = '/';
	}
	file = fopen(path, "w");
	if (file == NULL)
		return;
	fputs(text, file);
	fclose(file);
}

static bool
holds(const pid_t *pids, int n, pid_t pid)
{
	int			i;

	for (i = 0; i < n; i++)
		if (pids[i] == pid)
			return true;
	return false;
}

static void
test_recorded(void)
{
	NnHostRoot	root = {.sys = ""};
	NnWhyNot	why = {.reason = ""};
	pid_t		pids[8];
	char		command[600];
	int			n;

	if (mkdtemp(folder) == NULL)
	{
		ok(false, "a temporary folder can be made");
		return;
	}
	snprintf(root.proc, sizeof(root.proc), "%s", folder);
	put("100/task/100/children", "101 102 \n");
	n = nn_process_children_read(&root, 100, pids, 8, &why);
	ok(n == 2 && pids[0] == 101 && pids[1] == 102, "the kernel's list is used where there is one");

	put("200/stat", "200 (postgres) S 1 200 200 0 -1\n");
	put("201/stat", "201 (a name (with) 9 R 7) S 200 200 200 0 -1\n");
	put("202/stat", "202 (postgres) Z 200 200 200 0 -1\n");
	put("203/stat", "203 (postgres) S 2000 200 200 0 -1\n");
	put("204/stat", "204 (cut off");
	put("200x/stat", "1 (no process) S 200 200 200 0 -1\n");
	n = nn_process_children_read(&root, 200, pids, 8, &why);
	ok(n == 2 && holds(pids, n, 201) && holds(pids, n, 202),
	   "without it the parents of all processes are looked at, whatever their names hold");
	n = nn_process_children_read(&root, 200, pids, 1, &why);
	ok(n == 1, "no more are returned than there is room for");
	n = nn_process_children_read(&root, 999, pids, 8, &why);
	ok(n == 0, "a process without children has none");

	snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	if (system(command) != 0)
		tap_note("%s is left", folder);
	n = nn_process_children_read(&root, 200, pids, 8, &why);
	ok(n == -1 && strstr(why.reason, folder) != NULL, "a folder that is not there is a reason that names it");
}

static void
test_live(void)
{
	NnHostRoot	root = {.proc = NN_HOST_PROC,.sys = NN_HOST_SYS};
	pid_t		pids[64];
	pid_t		child;
	int			n;

	if (access(NN_HOST_PROC "/self/stat", R_OK) != 0)
	{
		tap_skip("this system has no process files");
		return;
	}
	child = fork();
	if (child == 0)
	{
		pause();
		_exit(0);
	}
	n = nn_process_children_read(&root, getpid(), pids, 64, NULL);
	ok(child > 0 && holds(pids, n, child), "a child of ours is found");
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	n = nn_process_children_read(&root, getpid(), pids, 64, NULL);
	ok(!holds(pids, n, child), "and is not found when it has ended");
}

int
main(void)
{
	test_recorded();
	test_live();
	return tap_done();
}
