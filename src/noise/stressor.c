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
	&nn_stressor_stream,
	&nn_stressor_switch,
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

int
nn_stressor_llc_workers(const NnTopology *host, int multiple)
{
	uint64_t	most = nn_stressor_memory_share(host) / ((uint64_t) multiple * host->llc_bytes);
	int			cpus = nn_stressor_cpus(host);

	if (most < 1)
		return 1;
	return most < (uint64_t) cpus ? (int) most : cpus;
}

uint64_t
nn_stressor_llc_bytes(const NnTopology *host, int multiple)
{
	uint64_t	most = nn_stressor_memory_share(host) / (uint64_t) nn_stressor_llc_workers(host, multiple);
	uint64_t	bytes = (uint64_t) multiple * host->llc_bytes;

	return bytes < most ? bytes : most;
}
