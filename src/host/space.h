/*-------------------------------------------------------------------------
 *
 * space.h
 *	  Room on the file system that a folder lies on, and files that leave nothing behind.
 *
 *-------------------------------------------------------------------------
 */
#ifndef NN_HOST_SPACE_H
#define NN_HOST_SPACE_H

#include "host/host.h"

typedef struct NnSpace
{
	uint64_t	total_bytes;
	uint64_t	free_bytes;		/* that an unprivileged process may take */
} NnSpace;

/* False with the reason when the system does not say. */
extern bool nn_space_read(const char *folder, NnSpace *space, NnWhyNot *why);

/* Of each file system this part is left free, percent. */
#define NN_SPACE_KEPT_PERCENT	10

/* What may be taken, bytes: what is free, less what is left so. */
extern uint64_t nn_space_room_bytes(const NnSpace *space);

/*
 * Read or write all of a piece of a file; false with errno, EIO or ENOSPC where only a part could be.
 */
extern bool nn_transfer(int fd, bool reading, void *buffer, size_t bytes, uint64_t at);

/*
 * An empty file without a name in a folder, which is made where it is missing; -1 with errno.  flags go to open(). The
 * file is gone when the process is; should the host stop before its name is, the name is one that the
 * server removes when it starts.
 */
extern int	nn_nameless_file(const char *folder, int flags);

#endif							/* NN_HOST_SPACE_H */
