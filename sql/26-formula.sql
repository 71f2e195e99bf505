-- Formulas of docs/method.md: pure functions of their arguments.

CREATE FUNCTION noisy_change_pct(base float8, value float8) RETURNS float8
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'nn_sql_change_pct';
COMMENT ON FUNCTION noisy_change_pct(float8, float8)
    IS 'change of a quantity, percent: 100 * (value / base - 1)';

CREATE FUNCTION noisy_recommended_cpulimit(slow float8, fast float8, threads int) RETURNS float8
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'nn_sql_recommended_cpulimit';
COMMENT ON FUNCTION noisy_recommended_cpulimit(float8, float8, int)
    IS 'limit, CPUs, that makes a fast host as fast as a slow one: threads * slow / fast, from the rates of both with this number of threads; at threads or above a limit would not bind';

CREATE FUNCTION noisy_throttle_stall_ms(limit_cpus float8, demand_cpus float8, period_ms float8) RETURNS float8
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'nn_sql_throttle_stall_ms';
COMMENT ON FUNCTION noisy_throttle_stall_ms(float8, float8, float8)
    IS 'how long a CPU quota stops everybody in each of its periods, ms: period_ms * (1 - limit_cpus / demand_cpus); 0 where the demand is not above the limit';

CREATE FUNCTION noisy_implied_dose_pct(limit_cpus float8, cpus float8, tps float8, tps_base float8) RETURNS float8
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'nn_sql_implied_dose_pct';
COMMENT ON FUNCTION noisy_implied_dose_pct(float8, float8, float8, float8)
    IS 'noise that a loss of throughput stands for, percent of each of the CPUs: 100 * limit_cpus * (1 - tps / tps_base) / cpus, where server and noise share limit_cpus and every transaction costs the same CPU time; below 0 when tps grew';

CREATE FUNCTION noisy_little_clients(tps float8, avg_ms float8) RETURNS float8
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'nn_sql_little_clients';
COMMENT ON FUNCTION noisy_little_clients(float8, float8)
    IS 'clients at work by Little''s law: tps * avg_ms / 1000; in a closed loop it must be close to the number of clients';

CREATE FUNCTION noisy_fanout(p float8, n int) RETURNS float8
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'nn_sql_fanout';
COMMENT ON FUNCTION noisy_fanout(float8, int)
    IS 'probability, 0 to 1, that at least one of n independent calls is slow when each is with probability p: 1 - (1 - p) ^ n';

CREATE FUNCTION noisy_equivalent_maxpages(block_size int) RETURNS int
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'nn_sql_equivalent_maxpages';
COMMENT ON FUNCTION noisy_equivalent_maxpages(int)
    IS 'bgwriter_lru_maxpages, pages, that writes as many bytes with this block size as the default does with 8192 bytes: 100 * 8192 / block_size; a starting point, not an equivalence';

CREATE FUNCTION noisy_bgwriter_ceiling_bytes_per_s(maxpages int, delay_ms float8, block_size int) RETURNS float8
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'nn_sql_bgwriter_ceiling_bytes_per_s';
COMMENT ON FUNCTION noisy_bgwriter_ceiling_bytes_per_s(int, float8, int)
    IS 'most that the background writer writes, bytes per second: maxpages * block_size * 1000 / delay_ms';

CREATE FUNCTION noisy_added_us(iops_base float8, iops float8) RETURNS float8
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'nn_sql_added_us';
COMMENT ON FUNCTION noisy_added_us(float8, float8)
    IS 'time that a layer adds to each operation when one is in flight at a time, microseconds: 1000000 / iops - 1000000 / iops_base';

CREATE FUNCTION noisy_stall_percentile_ms(stall_ms float8, window_s float8, p float8) RETURNS float8
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'nn_sql_stall_percentile_ms';
COMMENT ON FUNCTION noisy_stall_percentile_ms(float8, float8, float8)
    IS 'percentile p of the delay that one stall adds to requests that arrive evenly over a window, ms: greatest(0, stall_ms - (1 - p) * window_s * 1000)';
