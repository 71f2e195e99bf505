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

SELECT pg_catalog.pg_extension_config_dump('noisy_processes', '');
SELECT pg_catalog.pg_extension_config_dump('noisy_block_budget', '');

GRANT SELECT ON noisy_processes, noisy_block_budget TO pg_monitor;
