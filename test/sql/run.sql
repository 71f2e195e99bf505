-- Where a session may wait for a run, and where not: only where nobody reads by the snapshot that the wait gives up.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS pg_noisyneighbor;
\set SHOW_CONTEXT never
\pset format unaligned
\pset tuples_only on

-- A short load that is waited for: 't' when it has completed.
\set load 'noisy_load(''{cpu}'', 10, ''100 ms'', ''{"cpu": {"workers": 1}}'')'
CREATE FUNCTION pg_temp.completed(run bigint) RETURNS boolean LANGUAGE sql
    AS $$ SELECT state = 'completed' FROM noisy_runs WHERE run_id = run $$;

-- the only expression of a top-level SELECT
SELECT :load AS run \gset
SELECT pg_temp.completed(:run);
RESET client_min_messages;
SELECT regexp_replace(:load::text, '\d+', 'N');  -- a cast makes it part of an expression
SELECT noisy_load('{cpu}', 0, '100 ms') AS run \gset
SELECT pg_temp.completed(:run);
SET client_min_messages = warning;

-- by EXECUTE of a prepared statement
PREPARE load AS SELECT :load;
EXECUTE load \gset
SELECT pg_temp.completed(:noisy_load);
DEALLOCATE load;

-- inlined from a function in SQL
CREATE FUNCTION pg_temp.inlined() RETURNS bigint LANGUAGE sql AS $$ SELECT noisy_load('{cpu}', 10, '100 ms', '{"cpu": {"workers": 1}}') $$;
SELECT pg_temp.inlined() AS run \gset
SELECT pg_temp.completed(:run);

-- in a transaction block
BEGIN;
SELECT :load;
\echo :LAST_ERROR_SQLSTATE
ROLLBACK;
\set VERBOSITY terse
BEGIN;
SAVEPOINT s;
SELECT :load;
ROLLBACK;
SELECT 1 \; SELECT :load;
SELECT :load \; SELECT 1;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT :load;
ROLLBACK;

-- under a level that keeps its snapshot
SET default_transaction_isolation = 'repeatable read';
SELECT :load;
SET default_transaction_isolation = 'serializable';
SELECT :load;
RESET default_transaction_isolation;

-- in a larger query
SELECT :load, 1;
SELECT 1, :load;
SELECT :load + 1;
SELECT (SELECT :load);
SELECT * FROM :load;
SELECT :load FROM generate_series(1, 2);
SELECT :load WHERE random() < 2;
SELECT :load LIMIT 1;
SELECT :load UNION ALL SELECT 1;
SELECT DISTINCT :load;
SELECT CASE WHEN :load > 0 THEN 1 END;
WITH w AS MATERIALIZED (SELECT :load AS run) SELECT run FROM w;
VALUES (:load);
EXPLAIN (ANALYZE, COSTS off, TIMING off, SUMMARY off) SELECT :load;
COPY (SELECT :load) TO STDOUT;
CREATE TEMP TABLE t AS SELECT :load AS run;
CREATE TEMP TABLE t AS SELECT 1::bigint AS run;
INSERT INTO t SELECT :load;
INSERT INTO t VALUES (:load);
UPDATE t SET run = :load;
BEGIN;
DECLARE c CURSOR FOR SELECT :load;
FETCH c;
ROLLBACK;

-- in another function, procedure or block
CREATE FUNCTION pg_temp.plpgsql() RETURNS bigint LANGUAGE plpgsql
    AS $$ BEGIN RETURN noisy_load('{cpu}', 10, '100 ms'); END $$;
SELECT pg_temp.plpgsql();
CREATE FUNCTION pg_temp.select_into() RETURNS bigint LANGUAGE plpgsql
    AS $$ DECLARE run bigint; BEGIN EXECUTE $q$ SELECT noisy_load('{cpu}', 10, '100 ms') $q$ INTO run; RETURN run; END $$;
SELECT pg_temp.select_into();
CREATE FUNCTION pg_temp.not_inlined() RETURNS bigint LANGUAGE sql SET search_path = public
    AS $$ SELECT noisy_load('{cpu}', 10, '100 ms') $$;
SELECT pg_temp.not_inlined();
CREATE PROCEDURE pg_temp.procedure() LANGUAGE plpgsql
    AS $$ BEGIN COMMIT; PERFORM noisy_load('{cpu}', 10, '100 ms'); END $$;
CALL pg_temp.procedure();
DO $$ BEGIN PERFORM noisy_load('{cpu}', 10, '100 ms'); END $$;

-- so with noisy_run
BEGIN;
SELECT noisy_run('select-only', '{1}', '{0}');
ROLLBACK;

-- noisy_wait needs a place where it can end its transaction
BEGIN;
CALL noisy_wait(1);
ROLLBACK;
CREATE PROCEDURE pg_temp.wait() LANGUAGE plpgsql AS $$
DECLARE
    run bigint := (SELECT max(run_id) FROM noisy_runs);
BEGIN
    CALL noisy_wait(run);
END $$;
CALL pg_temp.wait();
BEGIN;
CALL pg_temp.wait();
ROLLBACK;

-- starting without waiting is possible anywhere, also in a transaction that is rolled back
BEGIN;
SELECT noisy_load('{cpu}', 10, '100 ms', '{"cpu": {"workers": 1}}', wait => false) AS run \gset
ROLLBACK;
CALL noisy_wait(:run);
SELECT pg_temp.completed(:run);
CREATE FUNCTION pg_temp.start() RETURNS bigint LANGUAGE plpgsql
    AS $$ BEGIN RETURN noisy_load('{cpu}', 10, '100 ms', '{"cpu": {"workers": 1}}', wait => false); END $$;
SELECT pg_temp.start() AS run \gset
CALL noisy_wait(:run);
SELECT pg_temp.completed(:run);

-- a run follows one that is being stopped
SELECT noisy_load('{cpu}', 10, '60 s', '{"cpu": {"workers": 1}}', wait => false) AS stopped \gset
SELECT noisy_stop();
SELECT :load AS run \gset
SELECT pg_temp.completed(:run);
SELECT state FROM noisy_runs WHERE run_id = :stopped;

-- the session is as it was: it sees what others and it itself have done
SELECT count(*) > 5 FROM noisy_runs;
DELETE FROM noisy_runs;
SELECT count(*) FROM noisy_runs;
SELECT count(*) FROM noisy_blocks;
