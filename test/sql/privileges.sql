-- Who may do what, and as whom a run works.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS pg_noisyneighbor;
\set SHOW_CONTEXT never
\set VERBOSITY terse
\pset format unaligned
\pset tuples_only on
CREATE ROLE regress_noisy_nobody LOGIN;
CREATE ROLE regress_noisy_runner LOGIN;
CREATE ROLE regress_noisy_watcher LOGIN;
CREATE ROLE regress_noisy_nologin NOLOGIN;
GRANT pg_monitor TO regress_noisy_watcher;

-- by default a role may neither load the server nor read what was measured
SET ROLE regress_noisy_nobody;
SELECT noisy_run('select-only');
SELECT noisy_start('select-only');
SELECT noisy_load('{cpu}', 10, '1 s');
CALL noisy_wait(1);
SELECT noisy_stop();
SELECT noisy_workload_init(1);
SELECT * FROM noisy_runs;
SELECT * FROM noisy_run_records;
SELECT * FROM noisy_progress;
SELECT noisy_report(1);
-- the functions on histograms are everybody's
SELECT noisy_percentile(noisy_histogram_agg(x), 0.5) FROM generate_series(1, 3) x;
RESET ROLE;

-- pg_monitor reads, and no more
SET ROLE regress_noisy_watcher;
SELECT count(*) FROM noisy_runs;
SELECT count(*) FROM noisy_results;
SELECT count(*) FROM noisy_progress;
SELECT noisy_run('select-only');
SELECT noisy_stop();
INSERT INTO noisy_run_records (state, role_name, parameters, environment, seed) VALUES ('completed', 'x', '{}', '{}', 1);
UPDATE noisy_run_records SET label = 'x';
DELETE FROM noisy_runs;
TRUNCATE noisy_run_records CASCADE;
CREATE TRIGGER t BEFORE INSERT ON noisy_blocks FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger();
SELECT nextval('noisy_run_id_seq');
RESET ROLE;

-- a role that was granted it runs as itself, on its own tables
GRANT EXECUTE ON FUNCTION noisy_start, noisy_load, noisy_stop, noisy_workload_init TO regress_noisy_runner, regress_noisy_nologin;
GRANT EXECUTE ON PROCEDURE noisy_wait TO regress_noisy_runner;
CREATE SCHEMA regress_noisy_runner AUTHORIZATION regress_noisy_runner;
SET ROLE regress_noisy_runner;
SELECT noisy_start('select-only', '{1}', '{0}');
SELECT noisy_workload_init(1);
SELECT noisy_start('select-only', '{2}', '{0,10}', duration => '1 s', warmup => '0 s', repeats => 1, noise => '{cpu}',
                   noise_options => '{"cpu": {"workers": 1}}', options => '{"guard": false}') AS run \gset
SELECT DISTINCT usename, datname = current_database() FROM pg_stat_activity
    WHERE application_name = 'pg_noisyneighbor run=' || :run;
CALL noisy_wait(:run);
RESET ROLE;
SELECT role_name, state FROM noisy_runs WHERE run_id = :run;
SELECT count(*), bool_and(transactions > 0 AND errors = 0) FROM noisy_blocks WHERE run_id = :run;
SELECT pg_get_userbyid(relowner) FROM pg_class WHERE oid = 'regress_noisy_runner.pgbench_accounts'::regclass;

-- what it may not read itself, its run doesn't read for it
ALTER TABLE regress_noisy_runner.pgbench_accounts OWNER TO CURRENT_USER;
SET ROLE regress_noisy_runner;
SELECT noisy_start('select-only', '{2}', '{0}');
-- another server is for superusers, and so are the ceilings
SELECT noisy_start('select-only', conninfo => 'host=localhost');
SET pg_noisyneighbor.max_duration = '10 h';
SET pg_noisyneighbor.max_clients = 10000;
SET pg_noisyneighbor.proc_path = '/tmp';
SET pg_noisyneighbor.sample_interval = '20 ms';
RESET pg_noisyneighbor.sample_interval;
RESET ROLE;

-- a role that cannot log in has no clients
SET ROLE regress_noisy_nologin;
SELECT noisy_start('select-only', '{2}', '{0}');
RESET ROLE;
SELECT count(*) FROM noisy_runs WHERE state <> 'completed';

-- the owner of the extension deletes runs
DELETE FROM noisy_runs;
SELECT count(*) FROM noisy_run_records;

DROP SCHEMA regress_noisy_runner CASCADE;
DROP OWNED BY regress_noisy_nobody, regress_noisy_runner, regress_noisy_watcher, regress_noisy_nologin;
DROP ROLE regress_noisy_nobody, regress_noisy_runner, regress_noisy_watcher, regress_noisy_nologin;
