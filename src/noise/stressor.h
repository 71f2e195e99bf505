/*-------------------------------------------------------------------------
 *
 * stressor.h
 *	  What a stressor is: one descriptor, one file.
 *
 * A stressor turns a dose from 0 to 100 % into load on one resource.  Adding one is writing a
 * file with a descriptor and naming it in stressor.c.
 *
 * Three kinds of dose:
 *   NN_DOSE_DUTY	percent of one CPU.  The credit loop of duty.c calls burn() again and
 *					again until the thread has used the CPU time that is due.
 *   NN_DOSE_HOLD	percent of the amount configured (bytes) that is kept; hold() is called with the level, and
 *					about every 100 ms, and does a bounded piece of the work towards it.
 *
 * Everything but validate-time defaults runs in load threads: no function of the server may be called there.
 *
 *-------------------------------------------------------------------------
 */
#ifndef NN_STRESSOR_H
#define NN_STRESSOR_H

#include <stdbool.h>
#include <stdint.h>

#include "host/topology.h"

typedef enum NnDoseKind
{
	NN_DOSE_DUTY,
	NN_DOSE_BUSY,
	NN_DOSE_HOLD
} NnDoseKind;

/* Options that a stressor may understand. */
#define NN_STRESSOR_WORKERS		0x01
#define NN_STRESSOR_BYTES		0x02

/* Where files of stressors go, below the data directory: the server's own folder for temporary files. */
#define NN_STRESSOR_FOLDER		"base/pgsql_tmp"

typedef struct NnStressor
{
	const char *name;
	const char *rate_unit;		/* of noisy_dose.rate: 'primes/s', 'lines/s',
								 * 'bytes' */
	int			version;		/* of the kernel: results of different
								 * versions don't compare */
	NnDoseKind	kind;
	int			options;		/* NN_STRESSOR_* bits that noise_options may
								 * set */
	bool		on_disk;		/* its bytes are those of a file */
	int			(*default_workers) (const NnTopology *host);
	uint64_t	(*default_bytes) (const NnTopology *host);	/* per worker; NULL:
															 * takes none */

	/*
	 * Allocate and touch what the load needs, in the load thread, before the
	 * first block.  Returns the state, or NULL with the reason in error[256].
	 */
	void	   *(*create) (uint64_t bytes, uint64_t seed, char *error);
	void		(*destroy) (void *state);

	/*
	 * NN_DOSE_DUTY: one bounded piece of work (<= 100 us); returns units of
	 * rate_unit done.  NN_DOSE_BUSY: the same, as long as one request takes.
	 */
	uint64_t	(*burn) (void *state);

	/*
	 * NN_DOSE_HOLD: a bounded step towards level_pct; returns the amount held
	 * now, in rate_unit.
	 */
	uint64_t	(*hold) (void *state, double level_pct);
} NnStressor;

/* All stressors, terminated by NULL. */
extern const NnStressor *const nn_stressors[];

/* NULL when there is none of that name. */
extern const NnStressor *nn_stressor_find(const char *name);

#endif							/* NN_STRESSOR_H */
