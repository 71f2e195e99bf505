-- The tables of the built-in workloads.
--
-- The function creates tables where its caller creates tables, so it must see the caller's search_path and cannot
-- pin one of its own.  It runs as the caller, and every name, type and operator in it is qualified.

CREATE OR REPLACE FUNCTION noisy_workload_init(scale int DEFAULT 10, replace boolean DEFAULT false) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE AS $$
DECLARE
    max_scale CONSTANT int := 19999;
    place CONSTANT pg_catalog.name := pg_catalog.current_schema();
    existing pg_catalog.text;
    to_drop pg_catalog.text;
BEGIN
    IF scale IS NULL OR scale OPERATOR(pg_catalog.<) 1 OR scale OPERATOR(pg_catalog.>) max_scale THEN
        RAISE EXCEPTION 'scale must be from 1 to %', max_scale
            USING ERRCODE = 'invalid_parameter_value',
                  HINT = 'Each unit is 100,000 accounts, about 16 MB. Larger tables: pgbench -i -s, which makes the keys bigint.';
    END IF;
    IF replace IS NULL THEN
        RAISE EXCEPTION 'replace must be true or false' USING ERRCODE = 'null_value_not_allowed';
    END IF;
    IF place IS NULL THEN
        RAISE EXCEPTION 'no schema has been selected to create in'
            USING ERRCODE = 'invalid_schema_name', HINT = 'Set search_path to a schema that exists.';
    END IF;

    SELECT pg_catalog.string_agg(c.relname, ', ' ORDER BY c.relname USING OPERATOR(pg_catalog.<)),
           pg_catalog.string_agg(pg_catalog.format('%I.%I', place, c.relname), ', ')
        INTO existing, to_drop
        FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace
        WHERE n.nspname OPERATOR(pg_catalog.=) place
          AND c.relname OPERATOR(pg_catalog.=) ANY (ARRAY['pgbench_accounts', 'pgbench_branches', 'pgbench_history',
                                                         'pgbench_tellers']::pg_catalog.name[]);
    IF existing IS NOT NULL AND NOT replace THEN
        RAISE EXCEPTION 'tables of the workload exist already in schema "%"', place
            USING ERRCODE = 'duplicate_table', DETAIL = pg_catalog.format('Found: %s.', existing),
                  HINT = 'Use them as they are, or drop them and create new ones: noisy_workload_init(scale, replace => true).';
    END IF;

    -- As "pgbench -i" leaves them: same columns, types, filler and keys.
    IF to_drop IS NOT NULL THEN
        -- The lock that advertises a run, see docs/architecture.md: everybody may see locks, but not everybody runs.
        IF EXISTS (SELECT FROM pg_catalog.pg_locks l
                   WHERE l.locktype OPERATOR(pg_catalog.=) 'userlock' AND l.objsubid OPERATOR(pg_catalog.=) 20050
                     AND l.database OPERATOR(pg_catalog.=) (SELECT d.oid FROM pg_catalog.pg_database d
                                                            WHERE d.datname OPERATOR(pg_catalog.=) pg_catalog.current_database())) THEN
            RAISE EXCEPTION 'cannot replace the tables of the workload while a run is on in this database'
                USING ERRCODE = 'object_in_use', HINT = 'Wait for its end, or stop it with noisy_stop().';
        END IF;
        EXECUTE pg_catalog.concat('DROP TABLE ', to_drop);
    END IF;
    EXECUTE pg_catalog.format('CREATE TABLE %I.pgbench_history '
        '(tid int, bid int, aid int, delta int, mtime timestamp, filler char(22))', place);
    EXECUTE pg_catalog.format('CREATE TABLE %I.pgbench_tellers '
        '(tid int NOT NULL, bid int, tbalance int, filler char(84)) WITH (fillfactor = 100)', place);
    EXECUTE pg_catalog.format('CREATE TABLE %I.pgbench_accounts '
        '(aid int NOT NULL, bid int, abalance int, filler char(84)) WITH (fillfactor = 100)', place);
    EXECUTE pg_catalog.format('CREATE TABLE %I.pgbench_branches '
        '(bid int NOT NULL, bbalance int, filler char(88)) WITH (fillfactor = 100)', place);

    EXECUTE pg_catalog.format('INSERT INTO %I.pgbench_branches (bid, bbalance) '
        'SELECT bid, 0 FROM pg_catalog.generate_series(1, $1) bid', place) USING scale;
    EXECUTE pg_catalog.format('INSERT INTO %I.pgbench_tellers (tid, bid, tbalance) '
        'SELECT tid, (tid OPERATOR(pg_catalog.-) 1) OPERATOR(pg_catalog./) 10 OPERATOR(pg_catalog.+) 1, 0 '
        'FROM pg_catalog.generate_series(1, 10 OPERATOR(pg_catalog.*) $1) tid', place) USING scale;
    EXECUTE pg_catalog.format('INSERT INTO %I.pgbench_accounts (aid, bid, abalance, filler) '
        'SELECT aid, (aid OPERATOR(pg_catalog.-) 1) OPERATOR(pg_catalog./) 100000 OPERATOR(pg_catalog.+) 1, 0, '''' '
        'FROM pg_catalog.generate_series(1, 100000 OPERATOR(pg_catalog.*) $1) aid', place) USING scale;

    EXECUTE pg_catalog.format('ALTER TABLE %I.pgbench_branches ADD PRIMARY KEY (bid)', place);
    EXECUTE pg_catalog.format('ALTER TABLE %I.pgbench_tellers ADD PRIMARY KEY (tid)', place);
    EXECUTE pg_catalog.format('ALTER TABLE %I.pgbench_accounts ADD PRIMARY KEY (aid)', place);
    EXECUTE pg_catalog.format('ANALYZE %1$I.pgbench_branches, %1$I.pgbench_tellers, %1$I.pgbench_accounts, '
                              '%1$I.pgbench_history', place);
END
$$;
COMMENT ON FUNCTION noisy_workload_init(int, boolean)
    IS 'create the tables of the built-in workloads, as pgbench -i does, in the current schema; a VACUUM afterwards makes the first run like later ones';
REVOKE ALL ON FUNCTION noisy_workload_init(int, boolean) FROM PUBLIC;
