-- Formulas against published figures. The rows in test/data come from public reports of tests with noisy neighbours; some of
-- them do not agree with themselves, and the formulas show where.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS pg_noisyneighbor;
RESET client_min_messages;
\set SHOW_CONTEXT never
\getenv abs_srcdir PG_ABS_SRCDIR

CREATE TEMP TABLE neighbour (scenario text, clients int, level_pct int, tps float8, avg_ms float8, p95_ms float8, p99_ms float8);
CREATE TEMP TABLE disk (queue_depth int, target text, iops float8);
CREATE TEMP TABLE equalisation (test text, cpulimit float8, cpu_type text, threads int, fast_eps float8, slow_eps float8, valid boolean);
\set load '\\copy neighbour FROM ''' :abs_srcdir '/data/neighbour.csv'' CSV HEADER'
:load
\set load '\\copy disk FROM ''' :abs_srcdir '/data/disk.csv'' CSV HEADER'
:load
\set load '\\copy equalisation FROM ''' :abs_srcdir '/data/equalisation.csv'' CSV HEADER'
:load
SELECT (SELECT count(*) FROM neighbour) AS neighbour, (SELECT count(*) FROM disk) AS disk, (SELECT count(*) FROM equalisation) AS equalisation;

-- A neighbour of 30 and 40 %: every row against the one without
SELECT n.scenario, n.level_pct, round(noisy_change_pct(b.tps, n.tps)::numeric, 2) AS tps_change_pct,
       round((n.p99_ms - b.p99_ms)::numeric, 2) AS p99_growth_ms, round(noisy_change_pct(b.p99_ms, n.p99_ms)::numeric, 2) AS p99_change_pct
FROM neighbour n JOIN neighbour b ON b.scenario = n.scenario AND b.level_pct = 0 ORDER BY n.scenario, n.level_pct;
SELECT l.level_pct, round((l.p99_ms - r.p99_ms)::numeric, 2) AS local_minus_remote_p99_ms
FROM neighbour l JOIN neighbour r ON r.level_pct = l.level_pct AND r.scenario = 'A2 remote'
WHERE l.scenario = 'A0 local' ORDER BY l.level_pct;
SELECT round((53.83 / 3.24)::numeric, 2) AS p99_ratio_at_2_clients, round(noisy_change_pct(3.24, 53.83)::numeric, 1) AS change_pct;
SELECT round(noisy_change_pct(3016, 3736)::numeric, 2) AS one_core_pct, round(noisy_change_pct(17931, 28815)::numeric, 2) AS all_cores_pct;

-- Little's law: a closed loop of 100 clients must show about 100
SELECT scenario, level_pct, clients, round(noisy_little_clients(tps, avg_ms)::numeric, 2) AS little_clients,
       abs(noisy_change_pct(clients, noisy_little_clients(tps, avg_ms))) > 3 AS "off by more than 3 %"
FROM neighbour ORDER BY scenario, level_pct;
-- More noise must not make anything faster
SELECT scenario, metric, percentiles, round_pct AS worst_pct, violations > 0 AS "not monotone"
FROM (SELECT scenario, metric, array_agg(value ORDER BY level_pct) AS percentiles
      FROM neighbour, LATERAL (VALUES ('p95_ms', p95_ms), ('p99_ms', p99_ms)) AS v (metric, value) GROUP BY scenario, metric) AS s,
     LATERAL noisy_isotonic(percentiles) AS i, LATERAL round(i.worst_pct::numeric, 2) AS round_pct
ORDER BY scenario, metric;
-- Levels that were not delivered: throughput of 4 virtual CPUs under a cap of 1.8 says which dose there was
SELECT scenario, level_pct, round(implied::numeric, 2) AS implied_dose_pct,
       level_pct > 0 AND implied < level_pct - 5 AS "less than asked for",
       coalesce(implied - lag(implied) OVER w < 1 AND level_pct - lag(level_pct) OVER w >= 5, false) AS "equal to the level before"
FROM (SELECT n.*, noisy_implied_dose_pct(1.8, 4, n.tps, b.tps) AS implied
      FROM neighbour n JOIN neighbour b ON b.scenario = n.scenario AND b.level_pct = 0) AS i
WHERE scenario = 'A0 local' WINDOW w AS (ORDER BY level_pct) ORDER BY level_pct;

-- Disk: what virtualisation takes away, and at depth 1 what it adds to each operation
SELECT d.queue_depth, d.target, round(noisy_change_pct(b.iops, d.iops)::numeric, 2) AS change_pct,
       CASE WHEN d.queue_depth = 1 THEN round(noisy_added_us(b.iops, d.iops)::numeric, 1) END AS added_us
FROM disk d JOIN disk b ON b.queue_depth = d.queue_depth AND b.target = 'native' ORDER BY d.queue_depth, d.target;

-- Two hosts made equal: the limit from the rates of equal thread counts, three ways
SELECT threads, round(noisy_recommended_cpulimit(slow_eps, fast_eps, threads)::numeric, 4) AS cpulimit,
       round((4 * noisy_recommended_cpulimit(slow_eps, fast_eps, threads) / threads)::numeric, 4) AS scaled_to_4_threads,
       round(noisy_change_pct(slow_eps, fast_eps)::numeric, 2) AS gap_pct
FROM equalisation WHERE test = '01' ORDER BY threads;
SELECT round(slope::numeric, 2) AS events_per_cpu, round((10731.79 / slope)::numeric, 4) AS cpulimit
FROM (SELECT sum(cpulimit * fast_eps) / sum(cpulimit ^ 2) AS slope
      FROM equalisation WHERE valid AND cpulimit IS NOT NULL AND threads = 4) AS s;
SELECT round((1.5 + 0.5 * (10731.79 - low.fast_eps) / (high.fast_eps - low.fast_eps))::numeric, 4) AS interpolated_cpulimit
FROM equalisation low, equalisation high WHERE low.test = '04' AND high.test = '03' AND low.threads = 4 AND high.threads = 4;
-- What each row has left of the gap; a limit above the threads cannot bind
SELECT test, cpulimit, cpu_type, threads, round(noisy_change_pct(slow_eps, fast_eps)::numeric, 4) AS gap_pct,
       CASE WHEN threads <= cpulimit THEN 'limit inactive' END AS flag,
       round(noisy_throttle_stall_ms(cpulimit, threads, 100)::numeric, 1) AS stall_ms, valid
FROM equalisation ORDER BY test, threads;
-- The three repeats under 1.8
SELECT round(avg(gap)::numeric, 3) AS mean_gap_pct,
       round((avg(gap) - noisy_t_quantile(0.975, 2) * stddev_samp(gap) / sqrt(3))::numeric, 2) AS low,
       round((avg(gap) + noisy_t_quantile(0.975, 2) * stddev_samp(gap) / sqrt(3))::numeric, 2) AS high
FROM (SELECT noisy_change_pct(slow_eps, fast_eps) AS gap FROM equalisation WHERE cpulimit = 1.8 AND threads = 4) AS g;
-- A step about the CPU type says nothing of a limit, yet its throughput is that of a limit: one of an earlier step was still set
SELECT r.test, r.cpu_type, round(implied::numeric, 3) AS implied_cpulimit, implied < 0.9 * r.threads AS "under an old limit",
       (implied < 0.9 * r.threads) = NOT r.valid AS "as the author found later"
FROM equalisation r JOIN equalisation free ON free.threads = r.threads AND free.test = '01',
     LATERAL noisy_recommended_cpulimit(r.fast_eps, free.fast_eps, r.threads) AS implied
WHERE r.cpu_type <> 'host' AND r.threads = 4 ORDER BY r.test;
-- Noise floor of the slow host
SELECT count(*) AS n, round((100 * stddev_samp(slow_eps) / avg(slow_eps))::numeric, 3) AS cv_pct,
       round(spread_pct::numeric, 3) AS spread_pct, low_pct <= spread_pct AND spread_pct <= high_pct AS "within its interval"
FROM equalisation, (SELECT (noisy_spread(array_agg(slow_eps))).* FROM equalisation WHERE threads = 4) AS s
WHERE threads = 4 GROUP BY spread_pct, low_pct, high_pct;

-- Quota, fan-out, stall, background writer
SELECT round(noisy_throttle_stall_ms(1.8, 4, 100)::numeric, 6) AS stall_ms, noisy_throttle_stall_ms(1.8, 1, 100) AS no_stall_ms;
SELECT round((100 * noisy_fanout(0.01, 100))::numeric, 1) AS slow_requests_pct;
SELECT p, round(noisy_stall_percentile_ms(500, 20, p)::numeric, 6) AS delay_ms FROM unnest('{0.5,0.975,0.98,0.99,1}'::float8[]) AS p;
SELECT b AS block_size, noisy_equivalent_maxpages(b) AS maxpages,
       noisy_bgwriter_ceiling_bytes_per_s(100, 200, b) / 1048576 AS ceiling_mib_per_s,
       noisy_bgwriter_ceiling_bytes_per_s(noisy_equivalent_maxpages(b), 200, b) / 1048576 AS equivalent_mib_per_s
FROM unnest('{1024,2048,4096,8192,16384,32768}'::int[]) AS b;

-- Bad input: code, message, detail and hint
CREATE FUNCTION pg_temp.failure(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    code text; message text; detail text; hint text;
BEGIN
    EXECUTE 'SELECT ' || statement;
    RETURN 'no error';
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS code = RETURNED_SQLSTATE, message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
    RETURN format('%s %s. %s %s', code, message, detail, hint);
END $$;
SELECT statement, pg_temp.failure(statement) FROM unnest(ARRAY[
    'noisy_change_pct(0, 1)', 'noisy_change_pct(1, ''NaN'')', 'noisy_change_pct(1e-300, 1e300)',
    'noisy_recommended_cpulimit(-1, 1, 1)', 'noisy_recommended_cpulimit(1, 0, 1)', 'noisy_recommended_cpulimit(1, 1, 0)',
    'noisy_throttle_stall_ms(0, 1, 100)', 'noisy_throttle_stall_ms(1, -1, 100)', 'noisy_throttle_stall_ms(1, 1, 0)',
    'noisy_implied_dose_pct(0, 4, 1, 1)', 'noisy_implied_dose_pct(2, 0, 1, 1)', 'noisy_implied_dose_pct(2, 4, -1, 1)', 'noisy_implied_dose_pct(2, 4, 1, 0)',
    'noisy_little_clients(-1, 1)', 'noisy_little_clients(1, ''Infinity'')',
    'noisy_fanout(1.5, 2)', 'noisy_fanout(0.5, -2)', 'noisy_equivalent_maxpages(3000)',
    'noisy_bgwriter_ceiling_bytes_per_s(-1, 200, 8192)', 'noisy_bgwriter_ceiling_bytes_per_s(100, 0, 8192)', 'noisy_bgwriter_ceiling_bytes_per_s(100, 200, 0)',
    'noisy_added_us(0, 1)', 'noisy_added_us(1, 0)',
    'noisy_stall_percentile_ms(-1, 20, 0.99)', 'noisy_stall_percentile_ms(1, 0, 0.99)', 'noisy_stall_percentile_ms(1, 20, 99)', 'noisy_stall_percentile_ms(500, 0.4, 0.99)'
    ]) AS statement;
SELECT noisy_change_pct(NULL, 1) IS NULL AND noisy_fanout(0.1, NULL) IS NULL AND noisy_equivalent_maxpages(NULL) IS NULL AS "unknown gives unknown";
SELECT proname FROM pg_proc p JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
WHERE proname IN ('noisy_change_pct', 'noisy_recommended_cpulimit', 'noisy_throttle_stall_ms', 'noisy_implied_dose_pct', 'noisy_little_clients',
                  'noisy_fanout', 'noisy_equivalent_maxpages', 'noisy_bgwriter_ceiling_bytes_per_s', 'noisy_added_us', 'noisy_stall_percentile_ms')
  AND NOT (provolatile = 'i' AND proisstrict AND proparallel = 's');
