/*-------------------------------------------------------------------------
 *
 * formula.c
 *	  The formulas of core/formula.h for SQL.
 *
 * Arguments are checked here, one by one, so that an error names the argument,
 * what it must be, and what to pass instead.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/float.h"

#include "core/formula.h"

PG_FUNCTION_INFO_V1(nn_sql_change_pct);
PG_FUNCTION_INFO_V1(nn_sql_recommended_cpulimit);
PG_FUNCTION_INFO_V1(nn_sql_throttle_stall_ms);
PG_FUNCTION_INFO_V1(nn_sql_implied_dose_pct);
PG_FUNCTION_INFO_V1(nn_sql_little_clients);
PG_FUNCTION_INFO_V1(nn_sql_fanout);
PG_FUNCTION_INFO_V1(nn_sql_equivalent_maxpages);
PG_FUNCTION_INFO_V1(nn_sql_bgwriter_ceiling_bytes_per_s);
PG_FUNCTION_INFO_V1(nn_sql_added_us);
PG_FUNCTION_INFO_V1(nn_sql_stall_percentile_ms);

/* What an argument must be. */
typedef enum NnDomain
{
	NN_DOMAIN_POSITIVE,
	NN_DOMAIN_NOT_NEGATIVE,
	NN_DOMAIN_AT_LEAST_ONE,
	NN_DOMAIN_FRACTION
} NnDomain;

static bool
is_in_domain(double value, NnDomain domain)
{
	if (isnan(value) || isinf(value))
		return false;
	switch (domain)
	{
		case NN_DOMAIN_POSITIVE:
			return value > 0;
		case NN_DOMAIN_NOT_NEGATIVE:
			return value >= 0;
		case NN_DOMAIN_AT_LEAST_ONE:
			return value >= 1;
		case NN_DOMAIN_FRACTION:
			return value >= 0 && value <= 1;
	}
	return false;
}

/* ERROR unless the value is in its domain; "hint" says what the argument is. */
static double
check_argument(double value, const char *name, NnDomain domain, const char *hint)
{
	static const char *const domains[] = {
		[NN_DOMAIN_POSITIVE] = "a finite number above 0",
		[NN_DOMAIN_NOT_NEGATIVE] = "a finite number, 0 or above",
		[NN_DOMAIN_AT_LEAST_ONE] = "a finite number, 1 or above",
		[NN_DOMAIN_FRACTION] = "a number from 0 to 1"
	};

	if (!is_in_domain(value, domain))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("argument \"%s\" is %s", name, float8out_internal(value)),
				 errdetail("It must be %s.", domains[domain]),
				 errhint("%s", hint)));
	return value;
}

static int32
check_block_size(int32 block_size)
{
	if (!nn_is_block_size(block_size))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("argument \"block_size\" is %d", block_size),
				 errdetail("It must be 1024, 2048, 4096, 8192, 16384 or 32768."),
				 errhint("Pass the server's: current_setting('block_size')::int.")));
	return block_size;
}

/* Arguments in their domains give a number, unless it is too large for one. */
static Datum
return_number(double result)
{
	if (isinf(result) || isnan(result))
		float_overflow_error();
	return Float8GetDatum(result);
}

Datum
nn_sql_change_pct(PG_FUNCTION_ARGS)
{
	double		base = check_argument(PG_GETARG_FLOAT8(0), "base", NN_DOMAIN_POSITIVE,
									  "Pass what the value is compared with, such as the tps without noise.");
	double		value = check_argument(PG_GETARG_FLOAT8(1), "value", NN_DOMAIN_NOT_NEGATIVE,
									   "Pass a quantity like tps, latency or a score.");

	return return_number(nn_change_pct(base, value));
}

Datum
nn_sql_recommended_cpulimit(PG_FUNCTION_ARGS)
{
	double		slow = check_argument(PG_GETARG_FLOAT8(0), "slow", NN_DOMAIN_POSITIVE,
									  "Pass the rate of the slow host, such as events per second.");
	double		fast = check_argument(PG_GETARG_FLOAT8(1), "fast", NN_DOMAIN_POSITIVE,
									  "Pass the rate of the fast host with the same number of threads.");
	double		threads = check_argument(PG_GETARG_INT32(2), "threads", NN_DOMAIN_AT_LEAST_ONE,
										 "Pass the number of threads that both rates were measured with.");

	return return_number(nn_recommended_cpulimit(slow, fast, threads));
}

Datum
nn_sql_throttle_stall_ms(PG_FUNCTION_ARGS)
{
	double		limit = check_argument(PG_GETARG_FLOAT8(0), "limit_cpus", NN_DOMAIN_POSITIVE,
									   "Pass the CPU quota in CPUs: quota by period of the control group.");
	double		demand = check_argument(PG_GETARG_FLOAT8(1), "demand_cpus", NN_DOMAIN_NOT_NEGATIVE,
										"Pass the CPUs that would be busy without the quota.");
	double		period = check_argument(PG_GETARG_FLOAT8(2), "period_ms", NN_DOMAIN_POSITIVE,
										"Pass the period of the quota, 100 ms by default.");

	return return_number(nn_throttle_stall_ms(limit, demand, period));
}

Datum
nn_sql_implied_dose_pct(PG_FUNCTION_ARGS)
{
	double		limit = check_argument(PG_GETARG_FLOAT8(0), "limit_cpus", NN_DOMAIN_POSITIVE,
									   "Pass the CPUs that server and noise share: the quota, or all CPUs where none is set.");
	double		cpus = check_argument(PG_GETARG_FLOAT8(1), "cpus", NN_DOMAIN_POSITIVE,
									  "Pass the number of CPUs that the noise runs on.");
	double		tps = check_argument(PG_GETARG_FLOAT8(2), "tps", NN_DOMAIN_NOT_NEGATIVE,
									 "Pass the throughput under noise.");
	double		tps_base = check_argument(PG_GETARG_FLOAT8(3), "tps_base", NN_DOMAIN_POSITIVE,
										  "Pass the throughput without noise.");

	return return_number(nn_implied_dose_pct(limit, cpus, tps, tps_base));
}

Datum
nn_sql_little_clients(PG_FUNCTION_ARGS)
{
	double		tps = check_argument(PG_GETARG_FLOAT8(0), "tps", NN_DOMAIN_NOT_NEGATIVE,
									 "Pass transactions per second.");
	double		avg_ms = check_argument(PG_GETARG_FLOAT8(1), "avg_ms", NN_DOMAIN_NOT_NEGATIVE,
										"Pass the mean latency in milliseconds, not a percentile.");

	return return_number(nn_little_clients(tps, avg_ms));
}

Datum
nn_sql_fanout(PG_FUNCTION_ARGS)
{
	double		p = check_argument(PG_GETARG_FLOAT8(0), "p", NN_DOMAIN_FRACTION,
								   "Pass the probability that one call is slow: 0.01 beyond the 99th percentile.");
	double		n = check_argument(PG_GETARG_INT32(1), "n", NN_DOMAIN_NOT_NEGATIVE,
								   "Pass the number of calls that one request makes.");

	return return_number(nn_fanout(p, n));
}

Datum
nn_sql_equivalent_maxpages(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT32((int32) nn_equivalent_maxpages(check_block_size(PG_GETARG_INT32(0))));
}

Datum
nn_sql_bgwriter_ceiling_bytes_per_s(PG_FUNCTION_ARGS)
{
	double		maxpages = check_argument(PG_GETARG_INT32(0), "maxpages", NN_DOMAIN_NOT_NEGATIVE,
										  "Pass bgwriter_lru_maxpages.");
	double		delay_ms = check_argument(PG_GETARG_FLOAT8(1), "delay_ms", NN_DOMAIN_POSITIVE,
										  "Pass bgwriter_delay in milliseconds.");

	return return_number(nn_bgwriter_ceiling_bytes_per_s(maxpages, delay_ms, check_block_size(PG_GETARG_INT32(2))));
}

Datum
nn_sql_added_us(PG_FUNCTION_ARGS)
{
	double		iops_base = check_argument(PG_GETARG_FLOAT8(0), "iops_base", NN_DOMAIN_POSITIVE,
										   "Pass the operations per second without the layer, one in flight.");
	double		iops = check_argument(PG_GETARG_FLOAT8(1), "iops", NN_DOMAIN_POSITIVE,
									  "Pass the operations per second with the layer, one in flight.");

	return return_number(nn_added_us(iops_base, iops));
}

Datum
nn_sql_stall_percentile_ms(PG_FUNCTION_ARGS)
{
	double		stall_ms = check_argument(PG_GETARG_FLOAT8(0), "stall_ms", NN_DOMAIN_NOT_NEGATIVE,
										  "Pass the length of the stall in milliseconds.");
	double		window_s = check_argument(PG_GETARG_FLOAT8(1), "window_s", NN_DOMAIN_POSITIVE,
										  "Pass the length of the measured window in seconds.");
	double		p = check_argument(PG_GETARG_FLOAT8(2), "p", NN_DOMAIN_FRACTION,
								   "Pass the percentile as a fraction: 0.99 for the 99th.");

	if (stall_ms > window_s * 1000)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("stall of %s ms is longer than the window of %s s",
						float8out_internal(stall_ms), float8out_internal(window_s)),
				 errdetail("The stall must lie within the window."),
				 errhint("Pass the stall in milliseconds and the window in seconds.")));
	return return_number(nn_stall_percentile_ms(stall_ms, window_s, p));
}
