/*-------------------------------------------------------------------------
 *
 * looks.c
 *	  When a run that goes on until there is a verdict is looked at.  See looks.h.
 *
 *-------------------------------------------------------------------------
 */
#include "core/looks.h"

int
nn_looks_make(int first, int last, int *looks)
{
	int			span = last - first;
	int			n = span + 1 < NN_MAX_LOOKS ? span + 1 : NN_MAX_LOOKS;
	int			i;

	for (i = 0; i < n; i++)
		looks[i] = n == 1 ? last : first + (int) ((2LL * span * i + n - 1) / (2 * (n - 1)));
	return n;
}

double
nn_looks_confidence(int n_looks)
{
	return 1 - 0.05 / (n_looks > 1 ? n_looks : 1);
}
