/*-------------------------------------------------------------------------
 *
 * guard.h
 *	  The block guard: which blocks of a run count, and which one comes next.
 *
 * A block in which something else happened than in the blocks that it is compared with
 * says nothing about the noise.  The guard rejects it, and has it measured again.
 *
 * The judgement is a pure function of all blocks measured so far, made anew after each
 * of them: what looked odd among few blocks may be usual among many, and the other way
 * round.  So a rejected block may count again later, and the judgement that
 * holds is the last one, which anybody can repeat from what is stored.
 *
 *	 foreign	CPU that others used > max(3 %, 2 * median of all blocks)
 *	 dose		achieved differs by more than 1 percentage point from the level; where the
 *				median of the level's blocks does so itself, the host cannot deliver, and a block is
 *				held against that median, by more than 1 point and a quarter of it
 *	 generator	the 99th percentile of the lag of an open loop's driver >
 *				max(1 ms, 2 * median of the level's blocks)
 *	 checkpoint	a dose and the baseline before or after it differ in whether a checkpoint
 *				ran in them, and of which kind
 *	 bracket	a dose that has no accepted baseline next to it, before or after
 *
 * Foreign load takes two blocks that can be compared, dose and generator three of the level.
 * A median of an even number is the lower one of the two in the middle: of two blocks, the
 * one with less foreign load is the usual one.  What was not measured (NaN) is not judged.
 *
 * Baselines next to a dose are those of the nearest group of baselines, accepted or not,
 * that follow each other without a dose between them: behind a rejected baseline comes its
 * repetition, not the baseline of another time.
 *
 *-------------------------------------------------------------------------
 */
#ifndef NN_GUARD_H
#define NN_GUARD_H

#include <stdbool.h>
#include <stddef.h>

#define NN_GUARD_FOREIGN_PCT	3.0
#define NN_GUARD_FOREIGN_MEDIANS 2.0
#define NN_GUARD_DOSE_PP		1.0
#define NN_GUARD_DOSE_SHARE		0.25
#define NN_GUARD_LAG_MS			1.0
#define NN_GUARD_LAG_MEDIANS	2.0
#define NN_GUARD_MIN_BLOCKS		2	/* to compare foreign load */
#define NN_GUARD_MIN_OF_LEVEL	3	/* to compare what a level does */

/* A block is measured at most so often: in a row for a baseline, in all for a dose. */
#define NN_GUARD_ATTEMPTS		4

#define NN_GUARD_REASON_LEN		128

typedef enum NnGuardCheckpoint
{
	NN_GUARD_CHECKPOINT_UNKNOWN,
	NN_GUARD_CHECKPOINT_NONE,
	NN_GUARD_CHECKPOINT_UNDER_WAY,	/* it began before the block */
	NN_GUARD_CHECKPOINT_TIMED,
	NN_GUARD_CHECKPOINT_REQUESTED
} NnGuardCheckpoint;

/* A block of the plan. */
typedef struct NnGuardSlot
{
	int			clients;
	int			repeat;			/* slots of the same clients and repeat are a
								 * round: baseline, doses, baseline */
	double		level;			/* 0 is a baseline */
	bool		skipped;		/* not to be measured any more */
} NnGuardSlot;

/* A block that was measured. */
typedef struct NnGuardBlock
{
	int			slot;			/* of the plan, from 0 */
	int			clients;
	double		level;
	double		foreign_pct;	/* CPU of others, percent of the host */
	double		achieved_pct;	/* dose */
	double		lag_ms;			/* p99 of the generator's lag; NaN in a closed
								 * loop */
	NnGuardCheckpoint checkpoint;
} NnGuardBlock;

typedef enum NnGuardReason
{
	NN_GUARD_ACCEPTED,
	NN_GUARD_FOREIGN,
	NN_GUARD_DOSE,
	NN_GUARD_GENERATOR,
	NN_GUARD_CHECKPOINT,
	NN_GUARD_BRACKET
} NnGuardReason;

typedef struct NnGuardVerdict
{
	NnGuardReason reason;
	double		value;			/* what was measured */
	double		limit;			/* what was allowed; of a dose: how far off */
	double		expected;		/* of a dose */
	bool		after;			/* the baseline concerned is that after the
								 * block */
	NnGuardCheckpoint checkpoint;	/* of the block */
	NnGuardCheckpoint baseline; /* of that baseline */
} NnGuardVerdict;

/*
 * Judge blocks[0..n), in the order in which they were measured.  False when there is no
 * memory: then nothing is judged.
 */
extern bool nn_guard_judge(const NnGuardBlock *blocks, int n, NnGuardVerdict *verdicts);

/* Why a block is rejected, in a few words; "" for one that is accepted. */
extern void nn_guard_describe(const NnGuardVerdict *verdict, char *buf, size_t size);

/*
 * Which slot of the plan to measure next; -1 when all is done.  done[] and verdicts[] are what
 * was measured so far; repeats_left is how many blocks may be measured beyond
 * the plan.
 *
 *	 - A block that is rejected for what happened in itself is measured again at once; the
 *	   last repeat is kept for the baseline behind a dose.
 *	 - A dose is not begun behind baselines that are all rejected: a baseline comes first.
 *	 - When a round is complete, doses of its number of clients that are still missing follow its
 *	   last baseline, and a baseline follows them: again a round.  It is begun only while
 *	   there is a repeat left to close it.
 */
extern int	nn_guard_next(const NnGuardSlot *plan, int n_plan, const NnGuardBlock *done,
						  const NnGuardVerdict *verdicts, int n_done, int repeats_left);

#endif							/* NN_GUARD_H */
