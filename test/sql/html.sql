-- The HTML report of runs that are made by hand: nothing of anybody's ends as markup, and every section is there or says why not.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS pg_noisyneighbor;
RESET client_min_messages;
SET timezone = 'UTC';
\set SHOW_CONTEXT never
\set ON_ERROR_ROLLBACK on
\pset null '(null)'

-- Text, json and numbers
SELECT noisy_html_text(E'</script><img src=x onerror="alert(1)">&\'\n\x01') AS text, noisy_html_text(NULL) AS nothing,
       noisy_html_text(repeat('x', 400), 10) AS cut;
SELECT noisy_html_json('{"a":"</script><!--&"}') AS json;
SELECT noisy_html_px(12.345) AS px, noisy_html_px(-0.04) AS nearly_zero, noisy_html_px(NULL) AS none;
SELECT noisy_html_ticks(0, 743, 5) AS ticks, noisy_html_ticks(0.13, 0.29) AS small, noisy_html_ticks(3, 3) AS no_room,
       noisy_html_log_ticks(0.7, 600) AS log, noisy_html_log_ticks(11, 17) AS narrow;
SELECT noisy_html_tick_labels('{0,0.5,1500,20000,3000000}') AS labels;
SELECT noisy_html_path('{1,2,3,4,5}', '{10,11,NULL,13.26,NULL}') AS line;
SELECT noisy_html_y(10, 1, 100, 0, 200, true) AS logarithmic, noisy_html_y(25, 0, 100, 0, 200, false) AS linear, noisy_html_y(0, 1, 100, 0, 200, true) AS zero;
SELECT noisy_html_table('a <b>', '{x,y}', 'lr', '{{1,NULL},{"<i>",impact}}') AS "table", noisy_html_table('a', '{x}', 'l', NULL) AS "no rows";
SELECT noisy_html_section('i', 'A & B', NULL, 'nothing <was> measured') AS section;

BEGIN;
CREATE FUNCTION pg_temp.same(n int, ms float8) RETURNS noisy_histogram LANGUAGE sql
    AS $$ SELECT noisy_histogram_agg(ms + i % 10 * ms / 100) FROM generate_series(1, n) AS i $$;
CREATE FUNCTION pg_temp.evil() RETURNS text LANGUAGE sql
    AS $$ SELECT '</script><img src=x onerror="alert(1)">''&' $$;
-- Everything that can be text is hostile.
CREATE FUNCTION pg_temp.add_run(run bigint, clients int[], levels numeric[], repeats int, seconds int) RETURNS void LANGUAGE sql AS $$
    INSERT INTO noisy_run_records
        SELECT run, 'l' || pg_temp.evil(), 'stopped', '2026-01-01 00:00+00', '2026-01-01 02:00+00', pg_temp.evil(), 'w' || pg_temp.evil(),
               jsonb_build_object('levels', levels, 'clients', clients, 'server', pg_temp.evil(), 'duration_s', seconds, 'x' || pg_temp.evil(), pg_temp.evil()),
               jsonb_build_object('host_name', pg_temp.evil(), 'cpu_model', pg_temp.evil(), 'kernel', pg_temp.evil(),
                                  'settings', jsonb_build_object('server_version', pg_temp.evil(), 's' || pg_temp.evil(), pg_temp.evil())),
               1, pg_temp.evil();
    INSERT INTO noisy_blocks (run_id, block, repeat, clients, level, achieved_pct, started_at, duration_s, accepted, reject_reason, transactions, errors,
                              tps, latency, samples_expected, samples_taken, last_error)
        SELECT run, row_number() OVER (ORDER BY r, c, l), r, c, l, l * 0.9,
               '2026-01-01 00:00+00'::timestamptz + (row_number() OVER (ORDER BY r, c, l)) * (seconds + 2) * interval '1 s', seconds,
               NOT (r = 2 AND l = 30), CASE WHEN r = 2 AND l = 30 THEN 'r' || pg_temp.evil() END, 100 * seconds, 1, 100 - l / 2,
               pg_temp.same(100 * seconds, c * (1 + l::float8 / 20 + r * 0.01)), 100, 100, pg_temp.evil()
        FROM generate_series(1, repeats) AS r, unnest(clients) AS c, unnest(levels) AS l;
    INSERT INTO noisy_timeline (run_id, block, at, second, clients, level, transactions, errors, tps, p50_ms, p95_ms, p99_ms, max_ms)
        SELECT run, b.block, b.started_at + (s - 1) * interval '1 s', s, b.clients, b.level, b.tps, 0, b.tps + s % 7, 1 + b.level / 10, 2 + b.level / 10,
               3 + b.level / 10, 5 + b.level
        FROM noisy_blocks b, generate_series(1, seconds) AS s WHERE b.run_id = run;
    INSERT INTO noisy_checkpoints SELECT run, k, '2026-01-01 00:00+00'::timestamptz + k * interval '20 s', '2026-01-01 00:00+00'::timestamptz + k * interval '27 s',
            (ARRAY['timed', 'requested', NULL])[k], k < 3, 1, 1, pg_temp.evil() FROM generate_series(1, 3) AS k;
    INSERT INTO noisy_dose SELECT run, b.block, 's' || pg_temp.evil(), 1, b.level, b.level, 1, 'u' || pg_temp.evil(), 1, false, NULL
        FROM noisy_blocks b WHERE b.run_id = run;
    INSERT INTO noisy_wait_samples SELECT run, b.block, 'b' || pg_temp.evil(), w, 'e' || pg_temp.evil(), 10, 2
        FROM noisy_blocks b, unnest(ARRAY['CPU', 'LWLock', 'IO', 'Extension', pg_temp.evil()]) AS w WHERE b.run_id = run;
$$;
SELECT pg_temp.add_run(900001, '{1,4}', '{0,10,20,30,40}', 3, 5);
CREATE FUNCTION pg_temp.count_of(page text, what text) RETURNS int LANGUAGE sql
    AS $$ SELECT (length(page) - length(replace(page, what, ''))) / length(what) $$;
CREATE TEMP TABLE pages AS SELECT noisy_report_html(900001) AS page;

SELECT page !~ '<img' AND page !~ 'onerror="' AS "no text became markup",
       page ~ 'l&lt;/script&gt;&lt;img src=x onerror=&quot;alert\(1\)&quot;&gt;&#39;&amp;' AS "the label is there, as text",
       pg_temp.count_of(page, '<script') = 3 AND pg_temp.count_of(page, '</script') = 3 AS "scripts: two sets of values, and the program",
       octet_length(page) = length(page) AND page !~ '[^\u0001-\u007e]' AS "it is ASCII",
       page !~ '(src|href)="[^#"]' AND page !~ 'url\((?!#)' AND page !~ '@import' AS "nothing is loaded",
       page ~ 'default-src ''none''' AS "and nothing may be" FROM pages;
SELECT string_agg(m[1], ' ') AS sections FROM pages, regexp_matches(page, '<section id="r900001-([a-z]+)"', 'g') AS m;
SELECT count(*) = count(DISTINCT m[1]) AS "ids are unique" FROM pages, regexp_matches(page, ' id="([^"]*)"', 'g') AS m;
SELECT count(*) AS "references to ids that are not there"
FROM pages, regexp_matches(page, '(?:href="#|url\(#|for="|aria-labelledby=")([^" )]+)', 'g') AS m
WHERE strpos(page, ' id="' || m[1] || '"') = 0;
SELECT pg_temp.count_of(page, '<svg') = pg_temp.count_of(page, 'role="img"') AND pg_temp.count_of(page, '<svg') = pg_temp.count_of(page, '<desc')
           AS "every picture has a text alternative",
       pg_temp.count_of(page, '<table') = pg_temp.count_of(page, '<caption>') AS "every table has a caption",
       strpos(page, 'class="verdict') BETWEEN 1 AND strpos(page, '<section') AS "the verdict comes first",
       pg_temp.count_of(page, 'class="rejected"') AS "rejected blocks, in two pictures", pg_temp.count_of(page, '<title>checkpoint') AS "checkpoints" FROM pages;
SELECT json_array_length(v.data -> 'x') AS points, (SELECT count(*) FROM json_array_elements(v.data -> 'series')) AS series,
       (SELECT bool_and(json_array_length(s -> 'values') = json_array_length(v.data -> 'x')) FROM json_array_elements(v.data -> 'series') AS s) AS complete
FROM pages, regexp_matches(page, '<script type="application/json">([^<]*)</script>', 'g') AS m, LATERAL (SELECT m[1]::json AS data) AS v;

-- Several runs share a colour scale; a run that is named twice is shown once
SELECT pg_temp.add_run(900002, '{1,4}', '{0,30}', 2, 5);
SELECT string_agg(m[1], ' ') AS articles, pg_temp.count_of(min(page), 'one scale for all runs') > 0 AS "one scale",
       pg_temp.count_of(min(page), 'class="verdict') AS verdicts
FROM (SELECT noisy_report_html(900002, 900001, 900002) AS page) AS p, regexp_matches(page, '<article id="([^"]*)"', 'g') AS m;

-- Sections without data say why
INSERT INTO noisy_run_records VALUES (900003, NULL, 'failed', '2026-01-01 00:00+00', NULL, 'somebody', 'tpcb-like', '{}', '{}', 1, 'no luck'),
    (900004, NULL, 'completed', '2026-01-01 00:00+00', '2026-01-01 00:01+00', 'somebody', NULL, '{}', '{}', 1, NULL);
INSERT INTO noisy_blocks (run_id, block, repeat, clients, level, achieved_pct, started_at, duration_s, accepted)
    VALUES (900004, 1, 1, 0, 30, 30, '2026-01-01 00:00+00', 10, true);
INSERT INTO noisy_timeline (run_id, block, at, second, clients, level) SELECT 900004, 1, '2026-01-01 00:00+00'::timestamptz + s * interval '1 s', s, 0, 30
    FROM generate_series(1, 10) AS s;
SELECT run, m[1] AS section, m[2] AS why
FROM unnest('{900003,900004}'::bigint[]) AS run, regexp_matches(noisy_report_html(run), '<section id="r\d+-([a-z]+)"[^>]*><h3[^>]*>[^<]*</h3><p class="why">([^<]*)', 'g') AS m;

-- An hour stays small
SELECT pg_temp.add_run(900005, '{8}', '{0,10,20,30,40,50}', 10, 60);
SELECT length(page) < 500000 AS "below 500 KB", page ~ 'A point stands for up to 6 s' AS "points are put together"
FROM (SELECT noisy_report_html(900005) AS page) AS p;

-- Refusals
SELECT noisy_report_html(900001, 987654321);
SELECT noisy_report_html(NULL);
SELECT noisy_report_html(VARIADIC '{}');
SELECT noisy_report_html(VARIADIC NULL);
ROLLBACK;
