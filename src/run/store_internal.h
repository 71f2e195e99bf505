/*-------------------------------------------------------------------------
 *
 * store_internal.h
 *	  What the files of the store share.  For run/store*.c only.
 *
 *-------------------------------------------------------------------------
 */
#ifndef NN_STORE_INTERNAL_H
#define NN_STORE_INTERNAL_H

#include "postgres.h"

#include "server/shared.h"
#include "server/statement.h"

/*
 * store_samples.c: does the extension have the tables of this version?  Until somebody updates it, the library serves older
 * ones, too.
 */
extern bool nn_store_is_current(NnShared *shared);

/* store_samples.c: what the sample worker saw in the block that ended last. */
extern void nn_store_samples(const StoreContext *context, NnShared *shared, int64 run_id,
							 const NnPlanBlock *block);

/* store_bands.c: checkpoints, and the latency in them. */
extern bool nn_store_has_bands(NnShared *shared);
extern void nn_store_bands(const StoreContext *context, NnShared *shared, int64 run_id);
extern void nn_store_band_latency(const StoreContext *context, NnShared *shared, int64 run_id,
								  const NnPlanBlock *block);

/* store.c: type noisy_histogram of this extension. */
extern Oid	nn_store_histogram_type(NnShared *shared);

#endif							/* NN_STORE_INTERNAL_H */
