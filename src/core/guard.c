/*-------------------------------------------------------------------------
 *
 * guard.c
 *	  The block guard: which blocks of a run count, and which one comes next.  See guard.h.
 *
 * Scratch memory is malloc'd and freed within a call.
 *
 *-------------------------------------------------------------------------
 */
#include "core/guard.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/statistics.h"

/* What the blocks of a level have in common. */
typedef struct LevelMedians
{
	double		achieved_pct;	/* NaN: too few blocks tell */
	double		lag_ms;
} LevelMedians;

/* The lower median; NaN below so many values. Sorts x. */
static double
median_of(double *x, int n, int least)
{
	if (n < least)
		return NAN;
	qsort(x, (size_t) n, sizeof(double), nn_compare_doubles);
	return x[(n - 1) / 2];
}

static bool
same_level(const NnGuardBlock *a, const NnGuardBlock *b)
{
	return a->clients == b->clients && a->level == b->level;
}

/* "x" is scratch memory for n values, as below. */
static double
foreign_median(const NnGuardBlock *blocks, int n, double *x)
{
	int			count = 0;
	int			i;

	for (i = 0; i < n; i++)
		if (!isnan(blocks[i].foreign_pct))
			x[count++] = blocks[i].foreign_pct;
	return median_of(x, count, NN_GUARD_MIN_BLOCKS);
}

static LevelMedians
level_medians(const NnGuardBlock *blocks, int n, const NnGuardBlock *like, double *x)
{
	LevelMedians medians;
	int			count = 0;
	int			i;

	for (i = 0; i < n; i++)
		if (same_level(&blocks[i], like) && !isnan(blocks[i].achieved_pct))
			x[count++] = blocks[i].achieved_pct;
	medians.achieved_pct = median_of(x, count, NN_GUARD_MIN_OF_LEVEL);
	count = 0;
	for (i = 0; i < n; i++)
		if (same_level(&blocks[i], like) && !isnan(blocks[i].lag_ms))
			x[count++] = blocks[i].lag_ms;
	medians.lag_ms = median_of(x, count, NN_GUARD_MIN_OF_LEVEL);
	return medians;
}

static void
reject(NnGuardVerdict *verdict, NnGuardReason reason, double value, double limit, double expected)
{
	verdict->reason = reason;
	verdict->value = value;
	verdict->limit = limit;
	verdict->expected = expected;
}

/* Comparisons with NaN are false: what was not measured, and what there is nothing to compare with. */
static void
judge_by_itself(const NnGuardBlock *block, double foreign, const LevelMedians *level, NnGuardVerdict *verdict)
{
	double		foreign_limit = fmax(NN_GUARD_FOREIGN_PCT, NN_GUARD_FOREIGN_MEDIANS * foreign);
	double		lag_limit = fmax(NN_GUARD_LAG_MS, NN_GUARD_LAG_MEDIANS * level->lag_ms);
	double		expected = block->level;
	double		tolerance = NN_GUARD_DOSE_PP;

	memset(verdict, 0, sizeof(*verdict));
	if (fabs(level->achieved_pct - block->level) > NN_GUARD_DOSE_PP)
	{
		expected = level->achieved_pct; /* more is not to be had here */
		tolerance = fmax(tolerance, NN_GUARD_DOSE_SHARE * expected);
	}
	if (!isnan(foreign) && block->foreign_pct > foreign_limit)
		reject(verdict, NN_GUARD_FOREIGN, block->foreign_pct, foreign_limit, NAN);
	else if (!isnan(level->achieved_pct) && fabs(block->achieved_pct - expected) > tolerance)
		reject(verdict, NN_GUARD_DOSE, block->achieved_pct, tolerance, expected);
	else if (!isnan(level->lag_ms) && block->lag_ms > lag_limit)
		reject(verdict, NN_GUARD_GENERATOR, block->lag_ms, lag_limit, NAN);
}

/*
 * The accepted baseline next to block i in the direction of "step", the nearest of its group.
 * -1: there is none; -2: nor was there a baseline yet, because the block's round is
 * being measured.
 */
static int
find_baseline(const NnGuardBlock *blocks, const NnGuardVerdict *verdicts, int n, int i, int step)
{
	int			clients = blocks[i].clients;

	do
		i += step;
	while (i >= 0 && i < n && blocks[i].clients == clients && blocks[i].level > 0);
	if (i >= n)
		return -2;
	for (; i >= 0 && i < n && blocks[i].clients == clients && blocks[i].level == 0; i += step)
		if (verdicts[i].reason == NN_GUARD_ACCEPTED)
			return i;
	return -1;
}

/* A dose with the baselines around it. These have been judged. */
static void
judge_pair(const NnGuardBlock *blocks, int n, int i, NnGuardVerdict *verdicts)
{
	int			side;

	for (side = 0; side < 2; side++)
	{
		int			base = find_baseline(blocks, verdicts, n, i, side == 0 ? -1 : 1);
		NnGuardVerdict *verdict = &verdicts[i];

		if (base == -2)
			continue;
		verdict->after = side == 1;
		if (base == -1)
			verdict->reason = NN_GUARD_BRACKET;
		else if (blocks[i].checkpoint != blocks[base].checkpoint &&
				 blocks[i].checkpoint != NN_GUARD_CHECKPOINT_UNKNOWN &&
				 blocks[base].checkpoint != NN_GUARD_CHECKPOINT_UNKNOWN)
		{
			verdict->reason = NN_GUARD_CHECKPOINT;
			verdict->checkpoint = blocks[i].checkpoint;
			verdict->baseline = blocks[base].checkpoint;
		}
		if (verdict->reason != NN_GUARD_ACCEPTED)
			return;
	}
}

bool
nn_guard_judge(const NnGuardBlock *blocks, int n, NnGuardVerdict *verdicts)
{
	double	   *x;
	bool	   *judged;
	double		foreign;
	int			i;
	int			k;

	if (n <= 0)
		return true;
	x = malloc((sizeof(double) + sizeof(bool)) * (size_t) n);
	if (x == NULL)
		return false;
	judged = (bool *) (x + n);
	memset(judged, 0, sizeof(bool) * (size_t) n);

	foreign = foreign_median(blocks, n, x);
	for (i = 0; i < n; i++)
	{
		LevelMedians level;

		if (judged[i])
			continue;
		level = level_medians(blocks, n, &blocks[i], x);
		for (k = i; k < n; k++)
			if (same_level(&blocks[k], &blocks[i]))
			{
				judge_by_itself(&blocks[k], foreign, &level, &verdicts[k]);
				judged[k] = true;
			}
	}
	for (i = 0; i < n; i++)
		if (blocks[i].level > 0 && verdicts[i].reason == NN_GUARD_ACCEPTED)
			judge_pair(blocks, n, i, verdicts);
	free(x);
	return true;
}

static const char *
checkpoint_name(NnGuardCheckpoint checkpoint)
{
	switch (checkpoint)
	{
		case NN_GUARD_CHECKPOINT_UNKNOWN:
			break;
		case NN_GUARD_CHECKPOINT_NONE:
			return "none";
		case NN_GUARD_CHECKPOINT_UNDER_WAY:
			return "under way";
		case NN_GUARD_CHECKPOINT_TIMED:
			return "timed";
		case NN_GUARD_CHECKPOINT_REQUESTED:
			return "requested";
	}
	return "not measured";
}

void
nn_guard_describe(const NnGuardVerdict *verdict, char *buf, size_t size)
{
	const char *side = verdict->after ? "after" : "before";

	switch (verdict->reason)
	{
		case NN_GUARD_ACCEPTED:
			break;
		case NN_GUARD_FOREIGN:
			snprintf(buf, size, "foreign CPU %.1f %% of the host, allowed %.1f %%", verdict->value, verdict->limit);
			return;
		case NN_GUARD_DOSE:
			snprintf(buf, size, "noise dose %.2f %%, expected %.2f %% to within %.2f", verdict->value,
					 verdict->expected, verdict->limit);
			return;
		case NN_GUARD_GENERATOR:
			snprintf(buf, size, "load driver late by %.2f ms (p99), allowed %.2f ms", verdict->value, verdict->limit);
			return;
		case NN_GUARD_CHECKPOINT:
			snprintf(buf, size, "checkpoint: %s, in the baseline %s it: %s", checkpoint_name(verdict->checkpoint), side,
					 checkpoint_name(verdict->baseline));
			return;
		case NN_GUARD_BRACKET:
			snprintf(buf, size, "no accepted baseline directly %s it", side);
			return;
	}
	if (size > 0)
		buf[0] = '\0';
}

/* What nn_guard_next() knows. */
typedef struct Course
{
	const NnGuardSlot *plan;
	int			n_plan;
	const NnGuardBlock *done;
	const NnGuardVerdict *verdicts;
	int			n_done;
} Course;

static bool
is_accepted(const Course *course, int i)
{
	return course->verdicts[i].reason == NN_GUARD_ACCEPTED;
}

/* Something happened in the block itself, so that the next attempt may be better at once. */
static bool
failed_by_itself(const Course *course, int i)
{
	NnGuardReason reason = course->verdicts[i].reason;

	return reason == NN_GUARD_FOREIGN || reason == NN_GUARD_DOSE || reason == NN_GUARD_GENERATOR;
}

/* Attempts at a slot: in all, or those in a row at the end. */
static int
attempts(const Course *course, int slot, bool in_a_row)
{
	int			n = 0;
	int			i;

	for (i = course->n_done - 1; i >= 0; i--)
	{
		if (course->done[i].slot == slot)
			n++;
		else if (in_a_row)
			break;
	}
	return n;
}

static bool
may_try(const Course *course, int slot)
{
	return attempts(course, slot, course->plan[slot].level == 0) < NN_GUARD_ATTEMPTS;
}

static bool
is_measured(const Course *course, int slot)
{
	int			i;

	for (i = 0; i < course->n_done; i++)
		if (course->done[i].slot == slot && is_accepted(course, i))
			return true;
	return false;
}

static bool
same_round(const Course *course, int a, int b)
{
	return course->plan[a].clients == course->plan[b].clients && course->plan[a].repeat == course->plan[b].repeat;
}

/* The first slot behind all that were tried; n_plan: there is none. */
static int
next_of_plan(const Course *course)
{
	int			next = 0;
	int			i;

	for (i = 0; i < course->n_done; i++)
		if (course->done[i].slot >= next)
			next = course->done[i].slot + 1;
	while (next < course->n_plan && course->plan[next].skipped)
		next++;
	return next;
}

/* Is there an accepted baseline in the group that was measured last? */
static bool
has_baseline_before(const Course *course)
{
	int			clients = course->done[course->n_done - 1].clients;
	int			i = course->n_done - 1;

	while (i >= 0 && course->done[i].clients == clients && course->done[i].level > 0)
		i--;
	for (; i >= 0 && course->done[i].clients == clients && course->done[i].level == 0; i--)
		if (is_accepted(course, i))
			return true;
	return false;
}

/* Was the slot tried since the last baseline? */
static bool
tried_now(const Course *course, int slot)
{
	int			i;

	for (i = course->n_done - 1; i >= 0 && course->done[i].level > 0; i--)
		if (course->done[i].slot == slot)
			return true;
	return false;
}

/* A dose of these clients, of the rounds so far, that has to be measured again; -1: none. */
static int
missing_dose(const Course *course, int clients, int before)
{
	int			slot;

	for (slot = 0; slot < before; slot++)
		if (course->plan[slot].clients == clients && course->plan[slot].level > 0 &&
			!course->plan[slot].skipped && !is_measured(course, slot) &&
			!tried_now(course, slot) && may_try(course, slot))
			return slot;
	return -1;
}

/* What comes behind a complete round, before the next one; -1: nothing. */
static int
repair(const Course *course, int next, int repeats_left)
{
	const NnGuardBlock *last = &course->done[course->n_done - 1];
	int			missing = missing_dose(course, last->clients, next);
	int			closing = next - 1;

	while (course->plan[closing].clients != last->clients || course->plan[closing].level > 0 ||
		   course->plan[closing].skipped)
		closing--;
	if (last->level > 0)
		return missing >= 0 && repeats_left >= 2 ? missing : closing;
	if (missing < 0 || repeats_left < 2)
		return -1;
	if (has_baseline_before(course))
		return missing;
	return may_try(course, closing) && repeats_left >= 3 ? closing : -1;
}

int
nn_guard_next(const NnGuardSlot *plan, int n_plan, const NnGuardBlock *done,
			  const NnGuardVerdict *verdicts, int n_done, int repeats_left)
{
	Course		course = {plan, n_plan, done, verdicts, n_done};
	int			next = next_of_plan(&course);
	int			again = -1;

	if (n_done > 0 && repeats_left > 0)
	{
		int			last = done[n_done - 1].slot;
		bool		within_round = next < n_plan && same_round(&course, next, last);
		bool		must_close = plan[last].level > 0;	/* the baseline behind
														 * it may need one, too */

		if (failed_by_itself(&course, n_done - 1) && may_try(&course, last) &&
			repeats_left > (must_close ? 1 : 0))
			return last;
		if (!within_round)
			again = repair(&course, next, repeats_left);
		else if (plan[next].level > 0 && !has_baseline_before(&course))
		{
			again = last;
			while (again > 0 && same_round(&course, again - 1, last))
				again--;
			if (!may_try(&course, again))
				again = -1;
		}
	}
	if (again >= 0)
		return again;
	return next < n_plan ? next : -1;
}
