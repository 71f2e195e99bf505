/*-------------------------------------------------------------------------
 *
 * space.c
 *	  Room on the file system that a folder lies on.
 *
 *-------------------------------------------------------------------------
 */
#include "host/space.h"

#include <errno.h>
#include <string.h>
#include <sys/statvfs.h>

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
