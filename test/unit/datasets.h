/*-------------------------------------------------------------------------
 *
 * datasets.h
 *	  Latencies that a histogram has to get right: usual ones, and hostile ones.
 *
 *-------------------------------------------------------------------------
 */
#ifndef NN_DATASETS_H
#define NN_DATASETS_H

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "core/histogram.h"
#include "core/random.h"

#define BEYOND (UINT64_C(1) << NN_HISTOGRAM_MAX_BITS)

typedef struct Dataset
{
	const char *name;
	int			n;
	uint64_t	(*value) (NnRandom *r, int i);
} Dataset;

static uint64_t
uniform(NnRandom *r, int i)
{
	(void) i;
	return (uint64_t) nn_random_range(r, 0, 100000000);
}

static double
normal(NnRandom *r)
{
	double		u = 1 - nn_random_double(r);

	return sqrt(-2 * log(u)) * cos(2 * M_PI * nn_random_double(r));
}

static uint64_t
lognormal(NnRandom *r, int i)
{
	(void) i;
	return (uint64_t) exp(14 + 1.5 * normal(r));
}

static uint64_t
bimodal(NnRandom *r, int i)
{
	(void) i;
	return nn_random_double(r) < 0.95 ?
		(uint64_t) (200000 * exp(0.1 * normal(r))) : (uint64_t) (55000000 * exp(0.05 * normal(r)));
}

/* Every order of magnitude that fits the buckets. */
static uint64_t
wide(NnRandom *r, int i)
{
	(void) i;
	return nn_random_u64(r) >> nn_random_range(r, 64 - NN_HISTOGRAM_MAX_BITS, 63);
}

static uint64_t
equal(NnRandom *r, int i)
{
	(void) r;
	(void) i;
	return 1234567;
}

static uint64_t
around_powers(NnRandom *r, int i)
{
	(void) r;
	return (UINT64_C(1) << (1 + i / 3 % (NN_HISTOGRAM_MAX_BITS - 1))) + (uint64_t) (i % 3) - 1;
}

static uint64_t
bucket_edges(NnRandom *r, int i)
{
	(void) r;
	return i % 2 ? nn_histogram_bucket_low_ns((uint32_t) i / 2) :
		nn_histogram_bucket_high_ns((uint32_t) i / 2) - 1;
}

static uint64_t
small(NnRandom *r, int i)
{
	(void) i;
	return (uint64_t) nn_random_range(r, 0, 300);
}

static uint64_t
often_beyond(NnRandom *r, int i)
{
	(void) i;
	return nn_random_double(r) < 0.9 ? uniform(r, i) : BEYOND + (nn_random_u64(r) >> 20);
}

static uint64_t
only_beyond(NnRandom *r, int i)
{
	(void) i;
	return BEYOND + (nn_random_u64(r) >> 20);
}

static uint64_t
zeros(NnRandom *r, int i)
{
	(void) r;
	(void) i;
	return 0;
}

static const Dataset datasets[] = {
	{"uniform", 100000, uniform},
	{"lognormal", 100000, lognormal},
	{"bimodal", 100000, bimodal},
	{"all magnitudes", 100000, wide},
	{"all equal", 1000, equal},
	{"all zero", 1000, zeros},
	{"powers of two and their neighbours", 3 * (NN_HISTOGRAM_MAX_BITS - 1), around_powers},
	{"both edges of every bucket", 2 * NN_HISTOGRAM_BUCKETS, bucket_edges},
	{"below 300 ns", 10000, small},
	{"one in ten beyond the buckets", 10000, often_beyond},
	{"all beyond the buckets", 100, only_beyond},
	{"a single value", 1, lognormal},
	{"a single value beyond the buckets", 1, only_beyond},
	{"two values", 2, lognormal},
	{"three values", 3, wide},
};

#define N_DATASETS	((int) (sizeof(datasets) / sizeof(datasets[0])))

/* The values of a dataset, the same ones each time; to be freed. */
static inline uint64_t *
make_values(const Dataset *dataset)
{
	uint64_t   *values = malloc(sizeof(uint64_t) * (size_t) dataset->n);
	NnRandom	r;
	int			i;

	nn_random_seed(&r, 20240229, (uint64_t) (dataset - datasets));
	for (i = 0; i < dataset->n; i++)
		values[i] = dataset->value(&r, i);
	return values;
}

static inline void
record_all(NnHistogram *h, const uint64_t *values, int n)
{
	int			i;

	nn_histogram_reset(h);
	for (i = 0; i < n; i++)
		nn_histogram_record(h, values[i]);
}

#endif							/* NN_DATASETS_H */
