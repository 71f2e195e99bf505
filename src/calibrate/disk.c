/*-------------------------------------------------------------------------
 *
 * disk.c
 *	  Probe of the file system of the data directory.
 *
 *	 random		requests of 4 KiB at random places of a file: reads, writes, and disk_read_pct of reads
 *	 sequential	requests of 1 MiB, one after the other
 *	 fsync		a block of 4 KiB written and made durable
 *
 * Each thread has one request on its way at any time, so as many threads are as many requests in flight; how
 * many there really were, by Little's law, is a figure of its own: a host that schedules the
 * threads badly has fewer.
 *
 * Requests go past the page cache (O_DIRECT) where the file system does that, which is tried by writing an
 * aligned block, for some refuse it only then.  Elsewhere every figure says "buffered": it is one of the page cache,
 * and not valid where the file fits into memory.
 *
 * The file has no name, as that of disk noise: it is gone with the process, however that ends.  It is written in
 * full before anything is measured, and not written at all where a tenth of the file system would not stay free.
 *
 *-------------------------------------------------------------------------
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE				/* O_DIRECT */
#endif

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "calibrate/probe.h"
#include "core/histogram.h"
#include "core/random.h"
#include "host/space.h"
#include "noise/stressor.h"

#define MIB				1048576.0
#define SMALL_BYTES		UINT64_C(4096)
#define LARGE_BYTES		(UINT64_C(1) << 20)
#define ALIGNMENT		4096

#ifndef O_DIRECT
#define O_DIRECT		0
#endif

enum
{
	DISK_RANDOM,
	DISK_SEQUENTIAL,
	DISK_FSYNC
};

/* Figures of a trial of random requests. */
enum
{
	FIGURE_RATE,
	FIGURE_P50,
	FIGURE_P99,
	FIGURE_IN_FLIGHT
};

/* What all trials share. */
typedef struct File
{
	int			fd;
	bool		direct;
	bool		fits_memory;
	uint64_t	bytes;			/* a multiple of LARGE_BYTES */
} File;

typedef struct Requester
{
	const File *file;
	int			kind;
	double		read_pct;
	uint64_t	request_bytes;
	unsigned char *buffer;
	uint64_t	next;			/* place of a sequential request */
	NnRandom	random;
	NnHistogram latency;		/* of the window */
	double		busy_ns;		/* sum of the latencies */
} Requester;

/* Rate, latency and depth of one kind of random request. */
static void
add_random(NnTrial *trials, int *n, int depth, const char *name, double read_pct)
{
	char		variant[48];
	NnTrial    *trial = nn_trial_add(trials, n, depth, name, "requests/s", NN_COMBINE_SUM);

	snprintf(variant, sizeof(variant), "%s, p50", name);
	nn_figure_add(trial, variant, "us", NN_COMBINE_MEAN);
	snprintf(variant, sizeof(variant), "%s, p99", name);
	nn_figure_add(trial, variant, "us", NN_COMBINE_MEAN);
	snprintf(variant, sizeof(variant), "%s, in flight", name);
	nn_figure_add(trial, variant, "requests", NN_COMBINE_SUM);
	trial->kind = DISK_RANDOM;
	trial->argument = read_pct;
}

static int
disk_plan(const NnProbeOptions *options, const NnTopology *host, NnTrial *trials, char *error)
{
	char		mixed[48];
	NnTrial    *trial;
	int			n = 0;

	(void) host;
	(void) error;
	snprintf(mixed, sizeof(mixed), "random 4 KiB, %g %% reads", options->disk_read_pct);
	for (int i = 0; i < options->n_depths; i++)
	{
		add_random(trials, &n, options->depths[i], "random read 4 KiB", 100);
		add_random(trials, &n, options->depths[i], "random write 4 KiB", 0);
		if (options->disk_read_pct > 0 && options->disk_read_pct < 100)
			add_random(trials, &n, options->depths[i], mixed, options->disk_read_pct);
	}
	trial = nn_trial_add(trials, &n, 1, "sequential read 1 MiB", "MiB/s", NN_COMBINE_SUM);
	trial->kind = DISK_SEQUENTIAL;
	trial->argument = 100;
	trial = nn_trial_add(trials, &n, 1, "sequential write 1 MiB", "MiB/s", NN_COMBINE_SUM);
	trial->kind = DISK_SEQUENTIAL;
	trial = nn_trial_add(trials, &n, 1, "fsync", "fsyncs/s", NN_COMBINE_SUM);
	nn_figure_add(trial, "fsync, p50", "us", NN_COMBINE_MEAN);
	nn_figure_add(trial, "fsync, p99", "us", NN_COMBINE_MEAN);
	trial->kind = DISK_FSYNC;
	return n;
}

/* Random bytes: some file systems and disks compress. */
static unsigned char *
make_buffer(uint64_t bytes, uint64_t seed)
{
	void	   *buffer = NULL;
	NnRandom	random;

	if (posix_memalign(&buffer, ALIGNMENT, bytes) != 0)
		return NULL;
	nn_random_seed(&random, seed, 0);
	nn_random_fill(&random, buffer, bytes);
	return buffer;
}

/* Open the file, past the page cache if that works; false with errno. */
static bool
open_file(File *file, unsigned char *buffer)
{
	file->fd = nn_nameless_file(NN_STRESSOR_FOLDER, O_DIRECT);
	file->direct = O_DIRECT != 0 && file->fd >= 0 && nn_transfer(file->fd, false, buffer, SMALL_BYTES, 0);
	if (!file->direct)
	{
		if (file->fd >= 0)
			(void) close(file->fd);
		file->fd = nn_nameless_file(NN_STRESSOR_FOLDER, 0);
	}
	return file->fd >= 0;
}

/* Take the space; false with errno, which is ECANCELED when nobody waits for it any more. */
static bool
fill_file(const File *file, unsigned char *buffer, const atomic_bool *stop)
{
	for (uint64_t at = 0; at < file->bytes; at += LARGE_BYTES)
	{
		if (atomic_load(stop))
		{
			errno = ECANCELED;
			return false;
		}
		if (!nn_transfer(file->fd, false, buffer, LARGE_BYTES, at))
			return false;
	}
	return fsync(file->fd) == 0;
}

/* Would enough of the file system stay free? */
static bool
check_space(uint64_t bytes, char *error)
{
	NnSpace		space;
	NnWhyNot	why = {""};

	if (!nn_space_read(".", &space, &why))
	{
		snprintf(error, NN_PROBE_ERROR_LEN, "%s", why.reason);
		return false;
	}
	if (bytes <= nn_space_room_bytes(&space))
		return true;
	snprintf(error, NN_PROBE_ERROR_LEN,
			 "a file of %llu MB would leave less than a tenth of the file system free (%llu of %llu MB are)",
			 (unsigned long long) (bytes >> 20), (unsigned long long) (space.free_bytes >> 20),
			 (unsigned long long) (space.total_bytes >> 20));
	return false;
}

static void *
disk_open(const NnProbeOptions *options, const atomic_bool *stop, char *error)
{
	File	   *file = calloc(1, sizeof(File));
	unsigned char *buffer = make_buffer(LARGE_BYTES, options->seed);
	long		pages = sysconf(_SC_PHYS_PAGES);
	long		page_bytes = sysconf(_SC_PAGESIZE);

	if (file == NULL || buffer == NULL)
		snprintf(error, NN_PROBE_ERROR_LEN, "out of memory");
	else if (check_space(options->disk_bytes, error))
	{
		file->bytes = options->disk_bytes / LARGE_BYTES * LARGE_BYTES;
		file->fits_memory = pages <= 0 || page_bytes <= 0 || file->bytes < (uint64_t) pages * (uint64_t) page_bytes;
		if (!open_file(file, buffer))
			snprintf(error, NN_PROBE_ERROR_LEN, "could not create a file in \"%s\" (error %d)", NN_STRESSOR_FOLDER, errno);
		else if (!fill_file(file, buffer, stop))
		{
			snprintf(error, NN_PROBE_ERROR_LEN, "could not write %llu bytes to a file in \"%s\" (error %d)",
					 (unsigned long long) file->bytes, NN_STRESSOR_FOLDER, errno);
			(void) close(file->fd);
		}
		else
		{
			free(buffer);
			return file;
		}
	}
	free(buffer);
	free(file);
	return NULL;
}

static void
disk_close(void *common)
{
	File	   *file = common;

	(void) close(file->fd);
	free(file);
}

static void *
disk_create(const NnProbeOptions *options, const NnTrial *trial, int thread, void *common, char *error)
{
	Requester  *requester = calloc(1, sizeof(Requester));

	if (requester)
	{
		requester->file = common;
		requester->kind = trial->kind;
		requester->read_pct = trial->argument;
		requester->request_bytes = trial->kind == DISK_SEQUENTIAL ? LARGE_BYTES : SMALL_BYTES;
		requester->buffer = make_buffer(requester->request_bytes, options->seed + 1 + (uint64_t) thread);
		nn_random_seed(&requester->random, options->seed, 1 + (uint64_t) thread);
	}
	if (requester == NULL || requester->buffer == NULL)
	{
		free(requester);
		snprintf(error, NN_PROBE_ERROR_LEN, "out of memory");
		return NULL;
	}
	return requester;
}

static void
disk_destroy(void *state)
{
	Requester  *requester = state;

	free(requester->buffer);
	free(requester);
}

/* Where the next request goes. */
static uint64_t
next_place(Requester *requester)
{
	uint64_t	places = requester->file->bytes / requester->request_bytes;

	if (requester->kind == DISK_SEQUENTIAL)
		return requester->next++ % places * requester->request_bytes;
	return (uint64_t) nn_random_range(&requester->random, 0, (int64_t) places - 1) * requester->request_bytes;
}

static void
disk_measure(void *state, const NnWindow *window, double *values)
{
	Requester  *requester = state;
	uint64_t	requests = 0;
	uint64_t	ended_ns = window->start_ns;

	nn_histogram_reset(&requester->latency);
	requester->busy_ns = 0;
	values[FIGURE_RATE] = NAN;
	do
	{
		bool		reading = nn_random_double(&requester->random) * 100 < requester->read_pct;
		uint64_t	place = next_place(requester);
		uint64_t	begun_ns = nn_now_ns();

		/* Never the same content: what is equal may not be written at all. */
		memcpy(requester->buffer, &begun_ns, sizeof(begun_ns));
		if (!nn_transfer(requester->file->fd, reading, requester->buffer, requester->request_bytes, place) ||
			(requester->kind == DISK_FSYNC && fdatasync(requester->file->fd) != 0))
			return;
		ended_ns = nn_now_ns();
		nn_histogram_record(&requester->latency, ended_ns - begun_ns);
		requester->busy_ns += (double) (ended_ns - begun_ns);
		requests++;
	} while (!nn_window_over(window));
	values[FIGURE_RATE] = nn_window_rate(window, (double) requests, ended_ns);
	if (requester->kind == DISK_SEQUENTIAL)
		values[FIGURE_RATE] *= LARGE_BYTES / MIB;
}

static void
disk_combine(void **states, int threads, const NnWindow *window, NnTrial *trial, double *values)
{
	const File *file = ((Requester *) states[0])->file;
	NnHistogram *all = calloc(1, sizeof(NnHistogram));
	double		busy_ns = 0;

	snprintf(trial->note, sizeof(trial->note), "%s, file of %llu MB", file->direct ? "O_DIRECT" : "buffered",
			 (unsigned long long) (file->bytes >> 20));
	trial->invalid = !file->direct && file->fits_memory;
	if (trial->invalid)
		strncat(trial->note, ", which fits into memory", sizeof(trial->note) - strlen(trial->note) - 1);
	if (all == NULL || trial->n_figures == 1)
	{
		free(all);
		return;
	}
	nn_histogram_reset(all);
	for (int i = 0; i < threads; i++)
	{
		Requester  *requester = states[i];

		nn_histogram_merge(all, &requester->latency);
		busy_ns += requester->busy_ns;
	}
	values[FIGURE_P50] = nn_histogram_percentile_ns(all, 0.5) / (double) NN_NS_PER_US;
	values[FIGURE_P99] = nn_histogram_percentile_ns(all, 0.99) / (double) NN_NS_PER_US;
	if (trial->kind == DISK_RANDOM)
		values[FIGURE_IN_FLIGHT] = busy_ns / (double) (window->end_ns - window->start_ns);
	free(all);
}

const NnProbe nn_probe_disk = {
	.name = "disk",
	.version = 1,
	.plan = disk_plan,
	.open = disk_open,
	.close = disk_close,
	.create = disk_create,
	.destroy = disk_destroy,
	.measure = disk_measure,
	.combine = disk_combine
};
