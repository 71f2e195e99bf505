-- Running, waiting, stopping, looking.

CREATE FUNCTION noisy_run(
    workload      text      DEFAULT 'tpcb-like',
    clients       int[]     DEFAULT '{10}',
    levels        numeric[] DEFAULT '{0,30,40}',
    noise         text[]    DEFAULT '{cpu,memory}',
    noise_options jsonb     DEFAULT '{}',
    duration      interval  DEFAULT '10 s',
    warmup        interval  DEFAULT '2 s',
    repeats       int       DEFAULT 3,
    rate          float8    DEFAULT NULL,
    query_mode    text      DEFAULT 'prepared',
    threads       int       DEFAULT NULL,
    conninfo      text      DEFAULT NULL,
    label         text      DEFAULT NULL,
    options       jsonb     DEFAULT '{}',
    wait          boolean   DEFAULT true
) RETURNS bigint
AS 'MODULE_PATHNAME', 'nn_noisy_run'
LANGUAGE C VOLATILE PARALLEL UNSAFE;
REVOKE ALL ON FUNCTION noisy_run(text, int[], numeric[], text[], jsonb, interval, interval, int, float8,
    text, int, text, text, jsonb, boolean) FROM PUBLIC;
COMMENT ON FUNCTION noisy_run(text, int[], numeric[], text[], jsonb, interval, interval, int, float8,
    text, int, text, text, jsonb, boolean)
    IS 'measure a workload at several noise levels; waits for the end and returns the id of the run';

CREATE FUNCTION noisy_start(
    workload      text      DEFAULT 'tpcb-like',
    clients       int[]     DEFAULT '{10}',
    levels        numeric[] DEFAULT '{0,30,40}',
    noise         text[]    DEFAULT '{cpu,memory}',
    noise_options jsonb     DEFAULT '{}',
    duration      interval  DEFAULT '10 s',
    warmup        interval  DEFAULT '2 s',
    repeats       int       DEFAULT 3,
    rate          float8    DEFAULT NULL,
    query_mode    text      DEFAULT 'prepared',
    threads       int       DEFAULT NULL,
    conninfo      text      DEFAULT NULL,
    label         text      DEFAULT NULL,
    options       jsonb     DEFAULT '{}'
) RETURNS bigint
AS 'MODULE_PATHNAME', 'nn_noisy_start'
LANGUAGE C VOLATILE PARALLEL UNSAFE;
REVOKE ALL ON FUNCTION noisy_start(text, int[], numeric[], text[], jsonb, interval, interval, int, float8,
    text, int, text, text, jsonb) FROM PUBLIC;
COMMENT ON FUNCTION noisy_start(text, int[], numeric[], text[], jsonb, interval, interval, int, float8,
    text, int, text, text, jsonb)
    IS 'like noisy_run, but returns the id as soon as the run has begun';

CREATE FUNCTION noisy_load(
    noise         text[],
    level         numeric,
    duration      interval,
    noise_options jsonb     DEFAULT '{}',
    wait          boolean   DEFAULT true
) RETURNS bigint
AS 'MODULE_PATHNAME', 'nn_noisy_load'
LANGUAGE C VOLATILE PARALLEL UNSAFE;
REVOKE ALL ON FUNCTION noisy_load(text[], numeric, interval, jsonb, boolean) FROM PUBLIC;
COMMENT ON FUNCTION noisy_load(text[], numeric, interval, jsonb, boolean)
    IS 'generate noise alone, for a load that somebody else measures; returns the id of the run';

CREATE PROCEDURE noisy_wait(run_id bigint)
AS 'MODULE_PATHNAME', 'nn_noisy_wait'
LANGUAGE C;
REVOKE ALL ON PROCEDURE noisy_wait(bigint) FROM PUBLIC;
COMMENT ON PROCEDURE noisy_wait(bigint) IS 'wait for the end of a run; holds no snapshot while it waits';

CREATE FUNCTION noisy_stop(run_id bigint DEFAULT NULL) RETURNS boolean
AS 'MODULE_PATHNAME', 'nn_noisy_stop'
LANGUAGE C VOLATILE PARALLEL UNSAFE;
REVOKE ALL ON FUNCTION noisy_stop(bigint) FROM PUBLIC;
COMMENT ON FUNCTION noisy_stop(bigint)
    IS 'stop the live run of this database (or only the one given); false when it is not live';

CREATE FUNCTION noisy_live_run(
    OUT run_id bigint, OUT block int, OUT blocks int, OUT phase text, OUT clients int,
    OUT level numeric, OUT elapsed_s float8, OUT remaining_s float8, OUT tps float8, OUT p99_ms float8,
    OUT idle_s float8
) RETURNS SETOF record
AS 'MODULE_PATHNAME', 'nn_noisy_live_run'
LANGUAGE C VOLATILE ROWS 1 PARALLEL RESTRICTED;
REVOKE ALL ON FUNCTION noisy_live_run() FROM PUBLIC;
COMMENT ON FUNCTION noisy_live_run() IS 'the live run of this database, or no row; read noisy_progress';

CREATE VIEW noisy_progress AS SELECT * FROM noisy_live_run();
COMMENT ON VIEW noisy_progress IS 'the live run of this database, or no row';
COMMENT ON COLUMN noisy_progress.run_id IS 'run';
COMMENT ON COLUMN noisy_progress.block IS 'block that is on, from 1';
COMMENT ON COLUMN noisy_progress.blocks IS 'blocks of the run';
COMMENT ON COLUMN noisy_progress.phase IS 'starting, connecting, warm-up, measuring, stalled (no transaction ended for 3 s), storing, settling';
COMMENT ON COLUMN noisy_progress.clients IS 'clients of the block';
COMMENT ON COLUMN noisy_progress.level IS 'noise dose of the block, percent';
COMMENT ON COLUMN noisy_progress.elapsed_s IS 'time since the run was started, seconds';
COMMENT ON COLUMN noisy_progress.remaining_s IS 'time that the rest of the run will take, seconds';
COMMENT ON COLUMN noisy_progress.tps IS 'transactions in the last whole second';
COMMENT ON COLUMN noisy_progress.p99_ms IS '99th percentile of the latency in the last whole second, ms';
COMMENT ON COLUMN noisy_progress.idle_s IS 'time since a transaction of the workload was seen to end, seconds; NULL: none yet';

CREATE VIEW noisy_runs AS
    SELECT r.run_id, r.label,
           CASE WHEN r.state IN ('starting', 'running') AND NOT pg_is_in_recovery()
                     AND NOT EXISTS (SELECT FROM noisy_live_run() l WHERE l.run_id = r.run_id)
                THEN 'aborted' ELSE r.state END AS state,
           r.started_at, r.finished_at, r.workload, r.role_name, r.parameters, r.environment, r.seed,
           CASE WHEN r.state IN ('starting', 'running') AND NOT pg_is_in_recovery()
                     AND NOT EXISTS (SELECT FROM noisy_live_run() l WHERE l.run_id = r.run_id)
                THEN 'the server or the conductor of the run died' ELSE r.error END AS error
    FROM noisy_run_records r;
COMMENT ON VIEW noisy_runs IS 'runs; DELETE FROM noisy_runs removes a run with all that belongs to it';
COMMENT ON COLUMN noisy_runs.run_id IS 'id of the run';
COMMENT ON COLUMN noisy_runs.label IS 'name given by the caller';
COMMENT ON COLUMN noisy_runs.state IS 'starting, running, completed, stopped, cancelled, failed or aborted; on a standby as last recorded';
COMMENT ON COLUMN noisy_runs.started_at IS 'when the run was started';
COMMENT ON COLUMN noisy_runs.finished_at IS 'when it ended';
COMMENT ON COLUMN noisy_runs.workload IS 'name of the workload; NULL: noise alone';
COMMENT ON COLUMN noisy_runs.role_name IS 'role that started it';
COMMENT ON COLUMN noisy_runs.parameters IS 'what was asked for, defaults filled in';
COMMENT ON COLUMN noisy_runs.environment IS 'host and server as they were';
COMMENT ON COLUMN noisy_runs.seed IS 'seed of the block order and of the workload''s random numbers';
COMMENT ON COLUMN noisy_runs.error IS 'why the run failed, was aborted or was stopped';
