-- What the timeline has since 0.2.
ALTER TABLE noisy_timeline ADD COLUMN avg_ms float8;
COMMENT ON COLUMN noisy_timeline.avg_ms IS 'mean latency, ms';
