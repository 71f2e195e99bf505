-- One run against another, on runs that are made by hand.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS pg_noisyneighbor;
RESET client_min_messages;
SET timezone = 'UTC';
SET extra_float_digits = 0;
\set SHOW_CONTEXT never
\set ON_ERROR_ROLLBACK on
BEGIN;

-- Of samples of the same size and variance; of one that does not vary; of one value; of nothing that varies
SELECT round((noisy_welch_half_width(0.04, 5, 0.04, 5) / (noisy_t_quantile(0.975, 8) * sqrt(2 * 0.04 / 5)))::numeric, 12) AS "like Student's",
       round((noisy_welch_half_width(0.04, 5, 0, 9) / (noisy_t_quantile(0.975, 4) * sqrt(0.04 / 5)))::numeric, 12) AS "one sample",
       noisy_welch_half_width(0.04, 5, 0.04, 1) AS "one value", noisy_welch_half_width(0, 3, 0, 3) AS "none",
       noisy_welch_half_width(0.04, 5, 0.09, 7, 0.99) > noisy_welch_half_width(0.04, 5, 0.09, 7) AS "wider";

-- 100 transactions of ms each in a block of 10 s
CREATE FUNCTION pg_temp.add_run(run bigint, seed bigint, workload text DEFAULT 'tpcb-like', parameters jsonb DEFAULT '{}', environment jsonb DEFAULT '{}')
RETURNS void LANGUAGE sql
    AS $$ INSERT INTO noisy_run_records VALUES (run, NULL, 'completed', '2026-01-01 00:00+00', '2026-01-01 00:10+00', 'somebody', workload,
              '{"query_mode": "prepared", "rate": null, "levels": [0, 30], "clients": [4], "duration_s": 10}' || parameters, environment, seed) $$;
CREATE FUNCTION pg_temp.same(ms float8) RETURNS noisy_histogram LANGUAGE sql
    AS $$ SELECT noisy_histogram_agg(ms) FROM generate_series(1, 100) $$;
CREATE FUNCTION pg_temp.add_blocks(run bigint, clients int, repeats int, factor float8, dose_factor float8, drift float8) RETURNS void LANGUAGE sql
    AS $$ INSERT INTO noisy_blocks (run_id, block, repeat, clients, level, achieved_pct, started_at, duration_s, accepted, transactions, errors, tps, latency)
          SELECT run, b, 1 + (b - 1) / 3, clients, CASE WHEN b % 3 = 2 THEN 30 ELSE 0 END, CASE WHEN b % 3 = 2 THEN 30 END,
                 '2026-01-01 00:00+00'::timestamptz + b * interval '1 min', 10, true, 100, 0, 4000 / ms,
                 pg_temp.same(ms)
          FROM generate_series(1, 3 * repeats) AS b,
               LATERAL (SELECT factor * exp(drift * b) * (1 + 0.01 * ((b * 7) % 5 - 2)) * CASE WHEN b % 3 = 2 THEN dose_factor ELSE 1 END AS ms) AS m $$;

-- b is 30 % slower, and noise does the same to both
SELECT pg_temp.add_run(930001, 1), pg_temp.add_run(930002, 2, parameters => '{"noise": {"cpu": {"workers": 4}}}');
SELECT pg_temp.add_blocks(930001, 4, 4, 10, 2, 0), pg_temp.add_blocks(930002, 4, 4, 13, 2, 0);
SELECT clients, level, metric, compared, round(value_a::numeric, 2) AS a, round(value_b::numeric, 2) AS b, blocks_a, blocks_b, round(ratio::numeric, 4) AS ratio,
       round(ratio_low::numeric, 4) AS low, round(ratio_high::numeric, 4) AS high, round(noise_floor_pct::numeric, 2) AS floor, verdict, method
FROM noisy_compare(930001, 930002) WHERE metric IN ('tps', 'p99');
SELECT count(*) AS rows, count(DISTINCT metric) AS metrics FROM noisy_compare(930001, 930002);
-- the other way round it is an improvement, and the ratios are the inverse
SELECT a.level, a.metric, a.compared, b.verdict, abs(a.ratio * b.ratio - 1) < 1e-9 AND abs(a.ratio_low * b.ratio_high - 1) < 1e-9 AS inverse
FROM noisy_compare(930001, 930002) a JOIN noisy_compare(930002, 930001) b USING (clients, level, metric, compared)
WHERE metric IN ('tps', 'p99') ORDER BY level, metric, compared;

-- the same plan: blocks of one place are pairs, and what grows through both runs alike cancels out
SELECT pg_temp.add_run(930003, 7), pg_temp.add_run(930004, 7), pg_temp.add_run(930005, 8);
SELECT pg_temp.add_blocks(930003, 4, 4, 10, 2, 0.05), pg_temp.add_blocks(930004, 4, 4, 12, 2, 0.05), pg_temp.add_blocks(930005, 4, 4, 12, 2, 0.05);
SELECT run_b, level, round(ratio::numeric, 4) AS ratio, round((ratio_high / ratio_low - 1)::numeric, 4) AS width, method
FROM unnest('{930004,930005}'::bigint[]) AS run_b, LATERAL noisy_compare(930003, run_b) WHERE metric = 'p99' AND compared = 'value' ORDER BY run_b, level;

-- a block in which no transaction ended, and a run of one repeat: no verdict
SELECT pg_temp.add_run(930006, 9), pg_temp.add_run(930007, 10);
SELECT pg_temp.add_blocks(930006, 4, 4, 10, 2, 0), pg_temp.add_blocks(930007, 4, 1, 20, 2, 0);
UPDATE noisy_blocks SET transactions = 0, tps = 0, latency = 'v1 count=0' WHERE run_id = 930006 AND block = 5;
SELECT run_b, level, compared, round(ratio::numeric, 4) AS ratio, ratio_low, verdict
FROM unnest('{930006,930007}'::bigint[]) AS run_b, LATERAL noisy_compare(930001, run_b) WHERE metric = 'p99' AND level = 30 ORDER BY run_b, compared;

-- rejected blocks are not compared
UPDATE noisy_blocks SET accepted = false WHERE run_id = 930002 AND level = 30;
SELECT level, blocks_b FROM noisy_compare(930001, 930002) WHERE metric = 'p99' ORDER BY level;

-- what is refused
\set VERBOSITY default
SELECT pg_temp.add_run(930011, 1, 'select-only'), pg_temp.add_run(930012, 1, parameters => '{"query_mode": "simple"}'),
       pg_temp.add_run(930013, 1, parameters => '{"rate": 100}'), pg_temp.add_run(930014, 1), pg_temp.add_run(930015, 1, NULL, '{"query_mode": null}');
SELECT pg_temp.add_blocks(930014, 8, 2, 10, 2, 0);
SELECT * FROM noisy_compare(930001, 930011);
SELECT * FROM noisy_compare(930001, 930012);
SELECT * FROM noisy_compare(930001, 930013);
SELECT * FROM noisy_compare(930001, 930014);
SELECT * FROM noisy_compare(930001, 930015);
SELECT * FROM noisy_compare(930011, 930013);
SELECT * FROM noisy_compare(930001, 930001);
SELECT * FROM noisy_compare(930001, -1);
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM noisy_compare(930001, NULL);
\echo :LAST_ERROR_SQLSTATE

-- what else differs
SELECT pg_temp.add_run(930021, 1, environment => '{"host_name": "a", "mem_available_bytes": 1, "settings": {"shared_buffers": "1", "fsync": "on"}}'),
       pg_temp.add_run(930022, 1, parameters => '{"levels": [0, 40], "until": "verdict"}',
                       environment => '{"host_name": null, "mem_available_bytes": 2, "settings": {"shared_buffers": "2", "fsync": "on"}}');
SELECT * FROM noisy_compare_differences(930021, 930022);
SELECT * FROM noisy_compare_differences(930001, 930002);
SELECT count(*) FROM noisy_compare_differences(930001, 930014);
ROLLBACK;
