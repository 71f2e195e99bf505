-- What the blocks of a run say, put together.
--
-- Every view groups by run_id, clients and level (or partitions by the first two), so that a condition on
-- them reaches the tables' indexes and a dashboard reads only the runs that it shows.

-- Verdict on a change. Logarithms, so that doubling and halving are equally far from no change.
CREATE OR REPLACE FUNCTION noisy_verdict(effect float8, half_width float8, noise_floor_pct float8) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT CASE
        WHEN effect - half_width > ln(1 + noise_floor_pct / 100) THEN 'impact'
        WHEN effect + half_width < -ln(1 + noise_floor_pct / 100) THEN 'improved'
        WHEN effect + half_width < ln(1 + noise_floor_pct / 100)
             AND effect - half_width > -ln(1 + noise_floor_pct / 100) THEN 'within_noise'
        ELSE 'inconclusive' END;
END;
COMMENT ON FUNCTION noisy_verdict(float8, float8, float8)
    IS 'impact, improved, within_noise or inconclusive: where the interval effect +- half_width (logarithms of a ratio; above 0 is worse) lies to the noise floor; inconclusive when something is NULL';

CREATE OR REPLACE VIEW noisy_results AS
    SELECT g.run_id, r.workload, g.clients, g.level, g.achieved_pct, g.blocks, g.rejected_blocks,
           g.transactions, g.errors, g.transactions / nullif(g.measured_s, 0) AS tps,
           g.avg_ms, g.stddev_ms, g.min_ms,
           g.p[1] AS p50_ms, g.p[2] AS p75_ms, g.p[3] AS p90_ms, g.p[4] AS p95_ms, g.p[5] AS p99_ms,
           g.p[6] AS p999_ms, g.max_ms,
           CASE WHEN g.n IS NOT NULL THEN
               ARRAY(SELECT q.name
                     FROM (VALUES (0.5, 'p50_ms'), (0.75, 'p75_ms'), (0.9, 'p90_ms'), (0.95, 'p95_ms'),
                                  (0.99, 'p99_ms'), (0.999, 'p999_ms')) AS q (p, name)
                     WHERE g.n * (1 - q.p) < 10
                     ORDER BY q.p) END AS low_n
    FROM (SELECT b.run_id, b.clients, b.level,
                 sum(b.achieved_pct * b.duration_s) FILTER (WHERE b.accepted)
                     / nullif(sum(b.duration_s) FILTER (WHERE b.accepted AND b.achieved_pct IS NOT NULL), 0)
                     AS achieved_pct,
                 count(*) FILTER (WHERE b.accepted) AS blocks,
                 count(*) FILTER (WHERE NOT b.accepted) AS rejected_blocks,
                 (sum(b.transactions) FILTER (WHERE b.accepted))::bigint AS transactions,
                 (sum(b.errors) FILTER (WHERE b.accepted))::bigint AS errors,
                 sum(b.duration_s) FILTER (WHERE b.accepted) AS measured_s,
                 noisy_count(noisy_merge(b.latency) FILTER (WHERE b.accepted)) AS n,
                 noisy_mean(noisy_merge(b.latency) FILTER (WHERE b.accepted)) AS avg_ms,
                 noisy_stddev(noisy_merge(b.latency) FILTER (WHERE b.accepted)) AS stddev_ms,
                 noisy_min(noisy_merge(b.latency) FILTER (WHERE b.accepted)) AS min_ms,
                 noisy_percentile(noisy_merge(b.latency) FILTER (WHERE b.accepted),
                                  '{0.5,0.75,0.9,0.95,0.99,0.999}'::float8[]) AS p,
                 noisy_max(noisy_merge(b.latency) FILTER (WHERE b.accepted)) AS max_ms
          FROM noisy_blocks b
          GROUP BY b.run_id, b.clients, b.level) AS g
    JOIN noisy_run_records r ON r.run_id = g.run_id;
COMMENT ON VIEW noisy_results IS 'throughput and latency of each number of clients and noise level of a run, over its accepted blocks; percentiles come from merged histograms, never from averages; latency is NULL without a workload';
COMMENT ON COLUMN noisy_results.run_id IS 'run';
COMMENT ON COLUMN noisy_results.workload IS 'name of the workload; NULL: noise alone';
COMMENT ON COLUMN noisy_results.clients IS 'clients of the workload; 0: noise alone';
COMMENT ON COLUMN noisy_results.level IS 'noise dose asked for, percent per load thread; 0 is the baseline';
COMMENT ON COLUMN noisy_results.achieved_pct IS 'noise dose delivered, percent, mean over time';
COMMENT ON COLUMN noisy_results.blocks IS 'accepted blocks; everything else in the row is about these';
COMMENT ON COLUMN noisy_results.rejected_blocks IS 'blocks that do not count, see noisy_blocks.reject_reason';
COMMENT ON COLUMN noisy_results.transactions IS 'transactions that ended in the measured windows';
COMMENT ON COLUMN noisy_results.errors IS 'transactions that failed in the measured windows';
COMMENT ON COLUMN noisy_results.tps IS 'transactions per second: all transactions by the length of all windows';
COMMENT ON COLUMN noisy_results.avg_ms IS 'mean latency, ms';
COMMENT ON COLUMN noisy_results.stddev_ms IS 'standard deviation of the latency, ms';
COMMENT ON COLUMN noisy_results.min_ms IS 'smallest latency, ms';
COMMENT ON COLUMN noisy_results.p50_ms IS 'median latency, ms';
COMMENT ON COLUMN noisy_results.p75_ms IS '75th percentile of the latency, ms';
COMMENT ON COLUMN noisy_results.p90_ms IS '90th percentile of the latency, ms';
COMMENT ON COLUMN noisy_results.p95_ms IS '95th percentile of the latency, ms';
COMMENT ON COLUMN noisy_results.p99_ms IS '99th percentile of the latency, ms';
COMMENT ON COLUMN noisy_results.p999_ms IS '99.9th percentile of the latency, ms';
COMMENT ON COLUMN noisy_results.max_ms IS 'largest latency, ms';
COMMENT ON COLUMN noisy_results.low_n IS 'percentile columns with fewer than ten transactions beyond them, n * (1 - p) < 10: chance rules them; NULL without a workload';

-- The baseline of a block is the nearest baseline before and after it, interpolated to the middle of the block on
-- the logarithms, so that a steady drift of the machine cancels. max and min of an array that begins with the
-- block number pick the neighbour: window functions cannot skip rows yet.
CREATE OR REPLACE VIEW noisy_block_effects AS
    SELECT e.run_id, e.block, e.repeat, e.clients, e.level, e.achieved_pct, e.duration_s,
           e.transactions, e.errors, e.latency, e.tps, e.p99_ms, e.pair, e.before[1]::int AS before_block,
           CASE WHEN e.pair = 'dose' THEN e.after[1]::int END AS after_block,
           exp(e.base_log_tps) AS base_tps, exp(e.base_log_p99) AS base_p99_ms,
           e.log_tps - e.base_log_tps AS tps_log_ratio, e.log_p99 - e.base_log_p99 AS p99_log_ratio,
           e.log_avg - e.base_log_avg AS avg_log_ratio, e.log_p95 - e.base_log_p95 AS p95_log_ratio
    FROM (SELECT w.*,
                 CASE WHEN w.level > 0 AND w.log_p99 IS NOT NULL THEN 'dose'
                      WHEN w.level > 0 THEN 'stalled'
                      WHEN w.before IS NULL OR w.log_p99 IS NULL THEN NULL
                      WHEN w.level_before = 0 THEN 'adjacent'
                      ELSE 'bracket' END AS pair,
                 CASE WHEN w.level = 0 OR w.after IS NULL THEN w.before[3]
                      WHEN w.before IS NULL THEN w.after[3]
                      ELSE w.before[3] + (w.after[3] - w.before[3])
                           * ((w.middle - w.before[2]) / nullif(w.after[2] - w.before[2], 0))
                      END AS base_log_tps,
                 CASE WHEN w.level = 0 OR w.after IS NULL THEN w.before[4]
                      WHEN w.before IS NULL THEN w.after[4]
                      ELSE w.before[4] + (w.after[4] - w.before[4])
                           * ((w.middle - w.before[2]) / nullif(w.after[2] - w.before[2], 0))
                      END AS base_log_p99,
                 CASE WHEN w.level = 0 OR w.after IS NULL THEN w.before[5]
                      WHEN w.before IS NULL THEN w.after[5]
                      ELSE w.before[5] + (w.after[5] - w.before[5])
                           * ((w.middle - w.before[2]) / nullif(w.after[2] - w.before[2], 0))
                      END AS base_log_avg,
                 CASE WHEN w.level = 0 OR w.after IS NULL THEN w.before[6]
                      WHEN w.before IS NULL THEN w.after[6]
                      ELSE w.before[6] + (w.after[6] - w.before[6])
                           * ((w.middle - w.before[2]) / nullif(w.after[2] - w.before[2], 0))
                      END AS base_log_p95
          FROM (SELECT v.*,
                       max(v.point) FILTER (WHERE v.is_baseline) OVER earlier AS before,
                       min(v.point) FILTER (WHERE v.is_baseline) OVER later AS after,
                       lag(v.level) OVER (PARTITION BY v.run_id, v.clients ORDER BY v.block) AS level_before
                FROM (SELECT u.*, u.level = 0 AND u.log_p99 IS NOT NULL AS is_baseline,
                             ARRAY[u.block, u.middle, u.log_tps, u.log_p99, u.log_avg, u.log_p95] AS point
                      FROM (SELECT b.run_id, b.block, b.repeat, b.clients, b.level,
                                   b.achieved_pct, b.duration_s, b.transactions, b.errors, b.latency,
                                   b.tps, p.ms[2] AS p99_ms,
                                   date_part('epoch', b.started_at) + b.duration_s / 2 AS middle,
                                   ln(nullif(b.tps, 0)) AS log_tps,
                                   ln(nullif(p.ms[2], 0)) AS log_p99,
                                   ln(nullif(noisy_mean(b.latency), 0)) AS log_avg,
                                   ln(nullif(p.ms[1], 0)) AS log_p95
                            FROM noisy_blocks b,
                                 LATERAL (SELECT noisy_percentile(b.latency, '{0.95,0.99}'::float8[]) AS ms OFFSET 0) AS p
                            WHERE b.accepted AND b.clients > 0) AS u) AS v
                WINDOW earlier AS (PARTITION BY v.run_id, v.clients ORDER BY v.block
                                   ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING),
                       later AS (PARTITION BY v.run_id, v.clients ORDER BY v.block DESC
                                 ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)) AS w) AS e;
COMMENT ON VIEW noisy_block_effects IS 'each accepted block of a workload against its baseline: what noisy_impact rests on';
COMMENT ON COLUMN noisy_block_effects.run_id IS 'run';
COMMENT ON COLUMN noisy_block_effects.block IS 'block';
COMMENT ON COLUMN noisy_block_effects.repeat IS 'repeat that the block belongs to';
COMMENT ON COLUMN noisy_block_effects.clients IS 'clients of the workload';
COMMENT ON COLUMN noisy_block_effects.level IS 'noise dose asked for, percent; 0 is a baseline';
COMMENT ON COLUMN noisy_block_effects.achieved_pct IS 'noise dose delivered, percent';
COMMENT ON COLUMN noisy_block_effects.duration_s IS 'length of the measured window, seconds';
COMMENT ON COLUMN noisy_block_effects.transactions IS 'transactions that ended in the window';
COMMENT ON COLUMN noisy_block_effects.errors IS 'transactions that failed in the window';
COMMENT ON COLUMN noisy_block_effects.latency IS 'latency of the transactions';
COMMENT ON COLUMN noisy_block_effects.tps IS 'transactions per second';
COMMENT ON COLUMN noisy_block_effects.p99_ms IS '99th percentile of the latency, ms';
COMMENT ON COLUMN noisy_block_effects.pair IS 'what is compared: dose (with the baselines around it), stalled (a dose under which no transaction ended: no ratio), adjacent (a baseline with the one directly before it), bracket (a baseline with the one before the doses); NULL: the first baseline, or one in which no transaction ended';
COMMENT ON COLUMN noisy_block_effects.before_block IS 'nearest baseline before the block, same clients; NULL: none';
COMMENT ON COLUMN noisy_block_effects.after_block IS 'nearest baseline after a dose, same clients; NULL: none';
COMMENT ON COLUMN noisy_block_effects.base_tps IS 'transactions per second of the baseline, interpolated to the middle of the block on the logarithms';
COMMENT ON COLUMN noisy_block_effects.base_p99_ms IS '99th percentile of the latency of the baseline, interpolated likewise, ms';
COMMENT ON COLUMN noisy_block_effects.tps_log_ratio IS 'ln(tps) - ln(base_tps)';
COMMENT ON COLUMN noisy_block_effects.p99_log_ratio IS 'ln(p99_ms) - ln(base_p99_ms)';
COMMENT ON COLUMN noisy_block_effects.avg_log_ratio IS 'the same of the mean latency';
COMMENT ON COLUMN noisy_block_effects.p95_log_ratio IS 'the same of its 95th percentile';

-- Innermost: blocks to levels. Then what the levels of one number of clients share: baseline and noise floor. Then
-- the intervals, and last the verdicts.
CREATE OR REPLACE VIEW noisy_impact AS
    SELECT i.run_id, i.workload, i.clients, i.level, i.achieved_pct, i.dose_blocks, i.tps,
           CASE WHEN i.level = 0 THEN 0 ELSE 100 * (exp(i.tps_effect) - 1) END AS tps_change_pct,
           100 * (exp(i.tps_effect - i.tps_half) - 1) AS tps_change_low_pct,
           100 * (exp(i.tps_effect + i.tps_half) - 1) AS tps_change_high_pct,
           i.tps_floor_pct AS tps_noise_floor_pct,
           CASE WHEN i.level = 0 THEN 'baseline'
                WHEN i.stalled_blocks > 0 THEN 'inconclusive'
                ELSE noisy_verdict(-i.tps_effect, i.tps_half, i.tps_floor_pct) END AS tps_verdict,
           i.avg_ms, CASE WHEN i.level = 0 THEN 0 ELSE i.avg_ms * (1 - exp(-i.avg_effect)) END AS avg_change_ms,
           i.p95_ms, CASE WHEN i.level = 0 THEN 0 ELSE i.p95_ms * (1 - exp(-i.p95_effect)) END AS p95_change_ms,
           i.p99_ms, CASE WHEN i.level = 0 THEN 0 ELSE i.p99_ms * (1 - exp(-i.p99_effect)) END AS p99_change_ms,
           CASE WHEN i.level = 0 THEN 1 ELSE exp(i.p99_effect) END AS p99_ratio,
           exp(i.p99_effect - i.p99_half) AS p99_ratio_low,
           exp(i.p99_effect + i.p99_half) AS p99_ratio_high,
           i.p99_floor_pct AS p99_noise_floor_pct,
           i.stalled_blocks, i.verdict,
           CASE WHEN i.verdict <> 'inconclusive' OR i.stalled_blocks > 0 THEN NULL
                WHEN i.p99_effect IS NULL OR i.p99_sd IS NULL AND i.p99_aa_sd IS NULL THEN 2
                WHEN f.needed <= i.n THEN i.n::int + 1
                ELSE f.needed
                END AS blocks_needed,
           i.aa_pairs AS baseline_pairs
    FROM (SELECT h.*,
                 CASE WHEN h.level = 0 THEN 'baseline'
                      WHEN h.stalled_blocks > 0 THEN 'inconclusive'
                      ELSE noisy_verdict(h.p99_effect, h.p99_half, h.p99_floor_pct) END AS verdict
          FROM (SELECT s.*, r.workload, c.confidence,
                       noisy_t_quantile((1 + c.confidence) / 2, nullif(s.n - 1, 0)) * s.tps_sd / sqrt(s.n) AS tps_half,
                       noisy_t_quantile((1 + c.confidence) / 2, nullif(s.n - 1, 0)) * s.p99_sd / sqrt(s.n) AS p99_half,
                       greatest(5, 200 * s.tps_aa_sd) AS tps_floor_pct,
                       greatest(5, 200 * s.p99_aa_sd) AS p99_floor_pct
                FROM (SELECT g.run_id, g.clients, g.level, g.achieved_pct, g.dose_blocks, g.stalled_blocks,
                             g.tps, g.avg_ms, g.p[1] AS p95_ms, g.p[2] AS p99_ms,
                             nullif(g.n, 0) AS n, g.tps_effect, g.tps_sd, g.p99_effect, g.p99_sd,
                             g.avg_effect, g.p95_effect,
                             max(g.aa_pairs) FILTER (WHERE g.level = 0) OVER same_clients AS aa_pairs,
                             max(g.tps_aa_sd) FILTER (WHERE g.level = 0) OVER same_clients AS tps_aa_sd,
                             max(g.p99_aa_sd) FILTER (WHERE g.level = 0) OVER same_clients AS p99_aa_sd
                      FROM (SELECT e.run_id, e.clients, e.level,
                                   sum(e.achieved_pct * e.duration_s)
                                       / nullif(sum(e.duration_s) FILTER (WHERE e.achieved_pct IS NOT NULL), 0)
                                       AS achieved_pct,
                                   count(*) FILTER (WHERE e.level > 0) AS dose_blocks,
                                   count(*) FILTER (WHERE e.pair = 'stalled') AS stalled_blocks,
                                   sum(e.transactions) / nullif(sum(e.duration_s), 0) AS tps,
                                   noisy_mean(noisy_merge(e.latency)) AS avg_ms,
                                   noisy_percentile(noisy_merge(e.latency), '{0.95,0.99}'::float8[]) AS p,
                                   count(e.p99_log_ratio) FILTER (WHERE e.pair = 'dose') AS n,
                                   avg(e.tps_log_ratio) FILTER (WHERE e.pair = 'dose') AS tps_effect,
                                   stddev_samp(e.tps_log_ratio) FILTER (WHERE e.pair = 'dose') AS tps_sd,
                                   avg(e.avg_log_ratio) FILTER (WHERE e.pair = 'dose') AS avg_effect,
                                   avg(e.p95_log_ratio) FILTER (WHERE e.pair = 'dose') AS p95_effect,
                                   avg(e.p99_log_ratio) FILTER (WHERE e.pair = 'dose') AS p99_effect,
                                   stddev_samp(e.p99_log_ratio) FILTER (WHERE e.pair = 'dose') AS p99_sd,
                                   sqrt(coalesce(avg(e.tps_log_ratio ^ 2) FILTER (WHERE e.pair = 'adjacent'),
                                                 avg(e.tps_log_ratio ^ 2) FILTER (WHERE e.pair = 'bracket')))
                                       AS tps_aa_sd,
                                   sqrt(coalesce(avg(e.p99_log_ratio ^ 2) FILTER (WHERE e.pair = 'adjacent'),
                                                 avg(e.p99_log_ratio ^ 2) FILTER (WHERE e.pair = 'bracket')))
                                       AS p99_aa_sd,
                                   coalesce(nullif(count(*) FILTER (WHERE e.pair = 'adjacent'), 0),
                                            count(*) FILTER (WHERE e.pair = 'bracket')) AS aa_pairs
                            FROM noisy_block_effects e
                            GROUP BY e.run_id, e.clients, e.level) AS g
                      WINDOW same_clients AS (PARTITION BY g.run_id, g.clients)) AS s
                JOIN noisy_run_records r ON r.run_id = s.run_id,
                LATERAL (SELECT coalesce((r.parameters ->> 'confidence')::float8, 0.95) AS confidence) AS c) AS h) AS i,
         LATERAL (SELECT noisy_blocks_for_power(i.p99_effect,
                                                noisy_planning_sd(coalesce(i.p99_sd, 0), coalesce(i.n, 0)::int,
                                                                  coalesce(i.p99_aa_sd, 0), coalesce(i.aa_pairs, 0)::int),
                                                coalesce(i.p99_aa_sd, 0), confidence => i.confidence) AS needed) AS f;
COMMENT ON VIEW noisy_impact IS 'what the noise did: each level against the baselines around its blocks; one row per number of clients and level of a workload';
COMMENT ON COLUMN noisy_impact.run_id IS 'run';
COMMENT ON COLUMN noisy_impact.workload IS 'name of the workload';
COMMENT ON COLUMN noisy_impact.clients IS 'clients of the workload';
COMMENT ON COLUMN noisy_impact.level IS 'noise dose asked for, percent per load thread; 0 is the baseline';
COMMENT ON COLUMN noisy_impact.achieved_pct IS 'noise dose delivered, percent, mean over time';
COMMENT ON COLUMN noisy_impact.dose_blocks IS 'accepted blocks with this dose: the replicates of the intervals; 0 for the baseline';
COMMENT ON COLUMN noisy_impact.tps IS 'transactions per second, over all accepted blocks of the level';
COMMENT ON COLUMN noisy_impact.tps_change_pct IS 'change of tps against the interleaved baseline, percent: 100 * (exp(mean of tps_log_ratio of the blocks) - 1); 0 for the baseline';
COMMENT ON COLUMN noisy_impact.tps_change_low_pct IS 'lower end of its 95 % interval (of a higher confidence in a run with the option until, see noisy_runs.parameters); NULL below two blocks';
COMMENT ON COLUMN noisy_impact.tps_change_high_pct IS 'upper end of its interval; NULL below two blocks';
COMMENT ON COLUMN noisy_impact.tps_noise_floor_pct IS 'noise floor of tps, percent: changes by a factor below 1 + this / 100, up or down, do not count. The larger of 5 and 200 * the root mean square of tps_log_ratio of adjacent baselines (of bracketing ones where none are adjacent)';
COMMENT ON COLUMN noisy_impact.tps_verdict IS 'verdict on tps, as verdict is on p99_ms';
COMMENT ON COLUMN noisy_impact.avg_ms IS 'mean latency, ms';
COMMENT ON COLUMN noisy_impact.avg_change_ms IS 'mean latency less what it would be without the noise, ms: avg_ms * (1 - 1 / ratio), with the ratio to the interleaved baselines as of p99_ratio; 0 for the baseline';
COMMENT ON COLUMN noisy_impact.p95_ms IS '95th percentile of the latency, ms';
COMMENT ON COLUMN noisy_impact.p95_change_ms IS '95th percentile less what it would be without the noise, ms, likewise';
COMMENT ON COLUMN noisy_impact.p99_ms IS '99th percentile of the latency, ms';
COMMENT ON COLUMN noisy_impact.p99_change_ms IS '99th percentile less what it would be without the noise, ms: p99_ms * (1 - 1 / p99_ratio)';
COMMENT ON COLUMN noisy_impact.p99_ratio IS '99th percentile over that of the interleaved baseline: exp(mean of p99_log_ratio of the blocks); 1 for the baseline';
COMMENT ON COLUMN noisy_impact.p99_ratio_low IS 'lower end of its interval, as of tps_change_low_pct; NULL below two blocks';
COMMENT ON COLUMN noisy_impact.p99_ratio_high IS 'upper end of its interval; NULL below two blocks';
COMMENT ON COLUMN noisy_impact.p99_noise_floor_pct IS 'noise floor of the 99th percentile, percent, from p99_log_ratio likewise';
COMMENT ON COLUMN noisy_impact.stalled_blocks IS 'blocks in which no transaction ended: they have no ratio, and no verdict is given';
COMMENT ON COLUMN noisy_impact.verdict IS 'baseline; impact: the whole interval of p99_ratio lies above the noise floor; within_noise: inside it; improved: below it; inconclusive: none of these';
COMMENT ON COLUMN noisy_impact.blocks_needed IS 'dose blocks in total with which nine of ten runs would find the verdict if effect and spread stay as they are, see noisy_blocks_for_power(); their spread is pooled with that of the baselines, see noisy_planning_sd(); NULL: there is a verdict, or a block has stalled, or more than a million';
COMMENT ON COLUMN noisy_impact.baseline_pairs IS 'pairs of baselines that the noise floors rest on';

-- Active time: what somebody waits for, or what uses a CPU. Not active are
--   Activity            main loops of the server's own processes
--   ClientRead          a backend whose client has asked for nothing
--   Client              of walsender and walreceiver: nothing to send, nothing received
--   Extension           when it is unnamed (before 17 all are), which is mostly the main loop of somebody's worker or
--                       a session that waits for one; and of background processes, named or not
--   Timeout             of background processes: pauses that they make themselves, but for contended spinlocks
-- The same in a backend that carries out a statement makes somebody wait, so it counts.
CREATE OR REPLACE VIEW noisy_wait_events AS
    SELECT a.run_id, r.workload, a.clients, a.level, a.backend_type, a.wait_event_type, a.wait_event, a.samples,
           (100 * a.samples / nullif(sum(a.samples) OVER (PARTITION BY a.run_id, a.clients, a.level), 0))::float8
               AS share_pct,
           a.samples::float8 / nullif(a.passes, 0) AS avg_waiters, a.max_waiters
    FROM (SELECT b.run_id, b.clients, b.level, w.backend_type, w.wait_event_type, w.wait_event,
                 sum(w.samples)::bigint AS samples, max(w.max_waiters) AS max_waiters, b.passes
          FROM (SELECT c.run_id, c.block, c.clients, c.level,
                       sum(c.samples_taken) OVER (PARTITION BY c.run_id, c.clients, c.level) AS passes
                FROM noisy_blocks c
                WHERE c.accepted) AS b
          JOIN noisy_wait_samples w ON w.run_id = b.run_id AND w.block = b.block
          WHERE w.wait_event_type <> 'Activity'
            AND NOT (w.wait_event_type = 'Client'
                     AND (w.wait_event = 'ClientRead' OR w.backend_type IN ('walsender', 'walreceiver')))
            AND NOT (w.wait_event_type = 'Extension' AND w.wait_event = 'Extension')
            AND NOT (w.wait_event_type IN ('Extension', 'Timeout') AND w.wait_event <> 'SpinDelay'
                     AND w.backend_type NOT IN ('client backend', 'parallel worker', 'unknown'))
          GROUP BY b.run_id, b.clients, b.level, b.passes, w.backend_type, w.wait_event_type, w.wait_event) AS a
    JOIN noisy_run_records r ON r.run_id = a.run_id;
COMMENT ON VIEW noisy_wait_events IS 'where the server''s processes spent their active time, over the accepted blocks of each number of clients and noise level; idle processes are left out, noisy_wait_samples has all';
COMMENT ON COLUMN noisy_wait_events.run_id IS 'run';
COMMENT ON COLUMN noisy_wait_events.workload IS 'name of the workload; NULL: noise alone';
COMMENT ON COLUMN noisy_wait_events.clients IS 'clients of the workload; 0: noise alone';
COMMENT ON COLUMN noisy_wait_events.level IS 'noise dose asked for, percent';
COMMENT ON COLUMN noisy_wait_events.backend_type IS 'kind of server process, as in pg_stat_activity';
COMMENT ON COLUMN noisy_wait_events.wait_event_type IS 'class of the wait event; ''CPU'' when none';
COMMENT ON COLUMN noisy_wait_events.wait_event IS 'wait event, named by the server; ''CPU'' when none: running or waiting for a CPU';
COMMENT ON COLUMN noisy_wait_events.samples IS 'times a process was seen so';
COMMENT ON COLUMN noisy_wait_events.share_pct IS 'share of the active time of all processes at this number of clients and level, percent';
COMMENT ON COLUMN noisy_wait_events.avg_waiters IS 'mean number of processes seen so: samples by passes over the processes, blocks without such a sample included';
COMMENT ON COLUMN noisy_wait_events.max_waiters IS 'most processes seen so at once';
