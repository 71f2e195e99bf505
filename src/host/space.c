/*-------------------------------------------------------------------------
 *
 * space.c
 *	  Room on the file system that a folder lies on, and files that leave nothing behind.
 *
 *-------------------------------------------------------------------------
 */
#include "host/space.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

bool
nn_space_read(const char *folder, NnSpace *space, NnWhyNot *why)
{
	struct statvfs fs;

	if (statvfs(folder, &fs) != 0)
	{
		nn_why_not(why, "could not look at the file system of \"%s\": %s", folder, strerror(errno));
		return false;
	}
	space->total_bytes = (uint64_t) fs.f_blocks * fs.f_frsize;
	space->free_bytes = (uint64_t) fs.f_bavail * fs.f_frsize;
	return true;
}

uint64_t
nn_space_room_bytes(const NnSpace *space)
{
	uint64_t	kept = space->total_bytes / 100 * NN_SPACE_KEPT_PERCENT;

	return space->free_bytes > kept ? space->free_bytes - kept : 0;
}

bool
nn_transfer(int fd, bool reading, void *buffer, size_t bytes, uint64_t at)
{
	ssize_t		done;

	do
	{
		errno = 0;
		done = reading ? pread(fd, buffer, bytes, (off_t) at) : pwrite(fd, buffer, bytes, (off_t) at);
	} while (done < 0 && errno == EINTR);
	if (done == (ssize_t) bytes)
		return true;
	if (errno == 0)
		errno = reading ? EIO : ENOSPC; /* a short one */
	return false;
}

int
nn_nameless_file(const char *folder, int flags)
{
	static atomic_uint serial;
	char		name[128];
	int			fd;

	if (mkdir(folder, S_IRWXU) != 0 && errno != EEXIST)
		return -1;
	snprintf(name, sizeof(name), "%s/pgsql_tmp_noisy_%ld_%u", folder, (long) getpid(), atomic_fetch_add(&serial, 1));
	fd = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | flags, S_IRUSR | S_IWUSR);
	if (fd < 0)
	{
		int			save_errno = errno;

		/* some make the file and refuse the flag */
		if (save_errno != EEXIST)
			(void) unlink(name);
		errno = save_errno;
		return -1;
	}
	if (unlink(name) != 0)
	{
		int			save_errno = errno;

		(void) close(fd);
		errno = save_errno;
		return -1;
	}
	return fd;
}
