-- The text of docs/views.md, from the comments in the catalog: "make docs" writes it, test/t/hygiene.pl compares it.
WITH members AS (
    SELECT c.oid, c.relname, c.relkind,
           pg_catalog.array_position(ARRAY[
               'noisy_runs', 'noisy_progress', 'noisy_results', 'noisy_impact', 'noisy_effects', 'noisy_sensitivity',
               'noisy_sanity', 'noisy_timeline', 'noisy_dose',
               'noisy_attribution', 'noisy_wait_events', 'noisy_lwlocks', 'noisy_probes', 'noisy_lock_probe', 'noisy_checkpoints',
               'noisy_checkpoint_effects', 'noisy_write_rates', 'noisy_bgwriter',
               'noisy_host_usage', 'noisy_processes', 'noisy_blocks', 'noisy_host', 'noisy_capabilities', 'noisy_metrics'], c.relname::text) AS place
    FROM pg_catalog.pg_depend d
    JOIN pg_catalog.pg_extension e ON d.refclassid = 'pg_catalog.pg_extension'::pg_catalog.regclass AND d.refobjid = e.oid
    JOIN pg_catalog.pg_class c ON d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass AND d.objid = c.oid
    WHERE d.deptype = 'e' AND e.extname = 'pg_noisyneighbor' AND c.relkind IN ('r', 'v', 'm')
),
sections AS (
    SELECT m.place, m.relname,
           pg_catalog.format(E'## `%s`\n\n%s%s.\n\n| column | type | meaning |\n|---|---|---|\n%s',
               m.relname,
               CASE m.relkind WHEN 'r' THEN 'Table: ' ELSE 'View: ' END,
               pg_catalog.obj_description(m.oid, 'pg_class'),
               (SELECT pg_catalog.string_agg(pg_catalog.format('| `%s` | %s | %s |', a.attname,
                           pg_catalog.regexp_replace(pg_catalog.format_type(a.atttypid, a.atttypmod), '^.*\.', ''),
                           pg_catalog.replace(pg_catalog.col_description(m.oid, a.attnum), '|', '\|')),
                           E'\n' ORDER BY a.attnum)
                FROM pg_catalog.pg_attribute a
                WHERE a.attrelid = m.oid AND a.attnum > 0 AND NOT a.attisdropped)) AS text
    FROM members m
)
SELECT E'# Tables and views\n\n'
    || E'<!-- written by "make docs" from the comments in the catalog: change them in sql/ -->\n\n'
    || E'Times are `timestamp with time zone`; a column carries its unit in its name: `_ms`, `_s`, `_pct` (percent), `_bytes`.\n'
    || E'NULL means "not measured". Members of `pg_monitor` may read everything here; only the owner of the extension changes it, and only by\n'
    || E'`DELETE FROM noisy_runs`, which removes a run with all that belongs to it.\n\n'
    || pg_catalog.string_agg(s.text, E'\n\n' ORDER BY s.place NULLS LAST, s.relname)
FROM sections s;
