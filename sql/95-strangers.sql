-- Names in views are resolved when these are created: first in pg_catalog, but an operator or function of the schema wins
-- where it fits the types of its arguments better. All who read the views would run it. So nothing of ours may depend
-- on an operator or a function that is neither the server's nor ours.
DO $$
DECLARE
    path     CONSTANT pg_catalog.text := pg_catalog.current_setting('search_path');
    stranger pg_catalog.text;
BEGIN
    PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
    WITH members AS (
        SELECT m.classid, m.objid
        FROM pg_depend m JOIN pg_extension e ON m.refclassid = 'pg_extension'::regclass AND m.refobjid = e.oid
        WHERE e.extname = 'pg_noisyneighbor' AND m.deptype = 'e'),
    ours AS (
        SELECT classid, objid FROM members
        UNION ALL
        SELECT 'pg_rewrite'::regclass, r.oid FROM pg_rewrite r JOIN members ON classid = 'pg_class'::regclass AND objid = r.ev_class
        UNION ALL
        SELECT 'pg_attrdef'::regclass, a.oid FROM pg_attrdef a JOIN members ON classid = 'pg_class'::regclass AND objid = a.adrelid
        UNION ALL
        SELECT 'pg_constraint'::regclass, c.oid FROM pg_constraint c JOIN members ON classid = 'pg_class'::regclass AND objid = c.conrelid)
    SELECT min(pg_describe_object(d.refclassid, d.refobjid, 0)) INTO stranger
    FROM pg_depend d JOIN ours USING (classid, objid)
    WHERE d.refclassid IN ('pg_operator'::regclass, 'pg_proc'::regclass)
      AND NOT EXISTS (SELECT FROM members m WHERE m.classid = d.refclassid AND m.objid = d.refobjid)
      AND NOT EXISTS (SELECT FROM pg_operator o WHERE d.refclassid = 'pg_operator'::regclass AND o.oid = d.refobjid
                                                  AND o.oprnamespace = 'pg_catalog'::regnamespace)
      AND NOT EXISTS (SELECT FROM pg_proc p WHERE d.refclassid = 'pg_proc'::regclass AND p.oid = d.refobjid
                                              AND p.pronamespace = 'pg_catalog'::regnamespace);
    PERFORM set_config('search_path', path, true);
    IF stranger IS NOT NULL THEN
        RAISE EXCEPTION USING
            ERRCODE = 'object_not_in_prerequisite_state',
            MESSAGE = pg_catalog.format('the extension would run %s', stranger),
            DETAIL = 'It takes the place of one of the server''s in a view of the extension.',
            HINT = 'Drop it, or create the extension in a schema of its own.';
    END IF;
END
$$;
