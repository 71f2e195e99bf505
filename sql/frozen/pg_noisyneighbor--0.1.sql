-- Version 0.1, as released: never changed.
-- complain if the script is sourced in psql rather than by CREATE EXTENSION
\echo Use "CREATE EXTENSION pg_noisyneighbor" to load this file. \quit
-- Latency histograms: log-linear, 128 buckets per power of two, nanoseconds to 73 minutes.

CREATE TYPE noisy_histogram;

CREATE FUNCTION noisy_histogram_in(cstring) RETURNS noisy_histogram
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'nn_sql_histogram_in';
COMMENT ON FUNCTION noisy_histogram_in(cstring) IS 'I/O';

CREATE FUNCTION noisy_histogram_out(noisy_histogram) RETURNS cstring
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'nn_sql_histogram_out';
COMMENT ON FUNCTION noisy_histogram_out(noisy_histogram) IS 'I/O';

CREATE FUNCTION noisy_histogram_recv(internal) RETURNS noisy_histogram
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'nn_sql_histogram_recv';
COMMENT ON FUNCTION noisy_histogram_recv(internal) IS 'I/O';

CREATE FUNCTION noisy_histogram_send(noisy_histogram) RETURNS bytea
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'nn_sql_histogram_send';
COMMENT ON FUNCTION noisy_histogram_send(noisy_histogram) IS 'I/O';

CREATE TYPE noisy_histogram (
    INPUT = noisy_histogram_in,
    OUTPUT = noisy_histogram_out,
    RECEIVE = noisy_histogram_recv,
    SEND = noisy_histogram_send,
    INTERNALLENGTH = VARIABLE,
    ALIGNMENT = int4,
    STORAGE = extended
);
COMMENT ON TYPE noisy_histogram
    IS 'counts of latencies in log-linear buckets: percentiles within 0.4 %, exact count, sum, minimum and maximum; histograms can be merged';

-- Building

CREATE FUNCTION noisy_record(h noisy_histogram, ms float8) RETURNS noisy_histogram
LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'nn_sql_histogram_record';
COMMENT ON FUNCTION noisy_record(noisy_histogram, float8)
    IS 'the histogram with one more latency, in ms; a NULL histogram counts as an empty one, a NULL latency is left out';

CREATE FUNCTION noisy_histogram_agg_trans(internal, ms float8) RETURNS internal
LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'nn_sql_histogram_agg_trans';
COMMENT ON FUNCTION noisy_histogram_agg_trans(internal, float8) IS 'aggregate transition function';

CREATE FUNCTION noisy_merge_trans(internal, h noisy_histogram) RETURNS internal
LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'nn_sql_histogram_merge_trans';
COMMENT ON FUNCTION noisy_merge_trans(internal, noisy_histogram) IS 'aggregate transition function';

CREATE FUNCTION noisy_histogram_agg_combine(internal, internal) RETURNS internal
LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'nn_sql_histogram_agg_combine';
COMMENT ON FUNCTION noisy_histogram_agg_combine(internal, internal) IS 'aggregate combine function';

CREATE FUNCTION noisy_histogram_agg_serialize(internal) RETURNS bytea
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'nn_sql_histogram_agg_serialize';
COMMENT ON FUNCTION noisy_histogram_agg_serialize(internal) IS 'aggregate serial function';

CREATE FUNCTION noisy_histogram_agg_deserialize(bytea, internal) RETURNS internal
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'nn_sql_histogram_agg_deserialize';
COMMENT ON FUNCTION noisy_histogram_agg_deserialize(bytea, internal) IS 'aggregate deserial function';

CREATE FUNCTION noisy_histogram_agg_final(internal) RETURNS noisy_histogram
LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'nn_sql_histogram_agg_final';
COMMENT ON FUNCTION noisy_histogram_agg_final(internal) IS 'aggregate final function';

CREATE AGGREGATE noisy_histogram_agg(ms float8) (
    SFUNC = noisy_histogram_agg_trans,
    STYPE = internal,
    SSPACE = 36912,
    FINALFUNC = noisy_histogram_agg_final,
    COMBINEFUNC = noisy_histogram_agg_combine,
    SERIALFUNC = noisy_histogram_agg_serialize,
    DESERIALFUNC = noisy_histogram_agg_deserialize,
    PARALLEL = SAFE
);
COMMENT ON AGGREGATE noisy_histogram_agg(float8)
    IS 'histogram of latencies in ms; NULLs are left out, NULL when there are no others';

CREATE AGGREGATE noisy_merge(h noisy_histogram) (
    SFUNC = noisy_merge_trans,
    STYPE = internal,
    SSPACE = 36912,
    FINALFUNC = noisy_histogram_agg_final,
    COMBINEFUNC = noisy_histogram_agg_combine,
    SERIALFUNC = noisy_histogram_agg_serialize,
    DESERIALFUNC = noisy_histogram_agg_deserialize,
    PARALLEL = SAFE
);
COMMENT ON AGGREGATE noisy_merge(noisy_histogram)
    IS 'all histograms added up: percentiles of several blocks or nodes come from here, never from averaging percentiles';

-- Asking

CREATE FUNCTION noisy_percentile(h noisy_histogram, p float8) RETURNS float8
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'nn_sql_histogram_percentile';
COMMENT ON FUNCTION noisy_percentile(noisy_histogram, float8)
    IS 'latency in ms at fraction p (0.99: the 99th percentile), within 0.4 %; 0 and 1 give the exact minimum and maximum; NULL for an empty histogram';

CREATE FUNCTION noisy_percentile(h noisy_histogram, p float8[]) RETURNS float8[]
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'nn_sql_histogram_percentiles';
COMMENT ON FUNCTION noisy_percentile(noisy_histogram, float8[])
    IS 'latencies in ms at several fractions: an array of the same shape; NULL for an empty histogram';

CREATE FUNCTION noisy_count(h noisy_histogram) RETURNS bigint
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'nn_sql_histogram_count';
COMMENT ON FUNCTION noisy_count(noisy_histogram) IS 'number of latencies recorded';

CREATE FUNCTION noisy_mean(h noisy_histogram) RETURNS float8
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'nn_sql_histogram_mean';
COMMENT ON FUNCTION noisy_mean(noisy_histogram) IS 'mean latency in ms, from the exact sum; NULL for an empty histogram';

CREATE FUNCTION noisy_stddev(h noisy_histogram) RETURNS float8
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'nn_sql_histogram_stddev';
COMMENT ON FUNCTION noisy_stddev(noisy_histogram)
    IS 'sample standard deviation of the latencies in ms, from the exact sums; NULL for fewer than two';

CREATE FUNCTION noisy_min(h noisy_histogram) RETURNS float8
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'nn_sql_histogram_min';
COMMENT ON FUNCTION noisy_min(noisy_histogram) IS 'smallest latency in ms, exact; NULL for an empty histogram';

CREATE FUNCTION noisy_max(h noisy_histogram) RETURNS float8
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'nn_sql_histogram_max';
COMMENT ON FUNCTION noisy_max(noisy_histogram) IS 'largest latency in ms, exact; NULL for an empty histogram';

CREATE FUNCTION noisy_buckets(h noisy_histogram, OUT low_ms float8, OUT high_ms float8, OUT count bigint)
RETURNS SETOF record
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE ROWS 500 AS 'MODULE_PATHNAME', 'nn_sql_histogram_buckets';
COMMENT ON FUNCTION noisy_buckets(noisy_histogram)
    IS 'buckets that are not empty, in order: count latencies from low_ms to below high_ms; high_ms is infinite for latencies of 73 minutes and more';
-- Statistics that the views need and the server does not have.

CREATE FUNCTION noisy_t_quantile(p float8, df float8) RETURNS float8
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'nn_sql_t_quantile';
COMMENT ON FUNCTION noisy_t_quantile(float8, float8)
    IS 'quantile of Student''s t distribution: the value that a t with df degrees of freedom stays below with probability p';
-- What runs leave behind. Only the conductor writes here; users read, and the owner may delete runs.

CREATE SEQUENCE noisy_run_id_seq;
COMMENT ON SEQUENCE noisy_run_id_seq IS 'ids of runs';

CREATE TABLE noisy_run_records (
    run_id          bigint PRIMARY KEY DEFAULT pg_catalog.nextval('@extschema@.noisy_run_id_seq'),
    label           text,
    state           text NOT NULL CHECK (state IN
                        ('starting', 'running', 'completed', 'stopped', 'cancelled', 'failed', 'aborted')),
    started_at      timestamptz NOT NULL DEFAULT pg_catalog.clock_timestamp(),
    finished_at     timestamptz,
    role_name       name NOT NULL,
    workload        text,
    parameters      jsonb NOT NULL,
    environment     jsonb NOT NULL,
    seed            bigint NOT NULL,
    error           text
) WITH (fillfactor = 25);       -- room in the page for the later states of a run: they can be recorded on a full disk
ALTER SEQUENCE noisy_run_id_seq OWNED BY noisy_run_records.run_id;
COMMENT ON TABLE noisy_run_records IS 'runs as the conductor recorded them; read noisy_runs, which knows about runs that died';
COMMENT ON COLUMN noisy_run_records.run_id IS 'id of the run';
COMMENT ON COLUMN noisy_run_records.label IS 'name given by the caller';
COMMENT ON COLUMN noisy_run_records.state IS 'state as last recorded';
COMMENT ON COLUMN noisy_run_records.started_at IS 'when the run was started';
COMMENT ON COLUMN noisy_run_records.finished_at IS 'when it ended';
COMMENT ON COLUMN noisy_run_records.role_name IS 'role that started it';
COMMENT ON COLUMN noisy_run_records.workload IS 'name of the workload; NULL: noise alone';
COMMENT ON COLUMN noisy_run_records.parameters IS 'what was asked for, defaults filled in';
COMMENT ON COLUMN noisy_run_records.environment IS 'host and server as they were';
COMMENT ON COLUMN noisy_run_records.seed IS 'seed of the block order and of the workload''s random numbers';
COMMENT ON COLUMN noisy_run_records.error IS 'why the run failed or was aborted';

CREATE TABLE noisy_blocks (
    run_id          bigint NOT NULL REFERENCES noisy_run_records ON DELETE CASCADE,
    block           int NOT NULL,
    repeat          int NOT NULL,
    clients         int NOT NULL,
    level           numeric NOT NULL,
    achieved_pct    float8,
    started_at      timestamptz NOT NULL,
    duration_s      float8 NOT NULL,
    accepted        boolean NOT NULL,
    reject_reason   text,
    transactions    bigint,
    errors          bigint,
    serialization_failures bigint,
    deadlocks       bigint,
    connection_errors bigint,
    other_errors    bigint,
    last_error      text,
    tps             float8,
    latency         noisy_histogram,
    service         noisy_histogram,
    driver_cpu_s    float8,
    driver_busiest_pct float8,
    driver_bound    boolean,
    samples_expected bigint,
    samples_taken   bigint,
    rate            float8,
    backlog_max     bigint,
    not_started     bigint,
    unfinished      bigint,
    late            bigint,
    late_pct        float8,
    generator_lag_p99_ms float8,
    PRIMARY KEY (run_id, block)
);
COMMENT ON TABLE noisy_blocks IS 'one measured block of a run: a number of clients at a noise level';
COMMENT ON COLUMN noisy_blocks.run_id IS 'run';
COMMENT ON COLUMN noisy_blocks.block IS 'number of the block in the order of the run, from 1';
COMMENT ON COLUMN noisy_blocks.repeat IS 'repeat that the block belongs to, from 1';
COMMENT ON COLUMN noisy_blocks.clients IS 'clients of the workload; 0: noise alone';
COMMENT ON COLUMN noisy_blocks.level IS 'noise dose asked for, percent per load thread; 0 is a baseline';
COMMENT ON COLUMN noisy_blocks.achieved_pct IS 'noise dose delivered, percent, mean over the load threads of the stressors with a CPU dose (of all stressors where none has one)';
COMMENT ON COLUMN noisy_blocks.started_at IS 'start of the measured window';
COMMENT ON COLUMN noisy_blocks.duration_s IS 'length of the measured window, seconds';
COMMENT ON COLUMN noisy_blocks.accepted IS 'whether results count this block';
COMMENT ON COLUMN noisy_blocks.reject_reason IS 'why it does not count';
COMMENT ON COLUMN noisy_blocks.transactions IS 'transactions that ended in the window; NULL without a workload';
COMMENT ON COLUMN noisy_blocks.errors IS 'transactions that failed in the window';
COMMENT ON COLUMN noisy_blocks.serialization_failures IS 'of these: serialization failures (40001)';
COMMENT ON COLUMN noisy_blocks.deadlocks IS 'of these: deadlocks (40P01)';
COMMENT ON COLUMN noisy_blocks.connection_errors IS 'of these: lost connections';
COMMENT ON COLUMN noisy_blocks.other_errors IS 'of these: everything else';
COMMENT ON COLUMN noisy_blocks.last_error IS 'message of the latest error in the window';
COMMENT ON COLUMN noisy_blocks.tps IS 'transactions per second';
COMMENT ON COLUMN noisy_blocks.latency IS 'latency of the transactions that ended in the window: from sending in a closed loop, from the moment at which they were due in an open loop';
COMMENT ON COLUMN noisy_blocks.service IS 'service time of the same transactions in an open loop: from sending; NULL in a closed loop, where it is the latency';
COMMENT ON COLUMN noisy_blocks.driver_cpu_s IS 'CPU time of the load driver in the window, seconds';
COMMENT ON COLUMN noisy_blocks.driver_busiest_pct IS 'CPU use of the driver''s busiest thread, percent of one CPU';
COMMENT ON COLUMN noisy_blocks.driver_bound IS 'whether a driver thread used 90 % of a CPU or more: the driver may have been the bottleneck';
COMMENT ON COLUMN noisy_blocks.samples_expected IS 'wait-event samples that the interval asks for';
COMMENT ON COLUMN noisy_blocks.samples_taken IS 'wait-event samples taken; the rest was missed';
COMMENT ON COLUMN noisy_blocks.rate IS 'open loop: transactions per second asked for, all clients together; NULL: a closed loop';
COMMENT ON COLUMN noisy_blocks.backlog_max IS 'open loop: most transactions that were due and waited for a client at once, in the window (largest sum, over a second, of the driver threads'' own)';
COMMENT ON COLUMN noisy_blocks.not_started IS 'open loop: transactions that were due by the end of the window and still waited for a client; never started';
COMMENT ON COLUMN noisy_blocks.unfinished IS 'transactions in flight at the end of the window: in no other figure but late and late_pct';
COMMENT ON COLUMN noisy_blocks.late IS 'transactions over latency_limit_ms: those that ended in the window, and those that had waited or been in flight for longer than that at its end; NULL: no limit was given';
COMMENT ON COLUMN noisy_blocks.late_pct IS 'late as a share of transactions + not_started + unfinished, percent';
COMMENT ON COLUMN noisy_blocks.generator_lag_p99_ms IS 'open loop: 99th percentile of how late transactions were sent for which a client was idle when they were due, ms: the load driver''s own fault, or that of who kept it from the CPU; NULL: there were none';

CREATE TABLE noisy_dose (
    run_id          bigint NOT NULL,
    block           int NOT NULL,
    stressor        text NOT NULL,
    worker          int NOT NULL,
    requested_pct   float8 NOT NULL,
    achieved_pct    float8,
    rate            float8,
    rate_unit       text NOT NULL,
    cpu_pct         float8,
    unreachable     boolean NOT NULL,
    achieved_by_second_pct float4[],
    PRIMARY KEY (run_id, block, stressor, worker),
    FOREIGN KEY (run_id, block) REFERENCES noisy_blocks ON DELETE CASCADE
);
COMMENT ON TABLE noisy_dose IS 'noise asked for and delivered by each load thread in each block';
COMMENT ON COLUMN noisy_dose.run_id IS 'run';
COMMENT ON COLUMN noisy_dose.block IS 'block';
COMMENT ON COLUMN noisy_dose.stressor IS 'stressor';
COMMENT ON COLUMN noisy_dose.worker IS 'load thread within the stressor, from 1';
COMMENT ON COLUMN noisy_dose.requested_pct IS 'dose asked for, percent (of one CPU, or of the amount to hold)';
COMMENT ON COLUMN noisy_dose.achieved_pct IS 'dose delivered in the measured window, percent';
COMMENT ON COLUMN noisy_dose.rate IS 'work done, in rate_unit';
COMMENT ON COLUMN noisy_dose.rate_unit IS 'unit of rate';
COMMENT ON COLUMN noisy_dose.cpu_pct IS 'CPU time that the load thread used, percent of one CPU';
COMMENT ON COLUMN noisy_dose.unreachable IS 'whether more than one percentage point was not to be had';
COMMENT ON COLUMN noisy_dose.achieved_by_second_pct IS 'dose delivered in each second of the window, percent';

CREATE TABLE noisy_timeline (
    run_id          bigint NOT NULL,
    block           int NOT NULL,
    at              timestamptz NOT NULL,
    second          int NOT NULL,
    clients         int NOT NULL,
    level           numeric NOT NULL,
    transactions    bigint,
    errors          bigint,
    tps             float8,
    p50_ms          float8,
    p95_ms          float8,
    p99_ms          float8,
    max_ms          float8,
    noise_cpu_pct   float8,
    server_cpu_pct  float8,
    driver_cpu_pct  float8,
    foreign_cpu_pct float8,
    host_busy_pct   float8,
    host_idle_pct   float8,
    steal_pct       float8,
    run_delay_pct   float8,
    throttled_pct   float8,
    lwlock_waiters  float8,
    checkpoint      boolean,
    PRIMARY KEY (run_id, block, second),
    FOREIGN KEY (run_id, block) REFERENCES noisy_blocks ON DELETE CASCADE
);
CREATE INDEX noisy_timeline_at_idx ON noisy_timeline (at);
COMMENT ON TABLE noisy_timeline IS 'each second of the measured windows';
COMMENT ON COLUMN noisy_timeline.run_id IS 'run';
COMMENT ON COLUMN noisy_timeline.block IS 'block';
COMMENT ON COLUMN noisy_timeline.at IS 'start of the second';
COMMENT ON COLUMN noisy_timeline.second IS 'second of the measured window, from 1; the last one may be shorter';
COMMENT ON COLUMN noisy_timeline.clients IS 'clients of the workload';
COMMENT ON COLUMN noisy_timeline.level IS 'noise dose asked for, percent';
COMMENT ON COLUMN noisy_timeline.transactions IS 'transactions that ended in this second';
COMMENT ON COLUMN noisy_timeline.errors IS 'transactions that failed in this second';
COMMENT ON COLUMN noisy_timeline.tps IS 'transactions per second';
COMMENT ON COLUMN noisy_timeline.p50_ms IS 'median latency, ms';
COMMENT ON COLUMN noisy_timeline.p95_ms IS '95th percentile of the latency, ms';
COMMENT ON COLUMN noisy_timeline.p99_ms IS '99th percentile of the latency, ms';
COMMENT ON COLUMN noisy_timeline.max_ms IS 'largest latency, ms';
COMMENT ON COLUMN noisy_timeline.noise_cpu_pct IS 'CPU of the noise workers, percent of the host';
COMMENT ON COLUMN noisy_timeline.server_cpu_pct IS 'CPU of the server without our own workers, percent of the host';
COMMENT ON COLUMN noisy_timeline.driver_cpu_pct IS 'CPU of the load driver, percent of the host';
COMMENT ON COLUMN noisy_timeline.foreign_cpu_pct IS 'CPU of everybody else, percent of the host';
COMMENT ON COLUMN noisy_timeline.host_busy_pct IS 'busy CPU time, percent of the host';
COMMENT ON COLUMN noisy_timeline.host_idle_pct IS 'idle CPU time, percent of the host';
COMMENT ON COLUMN noisy_timeline.steal_pct IS 'CPU time taken by the hypervisor, percent of the host';
COMMENT ON COLUMN noisy_timeline.run_delay_pct IS 'time that server processes waited for a CPU, percent of one CPU';
COMMENT ON COLUMN noisy_timeline.throttled_pct IS 'time that our control group was throttled, percent';
COMMENT ON COLUMN noisy_timeline.lwlock_waiters IS 'mean number of server processes that waited for an LWLock';
COMMENT ON COLUMN noisy_timeline.checkpoint IS 'whether a checkpoint was in progress';

CREATE TABLE noisy_wait_samples (
    run_id          bigint NOT NULL,
    block           int NOT NULL,
    backend_type    text NOT NULL,
    wait_event_type text NOT NULL,
    wait_event      text NOT NULL,
    samples         bigint NOT NULL,
    max_waiters     int NOT NULL,
    PRIMARY KEY (run_id, block, backend_type, wait_event_type, wait_event),
    FOREIGN KEY (run_id, block) REFERENCES noisy_blocks ON DELETE CASCADE
);
COMMENT ON TABLE noisy_wait_samples IS 'every wait-event sample, idle processes included; read noisy_wait_events for active time';
COMMENT ON COLUMN noisy_wait_samples.run_id IS 'run';
COMMENT ON COLUMN noisy_wait_samples.block IS 'block';
COMMENT ON COLUMN noisy_wait_samples.backend_type IS 'kind of server process, as in pg_stat_activity';
COMMENT ON COLUMN noisy_wait_samples.wait_event_type IS 'class of the wait event; ''CPU'' when it does not wait: running or waiting for a CPU';
COMMENT ON COLUMN noisy_wait_samples.wait_event IS 'wait event, named by the server; ''CPU'' when none';
COMMENT ON COLUMN noisy_wait_samples.samples IS 'times a process was seen so';
COMMENT ON COLUMN noisy_wait_samples.max_waiters IS 'most processes seen so at once';

CREATE TABLE noisy_bgwriter (
    run_id          bigint NOT NULL,
    block           int NOT NULL,
    checkpointer_buffers bigint,
    checkpointer_bytes bigint,
    bgwriter_buffers bigint,
    bgwriter_bytes  bigint,
    backend_buffers bigint,
    backend_bytes   bigint,
    maxwritten_clean bigint,
    buffers_alloc   bigint,
    wal_bytes       bigint,
    fsyncs          bigint,
    checkpoints_timed bigint,
    checkpoints_requested bigint,
    checkpoints_done bigint,
    write_time_ms   float8,
    sync_time_ms    float8,
    in_progress_at_end boolean,
    note            text,
    PRIMARY KEY (run_id, block),
    FOREIGN KEY (run_id, block) REFERENCES noisy_blocks ON DELETE CASCADE
);
COMMENT ON TABLE noisy_bgwriter IS 'what checkpointer, background writer and backends wrote in each block; NULL: not measured, see note';
COMMENT ON COLUMN noisy_bgwriter.run_id IS 'run';
COMMENT ON COLUMN noisy_bgwriter.block IS 'block';
COMMENT ON COLUMN noisy_bgwriter.checkpointer_buffers IS 'pages written by the checkpointer';
COMMENT ON COLUMN noisy_bgwriter.checkpointer_bytes IS 'the same in bytes';
COMMENT ON COLUMN noisy_bgwriter.bgwriter_buffers IS 'pages written by the background writer';
COMMENT ON COLUMN noisy_bgwriter.bgwriter_bytes IS 'the same in bytes';
COMMENT ON COLUMN noisy_bgwriter.backend_buffers IS 'pages written or added by backends';
COMMENT ON COLUMN noisy_bgwriter.backend_bytes IS 'the same in bytes';
COMMENT ON COLUMN noisy_bgwriter.maxwritten_clean IS 'rounds that the background writer ended at bgwriter_lru_maxpages';
COMMENT ON COLUMN noisy_bgwriter.buffers_alloc IS 'buffers allocated';
COMMENT ON COLUMN noisy_bgwriter.wal_bytes IS 'WAL generated, bytes';
COMMENT ON COLUMN noisy_bgwriter.fsyncs IS 'fsync calls that backends made themselves';
COMMENT ON COLUMN noisy_bgwriter.checkpoints_timed IS 'checkpoints that were due by time';
COMMENT ON COLUMN noisy_bgwriter.checkpoints_requested IS 'checkpoints that were requested';
COMMENT ON COLUMN noisy_bgwriter.checkpoints_done IS 'checkpoints completed';
COMMENT ON COLUMN noisy_bgwriter.write_time_ms IS 'time of writing files, known when a checkpoint ends, ms';
COMMENT ON COLUMN noisy_bgwriter.sync_time_ms IS 'time of syncing files, known when a checkpoint ends, ms';
COMMENT ON COLUMN noisy_bgwriter.in_progress_at_end IS 'whether a checkpoint was in progress when the block ended';
COMMENT ON COLUMN noisy_bgwriter.note IS 'why something is NULL';

CREATE TABLE noisy_host_usage (
    run_id          bigint NOT NULL,
    block           int NOT NULL,
    busy_pct        float8,
    user_pct        float8,
    system_pct      float8,
    iowait_pct      float8,
    steal_pct       float8,
    idle_pct        float8,
    noise_pct       float8,
    server_pct      float8,
    driver_pct      float8,
    own_pct         float8,
    foreign_pct     float8,
    run_delay_pct   float8,
    throttled_pct   float8,
    psi_cpu_some_pct float8,
    psi_memory_some_pct float8,
    psi_io_some_pct float8,
    note            text,
    PRIMARY KEY (run_id, block),
    FOREIGN KEY (run_id, block) REFERENCES noisy_blocks ON DELETE CASCADE
);
COMMENT ON TABLE noisy_host_usage IS 'CPU of the host in each block; NULL: not measured, see note';
COMMENT ON COLUMN noisy_host_usage.run_id IS 'run';
COMMENT ON COLUMN noisy_host_usage.block IS 'block';
COMMENT ON COLUMN noisy_host_usage.busy_pct IS 'busy CPU time, percent of the host';
COMMENT ON COLUMN noisy_host_usage.user_pct IS 'user and nice, percent of the host';
COMMENT ON COLUMN noisy_host_usage.system_pct IS 'system and interrupts, percent of the host';
COMMENT ON COLUMN noisy_host_usage.iowait_pct IS 'idle while IO was pending, percent of the host';
COMMENT ON COLUMN noisy_host_usage.steal_pct IS 'taken by the hypervisor, percent of the host; a neighbour, or the guest''s own limit';
COMMENT ON COLUMN noisy_host_usage.idle_pct IS 'idle, percent of the host';
COMMENT ON COLUMN noisy_host_usage.noise_pct IS 'noise workers, percent of the host';
COMMENT ON COLUMN noisy_host_usage.server_pct IS 'server processes, backends of the workload included, our own workers not, percent of the host';
COMMENT ON COLUMN noisy_host_usage.driver_pct IS 'load driver, percent of the host';
COMMENT ON COLUMN noisy_host_usage.own_pct IS 'conductor and sample worker, percent of the host';
COMMENT ON COLUMN noisy_host_usage.foreign_pct IS 'busy time of everybody else, percent of the host';
COMMENT ON COLUMN noisy_host_usage.run_delay_pct IS 'time that server processes waited for a CPU, percent of one CPU';
COMMENT ON COLUMN noisy_host_usage.throttled_pct IS 'time that our control group was throttled, percent';
COMMENT ON COLUMN noisy_host_usage.psi_cpu_some_pct IS 'time in which some task waited for a CPU, percent';
COMMENT ON COLUMN noisy_host_usage.psi_memory_some_pct IS 'time in which some task waited for memory, percent';
COMMENT ON COLUMN noisy_host_usage.psi_io_some_pct IS 'time in which some task waited for IO, percent';
COMMENT ON COLUMN noisy_host_usage.note IS 'why something is NULL';

-- Runs are data: pg_dump keeps them.
SELECT pg_catalog.pg_extension_config_dump('noisy_run_id_seq', '');
SELECT pg_catalog.pg_extension_config_dump('noisy_run_records', '');
SELECT pg_catalog.pg_extension_config_dump('noisy_blocks', '');
SELECT pg_catalog.pg_extension_config_dump('noisy_dose', '');
SELECT pg_catalog.pg_extension_config_dump('noisy_timeline', '');
SELECT pg_catalog.pg_extension_config_dump('noisy_wait_samples', '');
SELECT pg_catalog.pg_extension_config_dump('noisy_bgwriter', '');
SELECT pg_catalog.pg_extension_config_dump('noisy_host_usage', '');
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
COMMENT ON COLUMN noisy_runs.error IS 'why the run failed or was aborted';
-- The tables of the built-in workloads.
--
-- The function creates tables where its caller creates tables, so it must see the caller's search_path and cannot
-- pin one of its own.  It runs as the caller, and every name, type and operator in it is qualified.

CREATE FUNCTION noisy_workload_init(scale int DEFAULT 10, replace boolean DEFAULT false) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE AS $$
DECLARE
    max_scale CONSTANT int := 19999;
    place CONSTANT pg_catalog.name := pg_catalog.current_schema();
    existing pg_catalog.text;
    to_drop pg_catalog.text;
BEGIN
    IF scale IS NULL OR scale OPERATOR(pg_catalog.<) 1 OR scale OPERATOR(pg_catalog.>) max_scale THEN
        RAISE EXCEPTION 'scale must be from 1 to %', max_scale
            USING ERRCODE = 'invalid_parameter_value',
                  HINT = 'Each unit is 100,000 accounts, about 16 MB. Larger tables: pgbench -i -s, which makes the keys bigint.';
    END IF;
    IF replace IS NULL THEN
        RAISE EXCEPTION 'replace must be true or false' USING ERRCODE = 'null_value_not_allowed';
    END IF;
    IF place IS NULL THEN
        RAISE EXCEPTION 'no schema has been selected to create in'
            USING ERRCODE = 'invalid_schema_name', HINT = 'Set search_path to a schema that exists.';
    END IF;

    SELECT pg_catalog.string_agg(c.relname, ', ' ORDER BY c.relname USING OPERATOR(pg_catalog.<)),
           pg_catalog.string_agg(pg_catalog.format('%I.%I', place, c.relname), ', ')
        INTO existing, to_drop
        FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace
        WHERE n.nspname OPERATOR(pg_catalog.=) place
          AND c.relname OPERATOR(pg_catalog.=) ANY (ARRAY['pgbench_accounts', 'pgbench_branches', 'pgbench_history',
                                                         'pgbench_tellers']::pg_catalog.name[]);
    IF existing IS NOT NULL AND NOT replace THEN
        RAISE EXCEPTION 'tables of the workload exist already in schema "%"', place
            USING ERRCODE = 'duplicate_table', DETAIL = pg_catalog.format('Found: %s.', existing),
                  HINT = 'Use them as they are, or drop them and create new ones: noisy_workload_init(scale, replace => true).';
    END IF;

    -- As "pgbench -i" leaves them: same columns, types, filler and keys.
    IF to_drop IS NOT NULL THEN
        EXECUTE pg_catalog.concat('DROP TABLE ', to_drop);
    END IF;
    EXECUTE pg_catalog.format('CREATE TABLE %I.pgbench_history '
        '(tid int, bid int, aid int, delta int, mtime timestamp, filler char(22))', place);
    EXECUTE pg_catalog.format('CREATE TABLE %I.pgbench_tellers '
        '(tid int NOT NULL, bid int, tbalance int, filler char(84)) WITH (fillfactor = 100)', place);
    EXECUTE pg_catalog.format('CREATE TABLE %I.pgbench_accounts '
        '(aid int NOT NULL, bid int, abalance int, filler char(84)) WITH (fillfactor = 100)', place);
    EXECUTE pg_catalog.format('CREATE TABLE %I.pgbench_branches '
        '(bid int NOT NULL, bbalance int, filler char(88)) WITH (fillfactor = 100)', place);

    EXECUTE pg_catalog.format('INSERT INTO %I.pgbench_branches (bid, bbalance) '
        'SELECT bid, 0 FROM pg_catalog.generate_series(1, $1) bid', place) USING scale;
    EXECUTE pg_catalog.format('INSERT INTO %I.pgbench_tellers (tid, bid, tbalance) '
        'SELECT tid, (tid OPERATOR(pg_catalog.-) 1) OPERATOR(pg_catalog./) 10 OPERATOR(pg_catalog.+) 1, 0 '
        'FROM pg_catalog.generate_series(1, 10 OPERATOR(pg_catalog.*) $1) tid', place) USING scale;
    EXECUTE pg_catalog.format('INSERT INTO %I.pgbench_accounts (aid, bid, abalance, filler) '
        'SELECT aid, (aid OPERATOR(pg_catalog.-) 1) OPERATOR(pg_catalog./) 100000 OPERATOR(pg_catalog.+) 1, 0, '''' '
        'FROM pg_catalog.generate_series(1, 100000 OPERATOR(pg_catalog.*) $1) aid', place) USING scale;

    EXECUTE pg_catalog.format('ALTER TABLE %I.pgbench_branches ADD PRIMARY KEY (bid)', place);
    EXECUTE pg_catalog.format('ALTER TABLE %I.pgbench_tellers ADD PRIMARY KEY (tid)', place);
    EXECUTE pg_catalog.format('ALTER TABLE %I.pgbench_accounts ADD PRIMARY KEY (aid)', place);
    EXECUTE pg_catalog.format('ANALYZE %1$I.pgbench_branches, %1$I.pgbench_tellers, %1$I.pgbench_accounts, '
                              '%1$I.pgbench_history', place);
END
$$;
COMMENT ON FUNCTION noisy_workload_init(int, boolean)
    IS 'create the tables of the built-in workloads, as pgbench -i does, in the current schema; a VACUUM afterwards makes the first run like later ones';
REVOKE ALL ON FUNCTION noisy_workload_init(int, boolean) FROM PUBLIC;
-- What the blocks of a run say, put together.
--
-- Every view groups by run_id, clients and level (or partitions by the first two), so that a condition on
-- them reaches the tables' indexes and a dashboard reads only the runs that it shows.

-- Verdict on a change. Logarithms, so that doubling and halving are equally far from no change.
CREATE FUNCTION noisy_verdict(effect float8, half_width float8, noise_floor_pct float8) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT CASE
        WHEN effect - half_width > ln(1 + noise_floor_pct / 100) THEN 'impact'
        WHEN effect + half_width < -ln(1 + noise_floor_pct / 100) THEN 'improved'
        WHEN effect + half_width < ln(1 + noise_floor_pct / 100)
             AND effect - half_width > -ln(1 + noise_floor_pct / 100) THEN 'within_noise'
        ELSE 'inconclusive' END;
END;
COMMENT ON FUNCTION noisy_verdict(float8, float8, float8)
    IS 'impact, improved, within_noise or inconclusive: where the interval effect +- half_width (logarithms of a ratio; above 0 is worse) lies to the noise floor; inconclusive when something is NULL';

-- The interval of n blocks is t(0.975, n - 1) * sd / sqrt(n) to each side, and it resolves when it no longer
-- reaches the nearer edge of the noise floor. The normal quantile gives a start that is never too large.
CREATE FUNCTION noisy_blocks_needed(effect float8, sd float8, noise_floor_pct float8) RETURNS int
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
    SELECT n::int
    FROM (SELECT abs(abs(effect) - ln(1 + noise_floor_pct / 100)) AS room) AS r,
         LATERAL (SELECT ceil(least((1.959963 * sd / nullif(room, 0)) ^ 2, 1000001))::bigint AS start) AS s,
         LATERAL generate_series(greatest(start, 2), greatest(start, 2) + 12) AS n
    WHERE start <= 1000000 AND noisy_t_quantile(0.975, n - 1) * sd / sqrt(n) < room
    ORDER BY n
    LIMIT 1;
END;
COMMENT ON FUNCTION noisy_blocks_needed(float8, float8, float8)
    IS 'smallest number of dose blocks (at least 2) whose 95 % interval of the mean, t(0.975, n - 1) * sd / sqrt(n) to each side, is clear of the noise floor when the mean logarithm of the ratio stays at effect; NULL: more than a million';

CREATE VIEW noisy_results AS
    SELECT g.run_id, r.workload, g.clients, g.level, g.achieved_pct, g.blocks, g.rejected_blocks,
           g.transactions, g.errors, g.transactions / nullif(g.measured_s, 0) AS tps,
           g.avg_ms, g.stddev_ms, g.min_ms,
           g.p[1] AS p50_ms, g.p[2] AS p75_ms, g.p[3] AS p90_ms, g.p[4] AS p95_ms, g.p[5] AS p99_ms,
           g.p[6] AS p999_ms, g.max_ms,
           CASE WHEN g.n IS NOT NULL THEN
               ARRAY(SELECT q.name
                     FROM (VALUES (0.5, 'p50_ms'), (0.75, 'p75_ms'), (0.9, 'p90_ms'), (0.95, 'p95_ms'),
                                  (0.99, 'p99_ms'), (0.999, 'p999_ms')) AS q (p, name)
                     WHERE g.n * (1 - q.p) < 10
                     ORDER BY q.p) END AS low_n
    FROM (SELECT b.run_id, b.clients, b.level,
                 sum(b.achieved_pct * b.duration_s) FILTER (WHERE b.accepted)
                     / nullif(sum(b.duration_s) FILTER (WHERE b.accepted AND b.achieved_pct IS NOT NULL), 0)
                     AS achieved_pct,
                 count(*) FILTER (WHERE b.accepted) AS blocks,
                 count(*) FILTER (WHERE NOT b.accepted) AS rejected_blocks,
                 (sum(b.transactions) FILTER (WHERE b.accepted))::bigint AS transactions,
                 (sum(b.errors) FILTER (WHERE b.accepted))::bigint AS errors,
                 sum(b.duration_s) FILTER (WHERE b.accepted) AS measured_s,
                 noisy_count(noisy_merge(b.latency) FILTER (WHERE b.accepted)) AS n,
                 noisy_mean(noisy_merge(b.latency) FILTER (WHERE b.accepted)) AS avg_ms,
                 noisy_stddev(noisy_merge(b.latency) FILTER (WHERE b.accepted)) AS stddev_ms,
                 noisy_min(noisy_merge(b.latency) FILTER (WHERE b.accepted)) AS min_ms,
                 noisy_percentile(noisy_merge(b.latency) FILTER (WHERE b.accepted),
                                  '{0.5,0.75,0.9,0.95,0.99,0.999}'::float8[]) AS p,
                 noisy_max(noisy_merge(b.latency) FILTER (WHERE b.accepted)) AS max_ms
          FROM noisy_blocks b
          GROUP BY b.run_id, b.clients, b.level) AS g
    JOIN noisy_run_records r ON r.run_id = g.run_id;
COMMENT ON VIEW noisy_results IS 'throughput and latency of each number of clients and noise level of a run, over its accepted blocks; percentiles come from merged histograms, never from averages; latency is NULL without a workload';
COMMENT ON COLUMN noisy_results.run_id IS 'run';
COMMENT ON COLUMN noisy_results.workload IS 'name of the workload; NULL: noise alone';
COMMENT ON COLUMN noisy_results.clients IS 'clients of the workload; 0: noise alone';
COMMENT ON COLUMN noisy_results.level IS 'noise dose asked for, percent per load thread; 0 is the baseline';
COMMENT ON COLUMN noisy_results.achieved_pct IS 'noise dose delivered, percent, mean over time';
COMMENT ON COLUMN noisy_results.blocks IS 'accepted blocks; everything else in the row is about these';
COMMENT ON COLUMN noisy_results.rejected_blocks IS 'blocks that do not count, see noisy_blocks.reject_reason';
COMMENT ON COLUMN noisy_results.transactions IS 'transactions that ended in the measured windows';
COMMENT ON COLUMN noisy_results.errors IS 'transactions that failed in the measured windows';
COMMENT ON COLUMN noisy_results.tps IS 'transactions per second: all transactions by the length of all windows';
COMMENT ON COLUMN noisy_results.avg_ms IS 'mean latency, ms';
COMMENT ON COLUMN noisy_results.stddev_ms IS 'standard deviation of the latency, ms';
COMMENT ON COLUMN noisy_results.min_ms IS 'smallest latency, ms';
COMMENT ON COLUMN noisy_results.p50_ms IS 'median latency, ms';
COMMENT ON COLUMN noisy_results.p75_ms IS '75th percentile of the latency, ms';
COMMENT ON COLUMN noisy_results.p90_ms IS '90th percentile of the latency, ms';
COMMENT ON COLUMN noisy_results.p95_ms IS '95th percentile of the latency, ms';
COMMENT ON COLUMN noisy_results.p99_ms IS '99th percentile of the latency, ms';
COMMENT ON COLUMN noisy_results.p999_ms IS '99.9th percentile of the latency, ms';
COMMENT ON COLUMN noisy_results.max_ms IS 'largest latency, ms';
COMMENT ON COLUMN noisy_results.low_n IS 'percentile columns with fewer than ten transactions beyond them, n * (1 - p) < 10: chance rules them; NULL without a workload';

-- The baseline of a block is the nearest baseline before and after it, interpolated to the middle of the block on
-- the logarithms, so that a steady drift of the machine cancels. max and min of an array that begins with the
-- block number pick the neighbour: window functions cannot skip rows yet.
CREATE VIEW noisy_block_effects AS
    SELECT e.run_id, e.block, e.repeat, e.clients, e.level, e.achieved_pct, e.duration_s,
           e.transactions, e.errors, e.latency, e.tps, e.p99_ms, e.pair, e.before[1]::int AS before_block,
           CASE WHEN e.pair = 'dose' THEN e.after[1]::int END AS after_block,
           exp(e.base_log_tps) AS base_tps, exp(e.base_log_p99) AS base_p99_ms,
           e.log_tps - e.base_log_tps AS tps_log_ratio, e.log_p99 - e.base_log_p99 AS p99_log_ratio
    FROM (SELECT w.*,
                 CASE WHEN w.level > 0 AND w.log_p99 IS NOT NULL THEN 'dose'
                      WHEN w.level > 0 THEN 'stalled'
                      WHEN w.before IS NULL OR w.log_p99 IS NULL THEN NULL
                      WHEN w.level_before = 0 THEN 'adjacent'
                      ELSE 'bracket' END AS pair,
                 CASE WHEN w.level = 0 OR w.after IS NULL THEN w.before[3]
                      WHEN w.before IS NULL THEN w.after[3]
                      ELSE w.before[3] + (w.after[3] - w.before[3])
                           * ((w.middle - w.before[2]) / nullif(w.after[2] - w.before[2], 0))
                      END AS base_log_tps,
                 CASE WHEN w.level = 0 OR w.after IS NULL THEN w.before[4]
                      WHEN w.before IS NULL THEN w.after[4]
                      ELSE w.before[4] + (w.after[4] - w.before[4])
                           * ((w.middle - w.before[2]) / nullif(w.after[2] - w.before[2], 0))
                      END AS base_log_p99
          FROM (SELECT v.*,
                       max(v.point) FILTER (WHERE v.is_baseline) OVER earlier AS before,
                       min(v.point) FILTER (WHERE v.is_baseline) OVER later AS after,
                       lag(v.level) OVER (PARTITION BY v.run_id, v.clients ORDER BY v.block) AS level_before
                FROM (SELECT u.*, u.level = 0 AND u.log_p99 IS NOT NULL AS is_baseline,
                             ARRAY[u.block, u.middle, u.log_tps, u.log_p99] AS point
                      FROM (SELECT b.run_id, b.block, b.repeat, b.clients, b.level,
                                   b.achieved_pct, b.duration_s, b.transactions, b.errors, b.latency,
                                   b.tps, p.p99_ms,
                                   date_part('epoch', b.started_at) + b.duration_s / 2 AS middle,
                                   ln(nullif(b.tps, 0)) AS log_tps,
                                   ln(nullif(p.p99_ms, 0)) AS log_p99
                            FROM noisy_blocks b,
                                 LATERAL (SELECT noisy_percentile(b.latency, 0.99) AS p99_ms OFFSET 0) AS p
                            WHERE b.accepted AND b.clients > 0) AS u) AS v
                WINDOW earlier AS (PARTITION BY v.run_id, v.clients ORDER BY v.block
                                   ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING),
                       later AS (PARTITION BY v.run_id, v.clients ORDER BY v.block DESC
                                 ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)) AS w) AS e;
COMMENT ON VIEW noisy_block_effects IS 'each accepted block of a workload against its baseline: what noisy_impact rests on';
COMMENT ON COLUMN noisy_block_effects.run_id IS 'run';
COMMENT ON COLUMN noisy_block_effects.block IS 'block';
COMMENT ON COLUMN noisy_block_effects.repeat IS 'repeat that the block belongs to';
COMMENT ON COLUMN noisy_block_effects.clients IS 'clients of the workload';
COMMENT ON COLUMN noisy_block_effects.level IS 'noise dose asked for, percent; 0 is a baseline';
COMMENT ON COLUMN noisy_block_effects.achieved_pct IS 'noise dose delivered, percent';
COMMENT ON COLUMN noisy_block_effects.duration_s IS 'length of the measured window, seconds';
COMMENT ON COLUMN noisy_block_effects.transactions IS 'transactions that ended in the window';
COMMENT ON COLUMN noisy_block_effects.errors IS 'transactions that failed in the window';
COMMENT ON COLUMN noisy_block_effects.latency IS 'latency of the transactions';
COMMENT ON COLUMN noisy_block_effects.tps IS 'transactions per second';
COMMENT ON COLUMN noisy_block_effects.p99_ms IS '99th percentile of the latency, ms';
COMMENT ON COLUMN noisy_block_effects.pair IS 'what is compared: dose (with the baselines around it), stalled (a dose under which no transaction ended: no ratio), adjacent (a baseline with the one directly before it), bracket (a baseline with the one before the doses); NULL: the first baseline, or one in which no transaction ended';
COMMENT ON COLUMN noisy_block_effects.before_block IS 'nearest baseline before the block, same clients; NULL: none';
COMMENT ON COLUMN noisy_block_effects.after_block IS 'nearest baseline after a dose, same clients; NULL: none';
COMMENT ON COLUMN noisy_block_effects.base_tps IS 'transactions per second of the baseline, interpolated to the middle of the block on the logarithms';
COMMENT ON COLUMN noisy_block_effects.base_p99_ms IS '99th percentile of the latency of the baseline, interpolated likewise, ms';
COMMENT ON COLUMN noisy_block_effects.tps_log_ratio IS 'ln(tps) - ln(base_tps)';
COMMENT ON COLUMN noisy_block_effects.p99_log_ratio IS 'ln(p99_ms) - ln(base_p99_ms)';

-- Innermost: blocks to levels. Then what the levels of one number of clients share: baseline and noise floor. Then
-- the intervals, and last the verdicts.
CREATE VIEW noisy_impact AS
    SELECT i.run_id, r.workload, i.clients, i.level, i.achieved_pct, i.dose_blocks, i.tps,
           CASE WHEN i.level = 0 THEN 0 ELSE 100 * (exp(i.tps_effect) - 1) END AS tps_change_pct,
           100 * (exp(i.tps_effect - i.tps_half) - 1) AS tps_change_low_pct,
           100 * (exp(i.tps_effect + i.tps_half) - 1) AS tps_change_high_pct,
           i.tps_floor_pct AS tps_noise_floor_pct,
           CASE WHEN i.level = 0 THEN 'baseline'
                WHEN i.stalled_blocks > 0 THEN 'inconclusive'
                ELSE noisy_verdict(-i.tps_effect, i.tps_half, i.tps_floor_pct) END AS tps_verdict,
           i.avg_ms, i.avg_ms - i.base_avg_ms AS avg_change_ms,
           i.p95_ms, i.p95_ms - i.base_p95_ms AS p95_change_ms,
           i.p99_ms, i.p99_ms - i.base_p99_ms AS p99_change_ms,
           CASE WHEN i.level = 0 THEN 1 ELSE exp(i.p99_effect) END AS p99_ratio,
           exp(i.p99_effect - i.p99_half) AS p99_ratio_low,
           exp(i.p99_effect + i.p99_half) AS p99_ratio_high,
           i.p99_floor_pct AS p99_noise_floor_pct,
           i.stalled_blocks, i.verdict,
           CASE WHEN i.verdict <> 'inconclusive' OR i.stalled_blocks > 0 THEN NULL
                WHEN i.p99_effect IS NULL OR i.p99_sd IS NULL AND i.p99_aa_sd IS NULL THEN 2
                ELSE noisy_blocks_needed(i.p99_effect, coalesce(i.p99_sd, i.p99_aa_sd), i.p99_floor_pct)
                END AS blocks_needed
    FROM (SELECT h.*,
                 CASE WHEN h.level = 0 THEN 'baseline'
                      WHEN h.stalled_blocks > 0 THEN 'inconclusive'
                      ELSE noisy_verdict(h.p99_effect, h.p99_half, h.p99_floor_pct) END AS verdict
          FROM (SELECT s.*,
                       noisy_t_quantile(0.975, nullif(s.n - 1, 0)) * s.tps_sd / sqrt(s.n) AS tps_half,
                       noisy_t_quantile(0.975, nullif(s.n - 1, 0)) * s.p99_sd / sqrt(s.n) AS p99_half,
                       greatest(5, 200 * s.tps_aa_sd) AS tps_floor_pct,
                       greatest(5, 200 * s.p99_aa_sd) AS p99_floor_pct
                FROM (SELECT g.run_id, g.clients, g.level, g.achieved_pct, g.dose_blocks, g.stalled_blocks,
                             g.tps, g.avg_ms, g.p[1] AS p95_ms, g.p[2] AS p99_ms,
                             nullif(g.n, 0) AS n, g.tps_effect, g.tps_sd, g.p99_effect, g.p99_sd,
                             max(g.avg_ms) FILTER (WHERE g.level = 0) OVER same_clients AS base_avg_ms,
                             max(g.p[1]) FILTER (WHERE g.level = 0) OVER same_clients AS base_p95_ms,
                             max(g.p[2]) FILTER (WHERE g.level = 0) OVER same_clients AS base_p99_ms,
                             max(g.tps_aa_sd) FILTER (WHERE g.level = 0) OVER same_clients AS tps_aa_sd,
                             max(g.p99_aa_sd) FILTER (WHERE g.level = 0) OVER same_clients AS p99_aa_sd
                      FROM (SELECT e.run_id, e.clients, e.level,
                                   sum(e.achieved_pct * e.duration_s)
                                       / nullif(sum(e.duration_s) FILTER (WHERE e.achieved_pct IS NOT NULL), 0)
                                       AS achieved_pct,
                                   count(*) FILTER (WHERE e.level > 0) AS dose_blocks,
                                   count(*) FILTER (WHERE e.pair = 'stalled') AS stalled_blocks,
                                   sum(e.transactions) / nullif(sum(e.duration_s), 0) AS tps,
                                   noisy_mean(noisy_merge(e.latency)) AS avg_ms,
                                   noisy_percentile(noisy_merge(e.latency), '{0.95,0.99}'::float8[]) AS p,
                                   count(e.p99_log_ratio) FILTER (WHERE e.pair = 'dose') AS n,
                                   avg(e.tps_log_ratio) FILTER (WHERE e.pair = 'dose') AS tps_effect,
                                   stddev_samp(e.tps_log_ratio) FILTER (WHERE e.pair = 'dose') AS tps_sd,
                                   avg(e.p99_log_ratio) FILTER (WHERE e.pair = 'dose') AS p99_effect,
                                   stddev_samp(e.p99_log_ratio) FILTER (WHERE e.pair = 'dose') AS p99_sd,
                                   sqrt(coalesce(avg(e.tps_log_ratio ^ 2) FILTER (WHERE e.pair = 'adjacent'),
                                                 avg(e.tps_log_ratio ^ 2) FILTER (WHERE e.pair = 'bracket')))
                                       AS tps_aa_sd,
                                   sqrt(coalesce(avg(e.p99_log_ratio ^ 2) FILTER (WHERE e.pair = 'adjacent'),
                                                 avg(e.p99_log_ratio ^ 2) FILTER (WHERE e.pair = 'bracket')))
                                       AS p99_aa_sd
                            FROM noisy_block_effects e
                            GROUP BY e.run_id, e.clients, e.level) AS g
                      WINDOW same_clients AS (PARTITION BY g.run_id, g.clients)) AS s) AS h) AS i
    JOIN noisy_run_records r ON r.run_id = i.run_id;
COMMENT ON VIEW noisy_impact IS 'what the noise did: each level against the baselines around its blocks; one row per number of clients and level of a workload';
COMMENT ON COLUMN noisy_impact.run_id IS 'run';
COMMENT ON COLUMN noisy_impact.workload IS 'name of the workload';
COMMENT ON COLUMN noisy_impact.clients IS 'clients of the workload';
COMMENT ON COLUMN noisy_impact.level IS 'noise dose asked for, percent per load thread; 0 is the baseline';
COMMENT ON COLUMN noisy_impact.achieved_pct IS 'noise dose delivered, percent, mean over time';
COMMENT ON COLUMN noisy_impact.dose_blocks IS 'accepted blocks with this dose: the replicates of the intervals; 0 for the baseline';
COMMENT ON COLUMN noisy_impact.tps IS 'transactions per second, over all accepted blocks of the level';
COMMENT ON COLUMN noisy_impact.tps_change_pct IS 'change of tps against the interleaved baseline, percent: 100 * (exp(mean of tps_log_ratio of the blocks) - 1); 0 for the baseline';
COMMENT ON COLUMN noisy_impact.tps_change_low_pct IS 'lower end of its 95 % interval; NULL below two blocks';
COMMENT ON COLUMN noisy_impact.tps_change_high_pct IS 'upper end of its 95 % interval; NULL below two blocks';
COMMENT ON COLUMN noisy_impact.tps_noise_floor_pct IS 'noise floor of tps, percent: changes by a factor below 1 + this / 100, up or down, do not count. The larger of 5 and 200 * the root mean square of tps_log_ratio of adjacent baselines (of bracketing ones where none are adjacent)';
COMMENT ON COLUMN noisy_impact.tps_verdict IS 'verdict on tps, as verdict is on p99_ms';
COMMENT ON COLUMN noisy_impact.avg_ms IS 'mean latency, ms';
COMMENT ON COLUMN noisy_impact.avg_change_ms IS 'mean latency minus that of the baseline blocks, ms';
COMMENT ON COLUMN noisy_impact.p95_ms IS '95th percentile of the latency, ms';
COMMENT ON COLUMN noisy_impact.p95_change_ms IS '95th percentile minus that of the baseline blocks, ms';
COMMENT ON COLUMN noisy_impact.p99_ms IS '99th percentile of the latency, ms';
COMMENT ON COLUMN noisy_impact.p99_change_ms IS '99th percentile minus that of the baseline blocks, ms';
COMMENT ON COLUMN noisy_impact.p99_ratio IS '99th percentile over that of the interleaved baseline: exp(mean of p99_log_ratio of the blocks); 1 for the baseline';
COMMENT ON COLUMN noisy_impact.p99_ratio_low IS 'lower end of its 95 % interval; NULL below two blocks';
COMMENT ON COLUMN noisy_impact.p99_ratio_high IS 'upper end of its 95 % interval; NULL below two blocks';
COMMENT ON COLUMN noisy_impact.p99_noise_floor_pct IS 'noise floor of the 99th percentile, percent, from p99_log_ratio likewise';
COMMENT ON COLUMN noisy_impact.stalled_blocks IS 'blocks in which no transaction ended: they have no ratio, and no verdict is given';
COMMENT ON COLUMN noisy_impact.verdict IS 'baseline; impact: the whole interval of p99_ratio lies above the noise floor; within_noise: inside it; improved: below it; inconclusive: none of these';
COMMENT ON COLUMN noisy_impact.blocks_needed IS 'dose blocks in total that would resolve an inconclusive verdict if mean and spread stay as they are, see noisy_blocks_needed(); below two blocks the spread is that of the baselines; NULL: there is a verdict, or a block has stalled, or more than a million';

-- Active time: what somebody waits for, or what uses a CPU. Not active are
--   Activity            main loops of the server's own processes
--   ClientRead          a backend whose client has asked for nothing
--   Client              of walsender and walreceiver: nothing to send, nothing received
--   Extension           when it is unnamed (before 17 all are), which is mostly the main loop of somebody's worker or
--                       a session that waits for one; and of background processes, named or not
--   Timeout             of background processes: pauses that they make themselves, but for contended spinlocks
-- The same in a backend that carries out a statement makes somebody wait, so it counts.
CREATE VIEW noisy_wait_events AS
    SELECT a.run_id, r.workload, a.clients, a.level, a.backend_type, a.wait_event_type, a.wait_event, a.samples,
           (100 * a.samples / nullif(sum(a.samples) OVER (PARTITION BY a.run_id, a.clients, a.level), 0))::float8
               AS share_pct,
           a.samples::float8 / nullif(a.passes, 0) AS avg_waiters, a.max_waiters
    FROM (SELECT b.run_id, b.clients, b.level, w.backend_type, w.wait_event_type, w.wait_event,
                 sum(w.samples)::bigint AS samples, max(w.max_waiters) AS max_waiters, b.passes
          FROM (SELECT c.run_id, c.block, c.clients, c.level,
                       sum(c.samples_taken) OVER (PARTITION BY c.run_id, c.clients, c.level) AS passes
                FROM noisy_blocks c
                WHERE c.accepted) AS b
          JOIN noisy_wait_samples w ON w.run_id = b.run_id AND w.block = b.block
          WHERE w.wait_event_type <> 'Activity'
            AND NOT (w.wait_event_type = 'Client'
                     AND (w.wait_event = 'ClientRead' OR w.backend_type IN ('walsender', 'walreceiver')))
            AND NOT (w.wait_event_type = 'Extension' AND w.wait_event = 'Extension')
            AND NOT (w.wait_event_type IN ('Extension', 'Timeout') AND w.wait_event <> 'SpinDelay'
                     AND w.backend_type NOT IN ('client backend', 'parallel worker', 'unknown'))
          GROUP BY b.run_id, b.clients, b.level, b.passes, w.backend_type, w.wait_event_type, w.wait_event) AS a
    JOIN noisy_run_records r ON r.run_id = a.run_id;
COMMENT ON VIEW noisy_wait_events IS 'where the server''s processes spent their active time, over the accepted blocks of each number of clients and noise level; idle processes are left out, noisy_wait_samples has all';
COMMENT ON COLUMN noisy_wait_events.run_id IS 'run';
COMMENT ON COLUMN noisy_wait_events.workload IS 'name of the workload; NULL: noise alone';
COMMENT ON COLUMN noisy_wait_events.clients IS 'clients of the workload; 0: noise alone';
COMMENT ON COLUMN noisy_wait_events.level IS 'noise dose asked for, percent';
COMMENT ON COLUMN noisy_wait_events.backend_type IS 'kind of server process, as in pg_stat_activity';
COMMENT ON COLUMN noisy_wait_events.wait_event_type IS 'class of the wait event; ''CPU'' when none';
COMMENT ON COLUMN noisy_wait_events.wait_event IS 'wait event, named by the server; ''CPU'' when none: running or waiting for a CPU';
COMMENT ON COLUMN noisy_wait_events.samples IS 'times a process was seen so';
COMMENT ON COLUMN noisy_wait_events.share_pct IS 'share of the active time of all processes at this number of clients and level, percent';
COMMENT ON COLUMN noisy_wait_events.avg_waiters IS 'mean number of processes seen so: samples by passes over the processes, blocks without such a sample included';
COMMENT ON COLUMN noisy_wait_events.max_waiters IS 'most processes seen so at once';
-- The report of a run as text for a terminal: at most 100 columns, ASCII but for what users have named.
--
-- noisy_report() puts sections together; each section is a function of its own that returns its lines, or
-- NULL when it has nothing to say. They run as the caller and read what the caller may read. Numbers go through
-- numeric, so that the decimal point is a point under every lc_numeric.

-- Layout

CREATE FUNCTION noisy_report_number(x float8, decimals int DEFAULT NULL, signed boolean DEFAULT false)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT CASE WHEN signed AND x > 0 THEN '+' ELSE '' END ||
           CASE WHEN x = 'NaN' THEN NULL
                WHEN abs(x) >= 1e12 THEN trim(to_char(x, '9.99EEEE'))
                ELSE round(x::numeric, coalesce(decimals,
                                                CASE WHEN x = 0 THEN 0 WHEN abs(x) < 10 THEN 3
                                                     WHEN abs(x) < 100 THEN 2 WHEN abs(x) < 1000 THEN 1
                                                     ELSE 0 END))::text END
$$;
COMMENT ON FUNCTION noisy_report_number(float8, int, boolean)
    IS 'a number for people: four digits that count, or so many decimals; a point under every lc_numeric; NULL and NaN give NULL';

-- Control characters could move the cursor or colour a terminal.
CREATE FUNCTION noisy_report_clean(value text, max_length int DEFAULT 80) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT CASE WHEN length(value) > max_length THEN left(c.value, max_length - 3) || '...' ELSE c.value END
    FROM (SELECT regexp_replace(value, '[\u0001-\u001f\u007f-\u009f]', '?', 'g') AS value) AS c
$$;
COMMENT ON FUNCTION noisy_report_clean(text, int)
    IS 'text of users for a terminal: control characters become question marks, and what is too long is cut';

-- Break at spaces; a word that is longer than a line is broken anywhere.
CREATE FUNCTION noisy_report_wrap(value text, first text, rest text, width int DEFAULT 96) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    todo  text := trim(value);
    room  int := width - length(rest);
    cut   int;
    lines text[] := '{}';
BEGIN
    WHILE length(todo) > room LOOP
        cut := room + 1 - strpos(reverse(left(todo, room + 1)), ' ') + 1;
        IF cut < 2 OR cut > room + 1 THEN
            cut := room + 1;
        END IF;
        lines := lines || rtrim(left(todo, cut - 1));
        todo := ltrim(substr(todo, cut));
    END LOOP;
    RETURN first || array_to_string(lines || todo, E'\n' || rest);
END
$$;
COMMENT ON FUNCTION noisy_report_wrap(text, text, text, int)
    IS 'a paragraph broken into lines of at most width characters: the first begins with first, the others with rest (as long as first)';

CREATE FUNCTION noisy_report_table(head text[], alignment text, body text[]) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    widths int[];
    cells  text[] := array_cat(ARRAY[head], body);
    line   text;
    lines  text[] := '{}';
BEGIN
    IF body IS NULL THEN
        RETURN NULL;
    END IF;
    FOR c IN 1 .. cardinality(head) LOOP
        widths[c] := (SELECT max(length(coalesce(cells[r][c], '-'))) FROM generate_series(1, array_length(cells, 1)) AS r);
    END LOOP;
    FOR r IN 1 .. array_length(cells, 1) LOOP
        line := '';
        FOR c IN 1 .. cardinality(head) LOOP
            line := line || CASE WHEN c > 1 THEN '  ' ELSE '' END ||
                CASE WHEN substr(alignment, c, 1) = 'r' THEN lpad(coalesce(cells[r][c], '-'), widths[c])
                     ELSE rpad(coalesce(cells[r][c], '-'), widths[c]) END;
        END LOOP;
        lines := lines || rtrim(line);
    END LOOP;
    RETURN array_to_string(lines, E'\n');
END
$$;
COMMENT ON FUNCTION noisy_report_table(text[], text, text[])
    IS 'an aligned table: heads, l or r for each column, and an array of rows; NULL cells are a dash; NULL without rows';

CREATE FUNCTION noisy_report_duration(seconds float8) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT CASE WHEN seconds < 120 THEN trim_scale(round(seconds::numeric, 1))::text || ' s'
                WHEN seconds < 7200 THEN floor(seconds / 60)::text || ' min ' || (floor(seconds)::bigint % 60)::text || ' s'
                ELSE floor(seconds / 3600)::text || ' h ' || (floor(seconds / 60)::bigint % 60)::text || ' min' END
$$;
COMMENT ON FUNCTION noisy_report_duration(float8) IS 'seconds for people';

CREATE FUNCTION noisy_report_bytes(bytes float8) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT CASE WHEN bytes < 1024 THEN round(bytes::numeric)::text || ' B'
                WHEN bytes < 1048576 THEN trim_scale(round((bytes / 1024)::numeric, 1))::text || ' KiB'
                WHEN bytes < 1073741824 THEN trim_scale(round((bytes / 1048576)::numeric, 1))::text || ' MiB'
                ELSE trim_scale(round((bytes / 1073741824)::numeric, 1))::text || ' GiB' END
$$;
COMMENT ON FUNCTION noisy_report_bytes(float8) IS 'bytes for people, in powers of 1024';

CREATE FUNCTION noisy_report_list(list jsonb) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT string_agg(l.item, ', ' ORDER BY l.n)
    FROM jsonb_array_elements_text(CASE WHEN jsonb_typeof(list) = 'array' THEN list ELSE '[]' END)
         WITH ORDINALITY AS l (item, n)
$$;
COMMENT ON FUNCTION noisy_report_list(jsonb) IS 'elements of a json array, with commas';

-- Sections

CREATE FUNCTION noisy_report_what(run bigint) RETURNS text
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    r      record;
    p      jsonb;
    e      jsonb;
    s      jsonb;
    noise  text;
    blocks text;
BEGIN
    SELECT * INTO r FROM @extschema@.noisy_runs n WHERE n.run_id = run;
    p := r.parameters;
    e := r.environment;
    s := e -> 'settings';
    SELECT string_agg(@extschema@.noisy_report_clean(n.key) || ' (' ||
                      concat_ws(', ', (n.value ->> 'workers') || CASE WHEN n.value ->> 'workers' = '1' THEN ' thread'
                                                                 ELSE ' threads' END,
                                CASE WHEN (n.value ->> 'bytes')::float8 > 0 THEN
                                    @extschema@.noisy_report_bytes((n.value ->> 'bytes')::float8) || ' each' END)
                      || ')', ', ' ORDER BY n.key)
        INTO noise
        FROM jsonb_each(CASE WHEN jsonb_typeof(p -> 'noise') = 'object' THEN p -> 'noise' ELSE '{}' END) AS n;
    SELECT concat_ws(', ', count(*) || ' measured',
                     nullif(count(*) FILTER (WHERE NOT b.accepted), 0) || ' rejected')
        INTO blocks
        FROM @extschema@.noisy_blocks b WHERE b.run_id = run;
    RETURN (
        SELECT string_agg(@extschema@.noisy_report_wrap(l.value, rpad(l.key, 10), repeat(' ', 10)), E'\n' ORDER BY l.n)
        FROM (VALUES
            (1, 'label', @extschema@.noisy_report_clean(r.label)),
            (2, 'time', concat_ws(', ', 'started ' || to_char(r.started_at, 'YYYY-MM-DD HH24:MI:SSOF'),
                'took ' || @extschema@.noisy_report_duration(date_part('epoch', r.finished_at - r.started_at)),
                'by role ' || @extschema@.noisy_report_clean(r.role_name))),
            (3, 'host', concat_ws(', ', @extschema@.noisy_report_clean(e ->> 'host_name'),
                @extschema@.noisy_report_clean(e ->> 'cpu_model'),
                trim_scale((e ->> 'usable_cpus')::numeric) || ' of ' || (e ->> 'online_cpus') || ' CPUs usable',
                'quota ' || trim_scale((e ->> 'quota_cpus')::numeric) || ' CPUs',
                'memory ' || @extschema@.noisy_report_bytes((e ->> 'mem_total_bytes')::float8),
                @extschema@.noisy_report_clean(e ->> 'kernel'),
                @extschema@.noisy_report_clean(e ->> 'virtualisation'))),
            (4, 'server', concat_ws(', ', 'PostgreSQL ' || @extschema@.noisy_report_clean(s ->> 'server_version'),
                'shared_buffers ' || @extschema@.noisy_report_bytes((s ->> 'shared_buffers')::float8
                                                                    * (e ->> 'block_size_bytes')::float8),
                'synchronous_commit ' || @extschema@.noisy_report_clean(s ->> 'synchronous_commit'),
                'fsync ' || @extschema@.noisy_report_clean(s ->> 'fsync'))),
            (5, 'workload', CASE WHEN r.workload IS NULL THEN 'none: noise alone' ELSE concat_ws(', ',
                @extschema@.noisy_report_clean(r.workload),
                'scale ' || coalesce(e ->> 'scale', p ->> 'scale'),
                'query mode ' || (p ->> 'query_mode'),
                (p ->> 'threads') || CASE WHEN p ->> 'threads' = '1' THEN ' driver thread' ELSE ' driver threads' END,
                'clients ' || @extschema@.noisy_report_list(p -> 'clients'),
                'on ' || @extschema@.noisy_report_clean(p ->> 'server')) END),
            (6, 'noise', concat_ws(' at ', coalesce(noise, 'none'), @extschema@.noisy_report_list(p -> 'levels') || ' %')),
            (7, 'blocks', concat_ws(', ', blocks, 'each ' ||
                @extschema@.noisy_report_duration((p ->> 'duration_s')::float8) || coalesce(' after a warm-up of ' ||
                @extschema@.noisy_report_duration(nullif((p ->> 'warmup_s')::float8, 0)), ''),
                (p ->> 'repeats') || CASE WHEN p ->> 'repeats' = '1' THEN ' repeat' ELSE ' repeats' END,
                'seed ' || r.seed))) AS l (n, key, value)
        WHERE l.value <> '');
END
$$;
COMMENT ON FUNCTION noisy_report_what(bigint) IS 'section of noisy_report(): what ran on what';

-- The lowest dose with that verdict, and of several client counts the one that is hit hardest.
CREATE FUNCTION noisy_report_effect(run bigint, wanted text) RETURNS text
LANGUAGE sql STABLE PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT format('With %s clients, noise of %s %% %s.', i.clients, i.level,
                  concat_ws(' and ',
                            CASE WHEN i.verdict = wanted THEN
                                format('multiplies the p99 by %s (%s to %s)',
                                       @extschema@.noisy_report_number(i.p99_ratio, 2),
                                       @extschema@.noisy_report_number(i.p99_ratio_low, 2),
                                       @extschema@.noisy_report_number(i.p99_ratio_high, 2)) END,
                            CASE WHEN i.tps_verdict = wanted THEN
                                format('changes tps by %s %% (%s to %s)',
                                       @extschema@.noisy_report_number(i.tps_change_pct, 1, true),
                                       @extschema@.noisy_report_number(i.tps_change_low_pct, 1, true),
                                       @extschema@.noisy_report_number(i.tps_change_high_pct, 1, true)) END))
    FROM @extschema@.noisy_impact i
    WHERE i.run_id = run AND wanted IN (i.verdict, i.tps_verdict)
    ORDER BY i.level, abs(ln(i.p99_ratio)) DESC NULLS LAST, i.clients
    LIMIT 1
$$;
COMMENT ON FUNCTION noisy_report_effect(bigint, text)
    IS 'the lowest dose of a run with that verdict, as a sentence with its 95 % intervals; NULL: none';

CREATE FUNCTION noisy_report_verdict(run bigint) RETURNS text
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    n           record;
    noise_alone boolean;
BEGIN
    SELECT r.workload IS NULL INTO noise_alone FROM @extschema@.noisy_run_records r WHERE r.run_id = run;
    SELECT count(*) AS blocks, count(*) FILTER (WHERE b.accepted) AS accepted INTO n
        FROM @extschema@.noisy_blocks b WHERE b.run_id = run;
    IF n.blocks = 0 THEN
        RETURN 'none. No block was measured.';
    ELSIF n.accepted = 0 THEN
        RETURN 'none. Every block was rejected.';
    ELSIF noise_alone THEN
        RETURN 'none. This was noise alone: no workload was measured.';
    END IF;
    SELECT count(*) AS doses, count(*) FILTER (WHERE 'inconclusive' IN (i.verdict, i.tps_verdict)) AS unclear,
           max(i.blocks_needed) AS needed, max(i.level) AS level,
           max(i.p99_noise_floor_pct) AS p99_floor, max(i.tps_noise_floor_pct) AS tps_floor INTO n
        FROM @extschema@.noisy_impact i WHERE i.run_id = run AND i.level > 0;
    IF n.doses = 0 THEN
        RETURN 'none. These are baselines only: there is no dose to judge.';
    END IF;
    RETURN coalesce(
        'impact. ' || @extschema@.noisy_report_effect(run, 'impact'),
        CASE WHEN n.unclear > 0 THEN
            format('inconclusive. For %s of %s doses the change cannot be told from what the run itself varies by', n.unclear, n.doses)
            || coalesce('; about ' || n.needed || ' blocks of each dose would settle the p99', '') || '.' END,
        'improved. ' || @extschema@.noisy_report_effect(run, 'improved'),
        format('within noise. No dose up to %s %% changes the p99 by more than a factor of %s or tps by more than %s, '
               'the least that counts in this run.', n.level, @extschema@.noisy_report_number(1 + n.p99_floor / 100, 2),
               @extschema@.noisy_report_number(1 + n.tps_floor / 100, 2)));
END
$$;
COMMENT ON FUNCTION noisy_report_verdict(bigint) IS 'section of noisy_report(): the verdict in a sentence';

-- A star marks what low_n names.
CREATE FUNCTION noisy_report_results(run bigint) RETURNS text
LANGUAGE sql STABLE PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT E'Throughput, and latency in ms (noise in % asked and delivered)\n' ||
           @extschema@.noisy_report_table(
               '{clients,noise,got,blocks,tps,errors,avg,p50,p95,p99,p99.9,max}', 'rrrrrrrrrrrr',
               array_agg(ARRAY[nullif(s.clients, 0)::text, s.level::text, @extschema@.noisy_report_number(s.achieved_pct, 1),
                               s.blocks::text, @extschema@.noisy_report_number(s.tps, CASE WHEN s.tps < 1000 THEN 1 ELSE 0 END), s.errors::text,
                               @extschema@.noisy_report_number(s.avg_ms),
                               @extschema@.noisy_report_number(s.p50_ms) || CASE WHEN 'p50_ms' = ANY (s.low_n) THEN '*' ELSE '' END,
                               @extschema@.noisy_report_number(s.p95_ms) || CASE WHEN 'p95_ms' = ANY (s.low_n) THEN '*' ELSE '' END,
                               @extschema@.noisy_report_number(s.p99_ms) || CASE WHEN 'p99_ms' = ANY (s.low_n) THEN '*' ELSE '' END,
                               @extschema@.noisy_report_number(s.p999_ms) || CASE WHEN 'p999_ms' = ANY (s.low_n) THEN '*' ELSE '' END,
                               @extschema@.noisy_report_number(s.max_ms)]
                         ORDER BY s.clients, s.level))
    FROM @extschema@.noisy_results s
    WHERE s.run_id = run AND s.clients > 0
$$;
COMMENT ON FUNCTION noisy_report_results(bigint) IS 'section of noisy_report(): throughput and latency of each level';

CREATE FUNCTION noisy_report_impact(run bigint) RETURNS text
LANGUAGE sql STABLE PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT E'Against the baselines around each block (floor: the least factor that counts, up or down)\n' ||
           @extschema@.noisy_report_table(
               '{clients,noise,of,change,ratio,"95 % interval",floor,verdict}', 'rrlrrrrl',
               array_agg(ARRAY[nullif(l.clients, 0)::text, l.level::text, l.metric, l.change,
                               @extschema@.noisy_report_number(l.ratio, 2),
                               @extschema@.noisy_report_number(l.low, 2) || ' to ' || @extschema@.noisy_report_number(l.high, 2),
                               @extschema@.noisy_report_number(1 + l.floor_pct / 100, 2),
                               replace(l.verdict, '_', ' ') || coalesce(': needs ' || l.needed || ' blocks', '')]
                         ORDER BY l.clients, l.level, l.metric))
    FROM (SELECT i.clients, i.level, m.*
          FROM @extschema@.noisy_impact i,
               LATERAL (VALUES
                   ('p99', @extschema@.noisy_report_number(i.p99_change_ms, NULL, true) || ' ms', i.p99_ratio, i.p99_ratio_low,
                    i.p99_ratio_high, i.p99_noise_floor_pct, i.verdict, i.blocks_needed),
                   ('tps', @extschema@.noisy_report_number(i.tps_change_pct, 1, true) || ' %', 1 + i.tps_change_pct / 100,
                    1 + i.tps_change_low_pct / 100, 1 + i.tps_change_high_pct / 100, i.tps_noise_floor_pct, i.tps_verdict, NULL))
                   AS m (metric, change, ratio, low, high, floor_pct, verdict, needed)
          WHERE i.run_id = run AND i.level > 0) AS l
$$;
COMMENT ON FUNCTION noisy_report_impact(bigint) IS 'section of noisy_report(): changes of each dose, with interval and verdict';

CREATE FUNCTION noisy_report_dose(run bigint) RETURNS text
LANGUAGE sql STABLE PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT E'Dose per load thread in % (lowest and highest: of a thread in a block)\n' ||
           @extschema@.noisy_report_table(
               '{noise,stressor,threads,delivered,lowest,highest,CPU,"rate or amount",unreachable}', 'rlrrrrrrr',
               array_agg(ARRAY[d.level::text, @extschema@.noisy_report_clean(d.stressor, 20), d.threads::text,
                               @extschema@.noisy_report_number(d.achieved, 2), @extschema@.noisy_report_number(d.lowest, 2),
                               @extschema@.noisy_report_number(d.highest, 2), @extschema@.noisy_report_number(d.cpu, 1),
                               CASE WHEN d.rate_unit = 'bytes' THEN @extschema@.noisy_report_bytes(d.rate)
                                    ELSE @extschema@.noisy_report_number(d.rate) || ' ' || d.rate_unit END,
                               CASE WHEN d.unreachable > 0 THEN d.unreachable || ' of ' || d.n ELSE 'none' END]
                         ORDER BY d.level, d.stressor))
    FROM (SELECT b.level, o.stressor, o.rate_unit, count(DISTINCT o.worker) AS threads, avg(o.achieved_pct) AS achieved,
                 min(o.achieved_pct) AS lowest, max(o.achieved_pct) AS highest, avg(o.cpu_pct) AS cpu,
                 avg(o.rate) AS rate, count(*) FILTER (WHERE o.unreachable) AS unreachable, count(*) AS n
          FROM @extschema@.noisy_dose o
          JOIN @extschema@.noisy_blocks b ON b.run_id = o.run_id AND b.block = o.block
          WHERE o.run_id = run AND b.accepted AND b.level > 0
          GROUP BY b.level, o.stressor, o.rate_unit) AS d
$$;
COMMENT ON FUNCTION noisy_report_dose(bigint) IS 'section of noisy_report(): noise asked for and delivered';

-- The five largest of each level, and what each was in the baseline.
CREATE FUNCTION noisy_report_waits(run bigint) RETURNS text
LANGUAGE sql STABLE PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT E'Where active time went (processes: how many at once, on average; change: against the baseline)\n' ||
           @extschema@.noisy_report_table(
               '{clients,noise,process,"waits for",share,processes,change}', 'rrllrrr',
               array_agg(ARRAY[nullif(w.clients, 0)::text, w.level::text, @extschema@.noisy_report_clean(w.backend_type, 24),
                               @extschema@.noisy_report_clean(
                                   CASE WHEN w.wait_event_type = 'CPU' THEN 'nothing (CPU or its queue)'
                                        ELSE w.wait_event_type || ':' || w.wait_event END, 34),
                               @extschema@.noisy_report_number(w.share_pct, 1) || ' %',
                               @extschema@.noisy_report_number(w.avg_waiters, 2),
                               CASE WHEN w.level > 0 AND w.has_baseline THEN
                                   @extschema@.noisy_report_number(w.avg_waiters - coalesce(w.base_waiters, 0), 2, true) END]
                         ORDER BY w.clients, w.level, w.place))
    FROM (SELECT v.*,
                 row_number() OVER (PARTITION BY v.clients, v.level ORDER BY v.samples DESC, v.backend_type, v.wait_event_type, v.wait_event) AS place,
                 bool_or(v.level = 0) OVER (PARTITION BY v.clients) AS has_baseline,
                 max(v.avg_waiters) FILTER (WHERE v.level = 0)
                     OVER (PARTITION BY v.clients, v.backend_type, v.wait_event_type, v.wait_event) AS base_waiters
          FROM @extschema@.noisy_wait_events v
          WHERE v.run_id = run) AS w
    WHERE w.place <= 5
$$;
COMMENT ON FUNCTION noisy_report_waits(bigint) IS 'section of noisy_report(): the largest waits of each level';

CREATE FUNCTION noisy_report_server(run bigint) RETURNS text
LANGUAGE sql STABLE PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT E'Checkpoints, and writes in MiB/s (running: seconds in which a checkpoint was in progress)\n' ||
           @extschema@.noisy_report_table(
               '{clients,noise,blocks,timed,requested,done,running,checkpointer,bgwriter,backends,WAL}', 'rrrrrrrrrrr',
               array_agg(ARRAY[nullif(s.clients, 0)::text, s.level::text, s.blocks::text, s.timed::text, s.requested::text, s.done::text,
                               @extschema@.noisy_report_number(s.running_pct, 0) || ' %',
                               @extschema@.noisy_report_number(s.checkpointer_bytes / s.seconds / 1048576, 2),
                               @extschema@.noisy_report_number(s.bgwriter_bytes / s.seconds / 1048576, 2),
                               @extschema@.noisy_report_number(s.backend_bytes / s.seconds / 1048576, 2),
                               @extschema@.noisy_report_number(s.wal_bytes / s.seconds / 1048576, 2)]
                         ORDER BY s.clients, s.level)) ||
           coalesce((SELECT E'\n' || string_agg(@extschema@.noisy_report_wrap(
                                @extschema@.noisy_report_clean(n.note, 300), '  - ', '    '), E'\n' ORDER BY n.note)
                     FROM (SELECT DISTINCT w.note FROM @extschema@.noisy_bgwriter w WHERE w.run_id = run AND w.note <> '') AS n), '')
    FROM (SELECT b.clients, b.level, count(*) AS blocks, sum(b.duration_s) AS seconds, sum(w.checkpoints_timed) AS timed,
                 sum(w.checkpoints_requested) AS requested, sum(w.checkpoints_done) AS done,
                 100 * avg(t.running_share) AS running_pct,
                 sum(w.checkpointer_bytes)::float8 AS checkpointer_bytes, sum(w.bgwriter_bytes)::float8 AS bgwriter_bytes,
                 sum(w.backend_bytes)::float8 AS backend_bytes, sum(w.wal_bytes)::float8 AS wal_bytes
          FROM @extschema@.noisy_blocks b
          JOIN @extschema@.noisy_bgwriter w ON w.run_id = b.run_id AND w.block = b.block
          LEFT JOIN LATERAL (SELECT avg(l.checkpoint::int)::float8 AS running_share FROM @extschema@.noisy_timeline l
                             WHERE l.run_id = b.run_id AND l.block = b.block) AS t ON true
          WHERE b.run_id = run AND b.accepted
          GROUP BY b.clients, b.level) AS s
$$;
COMMENT ON FUNCTION noisy_report_server(bigint) IS 'section of noisy_report(): checkpoints and buffers';

CREATE FUNCTION noisy_report_host(run bigint) RETURNS text
LANGUAGE sql STABLE PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT E'CPU in % of the host (queue: time that server processes waited for a CPU, % of one CPU)\n' ||
           @extschema@.noisy_report_table(
               '{clients,noise,server,noise,driver,own,foreign,steal,iowait,idle,queue,throttled}', 'rrrrrrrrrrrr',
               array_agg(ARRAY[nullif(h.clients, 0)::text, h.level::text, @extschema@.noisy_report_number(h.server, 1),
                               @extschema@.noisy_report_number(h.noise, 1), @extschema@.noisy_report_number(h.driver, 1),
                               @extschema@.noisy_report_number(h.own, 1), @extschema@.noisy_report_number(h.foreigners, 1),
                               @extschema@.noisy_report_number(h.steal, 1), @extschema@.noisy_report_number(h.iowait, 1),
                               @extschema@.noisy_report_number(h.idle, 1), @extschema@.noisy_report_number(h.queue, 1),
                               @extschema@.noisy_report_number(h.throttled, 1)]
                         ORDER BY h.clients, h.level)) ||
           coalesce((SELECT E'\n' || string_agg(@extschema@.noisy_report_wrap(
                                @extschema@.noisy_report_clean(n.note, 300), '  - ', '    '), E'\n' ORDER BY n.note)
                     FROM (SELECT DISTINCT u.note FROM @extschema@.noisy_host_usage u WHERE u.run_id = run AND u.note <> '') AS n), '')
    FROM (SELECT b.clients, b.level, avg(u.server_pct) AS server, avg(u.noise_pct) AS noise, avg(u.driver_pct) AS driver,
                 avg(u.own_pct) AS own, avg(u.foreign_pct) AS foreigners, avg(u.steal_pct) AS steal,
                 avg(u.iowait_pct) AS iowait, avg(u.idle_pct) AS idle, avg(u.run_delay_pct) AS queue,
                 avg(u.throttled_pct) AS throttled
          FROM @extschema@.noisy_blocks b
          JOIN @extschema@.noisy_host_usage u ON u.run_id = b.run_id AND u.block = b.block
          WHERE b.run_id = run AND b.accepted
          GROUP BY b.clients, b.level) AS h
$$;
COMMENT ON FUNCTION noisy_report_host(bigint) IS 'section of noisy_report(): who used the CPUs';

-- Warnings: what to know before one believes the figures.

CREATE FUNCTION noisy_report_warnings_run(run bigint) RETURNS SETOF text
LANGUAGE sql STABLE PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT CASE WHEN r.state IN ('starting', 'running') THEN 'The run is on: these are the blocks so far.'
                ELSE format('The run has not measured all of its blocks: %s.', r.state) END
           || coalesce(' Reason: ' || @extschema@.noisy_report_clean(r.error, 600), '')
    FROM @extschema@.noisy_runs r WHERE r.run_id = run AND r.state <> 'completed'
    UNION ALL
    SELECT format('%s of %s blocks were rejected: %s.', count(*) FILTER (WHERE NOT b.accepted), count(*),
                  @extschema@.noisy_report_clean(string_agg(DISTINCT coalesce(b.reject_reason, 'no reason given'), '; ')
                                                 FILTER (WHERE NOT b.accepted), 300))
    FROM @extschema@.noisy_blocks b WHERE b.run_id = run HAVING bool_or(NOT b.accepted)
    UNION ALL
    SELECT format('The load driver used 90 %% of a CPU or more in %s of %s blocks (busiest thread: %s %%): it, not the '
                  'server, may have been the limit. Raise "threads".', count(*) FILTER (WHERE b.driver_bound), count(*),
                  @extschema@.noisy_report_number(max(b.driver_busiest_pct), 0))
    FROM @extschema@.noisy_blocks b WHERE b.run_id = run AND b.accepted HAVING bool_or(b.driver_bound)
    UNION ALL
    SELECT format('%s transactions failed: %s serialization failures, %s deadlocks, %s lost connections, %s other errors.',
                  sum(b.errors), coalesce(sum(b.serialization_failures), 0), coalesce(sum(b.deadlocks), 0),
                  coalesce(sum(b.connection_errors), 0), coalesce(sum(b.other_errors), 0))
           || coalesce(' Last: ' || @extschema@.noisy_report_clean((array_agg(b.last_error ORDER BY b.block DESC)
                                                                    FILTER (WHERE b.last_error <> ''))[1], 200), '')
    FROM @extschema@.noisy_blocks b WHERE b.run_id = run AND b.accepted HAVING sum(b.errors) > 0
    UNION ALL
    SELECT format('With %s clients, noise of %s %%: no transaction ended in %s of %s blocks.', i.clients, i.level,
                  i.stalled_blocks, i.dose_blocks)
    FROM @extschema@.noisy_impact i WHERE i.run_id = run AND i.stalled_blocks > 0
    UNION ALL
    SELECT 'Each dose has one block only: there is no interval, so no verdict. Ask for more repeats.'
    FROM @extschema@.noisy_impact i WHERE i.run_id = run AND i.level > 0 HAVING max(i.dose_blocks) = 1
    UNION ALL
    SELECT format('The baselines with %s clients differ among themselves: only changes by more than a factor of %s (p99) '
                  'and %s (tps) count. A quieter machine or longer blocks would show smaller ones.', i.clients,
                  @extschema@.noisy_report_number(1 + i.p99_noise_floor_pct / 100, 2),
                  @extschema@.noisy_report_number(1 + i.tps_noise_floor_pct / 100, 2))
    FROM @extschema@.noisy_impact i
    WHERE i.run_id = run AND i.level = 0 AND greatest(i.p99_noise_floor_pct, i.tps_noise_floor_pct) > 20
    UNION ALL
    SELECT 'Fewer than ten transactions lie beyond the percentiles with a star: chance rules them. Ask for longer blocks '
           'or more repeats.'
    FROM @extschema@.noisy_results s
    WHERE s.run_id = run HAVING bool_or(s.low_n && '{p50_ms,p95_ms,p99_ms,p999_ms}')
$$;
COMMENT ON FUNCTION noisy_report_warnings_run(bigint) IS 'warnings of noisy_report() about the run and its workload';

CREATE FUNCTION noisy_report_warnings_host(run bigint) RETURNS SETOF text
LANGUAGE sql STABLE PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT format('Dose not delivered: %s missed noise of %s %% by more than one percentage point in %s of %s cases (a thread in '
                  'a block), %s %% on average: the CPU or memory was not to be had.', d.stressor, d.level, d.missed, d.n,
                  coalesce(@extschema@.noisy_report_number(d.achieved, 1), '-'))
    FROM (SELECT o.stressor, b.level, avg(o.achieved_pct) AS achieved, count(*) AS n,
                 count(*) FILTER (WHERE o.unreachable) AS missed
          FROM @extschema@.noisy_dose o
          JOIN @extschema@.noisy_blocks b ON b.run_id = o.run_id AND b.block = o.block
          WHERE o.run_id = run AND b.accepted
          GROUP BY o.stressor, b.level HAVING bool_or(o.unreachable)
          ORDER BY o.stressor, b.level) AS d
    UNION ALL
    SELECT format('%s %% of the wait-event samples were missed: the sampler itself did not get the CPU.',
                  @extschema@.noisy_report_number(100 - 100 * sum(b.samples_taken)::float8 / sum(b.samples_expected)::float8, 1))
    FROM @extschema@.noisy_blocks b WHERE b.run_id = run AND b.accepted
    HAVING sum(b.samples_taken) < 0.95 * sum(b.samples_expected)
    UNION ALL
    SELECT format('Foreign processes used more than 3 %% of the host''s CPU in %s of %s blocks, up to %s %%.',
                  count(*) FILTER (WHERE u.foreign_pct > 3), count(*), @extschema@.noisy_report_number(max(u.foreign_pct), 1))
    FROM @extschema@.noisy_host_usage u
    JOIN @extschema@.noisy_blocks b ON b.run_id = u.run_id AND b.block = u.block
    WHERE u.run_id = run AND b.accepted HAVING max(u.foreign_pct) > 3
    UNION ALL
    SELECT format('The hypervisor took up to %s %% of the host''s CPU in a block (steal): a neighbour, or a limit of this machine.',
                  @extschema@.noisy_report_number(max(u.steal_pct), 1))
    FROM @extschema@.noisy_host_usage u
    JOIN @extschema@.noisy_blocks b ON b.run_id = u.run_id AND b.block = u.block
    WHERE u.run_id = run AND b.accepted HAVING max(u.steal_pct) > 1
    UNION ALL
    SELECT concat_ws(' ', format('A CPU quota of %s CPUs binds', @extschema@.noisy_report_number(q.quota, 2)),
                     '(' || @extschema@.noisy_report_clean(q.source) || ')')
           || coalesce('; the group was throttled for up to ' || @extschema@.noisy_report_number(t.throttled, 1) || ' % of a block', '')
           || ': noise takes from the same quota as the server.'
    FROM (SELECT (r.environment ->> 'quota_cpus')::float8 AS quota, r.environment ->> 'quota_source' AS source,
                 coalesce((r.environment ->> 'affinity_cpus')::float8, (r.environment ->> 'online_cpus')::float8) AS cpus
          FROM @extschema@.noisy_run_records r WHERE r.run_id = run) AS q,
         (SELECT nullif(max(u.throttled_pct), 0) AS throttled FROM @extschema@.noisy_host_usage u WHERE u.run_id = run) AS t
    WHERE q.quota < q.cpus OR q.quota IS NOT NULL AND t.throttled IS NOT NULL
    UNION ALL
    SELECT format('Checkpoints with %s clients are unevenly spread: one was in progress for %s %% of the time at one level, for %s %% at '
                  'another. Set options => ''{"checkpoint": "before_block"}''.', s.clients,
                  @extschema@.noisy_report_number(min(s.share), 0), @extschema@.noisy_report_number(max(s.share), 0))
    FROM (SELECT l.clients, l.level, 100 * avg(l.checkpoint::int)::float8 AS share
          FROM @extschema@.noisy_timeline l
          JOIN @extschema@.noisy_blocks b ON b.run_id = l.run_id AND b.block = l.block
          WHERE l.run_id = run AND b.accepted
          GROUP BY l.clients, l.level) AS s
    GROUP BY s.clients HAVING max(s.share) - min(s.share) > 25
    UNION ALL
    SELECT 'sched_autogroup is on: the scheduler weighs sessions, not processes, so the effect of CPU noise depends on how many '
           'processes make it' || coalesce(' (here ' || (r.parameters ->> 'noise_processes') || ')', '') || '.'
    FROM @extschema@.noisy_run_records r WHERE r.run_id = run AND r.environment ->> 'autogroup' = '1'
$$;
COMMENT ON FUNCTION noisy_report_warnings_host(bigint) IS 'warnings of noisy_report() about noise, host and server';

CREATE FUNCTION noisy_report(run_id bigint) RETURNS text
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    run      bigint := noisy_report.run_id;
    title    text;
    warnings text;
BEGIN
    SELECT format('Run %s: %s, noise of %s %%: %s', r.run_id, coalesce(@extschema@.noisy_report_clean(r.workload), 'noise alone'),
                  @extschema@.noisy_report_list(r.parameters -> 'levels'), r.state)
        INTO title FROM @extschema@.noisy_runs r WHERE r.run_id = run;
    IF run IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'null_value_not_allowed', MESSAGE = 'argument "run_id" must not be null';
    ELSIF title IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'undefined_object', MESSAGE = format('run %s does not exist', run),
            HINT = format('The runs are in %s.noisy_runs.', '@extschema@');
    END IF;
    SELECT string_agg(@extschema@.noisy_report_wrap(w.warning, '  - ', '    '), E'\n') INTO warnings
        FROM (SELECT @extschema@.noisy_report_warnings_run(run)
              UNION ALL SELECT @extschema@.noisy_report_warnings_host(run)) AS w (warning);
    RETURN concat_ws(E'\n\n',
        title,
        @extschema@.noisy_report_wrap(@extschema@.noisy_report_verdict(run), 'Verdict: ', '         '),
        @extschema@.noisy_report_what(run),
        @extschema@.noisy_report_results(run),
        @extschema@.noisy_report_impact(run),
        @extschema@.noisy_report_dose(run),
        @extschema@.noisy_report_waits(run),
        @extschema@.noisy_report_server(run),
        @extschema@.noisy_report_host(run),
        E'Warnings\n' || coalesce(warnings, '  none')) || E'\n';
END
$$;
COMMENT ON FUNCTION noisy_report(bigint)
    IS 'a run on one page of text: verdict, what ran on what, throughput and latency, changes, dose, waits, checkpoints, CPU, warnings';
-- Who may do what. Functions that load, write or connect are nobody's but the owner's: the owner grants them.
-- Reading is pg_monitor's. The functions of histograms and formulas read nothing and stay everybody's; so do the
-- text helpers of the report.

GRANT SELECT ON
    noisy_run_records, noisy_blocks, noisy_dose, noisy_timeline, noisy_wait_samples, noisy_bgwriter, noisy_host_usage,
    noisy_progress, noisy_runs, noisy_results, noisy_block_effects, noisy_impact, noisy_wait_events
    TO pg_monitor;

GRANT EXECUTE ON FUNCTION noisy_live_run() TO pg_monitor;

REVOKE ALL ON FUNCTION
    noisy_report_what(bigint), noisy_report_effect(bigint, text), noisy_report_verdict(bigint), noisy_report_results(bigint),
    noisy_report_impact(bigint), noisy_report_dose(bigint), noisy_report_waits(bigint), noisy_report_server(bigint),
    noisy_report_host(bigint), noisy_report_warnings_run(bigint), noisy_report_warnings_host(bigint), noisy_report(bigint)
    FROM PUBLIC;
GRANT EXECUTE ON FUNCTION
    noisy_report_what(bigint), noisy_report_effect(bigint, text), noisy_report_verdict(bigint), noisy_report_results(bigint),
    noisy_report_impact(bigint), noisy_report_dose(bigint), noisy_report_waits(bigint), noisy_report_server(bigint),
    noisy_report_host(bigint), noisy_report_warnings_run(bigint), noisy_report_warnings_host(bigint), noisy_report(bigint)
    TO pg_monitor;
