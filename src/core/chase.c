/*-------------------------------------------------------------------------
 *
 * chase.c
 *	  Dependent loads.  See chase.h.
 *
 *-------------------------------------------------------------------------
 */
#include "core/chase.h"

#include <stdlib.h>

#include "core/random.h"

bool
nn_chase_link(NnChaseLine *lines, size_t bytes, uint64_t seed)
{
	uint32_t	n = (uint32_t) (bytes / NN_CHASE_LINE_BYTES);
	uint32_t   *order = malloc(n * sizeof(uint32_t));
	NnRandom	random;

	if (order == NULL)
		return false;
	nn_random_seed(&random, seed, 0);
	nn_random_cycle(&random, order, n);
	for (uint32_t i = 0; i < n; i++)
		lines[i].next = &lines[order[i]];
	free(order);
	return true;
}
