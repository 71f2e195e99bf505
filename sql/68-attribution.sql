-- Why it was slower: lock contention, and where the time of an operation went.

-- Levels in which a tranche was seen waited for, and the baseline of its clients in which it was not, or the other way round.
CREATE VIEW noisy_lwlocks AS
    SELECT s.run_id, r.workload, s.clients, s.level, t.wait_event, coalesce(w.samples, 0)::bigint AS samples,
           coalesce(w.share_pct, 0) AS share_pct, coalesce(w.avg_waiters, 0) AS avg_waiters,
           coalesce(w.max_waiters, 0) AS max_waiters,
           CASE WHEN b.samples_taken > 0 THEN coalesce(v.share_pct, 0) END AS baseline_share_pct,
           CASE WHEN b.samples_taken > 0 THEN coalesce(v.avg_waiters, 0) END AS baseline_avg_waiters,
           CASE WHEN b.samples_taken > 0 THEN coalesce(w.share_pct, 0) - coalesce(v.share_pct, 0) END AS share_change_pp,
           CASE WHEN b.samples_taken > 0 THEN coalesce(w.avg_waiters, 0) - coalesce(v.avg_waiters, 0) END AS avg_waiters_change,
           s.samples_expected, s.samples_taken, s.samples_expected - s.samples_taken AS samples_missed
    FROM (SELECT c.run_id, c.clients, c.level, sum(c.samples_expected)::bigint AS samples_expected,
                 sum(c.samples_taken)::bigint AS samples_taken
          FROM noisy_blocks c
          WHERE c.accepted
          GROUP BY c.run_id, c.clients, c.level) AS s
    JOIN noisy_run_records r ON r.run_id = s.run_id
    JOIN (SELECT DISTINCT e.run_id, e.clients, e.wait_event FROM noisy_wait_events e WHERE e.wait_event_type = 'LWLock') AS t
        ON t.run_id = s.run_id AND t.clients = s.clients
    LEFT JOIN LATERAL (SELECT sum(c.samples_taken) AS samples_taken FROM noisy_blocks c
                       WHERE c.accepted AND c.run_id = s.run_id AND c.clients = s.clients AND c.level = 0) AS b ON true
    LEFT JOIN (SELECT e.run_id, e.clients, e.level, e.wait_event, sum(e.samples) AS samples, sum(e.share_pct) AS share_pct,
                      sum(e.avg_waiters) AS avg_waiters, max(e.max_waiters) AS max_waiters
               FROM noisy_wait_events e
               WHERE e.wait_event_type = 'LWLock'
               GROUP BY e.run_id, e.clients, e.level, e.wait_event) AS w
        ON w.run_id = s.run_id AND w.clients = s.clients AND w.level = s.level AND w.wait_event = t.wait_event
    LEFT JOIN (SELECT e.run_id, e.clients, e.wait_event, sum(e.share_pct) AS share_pct, sum(e.avg_waiters) AS avg_waiters
               FROM noisy_wait_events e
               WHERE e.wait_event_type = 'LWLock' AND e.level = 0
               GROUP BY e.run_id, e.clients, e.wait_event) AS v
        ON v.run_id = s.run_id AND v.clients = s.clients AND v.wait_event = t.wait_event;
COMMENT ON VIEW noisy_lwlocks IS 'waits for lightweight locks, by tranche, over the accepted blocks of each number of clients and noise level, and against the baseline of the same run; a tranche that was seen at any level has a row for each';
COMMENT ON COLUMN noisy_lwlocks.run_id IS 'run';
COMMENT ON COLUMN noisy_lwlocks.workload IS 'name of the workload; NULL: noise alone';
COMMENT ON COLUMN noisy_lwlocks.clients IS 'clients of the workload; 0: noise alone';
COMMENT ON COLUMN noisy_lwlocks.level IS 'noise dose asked for, percent; 0 is the baseline';
COMMENT ON COLUMN noisy_lwlocks.wait_event IS 'tranche of the lock, named by the server';
COMMENT ON COLUMN noisy_lwlocks.samples IS 'times a process was seen waiting for it';
COMMENT ON COLUMN noisy_lwlocks.share_pct IS 'share of the active time of all processes at this number of clients and level, percent';
COMMENT ON COLUMN noisy_lwlocks.avg_waiters IS 'mean number of processes that waited for it';
COMMENT ON COLUMN noisy_lwlocks.max_waiters IS 'most processes of one kind that were seen waiting for it at once';
COMMENT ON COLUMN noisy_lwlocks.baseline_share_pct IS 'share_pct of the baseline; NULL: there is none';
COMMENT ON COLUMN noisy_lwlocks.baseline_avg_waiters IS 'avg_waiters of the baseline; NULL: there is none';
COMMENT ON COLUMN noisy_lwlocks.share_change_pp IS 'share_pct minus that of the baseline, percentage points';
COMMENT ON COLUMN noisy_lwlocks.avg_waiters_change IS 'avg_waiters minus that of the baseline';
COMMENT ON COLUMN noisy_lwlocks.samples_expected IS 'looks at all processes that the sample interval asks for';
COMMENT ON COLUMN noisy_lwlocks.samples_taken IS 'looks that were taken';
COMMENT ON COLUMN noisy_lwlocks.samples_missed IS 'looks that were missed, because the sampler did not get the CPU; they are skipped, not caught up';

-- Innermost: each block against the mean of the baselines around it. Then levels: means weighted by transactions, so that the
-- components of a level sum to its mean latency. Then the baseline, and the sums of all components.
CREATE VIEW noisy_attribution AS
    SELECT t.run_id, r.workload, t.clients, t.level, t.scope, t.component, t.baseline_ms, t.ms AS noisy_ms,
           t.ms - t.baseline_ms AS delta_ms,
           CASE WHEN t.level > 0 THEN 100 * (t.ms - t.baseline_ms) / nullif(t.total_ms - t.total_baseline_ms, 0) END AS share_pct,
           t.delta_mean_ms - noisy_t_quantile(0.975, nullif(t.n - 1, 0)) * t.delta_sd_ms / sqrt(t.n) AS delta_low_ms,
           t.delta_mean_ms + noisy_t_quantile(0.975, nullif(t.n - 1, 0)) * t.delta_sd_ms / sqrt(t.n) AS delta_high_ms,
           t.blocks, t.operations
    FROM (SELECT c.*, sum(c.ms) OVER same_level AS total_ms, sum(c.baseline_ms) OVER same_level AS total_baseline_ms
          FROM (SELECT g.*,
                       max(g.ms) FILTER (WHERE g.level = 0)
                           OVER (PARTITION BY g.run_id, g.clients, g.scope, g.component) AS baseline_ms
                FROM (SELECT d.run_id, d.clients, d.level, d.scope, d.component,
                             sum(d.ms * d.operations) / sum(d.operations) AS ms,
                             sum(d.operations)::bigint AS operations, count(*) AS blocks,
                             nullif(count(d.delta_ms), 0) AS n, avg(d.delta_ms) AS delta_mean_ms,
                             stddev_samp(d.delta_ms) AS delta_sd_ms
                      FROM (SELECT b.run_id, b.clients, b.level, u.scope, u.component, u.ms, u.operations,
                                   CASE WHEN b.level > 0 THEN u.ms -
                                       coalesce(((max(ARRAY[b.block, u.ms]) FILTER (WHERE b.level = 0) OVER earlier)[2]
                                                 + (min(ARRAY[b.block, u.ms]) FILTER (WHERE b.level = 0) OVER later)[2]) / 2,
                                                (max(ARRAY[b.block, u.ms]) FILTER (WHERE b.level = 0) OVER earlier)[2],
                                                (min(ARRAY[b.block, u.ms]) FILTER (WHERE b.level = 0) OVER later)[2])
                                       END AS delta_ms
                            FROM noisy_blocks b
                            JOIN noisy_block_budget u ON u.run_id = b.run_id AND u.block = b.block
                            WHERE b.accepted AND u.operations > 0
                            WINDOW earlier AS (PARTITION BY b.run_id, b.clients, u.scope, u.component ORDER BY b.block
                                               ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING),
                                   later AS (PARTITION BY b.run_id, b.clients, u.scope, u.component ORDER BY b.block
                                             ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING)) AS d
                      GROUP BY d.run_id, d.clients, d.level, d.scope, d.component) AS g) AS c
          WINDOW same_level AS (PARTITION BY c.run_id, c.clients, c.level, c.scope)) AS t
    JOIN noisy_run_records r ON r.run_id = t.run_id;
COMMENT ON VIEW noisy_attribution IS 'where the time of an operation went, without and with noise; the components of a level sum to the latency, their changes to its change, their shares to 100';
COMMENT ON COLUMN noisy_attribution.run_id IS 'run';
COMMENT ON COLUMN noisy_attribution.workload IS 'name of the workload';
COMMENT ON COLUMN noisy_attribution.clients IS 'clients of the workload';
COMMENT ON COLUMN noisy_attribution.level IS 'noise dose asked for, percent; 0 is the baseline';
COMMENT ON COLUMN noisy_attribution.scope IS 'mean: all transactions; tail: the slowest hundredth of the transactions of one client that were followed one by one; followed: all of these';
COMMENT ON COLUMN noisy_attribution.component IS 'cpu: the backend ran (growth at the same work is CPU inflation: caches, memory, frequency, a shared core); run_queue: it waited for a CPU; steal: the hypervisor ran somebody else, by the host''s count; lwlock, lock, io, other_waits: it slept for that; client: client, driver and the way between; backlog: the operation was due and waited for a client (open loop); unexplained: the rest';
COMMENT ON COLUMN noisy_attribution.baseline_ms IS 'time per transaction in the baseline, ms; NULL: there is none';
COMMENT ON COLUMN noisy_attribution.noisy_ms IS 'time per transaction at this level, ms';
COMMENT ON COLUMN noisy_attribution.delta_ms IS 'noisy_ms - baseline_ms; of scope mean they sum to the difference of avg_ms in noisy_results, against all baselines of the run';
COMMENT ON COLUMN noisy_attribution.share_pct IS 'share of the change of the latency, percent; may be negative or above 100; NULL for the baseline';
COMMENT ON COLUMN noisy_attribution.delta_low_ms IS 'lower end of the 95 % interval of the change, each block against the baselines around it, ms; NULL below two blocks';
COMMENT ON COLUMN noisy_attribution.delta_high_ms IS 'upper end of it, ms';
COMMENT ON COLUMN noisy_attribution.blocks IS 'accepted blocks with such a budget';
COMMENT ON COLUMN noisy_attribution.operations IS 'transactions that the means are over';

-- Percentiles of blocks are not merged: the median of the blocks stands for a level.
CREATE VIEW noisy_probes AS
    SELECT g.run_id, g.clients, g.level, g.probe, g.working_set_bytes, g.blocks, g.samples, g.median_ns, g.p90_ns,
           g.baseline_median_ns, g.baseline_p90_ns,
           100 * (g.median_ns / nullif(g.baseline_median_ns, 0) - 1) AS median_change_pct,
           100 * (g.p90_ns / nullif(g.baseline_p90_ns, 0) - 1) AS p90_change_pct, g.note
    FROM (SELECT l.*,
                 max(l.median_ns) FILTER (WHERE l.level = 0) OVER same AS baseline_median_ns,
                 max(l.p90_ns) FILTER (WHERE l.level = 0) OVER same AS baseline_p90_ns
          FROM (SELECT b.run_id, b.clients, b.level, p.probe, max(p.working_set_bytes) AS working_set_bytes,
                       count(*) AS blocks, sum(p.samples)::bigint AS samples,
                       percentile_cont(0.5) WITHIN GROUP (ORDER BY p.median_ns) AS median_ns,
                       percentile_cont(0.5) WITHIN GROUP (ORDER BY p.p90_ns) AS p90_ns, min(p.note) AS note
                FROM noisy_blocks b
                JOIN noisy_block_probes p ON p.run_id = b.run_id AND p.block = b.block
                WHERE b.accepted
                GROUP BY b.run_id, b.clients, b.level, p.probe) AS l
          WINDOW same AS (PARTITION BY l.run_id, l.clients, l.probe)) AS g;
COMMENT ON VIEW noisy_probes IS 'what the same small piece of work cost at each level: cache, memory and frequency told from waiting for a CPU, without hardware counters';
COMMENT ON COLUMN noisy_probes.run_id IS 'run';
COMMENT ON COLUMN noisy_probes.clients IS 'clients of the workload; 0: noise alone';
COMMENT ON COLUMN noisy_probes.level IS 'noise dose asked for, percent; 0 is the baseline';
COMMENT ON COLUMN noisy_probes.probe IS 'compute: a fixed computation without memory; cache_l2: a load from a set of a quarter of the second-level cache that was walked through a millisecond before; memory: a load from a set of twice the last-level cache';
COMMENT ON COLUMN noisy_probes.working_set_bytes IS 'bytes that the probe walks through; NULL: none';
COMMENT ON COLUMN noisy_probes.blocks IS 'accepted blocks';
COMMENT ON COLUMN noisy_probes.samples IS 'times it was measured';
COMMENT ON COLUMN noisy_probes.median_ns IS 'CPU time of the computation, or of a load: median of the blocks'' medians, ns; NULL: see note';
COMMENT ON COLUMN noisy_probes.p90_ns IS 'median of the blocks'' 90th percentiles, ns: what is evicted now and then shows here first';
COMMENT ON COLUMN noisy_probes.baseline_median_ns IS 'median_ns of the baseline; NULL: there is none';
COMMENT ON COLUMN noisy_probes.baseline_p90_ns IS 'p90_ns of the baseline';
COMMENT ON COLUMN noisy_probes.median_change_pct IS 'inflation of the median, percent';
COMMENT ON COLUMN noisy_probes.p90_change_pct IS 'inflation of the 90th percentile, percent';
COMMENT ON COLUMN noisy_probes.note IS 'why something is NULL';

-- Why, in words

CREATE FUNCTION noisy_report_cause(component text, delta float8) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT CASE component WHEN 'cpu' THEN CASE WHEN delta > 0 THEN 'CPU inflation at the same work' ELSE 'less CPU for the same work' END
                          WHEN 'run_queue' THEN 'run-queue delay' WHEN 'steal' THEN 'steal'
                          WHEN 'lwlock' THEN 'LWLock waits' WHEN 'lock' THEN 'Lock waits' WHEN 'io' THEN 'IO waits'
                          WHEN 'other_waits' THEN 'other waits' WHEN 'client' THEN 'client and driver'
                          WHEN 'backlog' THEN 'waiting for a client' ELSE component END
$$;
COMMENT ON FUNCTION noisy_report_cause(text, float8) IS 'a component of noisy_attribution for people';

-- Probes that were slower by a tenth or more.
CREATE FUNCTION noisy_report_probes(run bigint) RETURNS text
LANGUAGE sql STABLE PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT string_agg(@extschema@.noisy_report_wrap(w.line, '  - ', '    '), E'\n' ORDER BY w.clients, w.level)
    FROM (SELECT p.clients, p.level,
                 format('%snoise of %s %%, CPU time of the same work: ', nullif(p.clients, 0) || ' clients, ', p.level) ||
                 string_agg(format('%s %s %% (p90 %s %%)',
                                   CASE p.probe WHEN 'compute' THEN 'a computation' WHEN 'cache_l2' THEN 'a load from the L2 set'
                                                ELSE 'a load from memory' END,
                                   @extschema@.noisy_report_number(p.median_change_pct, 0, true),
                                   @extschema@.noisy_report_number(p.p90_change_pct, 0, true)), ', ' ORDER BY p.probe) || '.' AS line
          FROM @extschema@.noisy_probes p
          WHERE p.run_id = run AND p.level > 0 AND greatest(p.median_change_pct, p.p90_change_pct) >= 10
          GROUP BY p.clients, p.level) AS w
$$;
COMMENT ON FUNCTION noisy_report_probes(bigint)
    IS 'part of a section of noisy_report(): probes of fixed work that were slower by 10 % or more; NULL: none was';

-- Shares of five percent and more, the largest first; the rest is summed up. Causes whose intervals overlap are not told apart.
CREATE FUNCTION noisy_report_why(run bigint) RETURNS text
LANGUAGE sql STABLE PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT E'Why: where the change of the latency came from\n' || string_agg(w.line, E'\n' ORDER BY w.clients, w.level, w.scope)
           || coalesce(E'\n' || @extschema@.noisy_report_probes(run), '')
    FROM (SELECT c.clients, c.level, c.scope,
                 @extschema@.noisy_report_wrap(
                     format('%s clients, noise of %s %%: of %s ms in %s, ', c.clients, c.level,
                            @extschema@.noisy_report_number(sum(c.delta_ms), NULL, true),
                            CASE c.scope WHEN 'mean' THEN 'the mean' ELSE 'the slowest 1 %' END) ||
                     coalesce(string_agg(format('%s %% %s', @extschema@.noisy_report_number(c.share_pct, 0),
                                                @extschema@.noisy_report_cause(c.component, c.delta_ms)), ', '
                                         ORDER BY c.share_pct DESC)
                              FILTER (WHERE abs(c.share_pct) >= 5 AND c.component <> 'unexplained') || ', ', '') ||
                     coalesce(@extschema@.noisy_report_number(
                                  sum(c.share_pct) FILTER (WHERE abs(c.share_pct) < 5 AND c.component <> 'unexplained'), 0)
                              || ' % others, ', '') ||
                     format('%s %% unexplained.', @extschema@.noisy_report_number(
                                coalesce(sum(c.share_pct) FILTER (WHERE c.component = 'unexplained'), 0), 0)) ||
                     CASE WHEN max(c.delta_low_ms) FILTER (WHERE c.place = 1) IS NULL THEN ' One block each: no interval.'
                          WHEN max(c.delta_high_ms) FILTER (WHERE c.place = 2) > max(c.delta_low_ms) FILTER (WHERE c.place = 1)
                          THEN format(' Not separable: %s and %s.',
                                      @extschema@.noisy_report_cause(max(c.component) FILTER (WHERE c.place = 1), 1),
                                      @extschema@.noisy_report_cause(max(c.component) FILTER (WHERE c.place = 2), 1))
                          ELSE '' END, '  - ', '    ') AS line
          FROM (SELECT a.*,
                       CASE WHEN a.component <> 'unexplained' THEN
                           row_number() OVER (PARTITION BY a.clients, a.level, a.scope, a.component <> 'unexplained'
                                              ORDER BY a.delta_ms DESC) END AS place
                FROM @extschema@.noisy_attribution a
                WHERE a.run_id = run AND a.level > 0 AND a.scope IN ('mean', 'tail')) AS c
          WHERE c.share_pct IS NOT NULL
          GROUP BY c.clients, c.level, c.scope
          -- a change that is too small to speak of has no causes
          HAVING abs(sum(c.delta_ms)) > 0.05 * sum(c.baseline_ms)) AS w
$$;
COMMENT ON FUNCTION noisy_report_why(bigint)
    IS 'section of noisy_report(): the causes of what changed by more than 5 %, with their shares; NULL: nothing did, or nothing is known';

GRANT SELECT ON noisy_lwlocks, noisy_attribution, noisy_probes TO pg_monitor;
REVOKE ALL ON FUNCTION noisy_report_why(bigint), noisy_report_probes(bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION noisy_report_why(bigint), noisy_report_probes(bigint) TO pg_monitor;
