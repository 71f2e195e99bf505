/*-------------------------------------------------------------------------
 *
 * hog.c
 *	  Neighbours of known kinds, and a spinner that keeps account of its time.
 *
 *	hog cpu						spins for ever
 *	hog cache BYTES				walks through so many bytes in random order, for ever
 *	hog fsync FILE				writes 4 MB and syncs them, for ever
 *	hog account SECONDS			spins for so long, then prints: wall, CPU and run-queue time in ns
 *
 * It ends when its parent does.
 *
 *-------------------------------------------------------------------------
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <signal.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/random.h"
#include "host/process.h"

#define LINE_WORDS		8
#define CHUNK_BYTES		(4 << 20)

static volatile uint64_t sink;

static void
spin(void)
{
	for (;;)
		sink = sink * 6364136223846793005u + 1;
}

static void
walk(uint64_t bytes)
{
	uint32_t	n = (uint32_t) (bytes / 64);
	uint32_t   *next = malloc(n * sizeof(uint32_t));
	uint64_t   *lines = calloc(n, 64);
	NnRandom	random;
	uint32_t	at[8];

	if (next == NULL || lines == NULL)
		exit(1);
	nn_random_seed(&random, 1, 0);
	nn_random_cycle(&random, next, n);
	for (uint32_t i = 0; i < n; i++)
		lines[(uint64_t) i * LINE_WORDS] = next[i];
	free(next);
	for (int i = 0; i < 8; i++)
		at[i] = (uint32_t) ((uint64_t) n * (uint64_t) i / 8);
	for (;;)
		for (int i = 0; i < 8; i++)
		{
			lines[(uint64_t) at[i] * LINE_WORDS + 1]++;
			at[i] = (uint32_t) lines[(uint64_t) at[i] * LINE_WORDS];
		}
}

static void
sync_for_ever(const char *path)
{
	char	   *chunk = malloc(CHUNK_BYTES);
	int			fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (fd < 0 || chunk == NULL)
		exit(1);
	unlink(path);
	memset(chunk, 7, CHUNK_BYTES);
	for (;;)
		if (pwrite(fd, chunk, CHUNK_BYTES, 0) != CHUNK_BYTES || fsync(fd) != 0)
			exit(1);
}

/* Clocks and account of one moment: read again when this process was off its CPU in between. */
static void
read_all(int fd, uint64_t *wall_ns, uint64_t *cpu_ns, uint64_t *queue_ns)
{
	NnSchedstat before;
	NnSchedstat after;

	do
	{
		if (!nn_schedstat_reread(fd, &before))
			exit(1);
		*cpu_ns = nn_thread_cpu_ns();
		*wall_ns = nn_now_ns();
		if (!nn_schedstat_reread(fd, &after))
			exit(1);
	} while (before.slices != after.slices);
	*queue_ns = after.run_delay_ns;
}

/* The run-queue delay of a process that runs is exact; its CPU time is that of its own clock. */
static void
account(double seconds)
{
	NnHostRoot	root = {.proc = NN_HOST_PROC, .sys = NN_HOST_SYS};
	uint64_t	wall_ns[2];
	uint64_t	cpu_ns[2];
	uint64_t	queue_ns[2];
	int			fd = nn_schedstat_open(&root, getpid());

	read_all(fd, &wall_ns[0], &cpu_ns[0], &queue_ns[0]);
	while (nn_now_ns() < wall_ns[0] + (uint64_t) (seconds * NN_NS_PER_S))
		sink = sink * 6364136223846793005u + 1;
	read_all(fd, &wall_ns[1], &cpu_ns[1], &queue_ns[1]);
	printf("%llu %llu %llu\n", (unsigned long long) (wall_ns[1] - wall_ns[0]),
		   (unsigned long long) (cpu_ns[1] - cpu_ns[0]), (unsigned long long) (queue_ns[1] - queue_ns[0]));
}

int
main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "";

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (strcmp(kind, "cpu") == 0)
		spin();
	else if (strcmp(kind, "cache") == 0 && argc > 2)
		walk(strtoull(argv[2], NULL, 10));
	else if (strcmp(kind, "fsync") == 0 && argc > 2)
		sync_for_ever(argv[2]);
	else if (strcmp(kind, "account") == 0 && argc > 2)
		account(atof(argv[2]));
	else
		return 2;
	return 0;
}
