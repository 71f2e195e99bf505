-- What noisy_run() and its kin refuse, before anything starts.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS pg_noisyneighbor;
RESET client_min_messages;
\set SHOW_CONTEXT never
\pset format unaligned
\pset tuples_only on

-- The error of a call, with SQLSTATE. Numbers that depend on the host are N. A call that is not refused is
-- stopped and said to be accepted.
CREATE FUNCTION pg_temp.refused(call text, numbers boolean DEFAULT true) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    message text;
    detail text;
    hint text;
BEGIN
    EXECUTE 'SELECT ' || call;
    PERFORM noisy_stop();
    RETURN 'accepted';
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
    IF NOT numbers THEN
        detail := regexp_replace(detail, '\d+', 'N', 'g');
    END IF;
    RETURN concat_ws(E'\n', SQLSTATE || ': ' || message, '  detail: ' || NULLIF(detail, ''), '  hint: ' || NULLIF(hint, ''));
END
$$;
CREATE FUNCTION pg_temp.run(arguments text, numbers boolean DEFAULT true) RETURNS text LANGUAGE sql
    AS $$ SELECT arguments || E'\n' || pg_temp.refused('noisy_start(' || arguments || ')', numbers) $$;

-- levels
SELECT pg_temp.run($$levels => NULL$$);
SELECT pg_temp.run($$levels => '{}'$$);
SELECT pg_temp.run($$levels => '{0,NULL}'$$);
SELECT pg_temp.run($$levels => '{{0},{10}}'$$);
SELECT pg_temp.run($$levels => '{-1}'$$);
SELECT pg_temp.run($$levels => '{100.000001}'$$);
SELECT pg_temp.run($$levels => '{0,NaN}'$$);
SELECT pg_temp.run($$levels => '{Infinity}'$$);
SELECT pg_temp.run($$levels => '{30,0,30.0}'$$);

-- clients
SELECT pg_temp.run($$clients => NULL$$);
SELECT pg_temp.run($$clients => '{}'$$);
SELECT pg_temp.run($$clients => '{1,NULL}'$$);
SELECT pg_temp.run($$clients => '{{1},{2}}'$$);
SELECT pg_temp.run($$clients => '{0}'$$);
SELECT pg_temp.run($$clients => '{1,-5}'$$);
SELECT pg_temp.run($$clients => '{1001}'$$);
SELECT pg_temp.run($$clients => '{2147483647}'$$);
SELECT pg_temp.run($$clients => '{1,2,1}'$$);
SELECT pg_temp.run($$clients => '{1000}'$$, false);

-- workload
SELECT pg_temp.run($$workload => NULL$$);
SELECT pg_temp.run($$workload => 'tpcc'$$);
SELECT pg_temp.run($$workload => ''$$);
SELECT pg_temp.run($$workload => 'external'$$);
SELECT pg_temp.run($$query_mode => NULL$$);
SELECT pg_temp.run($$query_mode => 'fast'$$);
SELECT pg_temp.run($$rate => 0$$);
SELECT pg_temp.run($$rate => -1$$);
SELECT pg_temp.run($$rate => 'NaN'$$);
SELECT pg_temp.run($$rate => 'Infinity'$$);
SELECT pg_temp.run($$rate => 1000000.5$$);
SELECT pg_temp.run($$options => '{"latency_limit_ms": 0}'$$);
SELECT pg_temp.run($$options => '{"latency_limit_ms": "11 min"}'$$);
SELECT pg_temp.run($$options => '{"latency_limit_ms": null}'$$);
SELECT pg_temp.run($$threads => 0$$);
SELECT pg_temp.run($$threads => 257$$);
SELECT pg_temp.run($$repeats => NULL$$);
SELECT pg_temp.run($$repeats => 0$$);
SELECT pg_temp.run($$repeats => -1$$);
SELECT pg_temp.run($$repeats => 2147483647$$);

-- duration, warmup
SELECT pg_temp.run($$duration => NULL$$);
SELECT pg_temp.run($$duration => '0'$$);
SELECT pg_temp.run($$duration => '99 ms'$$);
SELECT pg_temp.run($$duration => '-1 s'$$);
SELECT pg_temp.run($$duration => '1 h 1 s'$$);
SELECT pg_temp.run($$duration => '1 month'$$);
SELECT pg_temp.run($$warmup => NULL$$);
SELECT pg_temp.run($$warmup => '-1 ms'$$);
SELECT pg_temp.run($$warmup => '2 h'$$);
SET pg_noisyneighbor.max_duration = '5 s';
SELECT pg_temp.run($$duration => '6 s'$$);
RESET pg_noisyneighbor.max_duration;

-- noise
SELECT pg_temp.run($$noise => NULL$$);
SELECT pg_temp.run($$noise => '{}'$$);
SELECT pg_temp.run($$noise => '{cpu,NULL}'$$);
SELECT pg_temp.run($$noise => '{{cpu},{memory}}'$$);
SELECT pg_temp.run($$noise => '{cpu,gpu}'$$);
SELECT pg_temp.run($$noise => '{CPU}'$$);
SELECT pg_temp.run($$noise => '{cpu,memory,cpu}'$$);
SELECT pg_temp.run($$noise => '{lock}'$$);

-- noise_options
SELECT pg_temp.run($$noise_options => NULL$$);
SELECT pg_temp.run($$noise_options => '[]'$$);
SELECT pg_temp.run($$noise_options => '5'$$);
SELECT pg_temp.run($$noise_options => '{"gpu": {}}'$$);
SELECT pg_temp.run($$noise_options => '{"cache": {}}'$$);
SELECT pg_temp.run($$noise_options => '{"cpu": 3}'$$);
SELECT pg_temp.run($$noise_options => '{"cpu": [3]}'$$);
SELECT pg_temp.run($$noise_options => '{"cpu": {"worker": 3}}'$$);
SELECT pg_temp.run($$noise_options => '{"cpu": {"bytes": "1MB"}}'$$);
SELECT pg_temp.run($$noise_options => '{"cpu": {"workers": 0}}'$$);
SELECT pg_temp.run($$noise_options => '{"cpu": {"workers": -1}}'$$);
SELECT pg_temp.run($$noise_options => '{"cpu": {"workers": 1.5}}'$$);
SELECT pg_temp.run($$noise_options => '{"cpu": {"workers": "2"}}'$$);
SELECT pg_temp.run($$noise_options => '{"cpu": {"workers": null}}'$$);
SELECT pg_temp.run($$noise_options => '{"cpu": {"workers": 1e9}}'$$);
SELECT pg_temp.run($$noise_options => '{"cpu": {"workers": 200}, "memory": {"workers": 200, "bytes": "4kB"}}'$$);
SELECT pg_temp.run($$noise_options => '{"memory": {"bytes": 0}}'$$);
SELECT pg_temp.run($$noise_options => '{"memory": {"bytes": -1}}'$$);
SELECT pg_temp.run($$noise_options => '{"memory": {"bytes": 4095}}'$$);
SELECT pg_temp.run($$noise_options => '{"memory": {"bytes": true}}'$$);
SELECT pg_temp.run($$noise_options => '{"memory": {"bytes": "much"}}'$$);
SELECT pg_temp.run($$noise_options => '{"memory": {"bytes": "1000 TB"}}'$$, false);
SELECT pg_temp.run($$noise_options => '{"memory": {"bytes": 9223372036854775807, "workers": 2}}'$$, false);
SELECT pg_temp.run($$noise_options => '{"memory": {"bytes": 1e30}}'$$);
SELECT pg_temp.run($$noise => '{cache}', noise_options => '{"cache": {"bytes": "1000 TB"}}'$$, false);

-- options
SELECT pg_temp.run($$options => NULL$$);
SELECT pg_temp.run($$options => '"seed"'$$);
SELECT pg_temp.run($$options => '{"sed": 1}'$$);
SELECT pg_temp.run($$options => '{"seed": "1"}'$$);
SELECT pg_temp.run($$options => '{"seed": 1.5}'$$);
SELECT pg_temp.run($$options => '{"seed": 1e30}'$$);
SELECT pg_temp.run($$options => '{"seed": null}'$$);
SELECT pg_temp.run($$options => '{"checkpoint": "often"}'$$);
SELECT pg_temp.run($$options => '{"checkpoint": true}'$$);
SELECT pg_temp.run($$options => '{"sample_interval": 0}'$$);
SELECT pg_temp.run($$options => '{"sample_interval": "0.5 ms"}'$$);
SELECT pg_temp.run($$options => '{"sample_interval": "11 s"}'$$);
SELECT pg_temp.run($$options => '{"sample_interval": "often"}'$$);
SELECT pg_temp.run($$options => '{"sample_interval": []}'$$);
SELECT pg_temp.run($$options => '{"tail": 1}'$$);
SELECT pg_temp.run($$options => '{"probes": "off"}'$$);
SELECT pg_temp.run($$options => '{"lock_probe": 4}'$$);
SELECT pg_temp.run($$options => '{"lock_probe": []}'$$);
SELECT pg_temp.run($$options => '{"lock_probe": {"worker": 4}}'$$);
SELECT pg_temp.run($$options => '{"lock_probe": {"workers": 1}}'$$);
SELECT pg_temp.run($$options => '{"lock_probe": {"workers": 2.5}}'$$);
SELECT pg_temp.run($$options => '{"lock_probe": {"hold_us": 0.5}}'$$);
SELECT pg_temp.run($$options => '{"lock_probe": {"hold_us": "long"}}'$$);
SELECT pg_temp.run($$options => '{"lock_probe": {"pause_us": -1}}'$$);
SELECT pg_temp.run($$options => '{"lock_probe": {"pause_us": 2e6}}'$$);
SELECT pg_temp.run($$options => '{"settle": -1}'$$);
SELECT pg_temp.run($$options => '{"settle": "2 min"}'$$);
SELECT pg_temp.run($$options => '{"scale": 10}'$$);
SELECT pg_temp.run($$options => '{"slo_ms": 10}'$$);
SELECT pg_temp.run($$options => '{"guard": 1}'$$);
SELECT pg_temp.run($$options => '{"guard": []}'$$);
SELECT pg_temp.run($$options => '{"guard": {"min_repeats": 1}}'$$);
SELECT pg_temp.run($$options => '{"guard": {"max_repeats": -1}}'$$);
SELECT pg_temp.run($$options => '{"guard": {"max_repeats": 2001}}'$$);
SELECT pg_temp.run($$options => '{"guard": {"max_repeats": 2000}}'$$);
SELECT pg_temp.run($$duration => '999 ms', options => '{"guard": true}'$$);
SELECT pg_temp.run($$options => '{"abort_slo_ms": 0}'$$);
SELECT pg_temp.run($$options => '{"abort_slo_ms": "11 min"}'$$);
SELECT pg_temp.run($$options => '{"until": "dawn"}'$$);
SELECT pg_temp.run($$options => '{"until": true}'$$);
SELECT pg_temp.run($$levels => '{0}', options => '{"until": "verdict"}'$$);
SELECT pg_temp.run($$options => '{"max_blocks": 16}'$$);
SELECT pg_temp.run($$repeats => 5, options => '{"until": "verdict", "max_blocks": 4}'$$);
SELECT pg_temp.run($$options => '{"until": "verdict", "max_blocks": 1}'$$);
SELECT pg_temp.run($$options => '{"until": "verdict", "max_blocks": 2000}'$$);

-- conninfo: the message does not repeat what may hold a password
SELECT pg_temp.run($$conninfo => 'password=secret nonsense'$$);
SELECT pg_temp.run($$conninfo => 'passwort=secret'$$);
SELECT pg_temp.run($$conninfo => 'postgresql://user:secret@host:port:5432/'$$);

-- tables that are not there are missed before any load
SELECT pg_temp.run($$workload => 'select-only', clients => '{1}'$$);
SELECT pg_temp.run($$workload => 'tpcb-like', clients => '{2}'$$);

-- noisy_load
SELECT pg_temp.refused($$noisy_load(NULL, 10, '1 s', wait => false)$$);
SELECT pg_temp.refused($$noisy_load('{}', 10, '1 s', wait => false)$$);
SELECT pg_temp.refused($$noisy_load('{gpu}', 10, '1 s', wait => false)$$);
SELECT pg_temp.refused($$noisy_load('{cpu}', NULL, '1 s', wait => false)$$);
SELECT pg_temp.refused($$noisy_load('{cpu}', 'NaN', '1 s', wait => false)$$);
SELECT pg_temp.refused($$noisy_load('{cpu}', 101, '1 s', wait => false)$$);
SELECT pg_temp.refused($$noisy_load('{cpu}', -0.1, '1 s', wait => false)$$);
SELECT pg_temp.refused($$noisy_load('{cpu}', 10, NULL, wait => false)$$);
SELECT pg_temp.refused($$noisy_load('{cpu}', 10, '0 s', wait => false)$$);
SELECT pg_temp.refused($$noisy_load('{cpu}', 10, '2 h', wait => false)$$);
SELECT pg_temp.refused($$noisy_load('{cpu}', 10, '1 s', NULL, wait => false)$$);
SELECT pg_temp.refused($$noisy_load('{cpu}', 10, '1 s', '{"memory": {}}', wait => false)$$);
SELECT pg_temp.refused($$noisy_load('{disk}', 10, '1 s', '{"disk": {"bytes": "1025MB"}}', wait => false)$$);
SELECT pg_temp.refused($$noisy_load('{disk}', 10, '1 s', '{"disk": {"workers": 17}}', wait => false)$$);
SELECT pg_temp.refused($$noisy_load('{disk}', 10, '1 s', '{"disk": {"fsyncs": 1}}', wait => false)$$);
SELECT pg_temp.refused($$noisy_load('{switch}', 10, '1 s', '{"switch": {"bytes": "1MB"}}', wait => false)$$);

-- noisy_lock_probe, which is a function and a view
SELECT pg_temp.refused($$noisy_lock_probe(NULL)$$);
SELECT pg_temp.refused($$noisy_lock_probe('0 s')$$);
SELECT pg_temp.refused($$noisy_lock_probe('1 s', NULL)$$);
SELECT pg_temp.refused($$noisy_lock_probe('1 s', 1)$$);
SELECT pg_temp.refused($$noisy_lock_probe('1 s', 33)$$);
SELECT pg_temp.refused($$noisy_lock_probe('1 s', 4, NULL)$$);
SELECT pg_temp.refused($$noisy_lock_probe('1 s', 4, 'NaN')$$);
SELECT pg_temp.refused($$noisy_lock_probe('1 s', 4, 20000)$$);
SELECT pg_temp.refused($$noisy_lock_probe('1 s', 4, 50, NULL)$$);
SELECT pg_temp.refused($$noisy_lock_probe('1 s', 4, 50, -0.001)$$);
SELECT count(*), count(noisy_lock_probe), count(noisy_lock_probe.run_id) FROM noisy_lock_probe;
SELECT string_agg(a.attname, ' ' ORDER BY a.attnum) AS columns_of_the_view_alone
FROM pg_attribute a
WHERE a.attrelid = 'noisy_lock_probe'::regclass AND a.attname <> ALL (
    SELECT unnest(p.proargnames) FROM pg_proc p WHERE p.oid = 'noisy_lock_probe(interval, int, float8, float8)'::regprocedure);

-- noisy_workload_init
SELECT pg_temp.refused($$noisy_workload_init(NULL)$$);
SELECT pg_temp.refused($$noisy_workload_init(0)$$);
SELECT pg_temp.refused($$noisy_workload_init(20000)$$);

-- noisy_wait, noisy_stop
CALL noisy_wait(NULL);
CALL noisy_wait(0);
CALL noisy_wait(-1);
SELECT noisy_stop(), noisy_stop(NULL), noisy_stop(0), noisy_stop(-1);

-- settings
SELECT left(pg_temp.refused($$set_config('pg_noisyneighbor.max_duration', '0', false)$$), 5);
SELECT left(pg_temp.refused($$set_config('pg_noisyneighbor.max_memory_percent', '91', false)$$), 5);
SELECT left(pg_temp.refused($$set_config('pg_noisyneighbor.proc_path', 'proc', false)$$), 5);
SELECT left(pg_temp.refused($$set_config('pg_noisyneighbor.nonsense', '1', false)$$), 5);
SELECT name, setting, unit, context, vartype, min_val, max_val FROM pg_settings WHERE name LIKE 'pg\_noisyneighbor.%' ORDER BY name COLLATE "C";

-- nothing is left
SELECT count(*) FROM noisy_runs;
SELECT count(*) FROM noisy_progress;
DO $$
BEGIN
    FOR i IN 1 .. 600 LOOP
        PERFORM pg_stat_clear_snapshot();
        EXIT WHEN NOT EXISTS (SELECT FROM pg_stat_activity WHERE backend_type LIKE 'pg\_noisyneighbor%' OR application_name LIKE 'pg\_noisyneighbor%');
        PERFORM pg_sleep(0.05);
    END LOOP;
END
$$;
SELECT count(*) FROM pg_stat_activity WHERE backend_type LIKE 'pg\_noisyneighbor%' OR application_name LIKE 'pg\_noisyneighbor%';
