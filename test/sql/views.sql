-- Views and report on runs that are made by hand, against values that are calculated by hand.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS pg_noisyneighbor;
RESET client_min_messages;
SET timezone = 'UTC';
SET extra_float_digits = 0;
\set SHOW_CONTEXT never
\set ON_ERROR_ROLLBACK on
BEGIN;

-- n transactions of ms each: every percentile is that value, exactly
CREATE FUNCTION pg_temp.same(n int, ms float8) RETURNS noisy_histogram LANGUAGE sql
    AS $$ SELECT noisy_histogram_agg(ms) FROM generate_series(1, n) $$;
-- a block at a minute of the first of January; latency NULL: no workload
CREATE FUNCTION pg_temp.add_block(run bigint, block int, clients int, level numeric, minute float8, tps float8,
                                  latency noisy_histogram, accepted boolean DEFAULT true) RETURNS void LANGUAGE sql
    AS $$ INSERT INTO noisy_blocks (run_id, block, repeat, clients, level, achieved_pct, started_at, duration_s, accepted,
                                    reject_reason, transactions, errors, tps, latency, samples_expected, samples_taken)
          VALUES (run, block, 1, clients, level, level * 0.99, '2026-01-01 00:00+00'::timestamptz + minute * interval '1 min',
                  10, accepted, CASE WHEN NOT accepted THEN 'foreign CPU' END,
                  CASE WHEN clients > 0 THEN coalesce(noisy_count(latency), 0) END,
                  CASE WHEN clients > 0 THEN 0 END, CASE WHEN clients > 0 THEN tps END, latency, 100, 98) $$;
CREATE FUNCTION pg_temp.add_run(run bigint, state text DEFAULT 'completed', workload text DEFAULT 'tpcb-like')
    RETURNS void LANGUAGE sql
    AS $$ INSERT INTO noisy_run_records VALUES (run, NULL, state, '2026-01-01 00:00+00', '2026-01-01 00:10+00', 'somebody',
                                                workload, '{"levels": [0, 30]}', '{}', 1) $$;
CREATE FUNCTION pg_temp.close_to(a float8, b float8) RETURNS boolean LANGUAGE sql
    AS $$ SELECT abs(a - b) <= 1e-9 * greatest(abs(a), abs(b)) $$;

-- Run 900001: three repeats of baseline, dose, baseline
SELECT pg_temp.add_run(900001);
SELECT pg_temp.add_block(900001, b, 10, level, b, tps, pg_temp.same(tps * 10, ms))
FROM (VALUES (1, 0, 2.0, 100), (2, 30, 4.0, 70), (3, 0, 2.0, 100),
             (4, 0, 2.2, 100), (5, 30, 4.0, 65), (6, 0, 1.8, 100),
             (7, 0, 2.0, 90), (8, 30, 4.4, 70), (9, 0, 2.0, 100)) AS v (b, level, ms, tps);

SELECT block, level, pair, before_block, after_block, round(base_tps::numeric, 3) AS base_tps,
       round(base_p99_ms::numeric, 6) AS base_p99_ms
FROM noisy_block_effects WHERE run_id = 900001 ORDER BY block;

SELECT pg_temp.close_to(p99_ratio, exp(d.mean)) AS "the ratio is the exponential of the mean logarithm",
       pg_temp.close_to(p99_ratio_low, exp(d.mean - 4.302652729911275 * d.sd / sqrt(3)))
           AND pg_temp.close_to(p99_ratio_high, exp(d.mean + 4.302652729911275 * d.sd / sqrt(3)))
           AS "the interval is Student's with two degrees of freedom",
       pg_temp.close_to(p99_noise_floor_pct, 200 * sqrt((ln(2.2 / 2.0) ^ 2 + ln(2.0 / 1.8) ^ 2) / 2))
           AS "the floor is twice the spread of the baselines that meet",
       pg_temp.close_to(tps_change_pct, 100 * (exp((ln(0.7) + ln(0.65) + ln(70 / sqrt(90 * 100))) / 3) - 1))
           AS "tps against the interpolated baseline",
       dose_blocks, verdict, tps_verdict, blocks_needed,
       round(avg_change_ms::numeric, 6) AS avg_change_ms, round(p99_change_ms::numeric, 6) AS p99_change_ms
FROM noisy_impact,
     (SELECT avg(x) AS mean, stddev_samp(x) AS sd
      FROM unnest(ARRAY[ln(4.0 / 2.0), ln(4.0 / sqrt(2.2 * 1.8)), ln(4.4 / 2.0)]::float8[]) AS x) AS d
WHERE run_id = 900001 AND level = 30;
SELECT verdict, tps_verdict, tps_change_pct, p99_ratio, p99_ratio_low, p99_change_ms, blocks_needed
FROM noisy_impact WHERE run_id = 900001 AND level = 0;

-- Run 900002: the baseline of a block is weighted by time, a steady drift cancels, rejected blocks do not count
SELECT pg_temp.add_run(900002);
SELECT pg_temp.add_block(900002, b, 10, level, minute, 1000 / ms, pg_temp.same(100, ms), accepted)
FROM (VALUES (1, 0, 0, 1.0, true), (2, 30, 1, 1000, false), (3, 30, 1, 2 * 16 ^ 0.25, true), (4, 0, 2, 50, false),
             (5, 40, 3, 3 * 16 ^ 0.75, true), (6, 0, 4, 16.0, true)) AS v (b, level, minute, ms, accepted);
SELECT level, dose_blocks, round(p99_ratio::numeric, 9) AS p99_ratio, p99_ratio_low IS NULL AS no_interval, verdict,
       blocks_needed > 2 AS more_are_needed, round(p99_noise_floor_pct::numeric, 3) AS floor_pct
FROM noisy_impact WHERE run_id = 900002 ORDER BY level;
SELECT level, blocks, rejected_blocks, transactions FROM noisy_results WHERE run_id = 900002 ORDER BY level;

-- Run 900003: stopped after a dose, so there is a baseline on one side only; two numbers of clients stay apart
SELECT pg_temp.add_run(900003, 'stopped');
SELECT pg_temp.add_block(900003, b, clients, level, b, 100, pg_temp.same(100, ms))
FROM (VALUES (1, 10, 0, 2.0), (2, 10, 30, 5.0), (3, 20, 0, 7.0), (4, 20, 30, 7.0)) AS v (b, clients, level, ms);
SELECT block, clients, pair, before_block, after_block, round(exp(p99_log_ratio)::numeric, 6) AS ratio
FROM noisy_block_effects WHERE run_id = 900003 ORDER BY block;
SELECT clients, verdict, blocks_needed FROM noisy_impact WHERE run_id = 900003 AND level = 30 ORDER BY clients;

-- Run 900004: no difference, an improvement, and a block in which no transaction ended
SELECT pg_temp.add_run(900004);
SELECT pg_temp.add_block(900004, b, 10, level, b, CASE WHEN ms IS NULL THEN 0 ELSE 1000 / ms END,
                         coalesce(pg_temp.same(100, ms), 'v1 count=0'))
FROM (VALUES (1, 0, 2.0), (2, 10, 2.01), (3, 20, 1.0), (4, 30, 9.0), (5, 0, 2.0),
             (6, 0, 2.0), (7, 30, NULL), (8, 20, 1.01), (9, 10, 2.0), (10, 0, 2.0)) AS v (b, level, ms);
SELECT level, dose_blocks, stalled_blocks, verdict, tps_verdict, blocks_needed
FROM noisy_impact WHERE run_id = 900004 ORDER BY level;

-- Verdicts: where the interval lies to a floor of 5 %
SELECT effect, half_width, noisy_verdict(effect, half_width, 5) AS verdict
FROM (VALUES (0.1, 0.05), (0.1, 0.052), (0.0, 0.048), (0.0, 0.049), (-0.1, 0.05), (-0.1, 0.052), (0.1, NULL),
             (NULL, 0.1)) AS v (effect, half_width);
-- Run 900005: percentiles come from merged histograms, are in order, and say what they rest on
SELECT pg_temp.add_run(900005);
SELECT pg_temp.add_block(900005, 1, 10, 0, 1, 20, pg_temp.same(200, 1));
SELECT pg_temp.add_block(900005, 2, 10, 0, 2, 20, (SELECT noisy_merge(h) FROM (VALUES (pg_temp.same(196, 1)), (pg_temp.same(4, 9))) AS v (h)));
SELECT pg_temp.add_block(900005, 3, 10, 0, 3, 60, (SELECT noisy_histogram_agg(exp(sin(i) * 3)) FROM generate_series(1, 600) AS i));
SELECT blocks, transactions, round(tps::numeric, 6) AS tps, low_n,
       min_ms <= p50_ms AND p50_ms <= p75_ms AND p75_ms <= p90_ms AND p90_ms <= p95_ms AND p95_ms <= p99_ms
           AND p99_ms <= p999_ms AND p999_ms <= max_ms AS "in order",
       p50_ms BETWEEN 1 AND 1.004 AS "the median of all transactions",
       noisy_percentile((SELECT noisy_merge(latency) FROM noisy_blocks WHERE run_id = 900005), 0.99) = p99_ms AS "p99 of all transactions"
FROM noisy_results WHERE run_id = 900005;

-- Waits: idle processes are left out, blocks without an event count as passes, the raw table keeps all
INSERT INTO noisy_wait_samples (run_id, block, backend_type, wait_event_type, wait_event, samples, max_waiters) VALUES
    (900001, 1, 'client backend', 'CPU', 'CPU', 294, 4),
    (900001, 2, 'client backend', 'CPU', 'CPU', 147, 3),
    (900001, 2, 'client backend', 'LWLock', 'WALWrite', 441, 9),
    (900001, 2, 'client backend', 'Client', 'ClientRead', 9999, 10),
    (900001, 2, 'client backend', 'Client', 'ClientWrite', 3, 1),
    (900001, 2, 'client backend', 'Extension', 'Extension', 98, 1),
    (900001, 2, 'client backend', 'Timeout', 'PgSleep', 5, 1),
    (900001, 2, 'walsender', 'Client', 'WalSenderWaitForWAL', 98, 1),
    (900001, 2, 'checkpointer', 'Timeout', 'CheckpointWriteDelay', 90, 1),
    (900001, 2, 'checkpointer', 'Timeout', 'SpinDelay', 1, 1),
    (900001, 2, 'somebody''s worker', 'Extension', 'SomebodysMain', 98, 1),
    (900001, 2, 'walwriter', 'Activity', 'WalWriterMain', 98, 1);
SELECT level, backend_type, wait_event_type, wait_event, samples, round(share_pct::numeric, 3) AS share_pct,
       round(avg_waiters::numeric, 3) AS avg_waiters, max_waiters
FROM noisy_wait_events WHERE run_id = 900001 ORDER BY level, samples DESC, backend_type, wait_event;
SELECT round(sum(share_pct)::numeric, 6) AS "shares sum to" FROM noisy_wait_events WHERE run_id = 900001 GROUP BY level;
SELECT sum(samples) AS "raw samples" FROM noisy_wait_samples WHERE run_id = 900001;

-- Run 900006: noise alone; run 900007: failed before its first block
SELECT pg_temp.add_run(900006, 'completed', NULL);
SELECT pg_temp.add_block(900006, 1, 0, 30, 1, NULL, NULL);
SELECT pg_temp.add_run(900007, 'failed');
UPDATE noisy_run_records SET error = 'could not connect 3 of 10 clients' WHERE run_id = 900007;
SELECT clients, level, achieved_pct, blocks, transactions, tps, avg_ms, p99_ms, low_n FROM noisy_results WHERE run_id = 900006;
SELECT count(*) FROM noisy_impact WHERE run_id IN (900006, 900007);
SELECT state, error FROM noisy_runs WHERE run_id = 900007;

-- A condition on run_id, one or several, reaches the index of the blocks
SET LOCAL enable_seqscan = off;
CREATE FUNCTION pg_temp.uses_index(view text, condition text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    line text;
    found_index boolean := false;
    found_whole boolean := false;
BEGIN
    FOR line IN EXECUTE format('EXPLAIN (COSTS OFF) SELECT * FROM %s WHERE %s', view, condition) LOOP
        found_index := found_index OR line ~ 'noisy_blocks_pkey';
        found_whole := found_whole OR line ~ 'Seq Scan on noisy_blocks';
    END LOOP;
    RETURN found_index AND NOT found_whole;
END $$;
SELECT v, c, pg_temp.uses_index(v, c)
FROM unnest('{noisy_results,noisy_block_effects,noisy_impact,noisy_wait_events}'::text[]) AS v,
     unnest('{run_id = 900001,"run_id IN (900001, 900002)","run_id = ANY (''{900001,900002}'')"}'::text[]) AS c;
RESET enable_seqscan;

-- Run 900009: its server died, nobody is left to say so
SELECT pg_temp.add_run(900009, 'running');
UPDATE noisy_run_records SET finished_at = NULL WHERE run_id = 900009;
SELECT state, error FROM noisy_runs WHERE run_id = 900009;

-- The report of every kind of run fits a terminal
INSERT INTO noisy_run_records VALUES
    (900008, E'nightly "A" <b>\x1b[31m\n\t' || repeat('x', 100), 'stopped', '2026-01-01 10:00+00', '2026-01-01 10:10:03.5+00', 'Bob''s "role"',
     'tpcb-like',
     '{"workload": "tpcb-like", "clients": [10, 50], "levels": [0, 30, 40], "noise": {"cpu": {"workers": 4, "bytes": 0},
       "memory": {"workers": 1, "bytes": 268435456}}, "noise_processes": 3, "duration_s": 10, "warmup_s": 2, "settle_s": 0.2,
       "repeats": 3, "query_mode": "prepared", "threads": 2, "server": null, "checkpoint": "none", "sample_interval_ms": 10}',
     '{"cpu_model": "Some CPU 9000", "kernel": "6.1.0", "virtualisation": "kvm", "online_cpus": 4, "affinity_cpus": 4,
       "usable_cpus": 1.8, "quota_cpus": 1.8, "quota_source": "/sys/fs/cgroup/cpu.max", "mem_total_bytes": 8589934592, "autogroup": 1,
       "block_size_bytes": 8192, "scale": 10, "settings": {"server_version": "15.8", "shared_buffers": "16384", "fsync": "on",
       "synchronous_commit": "on"}}', 4711);
INSERT INTO noisy_blocks (run_id, block, repeat, clients, level, achieved_pct, started_at, duration_s, accepted, reject_reason,
                          transactions, errors, serialization_failures, deadlocks, connection_errors, other_errors, last_error,
                          tps, latency, driver_busiest_pct, driver_bound, samples_expected, samples_taken)
    SELECT 900008, block, repeat, 50, level, achieved_pct, started_at, duration_s, block <> 3 AND accepted,
           CASE WHEN block = 3 THEN 'foreign CPU 12 %' END, transactions, block, 0, block, 0, 0,
           CASE WHEN block = 5 THEN E'deadlock\x1bdetected' END, tps, latency, 50 + block * 5, block > 8, 1000, 900
    FROM noisy_blocks WHERE run_id = 900001;
INSERT INTO noisy_dose
    SELECT 900008, b, s, w, 30, CASE WHEN s = 'memory' THEN 30 ELSE 30 - w / 2.0 END,
           CASE WHEN s = 'memory' THEN 80530637 ELSE 12345.67 END, CASE WHEN s = 'memory' THEN 'bytes' ELSE 'primes/s' END,
           CASE WHEN s = 'memory' THEN 0.1 ELSE 30 - w / 2.0 END, s = 'cpu' AND w > 2, '{29,30}'
    FROM unnest('{2,5,8}'::int[]) AS b, (VALUES ('cpu', 4), ('memory', 1)) AS k (s, n), generate_series(1, n) AS w;
INSERT INTO noisy_wait_samples SELECT 900008, block, backend_type, wait_event_type, wait_event, samples * 10, max_waiters
    FROM noisy_wait_samples WHERE run_id = 900001;
INSERT INTO noisy_timeline (run_id, block, at, second, clients, level, checkpoint)
    SELECT 900008, block, started_at + s * interval '1 s', s, clients, level, block IN (2, 5)
    FROM noisy_blocks, generate_series(1, 10) AS s WHERE run_id = 900008;
INSERT INTO noisy_bgwriter (run_id, block, checkpointer_bytes, bgwriter_bytes, wal_bytes, checkpoints_timed, checkpoints_requested, note)
    SELECT 900008, block, 10485760, 0, 52428800, CASE WHEN block IN (2, 5) THEN 1 ELSE 0 END, 0, 'backends: not counted here'
    FROM noisy_blocks WHERE run_id = 900008;
INSERT INTO noisy_host_usage (run_id, block, busy_pct, iowait_pct, steal_pct, idle_pct, noise_pct, server_pct, driver_pct, own_pct,
                              foreign_pct, run_delay_pct, throttled_pct, note)
    SELECT 900008, block, 80, 0.5, block * 0.2, 18, level, 35.25, 12, 0.4, CASE WHEN block = 5 THEN 7 ELSE 1 END, 14.2, block,
           'pressure: not supported'
    FROM noisy_blocks WHERE run_id = 900008;
\pset format unaligned
\pset tuples_only on
SELECT noisy_report(900008);
SELECT noisy_report(900006);
SELECT noisy_report(900007);
SELECT noisy_report(900009);
\pset format aligned
\pset tuples_only off
-- Runs 900010 to 900012: nothing, an improvement, nothing accepted
SELECT pg_temp.add_run(run) FROM generate_series(900010, 900012) AS run;
SELECT pg_temp.add_block(900010, b, 10, b % 2 * 30, b, 10, pg_temp.same(100, 1 + b % 3 * 0.001)) FROM generate_series(0, 6) AS b;
SELECT pg_temp.add_block(900011, b, 10, b % 2 * 30, b, 10, pg_temp.same(100, 2 - b % 2)) FROM generate_series(0, 6) AS b;
SELECT pg_temp.add_block(900012, b, 10, b % 2 * 30, b, 10, pg_temp.same(100, 1), false) FROM generate_series(0, 2) AS b;
SELECT run_id, noisy_report_verdict(run_id) AS verdict FROM noisy_runs WHERE run_id BETWEEN 900001 AND 900012 ORDER BY run_id;
SELECT run_id, noisy_report_warnings_run(run_id) AS warning FROM unnest('{900003,900004,900009,900012}'::bigint[]) AS run_id;
SELECT max(length(line)) <= 100 AS "fits 100 columns", bool_and(line !~ '[\u0001-\u001f\u007f]') AS "no control characters",
       bool_and(line !~ '\s$') AS "no white space at the end"
FROM noisy_runs, regexp_split_to_table(noisy_report(run_id), E'\n') AS line WHERE run_id BETWEEN 900001 AND 900012;
SELECT noisy_report(-1);
\echo :LAST_ERROR_SQLSTATE
SELECT noisy_report(NULL);
\echo :LAST_ERROR_SQLSTATE

-- A report of large and odd numbers
SELECT noisy_report_number(x) FROM unnest('{0,0.01234,9.9994,12.345,123.45,12345.6,-5,1e13,NaN,NULL}'::float8[]) AS x;
SELECT noisy_report_number(33.333, 1, true), noisy_report_number(-33.333, 1, true), noisy_report_number(0, 1, true);
SELECT noisy_report_wrap('one two three ' || repeat('4', 12) || ' five', '- ', '  ', 10);
SELECT noisy_report_duration(s), noisy_report_bytes(s) FROM unnest('{0.25,119,125,7300,3e9}'::float8[]) AS s;

-- Who may read: pg_monitor; who may act: nobody who was not given it
CREATE ROLE regress_noisy_reader IN ROLE pg_monitor;
CREATE ROLE regress_noisy_nobody;
SET ROLE regress_noisy_reader;
SELECT count(*) > 0 AS can_read FROM noisy_runs, noisy_results, noisy_impact, noisy_wait_events LIMIT 1;
SELECT count(*) FROM noisy_progress;
SELECT length(noisy_report(900001)) > 0 AS can_report;
DELETE FROM noisy_runs;
INSERT INTO noisy_blocks DEFAULT VALUES;
SELECT noisy_stop();
SET ROLE regress_noisy_nobody;
SELECT count(*) FROM noisy_runs;
SELECT count(*) FROM noisy_impact;
SELECT noisy_report(900001);
SELECT noisy_percentile(noisy_record(NULL, 1), 0.5) AS pure_functions_are_everybodys;
RESET ROLE;
SELECT p.oid::regprocedure AS "volatile, and everybody may call it"
FROM pg_proc p JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
JOIN pg_extension x ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = x.oid
WHERE x.extname = 'pg_noisyneighbor' AND (p.provolatile <> 'i' OR p.prokind = 'p')
  AND has_function_privilege('public', p.oid, 'EXECUTE');
SELECT c.oid::regclass AS "everybody may read or write it"
FROM pg_class c JOIN pg_depend d ON d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e'
JOIN pg_extension x ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = x.oid
WHERE x.extname = 'pg_noisyneighbor' AND c.relkind IN ('r', 'v', 'S')
  AND has_table_privilege('public', c.oid, 'SELECT, INSERT, UPDATE, DELETE, TRUNCATE, TRIGGER');
SELECT c.oid::regclass AS "pg_monitor may write it"
FROM pg_class c JOIN pg_depend d ON d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e'
JOIN pg_extension x ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = x.oid
WHERE x.extname = 'pg_noisyneighbor' AND c.relkind IN ('r', 'v', 'S')
  AND has_table_privilege('pg_monitor', c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE, TRIGGER');

-- Every view, its columns and every function say what they are
SELECT c.relname, a.attname
FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum >= 0 AND NOT a.attisdropped
WHERE c.relname IN ('noisy_results', 'noisy_block_effects', 'noisy_impact', 'noisy_wait_events')
  AND col_description(c.oid, a.attnum) IS NULL;
SELECT p.oid::regprocedure FROM pg_proc p
WHERE p.proname ~ '^noisy_(report|verdict)' AND obj_description(p.oid, 'pg_proc') IS NULL;

-- The owner removes a run with all that belongs to it
DELETE FROM noisy_runs WHERE run_id = 900008;
SELECT (SELECT count(*) FROM noisy_blocks WHERE run_id = 900008) + (SELECT count(*) FROM noisy_dose WHERE run_id = 900008)
    + (SELECT count(*) FROM noisy_timeline WHERE run_id = 900008) + (SELECT count(*) FROM noisy_wait_samples WHERE run_id = 900008)
    + (SELECT count(*) FROM noisy_bgwriter WHERE run_id = 900008) + (SELECT count(*) FROM noisy_host_usage WHERE run_id = 900008) AS "rows left";
ROLLBACK;
