-- Samples for monitoring systems, of a run that is made by hand, and their exposition text.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS pg_noisyneighbor;
RESET client_min_messages;
SET timezone = 'UTC';
\set SHOW_CONTEXT never
\set ON_ERROR_ROLLBACK on
\pset null '(null)'

-- Counts up to bounds
SELECT noisy_cumulative(h, '{1,2,5,10}') AS below, noisy_count(h) AS n
FROM (SELECT noisy_histogram_agg(ms) AS h FROM unnest('{0.2,0.7,1.5,1.7,4,7,12,30}'::float8[]) AS ms) AS v;
SELECT noisy_cumulative('v1 count=0', '{1,2}') AS of_nothing, noisy_cumulative(noisy_record(NULL, 1e9), '{1,2}') AS beyond_all,
       noisy_cumulative(NULL, '{1}') AS of_null, noisy_cumulative(noisy_record(NULL, 1), '{}') AS no_bounds;
-- Each bound is met within 0.4 %
SELECT bool_and(abs(b.below - 100 * b.bound) <= 0.004 * 100 * b.bound + 1) AS "bounds are met"
FROM (SELECT noisy_histogram_agg(i / 100.0) AS h FROM generate_series(1, 100000) AS i) AS v,
     unnest(noisy_latency_bounds_ms(), noisy_cumulative(h, noisy_latency_bounds_ms())) AS b (bound, below)
WHERE b.bound < 1000;
SELECT bool_and(bound > before) AS "bounds rise"
FROM (SELECT bound, lag(bound, 1, 0) OVER () AS before FROM unnest(noisy_latency_bounds_ms()) AS bound) AS v;

BEGIN;
DELETE FROM noisy_runs;
SELECT metric, series, labels, value FROM noisy_metrics;

-- A run with everything, one that was stopped later, and an older one: only the first is shown
INSERT INTO noisy_run_records VALUES
    (900001, 'old', 'completed', '2026-01-01 00:00+00', '2026-01-01 00:10+00', 'somebody', 'tpcb-like', '{}', '{}', 1),
    (900002, E'a "label"\nwith \\ everything ' || repeat('x', 300), 'completed', '2026-01-02 00:00+00', '2026-01-02 00:10:00.5+00', 'somebody',
     'tpcb-like', '{}', '{}', 1),
    (900003, 'stopped', 'stopped', '2026-01-03 00:00+00', '2026-01-03 00:10+00', 'somebody', NULL, '{}', '{}', 1);
INSERT INTO noisy_blocks (run_id, block, repeat, clients, level, achieved_pct, started_at, duration_s, accepted, transactions, errors,
                          serialization_failures, deadlocks, connection_errors, other_errors, tps, latency, samples_expected, samples_taken)
    SELECT run, block, 1, 10, level, level, '2026-01-02 00:00+00'::timestamptz + block * interval '1 min', 10, block <> 4, 100, 3, 1, 2, 0, 0, 10,
           h, 100, 100
    FROM unnest('{900001,900002}'::bigint[]) AS run,
         (VALUES (1, 0.0, 1), (2, 30.0, 3), (3, 0.0, 1), (4, 30.0, 3)) AS v (block, level, ms),
         LATERAL (SELECT noisy_histogram_agg(v.ms + 0 * i) AS h FROM generate_series(1, 100) AS i) AS w;
INSERT INTO noisy_dose SELECT 900002, b, s, w, 30, 30 - w, 1, 'x', 1, false, NULL
    FROM generate_series(2, 4) AS b, unnest('{cpu,cache}'::text[]) AS s, generate_series(1, 2) AS w;
INSERT INTO noisy_host_usage (run_id, block, user_pct, system_pct, steal_pct, idle_pct, noise_pct, server_pct, run_delay_pct, psi_cpu_some_pct)
    SELECT 900002, b, 40, 10, b, 50 - b, 20, 25, 5, 1 FROM generate_series(1, 4) AS b;
INSERT INTO noisy_bgwriter (run_id, block, checkpointer_bytes, wal_bytes, checkpoints_timed, checkpoints_requested)
    SELECT 900002, b, 8192, 1000000, 1, 0 FROM generate_series(1, 4) AS b;
INSERT INTO noisy_wait_samples SELECT 900002, b, 'client backend', 'LWLock', 'Lock' || e, 13 - e, 1
    FROM generate_series(1, 3) AS b, generate_series(1, 12) AS e;
\pset format unaligned
SELECT line FROM regexp_split_to_table(noisy_prometheus(), '\n') AS line WHERE line !~ '^noisy_(check_|latency_p99|transactions_change|latency_seconds_bucket.*30)';
SELECT series, labels, round(value::numeric, 9) AS value FROM noisy_metrics WHERE series ~ '^noisy_(latency_p99|transactions_change)' ORDER BY 1, 2;
\pset format aligned
SELECT bool_and(value IN (0, 1)) AS "checks are there" FROM noisy_metrics WHERE metric = 'noisy_check_passed';
SELECT metric, type, help FROM noisy_metrics WHERE metric = 'noisy_wal_bytes_total' LIMIT 1;

-- Labels of the caller
SELECT line FROM regexp_split_to_table(noisy_prometheus('{"server": "db\"1", "clients": "not mine"}'), '\n') AS line
WHERE line ~ '^noisy_(active|transactions_total)';
SELECT noisy_prometheus_labels('{}'), noisy_prometheus_labels('{"b": "x\\y\"z\nend", "a": ""}');
SELECT noisy_prometheus('{"not-a-name": "1"}');
SELECT noisy_prometheus('["server"]');
\echo :LAST_ERROR_SQLSTATE
SELECT noisy_prometheus(NULL);

-- A run of noise alone has no latency
INSERT INTO noisy_run_records VALUES (900004, NULL, 'completed', '2026-01-04 00:00+00', '2026-01-04 00:10+00', 'somebody', NULL, '{}', '{}', 1);
INSERT INTO noisy_blocks (run_id, block, repeat, clients, level, started_at, duration_s, accepted, samples_expected, samples_taken)
    VALUES (900004, 1, 1, 0, 30, '2026-01-04 00:00+00', 10, true, 100, 100);
SELECT series, labels, value FROM noisy_metrics WHERE metric <> 'noisy_check_passed' ORDER BY place, labels;

-- Who may
CREATE ROLE regress_noisy_scraper IN ROLE pg_monitor;
CREATE ROLE regress_noisy_nobody;
SET ROLE regress_noisy_scraper;
SELECT length(noisy_prometheus()) > 0 AS can_scrape;
SET ROLE regress_noisy_nobody;
SELECT noisy_prometheus();
SELECT count(*) FROM noisy_metrics;
RESET ROLE;
ROLLBACK;
