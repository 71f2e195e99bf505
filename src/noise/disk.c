/*-------------------------------------------------------------------------
 *
 * disk.c
 *	  Disk noise: write blocks to random places of a file, and wait for each to be on the disk.
 *
 * The file is written once, before the first block, so that its space is taken then and not while
 * the load is on: a disk that fills up meanwhile takes nothing from it, and it takes nothing more.  It
 * lies in the server's own folder for temporary files, that is on the file system
 * of the data directory, and has no name: it is unlinked as soon as it is open, so that it is gone
 * when the process is, however that ends.  (Should the host stop between the two steps, the name is one
 * that the server removes when it starts, and that no base backup copies.)
 *
 * A piece of work is one block: a write and an fdatasync().  The thread spends nearly all of it off
 * the CPU, waiting for the disk; so the dose is the time at work, not CPU time.
 *
 * A write that fails is no work done.  The thread then rests a while instead of failing quickly again and
 * again, and the dose that is missing shows as not delivered.
 *
 * File and buffer belong to the load thread.
 *
 *-------------------------------------------------------------------------
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/random.h"
#include "host/space.h"
#include "noise/stressors.h"

#define DEFAULT_BYTES	(UINT64_C(64) << 20)
#define BLOCK_BYTES		UINT64_C(65536)
#define REST_NS			10000000

typedef struct DiskState
{
	int			fd;
	uint64_t	blocks;			/* of the file */
	uint64_t	writes;
	NnRandom	random;
	unsigned char buffer[BLOCK_BYTES];
} DiskState;

static int
disk_default_workers(const NnTopology *host)
{
	(void) host;
	return 1;
}

static uint64_t
disk_default_bytes(const NnTopology *host)
{
	(void) host;
	return DEFAULT_BYTES;
}

/* Write one block; false with errno. */
static bool
write_block(DiskState *disk, uint64_t block)
{
	return nn_transfer(disk->fd, false, disk->buffer, BLOCK_BYTES, block * BLOCK_BYTES);
}

/* Take the space; false with errno. */
static bool
fill_file(DiskState *disk)
{
	for (uint64_t block = 0; block < disk->blocks; block++)
	{
		if (!write_block(disk, block))
			return false;
	}
	return fsync(disk->fd) == 0;
}

static void *
disk_create(uint64_t bytes, uint64_t seed, char *error)
{
	DiskState  *disk = malloc(sizeof(DiskState));

	if (disk == NULL)
	{
		snprintf(error, NN_STRESSOR_ERROR_LEN, "could not allocate %zu bytes: %s",
				 sizeof(DiskState), strerror(errno));
		return NULL;
	}
	disk->blocks = (bytes + BLOCK_BYTES - 1) / BLOCK_BYTES;
	disk->writes = 0;
	nn_random_seed(&disk->random, seed, 0);

	/* Random bytes: some file systems and disks compress. */
	nn_random_fill(&disk->random, disk->buffer, BLOCK_BYTES);
	disk->fd = nn_nameless_file(NN_STRESSOR_FOLDER, 0);
	if (disk->fd < 0)
		snprintf(error, NN_STRESSOR_ERROR_LEN, "could not create a file in \"%s\": %s",
				 NN_STRESSOR_FOLDER, strerror(errno));
	else if (!fill_file(disk))
	{
		snprintf(error, NN_STRESSOR_ERROR_LEN, "could not write %llu bytes to a file in \"%s\": %s",
				 (unsigned long long) (disk->blocks * BLOCK_BYTES), NN_STRESSOR_FOLDER, strerror(errno));
		(void) close(disk->fd);
	}
	else
		return disk;
	free(disk);
	return NULL;
}

static void
disk_destroy(void *state)
{
	DiskState  *disk = state;

	(void) close(disk->fd);
	free(disk);
}

static void
rest(void)
{
	struct timespec time = {0, REST_NS};

	(void) nanosleep(&time, NULL);
}

/* Write a block somewhere; returns the bytes that are on the disk, 0 when that failed. */
static uint64_t
disk_burn(void *state)
{
	DiskState  *disk = state;
	uint64_t	block = (uint64_t) nn_random_range(&disk->random, 0, (int64_t) disk->blocks - 1);

	/*
	 * Never the same content: what is equal may be merged, or not be written
	 * at all.
	 */
	disk->writes++;
	memcpy(disk->buffer, &disk->writes, sizeof(disk->writes));
	if (write_block(disk, block) && fdatasync(disk->fd) == 0)
		return BLOCK_BYTES;
	rest();
	return 0;
}

const NnStressor nn_stressor_disk = {
	.name = "disk",
	.rate_unit = "bytes/s",
	.version = 1,
	.kind = NN_DOSE_BUSY,
	.options = NN_STRESSOR_WORKERS | NN_STRESSOR_BYTES,
	.on_disk = true,
	.default_workers = disk_default_workers,
	.default_bytes = disk_default_bytes,
	.create = disk_create,
	.destroy = disk_destroy,
	.burn = disk_burn,
	.hold = NULL
};
