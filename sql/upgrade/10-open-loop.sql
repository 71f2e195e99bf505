-- Columns that runs with a rate, and a latency limit, have brought. In the order of 30-tables.sql.
ALTER TABLE noisy_blocks
    ADD COLUMN rate float8,
    ADD COLUMN backlog_max bigint,
    ADD COLUMN not_started bigint,
    ADD COLUMN unfinished bigint,
    ADD COLUMN late bigint,
    ADD COLUMN late_pct float8,
    ADD COLUMN generator_lag_p99_ms float8;
COMMENT ON COLUMN noisy_blocks.latency IS 'latency of the transactions that ended in the window: from sending in a closed loop, from the moment at which they were due in an open loop';
COMMENT ON COLUMN noisy_blocks.service IS 'service time of the same transactions in an open loop: from sending; NULL in a closed loop, where it is the latency';
COMMENT ON COLUMN noisy_blocks.rate IS 'open loop: transactions per second asked for, all clients together; NULL: a closed loop';
COMMENT ON COLUMN noisy_blocks.backlog_max IS 'open loop: most transactions that were due and waited for a client at once, in the window (largest sum, over a second, of the driver threads'' own)';
COMMENT ON COLUMN noisy_blocks.not_started IS 'open loop: transactions that were due by the end of the window and still waited for a client; never started';
COMMENT ON COLUMN noisy_blocks.unfinished IS 'transactions in flight at the end of the window: in no other figure but late and late_pct';
COMMENT ON COLUMN noisy_blocks.late IS 'transactions over latency_limit_ms: those that ended in the window, and those that had waited or been in flight for longer than that at its end; NULL: no limit was given';
COMMENT ON COLUMN noisy_blocks.late_pct IS 'late as a share of transactions + not_started + unfinished, percent';
COMMENT ON COLUMN noisy_blocks.generator_lag_p99_ms IS 'open loop: 99th percentile of how late transactions were sent for which a client was idle when they were due, ms: the load driver''s own fault, or that of who kept it from the CPU; NULL: there were none';
