-- Fuzz the arguments of what starts load: random json for the options, extremes for the rest.
--
--	psql -v seconds=30 -v seed=0.5 -f test/fuzz/arguments.sql DATABASE
--
-- For a server with max_worker_processes = 1: what is accepted is then refused for want of a worker, so nothing ever starts.
-- A finding is a call that ends otherwise than with an error that says what is wrong with it; the last lines count and show them.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS pg_noisyneighbor;
\set ON_ERROR_STOP on
\pset format unaligned
\pset tuples_only on
SELECT setseed(:seed) \gset

CREATE FUNCTION pg_temp.pick(list text[]) RETURNS text LANGUAGE sql AS $$ SELECT list[1 + floor(random() * cardinality(list))] $$;

-- Random json, mostly made of what the parsers know.
CREATE FUNCTION pg_temp.json(depth int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    n int := floor(random() * 4);
    parts text[] := '{}';
BEGIN
    IF depth <= 0 OR random() < 0.4 THEN
        RETURN pg_temp.pick(ARRAY['0', '1', '-1', '2', '64', '4096', '1.5', '1e3', '1e30', '1e308', '1e309', '1e-400', '1e100000',
            '9223372036854775807', '-9223372036854775808', '9223372036854775808', 'true', 'false', 'null', '""', '"1"', '"none"',
            '"before_block"', '"verdict"', '"64MB"', '"64 kB"', '"-1 TB"', '"1e9 PB"', '"0.0000001 B"', '"10 ms"', '"1 week"', '"-1 s"',
            '"infinity"', '"178000000 years"', '"P1Y"', '"x\u0001\u00e9"', '"' || repeat('y', floor(random() * 2000)::int) || '"']);
    END IF;
    FOR i IN 1 .. n LOOP
        parts := parts || pg_temp.json(depth - 1);
    END LOOP;
    IF random() < 0.2 THEN
        RETURN '[' || array_to_string(parts, ',') || ']';
    END IF;
    FOR i IN 1 .. n LOOP
        parts[i] := to_jsonb(pg_temp.pick(ARRAY['cpu', 'memory', 'cache', 'workers', 'bytes', 'seed', 'settle', 'checkpoint',
            'sample_interval', 'scale', 'guard', 'tail', 'probes', 'lock_probe', 'hold_us', 'pause_us', 'max_repeats', 'max_blocks', 'until', 'abort_slo_ms', '', 'CPU', E'\x01', repeat('k', floor(random() * 2000)::int)]))::text || ':' || parts[i];
    END LOOP;
    RETURN '{' || array_to_string(parts, ',') || '}';
END
$$;

-- Most arguments of a call are good: otherwise the first bad one would hide the others.
CREATE FUNCTION pg_temp.call() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    good float8 := random() * 0.3;
    arguments text[] := '{}';
BEGIN
    IF random() < good THEN arguments := arguments || ('levels => ' || pg_temp.pick(ARRAY['NULL', '''{}''', '''{0,NaN}''', '''{1e-300}''', '''{100}''',
        '''{100.0000000000000000000000001}''', '''{Infinity}''', '''{{0}}''', '''[3:4]={1,2}''', '''{1e100000}''', '''{5,5.0}'''])); END IF;
    IF random() < good THEN arguments := arguments || ('clients => ' || pg_temp.pick(ARRAY['NULL', '''{}''', '''{0}''', '''{-2147483648}''', '''{2147483647}''',
        '''{{1}}''', '''[0:1]={1,2}''', '''{1,1}''', '''{NULL}''', 'array_fill(3, ''{2000}'')'])); END IF;
    IF random() < good THEN arguments := arguments || ('noise => ' || pg_temp.pick(ARRAY['NULL', '''{}''', '''{cache}''', '''{{cpu}}''', '''{NULL}''', '''{"",cpu}''',
        '''{cpu,memory,cache}''', '''{cpu,cpu}''', 'ARRAY[repeat(''z'', 3000)]'])); END IF;
    IF random() < good THEN arguments := arguments || (pg_temp.pick('{duration,warmup}') || ' => ' || pg_temp.pick(ARRAY['NULL', '''0''', '''99.9 ms''',
        '''1 h''', '''-1 us''', '''178000000 years''', '''-178000000 years''', '''2147483647 months -2147483648 days''', '''1 us'''])); END IF;
    IF random() < good THEN arguments := arguments || (pg_temp.pick('{repeats,threads}') || ' => ' || pg_temp.pick(ARRAY['NULL', '0', '1', '-1', '256', '2147483647',
        '-2147483648'])); END IF;
    IF random() < good THEN arguments := arguments || ('query_mode => ' || pg_temp.pick(ARRAY['NULL', '''''', '''simple''', '''Simple'''])); END IF;
    IF random() < good THEN arguments := arguments || ('workload => ' || pg_temp.pick(ARRAY['NULL', '''''', '''select-only''', '''external'''])); END IF;
    IF random() < good THEN arguments := arguments || ('label => ' || pg_temp.pick(ARRAY['NULL', '''''', 'repeat(''l'', 1024)', 'repeat(''l'', 1025)'])); END IF;
    IF random() < good THEN arguments := arguments || ('conninfo => ' || pg_temp.pick(ARRAY['NULL', '''''', '''host=''''x''', '''postgresql://[::1''', '''postgres://%''',
        'repeat(''c'', 3000)', '''host=a,b,c port=1,2'''])); END IF;
    IF random() < 0.7 THEN arguments := arguments || format('options => %L', pg_temp.json(2)); END IF;
    IF random() < 0.7 THEN arguments := arguments || format('noise_options => %L', pg_temp.json(3)); END IF;
    RETURN 'noisy_start(' || array_to_string(arguments, ', ') || ')';
END
$$;

CREATE TEMP TABLE findings (call text, result text);
CREATE TEMP TABLE seen (sqlstate text PRIMARY KEY, calls bigint);
CREATE FUNCTION pg_temp.fuzz(seconds float8) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    until timestamptz := clock_timestamp() + make_interval(secs => seconds);
    call text;
    result text;
BEGIN
    WHILE clock_timestamp() < until LOOP
        call := pg_temp.call();
        BEGIN
            EXECUTE 'SELECT ' || call;
            result := 'ok';
        EXCEPTION WHEN OTHERS THEN
            result := SQLSTATE;
        END;
        INSERT INTO seen VALUES (result, 1) ON CONFLICT (sqlstate) DO UPDATE SET calls = seen.calls + 1;
        -- bad arguments, too much of something, not there, not yet supported
        IF result !~ '^(22|53400|54000|55006|0A000)' THEN
            INSERT INTO findings VALUES (call, result);
        END IF;
    END LOOP;
END
$$;
SELECT pg_temp.fuzz(:seconds);
SELECT string_agg(sqlstate || ' ' || calls, ', ' ORDER BY calls DESC) FROM seen;
SELECT result || ': ' || left(call, 2000) FROM findings LIMIT 20;
SELECT 'findings: ' || count(*) FROM findings;
