/*-------------------------------------------------------------------------
 *
 * formula.c
 *	  The formulas of docs/method.md.  See formula.h.
 *
 *-------------------------------------------------------------------------
 */
#include "core/formula.h"

#include <math.h>
#include <stdbool.h>

#define MS_PER_S			1e3
#define US_PER_S			1e6

/* bgwriter_lru_maxpages by default, and the page size that it is meant for */
#define DEFAULT_MAXPAGES	100.0
#define DEFAULT_PAGE_BYTES	8192.0

static bool
is_positive(double x)
{
	return isfinite(x) && x > 0;
}

static bool
is_not_negative(double x)
{
	return isfinite(x) && x >= 0;
}

double
nn_change_pct(double base, double value)
{
	if (!is_positive(base) || !is_not_negative(value))
		return NAN;
	return 100 * (value / base - 1);
}

double
nn_recommended_cpulimit(double slow, double fast, double threads)
{
	if (!is_positive(slow) || !is_positive(fast) || !isfinite(threads) || threads < 1)
		return NAN;
	return threads * (slow / fast);
}

double
nn_throttle_stall_ms(double limit_cpus, double demand_cpus, double period_ms)
{
	if (!is_positive(limit_cpus) || !is_not_negative(demand_cpus) || !is_positive(period_ms))
		return NAN;
	if (demand_cpus <= limit_cpus)
		return 0;
	return period_ms * (1 - limit_cpus / demand_cpus);
}

double
nn_implied_dose_pct(double limit_cpus, double cpus, double tps, double tps_base)
{
	if (!is_positive(limit_cpus) || !is_positive(cpus) || !is_not_negative(tps) || !is_positive(tps_base))
		return NAN;
	return 100 * limit_cpus * (1 - tps / tps_base) / cpus;
}

double
nn_little_clients(double tps, double avg_ms)
{
	if (!is_not_negative(tps) || !is_not_negative(avg_ms))
		return NAN;
	return tps * (avg_ms / MS_PER_S);
}

/* By logarithms, so that a tiny p keeps its digits. */
double
nn_fanout(double p, double n)
{
	if (!(p >= 0 && p <= 1) || !is_not_negative(n))
		return NAN;
	if (n == 0)
		return 0;
	return -expm1(n * log1p(-p));
}

int
nn_is_block_size(int64_t block_size)
{
	return block_size >= 1024 && block_size <= 32768 && (block_size & (block_size - 1)) == 0;
}

double
nn_equivalent_maxpages(int64_t block_size)
{
	if (!nn_is_block_size(block_size))
		return NAN;
	return DEFAULT_MAXPAGES * DEFAULT_PAGE_BYTES / (double) block_size;
}

double
nn_bgwriter_ceiling_bytes_per_s(double maxpages, double delay_ms, int64_t block_size)
{
	if (!is_not_negative(maxpages) || !is_positive(delay_ms) || !nn_is_block_size(block_size))
		return NAN;
	return maxpages * (double) block_size * (MS_PER_S / delay_ms);
}

double
nn_added_us(double iops_base, double iops)
{
	if (!is_positive(iops_base) || !is_positive(iops))
		return NAN;
	return US_PER_S / iops - US_PER_S / iops_base;
}

double
nn_stall_percentile_ms(double stall_ms, double window_s, double p)
{
	if (!is_not_negative(stall_ms) || !is_positive(window_s) || !(p >= 0 && p <= 1) ||
		stall_ms > window_s * MS_PER_S)
		return NAN;
	return fmax(0, stall_ms - (1 - p) * window_s * MS_PER_S);
}
