-- Effects, sensitivity and sanity of runs that are made by hand.
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
-- a block of 10 s at a minute of the first of January, with clients that are always busy; ms NULL: no transaction ended
CREATE FUNCTION pg_temp.add_block(run bigint, block int, clients int, level numeric, ms float8) RETURNS void LANGUAGE sql
    AS $$ INSERT INTO noisy_blocks (run_id, block, repeat, clients, level, achieved_pct, started_at, duration_s, accepted,
                                    transactions, errors, tps, latency, driver_busiest_pct, driver_bound, samples_expected, samples_taken)
          SELECT run, block, 1, clients, level, CASE WHEN level > 0 THEN level * 0.99 END,
                 '2026-01-01 00:00+00'::timestamptz + block * interval '1 min', 10, true,
                 n, CASE WHEN clients > 0 THEN 0 END, n / 10.0,
                 CASE WHEN clients > 0 THEN coalesce(pg_temp.same(n, ms), 'v1 count=0') END,
                 CASE WHEN clients > 0 THEN 40 END, CASE WHEN clients > 0 THEN false END, 100, 98
          FROM (SELECT CASE WHEN clients > 0 THEN coalesce(round(10000 * clients / ms), 0)::int END AS n) AS c $$;
CREATE FUNCTION pg_temp.add_run(run bigint, workload text DEFAULT 'tpcb-like', parameters jsonb DEFAULT '{}') RETURNS void LANGUAGE sql
    AS $$ INSERT INTO noisy_run_records VALUES (run, NULL, 'completed', '2026-01-01 00:00+00', '2026-01-01 00:10+00', 'somebody',
                                                workload, parameters, '{}', 1) $$;
CREATE FUNCTION pg_temp.close_to(a float8, b float8) RETURNS boolean LANGUAGE sql
    AS $$ SELECT coalesce(abs(a - b) <= 1e-9 * greatest(abs(a), abs(b)), a IS NULL AND b IS NULL) $$;

-- Pure functions
SELECT noisy_sign_flip_p('{0.1,0.2,0.3,0.4,0.5}') AS p, noisy_sign_flip_p('{1,-1}') AS p_of_nothing, noisy_sign_flip_p('{1,NULL,2}') AS p_of_two,
       noisy_sign_flip_p('{}') AS p_of_none, noisy_sign_flip_p(NULL) AS unknown;
SELECT round(spread_pct::numeric, 6) AS spread_pct, low_pct <= spread_pct AND spread_pct <= high_pct AS within
FROM noisy_spread('{10,11,12,13,14,15,16,17,18,19,20}');
SELECT * FROM noisy_spread('{7}');
SELECT round(low_ms::numeric, 1) AS low_ms, round(high_ms::numeric, 1) AS high_ms
FROM (SELECT noisy_histogram_agg(i) AS h FROM generate_series(1, 1000) AS i) AS s, unnest('{0.5,0.99,0.999}'::float8[]) AS p,
     LATERAL noisy_percentile_interval(h, p) ORDER BY p;
SELECT cut, steady, round(shift::numeric, 3) AS shift FROM noisy_warmup('{5,5,5,1,1.1,0.9,1,1.1,0.9,1,1,1.1}');
SELECT cut > 6 AS cut_late, steady FROM noisy_warmup('{1,2,3,4,5,6,7,8,9,10,11,12}');
SELECT * FROM noisy_warmup('{1,2,3}');
SELECT * FROM noisy_isotonic('{1,3,2,2,5,4,6}', '{1,1,1,1,1,3,1}');
SELECT * FROM noisy_isotonic('{5,6,3}', rising => false);
SELECT fitted IS NULL AS unknown FROM noisy_isotonic(NULL);
SELECT power, noisy_blocks_for_power(ln(1.1), 0.03, 0.035, power) AS blocks FROM unnest('{0.5,0.9,0.99}'::float8[]) AS power;
SELECT noisy_blocks_for_power(ln(1.05), 0.03, 0.01) AS "on the edge", noisy_blocks_for_power(0.5, 0.01, 0.01) AS "clear";
SELECT level, blocks, stalled_blocks, round(ratio::numeric, 6) AS ratio, low IS NULL AS no_interval, verdict, blocks_needed
FROM noisy_paired_effects('{0,40,30,0}', '{0,1,2,3}', '{1,NULL,4,1}', true);
SELECT dose_pct, fitted, violations, knee_reason FROM noisy_curve('{0,20,10,0,20}', '{0,19,10,0,21}', '{10,15,20,12,17}', true);
SELECT noisy_curve('{0}', '{NULL}', '{1}', true) IS NULL AS "nothing measured";
SELECT c.knee_reason FROM generate_series(1, 12) AS n,
     LATERAL (SELECT array_agg(i % n * 5.0) AS x, array_agg(10 + i % n * 5 * 0.2) AS y FROM generate_series(0, 3 * n - 1) AS i) AS s,
     LATERAL noisy_curve(x, x, y, true) AS c WHERE n IN (4, 5, 12);

-- Bad input
SELECT noisy_isotonic('{1,NULL}');
SELECT noisy_isotonic('{1,2}', '{1}');
SELECT noisy_isotonic('{1,2}', '{1,0}');
SELECT noisy_spread('{1,NaN}');
SELECT noisy_percentile_interval('v1 count=0', 99);
SELECT noisy_blocks_for_power(0.1, 0.1, 0.1, 1);
SELECT noisy_paired_effects('{0,30}', '{0}', '{1,2}', true);
SELECT noisy_curve_max_dose('{0}', '{0}', '{1}', -1, true);
SELECT noisy_sign_flip_p(array_agg(i)) FROM generate_series(1, 2001) AS i;

-- Run 92001: the same answers as noisy_impact
SELECT pg_temp.add_run(92001);
SELECT pg_temp.add_block(92001, b, 1, level, ms)
FROM (VALUES (1, 0, 2.0), (2, 30, 4.0), (3, 40, 5.5), (4, 0, 2.1), (5, 0, 2.2), (6, 40, 6.0), (7, 30, 4.1), (8, 0, 1.9),
             (9, 0, 2.0), (10, 30, 4.4), (11, 40, NULL), (12, 0, 2.05)) AS v (b, level, ms);
SELECT e.level, e.metric, e.blocks = i.dose_blocks - i.stalled_blocks AND e.stalled_blocks = i.stalled_blocks AS same_blocks,
       pg_temp.close_to(e.ratio, CASE metric WHEN 'tps' THEN 1 + i.tps_change_pct / 100 ELSE i.p99_ratio END) AS same_ratio,
       pg_temp.close_to(e.ratio_low, CASE metric WHEN 'tps' THEN 1 + i.tps_change_low_pct / 100 ELSE i.p99_ratio_low END)
           AND pg_temp.close_to(e.ratio_high, CASE metric WHEN 'tps' THEN 1 + i.tps_change_high_pct / 100 ELSE i.p99_ratio_high END) AS same_interval,
       pg_temp.close_to(e.noise_floor_pct, CASE metric WHEN 'tps' THEN i.tps_noise_floor_pct ELSE i.p99_noise_floor_pct END) AS same_floor,
       e.verdict = CASE metric WHEN 'tps' THEN i.tps_verdict ELSE i.verdict END AS same_verdict, e.verdict, e.sign_flip_p, e.low_n
FROM noisy_effects e JOIN noisy_impact i USING (run_id, clients, level)
WHERE run_id = 92001 AND metric IN ('tps', 'p99') ORDER BY metric, level;
SELECT metric, round(value::numeric, 3) AS value, round(ratio::numeric, 4) AS ratio, verdict, blocks_needed, round(spread_pct::numeric, 2) AS spread_pct,
       spread_low_pct <= spread_pct AND spread_pct <= spread_high_pct AS within, low_n
FROM noisy_effects WHERE run_id = 92001 AND level = 30
ORDER BY array_position('{tps,avg,p50,p95,p99,p999}'::text[], metric);

-- Run 910002: a little more latency, inconclusive with three blocks; 910003: one block says how many it takes at least
SELECT pg_temp.add_run(910002);
SELECT pg_temp.add_block(910002, b, 1, level, ms)
FROM (VALUES (1, 0, 10.0), (2, 30, 10.9), (3, 0, 10.2), (4, 0, 10.0), (5, 30, 11.5), (6, 0, 10.1), (7, 0, 10.0), (8, 30, 11.1), (9, 0, 10.0)) AS v (b, level, ms);
SELECT pg_temp.add_run(910003);
SELECT pg_temp.add_block(910003, b, 1, level, ms) FROM (VALUES (1, 0, 10.0), (2, 30, 11)) AS v (b, level, ms);
SELECT run_id, blocks, round(ratio::numeric, 4) AS ratio, verdict, blocks_needed FROM noisy_effects
WHERE run_id IN (910002, 910003) AND level = 30 AND metric = 'p99' ORDER BY run_id;

-- Run 910004: a knee at 30, three blocks at each of six doses; run 910005: the percentile falls at a higher level, four doses
SELECT pg_temp.add_run(910004);
SELECT pg_temp.add_block(910004, r * 10 + d, 1, d * 10, (10 + 0.5 * d + greatest(0, d - 3) * 12) * (1 + 0.004 * (r - 1)))
FROM generate_series(0, 2) AS r, generate_series(0, 5) AS d;
SELECT pg_temp.add_run(910005);
SELECT pg_temp.add_block(910005, b, 1, level, ms)
FROM (VALUES (1, 0, 70.52), (2, 30, 91.63), (3, 40, 88.73), (4, 50, 95)) AS v (b, level, ms);
SELECT run_id, metric, dose_pct, ARRAY(SELECT round(x::numeric, 2) FROM unnest(fitted) AS x) AS fitted, violations,
       round(worst_violation_pct::numeric, 2) AS worst_pct, round(slope_per_10pp::numeric, 2) AS slope_per_10pp,
       round(slope_pct_per_10pp::numeric, 1) AS slope_pct, round(knee_pct::numeric, 0) AS knee_pct,
       knee_low_pct <= knee_pct AND knee_pct <= knee_high_pct AS within, knee_reason
FROM noisy_sensitivity WHERE (run_id, metric) IN ((910004, 'p99'), (910005, 'p95'), (910005, 'tps')) ORDER BY run_id, metric;
SELECT slo, clients, round(max_dose_pct::numeric, 2) AS max_dose_pct, low_pct <= max_dose_pct AND max_dose_pct <= high_pct AS within, reason
FROM unnest('{9,11,20,1000}'::float8[]) AS slo, LATERAL noisy_max_dose(910004, slo);
SELECT slo, clients, round(max_dose_pct::numeric, 2) AS max_dose_pct, low_pct, high_pct, reason
FROM unnest('{91,95}'::float8[]) AS slo, LATERAL noisy_max_dose(910005, slo, 'p95');
SELECT noisy_max_dose(910004, 20, 'tps');
\echo :LAST_ERROR_SQLSTATE
SELECT noisy_max_dose(-1, 20);
\echo :LAST_ERROR_SQLSTATE
SELECT noisy_max_dose(910004, 0);
\echo :LAST_ERROR_SQLSTATE

-- Sanity. Run 910006: all is well; 910007: nothing is; 910008: noise alone; 910009: no block; 910010: an open loop
SELECT pg_temp.add_run(run) FROM unnest('{910006,910007,910009}'::bigint[]) AS run;
SELECT pg_temp.add_run(910008, NULL);
SELECT pg_temp.add_run(910010, 'tpcb-like', '{"rate": 100}');
SELECT pg_temp.add_block(run, b, 2, level, ms * CASE WHEN run = 910007 AND level = 50 THEN 0.5 ELSE 1 END)
FROM unnest('{910006,910007,910010}'::bigint[]) AS run,
     (VALUES (1, 0, 10.0), (2, 30, 20), (3, 50, 30), (4, 0, 10.1), (5, 0, 10.0), (6, 50, 31), (7, 30, 21), (8, 0, 10.0)) AS v (b, level, ms);
SELECT pg_temp.add_block(910008, 1, 0, 30, NULL);
INSERT INTO noisy_dose (run_id, block, stressor, worker, requested_pct, achieved_pct, rate_unit, unreachable)
    SELECT run_id, block, 'cpu', 1, level, level * CASE WHEN run_id = 910007 THEN 0.9 ELSE 0.99 END, 'primes/s', run_id = 910007
    FROM noisy_blocks WHERE run_id IN (910006, 910007, 910008) AND level > 0;
INSERT INTO noisy_timeline (run_id, block, at, second, clients, level, transactions, tps, p50_ms, checkpoint)
    SELECT run_id, block, started_at + s * interval '1 s', s, clients, level, transactions / 20 + (s <= transactions % 20)::int,
           tps * CASE WHEN run_id = 910007 THEN 1 + s * 0.2 ELSE 1 + 0.01 * (s % 3) END, 10 + s % 2, run_id = 910007 AND block = 2
    FROM noisy_blocks, generate_series(1, 20) AS s WHERE run_id IN (910006, 910007, 910010);
INSERT INTO noisy_host_usage (run_id, block, foreign_pct, note)
    SELECT run_id, block, CASE WHEN run_id <> 910008 THEN CASE WHEN run_id = 910007 AND block = 6 THEN 12 ELSE 1.5 END END, 'no /proc/stat'
    FROM noisy_blocks WHERE run_id IN (910006, 910007, 910008);
INSERT INTO noisy_bgwriter (run_id, block, checkpoints_timed, checkpoints_requested, in_progress_at_end)
    SELECT run_id, block, CASE WHEN run_id = 910007 AND block = 3 THEN 1 ELSE 0 END, 0, false FROM noisy_blocks WHERE run_id IN (910006, 910007);
UPDATE noisy_blocks SET driver_bound = true, driver_busiest_pct = 97.5, samples_taken = 90, transactions = transactions * 0.9
WHERE run_id = 910007;
SELECT run_id, check_name, passed, detail FROM noisy_sanity WHERE run_id BETWEEN 910006 AND 910010 ORDER BY run_id, check_name;

-- A condition on run_id reaches the indexes
SET LOCAL enable_seqscan = off;
CREATE FUNCTION pg_temp.reads_all(view text, condition text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    line text;
BEGIN
    FOR line IN EXECUTE format('EXPLAIN (COSTS OFF) SELECT * FROM %s WHERE %s', view, condition) LOOP
        IF line ~ 'Seq Scan on noisy' THEN
            RETURN NEXT line;
        END IF;
    END LOOP;
END $$;
SELECT v, c, pg_temp.reads_all(v, c)
FROM unnest('{noisy_block_metrics,noisy_effects,noisy_sensitivity,noisy_sanity}'::text[]) AS v,
     unnest('{run_id = 92001,"run_id = ANY (''{92001,910002}'')"}'::text[]) AS c;
RESET enable_seqscan;

-- pg_monitor reads, nobody else
CREATE ROLE regress_noisy_reader IN ROLE pg_monitor;
CREATE ROLE regress_noisy_nobody;
SET ROLE regress_noisy_reader;
SELECT (SELECT count(*) FROM noisy_effects) > 0 AND (SELECT count(*) FROM noisy_sensitivity) > 0 AND (SELECT count(*) FROM noisy_sanity) > 0 AS can_read;
SELECT round(max_dose_pct::numeric, 2) AS max_dose_pct FROM noisy_max_dose(910004, 20);
SET ROLE regress_noisy_nobody;
SELECT count(*) FROM noisy_effects;
SELECT count(*) FROM noisy_sanity;
SELECT noisy_max_dose(910004, 20);
RESET ROLE;
ROLLBACK;
