/*-------------------------------------------------------------------------
 *
 * space.h
 *	  Room on the file system that a folder lies on.
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

#endif							/* NN_HOST_SPACE_H */
