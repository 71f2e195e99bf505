/*-------------------------------------------------------------------------
 *
 * stressors.h
 *	  The descriptors, and the defaults that several of them share.
 *
 * For the files of this folder; others find a stressor through stressor.h.
 *
 *-------------------------------------------------------------------------
 */
#ifndef NN_STRESSORS_H
#define NN_STRESSORS_H

#include "noise/stressor.h"

#define NN_STRESSOR_ERROR_LEN	256

extern const NnStressor nn_stressor_cpu;
extern const NnStressor nn_stressor_cache;
extern const NnStressor nn_stressor_disk;
extern const NnStressor nn_stressor_memory;
extern const NnStressor nn_stressor_stream;
extern const NnStressor nn_stressor_switch;

/*
 * One load thread per usable CPU, to the nearest whole number and never 0: a percentage
 * per thread is then nearest to the same percentage of the CPUs.
 */
extern int	nn_stressor_cpus(const NnTopology *host);

/*
 * Bytes that all threads of one stressor may take by default: an eighth of the room, so that
 * two of them stay below the usual ceiling of a quarter.  UINT64_MAX where
 * the memory of the host is not known.
 */
extern uint64_t nn_stressor_memory_share(const NnTopology *host);

/*
 * Of a stressor whose threads each want a multiple of the last-level cache: how many threads the
 * memory allows, one per usable CPU at most and never 0; and how much each gets.
 */
extern int	nn_stressor_llc_workers(const NnTopology *host, int multiple);
extern uint64_t nn_stressor_llc_bytes(const NnTopology *host, int multiple);

#endif							/* NN_STRESSORS_H */
