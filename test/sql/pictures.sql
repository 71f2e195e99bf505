-- Pictures of the report, write rates at other block sizes, and checkpoints against the rest of a block
\set VERBOSITY terse
\pset format unaligned
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS pg_noisyneighbor;
BEGIN;

-- Characters as high as values
SELECT noisy_report_spark('{0,1,2,3,4,5,6,7,8,9,-1,NULL,NaN,4}', 0, 8, false);
SELECT noisy_report_spark('{0,1,2,3,4,5,6,7,8,NULL}', 0, 8, true) = U&'\2581\2582\2583\2584\2585\2586\2587\2588\2588 ' AS blocks;
SELECT noisy_report_spark('{1,1}', 1, 1, false), noisy_report_spark('{}', 0, 1, false);

-- A run of two blocks, 150 s each, on a server with pages of 32 KiB; a checkpoint in the second
INSERT INTO noisy_run_records (run_id, state, role_name, workload, parameters, environment, seed, started_at)
    VALUES (910001, 'completed', 'somebody', 'tpcb-like', '{"levels": [0, 40]}',
            '{"block_size_bytes": 32768, "settings": {"bgwriter_lru_maxpages": "100", "bgwriter_delay": "200"}}', 1, '2026-01-01 00:00:00+00');
INSERT INTO noisy_blocks (run_id, block, repeat, clients, level, started_at, duration_s, accepted, transactions, tps, latency)
    SELECT 910001, b, 1, 2, (b - 1) * 40, timestamptz '2026-01-01 00:00:00+00' + (b - 1) * interval '160 s', 150, true, 150, 1,
           (SELECT noisy_histogram_agg(5 * b + 0 * g) FROM generate_series(1, 150) AS g) FROM generate_series(1, 2) AS b;
INSERT INTO noisy_timeline (run_id, block, at, second, clients, level, tps, p50_ms, p99_ms, checkpoint)
    SELECT b.run_id, b.block, b.started_at + (s - 1) * interval '1 s', s, b.clients, b.level, s, 5, 10 * b.block + s / 10.0, b.block = 2 AND s > 75
    FROM noisy_blocks b, generate_series(1, 150) AS s WHERE b.run_id = 910001;
INSERT INTO noisy_bgwriter (run_id, block, checkpointer_bytes, bgwriter_bytes, backend_bytes, wal_bytes, maxwritten_clean, note)
    VALUES (910001, 1, 32768000, 3276800, 0, 65536000, 7, 'a; b'), (910001, 2, 32768000, NULL, 32768000, NULL, NULL, 'b; c');
INSERT INTO noisy_checkpoints (run_id, checkpoint, started_at, ended_at, kind, complete, buffers_written, bytes_written)
    VALUES (910001, 1, '2026-01-01 00:03:55+00', '2026-01-01 00:05:10+00', 'timed', false, 1000, 32768000);
INSERT INTO noisy_checkpoint_latency (run_id, block, inside_s, outside_s, inside, outside)
    SELECT 910001, 2, 75, 75, (SELECT noisy_histogram_agg(8) FROM generate_series(1, 2000)), (SELECT noisy_histogram_agg(2) FROM generate_series(1, 3000));

SET client_encoding = 'UTF8';
SELECT bool_and(line !~ '[^ -~]') AS "ascii only", max(length(line)) <= 100 AS "fits 100 columns"
FROM regexp_split_to_table(noisy_report(910001), E'\n') AS line WHERE line !~ '^(tps|p99 ms|noise %) +(0|[0-9.]+ to|up to)';
SELECT noisy_report_timeline(910001) ~ U&'\2588' AS blocks;
SET client_encoding = 'LATIN1';
SELECT noisy_report_timeline(910001);
RESET client_encoding;
SELECT noisy_report_checkpoints(910001);

SELECT level, checkpointer_bytes_per_s::int, bgwriter_bytes_per_s::int, backend_share_pct::int, maxwritten_clean_per_s::numeric(10, 4),
       ceiling_bytes_per_s, ceiling_used_pct::numeric(10, 4), equivalent_maxpages, notes
FROM noisy_write_rates WHERE run_id = 910001 ORDER BY level;
SELECT level, advice FROM noisy_write_rates WHERE run_id = 910001 ORDER BY level;
SELECT block, checkpoints, kinds, inside_tps::int, outside_tps::int, inside_p99_ms::numeric(10, 1), outside_p99_ms::numeric(10, 1),
       p99_ratio::numeric(10, 2), low_n FROM noisy_checkpoint_effects WHERE run_id = 910001;

-- A band belongs to its run
INSERT INTO noisy_checkpoints (run_id, checkpoint, started_at, ended_at, kind, complete) VALUES (910001, 2, now(), now(), 'odd', true);
ROLLBACK;
