-- The report of a run as text for a terminal: at most 100 columns, ASCII but for what users have named
-- and, where the client's encoding is UTF-8, the blocks of the timeline (72-report-pictures.sql).
--
-- noisy_report() puts sections together; each section is a function of its own that returns its lines, or
-- NULL when it has nothing to say. They run as the caller and read what the caller may read. Numbers go through
-- numeric, so that the decimal point is a point under every lc_numeric.

-- Layout

CREATE OR REPLACE FUNCTION noisy_report_number(x float8, decimals int DEFAULT NULL, signed boolean DEFAULT false)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT CASE WHEN signed AND x > 0 THEN '+' ELSE '' END ||
           CASE WHEN x = 'NaN' THEN NULL
                WHEN abs(x) >= 1e12 THEN trim(to_char(x, '9.99EEEE'))
                ELSE round(x::numeric, coalesce(decimals,
                                                CASE WHEN x = 0 THEN 0 WHEN abs(x) < 10 THEN 3
                                                     WHEN abs(x) < 100 THEN 2 WHEN abs(x) < 1000 THEN 1
                                                     ELSE 0 END))::text END
$$;
COMMENT ON FUNCTION noisy_report_number(float8, int, boolean)
    IS 'a number for people: four digits that count, or so many decimals; a point under every lc_numeric; NULL and NaN give NULL';

-- Control characters could move the cursor or colour a terminal, and marks of direction turn text around.
CREATE OR REPLACE FUNCTION noisy_report_clean(value text, max_length int DEFAULT 80) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT CASE WHEN length(value) > max_length THEN left(c.value, max_length - 3) || '...' ELSE c.value END
    FROM (SELECT regexp_replace(value, E'[\\u0001-\\u001f\\u007f-\\u009f\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069]', '?', 'g') AS value) AS c
$$;
COMMENT ON FUNCTION noisy_report_clean(text, int)
    IS 'text of users for a terminal: control characters become question marks, and what is too long is cut';

-- Break at spaces; a word that is longer than a line is broken anywhere.
CREATE OR REPLACE FUNCTION noisy_report_wrap(value text, first text, rest text, width int DEFAULT 96) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    todo  text := trim(value);
    room  int := greatest(width - length(rest), 1);
    cut   int;
    lines text[] := '{}';
BEGIN
    WHILE length(todo) > room LOOP
        cut := room + 1 - strpos(reverse(left(todo, room + 1)), ' ') + 1;
        IF cut < 2 OR cut > room + 1 THEN
            cut := room + 1;
        END IF;
        lines := lines || rtrim(left(todo, cut - 1));
        todo := ltrim(substr(todo, cut));
    END LOOP;
    RETURN first || array_to_string(lines || todo, E'\n' || rest);
END
$$;
COMMENT ON FUNCTION noisy_report_wrap(text, text, text, int)
    IS 'a paragraph broken into lines of at most width characters: the first begins with first, the others with rest (as long as first)';

CREATE OR REPLACE FUNCTION noisy_report_table(head text[], alignment text, body text[]) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    widths int[];
    cells  text[] := array_cat(ARRAY[head], body);
    line   text;
    lines  text[] := '{}';
BEGIN
    IF body IS NULL THEN
        RETURN NULL;
    END IF;
    FOR c IN 1 .. cardinality(head) LOOP
        widths[c] := (SELECT max(length(coalesce(cells[r][c], '-'))) FROM generate_series(1, array_length(cells, 1)) AS r);
    END LOOP;
    FOR r IN 1 .. array_length(cells, 1) LOOP
        line := '';
        FOR c IN 1 .. cardinality(head) LOOP
            line := line || CASE WHEN c > 1 THEN '  ' ELSE '' END ||
                CASE WHEN substr(alignment, c, 1) = 'r' THEN lpad(coalesce(cells[r][c], '-'), widths[c])
                     ELSE rpad(coalesce(cells[r][c], '-'), widths[c]) END;
        END LOOP;
        lines := lines || rtrim(line);
    END LOOP;
    RETURN array_to_string(lines, E'\n');
END
$$;
COMMENT ON FUNCTION noisy_report_table(text[], text, text[])
    IS 'an aligned table: heads, l or r for each column, and an array of rows; NULL cells are a dash; NULL without rows';

CREATE OR REPLACE FUNCTION noisy_report_duration(seconds float8) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT CASE WHEN seconds < 120 THEN trim_scale(round(seconds::numeric, 1))::text || ' s'
                WHEN seconds < 7200 THEN floor(seconds / 60)::text || ' min ' || (floor(seconds)::bigint % 60)::text || ' s'
                ELSE floor(seconds / 3600)::text || ' h ' || (floor(seconds / 60)::bigint % 60)::text || ' min' END
$$;
COMMENT ON FUNCTION noisy_report_duration(float8) IS 'seconds for people';

CREATE OR REPLACE FUNCTION noisy_report_bytes(bytes float8) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT CASE WHEN bytes < 1024 THEN round(bytes::numeric)::text || ' B'
                WHEN bytes < 1048576 THEN trim_scale(round((bytes / 1024)::numeric, 1))::text || ' KiB'
                WHEN bytes < 1073741824 THEN trim_scale(round((bytes / 1048576)::numeric, 1))::text || ' MiB'
                ELSE trim_scale(round((bytes / 1073741824)::numeric, 1))::text || ' GiB' END
$$;
COMMENT ON FUNCTION noisy_report_bytes(float8) IS 'bytes for people, in powers of 1024';

CREATE OR REPLACE FUNCTION noisy_report_list(list jsonb) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT string_agg(l.item, ', ' ORDER BY l.n)
    FROM jsonb_array_elements_text(CASE WHEN jsonb_typeof(list) = 'array' THEN list ELSE '[]' END)
         WITH ORDINALITY AS l (item, n)
$$;
COMMENT ON FUNCTION noisy_report_list(jsonb) IS 'elements of a json array, with commas';

-- Sections

CREATE OR REPLACE FUNCTION noisy_report_what(run bigint) RETURNS text
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    r      record;
    p      jsonb;
    e      jsonb;
    s      jsonb;
    noise  text;
    blocks text;
BEGIN
    SELECT * INTO r FROM @extschema@.noisy_runs n WHERE n.run_id = run;
    p := r.parameters;
    e := r.environment;
    s := e -> 'settings';
    SELECT string_agg(@extschema@.noisy_report_clean(n.key) || ' (' ||
                      concat_ws(', ', (n.value ->> 'workers') || CASE WHEN n.value ->> 'workers' = '1' THEN ' thread'
                                                                 ELSE ' threads' END,
                                CASE WHEN (n.value ->> 'bytes')::float8 > 0 THEN
                                    @extschema@.noisy_report_bytes((n.value ->> 'bytes')::float8)
                                    || CASE WHEN n.value ->> 'workers' = '1' THEN '' ELSE ' each' END END)
                      || ')', ', ' ORDER BY n.key)
        INTO noise
        FROM jsonb_each(CASE WHEN jsonb_typeof(p -> 'noise') = 'object' THEN p -> 'noise' ELSE '{}' END) AS n;
    SELECT concat_ws(', ', count(*) || ' measured',
                     nullif(count(*) FILTER (WHERE NOT b.accepted), 0) || ' rejected')
        INTO blocks
        FROM @extschema@.noisy_blocks b WHERE b.run_id = run;
    RETURN (
        SELECT string_agg(@extschema@.noisy_report_wrap(l.value, rpad(l.key, 10), repeat(' ', 10)), E'\n' ORDER BY l.n)
        FROM (VALUES
            (1, 'label', @extschema@.noisy_report_clean(r.label)),
            (2, 'time', concat_ws(', ', 'started ' || to_char(r.started_at, 'YYYY-MM-DD HH24:MI:SSOF'),
                'took ' || @extschema@.noisy_report_duration(date_part('epoch', r.finished_at - r.started_at)),
                'by role ' || @extschema@.noisy_report_clean(r.role_name))),
            (3, 'host', concat_ws(', ', @extschema@.noisy_report_clean(e ->> 'host_name'),
                @extschema@.noisy_report_clean(e ->> 'cpu_model'),
                trim_scale((e ->> 'usable_cpus')::numeric) || ' of ' || (e ->> 'online_cpus') || ' CPUs usable',
                'quota ' || trim_scale((e ->> 'quota_cpus')::numeric) || ' CPUs',
                'memory ' || @extschema@.noisy_report_bytes((e ->> 'mem_total_bytes')::float8),
                @extschema@.noisy_report_clean(e ->> 'kernel'),
                @extschema@.noisy_report_clean(e ->> 'virtualisation'))),
            (4, 'server', concat_ws(', ', 'PostgreSQL ' || @extschema@.noisy_report_clean(s ->> 'server_version'),
                'shared_buffers ' || @extschema@.noisy_report_bytes((s ->> 'shared_buffers')::float8
                                                                    * (e ->> 'block_size_bytes')::float8),
                'synchronous_commit ' || @extschema@.noisy_report_clean(s ->> 'synchronous_commit'),
                'fsync ' || @extschema@.noisy_report_clean(s ->> 'fsync'))),
            (5, 'workload', CASE WHEN r.workload IS NULL THEN 'none: noise alone' ELSE concat_ws(', ',
                @extschema@.noisy_report_clean(r.workload),
                'scale ' || coalesce(e ->> 'scale', p ->> 'scale'),
                'query mode ' || (p ->> 'query_mode'),
                (p ->> 'threads') || CASE WHEN p ->> 'threads' = '1' THEN ' driver thread' ELSE ' driver threads' END,
                'clients ' || @extschema@.noisy_report_list(p -> 'clients'),
                'on ' || @extschema@.noisy_report_clean(p ->> 'server')) END),
            (6, 'noise', coalesce(noise || ' at ' || @extschema@.noisy_report_list(p -> 'levels') || ' %', noise, 'none')),
            (7, 'blocks', concat_ws(', ', blocks, 'each ' ||
                @extschema@.noisy_report_duration((p ->> 'duration_s')::float8) || coalesce(' after a warm-up of ' ||
                @extschema@.noisy_report_duration(nullif((p ->> 'warmup_s')::float8, 0)), ''),
                coalesce('until there is a verdict, looked at after ' || @extschema@.noisy_report_list(p -> 'looks') || ' repeats',
                         (p ->> 'repeats') || CASE WHEN p ->> 'repeats' = '1' THEN ' repeat' ELSE ' repeats' END),
                'seed ' || r.seed))) AS l (n, key, value)
        WHERE l.value <> '');
END
$$;
COMMENT ON FUNCTION noisy_report_what(bigint) IS 'section of noisy_report(): what ran on what';

-- The lowest dose with that verdict, and of several client counts the one that is hit hardest.
CREATE OR REPLACE FUNCTION noisy_report_effect(run bigint, wanted text) RETURNS text
LANGUAGE sql STABLE PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT format('With %s clients, noise of %s %% %s.', i.clients, i.level,
                  concat_ws(' and ',
                            CASE WHEN i.verdict = wanted THEN
                                format('multiplies the p99 by %s (%s to %s)',
                                       @extschema@.noisy_report_number(i.p99_ratio, 2),
                                       @extschema@.noisy_report_number(i.p99_ratio_low, 2),
                                       @extschema@.noisy_report_number(i.p99_ratio_high, 2)) END,
                            CASE WHEN i.tps_verdict = wanted THEN
                                format('changes tps by %s %% (%s to %s)',
                                       @extschema@.noisy_report_number(i.tps_change_pct, 1, true),
                                       @extschema@.noisy_report_number(i.tps_change_low_pct, 1, true),
                                       @extschema@.noisy_report_number(i.tps_change_high_pct, 1, true)) END))
    FROM @extschema@.noisy_impact i
    WHERE i.run_id = run AND wanted IN (i.verdict, i.tps_verdict)
    ORDER BY i.level, abs(ln(i.p99_ratio)) DESC NULLS LAST, i.clients
    LIMIT 1
$$;
COMMENT ON FUNCTION noisy_report_effect(bigint, text)
    IS 'the lowest dose of a run with that verdict, as a sentence with its 95 % intervals; NULL: none';

CREATE OR REPLACE FUNCTION noisy_report_verdict(run bigint) RETURNS text
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    n           record;
    noise_alone boolean;
BEGIN
    SELECT r.workload IS NULL INTO noise_alone FROM @extschema@.noisy_run_records r WHERE r.run_id = run;
    SELECT count(*) AS blocks, count(*) FILTER (WHERE b.accepted) AS accepted INTO n
        FROM @extschema@.noisy_blocks b WHERE b.run_id = run;
    IF n.blocks = 0 THEN
        RETURN 'none. No block was measured.';
    ELSIF n.accepted = 0 THEN
        RETURN 'none. Every block was rejected.';
    ELSIF NOT noise_alone AND NOT EXISTS (SELECT FROM @extschema@.noisy_blocks b
                                          WHERE b.run_id = run AND b.accepted AND b.transactions > 0) THEN
        RETURN 'none. No transaction ended.';
    ELSIF noise_alone THEN
        RETURN 'none. This was noise alone: no workload was measured.';
    END IF;
    SELECT count(*) AS doses, count(*) FILTER (WHERE 'inconclusive' IN (i.verdict, i.tps_verdict)) AS unclear,
           max(i.blocks_needed) AS needed, max(i.level) AS level,
           max(i.p99_noise_floor_pct) AS p99_floor, max(i.tps_noise_floor_pct) AS tps_floor INTO n
        FROM @extschema@.noisy_impact i WHERE i.run_id = run AND i.level > 0;
    IF n.doses = 0 THEN
        RETURN 'none. These are baselines only: there is no dose to judge.';
    END IF;
    RETURN coalesce(
        'impact. ' || @extschema@.noisy_report_effect(run, 'impact'),
        CASE WHEN n.unclear > 0 THEN
            format('inconclusive. For %s of %s doses the change cannot be told from what the run itself varies by', n.unclear, n.doses)
            || coalesce('; about ' || n.needed || ' blocks of each dose would settle the p99', '') || '.' END,
        'improved. ' || @extschema@.noisy_report_effect(run, 'improved'),
        format('within noise. No dose up to %s %% changes the p99 by more than a factor of %s or tps by more than %s, '
               'the least that counts in this run.', n.level, @extschema@.noisy_report_number(1 + n.p99_floor / 100, 2),
               @extschema@.noisy_report_number(1 + n.tps_floor / 100, 2)));
END
$$;
COMMENT ON FUNCTION noisy_report_verdict(bigint) IS 'section of noisy_report(): the verdict in a sentence';

-- A star marks what low_n names.
CREATE OR REPLACE FUNCTION noisy_report_results(run bigint) RETURNS text
LANGUAGE sql STABLE PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT E'Throughput, and latency in ms (noise in % asked and delivered)\n' ||
           @extschema@.noisy_report_table(
               '{clients,noise,got,blocks,tps,errors,avg,p50,p95,p99,p99.9,max}', 'rrrrrrrrrrrr',
               array_agg(ARRAY[nullif(s.clients, 0)::text, s.level::text, @extschema@.noisy_report_number(s.achieved_pct, 1),
                               s.blocks::text, @extschema@.noisy_report_number(s.tps, CASE WHEN s.tps < 1000 THEN 1 ELSE 0 END), s.errors::text,
                               @extschema@.noisy_report_number(s.avg_ms),
                               @extschema@.noisy_report_number(s.p50_ms) || CASE WHEN 'p50_ms' = ANY (s.low_n) THEN '*' ELSE '' END,
                               @extschema@.noisy_report_number(s.p95_ms) || CASE WHEN 'p95_ms' = ANY (s.low_n) THEN '*' ELSE '' END,
                               @extschema@.noisy_report_number(s.p99_ms) || CASE WHEN 'p99_ms' = ANY (s.low_n) THEN '*' ELSE '' END,
                               @extschema@.noisy_report_number(s.p999_ms) || CASE WHEN 'p999_ms' = ANY (s.low_n) THEN '*' ELSE '' END,
                               @extschema@.noisy_report_number(s.max_ms)]
                         ORDER BY s.clients, s.level))
    FROM @extschema@.noisy_results s
    WHERE s.run_id = run AND s.clients > 0
$$;
COMMENT ON FUNCTION noisy_report_results(bigint) IS 'section of noisy_report(): throughput and latency of each level';

CREATE OR REPLACE FUNCTION noisy_report_impact(run bigint) RETURNS text
LANGUAGE sql STABLE PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT E'Against the baselines around each block (floor: the least factor that counts, up or down)\n' ||
           @extschema@.noisy_report_table(
               ARRAY['clients', 'noise', 'of', 'change', 'ratio', max(l.confidence) || ' % interval', 'floor', 'verdict'], 'rrlrrrrl',
               array_agg(ARRAY[nullif(l.clients, 0)::text, l.level::text, l.metric, l.change,
                               @extschema@.noisy_report_number(l.ratio, 2),
                               @extschema@.noisy_report_number(l.low, 2) || ' to ' || @extschema@.noisy_report_number(l.high, 2),
                               @extschema@.noisy_report_number(1 + l.floor_pct / 100, 2),
                               replace(l.verdict, '_', ' ') || coalesce(': needs ' || l.needed || ' blocks', '')]
                         ORDER BY l.clients, l.level, l.metric))
    FROM (SELECT i.clients, i.level, m.*,
                 trim_scale(coalesce(100 * (r.parameters ->> 'confidence')::numeric, 95)) AS confidence
          FROM @extschema@.noisy_impact i
          JOIN @extschema@.noisy_run_records r ON r.run_id = i.run_id,
               LATERAL (VALUES
                   ('p99', @extschema@.noisy_report_number(i.p99_change_ms, NULL, true) || ' ms', i.p99_ratio, i.p99_ratio_low,
                    i.p99_ratio_high, i.p99_noise_floor_pct, i.verdict, i.blocks_needed),
                   ('tps', @extschema@.noisy_report_number(i.tps_change_pct, 1, true) || ' %', 1 + i.tps_change_pct / 100,
                    1 + i.tps_change_low_pct / 100, 1 + i.tps_change_high_pct / 100, i.tps_noise_floor_pct, i.tps_verdict, NULL))
                   AS m (metric, change, ratio, low, high, floor_pct, verdict, needed)
          WHERE i.run_id = run AND i.level > 0) AS l
$$;
COMMENT ON FUNCTION noisy_report_impact(bigint) IS 'section of noisy_report(): changes of each dose, with interval and verdict';

CREATE OR REPLACE FUNCTION noisy_report_dose(run bigint) RETURNS text
LANGUAGE sql STABLE PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT E'Dose per load thread in % (lowest and highest: of a thread in a block)\n' ||
           @extschema@.noisy_report_table(
               '{noise,stressor,threads,delivered,lowest,highest,CPU,"rate or amount",unreachable}', 'rlrrrrrrr',
               array_agg(ARRAY[d.level::text, @extschema@.noisy_report_clean(d.stressor, 20), d.threads::text,
                               @extschema@.noisy_report_number(d.achieved, 2), @extschema@.noisy_report_number(d.lowest, 2),
                               @extschema@.noisy_report_number(d.highest, 2), @extschema@.noisy_report_number(d.cpu, 1),
                               CASE WHEN d.rate_unit = 'bytes' THEN @extschema@.noisy_report_bytes(d.rate)
                                    ELSE @extschema@.noisy_report_number(d.rate) || ' ' || d.rate_unit END,
                               CASE WHEN d.unreachable > 0 THEN d.unreachable || ' of ' || d.n ELSE 'none' END]
                         ORDER BY d.level, d.stressor))
    FROM (SELECT b.level, o.stressor, o.rate_unit, count(DISTINCT o.worker) AS threads, avg(o.achieved_pct) AS achieved,
                 min(o.achieved_pct) AS lowest, max(o.achieved_pct) AS highest, avg(o.cpu_pct) AS cpu,
                 avg(o.rate) AS rate, count(*) FILTER (WHERE o.unreachable) AS unreachable, count(*) AS n
          FROM @extschema@.noisy_dose o
          JOIN @extschema@.noisy_blocks b ON b.run_id = o.run_id AND b.block = o.block
          WHERE o.run_id = run AND b.accepted AND b.level > 0
          GROUP BY b.level, o.stressor, o.rate_unit) AS d
$$;
COMMENT ON FUNCTION noisy_report_dose(bigint) IS 'section of noisy_report(): noise asked for and delivered';

-- The five largest of each level, and what each was in the baseline.
CREATE OR REPLACE FUNCTION noisy_report_waits(run bigint) RETURNS text
LANGUAGE sql STABLE PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT E'Where active time went (processes: how many at once, on average; change: against the baseline)\n' ||
           @extschema@.noisy_report_table(
               '{clients,noise,process,"waits for",share,processes,change}', 'rrllrrr',
               array_agg(ARRAY[nullif(w.clients, 0)::text, w.level::text, @extschema@.noisy_report_clean(w.backend_type, 24),
                               @extschema@.noisy_report_clean(
                                   CASE WHEN w.wait_event_type = 'CPU' THEN 'nothing (CPU or its queue)'
                                        ELSE w.wait_event_type || ':' || w.wait_event END, 34),
                               @extschema@.noisy_report_number(w.share_pct, 1) || ' %',
                               @extschema@.noisy_report_number(w.avg_waiters, 2),
                               CASE WHEN w.level > 0 AND w.has_baseline THEN
                                   @extschema@.noisy_report_number(w.avg_waiters - coalesce(w.base_waiters, 0), 2, true) END]
                         ORDER BY w.clients, w.level, w.place))
    FROM (SELECT v.*,
                 row_number() OVER (PARTITION BY v.clients, v.level ORDER BY v.samples DESC, v.backend_type, v.wait_event_type, v.wait_event) AS place,
                 bool_or(v.level = 0) OVER (PARTITION BY v.clients) AS has_baseline,
                 max(v.avg_waiters) FILTER (WHERE v.level = 0)
                     OVER (PARTITION BY v.clients, v.backend_type, v.wait_event_type, v.wait_event) AS base_waiters
          FROM @extschema@.noisy_wait_events v
          WHERE v.run_id = run) AS w
    WHERE w.place <= 5
$$;
COMMENT ON FUNCTION noisy_report_waits(bigint) IS 'section of noisy_report(): the largest waits of each level';

CREATE OR REPLACE FUNCTION noisy_report_server(run bigint) RETURNS text
LANGUAGE sql STABLE PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT E'Checkpoints, and writes in MiB/s (running: seconds in which a checkpoint was in progress)\n' ||
           @extschema@.noisy_report_table(
               '{clients,noise,blocks,timed,requested,done,running,checkpointer,bgwriter,backends,WAL}', 'rrrrrrrrrrr',
               array_agg(ARRAY[nullif(s.clients, 0)::text, s.level::text, s.blocks::text, s.timed::text, s.requested::text, s.done::text,
                               @extschema@.noisy_report_number(s.running_pct, 0) || ' %',
                               @extschema@.noisy_report_number(s.checkpointer_bytes / s.seconds / 1048576, 2),
                               @extschema@.noisy_report_number(s.bgwriter_bytes / s.seconds / 1048576, 2),
                               @extschema@.noisy_report_number(s.backend_bytes / s.seconds / 1048576, 2),
                               @extschema@.noisy_report_number(s.wal_bytes / s.seconds / 1048576, 2)]
                         ORDER BY s.clients, s.level)) ||
           coalesce((SELECT E'\n' || string_agg(@extschema@.noisy_report_wrap(
                                @extschema@.noisy_report_clean(n.note, 300), '  - ', '    '), E'\n' ORDER BY n.note)
                     FROM (SELECT DISTINCT u.note FROM @extschema@.noisy_bgwriter w, unnest(string_to_array(w.note, '; ')) AS u (note)
                           WHERE w.run_id = run) AS n), '')
    FROM (SELECT b.clients, b.level, count(*) AS blocks, sum(b.duration_s) AS seconds, sum(w.checkpoints_timed) AS timed,
                 sum(w.checkpoints_requested) AS requested, sum(w.checkpoints_done) AS done,
                 100 * avg(t.running_share) AS running_pct,
                 sum(w.checkpointer_bytes)::float8 AS checkpointer_bytes, sum(w.bgwriter_bytes)::float8 AS bgwriter_bytes,
                 sum(w.backend_bytes)::float8 AS backend_bytes, sum(w.wal_bytes)::float8 AS wal_bytes
          FROM @extschema@.noisy_blocks b
          JOIN @extschema@.noisy_bgwriter w ON w.run_id = b.run_id AND w.block = b.block
          LEFT JOIN LATERAL (SELECT avg(l.checkpoint::int)::float8 AS running_share FROM @extschema@.noisy_timeline l
                             WHERE l.run_id = b.run_id AND l.block = b.block) AS t ON true
          WHERE b.run_id = run AND b.accepted
          GROUP BY b.clients, b.level) AS s
$$;
COMMENT ON FUNCTION noisy_report_server(bigint) IS 'section of noisy_report(): checkpoints and buffers';

CREATE OR REPLACE FUNCTION noisy_report_host(run bigint) RETURNS text
LANGUAGE sql STABLE PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT E'CPU in % of the host (queue: time that server processes waited for a CPU, % of one CPU)\n' ||
           @extschema@.noisy_report_table(
               '{clients,noise,server,noise,driver,own,foreign,steal,iowait,idle,queue,throttled}', 'rrrrrrrrrrrr',
               array_agg(ARRAY[nullif(h.clients, 0)::text, h.level::text, @extschema@.noisy_report_number(h.server, 1),
                               @extschema@.noisy_report_number(h.noise, 1), @extschema@.noisy_report_number(h.driver, 1),
                               @extschema@.noisy_report_number(h.own, 1), @extschema@.noisy_report_number(h.foreigners, 1),
                               @extschema@.noisy_report_number(h.steal, 1), @extschema@.noisy_report_number(h.iowait, 1),
                               @extschema@.noisy_report_number(h.idle, 1), @extschema@.noisy_report_number(h.queue, 1),
                               @extschema@.noisy_report_number(h.throttled, 1)]
                         ORDER BY h.clients, h.level)) ||
           coalesce((SELECT E'\n' || string_agg(@extschema@.noisy_report_wrap(
                                @extschema@.noisy_report_clean(n.note, 300), '  - ', '    '), E'\n' ORDER BY n.note)
                     FROM (SELECT DISTINCT u.note FROM @extschema@.noisy_host_usage u WHERE u.run_id = run AND u.note <> '') AS n), '')
    FROM (SELECT b.clients, b.level, avg(u.server_pct) AS server, avg(u.noise_pct) AS noise, avg(u.driver_pct) AS driver,
                 avg(u.own_pct) AS own, avg(u.foreign_pct) AS foreigners, avg(u.steal_pct) AS steal,
                 avg(u.iowait_pct) AS iowait, avg(u.idle_pct) AS idle, avg(u.run_delay_pct) AS queue,
                 avg(u.throttled_pct) AS throttled
          FROM @extschema@.noisy_blocks b
          JOIN @extschema@.noisy_host_usage u ON u.run_id = b.run_id AND u.block = b.block
          WHERE b.run_id = run AND b.accepted
          GROUP BY b.clients, b.level) AS h
$$;
COMMENT ON FUNCTION noisy_report_host(bigint) IS 'section of noisy_report(): who used the CPUs';

-- Warnings: what to know before one believes the figures.

CREATE OR REPLACE FUNCTION noisy_report_warnings_run(run bigint) RETURNS SETOF text
LANGUAGE sql STABLE PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT CASE WHEN r.state IN ('starting', 'running') THEN 'The run is on: these are the blocks so far.'
                ELSE format('The run has not measured all of its blocks: %s.', r.state) END
           || coalesce(' Reason: ' || @extschema@.noisy_report_clean(r.error, 600), '')
    FROM @extschema@.noisy_runs r WHERE r.run_id = run AND r.state <> 'completed'
    UNION ALL
    SELECT format('%s of %s doses of the plan have no block that counts: the guard has rejected every one that was measured.',
                  count(*) FILTER (WHERE NOT d.counts), count(*))
    FROM (SELECT bool_or(b.accepted) AS counts
          FROM @extschema@.noisy_blocks b
          WHERE b.run_id = run AND b.level > 0 GROUP BY b.clients, b.repeat, b.level) AS d
    HAVING NOT bool_and(d.counts)
    UNION ALL
    SELECT format('The load driver used 90 %% of a CPU or more in %s of %s blocks (busiest thread: %s %%): it, not the '
                  'server, may have been the limit. Raise "threads".', count(*) FILTER (WHERE b.driver_bound), count(*),
                  @extschema@.noisy_report_number(max(b.driver_busiest_pct), 0))
    FROM @extschema@.noisy_blocks b WHERE b.run_id = run AND b.accepted HAVING bool_or(b.driver_bound)
    UNION ALL
    SELECT format('%s transactions failed: %s serialization failures, %s deadlocks, %s lost connections, %s other errors.',
                  sum(b.errors), coalesce(sum(b.serialization_failures), 0), coalesce(sum(b.deadlocks), 0),
                  coalesce(sum(b.connection_errors), 0), coalesce(sum(b.other_errors), 0))
           || coalesce(' Last: ' || @extschema@.noisy_report_clean((array_agg(b.last_error ORDER BY b.block DESC)
                                                                    FILTER (WHERE b.last_error <> ''))[1], 200), '')
    FROM @extschema@.noisy_blocks b WHERE b.run_id = run AND b.accepted HAVING sum(b.errors) > 0
    UNION ALL
    SELECT format('With %s clients, noise of %s %%: no transaction ended in %s of %s blocks.', i.clients, i.level,
                  i.stalled_blocks, i.dose_blocks)
    FROM @extschema@.noisy_impact i WHERE i.run_id = run AND i.stalled_blocks > 0
    UNION ALL
    SELECT 'Each dose has one block only: there is no interval, so no verdict. Ask for more repeats.'
    FROM @extschema@.noisy_impact i WHERE i.run_id = run AND i.level > 0 HAVING max(i.dose_blocks) = 1
    UNION ALL
    SELECT format('The baselines with %s differ among themselves: only changes by more than a factor of %s (p99) and %s '
                  '(tps) count, by %s of baselines. A quieter machine, longer blocks or more repeats would show smaller ones.',
                  i.clients || CASE WHEN i.clients = 1 THEN ' client' ELSE ' clients' END, @extschema@.noisy_report_number(1 + i.p99_noise_floor_pct / 100, 2),
                  @extschema@.noisy_report_number(1 + i.tps_noise_floor_pct / 100, 2),
                  i.baseline_pairs || CASE WHEN i.baseline_pairs = 1 THEN ' pair' ELSE ' pairs' END)
    FROM @extschema@.noisy_impact i
    WHERE i.run_id = run AND i.level = 0 AND greatest(i.p99_noise_floor_pct, i.tps_noise_floor_pct) > 20
    UNION ALL
    SELECT 'Fewer than ten transactions lie beyond the percentiles with a star: chance rules them. Ask for longer blocks '
           'or more repeats.'
    FROM @extschema@.noisy_results s
    WHERE s.run_id = run HAVING bool_or(s.low_n && '{p50_ms,p95_ms,p99_ms,p999_ms}') AND sum(s.transactions) > 0
    UNION ALL
    SELECT 'No transaction ended in the whole run: nothing was measured.'
    FROM @extschema@.noisy_results s
    WHERE s.run_id = run AND s.clients > 0 HAVING sum(s.transactions) = 0
    UNION ALL
    SELECT 'The clients drove the server that "conninfo" names. Host, server, waits, checkpoints and CPU are those of the server '
           'where the run was started: they say nothing about the other one if that is elsewhere.'
    FROM @extschema@.noisy_run_records r WHERE r.run_id = run AND r.parameters ->> 'server' IS NOT NULL
$$;
COMMENT ON FUNCTION noisy_report_warnings_run(bigint) IS 'warnings of noisy_report() about the run and its workload';

CREATE OR REPLACE FUNCTION noisy_report_warnings_host(run bigint) RETURNS SETOF text
LANGUAGE sql STABLE PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT format('Dose not delivered: %s missed noise of %s %% by more than one percentage point in %s of %s cases (a thread in '
                  'a block), %s %% on average: it was not to be had, or the warm-up was too short to take it.', d.stressor, d.level, d.missed, d.n,
                  coalesce(@extschema@.noisy_report_number(d.achieved, 1), '-'))
    FROM (SELECT o.stressor, b.level, avg(o.achieved_pct) AS achieved, count(*) AS n,
                 count(*) FILTER (WHERE o.unreachable) AS missed
          FROM @extschema@.noisy_dose o
          JOIN @extschema@.noisy_blocks b ON b.run_id = o.run_id AND b.block = o.block
          WHERE o.run_id = run AND b.accepted
          GROUP BY o.stressor, b.level HAVING bool_or(o.unreachable)
          ORDER BY o.stressor, b.level) AS d
    UNION ALL
    SELECT format('%s %% of the wait-event samples were missed: the sampler itself did not get the CPU.',
                  @extschema@.noisy_report_number(100 - 100 * sum(b.samples_taken)::float8 / sum(b.samples_expected)::float8, 1))
    FROM @extschema@.noisy_blocks b WHERE b.run_id = run AND b.accepted
    HAVING sum(b.samples_taken) < 0.95 * sum(b.samples_expected)
    UNION ALL
    SELECT format('Foreign processes used more than 3 %% of the host''s CPU in %s of %s blocks, up to %s %%.',
                  count(*) FILTER (WHERE u.foreign_pct > 3), count(*), @extschema@.noisy_report_number(max(u.foreign_pct), 1))
    FROM @extschema@.noisy_host_usage u
    JOIN @extschema@.noisy_blocks b ON b.run_id = u.run_id AND b.block = u.block
    WHERE u.run_id = run AND b.accepted HAVING max(u.foreign_pct) > 3
    UNION ALL
    SELECT format('The hypervisor took up to %s %% of the host''s CPU in a block (steal): a neighbour, or a limit of this machine.',
                  @extschema@.noisy_report_number(max(u.steal_pct), 1))
    FROM @extschema@.noisy_host_usage u
    JOIN @extschema@.noisy_blocks b ON b.run_id = u.run_id AND b.block = u.block
    WHERE u.run_id = run AND b.accepted HAVING max(u.steal_pct) > 1
    UNION ALL
    SELECT concat_ws(' ', format('A CPU quota of %s CPUs binds', @extschema@.noisy_report_number(q.quota, 2)),
                     '(' || @extschema@.noisy_report_clean(q.source) || ')')
           || coalesce('; the group was throttled for up to ' || @extschema@.noisy_report_number(t.throttled, 1) || ' % of a block', '')
           || ': noise takes from the same quota as the server.'
    FROM (SELECT (r.environment ->> 'quota_cpus')::float8 AS quota, r.environment ->> 'quota_source' AS source,
                 coalesce((r.environment ->> 'affinity_cpus')::float8, (r.environment ->> 'online_cpus')::float8) AS cpus
          FROM @extschema@.noisy_run_records r WHERE r.run_id = run) AS q,
         (SELECT nullif(max(u.throttled_pct), 0) AS throttled FROM @extschema@.noisy_host_usage u WHERE u.run_id = run) AS t
    WHERE q.quota < q.cpus OR q.quota IS NOT NULL AND t.throttled IS NOT NULL
    UNION ALL
    SELECT format('Checkpoints with %s clients are unevenly spread: one was in progress for %s %% of the time at one level, for %s %% at '
                  'another. Set options => ''{"checkpoint": "before_block"}''.', s.clients,
                  @extschema@.noisy_report_number(min(s.share), 0), @extschema@.noisy_report_number(max(s.share), 0))
    FROM (SELECT l.clients, l.level, 100 * avg(l.checkpoint::int)::float8 AS share
          FROM @extschema@.noisy_timeline l
          JOIN @extschema@.noisy_blocks b ON b.run_id = l.run_id AND b.block = l.block
          WHERE l.run_id = run AND b.accepted
          GROUP BY l.clients, l.level) AS s
    GROUP BY s.clients HAVING max(s.share) - min(s.share) > 25
    UNION ALL
    SELECT 'sched_autogroup is on: the scheduler weighs sessions, not processes, so the effect of CPU noise depends on how many '
           'processes make it' || coalesce(' (here ' || (r.parameters ->> 'noise_processes') || ')', '') || '.'
    FROM @extschema@.noisy_run_records r WHERE r.run_id = run AND r.environment ->> 'autogroup' = '1'
$$;
COMMENT ON FUNCTION noisy_report_warnings_host(bigint) IS 'warnings of noisy_report() about noise, host and server';

CREATE OR REPLACE FUNCTION noisy_report(run_id bigint) RETURNS text
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    run      bigint := noisy_report.run_id;
    title    text;
    warnings text;
BEGIN
    SELECT format('Run %s: %s%s: %s', r.run_id, coalesce(@extschema@.noisy_report_clean(r.workload), 'noise alone'),
                  ', noise of ' || @extschema@.noisy_report_list(r.parameters -> 'levels') || ' %', r.state)
        INTO title FROM @extschema@.noisy_runs r WHERE r.run_id = run;
    IF run IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'null_value_not_allowed', MESSAGE = 'argument "run_id" must not be null';
    ELSIF title IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'undefined_object', MESSAGE = format('run %s does not exist', run),
            HINT = format('The runs are in %s.noisy_runs.', '@extschema@');
    END IF;
    SELECT string_agg(@extschema@.noisy_report_wrap(w.warning, '  - ', '    '), E'\n') INTO warnings
        FROM (SELECT @extschema@.noisy_report_warnings_run(run)
              UNION ALL SELECT @extschema@.noisy_report_warnings_host(run)) AS w (warning);
    RETURN concat_ws(E'\n\n',
        title,
        @extschema@.noisy_report_wrap(@extschema@.noisy_report_verdict(run), 'Verdict: ', '         '),
        @extschema@.noisy_report_what(run),
        @extschema@.noisy_report_guard(run),
        @extschema@.noisy_report_results(run),
        @extschema@.noisy_report_timeline(run),
        @extschema@.noisy_report_open_loop(run),
        @extschema@.noisy_report_impact(run),
        @extschema@.noisy_report_why(run),
        @extschema@.noisy_report_lock_probe(run),
        @extschema@.noisy_report_dose(run),
        @extschema@.noisy_report_waits(run),
        @extschema@.noisy_report_server(run),
        @extschema@.noisy_report_checkpoints(run),
        @extschema@.noisy_report_host(run),
        E'Warnings\n' || coalesce(warnings, '  none')) || E'\n';
END
$$;
COMMENT ON FUNCTION noisy_report(bigint)
    IS 'a run on one page of text: verdict, what ran on what, blocks that do not count, throughput and latency, changes, dose, waits, checkpoints, CPU, warnings';
