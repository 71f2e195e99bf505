/*-------------------------------------------------------------------------
 *
 * formula.h
 *	  The formulas of docs/method.md that need nothing but their arguments.
 *
 * Each gives NaN when an argument is out of its domain, which its comment names.
 * Arguments that are NaN or infinite are out of every domain.
 *
 *-------------------------------------------------------------------------
 */
#ifndef NN_FORMULA_H
#define NN_FORMULA_H

#include <stdint.h>

/* Change of a quantity, percent: 100 (value / base - 1).  base > 0, value >= 0. */
extern double nn_change_pct(double base, double value);

/*
 * Limit in CPUs that makes a fast host as fast as a slow one, from the rates
 * of both with "threads" threads: threads * slow / fast.  A result of "threads" or
 * more would not bind.  Rates > 0, threads >= 1.
 */
extern double nn_recommended_cpulimit(double slow, double fast, double threads);

/*
 * How long a CPU quota stops everybody in each of its periods when "demand"
 * CPUs are asked for: period (1 - limit / demand), ms; 0 when the limit
 * does not bind.  limit > 0, demand >= 0, period > 0.
 */
extern double nn_throttle_stall_ms(double limit_cpus, double demand_cpus, double period_ms);

/*
 * Noise that a loss of throughput stands for when server and noise share
 * limit_cpus of a guest with "cpus" CPUs, percent per CPU:
 * 100 limit (1 - tps / tps_base) / cpus.  Negative when tps grew.
 * limit > 0, cpus > 0, tps >= 0, tps_base > 0.
 */
extern double nn_implied_dose_pct(double limit_cpus, double cpus, double tps, double tps_base);

/* Clients at work by Little's law: tps * latency in seconds.  Both >= 0. */
extern double nn_little_clients(double tps, double avg_ms);

/*
 * Probability that at least one of n independent calls is slow when each is
 * with probability p: 1 - (1 - p)^n.  0 <= p <= 1, n >= 0.
 */
extern double nn_fanout(double p, double n);

/* Is this a block size that PostgreSQL can be built with: 1 to 32 kB, a power of two? */
extern int	nn_is_block_size(int64_t block_size);

/*
 * bgwriter_lru_maxpages that writes as many bytes with this block size as the default
 * of 100 does with 8 kB: 100 * 8192 / block size, pages.
 */
extern double nn_equivalent_maxpages(int64_t block_size);

/*
 * Most that the background writer writes: pages per round, rounds per second
 * and bytes per page, bytes/s.  maxpages >= 0, delay > 0.
 */
extern double nn_bgwriter_ceiling_bytes_per_s(double maxpages, double delay_ms, int64_t block_size);

/*
 * Time that a layer adds to each operation when one is in flight at a time:
 * 1 / iops - 1 / iops_base, us.  Both > 0.
 */
extern double nn_added_us(double iops_base, double iops);

/*
 * Percentile p of the delay that one stall of stall_ms adds to requests that
 * arrive evenly over a window and are answered at once otherwise: the share
 * stall / window of them waits, from stall_ms down to 0, so it is
 * max(0, stall - (1 - p) window), ms.  0 <= stall <= window, window > 0, 0 <= p <= 1.
 */
extern double nn_stall_percentile_ms(double stall_ms, double window_s, double p);

#endif							/* NN_FORMULA_H */
