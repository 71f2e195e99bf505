-- Why it was slower, on runs that are made by hand, against values that are calculated by hand.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS pg_noisyneighbor;
RESET client_min_messages;
SET timezone = 'UTC';
SET extra_float_digits = 0;
BEGIN;
CREATE FUNCTION pg_temp.add_block(run bigint, block int, level numeric, accepted boolean DEFAULT true) RETURNS void LANGUAGE sql
    AS $$ INSERT INTO noisy_blocks (run_id, block, repeat, clients, level, started_at, duration_s, accepted, transactions, errors, tps,
                                    samples_expected, samples_taken)
          VALUES (run, block, 1, 10, level, '2026-01-01 00:00+00'::timestamptz + block * interval '1 min', 10, accepted, 100, 0, 10, 100, 98) $$;
CREATE FUNCTION pg_temp.add_budget(run bigint, block int, operations bigint, cpu float8, queue float8, lwlock float8,
                                   rest float8, scope text DEFAULT 'mean') RETURNS void LANGUAGE sql
    AS $$ INSERT INTO noisy_block_budget
          SELECT run, block, scope, c.component, operations, c.ms
          FROM (VALUES ('cpu', cpu), ('run_queue', queue), ('lwlock', lwlock), ('unexplained', rest)) AS c (component, ms) $$;

INSERT INTO noisy_run_records VALUES (900101, NULL, 'completed', '2026-01-01 00:00+00', '2026-01-01 00:10+00', 'somebody', 'tpcb-like',
                                      '{"levels": [0, 30]}', '{}', 1);
SELECT pg_temp.add_block(900101, b, level, b <> 7) FROM (VALUES (1, 0), (2, 30), (3, 0), (4, 0), (5, 30), (6, 0), (7, 30)) AS v (b, level);
SELECT pg_temp.add_budget(900101, 1, 100, 1, 0.5, 0.25, 0);
SELECT pg_temp.add_budget(900101, 2, 50, 1.5, 4.5, 0.75, -0.25);
SELECT pg_temp.add_budget(900101, 3, 100, 1, 0.5, 0.25, 0);
SELECT pg_temp.add_budget(900101, 4, 300, 1, 0.75, 0.25, 0);
SELECT pg_temp.add_budget(900101, 5, 150, 1.5, 4.75, 1.25, 0.25);
SELECT pg_temp.add_budget(900101, 6, 100, 1, 0.5, 0.25, 0);
SELECT pg_temp.add_budget(900101, 7, 100, 900, 900, 900, 900);

SELECT level, component, baseline_ms, noisy_ms, delta_ms, round(share_pct::numeric, 4) AS share_pct,
       round(delta_low_ms::numeric, 4) AS low, round(delta_high_ms::numeric, 4) AS high, blocks, operations
FROM noisy_attribution WHERE run_id = 900101 ORDER BY level, component;
SELECT level, sum(baseline_ms) AS baseline_ms, sum(noisy_ms) AS noisy_ms, sum(delta_ms) AS delta_ms,
       round(sum(share_pct)::numeric, 9) AS share_pct
FROM noisy_attribution WHERE run_id = 900101 GROUP BY level ORDER BY level;
SELECT a.delta_low_ms = d.mean - noisy_t_quantile(0.975, 1) * d.sd / sqrt(2) AS "the interval is that of the paired blocks"
FROM noisy_attribution a, (SELECT avg(x) AS mean, stddev_samp(x) AS sd FROM (VALUES (4.0::float8), (4.125)) AS v (x)) AS d
WHERE a.run_id = 900101 AND a.level = 30 AND a.component = 'run_queue';

-- one block of the dose, and a tail; a change below 5 % is not explained
INSERT INTO noisy_run_records VALUES (900102, NULL, 'completed', '2026-01-01 00:00+00', '2026-01-01 00:10+00', 'somebody', 'tpcb-like',
                                      '{"levels": [0, 30, 40]}', '{}', 1);
SELECT pg_temp.add_block(900102, b, level) FROM (VALUES (1, 0), (2, 30), (3, 40)) AS v (b, level);
SELECT pg_temp.add_budget(900102, 1, 100, 1, 0.5, 0.5, 0);
SELECT pg_temp.add_budget(900102, 2, 100, 1.0625, 0.5, 0.5, 0);
SELECT pg_temp.add_budget(900102, 3, 100, 0.75, 8.5, 1.75, 1);
SELECT pg_temp.add_budget(900102, 1, 3, 1, 0, 2, 0, 'tail');
SELECT pg_temp.add_budget(900102, 3, 2, 2, 66, 4, 1, 'tail');
INSERT INTO noisy_block_probes (run_id, block, probe, working_set_bytes, samples, p10_ns, median_ns, p90_ns, note) VALUES
    (900101, 1, 'memory', 67108864, 100, 80, 100, 120, NULL), (900101, 2, 'memory', 67108864, 100, 90, 125, 240, NULL),
    (900101, 3, 'memory', 67108864, 100, 80, 100, 120, NULL), (900101, 5, 'memory', 67108864, 100, 90, 125, 240, NULL),
    (900101, 7, 'memory', 67108864, 100, 9000, 9000, 9000, NULL), (900101, 1, 'compute', NULL, 100, 8, 10, 12, NULL),
    (900101, 2, 'compute', NULL, 100, 8, 10.5, 12, NULL), (900101, 1, 'cache_l2', NULL, 0, NULL, NULL, NULL, 'no such cache');
SELECT level, probe, working_set_bytes, blocks, samples, median_ns, p90_ns, baseline_median_ns, baseline_p90_ns, median_change_pct,
       p90_change_pct, note
FROM noisy_probes WHERE run_id = 900101 ORDER BY level, probe;
\pset format unaligned
\pset tuples_only on
SELECT noisy_report_why(900101);
SELECT noisy_report_why(900102);
SELECT noisy_report_why(900103) IS NULL AS "nothing is known of a run without budgets";
\pset format aligned
\pset tuples_only off

-- lightweight locks: a tranche that was seen at one level has a row at every level
INSERT INTO noisy_wait_samples (run_id, block, backend_type, wait_event_type, wait_event, samples, max_waiters) VALUES
    (900101, 1, 'client backend', 'CPU', 'CPU', 98, 4),
    (900101, 1, 'client backend', 'LWLock', 'WALWrite', 98, 3),
    (900101, 2, 'client backend', 'CPU', 'CPU', 49, 4),
    (900101, 2, 'client backend', 'LWLock', 'WALWrite', 392, 9),
    (900101, 2, 'walwriter', 'LWLock', 'WALWrite', 49, 1),
    (900101, 2, 'client backend', 'LWLock', 'ProcArray', 49, 2),
    (900101, 7, 'client backend', 'LWLock', 'BufferMapping', 49, 2);
SELECT level, wait_event, samples, round(share_pct::numeric, 3) AS share_pct, avg_waiters, max_waiters,
       round(baseline_share_pct::numeric, 3) AS baseline_share_pct, baseline_avg_waiters,
       round(share_change_pp::numeric, 3) AS share_change_pp, avg_waiters_change, samples_expected, samples_taken, samples_missed
FROM noisy_lwlocks WHERE run_id = 900101 ORDER BY level, wait_event;
ROLLBACK;

-- the host of this server, whatever it is
SELECT usable_cpus > 0 AND usable_cpus <= online_cpus AND llc_bytes > 0 AND llc_source IN ('sysfs', 'sysconf', 'fallback')
       AND block_size_bytes = current_setting('block_size')::int AS "the host is known" FROM noisy_host;
SELECT source, available OR reason <> '' AS "available or not for a reason", NOT available OR fallback IS NULL AND reason IS NULL
       AS "and nothing else where it is" FROM noisy_capabilities;
-- a host without anything
SET pg_noisyneighbor.proc_path = '/nowhere/proc';
SET pg_noisyneighbor.sys_path = '/nowhere/sys';
SELECT source, available, fallback FROM noisy_capabilities WHERE source !~ 'processes|cache';
SELECT count(*) AS reasons FROM noisy_capabilities WHERE reason ~ '/nowhere/';
