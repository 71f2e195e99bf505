/*-------------------------------------------------------------------------
 *
 * children.h
 *	  The children of one process.
 *
 *-------------------------------------------------------------------------
 */
#ifndef NN_HOST_CHILDREN_H
#define NN_HOST_CHILDREN_H

#include "host/host.h"

/*
 * Process ids of the children of "parent", at most "max" of them.  Returns
 * their number, or -1 with the reason.  Reads every process of the host where the kernel
 * keeps no list of children, so don't call it often.
 */
extern int	nn_process_children_read(const NnHostRoot *root, pid_t parent,
									 pid_t *children, int max, NnWhyNot *why);

#endif							/* NN_HOST_CHILDREN_H */
