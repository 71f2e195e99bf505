-- What the timeline has since 0.2.
ALTER TABLE noisy_timeline ADD COLUMN avg_ms float8;
COMMENT ON COLUMN noisy_timeline.avg_ms IS 'mean latency, ms';
ALTER TABLE noisy_timeline
    ADD COLUMN psi_cpu_some_pct float8,
    ADD COLUMN psi_memory_some_pct float8,
    ADD COLUMN psi_io_some_pct float8;
COMMENT ON COLUMN noisy_timeline.psi_cpu_some_pct IS 'time in which some task waited for a CPU, percent';
COMMENT ON COLUMN noisy_timeline.psi_memory_some_pct IS 'time in which some task waited for memory, percent';
COMMENT ON COLUMN noisy_timeline.psi_io_some_pct IS 'time in which some task waited for IO, percent';
