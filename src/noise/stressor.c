/*-------------------------------------------------------------------------
 *
 * stressor.c
 *	  The list of stressors, and the defaults that they share.
 *
 *-------------------------------------------------------------------------
 */
#include "noise/stressor.h"

#include <math.h>
#include <string.h>

#include "noise/stressors.h"

const NnStressor *const nn_stressors[] = {
	&nn_stressor_cpu,
	&nn_stressor_cache,
	&nn_stressor_disk,
	&nn_stressor_memory,
	NULL
};

const NnStressor *
nn_stressor_find(const char *name)
{
	for (int i = 0; nn_stressors[i] != NULL; i++)
	{
		if (strcmp(nn_stressors[i]->name, name) == 0)
			return nn_stressors[i];
	}
	return NULL;
}

int
nn_stressor_cpus(const NnTopology *host)
{
	double		cpus = host->usable_cpus;

	if (!(cpus >= 1))			/* NaN, too */
		return 1;
	return (int) floor(cpus + 0.5);
}

uint64_t
nn_stressor_memory_share(const NnTopology *host)
{
	if (host->mem_available_bytes == 0 && isnan(host->limits.memory_limit_bytes))
		return UINT64_MAX;
	return nn_memory_room_bytes(host) / 8;
}
