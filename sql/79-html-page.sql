-- The HTML report: sections, and the page.

CREATE FUNCTION noisy_html_section(id text, title text, content text, why_not text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT format('<section id="%s" aria-labelledby="%1$s-h"><h3 id="%1$s-h">%s</h3>%s</section>', id, @extschema@.noisy_html_text(title),
                  coalesce(nullif(content, ''), format('<p class="why">%s</p>', @extschema@.noisy_html_text(why_not))))
$$;
COMMENT ON FUNCTION noisy_html_section(text, text, text, text) IS 'a section of the page: its content, or why it has none';

-- "impact. With 8 clients, …" has its first word set apart
CREATE FUNCTION noisy_html_verdict(run bigint, named boolean) RETURNS text
LANGUAGE sql STABLE PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT format('<p class="verdict %s"><strong>%s%s</strong> %s</p>', substring(v.verdict FROM '^[a-z]+'),
                  CASE WHEN named THEN format('<a href="#r%s">Run %1$s</a>: ', run) ELSE '' END,
                  upper(left(v.verdict, 1)) || substr(v.verdict, 2, strpos(v.verdict, '.') - 1),
                  @extschema@.noisy_html_text(ltrim(substr(v.verdict, strpos(v.verdict, '.') + 1)), 600))
    FROM (SELECT @extschema@.noisy_report_verdict(run) AS verdict) AS v
$$;
COMMENT ON FUNCTION noisy_html_verdict(bigint, boolean) IS 'the verdict on a run, with its id where there are several';

CREATE FUNCTION noisy_html_levels(run bigint) RETURNS text
LANGUAGE sql STABLE PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT @extschema@.noisy_html_table(
               'Noise in % asked and delivered; blocks that count; changes against the baselines around each block, with their interval',
               '{clients,noise,delivered,blocks,tps,"tps change","tps verdict","p50, ms","p99, ms","p99 ratio","p99 verdict"}', 'rrrrrrlrrrl',
               array_agg(ARRAY[s.clients::text, s.level || ' %', @extschema@.noisy_report_number(s.achieved_pct, 1) || ' %',
                               s.blocks || CASE WHEN s.rejected_blocks > 0 THEN format(' (of %s)', s.blocks + s.rejected_blocks) ELSE '' END, @extschema@.noisy_report_number(s.tps, CASE WHEN s.tps < 1000 THEN 1 ELSE 0 END),
                               CASE WHEN s.level > 0 THEN
                                   @extschema@.noisy_report_number(i.tps_change_pct, 1, true) || ' %'
                                   || coalesce(' (' || @extschema@.noisy_report_number(i.tps_change_low_pct, 0, true) || ' to '
                                               || @extschema@.noisy_report_number(i.tps_change_high_pct, 0, true) || ')', '') END,
                               replace(i.tps_verdict, '_', ' '),
                               @extschema@.noisy_report_number(s.p50_ms), @extschema@.noisy_report_number(s.p99_ms),
                               CASE WHEN s.level > 0 THEN
                                   @extschema@.noisy_report_number(i.p99_ratio, 2)
                                   || coalesce(' (' || @extschema@.noisy_report_number(i.p99_ratio_low, 2) || ' to '
                                               || @extschema@.noisy_report_number(i.p99_ratio_high, 2) || ')', '') END,
                               replace(i.verdict, '_', ' ')]
                         ORDER BY s.clients, s.level))
    FROM @extschema@.noisy_results s
    LEFT JOIN @extschema@.noisy_impact i ON i.run_id = run AND i.clients = s.clients AND i.level = s.level
    WHERE s.run_id = run AND s.clients > 0
$$;
COMMENT ON FUNCTION noisy_html_levels(bigint) IS 'table of levels with their changes; NULL without a workload';

CREATE FUNCTION noisy_html_latency(run bigint) RETURNS text
LANGUAGE sql STABLE PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT '<div class="pair">' || (SELECT string_agg(@extschema@.noisy_html_percentiles(run, format('r%s-p%s', run, c.clients), c.clients), '' ORDER BY c.clients)
                                    FROM (SELECT DISTINCT b.clients FROM @extschema@.noisy_blocks b
                                          WHERE b.run_id = run AND b.accepted AND b.clients > 0 ORDER BY b.clients LIMIT 8) AS c)
           || '</div>' || @extschema@.noisy_html_table(
               'Latency in ms, from merged histograms; a star: fewer than ten transactions lie beyond',
               '{clients,noise,mean,p50,p75,p90,p95,p99,p99.9,max,transactions,errors}', 'rrrrrrrrrrrr',
               array_agg(ARRAY[s.clients::text, s.level || ' %', @extschema@.noisy_report_number(s.avg_ms),
                               @extschema@.noisy_report_number(s.p50_ms) || CASE WHEN 'p50_ms' = ANY (s.low_n) THEN '*' ELSE '' END,
                               @extschema@.noisy_report_number(s.p75_ms) || CASE WHEN 'p75_ms' = ANY (s.low_n) THEN '*' ELSE '' END,
                               @extschema@.noisy_report_number(s.p90_ms) || CASE WHEN 'p90_ms' = ANY (s.low_n) THEN '*' ELSE '' END,
                               @extschema@.noisy_report_number(s.p95_ms) || CASE WHEN 'p95_ms' = ANY (s.low_n) THEN '*' ELSE '' END,
                               @extschema@.noisy_report_number(s.p99_ms) || CASE WHEN 'p99_ms' = ANY (s.low_n) THEN '*' ELSE '' END,
                               @extschema@.noisy_report_number(s.p999_ms) || CASE WHEN 'p999_ms' = ANY (s.low_n) THEN '*' ELSE '' END,
                               @extschema@.noisy_report_number(s.max_ms), s.transactions::text, s.errors::text]
                         ORDER BY s.clients, s.level))
    FROM @extschema@.noisy_results s
    WHERE s.run_id = run AND s.clients > 0 AND s.p50_ms IS NOT NULL
$$;
COMMENT ON FUNCTION noisy_html_latency(bigint) IS 'latency percentiles of each level; NULL: there are none';

CREATE FUNCTION noisy_html_curves(run bigint) RETURNS text
LANGUAGE sql STABLE PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT '<div class="pair">' || string_agg(@extschema@.noisy_html_sensitivity(run, format('r%s-s%s-%s', run, c.clients, m.metric), c.clients, m.metric), ''
                                              ORDER BY c.clients, m.metric) || '</div>'
    FROM (SELECT DISTINCT b.clients FROM @extschema@.noisy_blocks b
          WHERE b.run_id = run AND b.accepted AND b.clients > 0 ORDER BY b.clients LIMIT 8) AS c,
         unnest('{p99,tps}'::text[]) AS m (metric)
$$;
COMMENT ON FUNCTION noisy_html_curves(bigint) IS 'sensitivity of p99 and tps to the dose delivered; NULL: there are fewer than two doses';

CREATE FUNCTION noisy_html_waits(run bigint) RETURNS text
LANGUAGE sql STABLE PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
AS $$
    WITH events AS (
        SELECT w.*, CASE WHEN w.wait_event_type LIKE 'Buffer%' THEN 8
                         ELSE coalesce(array_position('{CPU,Timeout,LWLock,Lock,IO,Client,IPC}', w.wait_event_type), 9) END AS kind
        FROM @extschema@.noisy_wait_events w WHERE w.run_id = run),
    bars AS (
        SELECT jsonb_agg(jsonb_build_object('label', concat_ws(', ', nullif(r.clients, 0) || ' clients', CASE WHEN r.level = 0 THEN 'baseline' ELSE r.level || ' %' END),
                                            'values', r.parts) ORDER BY r.clients, r.level) AS rows
        FROM (SELECT l.clients, l.level, jsonb_agg(coalesce(l.waiters, 0) ORDER BY l.kind) AS parts
              FROM (SELECT k.clients, k.level, k.kind,
                           (SELECT sum(e.avg_waiters) FROM events e WHERE e.clients = k.clients AND e.level = k.level AND e.kind = k.kind) AS waiters
                    FROM (SELECT DISTINCT v.clients, v.level, g AS kind FROM events v, generate_series(1, 9) AS g) AS k) AS l
              GROUP BY l.clients, l.level) AS r)
    SELECT @extschema@.noisy_html_bars(format('r%s-w', run), 'Processes at once, by what they waited for',
               'A bar for each number of clients and noise level. The table of waits has the largest figures.',
               '{"CPU or its queue",Timeout,LWLock,Lock,IO,Client,IPC,"buffer pin",other}', 'processes', b.rows)
        || (SELECT @extschema@.noisy_html_table('The largest waits of each level: share of active time, processes at once, and change against the baseline',
                       '{clients,noise,process,"waits for",share,processes,change}', 'rrllrrr',
                       array_agg(ARRAY[nullif(w.clients, 0)::text, w.level || ' %', w.backend_type,
                                       CASE WHEN w.wait_event_type = 'CPU' THEN 'nothing (CPU or its queue)' ELSE w.wait_event_type || ':' || w.wait_event END,
                                       @extschema@.noisy_report_number(w.share_pct, 1) || ' %', @extschema@.noisy_report_number(w.avg_waiters, 2),
                                       CASE WHEN w.level > 0 AND w.has_baseline THEN
                                           @extschema@.noisy_report_number(w.avg_waiters - coalesce(w.base_waiters, 0), 2, true) END]
                                 ORDER BY w.clients, w.level, w.place))
            FROM (SELECT v.*, row_number() OVER (PARTITION BY v.clients, v.level
                                                 ORDER BY v.samples DESC, v.backend_type, v.wait_event_type, v.wait_event) AS place,
                         bool_or(v.level = 0) OVER (PARTITION BY v.clients) AS has_baseline,
                         max(v.avg_waiters) FILTER (WHERE v.level = 0)
                             OVER (PARTITION BY v.clients, v.backend_type, v.wait_event_type, v.wait_event) AS base_waiters
                  FROM events v) AS w
            WHERE w.place <= 3)
    FROM bars b
$$;
COMMENT ON FUNCTION noisy_html_waits(bigint) IS 'where active time went, at the baseline and each level; NULL: nothing was sampled';

CREATE FUNCTION noisy_html_attribution(run bigint) RETURNS text
LANGUAGE sql STABLE PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
AS $$
    WITH parts AS MATERIALIZED (SELECT * FROM @extschema@.noisy_attribution t WHERE t.run_id = run)
    SELECT string_agg(@extschema@.noisy_html_bars(format('r%s-a-%s', run, s.scope), s.title,
                          'A bar for each number of clients and noise level. The table has the figures, and those below zero.',
                          '{CPU,"run queue",LWLock,Lock,IO,"client and driver",steal,"other waits",unexplained,"waiting for a client"}', 'ms', s.rows),
                      '' ORDER BY s.scope)
        || (SELECT @extschema@.noisy_html_table('Where the change of the mean latency against the baseline came from, ms',
                       '{clients,noise,CPU,"run queue",LWLock,Lock,IO,client,steal,other,unexplained,"in all"}', 'rrrrrrrrrrrr', array_agg(t.cells ORDER BY t.clients, t.level))
            FROM (SELECT a.clients, a.level,
                         ARRAY[a.clients::text, a.level || ' %']
                         || (SELECT array_agg((SELECT max(@extschema@.noisy_report_number(c.delta_ms, NULL, true))
                                               FROM parts c
                                               WHERE c.clients = a.clients AND c.level = a.level AND c.scope = 'mean'
                                                 AND c.component = n.component) ORDER BY n.i)
                             FROM unnest('{cpu,run_queue,lwlock,lock,io,client,steal,other_waits,unexplained}'::text[]) WITH ORDINALITY AS n (component, i))
                         || ARRAY[@extschema@.noisy_report_number(sum(a.delta_ms), NULL, true)] AS cells
                  FROM parts a
                  WHERE a.scope = 'mean' AND a.level > 0
                  GROUP BY a.clients, a.level) AS t)
    FROM (SELECT r.scope, CASE r.scope WHEN 'mean' THEN 'Time of a transaction, mean, ms' ELSE 'Time of a transaction, the slowest hundredth of one client, ms' END AS title,
                 jsonb_agg(jsonb_build_object('label', r.clients || ' clients, ' || CASE WHEN r.level = 0 THEN 'baseline' ELSE r.level || ' %' END, 'values', r.parts)
                           ORDER BY r.clients, r.level) AS rows
          FROM (SELECT a.scope, a.clients, a.level,
                       (SELECT jsonb_agg(coalesce((SELECT sum(c.noisy_ms) FROM parts c
                                                   WHERE c.clients = a.clients AND c.level = a.level AND c.scope = a.scope
                                                     AND c.component = n.component), 0) ORDER BY n.i)
                        FROM unnest('{cpu,run_queue,lwlock,lock,io,client,steal,other_waits,unexplained,backlog}'::text[]) WITH ORDINALITY AS n (component, i)) AS parts
                FROM (SELECT DISTINCT u.scope, u.clients, u.level FROM parts u
                      WHERE u.scope IN ('mean', 'tail')) AS a) AS r
          GROUP BY r.scope) AS s
$$;
COMMENT ON FUNCTION noisy_html_attribution(bigint) IS 'where the time of a transaction went, at the baseline and each level; NULL: not measured';

CREATE FUNCTION noisy_html_lwlocks(run bigint) RETURNS text
LANGUAGE sql STABLE PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT @extschema@.noisy_html_table('Lightweight locks by tranche, the ten that change most: share of active time, processes at once, most at once',
               '{clients,noise,tranche,share,baseline,change,waiters,most}', 'rrlrrrrr',
               array_agg(ARRAY[w.clients::text, w.level || ' %', w.wait_event, @extschema@.noisy_report_number(w.share_pct, 1) || ' %',
                               @extschema@.noisy_report_number(w.baseline_share_pct, 1) || ' %',
                               CASE WHEN w.level > 0 THEN @extschema@.noisy_report_number(w.share_change_pp, 1, true) || ' points' END,
                               @extschema@.noisy_report_number(w.avg_waiters, 2), w.max_waiters::text] ORDER BY w.clients, w.wait_event, w.level))
    FROM (SELECT l.*, dense_rank() OVER (PARTITION BY l.clients ORDER BY l.most DESC, l.wait_event) AS place
          FROM (SELECT v.*, max(v.avg_waiters) OVER (PARTITION BY v.clients, v.wait_event) AS most
                FROM @extschema@.noisy_lwlocks v WHERE v.run_id = run) AS l) AS w
    WHERE w.place <= 10
$$;
COMMENT ON FUNCTION noisy_html_lwlocks(bigint) IS 'waits for lightweight locks; NULL: none was seen';

CREATE FUNCTION noisy_html_doses(run bigint) RETURNS text
LANGUAGE sql STABLE PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT @extschema@.noisy_html_table('Per load thread; lowest and highest: of a thread in a block',
               '{asked,stressor,threads,delivered,lowest,highest,CPU,"rate or amount",unreachable}', 'rlrrrrrrr',
               array_agg(ARRAY[d.level || ' %', d.stressor, d.threads::text, @extschema@.noisy_report_number(d.achieved, 2) || ' %',
                               @extschema@.noisy_report_number(d.lowest, 2) || ' %', @extschema@.noisy_report_number(d.highest, 2) || ' %',
                               @extschema@.noisy_report_number(d.cpu, 1) || ' %',
                               CASE WHEN d.rate_unit = 'bytes' THEN @extschema@.noisy_report_bytes(d.rate)
                                    ELSE @extschema@.noisy_report_number(d.rate) || ' ' || d.rate_unit END,
                               CASE WHEN d.unreachable > 0 THEN d.unreachable || ' of ' || d.n ELSE 'none' END] ORDER BY d.level, d.stressor))
    FROM (SELECT b.level, o.stressor, o.rate_unit, count(DISTINCT o.worker) AS threads, avg(o.achieved_pct) AS achieved,
                 min(o.achieved_pct) AS lowest, max(o.achieved_pct) AS highest, avg(o.cpu_pct) AS cpu, avg(o.rate) AS rate,
                 count(*) FILTER (WHERE o.unreachable) AS unreachable, count(*) AS n
          FROM @extschema@.noisy_dose o
          JOIN @extschema@.noisy_blocks b ON b.run_id = o.run_id AND b.block = o.block
          WHERE o.run_id = run AND b.accepted AND b.level > 0
          GROUP BY b.level, o.stressor, o.rate_unit) AS d
$$;
COMMENT ON FUNCTION noisy_html_doses(bigint) IS 'dose asked for and delivered; NULL: no block with noise counts';

CREATE FUNCTION noisy_html_rejected(run bigint) RETURNS text
LANGUAGE sql STABLE PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT @extschema@.noisy_html_table(format('%s of %s blocks; they are kept and not counted', max(b.rejected), max(b.blocks))
                                        || CASE WHEN max(b.rejected) > 50 THEN '. The first 50; noisy_blocks has all' ELSE '' END,
               '{block,clients,noise,repeat,because}', 'rrrrl',
               array_agg(ARRAY[b.block::text, nullif(b.clients, 0)::text, b.level || ' %', b.repeat::text, coalesce(b.reject_reason, 'no reason given')]
                         ORDER BY b.block))
    FROM (SELECT c.*, count(*) OVER () AS blocks, count(*) FILTER (WHERE NOT c.accepted) OVER () AS rejected,
                 count(*) FILTER (WHERE NOT c.accepted) OVER (ORDER BY c.block) AS place
          FROM @extschema@.noisy_blocks c WHERE c.run_id = run) AS b
    WHERE NOT b.accepted AND b.place <= 50
$$;
COMMENT ON FUNCTION noisy_html_rejected(bigint) IS 'blocks that do not count; NULL: there are none';

CREATE FUNCTION noisy_html_warnings(run bigint) RETURNS text
LANGUAGE sql STABLE PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT coalesce((SELECT '<ul class="warnings">' || string_agg(format('<li>%s</li>', @extschema@.noisy_html_text(w.warning, 1200)), '') || '</ul>'
                     FROM (SELECT @extschema@.noisy_report_warnings_run(run)
                           UNION ALL SELECT @extschema@.noisy_report_warnings_host(run)) AS w (warning)), '<p>There is no warning.</p>')
        || coalesce(@extschema@.noisy_html_table('Checks: what would make the answers doubtful', '{check,passed,detail}', 'lll',
               (SELECT array_agg(ARRAY[replace(s.check_name, '_', ' '), CASE s.passed WHEN true THEN 'yes' WHEN false THEN 'no' ELSE 'not measurable' END, s.detail])
                FROM @extschema@.noisy_sanity s WHERE s.run_id = run)), '')
$$;
COMMENT ON FUNCTION noisy_html_warnings(bigint) IS 'warnings of noisy_report() and checks of noisy_sanity';

-- The lines of noisy_report_what(): a word of up to ten characters, and what follows it
CREATE FUNCTION noisy_html_environment(run bigint) RETURNS text
LANGUAGE sql STABLE PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT '<dl>' || (SELECT string_agg(format('<dt>%s</dt><dd>%s</dd>', @extschema@.noisy_html_text(f.name), @extschema@.noisy_html_text(f.fact, 2000)), '' ORDER BY f.fact_n)
                      FROM (SELECT l.fact_n, max(trim(left(l.line, 10))) AS name, string_agg(trim(substr(l.line, 11)), ' ' ORDER BY l.n) AS fact
                            FROM (SELECT s.*, count(*) FILTER (WHERE left(s.line, 1) <> ' ') OVER (ORDER BY s.n) AS fact_n
                                  FROM string_to_table(@extschema@.noisy_report_what(run), E'\n') WITH ORDINALITY AS s (line, n)) AS l
                            GROUP BY l.fact_n) AS f)
           || '</dl>' || coalesce(format('<details><summary>All parameters, host and settings</summary>%s</details>',
               @extschema@.noisy_html_table('As they were when the run began', '{name,value}', 'll',
                   (SELECT array_agg(ARRAY[a.name, a.value] ORDER BY a.place, a.name)
                    FROM (SELECT s.place, concat_ws('.', s.prefix, e.key) AS name, e.value
                          FROM @extschema@.noisy_runs r,
                               LATERAL (VALUES (1, NULL, r.parameters), (2, NULL, r.environment - 'settings'), (3, 'setting', r.environment -> 'settings'))
                                   AS s (place, prefix, part),
                               LATERAL jsonb_each_text(CASE WHEN jsonb_typeof(s.part) = 'object' THEN s.part ELSE '{}' END) AS e
                          WHERE r.run_id = run
                          LIMIT 300) AS a))), '')
$$;
COMMENT ON FUNCTION noisy_html_environment(bigint) IS 'what ran on what';

-- One scale for all runs, logarithmic; what is worse is darker.
CREATE FUNCTION noisy_html_heat(run_ids bigint[], metric text) RETURNS text
LANGUAGE sql STABLE PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
AS $$
    WITH cells AS (
        SELECT s.run_id, s.clients, s.level, v.value, CASE metric WHEN 'tps' THEN -ln(nullif(v.value, 0)) ELSE ln(nullif(v.value, 0)) END AS badness
        FROM @extschema@.noisy_results s, LATERAL (SELECT CASE metric WHEN 'tps' THEN s.tps ELSE s.p99_ms END AS value) AS v
        WHERE s.run_id = ANY (run_ids) AND s.clients > 0 AND v.value IS NOT NULL),
    levels AS (SELECT DISTINCT level FROM cells),
    shades AS (
        SELECT c.*, 0.05 + 0.67 * coalesce((c.badness - min(c.badness) OVER ()) / nullif(max(c.badness) OVER () - min(c.badness) OVER (), 0), 0) AS shade
        FROM cells c)
    SELECT format('<div class="scroll" tabindex="0" role="region" aria-label="%s"><table class="heat"><caption>%1$s</caption><thead><tr>%s%s</tr></thead><tbody>%s</tbody></table></div>',
                  CASE metric WHEN 'tps' THEN 'Transactions per second' ELSE '99th percentile of the latency, ms' END
                  || ', by clients and noise; darker is worse' || CASE WHEN cardinality(run_ids) > 1 THEN ', one scale for all runs' ELSE '' END,
                  CASE WHEN cardinality(run_ids) > 1 THEN '<th scope="col">run</th>' ELSE '' END || '<th scope="col">clients</th>',
                  (SELECT string_agg(format('<th scope="col">%s %%</th>', l.level), '' ORDER BY l.level) FROM levels l),
                  string_agg(r.line, '' ORDER BY array_position(run_ids, r.run_id), r.clients))
    FROM (SELECT k.run_id, k.clients,
                 '<tr>' || CASE WHEN cardinality(run_ids) > 1 THEN format('<th scope="row">%s</th>', k.run_id) ELSE '' END
                 || format('<th scope="row">%s</th>', k.clients)
                 || string_agg(coalesce(format('<td style="background:rgba(213,94,0,%s)">%s</td>', round(s.shade::numeric, 2),
                                               @extschema@.noisy_report_number(s.value)), '<td>&#8211;</td>'), '' ORDER BY k.level) || '</tr>' AS line
          FROM (SELECT DISTINCT c.run_id, c.clients, l.level FROM cells c, levels l) AS k
          LEFT JOIN shades s ON s.run_id = k.run_id AND s.clients = k.clients AND s.level = k.level
          GROUP BY k.run_id, k.clients) AS r
    HAVING count(*) > 0
$$;
COMMENT ON FUNCTION noisy_html_heat(bigint[], text) IS 'p99 or tps of runs over clients and levels, on one colour scale; NULL: there is none';

CREATE FUNCTION noisy_html_run(run bigint) RETURNS text
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    id      text := 'r' || run;
    nothing text;
BEGIN
    SELECT CASE WHEN r.workload IS NULL THEN 'This was noise alone: no workload was measured.'
                WHEN count(b.block) = 0 THEN 'No block was measured.'
                WHEN count(b.block) FILTER (WHERE b.accepted) = 0 THEN 'Every block was rejected.'
                ELSE 'No transaction ended in a block that counts.' END INTO nothing
        FROM @extschema@.noisy_run_records r LEFT JOIN @extschema@.noisy_blocks b ON b.run_id = r.run_id
        WHERE r.run_id = run GROUP BY r.run_id, r.workload;
    RETURN @extschema@.noisy_html_section(id || '-levels', 'Levels', @extschema@.noisy_html_levels(run), nothing)
        || @extschema@.noisy_html_section(id || '-time', 'Over time',
               @extschema@.noisy_html_timeline(run, id || '-t', false) || coalesce(@extschema@.noisy_html_timeline(run, id || '-l', true), ''), nothing)
        || @extschema@.noisy_html_section(id || '-latency', 'Latency', @extschema@.noisy_html_latency(run), nothing)
        || @extschema@.noisy_html_section(id || '-curve', 'Sensitivity',
               @extschema@.noisy_html_curves(run), 'There are fewer than two doses with a block that counts, so there is no curve.')
        || @extschema@.noisy_html_section(id || '-heat', 'Heat', @extschema@.noisy_html_heat(ARRAY[run], 'p99')
               || coalesce(@extschema@.noisy_html_heat(ARRAY[run], 'tps'), ''), nothing)
        || @extschema@.noisy_html_section(id || '-waits', 'Waits', @extschema@.noisy_html_waits(run),
               'No wait event was sampled in a block that counts.')
        || @extschema@.noisy_html_section(id || '-why', 'Attribution', @extschema@.noisy_html_attribution(run),
               'The time of a transaction was not taken apart: this takes a workload on this server.')
        || @extschema@.noisy_html_section(id || '-lwlocks', 'Lightweight locks', @extschema@.noisy_html_lwlocks(run),
               'No process was seen waiting for a lightweight lock.')
        || @extschema@.noisy_html_section(id || '-dose', 'Dose', @extschema@.noisy_html_doses(run), 'No block with noise counts.')
        || @extschema@.noisy_html_section(id || '-rejected', 'Rejected blocks', @extschema@.noisy_html_rejected(run), 'No block was rejected.')
        || @extschema@.noisy_html_section(id || '-warnings', 'Warnings and checks', @extschema@.noisy_html_warnings(run), NULL)
        || @extschema@.noisy_html_section(id || '-environment', 'Environment', @extschema@.noisy_html_environment(run), NULL);
END
$$;
COMMENT ON FUNCTION noisy_html_run(bigint) IS 'the sections of a run';

CREATE FUNCTION noisy_report_html(VARIADIC run_ids bigint[]) RETURNS text
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    runs    bigint[];
    missing bigint;
    title   text;
    several boolean;
    script  text := @extschema@.noisy_html_script();
    style   text := @extschema@.noisy_html_style();
    page    text;
BEGIN
    IF run_ids IS NULL OR array_position(run_ids, NULL) IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'null_value_not_allowed', MESSAGE = 'a run of noisy_report_html() must not be null';
    ELSIF cardinality(run_ids) = 0 THEN
        RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value', MESSAGE = 'noisy_report_html() needs a run',
            HINT = 'SELECT run_id, label, state FROM noisy_runs lists the runs.';
    END IF;
    SELECT min(w.run_id) INTO missing FROM unnest(run_ids) AS w (run_id)
        WHERE NOT EXISTS (SELECT FROM @extschema@.noisy_run_records r WHERE r.run_id = w.run_id);
    IF missing IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'undefined_object', MESSAGE = format('run %s does not exist', missing),
            HINT = 'SELECT run_id, label, state FROM noisy_runs lists the runs.';
    END IF;
    SELECT array_agg(w.run_id ORDER BY w.place) INTO runs
        FROM (SELECT u.run_id, min(u.place) AS place FROM unnest(run_ids) WITH ORDINALITY AS u (run_id, place) GROUP BY u.run_id) AS w;
    several := cardinality(runs) > 1;
    SELECT CASE WHEN several THEN 'Runs ' || array_to_string(runs, ', ')
                ELSE format('Run %s: %s, noise of %s %%', r.run_id, coalesce(r.workload, 'noise alone'), @extschema@.noisy_report_list(r.parameters -> 'levels'))
                END INTO title
        FROM @extschema@.noisy_runs r WHERE r.run_id = runs[1];
    page := '<!DOCTYPE html>' || E'\n'
        || '<html xmlns="http://www.w3.org/1999/xhtml" lang="en"><head><meta charset="utf-8"/>'
        || format('<meta http-equiv="Content-Security-Policy" content="default-src ''none''; style-src ''unsafe-inline''; script-src ''sha256-%s''"/>',
                  encode(sha256(convert_to(script, 'UTF8')), 'base64'))
        || '<meta name="viewport" content="width=device-width, initial-scale=1"/><meta name="color-scheme" content="light dark"/>'
        || format('<title>%s</title><style>%s</style></head><body><main><header><h1>%1$s</h1>', @extschema@.noisy_html_text(title), style)
        || (SELECT string_agg(@extschema@.noisy_html_verdict(u.run, several), '' ORDER BY u.n) FROM unnest(runs) WITH ORDINALITY AS u (run, n)) || '</header>';
    IF several THEN
        page := page || @extschema@.noisy_html_section('heat', 'Heat', @extschema@.noisy_html_heat(runs, 'p99')
                                                       || coalesce(@extschema@.noisy_html_heat(runs, 'tps'), ''), 'No run has a block of a workload that counts.');
    END IF;
    page := page || (
        SELECT string_agg(format('<article id="r%s">%s<p class="sub">%s</p>%s</article>', r.run_id,
                                 CASE WHEN several THEN format('<h2>Run %s: %s</h2>', r.run_id, @extschema@.noisy_html_text(coalesce(r.workload, 'noise alone'))) ELSE '' END,
                                 @extschema@.noisy_html_text(concat_ws(' - ', nullif(r.label, ''), r.state,
                                     'started ' || to_char(r.started_at, 'YYYY-MM-DD HH24:MI:SSOF'), r.environment ->> 'host_name',
                                     'PostgreSQL ' || (r.environment #>> '{settings,server_version}'))),
                                 @extschema@.noisy_html_run(r.run_id)), '' ORDER BY array_position(runs, r.run_id))
        FROM @extschema@.noisy_runs r WHERE r.run_id = ANY (runs));
    RETURN page || '<footer>pg_noisyneighbor: what a noisy neighbour does to this database. Figures are those of its views.</footer></main>'
        || format('<script>%s</script></body></html>', script) || E'\n';
END
$$;
COMMENT ON FUNCTION noisy_report_html(bigint[])
    IS 'runs on one page of HTML that needs no network: verdict, levels, pictures over time, percentiles, sensitivity, heat, waits, attribution, locks, dose, rejected blocks, warnings, environment';

REVOKE ALL ON FUNCTION
    noisy_html_verdict(bigint, boolean), noisy_html_levels(bigint), noisy_html_latency(bigint), noisy_html_curves(bigint), noisy_html_waits(bigint),
    noisy_html_attribution(bigint), noisy_html_lwlocks(bigint), noisy_html_doses(bigint), noisy_html_rejected(bigint), noisy_html_warnings(bigint),
    noisy_html_environment(bigint), noisy_html_heat(bigint[], text), noisy_html_run(bigint), noisy_report_html(bigint[])
    FROM PUBLIC;
GRANT EXECUTE ON FUNCTION
    noisy_html_verdict(bigint, boolean), noisy_html_levels(bigint), noisy_html_latency(bigint), noisy_html_curves(bigint), noisy_html_waits(bigint),
    noisy_html_attribution(bigint), noisy_html_lwlocks(bigint), noisy_html_doses(bigint), noisy_html_rejected(bigint), noisy_html_warnings(bigint),
    noisy_html_environment(bigint), noisy_html_heat(bigint[], text), noisy_html_run(bigint), noisy_report_html(bigint[])
    TO pg_monitor;
