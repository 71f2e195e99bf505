/*-------------------------------------------------------------------------
 *
 * test_disk.c
 *	  Disk noise writes what it says, to a file that nobody finds.
 *
 * Links: src/noise/stressor.c src/noise/stream.c src/noise/switch.c src/noise/cpu.c src/noise/cache.c src/noise/memory.c
 *
 *-------------------------------------------------------------------------
 */
#include "noise/disk.c"

#include <dirent.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "tap.h"

#define BYTES	(UINT64_C(16) * BLOCK_BYTES)

/* Names in the folder, but for its own two. */
static int
count_files(void)
{
	DIR		   *folder = opendir(NN_STRESSOR_FOLDER);
	int			n = -2;

	if (folder == NULL)
		return -1;
	while (readdir(folder) != NULL)
		n++;
	closedir(folder);
	return n;
}

static void
limit_files(rlim_t bytes)
{
	struct rlimit limit;

	getrlimit(RLIMIT_FSIZE, &limit);
	limit.rlim_cur = bytes;
	setrlimit(RLIMIT_FSIZE, &limit);
}

static void
test_writes(void)
{
	char		error[NN_STRESSOR_ERROR_LEN] = "";
	DiskState  *disk = disk_create(BYTES, 1, error);
	struct stat before;
	struct stat after;
	bool		all = true;

	ok(disk != NULL, "a file can be had: %s", error);
	if (disk == NULL)
		return;
	ok(fstat(disk->fd, &before) == 0 && before.st_size == (off_t) BYTES &&
	   (uint64_t) before.st_blocks * 512 >= BYTES, "its space is taken before the load begins");
	ok(count_files() == 0 && before.st_nlink == 0, "it has no name");
	for (int i = 0; i < 200; i++)
		all = all && disk_burn(disk) == BLOCK_BYTES;
	ok(all && fstat(disk->fd, &after) == 0 && after.st_size == before.st_size, "writing makes it no larger");

	limit_files(0);
	ok(disk_burn(disk) == 0, "a write that fails counts nothing");
	limit_files(RLIM_INFINITY);
	ok(disk_burn(disk) == BLOCK_BYTES, "and the next one is tried again");
	disk_destroy(disk);
}

static void
test_refused(void)
{
	char		error[NN_STRESSOR_ERROR_LEN] = "";

	limit_files(BLOCK_BYTES);
	ok(disk_create(BYTES, 1, error) == NULL && strstr(error, "could not write 1048576 bytes") != NULL &&
	   strstr(error, "File too large") != NULL, "no space: %s", error);
	limit_files(RLIM_INFINITY);
	ok(count_files() == 0, "and nothing is left");
}

int
main(void)
{
	char		folder[] = "/tmp/noisy_disk_XXXXXX";
	char		error[NN_STRESSOR_ERROR_LEN] = "";

	signal(SIGXFSZ, SIG_IGN);
	if (mkdtemp(folder) == NULL || chdir(folder) != 0)
		return 1;
	ok(disk_create(BYTES, 1, error) == NULL && error[0] != '\0', "not in a data directory: %s", error);
	if (mkdir("base", S_IRWXU) != 0)
		return 1;
	test_writes();
	test_refused();
	return rmdir(NN_STRESSOR_FOLDER) == 0 && rmdir("base") == 0 && rmdir(folder) == 0 ? tap_done() : 1;
}
