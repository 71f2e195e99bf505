-- Checkpoints while a run was on, and what they did to the workload.

CREATE TABLE noisy_checkpoints (
    run_id          bigint NOT NULL REFERENCES noisy_run_records ON DELETE CASCADE,
    checkpoint      int NOT NULL,
    started_at      timestamptz NOT NULL,
    ended_at        timestamptz NOT NULL,
    kind            text CHECK (kind IN ('timed', 'requested')),
    complete        boolean NOT NULL,
    buffers_written bigint,
    bytes_written   bigint,
    note            text,
    PRIMARY KEY (run_id, checkpoint)
);
COMMENT ON TABLE noisy_checkpoints IS 'checkpoints that were on while a run was: bands in its timeline. The checkpoint of a shutdown begins when every worker has gone, so it is in no run';
COMMENT ON COLUMN noisy_checkpoints.run_id IS 'run';
COMMENT ON COLUMN noisy_checkpoints.checkpoint IS 'number of the checkpoint in the run, from 1; a gap: there were more than 64 in a block';
COMMENT ON COLUMN noisy_checkpoints.started_at IS 'when it began; polled every 100 ms';
COMMENT ON COLUMN noisy_checkpoints.ended_at IS 'when it was complete; polled likewise. Not complete: when it was last seen in progress';
COMMENT ON COLUMN noisy_checkpoints.kind IS 'timed: checkpoint_timeout had passed; requested: everything else, max_wal_size included; NULL: not known, see note';
COMMENT ON COLUMN noisy_checkpoints.complete IS 'whether it was completed while the run was on';
COMMENT ON COLUMN noisy_checkpoints.buffers_written IS 'pages that it wrote, by ended_at; NULL: not measured, see note';
COMMENT ON COLUMN noisy_checkpoints.bytes_written IS 'the same in bytes';
COMMENT ON COLUMN noisy_checkpoints.note IS 'why something is missing';

CREATE TABLE noisy_checkpoint_latency (
    run_id          bigint NOT NULL,
    block           int NOT NULL,
    inside_s        float8 NOT NULL,
    outside_s       float8 NOT NULL,
    inside          noisy_histogram NOT NULL,
    outside         noisy_histogram NOT NULL,
    PRIMARY KEY (run_id, block),
    FOREIGN KEY (run_id, block) REFERENCES noisy_blocks ON DELETE CASCADE
);
COMMENT ON TABLE noisy_checkpoint_latency IS 'latency of the workload in seconds that lay wholly in a checkpoint, and in those without one; a row for each block with such a second. Read noisy_checkpoint_effects';
COMMENT ON COLUMN noisy_checkpoint_latency.run_id IS 'run';
COMMENT ON COLUMN noisy_checkpoint_latency.block IS 'block';
COMMENT ON COLUMN noisy_checkpoint_latency.inside_s IS 'time in checkpoints, seconds; a second with an edge in it counts on neither side';
COMMENT ON COLUMN noisy_checkpoint_latency.outside_s IS 'time without, seconds';
COMMENT ON COLUMN noisy_checkpoint_latency.inside IS 'latency of the transactions that ended in checkpoints';
COMMENT ON COLUMN noisy_checkpoint_latency.outside IS 'latency of those that ended without one';

SELECT pg_catalog.pg_extension_config_dump('noisy_checkpoints', '');
SELECT pg_catalog.pg_extension_config_dump('noisy_checkpoint_latency', '');

GRANT SELECT ON noisy_checkpoints, noisy_checkpoint_latency TO pg_monitor;
