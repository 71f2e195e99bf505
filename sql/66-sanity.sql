-- What would make the answers of a run doubtful, checked for every run.
--
-- Each check is a subquery of its own that sees one run, so that a condition on run_id reads that run alone. An
-- aggregate or a LIMIT in each keeps the planner from joining it across runs.
CREATE VIEW noisy_sanity AS
    SELECT r.run_id, c.check_name, c.passed, c.detail
    FROM noisy_run_records r,
    LATERAL (
        -- a closed loop keeps every client busy
        SELECT 'littles_law' AS check_name,
               CASE WHEN r.parameters ->> 'rate' IS NULL THEN abs(w.off_pct) <= 5 END AS passed,
               CASE WHEN r.workload IS NULL THEN 'no workload'
                    WHEN r.parameters ->> 'rate' IS NOT NULL THEN 'open loop: clients wait for their turn'
                    WHEN w.off_pct IS NULL THEN 'no transaction ended'
                    ELSE format('at worst tps * mean latency gives %s of %s clients, at level %s (%s %%, allowed: 5)',
                                round(w.little::numeric, 2), w.clients, trim_scale(w.level), round(w.off_pct::numeric, 2)) END AS detail
        FROM (SELECT) AS always LEFT JOIN LATERAL
             (SELECT s.clients, s.level, noisy_little_clients(s.tps, s.avg_ms) AS little,
                     noisy_change_pct(s.clients, noisy_little_clients(s.tps, s.avg_ms)) AS off_pct
              FROM noisy_results s
              WHERE s.run_id = r.run_id AND s.clients > 0 AND s.avg_ms IS NOT NULL
              ORDER BY abs(noisy_change_pct(s.clients, noisy_little_clients(s.tps, s.avg_ms))) DESC, s.clients, s.level
              LIMIT 1) AS w ON true
      UNION ALL
        SELECT 'dose_delivered',
               CASE WHEN count(d.achieved_pct) > 0 THEN count(*) FILTER (WHERE d.unreachable) = 0 END,
               CASE WHEN count(*) = 0 THEN 'no accepted block with noise'
                    WHEN count(d.achieved_pct) = 0 THEN 'the dose was not measured'
                    ELSE format('%s of %s doses missed by more than 1 percentage point; at worst %s are missing',
                                count(*) FILTER (WHERE d.unreachable), count(d.achieved_pct),
                                round(greatest(max(d.requested_pct - d.achieved_pct), 0)::numeric, 2)) END
        FROM noisy_dose d JOIN noisy_blocks b ON b.run_id = d.run_id AND b.block = d.block
        WHERE d.run_id = r.run_id AND b.accepted AND b.level > 0
      UNION ALL
        -- load that the driver could not generate was not measured
        SELECT 'load_driver', NOT bool_or(b.driver_bound),
               CASE WHEN count(*) = 0 THEN 'no accepted block with a workload'
                    WHEN count(b.driver_bound) = 0 THEN 'the driver''s CPU was not measured'
                    ELSE format('the driver was the bottleneck in %s of %s blocks; its busiest thread used %s %% of a CPU',
                                count(*) FILTER (WHERE b.driver_bound), count(b.driver_bound),
                                coalesce(round(max(b.driver_busiest_pct)::numeric, 1)::text, '?')) END
        FROM noisy_blocks b
        WHERE b.run_id = r.run_id AND b.accepted AND b.clients > 0
      UNION ALL
        -- in an open loop the driver's own lateness is in the latency
        SELECT 'generator_lag',
               CASE WHEN count(l.lag_ms) > 0 THEN count(*) FILTER (WHERE l.lag_ms > greatest(1, 0.1 * l.p99_ms)) = 0 END,
               CASE WHEN r.workload IS NULL THEN 'no workload'
                    WHEN r.parameters ->> 'rate' IS NULL THEN 'closed loop: a client sends when it is free'
                    WHEN count(l.lag_ms) = 0 THEN 'the lag of the driver was not measured'
                    ELSE (array_agg(format('at worst transactions were sent up to %s ms late (p99) at level %s, where the latency is %s ms (allowed: a tenth of it, or 1 ms)',
                                           round(l.lag_ms::numeric, 3), trim_scale(l.level), round(l.p99_ms::numeric, 3))
                                    ORDER BY l.lag_ms / nullif(greatest(1, 0.1 * l.p99_ms), 0) DESC NULLS LAST, l.clients, l.level))[1] END
        FROM (SELECT b.clients, b.level, max(b.generator_lag_p99_ms) AS lag_ms, noisy_percentile(noisy_merge(b.latency), 0.99) AS p99_ms
              FROM noisy_blocks b
              WHERE b.run_id = r.run_id AND b.accepted AND b.rate IS NOT NULL
              GROUP BY b.clients, b.level) AS l
      UNION ALL
        -- more noise does not help
        SELECT 'percentiles_monotone', CASE WHEN count(v.falls) > 0 THEN count(*) FILTER (WHERE v.falls) = 0 END,
               CASE WHEN count(v.falls) = 0 THEN 'fewer than two levels'
                    WHEN count(*) FILTER (WHERE v.falls) = 0 THEN 'no percentile falls by more than its noise floor as the level rises'
                    ELSE (array_agg(format('%s at %s clients falls from %s ms at level %s to %s ms at %s, more than the noise floor of %s %%',
                                           v.metric, v.clients, round(v.value_before::numeric, 3), trim_scale(v.level_before),
                                           round(v.value::numeric, 3), trim_scale(v.level), round(v.noise_floor_pct::numeric, 1))
                                    ORDER BY v.value / v.value_before, v.clients, v.level, v.metric)
                          FILTER (WHERE v.falls))[1] END
        FROM (SELECT o.*, ln(o.value_before / o.value) > ln(1 + o.noise_floor_pct / 100) AS falls
              FROM (SELECT e.clients, e.level, e.metric, e.value, e.noise_floor_pct,
                           lag(e.value) OVER same AS value_before, lag(e.level) OVER same AS level_before
                    FROM noisy_effects e
                    WHERE e.run_id = r.run_id AND e.metric IN ('p50', 'p95', 'p99') AND e.value > 0
                    WINDOW same AS (PARTITION BY e.clients, e.metric ORDER BY e.level)) AS o) AS v
      UNION ALL
        -- Mean latency of a closed loop is clients / tps; in an open loop tps says nothing, and the median stands in.
        SELECT 'steady_state',
               CASE WHEN count(w.steady) > 0
                    THEN count(*) FILTER (WHERE NOT w.steady AND abs(w.shift) > 0.05) <= round(count(w.steady) / 10.0) END,
               CASE WHEN count(*) = 0 THEN 'no accepted block with a workload'
                    WHEN count(w.steady) = 0 THEN 'it takes blocks of 10 s or longer'
                    ELSE format('latency goes on changing by more than 5 %% in %s of %s blocks (allowed: a tenth); a warm-up of up to %s s is left in the others',
                                count(*) FILTER (WHERE NOT w.steady AND abs(w.shift) > 0.05), count(w.steady),
                                coalesce(max(w.cut) FILTER (WHERE w.steady AND abs(w.shift) > 0.05), 0)) END
        FROM (SELECT array_agg(CASE WHEN r.parameters ->> 'rate' IS NULL THEN -ln(nullif(t.tps, 0))
                                    ELSE ln(nullif(t.p50_ms, 0)) END ORDER BY t.second) AS series
              FROM noisy_timeline t JOIN noisy_blocks b ON b.run_id = t.run_id AND b.block = t.block
              WHERE t.run_id = r.run_id AND b.accepted AND b.clients > 0
              GROUP BY t.block) AS s,
             LATERAL noisy_warmup(s.series) AS w
      UNION ALL
        -- Steady foreign load cancels out in pairs, so a block is compared with the others; but a host that is busy with
        -- something else throughout is not the host that was meant.
        SELECT 'foreign_cpu',
               CASE WHEN count(f.foreign_pct) > 0
                    THEN max(f.foreign_pct) <= greatest(3, 2 * max(f.median_pct)) AND max(f.median_pct) <= 10 END,
               CASE WHEN count(*) = 0 THEN 'no accepted block'
                    WHEN count(f.foreign_pct) = 0 THEN coalesce(min(f.note), 'CPU use of the host was not measured')
                    ELSE format('others used %s %% of the host in the median of the blocks (allowed: 10), at most %s %% (allowed: %s)',
                                round(greatest(max(f.median_pct), 0)::numeric, 2), round(greatest(max(f.foreign_pct), 0)::numeric, 2),
                                round(least(greatest(3, 2 * max(f.median_pct)), 100)::numeric, 2)) END
        FROM (SELECT u.foreign_pct, u.note,
                     (SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY v.foreign_pct)
                      FROM noisy_host_usage v JOIN noisy_blocks a ON a.run_id = v.run_id AND a.block = v.block
                      WHERE v.run_id = r.run_id AND a.accepted) AS median_pct
              FROM noisy_host_usage u JOIN noisy_blocks b ON b.run_id = u.run_id AND b.block = u.block
              WHERE u.run_id = r.run_id AND b.accepted
              OFFSET 0) AS f
      UNION ALL
        -- A checkpoint in a block and none in its baseline is not an effect of the noise. One that was due and found nothing
        -- to do is counted by the server, and not seen.
        SELECT 'checkpoint_balance', CASE WHEN count(p.differ) > 0 THEN count(*) FILTER (WHERE p.differ) = 0 END,
               CASE WHEN count(*) = 0 THEN 'no block with noise has a baseline'
                    WHEN count(p.differ) = 0 THEN 'checkpoints were not measured'
                    ELSE format('checkpoints differ within %s of %s pairs of a block and its baseline',
                                count(*) FILTER (WHERE p.differ), count(p.differ)) END
        FROM (SELECT d.kind <> a.kind AS differ
              FROM (SELECT e.block, unnest(ARRAY[e.before_block, e.after_block]) AS base_block
                    FROM noisy_block_effects e
                    WHERE e.run_id = r.run_id AND e.pair = 'dose') AS e
              JOIN LATERAL (SELECT CASE WHEN g.checkpoints_requested + g.checkpoints_timed IS NULL THEN NULL
                                        WHEN NOT (g.in_progress_at_end OR EXISTS (SELECT FROM noisy_timeline t WHERE t.run_id = g.run_id
                                             AND t.block = g.block AND t.checkpoint)) THEN 'none'
                                        WHEN g.checkpoints_requested > 0 THEN 'requested' WHEN g.checkpoints_timed > 0 THEN 'timed'
                                        ELSE 'under way' END AS kind
                            FROM noisy_bgwriter g WHERE g.run_id = r.run_id AND g.block = e.block) AS d ON true
              JOIN LATERAL (SELECT CASE WHEN g.checkpoints_requested + g.checkpoints_timed IS NULL THEN NULL
                                        WHEN NOT (g.in_progress_at_end OR EXISTS (SELECT FROM noisy_timeline t WHERE t.run_id = g.run_id
                                             AND t.block = g.block AND t.checkpoint)) THEN 'none'
                                        WHEN g.checkpoints_requested > 0 THEN 'requested' WHEN g.checkpoints_timed > 0 THEN 'timed'
                                        ELSE 'under way' END AS kind
                            FROM noisy_bgwriter g WHERE g.run_id = r.run_id AND g.block = e.base_block) AS a ON true
              OFFSET 0) AS p
      UNION ALL
        SELECT 'missed_samples',
               CASE WHEN sum(b.samples_expected) > 0
                    THEN sum(b.samples_expected - b.samples_taken) <= 0.05 * sum(b.samples_expected) END,
               CASE WHEN coalesce(sum(b.samples_expected), 0) = 0 THEN 'no samples of wait events were due'
                    ELSE format('%s of %s samples of wait events were missed, %s %% (allowed: 5)',
                                greatest(sum(b.samples_expected - b.samples_taken), 0), sum(b.samples_expected),
                                round(100.0 * greatest(sum(b.samples_expected - b.samples_taken), 0) / sum(b.samples_expected), 2)) END
        FROM noisy_blocks b
        WHERE b.run_id = r.run_id AND b.accepted AND b.samples_taken IS NOT NULL
      UNION ALL
        -- nothing is counted twice or lost between the seconds and the whole
        SELECT 'counts_conserved', CASE WHEN count(*) > 0 THEN count(*) FILTER (WHERE k.transactions <> k.by_second) = 0 END,
               CASE WHEN count(*) = 0 THEN 'no accepted block with a workload'
                    ELSE format('the seconds of %s of %s blocks do not sum up to the transactions of the block',
                                count(*) FILTER (WHERE k.transactions <> k.by_second), count(*)) END
        FROM (SELECT b.transactions, sum(t.transactions) AS by_second
              FROM noisy_blocks b JOIN noisy_timeline t ON t.run_id = b.run_id AND t.block = b.block
              WHERE b.run_id = r.run_id AND b.accepted AND b.clients > 0
              GROUP BY b.run_id, b.block) AS k
    ) AS c;
COMMENT ON VIEW noisy_sanity IS 'what would make the answers of a run doubtful: one row per check; read failed ones before believing a result';
COMMENT ON COLUMN noisy_sanity.run_id IS 'run';
COMMENT ON COLUMN noisy_sanity.check_name IS 'littles_law, dose_delivered, load_driver, generator_lag, percentiles_monotone, steady_state, foreign_cpu, checkpoint_balance, missed_samples or counts_conserved';
COMMENT ON COLUMN noisy_sanity.passed IS 'whether all is well; NULL: not measurable in this run, see detail';
COMMENT ON COLUMN noisy_sanity.detail IS 'figures of the check, or why it cannot be made';

GRANT SELECT ON noisy_sanity TO pg_monitor;
