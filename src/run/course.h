/*-------------------------------------------------------------------------
 *
 * course.h
 *	  The course of a run: which block comes next, what was measured, what counts.
 *
 * Without a guard and without looks this is the plan, block by block.  A guard adds
 * repetitions, looks leave out what is decided.  Private memory of the conductor; summaries and
 * progress in shared memory are kept up to date under their mutex.
 *
 *-------------------------------------------------------------------------
 */
#ifndef NN_COURSE_H
#define NN_COURSE_H

#include "server/shared.h"

typedef struct NnCourse NnCourse;

/* The course of a run that begins; in the current memory context. */
extern NnCourse *nn_course_begin(NnShared *shared);

/* The block to measure next; false: the run is complete. */
extern bool nn_course_next(NnCourse *course, NnPlanBlock *block);

/* Blocks still to come, as it looks now: the one that nn_course_next() names included. */
extern int	nn_course_left(const NnCourse *course);

/*
 * Take the results of the block that ended last, fill in its summary and judge all blocks anew.
 */
extern void nn_course_add(NnCourse *course, const NnPlanBlock *block);

/*
 * Numbers of the blocks, the last one not among them, that count otherwise than before the
 * last nn_course_add().  Returns how many.
 */
extern int	nn_course_changed(const NnCourse *course, const int **blocks);

#endif							/* NN_COURSE_H */
