/*-------------------------------------------------------------------------
 *
 * course.c
 *	  The course of a run: which block comes next, what was measured, what counts.  See course.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "core/clock.h"
#include "core/effect.h"
#include "core/guard.h"
#include "noise/stressor.h"
#include "run/course.h"

struct NnCourse
{
	NnShared   *shared;
	NnGuardSlot *plan;			/* n_blocks of the request */
	int			current;		/* slot that is to be measured next; -1: none */
	int			furthest;		/* highest slot measured; -1: none */

	/* one for each block measured; room for all that may be */
	int			n_done;
	NnGuardBlock *done;
	NnGuardVerdict *verdicts;
	int		   *changed;
	int			n_changed;
};

NnCourse *
nn_course_begin(NnShared *shared)
{
	const NnRequest *request = &shared->request;
	int			capacity = request->n_blocks + request->max_repeats;
	NnCourse   *course = palloc0(sizeof(NnCourse));

	course->shared = shared;
	course->plan = palloc0(sizeof(NnGuardSlot) * request->n_blocks);
	for (int i = 0; i < request->n_blocks; i++)
	{
		const NnPlanBlock *block = &nn_shared_plan(shared)[i];

		course->plan[i].clients = block->clients;
		course->plan[i].repeat = block->repeat;
		course->plan[i].level = block->level_pct;
	}
	course->furthest = -1;
	course->done = palloc(sizeof(NnGuardBlock) * capacity);
	course->verdicts = palloc0(sizeof(NnGuardVerdict) * capacity);
	course->changed = palloc(sizeof(int) * capacity);
	return course;
}

/*
 * Has every level of these clients a verdict on tps and on the 99th percentile, at the confidence of the
 * run's looks?  A level under which the workload stalls never gets one: more of it is no help.
 */
static bool
is_decided(NnCourse *course, int clients)
{
	double		confidence = nn_looks_confidence(course->shared->request.n_looks);
	NnBlockValue *blocks = palloc(sizeof(NnBlockValue) * course->n_done);
	NnEffect   *effects = palloc(sizeof(NnEffect) * course->n_done);
	bool		decided = true;

	for (int metric = 0; metric < 2 && decided; metric++)
	{
		int			n = 0;
		int			n_levels;

		for (int i = 0; i < course->n_done; i++)
		{
			const NnBlockSummary *summary = &nn_shared_summaries(course->shared)[i];

			if (course->done[i].clients != clients || course->verdicts[i].reason != NN_GUARD_ACCEPTED)
				continue;
			blocks[n].level = course->done[i].level;
			blocks[n].middle_s = summary->middle_s;
			blocks[n++].value = metric == 0 ? summary->p99_ms : summary->tps;
		}
		n_levels = nn_effects_find(blocks, n, metric == 0, confidence, effects);
		decided = n_levels > 1;
		for (int i = 0; i < n_levels; i++)
			if (effects[i].verdict == NN_VERDICT_INCONCLUSIVE && effects[i].stalled == 0)
				decided = false;
	}
	pfree(blocks);
	pfree(effects);
	return decided;
}

/* Between two rounds of the same clients: leave out the rest when it is a look, and all is decided. */
static void
look(NnCourse *course)
{
	const NnRequest *request = &course->shared->request;
	const NnGuardSlot *last = &course->plan[course->furthest];

	for (int i = 0; i < request->n_looks; i++)
		if (request->looks[i] == last->repeat && is_decided(course, last->clients))
			for (int slot = course->furthest + 1; slot < request->n_blocks; slot++)
				if (course->plan[slot].clients == last->clients)
					course->plan[slot].skipped = true;
}

static int
next_slot(const NnCourse *course)
{
	const NnRequest *request = &course->shared->request;
	int			repeats = course->n_done;

	for (int i = 0; i <= course->furthest; i++)
		if (!course->plan[i].skipped)
			repeats--;
	return nn_guard_next(course->plan, request->n_blocks, course->done, course->verdicts,
						 course->n_done, request->guard ? request->max_repeats - repeats : 0);
}

bool
nn_course_next(NnCourse *course, NnPlanBlock *block)
{
	NnShared   *shared = course->shared;
	int			furthest = course->furthest;

	course->current = next_slot(course);
	if (shared->request.n_looks > 0 && furthest >= 0 && course->current > furthest &&
		course->plan[course->current].repeat != course->plan[furthest].repeat)
	{
		look(course);
		course->current = next_slot(course);
	}
	SpinLockAcquire(&shared->mutex);
	shared->blocks = course->n_done + nn_course_left(course);
	SpinLockRelease(&shared->mutex);
	if (course->current < 0)
		return false;
	*block = nn_shared_plan(shared)[course->current];
	block->block = course->n_done + 1;
	return true;
}

int
nn_course_left(const NnCourse *course)
{
	int			left = course->current >= 0 && course->current <= course->furthest ? 1 : 0;

	for (int i = course->furthest + 1; i < course->shared->request.n_blocks; i++)
		if (!course->plan[i].skipped)
			left++;
	return left;
}

/*
 * Dose of the block that ended last, percent: the mean over the load threads with a CPU
 * dose, or over all where there are none.  NaN without load threads.
 */
static double
achieved_pct(NnShared *shared)
{
	double		sum[2] = {0, 0};
	int			n[2] = {0, 0};

	for (int i = 0; i < shared->request.n_load_threads; i++)
	{
		NnLoadThread *thread = &nn_shared_load_threads(shared)[i];
		NnDoseKind	kind = nn_stressor_find(shared->request.stressors[thread->stressor].name)->kind;

		sum[kind == NN_DOSE_HOLD ? 1 : 0] += thread->achieved_pct;
		n[kind == NN_DOSE_HOLD ? 1 : 0]++;
	}
	return n[0] ? sum[0] / n[0] : n[1] ? sum[1] / n[1] : NAN;
}

static void
summarise(NnShared *shared, const NnPlanBlock *block, NnBlockSummary *summary)
{
	const NnWorkloadResult *workload = &shared->workload;

	memset(summary, 0, sizeof(*summary));
	summary->block = *block;
	summary->achieved_pct = achieved_pct(shared);
	summary->middle_s = (shared->order.measure_ns / 2 + shared->order.end_ns / 2) / 1e9;
	summary->tps = summary->p50_ms = summary->p99_ms = NAN;
	if (shared->request.has_workload)
	{
		summary->tps = workload->latency.count / (workload->window_ns / 1e9);
		summary->p50_ms = nn_histogram_percentile_ns(&workload->latency, 0.5) / NN_NS_PER_MS;
		summary->p99_ms = nn_histogram_percentile_ns(&workload->latency, 0.99) / NN_NS_PER_MS;
		summary->errors = workload->errors.serialization + workload->errors.deadlock +
			workload->errors.connection + workload->errors.other;
	}
}

/*
 * A scheduled checkpoint that finds nothing to do is counted by the server, but not seen.
 */
static NnGuardCheckpoint
checkpoint_kind(NnShared *shared)
{
	const NnServerCounters *counters = &shared->sample.counters;
	bool		seen = counters->in_progress_at_end;

	for (int i = 0; i < shared->sample.n_seconds; i++)
		seen |= nn_shared_host_seconds(shared)[i].checkpoint;
	if (counters->checkpoints_timed < 0 || counters->checkpoints_requested < 0)
		return NN_GUARD_CHECKPOINT_UNKNOWN;
	return !seen ? NN_GUARD_CHECKPOINT_NONE :
		counters->checkpoints_requested > 0 ? NN_GUARD_CHECKPOINT_REQUESTED :
		counters->checkpoints_timed > 0 ? NN_GUARD_CHECKPOINT_TIMED : NN_GUARD_CHECKPOINT_UNDER_WAY;
}

/* Judge all blocks, and note which of the earlier ones count otherwise than before. */
static void
judge(NnCourse *course)
{
	NnShared   *shared = course->shared;
	NnGuardVerdict *before = palloc(sizeof(NnGuardVerdict) * course->n_done);

	memcpy(before, course->verdicts, sizeof(NnGuardVerdict) * course->n_done);
	if (!nn_guard_judge(course->done, course->n_done, course->verdicts))
		ereport(ERROR,
				(errcode(ERRCODE_OUT_OF_MEMORY),
				 errmsg("out of memory")));
	for (int i = 0; i < course->n_done - 1; i++)
		if (before[i].reason != course->verdicts[i].reason)
			course->changed[course->n_changed++] = i + 1;
	pfree(before);

	SpinLockAcquire(&shared->mutex);
	for (int i = 0; i < course->n_changed; i++)
		nn_shared_summaries(shared)[course->changed[i] - 1].verdict = course->verdicts[course->changed[i] - 1];
	nn_shared_summaries(shared)[course->n_done - 1].verdict = course->verdicts[course->n_done - 1];
	shared->judgements++;
	SpinLockRelease(&shared->mutex);
}

void
nn_course_add(NnCourse *course, const NnPlanBlock *block)
{
	NnShared   *shared = course->shared;
	NnBlockSummary *summary = &nn_shared_summaries(shared)[course->n_done];
	NnGuardBlock *done = &course->done[course->n_done];
	const NnHostUsage *usage = &shared->sample.usage;

	summarise(shared, block, summary);
	done->slot = course->current;
	done->clients = block->clients;
	done->level = block->level_pct;
	done->foreign_pct = usage->foreign_pct;
	done->achieved_pct = summary->achieved_pct;
	done->lag_ms = shared->request.rate > 0 ? shared->workload.generator_lag_p99_ms : NAN;
	done->checkpoint = checkpoint_kind(shared);
	course->n_done++;
	course->furthest = Max(course->furthest, course->current);
	course->n_changed = 0;
	if (shared->request.guard)
		judge(course);
}

int
nn_course_changed(const NnCourse *course, const int **blocks)
{
	*blocks = course->changed;
	return course->n_changed;
}
