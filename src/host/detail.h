/*-------------------------------------------------------------------------
 *
 * detail.h
 *	  What else is known about a host: for the record, not for decisions.
 *
 *-------------------------------------------------------------------------
 */
#ifndef NN_HOST_DETAIL_H
#define NN_HOST_DETAIL_H

#include "host/host.h"

/* Strings are empty, numbers NaN, where the host does not say. */
typedef struct NnHostDetail
{
	char		microcode[64];
	char		affinity[256];	/* list of CPUs that we may use */
	char		numa_nodes[64]; /* list of nodes that are online */
	char		cgroup_path[512];	/* of our own group: version 2's, else
									 * that of the CPU controller */
	char		file_system[64];	/* kind of the one that the current folder
									 * lies on */
	char		device[256];	/* its device */
	double		smt;			/* 1: threads of one core are in use; 0: not */
	double		cpu_mhz;		/* now, of the first CPU */
	double		cpu_max_mhz;	/* that the governor may choose */
	double		clock_read_ns;	/* time of one reading of the clock */
} NnHostDetail;

extern void nn_host_detail_read(const NnHostRoot *root, NnHostDetail *detail);

#endif							/* NN_HOST_DETAIL_H */
