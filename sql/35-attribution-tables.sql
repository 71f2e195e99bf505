-- Why it was slower: what a block leaves behind about its processes and the time of its operations. Tables of a
-- version that a user may have already get their columns here.

ALTER TABLE noisy_host_usage
    ADD COLUMN throttled_periods_pct float8,
    ADD COLUMN psi_memory_full_pct float8,
    ADD COLUMN psi_io_full_pct float8,
    ADD COLUMN load_1min float8,
    ADD COLUMN memory_high_events float8,
    ADD COLUMN memory_max_events float8,
    ADD COLUMN oom_kills float8,
    ADD COLUMN voluntary_switches float8,
    ADD COLUMN involuntary_switches float8,
    ADD COLUMN migrations float8;
COMMENT ON COLUMN noisy_host_usage.throttled_periods_pct IS 'periods of the CPU quota in which our control group was throttled, percent of the periods in which it ran';
COMMENT ON COLUMN noisy_host_usage.psi_memory_full_pct IS 'time in which all tasks that had something to do waited for memory, percent';
COMMENT ON COLUMN noisy_host_usage.psi_io_full_pct IS 'time in which all tasks that had something to do waited for IO, percent';
COMMENT ON COLUMN noisy_host_usage.load_1min IS 'tasks that ran, or waited for a CPU or a disk: the kernel''s mean over the last minute, at the end of the block';
COMMENT ON COLUMN noisy_host_usage.memory_high_events IS 'times that our control group was slowed down above memory.high';
COMMENT ON COLUMN noisy_host_usage.memory_max_events IS 'times that our control group met its memory limit';
COMMENT ON COLUMN noisy_host_usage.oom_kills IS 'processes of our control group that were killed for want of memory';
COMMENT ON COLUMN noisy_host_usage.voluntary_switches IS 'times that a server process gave up its CPU to wait; of those that lived throughout';
COMMENT ON COLUMN noisy_host_usage.involuntary_switches IS 'times that a server process was made to give up its CPU; of those that lived throughout';
COMMENT ON COLUMN noisy_host_usage.migrations IS 'times that a server process was moved to another CPU; of those that lived throughout';

CREATE TABLE noisy_processes (
    run_id          bigint NOT NULL,
    block           int NOT NULL,
    kind            text NOT NULL,
    processes       float8 NOT NULL,
    cpu_s           float8,
    run_delay_s     float8,
    slices          float8,
    voluntary_switches float8,
    involuntary_switches float8,
    migrations      float8,
    note            text,
    PRIMARY KEY (run_id, block, kind),
    FOREIGN KEY (run_id, block) REFERENCES noisy_blocks ON DELETE CASCADE
);
COMMENT ON TABLE noisy_processes IS 'what each kind of server process did in each block, by the scheduler''s account; the run''s own workers are left out';
COMMENT ON COLUMN noisy_processes.run_id IS 'run';
COMMENT ON COLUMN noisy_processes.block IS 'block';
COMMENT ON COLUMN noisy_processes.kind IS 'workload (backends of its clients), other clients, checkpointer, background writer, walwriter, autovacuum, other';
COMMENT ON COLUMN noisy_processes.processes IS 'how many there were, on average';
COMMENT ON COLUMN noisy_processes.cpu_s IS 'CPU time, seconds';
COMMENT ON COLUMN noisy_processes.run_delay_s IS 'time that they waited for a CPU, seconds';
COMMENT ON COLUMN noisy_processes.slices IS 'times that one was given a CPU';
COMMENT ON COLUMN noisy_processes.voluntary_switches IS 'times that one gave up its CPU to wait; of those that lived throughout';
COMMENT ON COLUMN noisy_processes.involuntary_switches IS 'times that one was made to give up its CPU; of those that lived throughout';
COMMENT ON COLUMN noisy_processes.migrations IS 'times that one was moved to another CPU; of those that lived throughout';
COMMENT ON COLUMN noisy_processes.note IS 'why something is NULL';

CREATE TABLE noisy_block_budget (
    run_id          bigint NOT NULL,
    block           int NOT NULL,
    scope           text NOT NULL,
    component       text NOT NULL,
    operations      bigint NOT NULL,
    ms              float8 NOT NULL,
    PRIMARY KEY (run_id, block, scope, component),
    FOREIGN KEY (run_id, block) REFERENCES noisy_blocks ON DELETE CASCADE
);
COMMENT ON TABLE noisy_block_budget IS 'where the time of the operations of each block went; read noisy_attribution';
COMMENT ON COLUMN noisy_block_budget.run_id IS 'run';
COMMENT ON COLUMN noisy_block_budget.block IS 'block';
COMMENT ON COLUMN noisy_block_budget.scope IS 'mean: all transactions; tail: the slowest hundredth of those that were followed one by one; followed: all of these';
COMMENT ON COLUMN noisy_block_budget.component IS 'cpu, run_queue, steal, lwlock, lock, io, other_waits, client, backlog or unexplained, see noisy_attribution';
COMMENT ON COLUMN noisy_block_budget.operations IS 'transactions that the mean is over';
COMMENT ON COLUMN noisy_block_budget.ms IS 'time per transaction, ms; the components of a block sum to the mean latency of its transactions';

CREATE TABLE noisy_block_probes (
    run_id          bigint NOT NULL,
    block           int NOT NULL,
    probe           text NOT NULL,
    working_set_bytes bigint,
    samples         bigint NOT NULL,
    p10_ns          float8,
    median_ns       float8,
    p90_ns          float8,
    note            text,
    PRIMARY KEY (run_id, block, probe),
    FOREIGN KEY (run_id, block) REFERENCES noisy_blocks ON DELETE CASCADE
);
COMMENT ON TABLE noisy_block_probes IS 'CPU time of the same small piece of work, measured again and again in each block; read noisy_probes';
COMMENT ON COLUMN noisy_block_probes.run_id IS 'run';
COMMENT ON COLUMN noisy_block_probes.block IS 'block';
COMMENT ON COLUMN noisy_block_probes.probe IS 'compute, cache_l2 or memory, see noisy_probes';
COMMENT ON COLUMN noisy_block_probes.working_set_bytes IS 'bytes that the probe walks through; NULL: none';
COMMENT ON COLUMN noisy_block_probes.samples IS 'times it was measured';
COMMENT ON COLUMN noisy_block_probes.p10_ns IS '10th percentile of the CPU time of a computation, or of a load, ns';
COMMENT ON COLUMN noisy_block_probes.median_ns IS 'median of it, ns';
COMMENT ON COLUMN noisy_block_probes.p90_ns IS '90th percentile of it, ns';
COMMENT ON COLUMN noisy_block_probes.note IS 'why something is NULL';

CREATE TABLE noisy_block_lock_probe (
    run_id          bigint NOT NULL,
    block           int NOT NULL,
    workers         int NOT NULL,
    hold_us         float8 NOT NULL,
    pause_us        float8 NOT NULL,
    acquisitions    bigint NOT NULL,
    long_waits      bigint NOT NULL,
    hold            noisy_histogram NOT NULL,
    wait            noisy_histogram NOT NULL,
    wait_s          float8,
    holder_on_cpu_s float8,
    holder_off_cpu_s float8,
    waiter_run_queue_s float8,
    rest_s          float8,
    next_in_line_s  float8,
    overlap_s       float8,
    known_s         float8,
    long_wait_s     float8,
    long_holder_on_cpu_s float8,
    long_holder_off_cpu_s float8,
    long_waiter_run_queue_s float8,
    long_rest_s     float8,
    long_next_in_line_s float8,
    long_overlap_s  float8,
    long_known_s    float8,
    PRIMARY KEY (run_id, block),
    FOREIGN KEY (run_id, block) REFERENCES noisy_blocks ON DELETE CASCADE
);
COMMENT ON TABLE noisy_block_lock_probe IS 'what the workers of the lock probe saw in each block; read noisy_lock_probe';
COMMENT ON COLUMN noisy_block_lock_probe.run_id IS 'run';
COMMENT ON COLUMN noisy_block_lock_probe.block IS 'block';
COMMENT ON COLUMN noisy_block_lock_probe.workers IS 'workers that contend for the lock';
COMMENT ON COLUMN noisy_block_lock_probe.hold_us IS 'CPU time for which each of them holds it, microseconds';
COMMENT ON COLUMN noisy_block_lock_probe.pause_us IS 'rest after it, microseconds: they come together every hold_us + pause_us';
COMMENT ON COLUMN noisy_block_lock_probe.acquisitions IS 'times that one had it';
COMMENT ON COLUMN noisy_block_lock_probe.long_waits IS 'waits of more than a millisecond';
COMMENT ON COLUMN noisy_block_lock_probe.hold IS 'how long it was held';
COMMENT ON COLUMN noisy_block_lock_probe.wait IS 'how long one waited for it';
COMMENT ON COLUMN noisy_block_lock_probe.wait_s IS 'all waits together, seconds: the sum of the next four';
COMMENT ON COLUMN noisy_block_lock_probe.holder_on_cpu_s IS 'of these: others held it and were on a CPU, seconds';
COMMENT ON COLUMN noisy_block_lock_probe.holder_off_cpu_s IS 'of these: others held it and were kept from a CPU, seconds';
COMMENT ON COLUMN noisy_block_lock_probe.waiter_run_queue_s IS 'of these: the waiter itself waited for a CPU, seconds; NULL: the kernel keeps no account';
COMMENT ON COLUMN noisy_block_lock_probe.rest_s IS 'of these: the rest, seconds';
COMMENT ON COLUMN noisy_block_lock_probe.next_in_line_s IS 'of the rest: the lock was free, and another one, who had been woken to take it, waited for a CPU, seconds';
COMMENT ON COLUMN noisy_block_lock_probe.overlap_s IS 'time in which a waiter queued for a CPU while others held the lock: it counts as the waiter''s, seconds';
COMMENT ON COLUMN noisy_block_lock_probe.known_s IS 'time for which the lock was held or free during the waits, by the account of its holders: as long as wait_s when all clocks agree, seconds';
COMMENT ON COLUMN noisy_block_lock_probe.long_wait_s IS 'waits of more than a millisecond together, seconds: the sum of the next four';
COMMENT ON COLUMN noisy_block_lock_probe.long_holder_on_cpu_s IS 'of these: others held it and were on a CPU, seconds';
COMMENT ON COLUMN noisy_block_lock_probe.long_holder_off_cpu_s IS 'of these: others held it and were kept from a CPU, seconds';
COMMENT ON COLUMN noisy_block_lock_probe.long_waiter_run_queue_s IS 'of these: the waiter itself waited for a CPU, seconds';
COMMENT ON COLUMN noisy_block_lock_probe.long_rest_s IS 'of these: the rest, seconds';
COMMENT ON COLUMN noisy_block_lock_probe.long_next_in_line_s IS 'of that rest: the lock was free, and another one, who had been woken to take it, waited for a CPU, seconds';
COMMENT ON COLUMN noisy_block_lock_probe.long_overlap_s IS 'overlap_s of the long waits, seconds';
COMMENT ON COLUMN noisy_block_lock_probe.long_known_s IS 'known_s of the long waits, seconds';

SELECT pg_catalog.pg_extension_config_dump('noisy_block_lock_probe', '');
SELECT pg_catalog.pg_extension_config_dump('noisy_block_probes', '');
SELECT pg_catalog.pg_extension_config_dump('noisy_processes', '');
SELECT pg_catalog.pg_extension_config_dump('noisy_block_budget', '');

GRANT SELECT ON noisy_processes, noisy_block_budget, noisy_block_probes, noisy_block_lock_probe TO pg_monitor;
