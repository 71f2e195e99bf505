/*-------------------------------------------------------------------------
 *
 * fuzz_statistics.c
 *	  Effects, curves, knees and resampling on numbers that no server ever measured.
 *
 * Three bytes of input are a block: its level, its dose and its value.  A byte stands for a number that is
 * ordinary or one at the edge of what a double holds; as in SQL, what is not a number is never a level.
 *
 *-------------------------------------------------------------------------
 */
#include <float.h>
#include <math.h>

#include "core/effect.h"
#include "core/curve.h"
#include "core/knee.h"
#include "core/resample.h"
#include "core/statistics.h"
#include "core/steady.h"
#include "fuzz.h"

#define MAX_BLOCKS	18
#define MAX_FLIPPED 10			/* each more doubles the time */

static double
number(unsigned char byte)
{
	static const double edges[] = {
		0.0, -0.0, DBL_MIN, -DBL_MIN, 4.9e-324, DBL_MAX, -DBL_MAX, DBL_EPSILON,
		1e300, -1e300, 1e-300, 9007199254740993.0, -1.0, 1e154, 1e155, 0.1
	};

	return byte < 0xF0 ? byte : edges[byte & 0x0F];
}

static double
number_or_none(unsigned char byte)
{
	return byte == 0xEF ? NAN : number(byte);
}

static void
try_sample(const double *x, int n)
{
	double		sorted[MAX_BLOCKS];
	double		low;
	double		high;
	double		p;
	NnSteady	steady;
	NnViolations violations;
	int			i;

	p = nn_sign_flip_p(x, n < MAX_FLIPPED ? n : MAX_FLIPPED);
	require(isnan(p) || (p > 0 && p <= 1));
	(void) nn_spread(x, n, 1, &low, &high);
	require(isnan(low) == isnan(high) && !(low > high));
	nn_steady_find(x, n, &steady);
	require(steady.state == NN_STEADY_UNKNOWN || (steady.cut >= 0 && steady.cut < n));
	(void) nn_mean(x, n);
	(void) nn_stddev(x, n);
	(void) nn_quantile(x, n, 0.5);

	nn_isotonic_check(x, n, true, &violations);
	require(violations.count >= 0 && violations.count < (n > 0 ? n : 1));
	require(nn_isotonic_fit(x, NULL, n, true, sorted));
	for (i = 1; i < n; i++)
		require(!(sorted[i] < sorted[i - 1]));
}

static void
try_effects(const NnBlockValue *blocks, int n, bool higher_is_worse)
{
	NnEffect	effects[MAX_BLOCKS];
	int			levels = nn_effects_find(blocks, n, higher_is_worse, NN_CONFIDENCE, effects);
	int			i;

	require(levels >= 0 && levels <= n);
	for (i = 0; i < levels; i++)
	{
		require(i == 0 || effects[i].level > effects[i - 1].level);
		require(nn_verdict_name(effects[i].verdict) != NULL);
		require(effects[i].blocks >= 0 && effects[i].blocks <= n);
		require(effects[i].floor >= NN_NOISE_FLOOR_MIN || isnan(effects[i].floor));
		require(effects[i].blocks_needed >= 0 && effects[i].blocks_needed <= NN_BLOCKS_NEEDED_MAX);
	}
}

static void
try_curve(const NnCurveBlock *blocks, int n, bool rising)
{
	NnCurve		curve;
	NnKnee		knee;
	NnMaxDose	dose;
	int			i;

	require(nn_curve_make(blocks, n, rising, &curve));
	for (i = 1; i < curve.n_points; i++)
	{
		require(curve.points[i].dose >= curve.points[i - 1].dose);
		require(rising ? !(curve.points[i].fitted < curve.points[i - 1].fitted) :
				!(curve.points[i].fitted > curve.points[i - 1].fitted));
	}
	(void) nn_curve_slope(&curve);
	nn_knee_find(&curve, &knee);
	if (knee.reason == NN_KNEE_FOUND)
		require(knee.low <= knee.high && isfinite(knee.dose));
	nn_curve_max_dose(&curve, 10, &dose);
	if (dose.reason == NN_MAX_DOSE_FOUND && dose.has_interval)
		require(!(dose.low > dose.high));
	nn_curve_free(&curve);
}

int
LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	NnBlockValue blocks[MAX_BLOCKS];
	NnCurveBlock points[MAX_BLOCKS];
	double		values[MAX_BLOCKS];
	int			n_values = 0;
	int			n;

	for (n = 0; n < MAX_BLOCKS && size >= 3; n++, data += 3, size -= 3)
	{
		blocks[n].level = points[n].level = number(data[0]);
		blocks[n].middle_s = n * 10;
		points[n].dose = number_or_none(data[1]);
		blocks[n].value = points[n].value = number_or_none(data[2]);
		if (!isnan(blocks[n].value))
			values[n_values++] = blocks[n].value;
	}
	try_sample(values, n_values);
	try_effects(blocks, n, size > 0);
	try_curve(points, n, size > 0);
	return 0;
}
