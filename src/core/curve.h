/*-------------------------------------------------------------------------
 *
 * curve.h
 *	  Sensitivity: a metric over the dose that was delivered.
 *
 * The blocks of a run are grouped by the level that was asked for; a point of the curve
 * is the mean dose delivered to the blocks of a level and the median of their
 * values.  The fitted curve is monotone (isotonic.h), and straight between points.
 *
 * Intervals come from resampling the blocks within their levels, so there are none
 * where a level has one block.
 *
 * A curve owns one allocation: nn_curve_make makes it, nn_curve_free frees it.
 * Undefined results are NaN.
 *
 *-------------------------------------------------------------------------
 */
#ifndef NN_CURVE_H
#define NN_CURVE_H

#include <stdbool.h>

#include "core/isotonic.h"
#include "core/random.h"

/* Resamples that an interval of a curve is taken from. */
#define NN_CURVE_RESAMPLES	1000

typedef struct NnCurveBlock
{
	double		level;			/* asked for */
	double		dose;			/* delivered, percent */
	double		value;
} NnCurveBlock;

typedef struct NnCurvePoint
{
	double		level;
	double		dose;			/* mean of the blocks */
	double		median;
	double		fitted;
	double		mean;			/* of the values */
	double		within;			/* sum of squared deviations from that mean */
	int			first;			/* its blocks are blocks[first .. first + n) */
	int			n;
} NnCurvePoint;

typedef struct NnCurve
{
	bool		rising;			/* the metric grows with noise, as latency
								 * does */
	int			n_points;
	NnCurvePoint *points;		/* by rising dose */
	int			n_blocks;
	NnCurveBlock *blocks;		/* by level */
	int			fewest;			/* blocks of the level that has fewest */
	NnViolations violations;	/* of the medians */
} NnCurve;

/*
 * Make a curve of blocks whose dose and value are finite; others are left out.
 * False when there is no memory, and then there is nothing to free.
 */
extern bool nn_curve_make(const NnCurveBlock *blocks, int n, bool rising, NnCurve *curve);
extern void nn_curve_free(NnCurve *curve);

/* Draw the blocks of "from" anew within their levels, and fit; the curves have equal sizes. */
extern void nn_curve_resample(const NnCurve *from, NnRandom *random, NnCurve *to);

/*
 * Slope of the straight line through all blocks (least squares), units of the metric
 * per percentage point of dose.  NaN below two different doses.
 */
extern double nn_curve_slope(const NnCurve *curve);

typedef enum NnMaxDoseReason
{
	NN_MAX_DOSE_FOUND,
	NN_MAX_DOSE_ALWAYS,			/* kept at every dose measured: max_dose is
								 * the largest of them */
	NN_MAX_DOSE_NEVER,			/* missed without noise already: no dose */
	NN_MAX_DOSE_NO_BASELINE		/* no block without noise */
} NnMaxDoseReason;

typedef struct NnMaxDose
{
	NnMaxDoseReason reason;
	double		dose;			/* the largest dose at which the fitted curve
								 * keeps the limit */
	double		low;			/* 95 % interval; NaN: not even without noise,
								 * or no interval */
	double		high;			/* NaN: beyond the largest dose measured, or
								 * no interval */
	bool		has_interval;	/* every level has two blocks or more */
} NnMaxDose;

/* The largest dose that keeps the metric at or better than "limit". */
extern void nn_curve_max_dose(const NnCurve *curve, double limit, NnMaxDose *result);

#endif							/* NN_CURVE_H */
