/*-------------------------------------------------------------------------
 *
 * probe.c
 *	  The list of probes, and what their plans have in common.
 *
 *-------------------------------------------------------------------------
 */
#include <stdio.h>
#include <string.h>

#include "calibrate/probe.h"

const NnProbe *const nn_probes[] = {
	&nn_probe_cpu,
	&nn_probe_memory,
	&nn_probe_cache,
	&nn_probe_jitter,
	&nn_probe_hold,
	&nn_probe_disk,
	&nn_probe_postgres,
	NULL
};

const NnProbe *
nn_probe_find(const char *name)
{
	for (int i = 0; nn_probes[i]; i++)
		if (strcmp(nn_probes[i]->name, name) == 0)
			return nn_probes[i];
	return NULL;
}

void
nn_figure_add(NnTrial *trial, const char *variant, const char *unit, NnCombine combine)
{
	NnFigure   *figure;

	if (trial->n_figures >= NN_MAX_FIGURES)
		return;
	figure = &trial->figures[trial->n_figures++];
	snprintf(figure->variant, sizeof(figure->variant), "%s", variant);
	figure->unit = unit;
	figure->combine = combine;
}

NnTrial *
nn_trial_add(NnTrial *trials, int *n, int threads, const char *variant, const char *unit, NnCombine combine)
{
	NnTrial    *trial = &trials[*n < NN_MAX_TRIALS ? (*n)++ : NN_MAX_TRIALS - 1];

	memset(trial, 0, sizeof(*trial));
	trial->threads = threads;
	nn_figure_add(trial, variant, unit, combine);
	return trial;
}
