-- What checkpoints did to the workload, and how near the background writer came to its ceiling.

CREATE VIEW noisy_checkpoint_effects AS
    SELECT l.run_id, l.block, b.clients, b.level, b.accepted, k.checkpoints, k.kinds, l.inside_s, l.outside_s,
           noisy_count(l.inside) / nullif(l.inside_s, 0) AS inside_tps,
           noisy_count(l.outside) / nullif(l.outside_s, 0) AS outside_tps,
           p.inside[1] AS inside_p50_ms, p.outside[1] AS outside_p50_ms,
           p.inside[2] AS inside_p99_ms, p.outside[2] AS outside_p99_ms,
           p.inside[2] / nullif(p.outside[2], 0) AS p99_ratio,
           least(noisy_count(l.inside), noisy_count(l.outside)) * 0.01 < 10 AS low_n
    FROM noisy_checkpoint_latency l
    JOIN noisy_blocks b ON b.run_id = l.run_id AND b.block = l.block,
         LATERAL (SELECT count(*)::int AS checkpoints, string_agg(DISTINCT coalesce(c.kind, 'unknown'), ', ') AS kinds
                  FROM noisy_checkpoints c
                  WHERE c.run_id = l.run_id AND c.started_at < b.started_at + b.duration_s * interval '1 s'
                    AND c.ended_at > b.started_at) AS k,
         LATERAL (SELECT noisy_percentile(l.inside, '{0.5,0.99}'::float8[]) AS inside,
                         noisy_percentile(l.outside, '{0.5,0.99}'::float8[]) AS outside OFFSET 0) AS p;
COMMENT ON VIEW noisy_checkpoint_effects IS 'latency in checkpoints against that of the same block without them; one row per block with a checkpoint that lasted for a second';
COMMENT ON COLUMN noisy_checkpoint_effects.run_id IS 'run';
COMMENT ON COLUMN noisy_checkpoint_effects.block IS 'block';
COMMENT ON COLUMN noisy_checkpoint_effects.clients IS 'clients of the workload';
COMMENT ON COLUMN noisy_checkpoint_effects.level IS 'noise dose asked for, percent';
COMMENT ON COLUMN noisy_checkpoint_effects.accepted IS 'whether results count this block';
COMMENT ON COLUMN noisy_checkpoint_effects.checkpoints IS 'checkpoints that touch the block';
COMMENT ON COLUMN noisy_checkpoint_effects.kinds IS 'their kinds, see noisy_checkpoints';
COMMENT ON COLUMN noisy_checkpoint_effects.inside_s IS 'seconds of the block that lay wholly in a checkpoint';
COMMENT ON COLUMN noisy_checkpoint_effects.outside_s IS 'seconds without one; 0: there is nothing to compare with';
COMMENT ON COLUMN noisy_checkpoint_effects.inside_tps IS 'transactions per second in checkpoints';
COMMENT ON COLUMN noisy_checkpoint_effects.outside_tps IS 'transactions per second without';
COMMENT ON COLUMN noisy_checkpoint_effects.inside_p50_ms IS 'median latency in checkpoints, ms';
COMMENT ON COLUMN noisy_checkpoint_effects.outside_p50_ms IS 'median latency without, ms';
COMMENT ON COLUMN noisy_checkpoint_effects.inside_p99_ms IS '99th percentile of the latency in checkpoints, ms';
COMMENT ON COLUMN noisy_checkpoint_effects.outside_p99_ms IS '99th percentile of the latency without, ms';
COMMENT ON COLUMN noisy_checkpoint_effects.p99_ratio IS 'inside_p99_ms / outside_p99_ms: of this block alone, so without an interval';
COMMENT ON COLUMN noisy_checkpoint_effects.low_n IS 'whether fewer than ten transactions lie beyond one of the 99th percentiles: chance rules it';

-- A sum over blocks is only known where every block is.
CREATE VIEW noisy_write_rates AS
    SELECT s.run_id, s.clients, s.level, s.blocks, s.seconds, s.block_size_bytes,
           s.checkpointer_bytes / s.seconds AS checkpointer_bytes_per_s,
           s.bgwriter_bytes / s.seconds AS bgwriter_bytes_per_s,
           s.backend_bytes / s.seconds AS backend_bytes_per_s,
           s.wal_bytes / s.seconds AS wal_bytes_per_s,
           100 * s.backend_bytes / nullif(s.checkpointer_bytes + s.bgwriter_bytes + s.backend_bytes, 0) AS backend_share_pct,
           s.maxwritten_clean / s.seconds AS maxwritten_clean_per_s,
           s.maxpages AS lru_maxpages, s.delay_ms AS bgwriter_delay_ms,
           noisy_bgwriter_ceiling_bytes_per_s(s.maxpages, s.delay_ms, s.block_size_bytes) AS ceiling_bytes_per_s,
           100 * s.bgwriter_bytes / s.seconds
               / nullif(noisy_bgwriter_ceiling_bytes_per_s(s.maxpages, s.delay_ms, s.block_size_bytes), 0) AS ceiling_used_pct,
           noisy_equivalent_maxpages(s.block_size_bytes) AS equivalent_maxpages,
           concat_ws(' ',
               CASE WHEN s.maxpages = 0 THEN 'bgwriter_lru_maxpages = 0 switches the background writer''s cleaning off.'
                    WHEN s.maxwritten_clean > 0 THEN
                        format('The background writer was stopped by bgwriter_lru_maxpages = %s, see maxwritten_clean_per_s.', s.maxpages) END,
               CASE WHEN s.maxpages > 0 AND s.maxpages <> noisy_equivalent_maxpages(s.block_size_bytes)
                         AND s.block_size_bytes <> 8192 THEN
                        format('The setting is in pages: with blocks of %s bytes, %s allows as many bytes as the default of 100 does '
                               'with 8192. A starting point, not an equivalence: fewer and larger pages are other work.',
                               s.block_size_bytes, noisy_equivalent_maxpages(s.block_size_bytes)) END) AS advice,
           s.notes
    FROM (SELECT b.run_id, b.clients, b.level, count(*) AS blocks, sum(b.duration_s) AS seconds,
                 CASE WHEN count(w.checkpointer_bytes) = count(*) THEN sum(w.checkpointer_bytes)::float8 END AS checkpointer_bytes,
                 CASE WHEN count(w.bgwriter_bytes) = count(*) THEN sum(w.bgwriter_bytes)::float8 END AS bgwriter_bytes,
                 CASE WHEN count(w.backend_bytes) = count(*) THEN sum(w.backend_bytes)::float8 END AS backend_bytes,
                 CASE WHEN count(w.wal_bytes) = count(*) THEN sum(w.wal_bytes)::float8 END AS wal_bytes,
                 CASE WHEN count(w.maxwritten_clean) = count(*) THEN sum(w.maxwritten_clean)::float8 END AS maxwritten_clean,
                 (SELECT string_agg(DISTINCT n.note, '; ')
                  FROM unnest(string_to_array(string_agg(w.note, '; '), '; ')) AS n (note)) AS notes,
                 (r.environment ->> 'block_size_bytes')::int AS block_size_bytes,
                 (r.environment #>> '{settings,bgwriter_lru_maxpages}')::int AS maxpages,
                 (r.environment #>> '{settings,bgwriter_delay}')::float8 AS delay_ms
          FROM noisy_blocks b
          JOIN noisy_run_records r ON r.run_id = b.run_id
          JOIN noisy_bgwriter w ON w.run_id = b.run_id AND w.block = b.block
          WHERE b.accepted
          GROUP BY b.run_id, b.clients, b.level, r.environment) AS s;
COMMENT ON VIEW noisy_write_rates IS 'who wrote how much, over the accepted blocks of each number of clients and noise level, and how near the background writer came to its ceiling';
COMMENT ON COLUMN noisy_write_rates.run_id IS 'run';
COMMENT ON COLUMN noisy_write_rates.clients IS 'clients of the workload; 0: noise alone';
COMMENT ON COLUMN noisy_write_rates.level IS 'noise dose asked for, percent';
COMMENT ON COLUMN noisy_write_rates.blocks IS 'accepted blocks';
COMMENT ON COLUMN noisy_write_rates.seconds IS 'their measured time, seconds';
COMMENT ON COLUMN noisy_write_rates.block_size_bytes IS 'size of a page of the server, bytes';
COMMENT ON COLUMN noisy_write_rates.checkpointer_bytes_per_s IS 'written by the checkpointer, bytes per second; here and below NULL: not measured in every block, see notes';
COMMENT ON COLUMN noisy_write_rates.bgwriter_bytes_per_s IS 'written by the background writer, bytes per second';
COMMENT ON COLUMN noisy_write_rates.backend_bytes_per_s IS 'written or added by backends, bytes per second';
COMMENT ON COLUMN noisy_write_rates.wal_bytes_per_s IS 'WAL generated, bytes per second';
COMMENT ON COLUMN noisy_write_rates.backend_share_pct IS 'share of the pages that backends had to write themselves, percent';
COMMENT ON COLUMN noisy_write_rates.maxwritten_clean_per_s IS 'rounds per second that the background writer ended at bgwriter_lru_maxpages';
COMMENT ON COLUMN noisy_write_rates.lru_maxpages IS 'bgwriter_lru_maxpages when the run began, pages';
COMMENT ON COLUMN noisy_write_rates.bgwriter_delay_ms IS 'bgwriter_delay when the run began, ms';
COMMENT ON COLUMN noisy_write_rates.ceiling_bytes_per_s IS 'most that these two let the background writer write with this block size, bytes per second';
COMMENT ON COLUMN noisy_write_rates.ceiling_used_pct IS 'how much of that it wrote, percent';
COMMENT ON COLUMN noisy_write_rates.equivalent_maxpages IS 'bgwriter_lru_maxpages that allows as many bytes as the default does with 8192-byte pages';
COMMENT ON COLUMN noisy_write_rates.advice IS 'what to know about bgwriter_lru_maxpages; empty: nothing';
COMMENT ON COLUMN noisy_write_rates.notes IS 'what could not be measured, and why';

GRANT SELECT ON noisy_checkpoint_effects, noisy_write_rates TO pg_monitor;
