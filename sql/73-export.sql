-- A run as one json document, and back. docs/export.md has the schema.

CREATE FUNCTION noisy_export_tables() RETURNS TABLE (place int, table_oid oid, table_name name, key_columns text)
LANGUAGE sql STABLE PARALLEL SAFE ROWS 15
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT (row_number() OVER (ORDER BY c.relname <> 'noisy_run_records', c.relname <> 'noisy_blocks', c.relname))::int,
           c.oid, c.relname,
           (SELECT string_agg(quote_ident(a.attname), ', ' ORDER BY k.n)
            FROM pg_index i, unnest(i.indkey::int2[]) WITH ORDINALITY AS k (attnum, n), pg_attribute a
            WHERE i.indrelid = c.oid AND i.indisprimary AND a.attrelid = c.oid AND a.attnum = k.attnum)
    FROM pg_extension e
    JOIN pg_depend d ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid AND d.deptype = 'e'
         AND d.classid = 'pg_class'::regclass
    JOIN pg_class c ON c.oid = d.objid AND c.relkind = 'r'
    JOIN pg_attribute r ON r.attrelid = c.oid AND r.attname = 'run_id' AND NOT r.attisdropped
    WHERE e.extname = 'pg_noisyneighbor'
$$;
COMMENT ON FUNCTION noisy_export_tables() IS 'tables that rows of a run are in, parents first: what noisy_export() writes and noisy_import() reads';

CREATE FUNCTION noisy_export(run_id bigint) RETURNS jsonb
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
SET "TimeZone" = 'UTC'
SET extra_float_digits = 1
AS $$
DECLARE
    run      bigint := noisy_export.run_id;
    is_known text := (SELECT r.state FROM @extschema@.noisy_runs r WHERE r.run_id = run);
    tables   jsonb := '{}';
    t        record;
    records  jsonb;
BEGIN
    IF run IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'null_value_not_allowed', MESSAGE = 'argument "run_id" must not be null';
    ELSIF is_known IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'undefined_object', MESSAGE = format('run %s does not exist', run),
            HINT = format('The runs are in %s.noisy_runs.', '@extschema@');
    ELSIF is_known IN ('starting', 'running') THEN
        RAISE EXCEPTION USING ERRCODE = 'object_not_in_prerequisite_state', MESSAGE = format('run %s is on', run),
            DETAIL = 'What it has still to measure would be missing.',
            HINT = 'Wait for its end with noisy_wait(), or end it with noisy_stop().';
    END IF;
    FOR t IN SELECT * FROM @extschema@.noisy_export_tables() ORDER BY place LOOP
        EXECUTE format('SELECT coalesce(jsonb_agg(to_jsonb(t) - ''run_id'' ORDER BY %s), ''[]'') FROM %s.%I t WHERE t.run_id = $1',
                       t.key_columns, '@extschema@', t.table_name) INTO records USING run;
        tables := tables || jsonb_build_object(t.table_name, records);
    END LOOP;
    RETURN jsonb_build_object('format', 'pg_noisyneighbor run', 'version', 1, 'run_id', run, 'extension_version',
        (SELECT e.extversion FROM pg_extension e WHERE e.extname = 'pg_noisyneighbor'), 'tables', tables);
END
$$;
REVOKE ALL ON FUNCTION noisy_export_tables(), noisy_export(bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION noisy_export_tables(), noisy_export(bigint) TO pg_monitor;
COMMENT ON FUNCTION noisy_export(bigint) IS 'a run with all that belongs to it as one json document, exact, for noisy_import() in another database or for other tools; docs/export.md has the schema';

-- What is wrong with the shape of a document, as far as it can be seen without its values.
CREATE FUNCTION noisy_import_fault(document jsonb) RETURNS text
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    fault text;
BEGIN
    IF document ->> 'format' IS DISTINCT FROM 'pg_noisyneighbor run' THEN
        RETURN 'It has no "format": "pg_noisyneighbor run".';
    ELSIF document -> 'version' IS DISTINCT FROM '1' THEN
        RETURN format('It has version %s of the format; this version of the extension reads version 1.',
                      coalesce(left(document ->> 'version', 20), 'null'));
    ELSIF jsonb_typeof(document -> 'tables') IS DISTINCT FROM 'object' THEN
        RETURN 'Its "tables" is no object.';
    END IF;
    SELECT CASE WHEN jsonb_typeof(d.value) <> 'array' THEN format('Its table "%s" is no array.', left(d.key, 63))
                ELSE format('There is no table "%s" for rows of a run here.', left(d.key, 63)) END INTO fault
        FROM jsonb_each(document -> 'tables') AS d
        WHERE jsonb_typeof(d.value) <> 'array'
           OR NOT EXISTS (SELECT FROM @extschema@.noisy_export_tables() t WHERE t.table_name = d.key)
        ORDER BY d.key LIMIT 1;
    IF fault IS NULL AND jsonb_array_length(coalesce(document #> '{tables,noisy_run_records}', '[]')) <> 1 THEN
        fault := 'Its table "noisy_run_records" must have one row.';
    END IF;
    IF fault IS NULL THEN
        SELECT CASE WHEN c.key = '' THEN format('A row of its table "%s" is no object.', t.table_name)
                    ELSE format('Table "%s" has no column "%s" here.', t.table_name, left(c.key, 63)) END INTO fault
            FROM @extschema@.noisy_export_tables() t,
                 LATERAL (SELECT DISTINCT k.key
                          FROM jsonb_array_elements(document -> 'tables' -> t.table_name::text) AS r (value),
                               LATERAL jsonb_object_keys(CASE WHEN jsonb_typeof(r.value) = 'object' THEN r.value
                                                              ELSE '{"": 0}' END) AS k (key)) AS c
            WHERE c.key = 'run_id' OR NOT EXISTS (
                      SELECT FROM pg_attribute a WHERE a.attrelid = t.table_oid AND a.attname = c.key AND a.attnum > 0
                                                   AND NOT a.attisdropped)
            ORDER BY t.place, c.key LIMIT 1;
    END IF;
    RETURN fault;
END
$$;
COMMENT ON FUNCTION noisy_import_fault(jsonb) IS 'why noisy_import() refuses a document; NULL: nothing that can be seen without reading its values';

CREATE FUNCTION noisy_import(document jsonb) RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET "TimeZone" = 'UTC'
AS $$
DECLARE
    fault   text;
    message text;
    run     bigint;
    t       record;
    at      name;
BEGIN
    IF document IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'null_value_not_allowed', MESSAGE = 'argument "document" must not be null';
    END IF;
    fault := @extschema@.noisy_import_fault(document);
    IF fault IS NULL THEN
        run := nextval('@extschema@.noisy_run_id_seq');
        BEGIN
            FOR t IN SELECT * FROM @extschema@.noisy_export_tables() ORDER BY place LOOP
                at := t.table_name;
                EXECUTE format('INSERT INTO %1$s.%2$I SELECT p.* FROM jsonb_array_elements($1) AS r (value), '
                               'LATERAL jsonb_populate_record(NULL::%1$s.%2$I, r.value || jsonb_build_object(''run_id'', $2)) AS p',
                               '@extschema@', t.table_name)
                    USING document -> 'tables' -> t.table_name::text, run;
            END LOOP;
        EXCEPTION WHEN data_exception OR integrity_constraint_violation OR numeric_value_out_of_range OR invalid_text_representation THEN
            GET STACKED DIAGNOSTICS message = MESSAGE_TEXT;
            fault := format('Table "%s": %s.', at, left(message, 300));
        END;
    END IF;
    IF fault IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value', MESSAGE = 'the document is not an exported run', DETAIL = fault,
            HINT = 'Import what noisy_export() of this version of the extension, or of an older one, has returned.';
    END IF;
    UPDATE @extschema@.noisy_run_records r SET state = 'aborted', error = 'the run was on when it was exported'
        WHERE r.run_id = run AND r.state IN ('starting', 'running');
    RETURN run;
END
$$;
REVOKE ALL ON FUNCTION noisy_import_fault(jsonb), noisy_import(jsonb) FROM PUBLIC;
COMMENT ON FUNCTION noisy_import(jsonb) IS 'adds a run that noisy_export() has returned, here or elsewhere, under a new id, which is returned; refused as a whole when something is wrong with it';

CREATE FUNCTION noisy_heat(metric text, run_ids bigint[], common_scale boolean DEFAULT true)
RETURNS TABLE (run_id bigint, label text, clients int, level numeric, value float8, best float8, worst float8, heat float8)
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED ROWS 20
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    wanted text := noisy_heat.metric;
    runs   bigint[] := noisy_heat.run_ids;
    gone   bigint := (SELECT min(u.id) FROM unnest(runs) AS u (id)
                      WHERE NOT EXISTS (SELECT FROM @extschema@.noisy_run_records r WHERE r.run_id = u.id));
BEGIN
    IF wanted IS NULL OR runs IS NULL OR noisy_heat.common_scale IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'null_value_not_allowed', MESSAGE = 'arguments of noisy_heat() must not be null';
    ELSIF wanted NOT IN ('tps', 'avg_ms', 'p50_ms', 'p75_ms', 'p90_ms', 'p95_ms', 'p99_ms', 'p999_ms', 'max_ms', 'p99_ratio',
                         'tps_change_pct') THEN
        RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value', MESSAGE = format('there is no metric "%s"', wanted),
            HINT = 'Use tps, avg_ms, p50_ms, p75_ms, p90_ms, p95_ms, p99_ms, p999_ms, max_ms, p99_ratio or tps_change_pct.';
    ELSIF gone IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'undefined_object', MESSAGE = format('run %s does not exist', gone),
            HINT = format('The runs are in %s.noisy_runs.', '@extschema@');
    END IF;
    RETURN QUERY
        SELECT s.run_id, s.label, s.clients, s.level, s.value, s.best, s.worst,
               CASE WHEN s.value IS NULL THEN NULL WHEN s.best = s.worst THEN 0
                    WHEN wanted IN ('tps', 'tps_change_pct') OR least(s.best, s.worst) <= 0
                        THEN abs(s.value - s.best) / abs(s.worst - s.best)
                    ELSE (ln(s.value) - ln(s.best)) / (ln(s.worst) - ln(s.best)) END
        FROM (SELECT v.*,
                     CASE WHEN wanted IN ('tps', 'tps_change_pct') THEN max(v.value) OVER scale ELSE min(v.value) OVER scale END AS best,
                     CASE WHEN wanted IN ('tps', 'tps_change_pct') THEN min(v.value) OVER scale ELSE max(v.value) OVER scale END AS worst
              FROM (SELECT r.run_id, n.label, r.clients, r.level,
                           CASE wanted WHEN 'tps' THEN r.tps WHEN 'avg_ms' THEN r.avg_ms WHEN 'p50_ms' THEN r.p50_ms
                                       WHEN 'p75_ms' THEN r.p75_ms WHEN 'p90_ms' THEN r.p90_ms WHEN 'p95_ms' THEN r.p95_ms
                                       WHEN 'p99_ms' THEN r.p99_ms WHEN 'p999_ms' THEN r.p999_ms WHEN 'max_ms' THEN r.max_ms
                                       WHEN 'p99_ratio' THEN i.p99_ratio ELSE i.tps_change_pct END AS value
                    FROM unnest(runs) AS u (id)
                    JOIN @extschema@.noisy_results r ON r.run_id = u.id
                    JOIN @extschema@.noisy_run_records n ON n.run_id = u.id
                    LEFT JOIN @extschema@.noisy_impact i ON i.run_id = u.id AND i.clients = r.clients AND i.level = r.level
                    WHERE r.clients > 0) AS v
              WINDOW scale AS (PARTITION BY CASE WHEN noisy_heat.common_scale THEN 0 ELSE v.run_id END)) AS s
        ORDER BY array_position(runs, s.run_id), s.clients, s.level;
END
$$;
REVOKE ALL ON FUNCTION noisy_heat(text, bigint[], boolean) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION noisy_heat(text, bigint[], boolean) TO pg_monitor;
COMMENT ON FUNCTION noisy_heat(text, bigint[], boolean) IS 'a metric of noisy_results or noisy_impact over clients and levels, with its place between the best (heat 0) and the worst (1) of all runs, or of its own run when common_scale is false; latency and ratios on a logarithmic scale';
