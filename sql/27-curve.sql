-- Statistics of blocks: pure functions of samples that the views pass as arrays. An element is a block; NULL is what
-- was not measured. All are exact or drawn from a fixed seed: the same blocks give the same answer.

CREATE FUNCTION noisy_sign_flip_p(differences float8[]) RETURNS float8
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'nn_sql_sign_flip_p';
COMMENT ON FUNCTION noisy_sign_flip_p(float8[])
    IS 'two-sided p that differences are as likely to be positive as negative: share of the 2 ^ n ways to set their signs whose sum is as far from 0 as theirs, or farther. Exact up to 20 differences, from 32768 random ways beyond; never below 2 / 2 ^ n';

CREATE FUNCTION noisy_spread(sample float8[], OUT spread_pct float8, OUT low_pct float8, OUT high_pct float8)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'nn_sql_spread';
COMMENT ON FUNCTION noisy_spread(float8[])
    IS 'spread over repeats, percent: 100 * (p90 - p10) / p50, with its 95 % bootstrap interval (2000 resamples); NULL below two values';

CREATE FUNCTION noisy_percentile_interval(h noisy_histogram, p float8, OUT low_ms float8, OUT high_ms float8)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'nn_sql_percentile_interval';
COMMENT ON FUNCTION noisy_percentile_interval(noisy_histogram, float8)
    IS '95 % interval of a percentile by order statistics, ms: the values of ranks n * p -+ 1.96 * sqrt(n * p * (1 - p)); NULL: the sample does not bound it on that side. Takes the values for independent, which those of one block are not: the true interval is wider';

CREATE FUNCTION noisy_warmup(series float8[], OUT cut int, OUT steady boolean, OUT shift float8)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'nn_sql_warmup';
COMMENT ON FUNCTION noisy_warmup(float8[])
    IS 'warm-up of a series by MSER: how many values to cut at its beginning, the cut d that makes sum((x - mean) ^ 2) / (n - d) ^ 2 of the rest smallest; whether the rest is steady (not when the cut lies beyond the middle and what was cut differs from the rest by more than three standard errors); and mean of what was cut minus that of the rest. NULL below ten values';

CREATE FUNCTION noisy_isotonic(value float8[], weight float8[] DEFAULT NULL, rising boolean DEFAULT true,
    OUT fitted float8[], OUT violations int, OUT worst_pct float8)
LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'nn_sql_isotonic';
COMMENT ON FUNCTION noisy_isotonic(float8[], float8[], boolean)
    IS 'the curve that only rises (or only falls) and lies closest to the values by weighted least squares (pool adjacent violators); how many neighbours are out of order, and by how much the worst two, percent of the first';

CREATE FUNCTION noisy_paired_effects(level float8[], middle_s float8[], value float8[], higher_is_worse boolean,
    confidence float8 DEFAULT 0.95,
    OUT level float8, OUT blocks int, OUT stalled_blocks int, OUT ratio float8, OUT low float8, OUT high float8,
    OUT sign_flip_p float8, OUT noise_floor_pct float8, OUT verdict text, OUT blocks_needed int) RETURNS SETOF record
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE ROWS 5 AS 'MODULE_PATHNAME', 'nn_sql_paired_effects';
COMMENT ON FUNCTION noisy_paired_effects(float8[], float8[], float8[], boolean, float8)
    IS 'effect of each level on a metric, from the blocks of a run in their order: level, middle of the block in seconds, value. Each is compared with the baselines (level 0) around it, see noisy_effects';

CREATE FUNCTION noisy_planning_sd(sd float8, blocks int, sd_aa float8, pairs int) RETURNS float8
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'nn_sql_planning_sd';
COMMENT ON FUNCTION noisy_planning_sd(float8, int, float8, int)
    IS 'standard deviation of the logarithmic ratio of a block to plan with: that of the blocks, pooled with what the pairs of baselines say (three quarters of their mean square) by degrees of freedom, and never below that of the blocks';

CREATE FUNCTION noisy_blocks_for_power(effect float8, sd float8, sd_aa float8, power float8 DEFAULT 0.93,
    confidence float8 DEFAULT 0.95) RETURNS int
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'nn_sql_blocks_for_power';
COMMENT ON FUNCTION noisy_blocks_for_power(float8, float8, float8, float8, float8)
    IS 'number of dose blocks with which a run finds its verdict with probability power, when the logarithm of the ratio is effect, blocks spread around it by sd and baselines among themselves by sd_aa: the smallest n with t((1 + confidence) / 2, n - 1) * sd / sqrt(n) + allowance for chance < distance of the effect to the noise floor; NULL: more than a million';

CREATE FUNCTION noisy_curve(level float8[], dose_pct float8[], value float8[], rising boolean,
    OUT dose_pct float8[], OUT median float8[], OUT fitted float8[], OUT violations int, OUT worst_violation_pct float8,
    OUT slope_per_10pp float8, OUT slope_pct_per_10pp float8,
    OUT knee_pct float8, OUT knee_low_pct float8, OUT knee_high_pct float8, OUT knee_reason text)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'nn_sql_curve';
COMMENT ON FUNCTION noisy_curve(float8[], float8[], float8[], boolean)
    IS 'a metric over the dose delivered, from the blocks of a run: level asked for, dose delivered, value; see noisy_sensitivity';

CREATE FUNCTION noisy_curve_max_dose(level float8[], dose_pct float8[], value float8[], limit_value float8, rising boolean,
    OUT max_dose_pct float8, OUT low_pct float8, OUT high_pct float8, OUT reason text)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'nn_sql_curve_max_dose';
COMMENT ON FUNCTION noisy_curve_max_dose(float8[], float8[], float8[], float8, boolean)
    IS 'largest dose at which the monotone curve keeps the metric at or below a limit (at or above it when it falls), with its 95 % bootstrap interval (1000 resamples of the blocks within their levels); see noisy_max_dose';

-- Half of the interval of the difference of two means, without the same variance in both (Welch 1947, with the degrees of
-- freedom of Satterthwaite). In SQL: it is called a few times for two runs.
CREATE FUNCTION noisy_welch_half_width(variance_a float8, n_a int, variance_b float8, n_b int, confidence float8 DEFAULT 0.95) RETURNS float8
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
    SELECT CASE WHEN e.a + e.b > 0 THEN
               noisy_t_quantile((1 + confidence) / 2, (e.a + e.b) ^ 2 / (e.a ^ 2 / (n_a - 1) + e.b ^ 2 / (n_b - 1))) * sqrt(e.a + e.b)
               WHEN e.a + e.b = 0 THEN 0 END
    FROM (SELECT CASE WHEN n_a > 1 AND variance_a >= 0 THEN variance_a / n_a END AS a,
                 CASE WHEN n_b > 1 AND variance_b >= 0 THEN variance_b / n_b END AS b) AS e;
END;
COMMENT ON FUNCTION noisy_welch_half_width(float8, int, float8, int, float8)
    IS 'half of the interval of the difference of two means, from the variances and sizes of two samples: t with the degrees of freedom of Welch and Satterthwaite, times the standard error; NULL below two values in one of them';
