/*-------------------------------------------------------------------------
 *
 * looks.h
 *	  When a run that goes on until there is a verdict is looked at.
 *
 * Who looks at a run after each repeat and stops when he likes what he sees, finds
 * effects that are not there.  So the looks are fixed before the run begins, and every one
 * of n is made at the confidence 1 - 0.05 / n: by the inequality of Boole (Bonferroni's
 * correction) the chance of one wrong interval among them is then at most 5 %,
 * however the looks depend on each other and wherever they lie.
 *
 *-------------------------------------------------------------------------
 */
#ifndef NN_LOOKS_H
#define NN_LOOKS_H

#define NN_MAX_LOOKS	4

/*
 * Numbers of repeats after which to look: NN_MAX_LOOKS of them, or as many as there can be,
 * evenly from first to last, rising.  1 <= first <= last.  Returns their number.
 */
extern int	nn_looks_make(int first, int last, int *looks);

/* Confidence of each interval of a run with so many looks; 0.95 for up to one. */
extern double nn_looks_confidence(int n_looks);

#endif							/* NN_LOOKS_H */
