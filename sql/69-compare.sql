-- One run against another: another configuration, host or version.

-- What two runs differ in besides their results. Lists are compared as a whole.
CREATE FUNCTION noisy_compare_differences(run_a bigint, run_b bigint)
RETURNS TABLE (source text, name text, value_a text, value_b text)
LANGUAGE sql STABLE STRICT PARALLEL SAFE ROWS 10
SET search_path = pg_catalog, pg_temp
AS $$
    WITH RECURSIVE parts AS (
        SELECT r.run_id, s.source, NULL::text AS name, s.part
        FROM @extschema@.noisy_run_records r,
             LATERAL (VALUES ('parameters', r.parameters), ('environment', r.environment - 'mem_available_bytes'))
                 AS s (source, part)
        WHERE r.run_id IN (run_a, run_b)
      UNION ALL
        SELECT p.run_id, p.source, concat_ws('.', p.name, e.key), e.value
        FROM parts p, LATERAL jsonb_each(p.part) AS e
        WHERE jsonb_typeof(p.part) = 'object'),
    leaves AS (
        SELECT p.run_id, p.source, p.name, p.part #>> '{}' AS value
        FROM parts p
        WHERE p.name IS NOT NULL AND jsonb_typeof(p.part) <> 'object')
    SELECT source, name, a.value, b.value
    FROM (SELECT * FROM leaves l WHERE l.run_id = run_a) AS a
    FULL JOIN (SELECT * FROM leaves l WHERE l.run_id = run_b) AS b USING (source, name)
    WHERE a.value IS DISTINCT FROM b.value
    ORDER BY source DESC, name
$$;
REVOKE ALL ON FUNCTION noisy_compare_differences(bigint, bigint) FROM PUBLIC;
COMMENT ON FUNCTION noisy_compare_differences(bigint, bigint)
    IS 'parameters, host and settings in which two runs differ, a row each; NULL: that run has no such thing';

-- What keeps two runs from being compared raises an error.
CREATE FUNCTION noisy_compare_check(run_a bigint, run_b bigint) RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    missing bigint;
    differ  text;
    hint    CONSTANT text := 'noisy_compare_differences() lists all that two runs differ in.';
BEGIN
    IF run_a IS NULL OR run_b IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'null_value_not_allowed', MESSAGE = 'a run to be compared must not be null';
    END IF;
    SELECT min(w.run_id) INTO missing
        FROM unnest(ARRAY[run_a, run_b]) AS w (run_id)
        WHERE NOT EXISTS (SELECT FROM @extschema@.noisy_run_records r WHERE r.run_id = w.run_id);
    IF missing IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'undefined_object', MESSAGE = format('run %s does not exist', missing),
            HINT = 'SELECT run_id, label, state FROM noisy_runs lists the runs.';
    ELSIF run_a = run_b THEN
        RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value', MESSAGE = 'a run cannot be compared with itself',
            HINT = 'noisy_impact compares the levels of a run.';
    END IF;
    SELECT string_agg(format('%s: %s in run %s, %s in run %s', d.what, coalesce(d.a, 'none'), run_a, coalesce(d.b, 'none'), run_b),
                      '; ' ORDER BY d.place) INTO differ
        FROM @extschema@.noisy_run_records a, @extschema@.noisy_run_records b,
             LATERAL (VALUES (1, 'workload', a.workload, b.workload),
                             (2, 'query mode', a.parameters ->> 'query_mode', b.parameters ->> 'query_mode'),
                             (3, 'rate', coalesce(a.parameters ->> 'rate', 'closed loop'), coalesce(b.parameters ->> 'rate', 'closed loop')))
                 AS d (place, what, a, b)
        WHERE a.run_id = run_a AND b.run_id = run_b AND d.a IS DISTINCT FROM d.b;
    IF differ IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value', MESSAGE = format('runs %s and %s did not do the same work', run_a, run_b),
            DETAIL = differ || '.', HINT = hint;
    END IF;
    IF NOT EXISTS (SELECT FROM @extschema@.noisy_blocks a JOIN @extschema@.noisy_blocks b USING (clients, level)
                   WHERE a.run_id = run_a AND b.run_id = run_b AND a.accepted AND b.accepted AND clients > 0) THEN
        RAISE EXCEPTION USING ERRCODE = 'object_not_in_prerequisite_state',
            MESSAGE = format('runs %s and %s have nothing in common', run_a, run_b),
            DETAIL = 'There is no number of clients and noise level at which both have a block of a workload that counts.', HINT = hint;
    END IF;
END
$$;
REVOKE ALL ON FUNCTION noisy_compare_check(bigint, bigint) FROM PUBLIC;
COMMENT ON FUNCTION noisy_compare_check(bigint, bigint)
    IS 'raises the error with which noisy_compare() refuses two runs that did not do the same work';

-- Values: blocks of the same place in the same plan are pairs; otherwise the two samples are compared as they are (Welch).
-- Effects are compared as noisy_effects has them: mean, and standard error from its interval.
CREATE FUNCTION noisy_compare(run_a bigint, run_b bigint)
RETURNS TABLE (clients int, level numeric, metric text, compared text, value_a float8, value_b float8, blocks_a int, blocks_b int,
               ratio float8, ratio_low float8, ratio_high float8, noise_floor_pct float8, verdict text, method text)
LANGUAGE plpgsql STABLE PARALLEL SAFE ROWS 30
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    PERFORM @extschema@.noisy_compare_check(run_a, run_b);
    RETURN QUERY
    WITH runs AS (
        SELECT r.run_id, coalesce((r.parameters ->> 'confidence')::float8, 0.95) AS confidence,
               jsonb_build_array(r.seed, r.parameters -> 'levels', r.parameters -> 'clients', r.parameters -> 'duration_s') AS plan
        FROM @extschema@.noisy_run_records r WHERE r.run_id IN (run_a, run_b)),
    blocks AS (
        SELECT m.run_id, m.clients, m.level, m.metric, m.repeat, m.value, ln(nullif(m.value, 0)) AS log_value,
               row_number() OVER place AS place, count(*) OVER (PARTITION BY m.run_id, m.clients, m.level, m.metric, m.repeat) AS places
        FROM @extschema@.noisy_block_metrics m
        WHERE m.run_id IN (run_a, run_b)
        WINDOW place AS (PARTITION BY m.run_id, m.clients, m.level, m.metric, m.repeat ORDER BY m.block)),
    samples AS (
        SELECT s.run_id, s.clients, s.level, s.metric, count(*)::int AS n, percentile_cont(0.5) WITHIN GROUP (ORDER BY s.value) AS median,
               CASE WHEN count(s.log_value) = count(*) THEN avg(s.log_value) END AS mean, var_samp(s.log_value) AS variance
        FROM blocks s
        GROUP BY s.run_id, s.clients, s.level, s.metric),
    pairs AS (
        SELECT a.clients, a.level, a.metric, count(*)::int AS n, avg(b.log_value - a.log_value) AS effect,
               stddev_samp(b.log_value - a.log_value) AS sd
        FROM blocks a
        JOIN blocks b ON b.clients = a.clients AND b.level = a.level AND b.metric = a.metric AND b.repeat = a.repeat AND b.place = a.place
                     AND b.places = a.places
        WHERE a.run_id = run_a AND b.run_id = run_b
          AND (SELECT count(DISTINCT r.plan) FROM runs r) = 1
        GROUP BY a.clients, a.level, a.metric HAVING count(*) > 1),
    effects AS (
        SELECT e.run_id, e.clients, e.level, e.metric, e.blocks, e.ratio, e.stalled_blocks, e.noise_floor_pct,
               CASE WHEN e.blocks > 1 THEN
                   (ln(e.ratio_high / e.ratio_low) / 2 / @extschema@.noisy_t_quantile((1 + r.confidence) / 2, e.blocks - 1)) ^ 2 * e.blocks
                   END AS variance
        FROM @extschema@.noisy_effects e JOIN runs r ON r.run_id = e.run_id),
    found AS (
        SELECT a.clients, a.level, a.metric, 'value' AS compared, a.median AS value_a, b.median AS value_b, a.n AS blocks_a, b.n AS blocks_b,
               coalesce(p.effect, b.mean - a.mean) AS effect,
               CASE WHEN p.n IS NOT NULL THEN @extschema@.noisy_t_quantile(0.975, p.n - 1) * p.sd / sqrt(p.n) ELSE w.half END AS half,
               CASE WHEN p.n IS NOT NULL THEN 'paired' ELSE 'welch' END AS method
        FROM samples a
        JOIN samples b ON b.clients = a.clients AND b.level = a.level AND b.metric = a.metric
        LEFT JOIN pairs p ON p.clients = a.clients AND p.level = a.level AND p.metric = a.metric AND a.mean IS NOT NULL AND b.mean IS NOT NULL,
        LATERAL (SELECT @extschema@.noisy_welch_half_width(a.variance, a.n, b.variance, b.n) AS half) AS w
        WHERE a.run_id = run_a AND b.run_id = run_b
      UNION ALL
        SELECT a.clients, a.level, a.metric, 'effect', a.ratio, b.ratio, a.blocks, b.blocks,
               CASE WHEN a.stalled_blocks + b.stalled_blocks = 0 THEN ln(b.ratio / a.ratio) END,
               @extschema@.noisy_welch_half_width(a.variance, a.blocks, b.variance, b.blocks), 'welch'
        FROM effects a
        JOIN effects b ON b.clients = a.clients AND b.level = a.level AND b.metric = a.metric
        WHERE a.run_id = run_a AND b.run_id = run_b AND a.level > 0)
    SELECT f.clients, f.level, f.metric, f.compared, f.value_a, f.value_b, f.blocks_a, f.blocks_b,
           exp(f.effect), exp(f.effect - f.half), exp(f.effect + f.half), g.floor_pct,
           @extschema@.noisy_verdict(CASE WHEN f.metric = 'tps' THEN -f.effect ELSE f.effect END, f.half, g.floor_pct), f.method
    FROM found f,
         LATERAL (SELECT max(e.noise_floor_pct) AS floor_pct FROM effects e
                  WHERE e.clients = f.clients AND e.level = f.level AND e.metric = f.metric) AS g
    ORDER BY f.clients, f.level, array_position('{tps,avg,p50,p95,p99,p999}', f.metric), f.compared DESC;
END
$$;
REVOKE ALL ON FUNCTION noisy_compare(bigint, bigint) FROM PUBLIC;
COMMENT ON FUNCTION noisy_compare(bigint, bigint)
    IS 'run b against run a, for each number of clients, noise level and metric that both have: value (median of the blocks) and effect (ratio to the baselines of the own run, of noisy_effects), the ratio b / a of each with its 95 % interval, the larger of both noise floors, and a verdict as in noisy_effects, impact where b is worse. Refuses runs with another workload, query mode or rate';

GRANT EXECUTE ON FUNCTION noisy_compare(bigint, bigint), noisy_compare_check(bigint, bigint), noisy_compare_differences(bigint, bigint)
    TO pg_monitor;
