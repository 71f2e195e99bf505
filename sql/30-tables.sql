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
) WITH (fillfactor = 25);
-- The later states of a run find room in the page of the first, so that they can be recorded on a full disk.
ALTER TABLE noisy_run_records ALTER COLUMN label SET STORAGE MAIN, ALTER COLUMN parameters SET STORAGE MAIN,
    ALTER COLUMN environment SET STORAGE MAIN, ALTER COLUMN error SET STORAGE MAIN;
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
COMMENT ON COLUMN noisy_run_records.error IS 'why the run failed, was aborted or was stopped';

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
COMMENT ON COLUMN noisy_blocks.accepted IS 'whether results count this block: the judgement of the block guard when the run ended';
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
COMMENT ON COLUMN noisy_host_usage.own_pct IS 'conductor, sample and lock workers, percent of the host';
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
