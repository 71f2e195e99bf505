/*-------------------------------------------------------------------------
 *
 * cpu.c
 *	  CPU noise: count primes by trial division.
 *
 * The kernel takes 3, 4, 5, … up to PRIME_LIMIT, tries every divisor from 2
 * to the square root, counts the primes and begins again.  It needs no memory to speak of, so
 * it takes CPU time and nothing else: a neighbour that thrashes no cache and no memory bus.
 *
 * A piece of work is a range of CHUNK numbers: 5 to 25 us on current machines.
 * The sequence is the same for every seed and never changes with the length of a run.
 *
 * The state is a few words on the heap, owned by the load thread.
 *
 *-------------------------------------------------------------------------
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "noise/stressors.h"

#define PRIME_LIMIT		10000
#define CHUNK			256

typedef struct CpuState
{
	uint64_t	next;			/* the next number to be tried */
} CpuState;

static void *
cpu_create(uint64_t bytes, uint64_t seed, char *error)
{
	CpuState   *cpu = malloc(sizeof(CpuState));

	(void) bytes;
	(void) seed;
	if (cpu == NULL)
	{
		snprintf(error, NN_STRESSOR_ERROR_LEN, "could not allocate %zu bytes: %s",
				 sizeof(CpuState), strerror(errno));
		return NULL;
	}
	cpu->next = 3;
	return cpu;
}

static void
cpu_destroy(void *state)
{
	free(state);
}

static bool
is_prime(uint64_t number)
{
	for (uint64_t divisor = 2; divisor * divisor <= number; divisor++)
	{
		if (number % divisor == 0)
			return false;
	}
	return true;
}

/* Try the next CHUNK numbers; returns the primes found. */
static uint64_t
cpu_burn(void *state)
{
	CpuState   *cpu = state;
	uint64_t	primes = 0;

	for (int i = 0; i < CHUNK; i++)
	{
		if (is_prime(cpu->next))
			primes++;
		if (++cpu->next > PRIME_LIMIT)
			cpu->next = 3;
	}
	return primes;
}

const NnStressor nn_stressor_cpu = {
	.name = "cpu",
	.rate_unit = "primes/s",
	.version = 1,
	.kind = NN_DOSE_DUTY,
	.options = NN_STRESSOR_WORKERS,
	.default_workers = nn_stressor_cpus,
	.default_bytes = NULL,
	.create = cpu_create,
	.destroy = cpu_destroy,
	.burn = cpu_burn,
	.hold = NULL
};
