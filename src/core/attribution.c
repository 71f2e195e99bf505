/*-------------------------------------------------------------------------
 *
 * attribution.c
 *	  Where the time of an operation went.  See attribution.h.
 *
 *-------------------------------------------------------------------------
 */
#include "core/attribution.h"

#include <math.h>

static const char *const component_names[NN_COMPONENTS] = {
	[NN_COMPONENT_CPU] = "cpu",
	[NN_COMPONENT_RUN_QUEUE] = "run_queue",
	[NN_COMPONENT_STEAL] = "steal",
	[NN_COMPONENT_LWLOCK] = "lwlock",
	[NN_COMPONENT_LOCK] = "lock",
	[NN_COMPONENT_IO] = "io",
	[NN_COMPONENT_OTHER_WAITS] = "other_waits",
	[NN_COMPONENT_CLIENT] = "client",
	[NN_COMPONENT_BACKLOG] = "backlog",
	[NN_COMPONENT_UNEXPLAINED] = "unexplained"
};

const char *
nn_component_name(NnComponent component)
{
	return component_names[component];
}

static double
at_least_0(double value)
{
	return value > 0 ? value : 0;
}

/* Time asleep that the samples of wait events account for. */
static double
asleep_with_event(const NnBudgetInput *input, double steal_ms, double all)
{
	double		on_cpu_ms = input->cpu_ms + input->run_queue_ms + steal_ms;
	double		asleep_ms = at_least_0(input->wall_ms - on_cpu_ms);
	double		without_event_ms = input->wall_ms * input->samples[NN_WAIT_CPU] / all;

	return at_least_0(asleep_ms - at_least_0(without_event_ms - on_cpu_ms));
}

bool
nn_budget(const NnBudgetInput *input, double ms[NN_COMPONENTS])
{
	double		steal_ms = isnan(input->steal_ms) ? 0 : at_least_0(input->steal_ms);
	double		all = 0;
	double		events;
	double		scale = 0;
	double		sum = 0;

	if (!isfinite(input->latency_ms) || !isfinite(input->service_ms) || !isfinite(input->wall_ms) ||
		!isfinite(input->cpu_ms) || !isfinite(input->run_queue_ms))
	{
		for (int i = 0; i < NN_COMPONENTS; i++)
			ms[i] = NAN;
		return false;
	}

	for (int i = 0; i < NN_WAIT_CLASSES; i++)
		all += input->samples[i];
	events = all - input->samples[NN_WAIT_CPU];
	if (events > 0)
		scale = asleep_with_event(input, steal_ms, all) / events;

	ms[NN_COMPONENT_CPU] = input->cpu_ms;
	ms[NN_COMPONENT_RUN_QUEUE] = input->run_queue_ms;
	ms[NN_COMPONENT_STEAL] = steal_ms;
	ms[NN_COMPONENT_LWLOCK] = scale * input->samples[NN_WAIT_LWLOCK];
	ms[NN_COMPONENT_LOCK] = scale * input->samples[NN_WAIT_LOCK];
	ms[NN_COMPONENT_IO] = scale * input->samples[NN_WAIT_IO];
	ms[NN_COMPONENT_OTHER_WAITS] = scale * input->samples[NN_WAIT_OTHER];
	ms[NN_COMPONENT_CLIENT] = at_least_0(scale * input->samples[NN_WAIT_CLIENT] -
										 at_least_0(input->wall_ms - input->service_ms));
	ms[NN_COMPONENT_BACKLOG] = input->latency_ms - input->service_ms;
	for (int i = 0; i < NN_COMPONENT_UNEXPLAINED; i++)
		sum += ms[i];
	ms[NN_COMPONENT_UNEXPLAINED] = input->latency_ms - sum;
	return true;
}
