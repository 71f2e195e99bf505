-- What a monitoring system scrapes: samples with units of Prometheus, as a view and as exposition text.
--
-- Only two runs are shown, the live one and the latest that completed, and no label says which: so the number of series is
-- bounded by the numbers of clients and the levels that are in use, and a series goes on from run to run, as a
-- graph over weeks needs it. noisy_run_info names the runs. Counters and histograms are those of
-- one run: they begin anew with the next.

CREATE FUNCTION noisy_cumulative(h noisy_histogram, bounds_ms float8[]) RETURNS bigint[]
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT coalesce(array_agg(s.below ORDER BY s.n), '{}')
    FROM (SELECT l.n, (sum(coalesce(b.count, 0)) OVER (ORDER BY l.n))::bigint AS below
          FROM generate_series(1, cardinality(bounds_ms)) AS l (n)
          LEFT JOIN (SELECT 1 + width_bucket((c.low_ms + c.high_ms) / 2, bounds_ms) AS n, sum(c.count) AS count
                     FROM @extschema@.noisy_buckets(h) AS c
                     GROUP BY 1) AS b ON b.n = l.n) AS s
$$;
COMMENT ON FUNCTION noisy_cumulative(noisy_histogram, float8[])
    IS 'latencies up to each of the bounds, which are in ms and rise: what a histogram of Prometheus wants; the bounds are met within 0.4 %';

CREATE FUNCTION noisy_latency_bounds_ms() RETURNS float8[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT '{0.05,0.1,0.2,0.5,1,2,5,10,20,50,100,200,500,1000,2000,5000,10000,60000}'::float8[];
END;
COMMENT ON FUNCTION noisy_latency_bounds_ms() IS 'upper bounds of the latency buckets that monitoring systems are given, ms';

-- A function, because the view behind it takes long to plan, and few ask for it.
CREATE FUNCTION noisy_metrics_checks(run bigint) RETURNS TABLE (check_name text, passed boolean)
LANGUAGE sql STABLE PARALLEL SAFE ROWS 10
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT s.check_name, s.passed FROM @extschema@.noisy_sanity AS s WHERE s.run_id = run
$$;
COMMENT ON FUNCTION noisy_metrics_checks(bigint) IS 'part of noisy_metrics: the checks of a run';
REVOKE ALL ON FUNCTION noisy_metrics_checks(bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION noisy_metrics_checks(bigint) TO pg_monitor;

-- Cells of the latest run that completed: a number of clients at a level. Each metric has its branches, so that a condition
-- on it leaves the others out.
CREATE VIEW noisy_metrics AS
    SELECT f.metric, f.type, f.help, f.metric || s.suffix AS series, s.labels, s.value, f.place
    FROM (VALUES
        (1, 'noisy_runs_recorded', 'gauge', 'Runs that are recorded, by state.'),
        (2, 'noisy_run_info', 'gauge', 'The latest run that completed, and the live one: 1.'),
        (3, 'noisy_run_start_timestamp_seconds', 'gauge', 'When the run was started.'),
        (4, 'noisy_run_end_timestamp_seconds', 'gauge', 'When the run ended.'),
        (5, 'noisy_active_runs', 'gauge', 'Whether a run is on in this database.'),
        (6, 'noisy_live_phase_info', 'gauge', 'What the live run does: 1.'),
        (7, 'noisy_live_block', 'gauge', 'Block that is on, from 1.'),
        (8, 'noisy_live_blocks', 'gauge', 'Blocks of the live run.'),
        (9, 'noisy_live_clients', 'gauge', 'Clients of the block that is on.'),
        (10, 'noisy_live_level_ratio', 'gauge', 'Noise dose asked for in the block that is on, of one CPU per load thread.'),
        (11, 'noisy_live_elapsed_seconds', 'gauge', 'Time since the live run was started.'),
        (12, 'noisy_live_remaining_seconds', 'gauge', 'Time that the rest of the live run will take.'),
        (13, 'noisy_live_transactions_per_second', 'gauge', 'Transactions that ended in the last whole second.'),
        (14, 'noisy_live_latency_p99_seconds', 'gauge', '99th percentile of the latency in the last whole second.'),
        (15, 'noisy_live_idle_seconds', 'gauge', 'Time since a transaction was seen to end.'),
        (20, 'noisy_blocks_measured', 'gauge', 'Blocks of the latest run, accepted and rejected.'),
        (21, 'noisy_transactions_total', 'counter', 'Transactions in the accepted blocks of the latest run; begins anew with each run.'),
        (22, 'noisy_errors_total', 'counter', 'Transactions that failed in the accepted blocks of the latest run; begins anew with each run.'),
        (23, 'noisy_transactions_per_second', 'gauge', 'Throughput of the latest run.'),
        (24, 'noisy_latency_seconds', 'histogram', 'Latency of the transactions of the latest run; begins anew with each run.'),
        (25, 'noisy_latency_percentile_seconds', 'gauge', 'Percentiles of the latency, within 0.4 percent.'),
        (26, 'noisy_transactions_change_ratio', 'gauge', 'Change of the throughput against the interleaved baseline; 0 is none.'),
        (27, 'noisy_latency_p99_ratio', 'gauge', '99th percentile over that of the interleaved baseline; 1 is no change.'),
        (28, 'noisy_latency_p99_low_ratio', 'gauge', 'Lower end of the 95 percent interval of noisy_latency_p99_ratio.'),
        (29, 'noisy_latency_p99_high_ratio', 'gauge', 'Upper end of the 95 percent interval of noisy_latency_p99_ratio.'),
        (30, 'noisy_verdict_info', 'gauge', 'What the noise did to the 99th percentile: 1.'),
        (31, 'noisy_check_passed', 'gauge', 'Whether the latest run passed the check, see noisy_sanity.'),
        (40, 'noisy_dose_requested_ratio', 'gauge', 'Noise dose asked for, mean over the load threads.'),
        (41, 'noisy_dose_achieved_ratio', 'gauge', 'Noise dose delivered, mean over the load threads.'),
        (50, 'noisy_host_cpu_mode_ratio', 'gauge', 'CPU time of the host by mode.'),
        (51, 'noisy_host_cpu_owner_ratio', 'gauge', 'CPU time of the host by who used it.'),
        (52, 'noisy_host_run_delay_ratio', 'gauge', 'Time that server processes waited for a CPU, of one CPU.'),
        (53, 'noisy_host_throttled_ratio', 'gauge', 'Time that the control group was throttled.'),
        (54, 'noisy_host_pressure_ratio', 'gauge', 'Time in which some task waited for the resource.'),
        (60, 'noisy_wait_share_ratio', 'gauge', 'Share of the active time of all server processes; the ten largest of the run, the rest is other.'),
        (61, 'noisy_wait_processes', 'gauge', 'Mean number of processes that waited so.'),
        (70, 'noisy_checkpoints_total', 'counter', 'Checkpoints in the accepted blocks of the latest run; begins anew with each run.'),
        (71, 'noisy_written_bytes_total', 'counter', 'Pages of tables and indexes written, by kind of process; begins anew with each run.'),
        (72, 'noisy_wal_bytes_total', 'counter', 'WAL generated in the accepted blocks of the latest run; begins anew with each run.')
        ) AS f (place, metric, type, help)
    JOIN (
        SELECT 'noisy_runs_recorded' AS metric, '' AS suffix, jsonb_build_object('state', r.state) AS labels, count(*)::float8 AS value
        FROM noisy_runs r
        GROUP BY r.state
      UNION ALL
        SELECT m.metric, '', jsonb_build_object('role', r.role) || m.labels, m.value
        FROM (SELECT 'latest' AS role, t.*
              FROM noisy_run_records t
              WHERE t.run_id = (SELECT max(l.run_id) FROM noisy_run_records l WHERE l.state = 'completed')
              UNION ALL
              SELECT 'live', t.* FROM noisy_run_records t WHERE t.run_id = (SELECT max(l.run_id) FROM noisy_progress l)) AS r,
        LATERAL (VALUES
            ('noisy_run_info', jsonb_build_object('run_id', r.run_id::text, 'label', coalesce(left(r.label, 200), ''),
                                                  'workload', coalesce(left(r.workload, 200), '')), 1::float8),
            ('noisy_run_start_timestamp_seconds', '{}', date_part('epoch', r.started_at)),
            ('noisy_run_end_timestamp_seconds', '{}', date_part('epoch', r.finished_at))) AS m (metric, labels, value)
      UNION ALL
        SELECT 'noisy_active_runs', '', '{}', count(*)::float8 FROM noisy_progress
      UNION ALL
        SELECT m.metric, '', m.labels, m.value
        FROM noisy_progress p,
        LATERAL (VALUES
            ('noisy_live_phase_info', jsonb_build_object('phase', p.phase), 1::float8),
            ('noisy_live_block', '{}', p.block), ('noisy_live_blocks', '{}', p.blocks),
            ('noisy_live_clients', '{}', p.clients), ('noisy_live_level_ratio', '{}', p.level::float8 / 100),
            ('noisy_live_elapsed_seconds', '{}', p.elapsed_s), ('noisy_live_remaining_seconds', '{}', p.remaining_s),
            ('noisy_live_transactions_per_second', '{}', p.tps),
            ('noisy_live_latency_p99_seconds', '{}', p.p99_ms / 1000),
            ('noisy_live_idle_seconds', '{}', p.idle_s)) AS m (metric, labels, value)
      UNION ALL
        SELECT m.metric, '', jsonb_build_object('clients', s.clients::text, 'level', trim_scale(s.level)::text) || m.labels, m.value
        FROM noisy_results s,
        LATERAL (VALUES
            ('noisy_blocks_measured', '{"accepted": "yes"}'::jsonb, s.blocks::float8),
            ('noisy_blocks_measured', '{"accepted": "no"}', s.rejected_blocks), ('noisy_transactions_total', '{}', s.transactions),
            ('noisy_transactions_per_second', '{}', s.tps),
            ('noisy_latency_percentile_seconds', '{"percentile": "50"}', s.p50_ms / 1000),
            ('noisy_latency_percentile_seconds', '{"percentile": "95"}', s.p95_ms / 1000),
            ('noisy_latency_percentile_seconds', '{"percentile": "99"}', s.p99_ms / 1000),
            ('noisy_latency_percentile_seconds', '{"percentile": "99.9"}', s.p999_ms / 1000)) AS m (metric, labels, value)
        WHERE s.run_id = (SELECT max(l.run_id) FROM noisy_run_records l WHERE l.state = 'completed')
      UNION ALL
        SELECT m.metric, '', jsonb_build_object('clients', i.clients::text, 'level', trim_scale(i.level)::text) || m.labels, m.value
        FROM noisy_impact i,
        LATERAL (VALUES
            ('noisy_transactions_change_ratio', '{}'::jsonb, i.tps_change_pct / 100),
            ('noisy_latency_p99_ratio', '{}', i.p99_ratio), ('noisy_latency_p99_low_ratio', '{}', i.p99_ratio_low),
            ('noisy_latency_p99_high_ratio', '{}', i.p99_ratio_high),
            ('noisy_verdict_info', jsonb_build_object('verdict', i.verdict), 1)) AS m (metric, labels, value)
        WHERE i.run_id = (SELECT max(l.run_id) FROM noisy_run_records l WHERE l.state = 'completed')
      UNION ALL
        SELECT 'noisy_check_passed', '', jsonb_build_object('check', c.check_name), c.passed::int
        FROM noisy_metrics_checks((SELECT max(l.run_id) FROM noisy_run_records l WHERE l.state = 'completed')) c
      UNION ALL
        SELECT 'noisy_errors_total', '',
               jsonb_build_object('clients', e.clients::text, 'level', trim_scale(e.level)::text, 'kind', m.kind), m.value
        FROM (SELECT b.clients, b.level, sum(b.serialization_failures) AS serialization_failures, sum(b.deadlocks) AS deadlocks,
                     sum(b.connection_errors) AS connection_errors, sum(b.other_errors) AS other_errors
              FROM noisy_blocks b
              WHERE b.accepted AND b.run_id = (SELECT max(l.run_id) FROM noisy_run_records l WHERE l.state = 'completed')
              GROUP BY b.clients, b.level) AS e,
        LATERAL (VALUES ('serialization failure', e.serialization_failures::float8), ('deadlock', e.deadlocks),
                        ('connection', e.connection_errors), ('other', e.other_errors)) AS m (kind, value)
      UNION ALL
        SELECT 'noisy_latency_seconds', m.suffix,
               jsonb_build_object('clients', e.clients::text, 'level', trim_scale(e.level)::text) || m.labels, m.value
        FROM (SELECT h.clients, h.level, noisy_count(h.latency) AS n, noisy_mean(h.latency) AS mean_ms,
                     noisy_cumulative(h.latency, noisy_latency_bounds_ms()) AS below
              FROM (SELECT b.clients, b.level, noisy_merge(b.latency) AS latency
                    FROM noisy_blocks b
                    WHERE b.accepted AND b.clients > 0
                      AND b.run_id = (SELECT max(l.run_id) FROM noisy_run_records l WHERE l.state = 'completed')
                    GROUP BY b.clients, b.level OFFSET 0) AS h OFFSET 0) AS e,
        LATERAL (SELECT '_bucket' AS suffix, jsonb_build_object('le', (u.bound_ms / 1000)::text) AS labels, u.below::float8 AS value
                 FROM unnest(noisy_latency_bounds_ms(), e.below) AS u (bound_ms, below)
                 UNION ALL
                 VALUES ('_bucket', '{"le": "+Inf"}'::jsonb, e.n::float8), ('_count', '{}', e.n),
                        ('_sum', '{}', coalesce(e.n * e.mean_ms / 1000, 0))) AS m
      UNION ALL
        SELECT m.metric, '',
               jsonb_build_object('clients', d.clients::text, 'level', trim_scale(d.level)::text, 'stressor', d.stressor), m.value
        FROM (SELECT b.clients, b.level, t.stressor, avg(t.requested_pct) AS requested_pct, avg(t.achieved_pct) AS achieved_pct
              FROM noisy_blocks b
              JOIN noisy_dose t ON t.run_id = b.run_id AND t.block = b.block
              WHERE b.accepted AND b.run_id = (SELECT max(l.run_id) FROM noisy_run_records l WHERE l.state = 'completed')
              GROUP BY b.clients, b.level, t.stressor) AS d,
        LATERAL (VALUES ('noisy_dose_requested_ratio', d.requested_pct / 100),
                        ('noisy_dose_achieved_ratio', d.achieved_pct / 100)) AS m (metric, value)
      UNION ALL
        SELECT m.metric, '', jsonb_build_object('clients', h.clients::text, 'level', trim_scale(h.level)::text) || m.labels, m.pct / 100
        FROM (SELECT b.clients, b.level, avg(u.user_pct) AS user_pct, avg(u.system_pct) AS system_pct, avg(u.iowait_pct) AS iowait_pct,
                     avg(u.steal_pct) AS steal_pct, avg(u.idle_pct) AS idle_pct, avg(u.noise_pct) AS noise_pct,
                     avg(u.server_pct) AS server_pct, avg(u.driver_pct) AS driver_pct, avg(u.own_pct) AS own_pct,
                     avg(u.foreign_pct) AS foreign_pct, avg(u.run_delay_pct) AS run_delay_pct, avg(u.throttled_pct) AS throttled_pct,
                     avg(u.psi_cpu_some_pct) AS psi_cpu_some_pct, avg(u.psi_memory_some_pct) AS psi_memory_some_pct,
                     avg(u.psi_io_some_pct) AS psi_io_some_pct
              FROM noisy_blocks b
              JOIN noisy_host_usage u ON u.run_id = b.run_id AND u.block = b.block
              WHERE b.accepted AND b.run_id = (SELECT max(l.run_id) FROM noisy_run_records l WHERE l.state = 'completed')
              GROUP BY b.clients, b.level) AS h,
        LATERAL (VALUES
            ('noisy_host_cpu_mode_ratio', '{"mode": "user"}'::jsonb, h.user_pct),
            ('noisy_host_cpu_mode_ratio', '{"mode": "system"}', h.system_pct),
            ('noisy_host_cpu_mode_ratio', '{"mode": "iowait"}', h.iowait_pct),
            ('noisy_host_cpu_mode_ratio', '{"mode": "steal"}', h.steal_pct),
            ('noisy_host_cpu_mode_ratio', '{"mode": "idle"}', h.idle_pct),
            ('noisy_host_cpu_owner_ratio', '{"owner": "noise"}', h.noise_pct),
            ('noisy_host_cpu_owner_ratio', '{"owner": "server"}', h.server_pct),
            ('noisy_host_cpu_owner_ratio', '{"owner": "driver"}', h.driver_pct),
            ('noisy_host_cpu_owner_ratio', '{"owner": "own"}', h.own_pct),
            ('noisy_host_cpu_owner_ratio', '{"owner": "foreign"}', h.foreign_pct),
            ('noisy_host_run_delay_ratio', '{}', h.run_delay_pct), ('noisy_host_throttled_ratio', '{}', h.throttled_pct),
            ('noisy_host_pressure_ratio', '{"resource": "cpu"}', h.psi_cpu_some_pct),
            ('noisy_host_pressure_ratio', '{"resource": "memory"}', h.psi_memory_some_pct),
            ('noisy_host_pressure_ratio', '{"resource": "io"}', h.psi_io_some_pct)) AS m (metric, labels, pct)
      UNION ALL
        SELECT m.metric, '',
               jsonb_build_object('clients', w.clients::text, 'level', trim_scale(w.level)::text, 'type', w.type, 'event', w.event), m.value
        FROM (SELECT g.clients, g.level, CASE WHEN g.place <= 10 THEN g.wait_event_type ELSE 'other' END AS type,
                     CASE WHEN g.place <= 10 THEN g.wait_event ELSE 'other' END AS event,
                     sum(g.share_pct) / 100 AS share, sum(g.avg_waiters) AS processes
              FROM (SELECT t.*, dense_rank() OVER (ORDER BY t.run_share DESC, t.wait_event_type, t.wait_event) AS place
                    FROM (SELECT e.clients, e.level, e.wait_event_type, e.wait_event, e.share_pct, e.avg_waiters,
                                 sum(e.share_pct) OVER (PARTITION BY e.wait_event_type, e.wait_event) AS run_share
                          FROM noisy_wait_events e
                          WHERE e.run_id = (SELECT max(l.run_id) FROM noisy_run_records l WHERE l.state = 'completed')) AS t) AS g
              GROUP BY 1, 2, 3, 4) AS w,
        LATERAL (VALUES ('noisy_wait_share_ratio', w.share), ('noisy_wait_processes', w.processes)) AS m (metric, value)
      UNION ALL
        SELECT m.metric, '', jsonb_build_object('clients', c.clients::text, 'level', trim_scale(c.level)::text) || m.labels, m.value
        FROM (SELECT b.clients, b.level, sum(w.checkpoints_timed) AS timed, sum(w.checkpoints_requested) AS requested,
                     sum(w.checkpointer_bytes) AS checkpointer, sum(w.bgwriter_bytes) AS bgwriter, sum(w.backend_bytes) AS backend,
                     sum(w.wal_bytes) AS wal
              FROM noisy_blocks b
              JOIN noisy_bgwriter w ON w.run_id = b.run_id AND w.block = b.block
              WHERE b.accepted AND b.run_id = (SELECT max(l.run_id) FROM noisy_run_records l WHERE l.state = 'completed')
              GROUP BY b.clients, b.level) AS c,
        LATERAL (VALUES
            ('noisy_checkpoints_total', '{"kind": "timed"}'::jsonb, c.timed::float8),
            ('noisy_checkpoints_total', '{"kind": "requested"}', c.requested),
            ('noisy_written_bytes_total', '{"process": "checkpointer"}', c.checkpointer),
            ('noisy_written_bytes_total', '{"process": "background writer"}', c.bgwriter),
            ('noisy_written_bytes_total', '{"process": "backend"}', c.backend),
            ('noisy_wal_bytes_total', '{}', c.wal)) AS m (metric, labels, value)) AS s ON s.metric = f.metric
    WHERE s.value IS NOT NULL;
COMMENT ON VIEW noisy_metrics IS 'samples for monitoring systems: the live run of this database and the latest one that completed, in base units; noisy_prometheus() prints them';
COMMENT ON COLUMN noisy_metrics.metric IS 'name of the metric';
COMMENT ON COLUMN noisy_metrics.type IS 'gauge; counter or histogram: of the latest run, begins anew with the next';
COMMENT ON COLUMN noisy_metrics.help IS 'what it is';
COMMENT ON COLUMN noisy_metrics.series IS 'name of the sample: metric, of a histogram with _bucket, _count or _sum';
COMMENT ON COLUMN noisy_metrics.labels IS 'labels, all of them texts';
COMMENT ON COLUMN noisy_metrics.value IS 'value, in the unit that the name ends with';
COMMENT ON COLUMN noisy_metrics.place IS 'order of the metrics';

-- As exposition text

CREATE FUNCTION noisy_prometheus_labels(labels jsonb) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT '{' || string_agg(e.key || '="' || replace(replace(replace(e.value, E'\\', E'\\\\'), '"', E'\\"'), E'\n', E'\\n') || '"',
                             ',' ORDER BY e.key COLLATE "C") || '}'
    FROM jsonb_each_text(labels) AS e
$$;
COMMENT ON FUNCTION noisy_prometheus_labels(jsonb) IS 'labels of a sample in braces, their values escaped; NULL: there are none';

CREATE FUNCTION noisy_prometheus(labels jsonb DEFAULT '{}') RETURNS text
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
SET extra_float_digits = 1
AS $$
DECLARE
    wrong text;
    lines text;
BEGIN
    IF labels IS NULL OR jsonb_typeof(labels) <> 'object' THEN
        RAISE EXCEPTION USING
            ERRCODE = 'invalid_parameter_value',
            MESSAGE = 'labels must be a JSON object',
            HINT = 'For example {"server": "db1"}.';
    END IF;
    SELECT min(k.name) INTO wrong FROM jsonb_object_keys(labels) AS k (name) WHERE k.name !~ '^[a-zA-Z][a-zA-Z0-9_]*$';
    IF wrong IS NOT NULL THEN
        RAISE EXCEPTION USING
            ERRCODE = 'invalid_parameter_value',
            MESSAGE = format('"%s" cannot be the name of a label', wrong),
            HINT = 'Names of labels consist of letters, digits and underscores, and begin with a letter.';
    END IF;
    SELECT string_agg(format(E'# HELP %s %s\n# TYPE %1$s %3$s\n%4$s', m.metric, m.help, m.type, m.samples), '' ORDER BY m.place)
        INTO lines
    FROM (SELECT s.place, s.metric, s.help, s.type,
                 string_agg(s.series || coalesce(@extschema@.noisy_prometheus_labels(noisy_prometheus.labels || s.labels), '') || ' ' ||
                            CASE s.value WHEN 'Infinity' THEN '+Inf' WHEN '-Infinity' THEN '-Inf' ELSE s.value::text END || E'\n',
                            '' ORDER BY (s.labels - 'le')::text COLLATE "C", s.series COLLATE "C", (s.labels ->> 'le')::float8) AS samples
          FROM @extschema@.noisy_metrics AS s
          GROUP BY s.place, s.metric, s.help, s.type) AS m;
    -- A database without an encoding may hold bytes that are no characters.
    RETURN CASE WHEN getdatabaseencoding() = 'SQL_ASCII' THEN regexp_replace(lines, '[^\u0001-\u007f]', '?', 'g') ELSE lines END;
END
$$;
COMMENT ON FUNCTION noisy_prometheus(jsonb)
    IS 'noisy_metrics in the exposition format of Prometheus, for a scrape or a textfile collector; labels are added to every sample, those of the sample win';

GRANT SELECT ON noisy_metrics TO pg_monitor;
REVOKE ALL ON FUNCTION noisy_prometheus(jsonb) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION noisy_prometheus(jsonb) TO pg_monitor;
