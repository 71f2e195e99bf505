-- Calibrations: figures kept, and the published search for a limit (test/data/equalisation.csv) done again.
\set VERBOSITY terse
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS pg_noisyneighbor;
SET extra_float_digits = 0;

CREATE FUNCTION pg_temp.refused(call text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    d text;
    h text;
BEGIN
    EXECUTE 'SELECT ' || call;
    RETURN 'accepted';
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS d = PG_EXCEPTION_DETAIL, h = PG_EXCEPTION_HINT;
    RETURN concat_ws(E'\n', SQLSTATE || ': ' || SQLERRM, nullif(d, ''), nullif(h, ''));
END
$$;
\pset format unaligned
\pset tuples_only on

-- a short one
SELECT noisy_calibrate('{cpu,cache}', '100 ms', 2, 'short', '{"cpu_max_prime": 1000}') AS id \gset
SELECT label, state, error IS NULL, environment_hash = noisy_environment_hash(environment) FROM noisy_calibrations WHERE calibration_id = :id;
SELECT bool_and(repeats = 2 AND cardinality(samples) = 2 AND p10 <= median AND median <= p90 AND median > 0 AND cv_pct >= 0)
FROM noisy_calibration_results WHERE calibration_id = :id;

-- a round trip changes nothing but the id
SELECT noisy_calibration_import(noisy_calibration_export(:id)) AS copy \gset
SELECT noisy_calibration_export(:id) = noisy_calibration_export(:copy);
SELECT imported FROM noisy_calibrations WHERE calibration_id = :copy;
SELECT bool_and(verdict IN ('equal', 'inconclusive') AND abs(gap_pct) < 1e-9) FROM noisy_compare_calibrations(:id, :copy);
SELECT pg_temp.refused($$noisy_calibration_import('{"format": "else"}')$$);
SELECT noisy_calibration_export(-1) IS NULL;
SELECT pg_temp.refused(format('noisy_compare_calibrations(%s, -1)', :id));
SELECT pg_temp.refused($$noisy_recommend_cpulimit(NULL, 1)$$);
SELECT pg_temp.refused($$noisy_recommend_cpulimits('{}')$$);
DELETE FROM noisy_calibrations;
SELECT count(*) FROM noisy_calibration_samples;

-- The published search: each test measured the fast host with some limit, and the slow one. Of tests 06 and 07 nobody
-- knew that the limit of 05 was still set.
CREATE TEMP TABLE equalisation (test text, cpulimit float8, cpu_type text, threads int, fast_eps float8, slow_eps float8, valid boolean);
\getenv abs_srcdir PG_ABS_SRCDIR
\set load '\\copy equalisation FROM ''' :abs_srcdir '/data/equalisation.csv'' CSV HEADER'
:load
CREATE TEMP TABLE taken AS
SELECT test, which,
       noisy_calibration_import(jsonb_build_object('format', 'pg_noisyneighbor calibration', 'version', 1,
           'calibration', jsonb_build_object('host', which, 'label', test, 'taken_at', timestamptz '2025-01-01 00:00+00' + test::int * interval '1 h',
               'state', 'completed', 'role_name', 'tester', 'environment', jsonb_build_object('cpu_model', min(cpu_type)),
               'parameters', CASE WHEN which = 'fast' AND min(cpulimit) IS NOT NULL AND bool_and(valid)
                                  THEN jsonb_build_object('options', jsonb_build_object('expect', jsonb_build_object('quota_cpus', min(cpulimit))))
                                  ELSE '{}' END),
           'samples', jsonb_agg(jsonb_build_object('probe', 'cpu', 'probe_version', 1, 'variant', 'primes 10000', 'threads', threads,
               'unit', 'events/s', 'valid', true, 'samples', jsonb_build_array(CASE which WHEN 'fast' THEN fast_eps ELSE slow_eps END))))) AS id
FROM equalisation, (VALUES ('fast'), ('slow')) w(which)
GROUP BY test, which;
SELECT id AS fast FROM taken WHERE test = '01' AND which = 'fast' \gset
SELECT id AS slow FROM taken WHERE test = '01' AND which = 'slow' \gset
\pset tuples_only off
SELECT cpulimit, round((4 * 10731.79 / 23471.57)::numeric, 4) AS exact, round(predicted_gap_pct::numeric, 2) AS predicted_gap_pct,
       round(one_thread_gap_pct::numeric, 1) AS one_thread_gap_pct, stall_ms, threads
FROM noisy_recommend_cpulimit(:fast, :slow);
SELECT label, cpulimit, round(gap_pct::numeric, 2) AS gap_pct, round(predicted_gap_pct::numeric, 2) AS predicted_gap_pct, valid, note
FROM noisy_calibration_iterations(:fast, :slow);
SELECT probe, variant, threads, round(gap_pct::numeric, 2) AS gap_pct, verdict, round(a_scaling::numeric, 2) AS a_scaling, round(b_scaling::numeric, 2) AS b_scaling
FROM noisy_compare_calibrations(:fast, :slow);
-- the published choice, 1.8, beside the slow host as it was in the same test
SELECT threads, round(gap_pct::numeric, 2) AS gap_pct
FROM noisy_compare_calibrations((SELECT id FROM taken WHERE test = '05' AND which = 'fast'), (SELECT id FROM taken WHERE test = '05' AND which = 'slow'));
-- the commands
SELECT unnest(regexp_split_to_array(advice, E'\n')) AS advice FROM noisy_recommend_cpulimit(:fast, :slow);
SELECT regexp_replace(advice, '\d+ is not', 'N is not') AS advice FROM noisy_recommend_cpulimit(:slow, :fast);
-- the tails, once the fast host has been measured under about this limit, and the slow one
INSERT INTO noisy_calibration_samples (calibration_id, probe, probe_version, variant, threads, unit, samples, valid)
SELECT id, 'postgres', 1, 'select-only, p99', 4, 'ms', CASE which WHEN 'fast' THEN '{52,50,48}' ELSE '{40,40}' END::float8[], true
FROM taken WHERE which = 'slow' AND test = '01' OR which = 'fast' AND test IN ('04', '05');
SELECT tail_gap_pct, regexp_replace(substring(advice FROM 'Measured [^\n]*'), 'calibration \d+', 'calibration N') AS advice
FROM noisy_recommend_cpulimit(:fast, :slow);
-- a fleet
SELECT host, is_standard, cpulimit FROM noisy_recommend_cpulimits(ARRAY[:fast, :slow]::bigint[]);
-- nine repeats of the slow host at four threads: its noise floor
SELECT round((100 * stddev_samp(slow_eps) / avg(slow_eps))::numeric, 3) AS cv_pct FROM equalisation WHERE threads = 4;
-- an interval, of the three repeats at 1.8
SELECT round((100 * (ratio - 1))::numeric, 2) AS gap_pct, low < ratio AND ratio < high AND high < 1 AS resolved
FROM (SELECT (noisy_calibration_ratio(array_agg(fast_eps) FILTER (WHERE test IN ('05', '06', '07')), array_agg(slow_eps))).*
      FROM equalisation WHERE threads = 4) x;
-- an environment that is not the one expected
SELECT noisy_calibration_import(jsonb_set(jsonb_set(noisy_calibration_export(:fast), '{calibration,environment}', '{"quota_cpus": 1.5, "governor": "powersave"}'),
                                          '{calibration,parameters}', '{"options": {"expect": {"quota_cpus": 1.8, "governor": "powersave"}}}')) AS odd \gset
SELECT threads, valid, note FROM noisy_calibration_results WHERE calibration_id = :odd ORDER BY 1;
SELECT pg_temp.refused(format('noisy_recommend_cpulimit(%s, %s)', :odd, :slow));
DELETE FROM noisy_calibrations;
