-- Hostile use: extremes for every function, roles without privileges against every object, names that shadow ours and the
-- server's, triggers that look for somebody else's rights, and arguments made to break. What is called is taken from the
-- catalog, so what is added to the extension is covered. Each list below shows faults: it is empty.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS pg_noisyneighbor;
\set SHOW_CONTEXT never
\pset format unaligned
\pset tuples_only on
SELECT count(*) AS runs_before, current_user AS superuser, current_database() AS database FROM noisy_run_records \gset

CREATE ROLE regress_hostile_nobody LOGIN;
CREATE ROLE regress_hostile_watcher LOGIN IN ROLE pg_monitor;
CREATE ROLE regress_hostile_runner LOGIN;
CREATE ROLE regress_hostile_evil LOGIN;

CREATE SCHEMA hostile;
GRANT USAGE ON SCHEMA hostile TO PUBLIC;

CREATE VIEW hostile.members AS
    SELECT d.classid, d.objid FROM pg_depend d JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid
    WHERE d.deptype = 'e' AND e.extname = 'pg_noisyneighbor';
CREATE VIEW hostile.functions AS
    SELECT p.oid, p.oid::regprocedure AS signature, p.prokind, p.proargtypes::oid[]::regtype[] AS types
    FROM hostile.members m JOIN pg_proc p ON m.classid = 'pg_proc'::regclass AND p.oid = m.objid
    -- what SQL cannot call
    WHERE NOT '{internal,cstring}'::regtype[] && p.proargtypes::oid[]::regtype[];
CREATE VIEW hostile.relations AS
    SELECT c.oid, c.oid::regclass AS name, c.relkind,
           (SELECT a.attname FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum = 1) AS first_column
    FROM hostile.members m JOIN pg_class c ON m.classid = 'pg_class'::regclass AND c.oid = m.objid
    WHERE c.relkind IN ('r', 'v', 'm', 'S', 'p');
GRANT SELECT ON ALL TABLES IN SCHEMA hostile TO PUBLIC;

-- SQLSTATE of a statement, or "ok".
CREATE FUNCTION hostile.attempt(statement text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE statement;
    RETURN 'ok';
EXCEPTION WHEN query_canceled OR OTHERS THEN
    RETURN SQLSTATE;
END
$$;

-- The same as another role.
CREATE FUNCTION hostile.attempt_as(role name, statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    result text;
BEGIN
    EXECUTE format('SET LOCAL ROLE %I', role);
    result := hostile.attempt(statement);
    RESET ROLE;
    RETURN result;
END
$$;

-- Have our workers and their clients gone?  Waits for it, up to 30 s.
CREATE FUNCTION hostile.all_gone() RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    FOR i IN 1 .. 600 LOOP
        PERFORM pg_stat_clear_snapshot();
        IF NOT EXISTS (SELECT FROM pg_stat_activity WHERE usename LIKE 'regress_hostile%' OR backend_type LIKE 'pg\_noisyneighbor%'
                                                       OR application_name LIKE 'pg\_noisyneighbor%') THEN
            RETURN true;
        END IF;
        PERFORM pg_sleep(0.05);
    END LOOP;
    RETURN false;
END
$$;

--
-- Extremes for every argument of every function that a role may call
--

CREATE TABLE hostile.extremes (type regtype, expression text);
INSERT INTO hostile.extremes SELECT t::regtype, unnest(e) FROM (VALUES
    ('float8', ARRAY['0', '-1', '0.5', '1e308', '-1e308', '5e-324', $$'NaN'$$, $$'Infinity'$$, $$'-Infinity'$$]),
    ('int4', ARRAY['0', '-1', '7', '2147483647', '-2147483648']),
    ('int8', ARRAY['0', '-1', '9223372036854775807', '-9223372036854775808']),
    ('numeric', ARRAY[$$'NaN'$$, $$'Infinity'$$, '1e1000', '-1e-1000']),
    ('bool', ARRAY['true', 'false']),
    ('text', ARRAY[$$''$$, $$repeat('x', 1500)$$, $$repeat('x ', 200)$$, $$E'\x01\x1b[31m\r\n\t\x7f'$$,
                   $$'<b a="&amp;">%s %n $1 \ '''$$, $$repeat(U&'\20ac\+01f600', 100)$$]),
    ('interval', ARRAY[$$'-1 s'$$, $$'178000000 years'$$, $$'-178000000 years'$$]),
    ('timestamptz', ARRAY[$$'infinity'$$, $$'-infinity'$$, $$'294276-01-01'$$]),
    ('jsonb', ARRAY[$$'{}'$$, $$'[]'$$, $$'null'$$, $$'"x"'$$, $$'1e10000'$$, $$repeat('[{"a":', 500) || '1' || repeat('}]', 500)$$,
                    $$'{"' || repeat('k', 5000) || '": [1, 1]}'$$]),
    ('noisy_histogram', ARRAY[$$'v1 count=0'$$, $$'v1 count=1 overflow=0 min=0 max=0 sum=0 sumsq=0 buckets=0:1'$$,
        $$'v1 count=9223372036854775807 overflow=9223372036854775807 min=18446744073709551615 max=18446744073709551615 sum=170141183460469231731687303715884105728 sumsq=3138550867693340381917894711603833208051177722232017256448 buckets='$$]),
    ('float8[]', ARRAY[$$'{}'$$, $$'{NaN}'$$, $$'{{0.5,1},{0,NULL}}'$$, $$'[5:6]={0.5,0.9}'$$, $$array_fill(0.99, '{2000}')$$]),
    ('int4[]', ARRAY[$$'{}'$$, $$'{{1,2},{3,4}}'$$, $$'[0:0]={2147483647}'$$, $$array_fill(1, '{2000}')$$]),
    ('int8[]', ARRAY[$$'{}'$$, $$'{{1,2},{3,4}}'$$, $$'{9223372036854775807,NULL}'$$]),
    ('text[]', ARRAY[$$'{}'$$, $$'{{a,b},{c,NULL}}'$$, $$'[-1:0]={a,b}'$$, $$array_fill('x'::text, '{200,3}')$$])) AS v (t, e);
INSERT INTO hostile.extremes SELECT DISTINCT t, 'NULL' FROM hostile.functions, unnest(types) AS t;
CREATE VIEW hostile.ordered AS
    SELECT type, array_agg('(' || expression || ')::' || type ORDER BY expression COLLATE "C") AS expressions FROM hostile.extremes GROUP BY type;
GRANT SELECT ON ALL TABLES IN SCHEMA hostile TO PUBLIC;

-- Call a function with combinations of extremes, at most 400, spread over all of them. What else happens than a result or an
-- error that says what was wrong with the arguments.
CREATE FUNCTION hostile.probe(function regprocedure, kind "char", types regtype[]) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    lists    text[] := (SELECT array_agg(o.expressions::text ORDER BY n) FROM unnest(types) WITH ORDINALITY AS t (type, n)
                        JOIN hostile.ordered o USING (type));
    name     text := (SELECT format('%I.%I', n.nspname, p.proname) FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
                      WHERE p.oid = function);
    variadic_word text := (SELECT CASE WHEN p.provariadic <> 0 THEN 'VARIADIC ' ELSE '' END FROM pg_proc p WHERE p.oid = function);
    total    bigint := 1;
    step     bigint;
    pick     bigint;
    list     text[];
    args     text[];
    call     text;
    result   text;
BEGIN
    FOR i IN 1 .. coalesce(cardinality(lists), 0) LOOP
        total := total * cardinality(lists[i]::text[]);
    END LOOP;
    step := greatest(total / 400, 1) | 1;
    FOR n IN 0 .. least(total / step, 400) LOOP
        pick := n * step;
        args := '{}';
        FOR i IN 1 .. coalesce(cardinality(lists), 0) LOOP
            list := lists[i]::text[];
            args := args || (CASE WHEN i = cardinality(lists) THEN variadic_word ELSE '' END || list[1 + pick % cardinality(list)]);
            pick := pick / cardinality(list);
        END LOOP;
        call := format(CASE WHEN kind = 'a' THEN 'SELECT %s(%s)' WHEN kind = 'p' THEN 'CALL %s(%s)' ELSE 'SELECT count(f) FROM %s(%s) f' END,
                       name, array_to_string(args, ', '));
        result := hostile.attempt(call);
        IF result !~ '^(ok$|22|54|0A000|42704)' THEN
            RETURN NEXT left(call, 300) || ': ' || result;
            EXIT WHEN result = '57014';
        END IF;
    END LOOP;
END
$$;

-- one statement for each function, with the time of its own; the last list is of what pg_monitor may call and PUBLIC not
SET statement_timeout = '60 s';
\set ECHO none
\set probe 'SELECT format(''SELECT hostile.probe(%L, %L, %L)'', signature, prokind, types) FROM hostile.functions'
SET ROLE regress_hostile_nobody;
:probe WHERE has_function_privilege(oid, 'EXECUTE') ORDER BY oid \gexec
SET ROLE regress_hostile_watcher;
:probe WHERE has_function_privilege(oid, 'EXECUTE') AND NOT has_function_privilege('regress_hostile_nobody', oid, 'EXECUTE') ORDER BY oid \gexec
RESET ROLE;
\set ECHO all
RESET statement_timeout;
-- so many functions that the lists above are not empty for want of something to call
SELECT count(*) > 20 FROM hostile.functions WHERE has_function_privilege('regress_hostile_nobody', oid, 'EXECUTE');

--
-- Roles without privileges
--

-- What nobody and pg_monitor may do with tables, views and sequences besides reading; a view that cannot be written at all
-- says so before it asks for a privilege (55000).
SELECT r.role, s.statement, hostile.attempt_as(r.role, s.statement)
    FROM (VALUES ('regress_hostile_nobody'), ('regress_hostile_watcher')) AS r (role), hostile.relations c,
         LATERAL (SELECT format(t, c.name, c.first_column) AS statement FROM unnest(
             CASE WHEN c.relkind = 'S' THEN ARRAY['SELECT nextval(''%1$s'')', 'SELECT setval(''%1$s'', 1)', 'ALTER SEQUENCE %1$s RESTART']
             ELSE ARRAY['INSERT INTO %1$s DEFAULT VALUES', 'UPDATE %1$s SET %2$I = %2$I', 'DELETE FROM %1$s', 'LOCK TABLE %1$s',
                        'ALTER TABLE %1$s RENAME %2$I TO x', 'COMMENT ON COLUMN %1$s.%2$I IS ''x''',
                        'CREATE RULE x AS ON UPDATE TO %1$s DO NOTHING', 'ALTER TABLE %1$s OWNER TO CURRENT_USER']
                  || CASE WHEN r.role ~ 'nobody' THEN 'SELECT count(*) FROM %1$s' END
                  || CASE WHEN c.relkind = 'v' THEN 'DROP VIEW %1$s' ELSE 'DROP TABLE %1$s' END
                  || CASE WHEN c.relkind = 'r' THEN ARRAY['TRUNCATE %1$s', 'CREATE INDEX ON %1$s (%2$I)',
                        'COPY %1$s TO PROGRAM ''true''', 'CREATE TABLE hostile.x (LIKE %1$s); ALTER TABLE %1$s INHERIT hostile.x',
                        'ALTER TABLE %1$s DISABLE TRIGGER ALL', 'CREATE POLICY x ON %1$s'] END
                  || ARRAY['CREATE TRIGGER x BEFORE UPDATE ON %1$s EXECUTE FUNCTION suppress_redundant_updates_trigger()'] END) AS t WHERE t IS NOT NULL) AS s
    WHERE hostile.attempt_as(r.role, s.statement) NOT IN ('42501', CASE WHEN c.relkind = 'v' THEN '55000' ELSE '42501' END);

-- What a role has not been granted it cannot call.
SELECT s.statement, hostile.attempt_as('regress_hostile_nobody', s.statement)
    FROM (SELECT format(CASE f.prokind WHEN 'p' THEN 'CALL %s(%s)' ELSE 'SELECT %s(%s)' END, f.oid::regproc,
                        (SELECT string_agg(CASE WHEN n = p.pronargs AND p.provariadic <> 0 THEN 'VARIADIC ' ELSE '' END || 'NULL::' || t, ', ' ORDER BY n)
                         FROM pg_proc p, unnest(f.types) WITH ORDINALITY AS u (t, n) WHERE p.oid = f.oid)) AS statement
          FROM hostile.functions f WHERE NOT has_function_privilege('regress_hostile_nobody', f.oid, 'EXECUTE')) AS s
    WHERE hostile.attempt_as('regress_hostile_nobody', s.statement) <> '42501';

-- The same with functions, types and the extension itself.
SELECT s.statement, hostile.attempt_as('regress_hostile_watcher', s.statement)
    FROM (SELECT format(t, f.signature, CASE f.prokind WHEN 'a' THEN 'AGGREGATE' WHEN 'p' THEN 'PROCEDURE' ELSE 'FUNCTION' END) AS statement
          FROM hostile.functions f, unnest(ARRAY['ALTER %2$s %1$s RENAME TO x', 'DROP %2$s %1$s', 'ALTER %2$s %1$s OWNER TO CURRENT_USER']) AS t
          UNION ALL VALUES ('DROP TYPE noisy_histogram CASCADE'), ('ALTER EXTENSION pg_noisyneighbor UPDATE'), ('DROP EXTENSION pg_noisyneighbor'),
                           ('LOAD ''pg_noisyneighbor''')) AS s
    WHERE hostile.attempt_as('regress_hostile_watcher', s.statement) <> '42501';

-- Ceilings are for superusers, in whatever way they are set.
SELECT name, hostile.attempt_as('regress_hostile_watcher', format('SET %s = %L', name, boot_val)) FROM pg_settings
    WHERE name LIKE 'pg\_noisyneighbor.%' AND context = 'superuser'
      AND hostile.attempt_as('regress_hostile_watcher', format('SET %s = %L', name, boot_val)) <> '42501';
\connect - regress_hostile_nobody
SET client_min_messages = error;
SET pg_noisyneighbor.max_duration = '24 h';
SET pg_noisyneighbor.proc_path = '/tmp';
SET pg_noisyneighbor.max_clients = 10000;
SELECT noisy_t_quantile(0.5, 1);
SELECT current_setting('pg_noisyneighbor.max_duration'), current_setting('pg_noisyneighbor.proc_path'), current_setting('pg_noisyneighbor.max_clients');
\connect - :superuser
SET client_min_messages = warning;

--
-- Shadows: an attacker's schema comes first in the search_path, and the session has temporary objects
--

SELECT quote_ident(nspname) AS ext FROM pg_extension JOIN pg_namespace n ON n.oid = extnamespace WHERE extname = 'pg_noisyneighbor' \gset
CREATE SCHEMA evil AUTHORIZATION regress_hostile_evil;
GRANT USAGE ON SCHEMA evil TO PUBLIC;
-- What the clients of a run get.
DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET search_path = evil, pg_catalog, public', current_database()); END $$;

SET ROLE regress_hostile_evil;
-- Counts what was executed, also in a transaction that is rolled back.
CREATE SEQUENCE evil.executed;
GRANT ALL ON SEQUENCE evil.executed TO PUBLIC;
-- A twin for every plain function, operator, type and relation of the server, and for ours: it counts.
DO $shadow$
DECLARE
    o         record;
    place     name;
    twin      name;
    counts    text := 'LANGUAGE plpgsql AS ''BEGIN PERFORM pg_catalog.nextval(''''evil.executed''''); RETURN NULL; END''';
    used      regtype[] := '{bool,int2,int4,int8,float4,float8,numeric,text,name,jsonb,json,interval,timestamptz,timestamp,oid,regclass,regproc,
                             regtype,text[],name[],int4[],int8[],float8[],numeric[]}';
    types     name[] := (SELECT array_agg(typname) FROM pg_type WHERE oid = ANY (used::oid[]) AND typcategory <> 'A');
    relations name[] := (SELECT array_agg(relname) FROM pg_class c WHERE relkind IN ('r', 'v')
                         AND (relnamespace = 'pg_catalog'::regnamespace OR oid IN (SELECT r.oid FROM hostile.relations r))
                         AND NOT EXISTS (SELECT FROM pg_attribute WHERE attrelid = c.oid AND atttypid IN ('anyarray'::regtype, 'pg_statistic[]'::regtype)));
BEGIN
    FOR o IN SELECT p.proname, pg_get_function_identity_arguments(p.oid) AS args, p.prorettype::regtype AS result FROM pg_proc p
             WHERE (p.pronamespace = 'pg_catalog'::regnamespace OR p.proname LIKE 'noisy\_%') AND p.prokind = 'f' AND NOT p.proretset
               AND p.proargtypes::oid[]::regtype[] <@ used AND p.prorettype = ANY (used) AND p.proargmodes IS NULL
    LOOP
        EXECUTE format('CREATE FUNCTION evil.%I(%s) RETURNS %s %s', o.proname, o.args, o.result, counts);
    END LOOP;
    FOR o IN SELECT p.oprname, 'op ' || p.oid AS twin, nullif(oprleft, 0)::regtype AS l, oprright::regtype AS r, p.oprresult::regtype AS result
             FROM pg_operator p
             WHERE p.oprnamespace = 'pg_catalog'::regnamespace AND p.oprresult = ANY (used::oid[])
               AND p.oprright = ANY (used::oid[]) AND (p.oprleft = 0 OR p.oprleft = ANY (used::oid[]))
    LOOP
        EXECUTE format('CREATE FUNCTION evil.%I(%s) RETURNS %s %s', o.twin, concat_ws(',', o.l, o.r), o.result, counts);
        EXECUTE format('CREATE OPERATOR evil.%s (FUNCTION = evil.%I, %sRIGHTARG = %s)', o.oprname, o.twin, 'LEFTARG = ' || o.l || ', ', o.r);
    END LOOP;
    EXECUTE 'CREATE AGGREGATE evil.count(*) (SFUNC = evil.int8inc, STYPE = pg_catalog.int8, INITCOND = 0)';
    EXECUTE 'CREATE AGGREGATE evil.max(pg_catalog.float8) (SFUNC = evil.float8larger, STYPE = pg_catalog.float8)';
    -- Temporary functions and operators are never found by a bare name; types and relations are, before all others.
    FOREACH place IN ARRAY ARRAY['evil', 'pg_temp'] LOOP
        FOREACH twin IN ARRAY relations LOOP
            EXECUTE format('CREATE VIEW %s.%I AS SELECT c.*, pg_catalog.nextval(''evil.executed'') AS evil FROM %s.%2$I c', place, twin,
                           CASE WHEN twin LIKE 'noisy%' THEN (SELECT n.nspname FROM pg_catalog.pg_extension e JOIN pg_catalog.pg_namespace n
                                ON n.oid = extnamespace WHERE extname = 'pg_noisyneighbor') ELSE 'pg_catalog' END);
        END LOOP;
        FOREACH twin IN ARRAY types LOOP
            EXECUTE format('CREATE DOMAIN %s.%I AS pg_catalog.%2$I CHECK (pg_catalog.nextval(''evil.executed'') < 0)', place, twin);
        END LOOP;
    END LOOP;
END
$shadow$;
RESET ROLE;
SELECT pg_catalog.count(*) OPERATOR(pg_catalog.>) 1000 FROM pg_catalog.pg_depend
    WHERE refclassid OPERATOR(pg_catalog.=) 'pg_catalog.pg_namespace'::pg_catalog.regclass
      AND refobjid OPERATOR(pg_catalog.=) 'evil'::pg_catalog.regnamespace;

-- All that there is, called by a superuser. The shadows are there: the first line calls one.
SET search_path = evil, pg_catalog, :ext;
SELECT length('x');
SELECT pg_catalog.nextval('evil.executed');
SELECT pg_catalog.setval('evil.executed', 1);
SELECT :ext.noisy_workload_init(1);
SELECT :ext.noisy_workload_init(1, replace => true);
SELECT :ext.noisy_run('tpcb-like', '{2}', '{0,10}', '{cpu,memory}', '{"cpu": {"workers": 1}, "memory": {"workers": 1, "bytes": "64kB"}}',
                      '200 ms', '0 s', 1, query_mode => 'simple', label => 'shadow', options => '{"settle": "0 s"}') AS run \gset
SELECT :ext.noisy_run('tpcb-like', '{2}', '{0}', '{}', '{}', '200 ms', '0 s', 1) AS prepared \gset
SELECT :ext.noisy_load('{cpu}', 10, '200 ms', '{"cpu": {"workers": 1}}') AS load \gset
CALL :ext.noisy_wait(:run);
SELECT :ext.noisy_stop();
SELECT pg_catalog.length(:ext.noisy_report(:run)) OPERATOR(pg_catalog.>) 500;
DO $$
DECLARE
    o pg_catalog.record;
BEGIN
    FOR o IN SELECT name FROM hostile.relations WHERE relkind OPERATOR(pg_catalog.<>) 'S' LOOP
        EXECUTE pg_catalog.format('SELECT r FROM %s r', o.name);
    END LOOP;
END
$$;
SELECT state, transactions OPERATOR(pg_catalog.>) 0, errors FROM :ext.noisy_run_records r, :ext.noisy_blocks b
    WHERE b.run_id OPERATOR(pg_catalog.=) r.run_id AND r.run_id OPERATOR(pg_catalog.=) ANY (ARRAY[:run, :prepared]);
-- How often one was executed since.
SELECT last_value OPERATOR(pg_catalog.-) 1 FROM evil.executed;
RESET search_path;
DISCARD TEMP;
DO $$ BEGIN EXECUTE format('ALTER DATABASE %I RESET search_path', current_database()); END $$;
DROP SCHEMA evil CASCADE;

--
-- Triggers, rules, defaults and indexes on tables of the workload, made by a role that may start runs
--

GRANT EXECUTE ON FUNCTION noisy_run, noisy_start, noisy_load, noisy_stop, noisy_workload_init TO regress_hostile_runner;
CREATE SCHEMA regress_hostile_runner AUTHORIZATION regress_hostile_runner;
SET ROLE regress_hostile_runner;
SET search_path = regress_hostile_runner, public;
SELECT noisy_workload_init(1);
CREATE TABLE seen (place text, who name, session name, superuser text, database name);
-- Tries to get away from its role, then notes who it is.
CREATE FUNCTION note(place text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    statement text;
BEGIN
    FOREACH statement IN ARRAY ARRAY['RESET ROLE', 'RESET SESSION AUTHORIZATION', 'SET ROLE ' || quote_ident(pg_get_userbyid(10)),
                                     'SET SESSION AUTHORIZATION ' || quote_ident(pg_get_userbyid(10)),
                                     'ALTER ROLE regress_hostile_runner SUPERUSER', 'GRANT pg_write_all_data TO regress_hostile_runner']
    LOOP
        BEGIN
            EXECUTE statement;
        EXCEPTION WHEN OTHERS THEN
            NULL;
        END;
    END LOOP;
    INSERT INTO regress_hostile_runner.seen VALUES (place, current_user, session_user, current_setting('is_superuser'), current_database());
END
$$;
CREATE FUNCTION on_update() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN PERFORM regress_hostile_runner.note(TG_OP || ' trigger'); RETURN NEW; END $$;
CREATE FUNCTION by_default() RETURNS text LANGUAGE plpgsql AS
    $$ BEGIN PERFORM regress_hostile_runner.note('default'); RETURN 'x'; END $$;
CREATE FUNCTION of_index(bid int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS
    $$ BEGIN PERFORM regress_hostile_runner.note('index'); RETURN bid; END $$;
CREATE FUNCTION of_policy() RETURNS boolean LANGUAGE plpgsql AS
    $$ BEGIN PERFORM regress_hostile_runner.note('policy'); RETURN true; END $$;
ALTER TABLE pgbench_history ALTER filler SET DEFAULT by_default();
CREATE INDEX ON pgbench_history (of_index(bid));
CREATE RULE note AS ON INSERT TO pgbench_branches DO ALSO SELECT note('rule');
CREATE TRIGGER note AFTER UPDATE ON pgbench_accounts FOR EACH ROW EXECUTE FUNCTION on_update();
CREATE CONSTRAINT TRIGGER note AFTER INSERT ON pgbench_history DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION on_update();
ALTER TABLE pgbench_tellers ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY note ON pgbench_tellers USING (of_policy());
SELECT noisy_run('tpcb-like', '{2}', '{0}', '{}', '{}', '300 ms', '0 s', 1) AS run \gset
RESET ROLE;
RESET search_path;
SELECT place, who, session, superuser, database = current_database() FROM regress_hostile_runner.seen GROUP BY 1, 2, 3, 4, 5 ORDER BY place COLLATE "C";
SELECT transactions > 0, errors FROM noisy_blocks WHERE run_id = :run;
SELECT rolsuper, pg_has_role(oid, 'pg_write_all_data', 'MEMBER') FROM pg_roles WHERE rolname = 'regress_hostile_runner';
-- Its run is over, and its sessions with it.
SELECT hostile.all_gone();

--
-- Names: labels, databases, schemas and roles
--

SELECT E'l\'"`$$ \\ %s %n \x01\x07\x1b[31m\x7f\r\n\t</td><script>&amp;' || U&'\202e\200b\+01f600' || repeat('x', 300) AS label \gset
SELECT noisy_run('select-only', '{1}', '{0}', '{}', '{}', '100 ms', '0 s', 1, label => :'label', conninfo => format(
        'host=%s port=%s dbname=%s user=%s password=secret options=-csearch_path=regress_hostile_runner',
        split_part(current_setting('unix_socket_directories'), ',', 1), current_setting('port'), current_database(), current_user)) AS run \gset
SELECT label = :'label', state FROM noisy_runs WHERE run_id = :run;
SELECT noisy_report(:run) !~ '[\u0001-\u0009\u000b-\u001f\u007f-\u009f]', max(length(line)) <= 100 FROM regexp_split_to_table(noisy_report(:run), '\n') AS line;
SELECT (r)::text ~ 'secret|options' FROM noisy_runs r WHERE run_id = :run;

SELECT E'regress "d\'\\ \x01\x1b%s <b>&amp;' AS db, E'regress_hostile "r\'=\\ \x01%n <i>' AS role, E'regress s%s \x01 <u>' AS schema \gset
CREATE DATABASE :"db";
CREATE ROLE :"role" LOGIN;
GRANT CREATE ON DATABASE :"db" TO :"role";
\connect :"db" :"superuser"
SET client_min_messages = warning;
CREATE SCHEMA :"schema";
CREATE EXTENSION pg_noisyneighbor SCHEMA :"schema";
GRANT USAGE ON SCHEMA :"schema" TO :"role";
SET search_path = :"schema";
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA :"schema" TO :"role";
GRANT pg_monitor TO :"role";
SET ROLE :"role";
CREATE SCHEMA :"role";
SET search_path = :"role";
SELECT :"schema".noisy_workload_init(1);
SELECT :"schema".noisy_run('simple-update', '{2}', '{0,10}', '{cpu}', '{"cpu": {"workers": 1}}', '200 ms', '0 s', 1) AS run \gset
SELECT state, role_name = :'role' FROM :"schema".noisy_runs WHERE run_id = :run;
SELECT bool_and(transactions > 0 AND errors = 0) FROM :"schema".noisy_blocks WHERE run_id = :run;
SELECT :"schema".noisy_report(:run) !~ '[\u0001-\u0009\u000b-\u001f\u007f-\u009f]';
\connect :"database" :"superuser"
DROP DATABASE :"db";
DROP ROLE :"role";

--
-- Arguments that are made to break
--

-- SQLSTATE of each; none begins a run. That of the last ones is another one in versions that know no infinite interval.
SELECT name, CASE WHEN name ~ 'infinite' THEN left(state, 2) ELSE state END
FROM (VALUES
    (10, 'levels: a million', $$levels => (SELECT array_agg(i / 10000.0) FROM generate_series(0, 999999) i)$$),
    (11, 'levels: a million zeros', $$levels => array_fill(0::numeric, '{1000000}')$$),
    (12, 'levels: a number of 100,000 digits', $$levels => ARRAY[repeat('9', 100000)::numeric]$$),
    (13, 'levels: 101 and 10,000 decimals', $$levels => ARRAY[('101.' || repeat('1', 10000))::numeric]$$),
    (14, 'levels: six dimensions', $$levels => '{{{{{{0}}}}}}'$$),
    (15, 'levels: below 0 by the least', $$levels => '{-1e-16000}'$$),
    (16, 'clients: a million', $$clients => (SELECT array_agg(i) FROM generate_series(1, 1000000) i)$$),
    (17, 'clients: a billion', $$clients => '{1000000000}'$$),
    (18, 'clients: other bounds and a null', $$clients => '[-5:-4]={1,NULL}'$$),
    (20, 'noise: a million', $$noise => array_fill('cpu'::text, '{1000000}')$$),
    (21, 'noise: a name of 1 MB', $$noise => ARRAY[repeat('x', 1048576)]$$),
    (22, 'noise: a name with markup', $$noise => ARRAY[E'<b>\x01%s']$$),
    (23, 'noise: other bounds, one twice', $$noise => '[7:8]={cpu,cpu}'$$),
    (30, 'duration: 178 million years', $$duration => '178000000 years'$$),
    (31, 'duration: so many years ago', $$duration => '-178000000 years'$$),
    (32, 'duration: months against days', $$duration => '2147483647 months -2147483648 days'$$),
    (33, 'duration: hours without end', $$duration => '2147483647 hours'$$),
    (34, 'warmup: just below 0', $$warmup => '-1 us'$$),
    (40, 'repeats: the most', $$repeats => 2147483647, clients => '{1,2,3}', levels => '{1,2,3}'$$),
    (41, 'repeats: the least', $$repeats => -2147483648$$),
    (42, 'threads: the most', $$threads => 2147483647$$),
    (44, 'label: 1 MB', $$label => repeat('x', 1048576)$$),
    (45, 'workload: 1 MB', $$workload => repeat('x', 1048576)$$),
    (46, 'workload: an injection', $$workload => 'select-only''; DROP TABLE noisy_runs; --'$$),
    (47, 'query_mode: 1 MB', $$query_mode => repeat(U&'\20ac', 300000)$$),
    (48, 'conninfo: 1 MB', $$conninfo => repeat('x', 1048576)$$),
    (49, 'conninfo: a keyword of 1 MB', $$conninfo => repeat('x', 1048576) || '=1'$$),
    (50, 'options: nested', $$options => repeat('{"a":', 1000) || '1' || repeat('}', 1000)$$),
    (51, 'options: nested below one that is known', $$options => '{"seed": ' || repeat('[', 1000) || repeat(']', 1000) || '}'$$),
    (52, 'options: a key of 1 MB', $$options => '{"' || repeat('k', 1048576) || '": 1}'$$),
    (53, 'options: a string of 1 MB', $$options => '{"checkpoint": "' || repeat('x', 1048576) || '"}'$$),
    (54, 'options: a million keys', $$options => (SELECT jsonb_object_agg('k' || i, i) FROM generate_series(1, 1000000) i)::text$$),
    (55, 'options: a million elements', $$options => (SELECT jsonb_agg(i) FROM generate_series(1, 1000000) i)::text$$),
    (56, 'options: a key twice, and then a bad one', $$options => '{"seed": 1, "seed": 2, "sneed": 3}'$$),
    (57, 'options: a number of 100,000 digits', $$options => '{"seed": 1e100000}'$$),
    (58, 'options: a tiny number', $$options => '{"sample_interval": 1e-16000}'$$),
    (59, 'options: a null', $$options => '{"settle": null}'$$),
    (60, 'options: not a number', $$options => '{"settle": "NaN"}'$$),
    (61, 'options: an infinite number', $$options => '{"settle": "Infinity"}'$$),
    (62, 'options: an empty key', $$options => '{"": ""}'$$),
    (63, 'options: a control character', $$options => '{"\u0001": 1}'$$),
    (64, 'options: an interval of years', $$options => '{"settle": "178000000 years"}'$$),
    (65, 'options: below 0 by years', $$options => '{"sample_interval": "-178000000 years"}'$$),
    (70, 'noise_options: nested', $$noise_options => repeat('{"cpu":', 1000) || '1' || repeat('}', 1000)$$),
    (71, 'noise_options: workers nested', $$noise_options => '{"cpu": {"workers": ' || repeat('[', 1000) || repeat(']', 1000) || '}}'$$),
    (72, 'noise_options: a number of 100,000 digits', $$noise_options => '{"cpu": {"workers": 1e100000}}'$$),
    (73, 'noise_options: workers as text', $$noise_options => '{"cpu": {"workers": "NaN"}}'$$),
    (74, 'noise_options: bytes of 100,000 digits', $$noise_options => '{"memory": {"bytes": 1e100000}}'$$),
    (75, 'noise_options: bytes as such a text', $$noise_options => '{"memory": {"bytes": "1e100000 TB"}}'$$),
    (76, 'noise_options: bytes as a long text', $$noise_options => '{"memory": {"bytes": "' || repeat('9', 1048576) || 'kB"}}'$$),
    (77, 'noise_options: bytes below 0', $$noise_options => '{"memory": {"bytes": "-9223372036854775808"}}'$$),
    (78, 'noise_options: the most bytes', $$noise_options => '{"memory": {"bytes": 9223372036854775807, "workers": 256}}'$$),
    (79, 'noise_options: the most bytes for the cache', $$noise => '{cache}', noise_options => '{"cache": {"bytes": "7 EB"}}'$$),
    (80, 'noise_options: a key of 1 MB', $$noise_options => '{"' || repeat('k', 1048576) || '": {}}'$$),
    (81, 'noise_options: the same one level below', $$noise_options => '{"cpu": {"' || repeat('k', 1048576) || '": 1}}'$$),
    (82, 'noise_options: an array of objects', $$noise_options => '[{"cpu": {"workers": 1}}]'$$),
    (90, 'duration: infinite', $$duration => 'infinity'$$),
    (91, 'warmup: infinite, below 0', $$warmup => '-infinity'$$),
    (92, 'options: an infinite interval', $$options => '{"sample_interval": "infinity"}'$$)) AS v (n, name, arguments),
    LATERAL (SELECT hostile.attempt('SELECT noisy_start(' || regexp_replace(arguments, 'options => (.*)$', 'options => (\1)::jsonb') || ')') AS state) AS a
ORDER BY n;

-- Nor does it matter how long a message is made: what it repeats is cut.
SET client_min_messages = warning;
\set VERBOSITY terse
SELECT noisy_start(workload => repeat('w', 1000));
SELECT noisy_start(noise => ARRAY[repeat('n', 1000)]);
SELECT noisy_start(options => jsonb_build_object(repeat('o', 1000), 1));
SELECT noisy_start(levels => ARRAY[('101.' || repeat('1', 1000))::numeric]);

-- The text and the binary form of a histogram: nothing that could not have been recorded gets in.
SELECT hostile.attempt(format('SELECT %L::noisy_histogram', t)) FROM unnest(ARRAY[repeat('v1 ', 300000), 'v1 count=' || repeat('9', 1000000),
    'v1 count=1 overflow=0 min=1 max=1 sum=1' || repeat('0', 100) || ' sumsq=1 buckets=1:1',
    'v1 count=1 overflow=0 min=1 max=1 sum=170141183460469231731687303715884105728 sumsq=1 buckets=1:1',
    'v1 count=1 overflow=0 min=1 max=1 sum=1 sumsq=1 buckets=1:1' || repeat(',1:1', 100000)]) AS t;

--
-- Nothing is left of all this
--

SELECT count(*) FROM noisy_runs WHERE state <> 'completed';
SELECT count(*) FROM noisy_progress;
SELECT hostile.all_gone();
DELETE FROM noisy_runs WHERE run_id IN (SELECT run_id FROM noisy_runs ORDER BY run_id DESC LIMIT (SELECT count(*) - :runs_before FROM noisy_runs));
DROP SCHEMA hostile, regress_hostile_runner CASCADE;
DROP OWNED BY regress_hostile_nobody, regress_hostile_watcher, regress_hostile_runner, regress_hostile_evil;
DROP ROLE regress_hostile_nobody, regress_hostile_watcher, regress_hostile_runner, regress_hostile_evil;
