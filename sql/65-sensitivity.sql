-- Every metric of every block, and what rests on it: effects, sensitivity, tolerable dose.

-- Values of a block. OFFSET 0 keeps the histogram from being read once per metric.
CREATE VIEW noisy_block_metrics AS
    SELECT b.run_id, b.block, b.repeat, b.clients, b.level,
           coalesce(b.achieved_pct, CASE WHEN b.level = 0 THEN 0 END) AS dose_pct,
           date_part('epoch', b.started_at) + b.duration_s / 2 AS middle_s,
           m.metric, m.value, coalesce(b.transactions, 0) * (1 - m.fraction) < 10 AS low_n
    FROM noisy_blocks b,
         LATERAL (SELECT noisy_mean(b.latency) AS avg_ms,
                         noisy_percentile(b.latency, '{0.5,0.95,0.99,0.999}'::float8[]) AS p OFFSET 0) AS h,
         LATERAL (VALUES ('tps', b.tps, 0.0), ('avg', h.avg_ms, 0.0), ('p50', h.p[1], 0.5), ('p95', h.p[2], 0.95),
                         ('p99', h.p[3], 0.99), ('p999', h.p[4], 0.999)) AS m (metric, value, fraction)
    WHERE b.accepted AND b.clients > 0;
COMMENT ON VIEW noisy_block_metrics IS 'each metric of each accepted block of a workload';
COMMENT ON COLUMN noisy_block_metrics.run_id IS 'run';
COMMENT ON COLUMN noisy_block_metrics.block IS 'block';
COMMENT ON COLUMN noisy_block_metrics.repeat IS 'repeat that the block belongs to';
COMMENT ON COLUMN noisy_block_metrics.clients IS 'clients of the workload';
COMMENT ON COLUMN noisy_block_metrics.level IS 'noise dose asked for, percent; 0 is a baseline';
COMMENT ON COLUMN noisy_block_metrics.dose_pct IS 'noise dose delivered, percent; NULL: not measured';
COMMENT ON COLUMN noisy_block_metrics.middle_s IS 'middle of the measured window, seconds since 1970';
COMMENT ON COLUMN noisy_block_metrics.metric IS 'tps: transactions per second; avg, p50, p95, p99, p999: mean and percentiles of the latency, ms';
COMMENT ON COLUMN noisy_block_metrics.value IS 'its value, in transactions per second or ms; NULL: no transaction ended';
COMMENT ON COLUMN noisy_block_metrics.low_n IS 'whether fewer than ten transactions lie beyond this percentile: chance rules it';

CREATE VIEW noisy_effects AS
    SELECT g.run_id, r.workload, g.clients, e.level::numeric AS level, g.metric, s.value, e.blocks, e.stalled_blocks,
           e.ratio, e.low AS ratio_low, e.high AS ratio_high, e.sign_flip_p, e.noise_floor_pct, e.verdict, e.blocks_needed,
           (s.spread).spread_pct, (s.spread).low_pct AS spread_low_pct, (s.spread).high_pct AS spread_high_pct, s.low_n
    FROM (SELECT m.run_id, m.clients, m.metric, array_agg(m.level::float8 ORDER BY m.block) AS levels,
                 array_agg(m.middle_s ORDER BY m.block) AS middles, array_agg(m.value ORDER BY m.block) AS metric_values,
                 array_agg(m.low_n ORDER BY m.block) AS low_ns
          FROM noisy_block_metrics m
          GROUP BY m.run_id, m.clients, m.metric) AS g
    JOIN noisy_run_records r ON r.run_id = g.run_id,
    LATERAL noisy_paired_effects(g.levels, g.middles, g.metric_values, g.metric <> 'tps',
                                 coalesce((r.parameters ->> 'confidence')::float8, 0.95)) AS e,
    LATERAL (SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY u.value) AS value,
                    noisy_spread(array_agg(u.value)) AS spread, bool_or(u.low_n) AS low_n
             FROM unnest(g.levels, g.metric_values, g.low_ns) AS u (level, value, low_n)
             WHERE u.level = e.level) AS s;
COMMENT ON VIEW noisy_effects IS 'what the noise did to each metric: each level against the baselines around its blocks, by the rules of noisy_impact; one row per number of clients, level and metric';
COMMENT ON COLUMN noisy_effects.run_id IS 'run';
COMMENT ON COLUMN noisy_effects.workload IS 'name of the workload';
COMMENT ON COLUMN noisy_effects.clients IS 'clients of the workload';
COMMENT ON COLUMN noisy_effects.level IS 'noise dose asked for, percent; 0 is the baseline';
COMMENT ON COLUMN noisy_effects.metric IS 'tps, avg, p50, p95, p99 or p999, see noisy_block_metrics';
COMMENT ON COLUMN noisy_effects.value IS 'median of the blocks, in transactions per second or ms';
COMMENT ON COLUMN noisy_effects.blocks IS 'accepted blocks that were compared with a baseline: the replicates; 0 for the baseline';
COMMENT ON COLUMN noisy_effects.stalled_blocks IS 'blocks in which no transaction ended: they have no ratio, and no verdict is given';
COMMENT ON COLUMN noisy_effects.ratio IS 'value over that of the interleaved baseline: exp of the mean of d = ln(value) - ln(baseline) over the blocks, the baseline interpolated in time between the nearest ones before and after';
COMMENT ON COLUMN noisy_effects.ratio_low IS 'lower end of its interval: exp(mean d - t((1 + confidence) / 2, n - 1) * sd / sqrt(n)); NULL below two blocks. confidence: 0.95, or that of the run''s looks';
COMMENT ON COLUMN noisy_effects.ratio_high IS 'upper end of its interval; NULL below two blocks';
COMMENT ON COLUMN noisy_effects.sign_flip_p IS 'two-sided p of no effect by sign flips of d, see noisy_sign_flip_p(): at least 2 / 2 ^ blocks, so three blocks cannot give less than 0.25';
COMMENT ON COLUMN noisy_effects.noise_floor_pct IS 'noise floor, percent: the larger of 5 and 200 * the root mean square of the logarithmic differences of adjacent baselines (of bracketing ones where none are adjacent); 5 where there is no pair';
COMMENT ON COLUMN noisy_effects.verdict IS 'baseline; impact: the whole interval lies beyond the noise floor on the bad side (above for latency, below for tps); improved: on the good side; within_noise: inside it; inconclusive: none of these';
COMMENT ON COLUMN noisy_effects.blocks_needed IS 'dose blocks in total with which nine of ten runs would find the verdict if effect and spread stay as they are, see noisy_blocks_for_power(); NULL: there is a verdict, or a block has stalled, or more than a million';
COMMENT ON COLUMN noisy_effects.spread_pct IS 'spread of the blocks, percent: 100 * (p90 - p10) / p50; NULL below two blocks';
COMMENT ON COLUMN noisy_effects.spread_low_pct IS 'lower end of its 95 % bootstrap interval';
COMMENT ON COLUMN noisy_effects.spread_high_pct IS 'upper end of its 95 % bootstrap interval';
COMMENT ON COLUMN noisy_effects.low_n IS 'whether some block has fewer than ten transactions beyond this percentile: chance rules it';

CREATE VIEW noisy_sensitivity AS
    SELECT g.run_id, r.workload, g.clients, g.metric, c.dose_pct, c.median, c.fitted, c.violations, c.worst_violation_pct,
           c.slope_per_10pp, c.slope_pct_per_10pp, c.knee_pct, c.knee_low_pct, c.knee_high_pct, c.knee_reason
    FROM (SELECT m.run_id, m.clients, m.metric, array_agg(m.level::float8 ORDER BY m.block) AS levels,
                 array_agg(m.dose_pct ORDER BY m.block) AS doses, array_agg(m.value ORDER BY m.block) AS metric_values
          FROM noisy_block_metrics m
          GROUP BY m.run_id, m.clients, m.metric) AS g
    JOIN noisy_run_records r ON r.run_id = g.run_id,
    LATERAL noisy_curve(g.levels, g.doses, g.metric_values, g.metric <> 'tps') AS c;
COMMENT ON VIEW noisy_sensitivity IS 'each metric over the noise dose delivered, with the monotone curve that lies closest, its slope and its knee';
COMMENT ON COLUMN noisy_sensitivity.run_id IS 'run';
COMMENT ON COLUMN noisy_sensitivity.workload IS 'name of the workload';
COMMENT ON COLUMN noisy_sensitivity.clients IS 'clients of the workload';
COMMENT ON COLUMN noisy_sensitivity.metric IS 'tps, avg, p50, p95, p99 or p999, see noisy_block_metrics';
COMMENT ON COLUMN noisy_sensitivity.dose_pct IS 'points of the curve: mean dose delivered at each level, percent, rising';
COMMENT ON COLUMN noisy_sensitivity.median IS 'median of the blocks at each of these doses, transactions per second or ms';
COMMENT ON COLUMN noisy_sensitivity.fitted IS 'the monotone curve at each of these doses: rising for latency, falling for tps (isotonic least squares, weighted by blocks)';
COMMENT ON COLUMN noisy_sensitivity.violations IS 'neighbouring medians that are out of order: more noise seemed to help';
COMMENT ON COLUMN noisy_sensitivity.worst_violation_pct IS 'the largest of these, percent of the first of the two; 0: none';
COMMENT ON COLUMN noisy_sensitivity.slope_per_10pp IS 'change per 10 percentage points of dose by the straight line through all blocks, transactions per second or ms';
COMMENT ON COLUMN noisy_sensitivity.slope_pct_per_10pp IS 'the same in percent of the fitted value without noise';
COMMENT ON COLUMN noisy_sensitivity.knee_pct IS 'dose from which on it becomes worse more steeply, percent; NULL: no knee, see knee_reason';
COMMENT ON COLUMN noisy_sensitivity.knee_low_pct IS 'lower end of where 90 % of the knees of resampled blocks lie, percent';
COMMENT ON COLUMN noisy_sensitivity.knee_high_pct IS 'upper end, percent';
COMMENT ON COLUMN noisy_sensitivity.knee_reason IS 'why there is no knee: it takes five doses, two blocks at each and ten in all; a broken stick that fits better than a line and than a queueing curve s / (1 - dose / c) by more than 6 in BIC and becomes steeper; and 90 % of the knees of resampled blocks within a quarter of the range of doses';

CREATE FUNCTION noisy_max_dose(run_id bigint, slo_ms float8, metric text DEFAULT 'p99')
RETURNS TABLE (clients int, max_dose_pct float8, low_pct float8, high_pct float8, reason text)
LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE ROWS 5
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    IF metric NOT IN ('avg', 'p50', 'p95', 'p99', 'p999') THEN
        RAISE EXCEPTION USING
            ERRCODE = 'invalid_parameter_value',
            MESSAGE = format('metric "%s" has no limit in milliseconds', metric),
            HINT = 'Use avg, p50, p95, p99 or p999; for throughput there is noisy_curve_max_dose().';
    END IF;
    IF NOT EXISTS (SELECT FROM @extschema@.noisy_run_records r WHERE r.run_id = noisy_max_dose.run_id) THEN
        RAISE EXCEPTION USING
            ERRCODE = 'undefined_object',
            MESSAGE = format('run %s does not exist', noisy_max_dose.run_id),
            HINT = 'SELECT run_id, label, state FROM noisy_runs lists the runs.';
    END IF;
    RETURN QUERY
        SELECT g.clients, d.max_dose_pct, d.low_pct, d.high_pct, d.reason
        FROM (SELECT m.clients, array_agg(m.level::float8 ORDER BY m.block) AS levels,
                     array_agg(m.dose_pct ORDER BY m.block) AS doses, array_agg(m.value ORDER BY m.block) AS metric_values
              FROM @extschema@.noisy_block_metrics m
              WHERE m.run_id = noisy_max_dose.run_id AND m.metric = noisy_max_dose.metric
              GROUP BY m.clients) AS g,
             LATERAL @extschema@.noisy_curve_max_dose(g.levels, g.doses, g.metric_values, slo_ms, true) AS d
        ORDER BY g.clients;
END
$$;
REVOKE ALL ON FUNCTION noisy_max_dose(bigint, float8, text) FROM PUBLIC;
COMMENT ON FUNCTION noisy_max_dose(bigint, float8, text)
    IS 'largest noise dose, percent, at which a latency of a run stays at or below slo_ms, for each number of clients: where the curve of noisy_sensitivity reaches it, with the 95 % interval of resampled blocks. low_pct NULL: perhaps not even without noise; high_pct NULL: perhaps beyond the largest dose measured; reason: what else is to be known';

GRANT SELECT ON noisy_block_metrics, noisy_effects, noisy_sensitivity TO pg_monitor;
GRANT EXECUTE ON FUNCTION noisy_max_dose(bigint, float8, text) TO pg_monitor;
