-- Latency histograms in SQL.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS pg_noisyneighbor;
RESET client_min_messages;

-- one value is every percentile, exactly
SELECT noisy_count(h), noisy_min(h), noisy_percentile(h, 0.5), noisy_percentile(h, 0.99), noisy_max(h),
       noisy_mean(h), noisy_stddev(h)
FROM noisy_record(NULL, 12.345678) AS h;

-- values below 256 ns are exact; a fraction of a nanosecond is rounded
SELECT noisy_percentile(noisy_histogram_agg(ns / 1e6), '{0, 0.25, 0.5, 0.75, 1}'::float8[])
FROM generate_series(0, 200) AS ns;
SELECT noisy_record(NULL, 0.0000014);

-- an empty histogram has a count, and nothing else
SELECT noisy_count(h), noisy_min(h), noisy_percentile(h, 0.5), noisy_percentile(h, '{0.5}'::float8[]), noisy_max(h),
       noisy_mean(h), noisy_stddev(h), (SELECT count(*) FROM noisy_buckets(h)) AS buckets
FROM noisy_record(NULL, NULL) AS h;
SELECT noisy_histogram_agg(ms) IS NULL AS no_rows FROM generate_series(1, 0) AS ms;
SELECT noisy_histogram_agg(NULL) IS NULL AS only_nulls;
SELECT noisy_merge(NULL) IS NULL AS only_nulls;
SELECT noisy_count(noisy_histogram_agg(ms)) AS nulls_are_left_out FROM (VALUES (1.0::float8), (NULL), (2.0)) AS v (ms);
SELECT noisy_percentile(NULL::noisy_histogram, 0.5), noisy_count(NULL);

-- an array keeps its shape and its NULLs
SELECT noisy_percentile(noisy_record(NULL, 1), '{{0.1,NULL},{0.9,1}}'::float8[]);
SELECT noisy_percentile(noisy_record(NULL, 1), '{}'::float8[]);

-- percentiles against an exact sort: within 0.4 % of the value of that rank
CREATE TEMP TABLE latencies AS
    SELECT i, exp(sin(i) * 3 + cos(i * 7) * 2) AS ms, i % 10 AS part FROM generate_series(1, 20000) AS i;
SELECT p, noisy_percentile(h, p) BETWEEN exact * 0.996 AND exact * 1.004 AS close
FROM (SELECT noisy_histogram_agg(ms) AS h FROM latencies) AS a,
     unnest('{0, 0.001, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 0.9999, 1}'::float8[]) AS p,
     LATERAL (SELECT percentile_disc(p) WITHIN GROUP (ORDER BY ms) AS exact FROM latencies) AS e;
SELECT noisy_count(h) = count AS count, abs(noisy_mean(h) / mean - 1) < 1e-6 AS mean,
       abs(noisy_stddev(h) / sd - 1) < 1e-6 AS stddev,
       abs(noisy_min(h) / low - 1) < 1e-3 AS min, abs(noisy_max(h) / high - 1) < 1e-6 AS max
FROM (SELECT noisy_histogram_agg(ms) AS h, count(*), avg(ms) AS mean, stddev_samp(ms) AS sd,
             min(ms) AS low, max(ms) AS high
      FROM latencies) AS a;
SELECT bool_and(v >= before) AS percentiles_rise
FROM (SELECT v, lag(v, 1, 0) OVER (ORDER BY n) AS before
      FROM (SELECT noisy_histogram_agg(ms) AS h FROM latencies) AS a,
           unnest(noisy_percentile(h, ARRAY(SELECT i / 1000.0::float8 FROM generate_series(0, 1000) AS i)))
               WITH ORDINALITY AS u (v, n)) AS s;

-- merged parts are the whole, in any order
CREATE TEMP TABLE parts AS SELECT part, noisy_histogram_agg(ms) AS h FROM latencies GROUP BY part;
SELECT a.buckets = b.buckets AND a.buckets = w.buckets AS same
FROM (SELECT regexp_replace(noisy_merge(h ORDER BY part)::text, 'sumsq=\d+ ', '') AS buckets FROM parts) AS a,
     (SELECT regexp_replace(noisy_merge(h ORDER BY part DESC)::text, 'sumsq=\d+ ', '') AS buckets FROM parts) AS b,
     (SELECT regexp_replace(noisy_histogram_agg(ms)::text, 'sumsq=\d+ ', '') AS buckets FROM latencies) AS w;

-- parallel workers give the same
CREATE TABLE histogram_parallel AS SELECT ms FROM latencies;
ALTER TABLE histogram_parallel SET (parallel_workers = 2);
ANALYZE histogram_parallel;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
EXPLAIN (COSTS OFF) SELECT noisy_histogram_agg(ms) FROM histogram_parallel;
SELECT noisy_percentile(parallel.h, q) = noisy_percentile(whole.h, q) AS same, noisy_count(parallel.h)
FROM (SELECT noisy_histogram_agg(ms) AS h FROM histogram_parallel) AS parallel,
     (SELECT noisy_histogram_agg(ms ORDER BY ms) AS h FROM histogram_parallel) AS whole,
     (VALUES ('{0.01, 0.5, 0.99, 1}'::float8[])) AS v (q);
EXPLAIN (COSTS OFF) SELECT noisy_merge(noisy_record(NULL, ms)) FROM histogram_parallel;
SELECT noisy_count(noisy_merge(noisy_record(NULL, ms))) FROM histogram_parallel;
DROP TABLE histogram_parallel;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;

-- as a window aggregate
SELECT i, noisy_count(noisy_histogram_agg(i) OVER (ORDER BY i ROWS 1 PRECEDING)),
       noisy_max(noisy_histogram_agg(i) OVER (ORDER BY i)) FROM generate_series(1, 3) AS i;

-- buckets: what is beyond the last one stays visible, and nothing is lost
SELECT * FROM noisy_buckets(noisy_record(noisy_record(noisy_record(NULL, 0.0001), 0.001), 1e12));
SELECT sum(b.count) = noisy_count(h) AS conserved, bool_and(b.low_ms < b.high_ms) AS ordered,
       max((b.high_ms - b.low_ms) / b.low_ms) <= 1 / 128.0 AS narrow
FROM (SELECT noisy_histogram_agg(ms) AS h FROM latencies) AS a, noisy_buckets(h) AS b GROUP BY noisy_count(h);
SELECT noisy_percentile(h, 0.5), noisy_percentile(h, 0.9), noisy_max(h)
FROM (SELECT noisy_histogram_agg(ms) AS h FROM unnest('{1, 1, 1, 5e9, 6e9}'::float8[]) AS ms) AS a;

-- text and binary forms bring the same back
SELECT noisy_record(noisy_record(noisy_record(NULL, 0.0009), 0.001), 0.0011);
SELECT 'v1 count=3 overflow=0 min=900 max=1100 sum=3000 sumsq=3020000 buckets=481:1,506:1,521:1'::noisy_histogram;
SELECT noisy_histogram_send(noisy_record(NULL, 0.000005));
SELECT noisy_histogram_send(noisy_record(NULL, NULL)), noisy_record(NULL, NULL);
SELECT h::text = h::text::noisy_histogram::text AS text FROM (SELECT noisy_histogram_agg(ms) AS h FROM latencies) AS a;
SELECT noisy_histogram_send(h) = noisy_histogram_send(h::text::noisy_histogram) AS text_and_binary
FROM (SELECT noisy_histogram_agg(ms) AS h FROM latencies) AS a;
SELECT pg_column_size(h) < 10000 AS compact FROM (SELECT noisy_histogram_agg(ms) AS h FROM latencies) AS a;
SELECT current_setting('data_directory') || '/noisy_histogram.copy' AS file \gset
CREATE TEMP TABLE copied (h noisy_histogram);
COPY parts (h) TO :'file' (FORMAT binary);
COPY copied FROM :'file' (FORMAT binary);
SELECT count(*) AS binary_copies FROM parts AS p JOIN copied AS c ON p.h::text = c.h::text;

-- what is no latency
SELECT noisy_record(NULL, -1);
SELECT noisy_record(NULL, 'NaN');
SELECT noisy_record(NULL, 'Infinity');
SELECT noisy_record(NULL, 1e13);
SELECT noisy_histogram_agg(ms) FROM (VALUES (1.0::float8), (-0.5)) AS v (ms);

-- what is no fraction
SELECT noisy_percentile(noisy_record(NULL, 1), 99);
SELECT noisy_percentile(noisy_record(NULL, 1), -0.1);
SELECT noisy_percentile(noisy_record(NULL, 1), 'NaN'::float8);
SELECT noisy_percentile(noisy_record(NULL, NULL), '{0.5, 1.5}'::float8[]);

-- what is no histogram
SELECT ''::noisy_histogram;
SELECT 'v2 count=0'::noisy_histogram;
SELECT 'v1 count=0 overflow=0'::noisy_histogram;
SELECT 'v1 count=-1'::noisy_histogram;
SELECT 'v1 count=2 overflow=0 min=5 max=5 sum=5 sumsq=25 buckets=5:1'::noisy_histogram;
SELECT 'v1 count=1 overflow=0 min=6 max=6 sum=5 sumsq=25 buckets=5:1'::noisy_histogram;
SELECT 'v1 count=2 overflow=0 min=5 max=6 sum=11 sumsq=61 buckets=6:1,5:1'::noisy_histogram;
SELECT 'v1 count=1 overflow=0 min=5 max=5 sum=5.5 sumsq=25 buckets=5:1'::noisy_histogram;
SELECT 'v1 count=1 overflow=0 min=5 max=5 sum=inf sumsq=25 buckets=5:1'::noisy_histogram;
SELECT 'v1 count=1 overflow=0 min=5 max=5 sum=5 sumsq=25 buckets=4608:1'::noisy_histogram;
SELECT noisy_merge(h) FROM unnest(ARRAY[
    'v1 count=9223372036854775807 overflow=0 min=5 max=5 sum=46116860184273879035 sumsq=230584300921369395175 buckets=5:9223372036854775807',
    'v1 count=1 overflow=0 min=5 max=5 sum=5 sumsq=25 buckets=5:1']::noisy_histogram[]) AS h;

-- Student's t
SELECT p, df, round(noisy_t_quantile(p, df)::numeric, 6) AS t
FROM (VALUES (0.975, 1), (0.975, 4), (0.975, 30), (0.025, 4), (0.5, 7), (0.995, 2.5)) AS v (p, df);
SELECT round(noisy_t_quantile(0.975, 'Infinity')::numeric, 6);
SELECT noisy_t_quantile(1, 5);
SELECT noisy_t_quantile(0.975, 0);
SELECT noisy_t_quantile('NaN', 5);

DROP TABLE latencies, parts, copied;
