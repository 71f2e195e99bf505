-- Pictures of noisy_report() made of characters: blocks where client and server have them (UTF-8), else punctuation.

CREATE FUNCTION noisy_report_has_blocks() RETURNS boolean
LANGUAGE sql STABLE PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT pg_client_encoding() = 'UTF8' AND getdatabaseencoding() = 'UTF8'
$$;
COMMENT ON FUNCTION noisy_report_has_blocks() IS 'whether noisy_report() may draw with the block characters of Unicode: both encodings are UTF-8';

-- Eight heights; the lowest is seen, so that a gap means that nothing was measured.
CREATE FUNCTION noisy_report_spark(heights float8[], low float8, high float8, with_blocks boolean) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT string_agg(CASE WHEN h.v IS NULL OR h.v = 'NaN' THEN ' '
                           WHEN with_blocks THEN chr(9601 + s.step)
                           ELSE substr('_.-:=+*#', s.step + 1, 1) END, '' ORDER BY h.n)
    FROM unnest(heights) WITH ORDINALITY AS h (v, n),
         LATERAL (SELECT greatest(0, least(7, floor(8 * coalesce((h.v - low) / nullif(high - low, 0), 0))))::int AS step) AS s
$$;
COMMENT ON FUNCTION noisy_report_spark(float8[], float8, float8, boolean) IS 'a line of characters as high as the values between low and high; NULL is a blank';

-- At most 72 columns; each stands for some seconds of the measured windows, which are put together without the pauses between them.
CREATE FUNCTION noisy_report_timeline(run bigint) RETURNS text
LANGUAGE sql STABLE PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
AS $$
    WITH seconds AS (
        SELECT l.*, (row_number() OVER (ORDER BY l.at, l.block, l.second) - 1) / ((count(*) OVER () + 71) / 72) AS col,
               (count(*) OVER () + 71) / 72 AS width
        FROM @extschema@.noisy_timeline l WHERE l.run_id = run),
    columns AS (
        SELECT s.col, max(s.width) AS width, avg(s.tps) AS tps, max(s.p99_ms) AS p99_ms, max(s.level)::float8 AS level,
               bool_or(s.checkpoint) AS checkpoint, bool_or(NOT b.accepted) AS rejected
        FROM seconds s JOIN @extschema@.noisy_blocks b ON b.run_id = s.run_id AND b.block = s.block
        GROUP BY s.col),
    all_columns AS (
        SELECT max(c.width) AS width, array_agg(c.tps ORDER BY c.col) AS tps, max(c.tps) AS top_tps,
               array_agg(ln(nullif(c.p99_ms, 0)) ORDER BY c.col) AS p99, min(nullif(c.p99_ms, 0)) AS low_ms, max(c.p99_ms) AS top_ms,
               array_agg(nullif(c.level, 0) ORDER BY c.col) AS levels, max(c.level) AS top_level,
               string_agg(CASE WHEN c.checkpoint THEN 'c' ELSE ' ' END, '' ORDER BY c.col) AS checkpoints,
               string_agg(CASE WHEN c.rejected THEN 'x' ELSE ' ' END, '' ORDER BY c.col) AS rejected
        FROM columns c)
    SELECT format(E'Over time (a column: %s; p99: the worst of them, on a logarithmic scale)\n', CASE WHEN a.width = 1 THEN 'a second' ELSE a.width || ' s' END)
           || array_to_string(ARRAY[
               rpad('tps', 9) || lpad('0 to ' || @extschema@.noisy_report_number(a.top_tps), 15) || '  '
                   || rtrim(@extschema@.noisy_report_spark(a.tps, 0, a.top_tps, u.blocks)),
               rpad('p99 ms', 9) || lpad(@extschema@.noisy_report_number(a.low_ms) || ' to ' || @extschema@.noisy_report_number(a.top_ms), 15) || '  '
                   || rtrim(@extschema@.noisy_report_spark(a.p99, ln(a.low_ms), ln(a.top_ms), u.blocks)),
               CASE WHEN a.top_level > 0 THEN rpad('noise %', 9) || lpad('up to ' || trim_scale(a.top_level::numeric), 15) || '  '
                   || rtrim(@extschema@.noisy_report_spark(a.levels, 0, a.top_level, u.blocks)) END,
               CASE WHEN a.checkpoints LIKE '%c%' THEN rpad('checkpoint', 26) || rtrim(a.checkpoints) END,
               CASE WHEN a.rejected LIKE '%x%' THEN rpad('rejected', 26) || rtrim(a.rejected) END], E'\n')
    FROM all_columns a, (SELECT @extschema@.noisy_report_has_blocks() AS blocks) AS u
    WHERE a.low_ms IS NOT NULL
$$;
COMMENT ON FUNCTION noisy_report_timeline(bigint) IS 'section of noisy_report(): throughput, p99, noise and checkpoints over time, drawn with characters';

-- The five blocks on which checkpoints had the largest effect, and what the settings of the background writer allow.
CREATE FUNCTION noisy_report_checkpoints(run bigint) RETURNS text
LANGUAGE sql STABLE PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT nullif(concat_ws(E'\n',
        (SELECT E'In checkpoints against the same block without, latency in ms (at most five blocks)\n' ||
                @extschema@.noisy_report_table('{block,clients,noise,kind,"in s","out s","tps in",out,"p50 in",out,"p99 in",out}', 'rrrlrrrrrrrr',
                    array_agg(ARRAY[c.block::text, c.clients::text, c.level::text, c.kinds, @extschema@.noisy_report_number(c.inside_s, 0),
                                    @extschema@.noisy_report_number(c.outside_s, 0), @extschema@.noisy_report_number(c.inside_tps),
                                    @extschema@.noisy_report_number(c.outside_tps), @extschema@.noisy_report_number(c.inside_p50_ms),
                                    @extschema@.noisy_report_number(c.outside_p50_ms),
                                    @extschema@.noisy_report_number(c.inside_p99_ms) || CASE WHEN c.low_n THEN '*' ELSE '' END,
                                    @extschema@.noisy_report_number(c.outside_p99_ms) || CASE WHEN c.low_n THEN '*' ELSE '' END] ORDER BY c.block))
         FROM (SELECT * FROM @extschema@.noisy_checkpoint_effects e WHERE e.run_id = run AND e.accepted AND e.outside_s > 0
               ORDER BY abs(ln(e.p99_ratio)) DESC NULLS LAST, e.block LIMIT 5) AS c),
        (SELECT string_agg(@extschema@.noisy_report_wrap(w.advice, '  - ', '    '), E'\n')
         FROM (SELECT r.advice FROM @extschema@.noisy_write_rates r WHERE r.run_id = run AND r.advice <> ''
               ORDER BY length(r.advice) DESC, r.clients, r.level LIMIT 1) AS w)), '')
$$;
COMMENT ON FUNCTION noisy_report_checkpoints(bigint) IS 'section of noisy_report(): latency in checkpoints, and the ceiling of the background writer';

REVOKE ALL ON FUNCTION noisy_report_has_blocks(), noisy_report_timeline(bigint), noisy_report_checkpoints(bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION noisy_report_has_blocks(), noisy_report_timeline(bigint), noisy_report_checkpoints(bigint) TO pg_monitor;
