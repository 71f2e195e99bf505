-- Pictures of the HTML report that are made from the views of a run.

CREATE FUNCTION noisy_html_y(value float8, low float8, high float8, top float8, bottom float8, logarithmic boolean) RETURNS float8
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN bottom - (bottom - top) * CASE WHEN logarithmic THEN ln(nullif(greatest(value, low), 0) / low) / ln(high / low)
                                  ELSE (value - low) / (high - low) END;
COMMENT ON FUNCTION noisy_html_y(float8, float8, float8, float8, float8, boolean) IS 'where a value lies on an axis from low (bottom) to high (top), in pixels';

CREATE FUNCTION noisy_html_y_axis(low float8, high float8, top float8, bottom float8, left_px float8, right_px float8, logarithmic boolean)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT @extschema@.noisy_html_axis('y', array_agg(@extschema@.noisy_html_y(u.tick, low, high, top, bottom, logarithmic) ORDER BY u.n),
                                       @extschema@.noisy_html_tick_labels(t.ticks), left_px, right_px)
    FROM (SELECT CASE WHEN logarithmic THEN @extschema@.noisy_html_log_ticks(low, high)
                      ELSE @extschema@.noisy_html_ticks(low, high) END AS ticks) AS t,
         LATERAL unnest(t.ticks) WITH ORDINALITY AS u (tick, n)
    GROUP BY t.ticks
$$;
COMMENT ON FUNCTION noisy_html_y_axis(float8, float8, float8, float8, float8, float8, boolean) IS 'the axis of noisy_html_y()';

-- Where the blocks of a run lie in a picture of 800 pixels
CREATE FUNCTION noisy_html_places(run bigint)
RETURNS TABLE (block int, clients int, level numeric, achieved_pct float8, accepted boolean, reject_reason text, started_at timestamptz,
               left_px float8, right_px float8)
LANGUAGE sql STABLE PARALLEL RESTRICTED ROWS 40
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT b.block, b.clients, b.level, b.achieved_pct, b.accepted, b.reject_reason, b.started_at,
           52 + 740 * (b.begin_s - s.begin_s) / s.length_s, 52 + 740 * (b.begin_s + b.duration_s - s.begin_s) / s.length_s
    FROM (SELECT c.*, date_part('epoch', c.started_at) AS begin_s FROM @extschema@.noisy_blocks c WHERE c.run_id = run) AS b,
         (SELECT min(date_part('epoch', c.started_at)) AS begin_s,
                 max(date_part('epoch', c.started_at) + c.duration_s) - min(date_part('epoch', c.started_at)) AS length_s
          FROM @extschema@.noisy_blocks c WHERE c.run_id = run) AS s
$$;
COMMENT ON FUNCTION noisy_html_places(bigint) IS 'where the blocks of a run lie in its timeline, in pixels';

-- The seconds of a run, or the smallest number of them together that makes no more than about 600 points
CREATE FUNCTION noisy_html_points(run bigint)
RETURNS TABLE (block int, place int, seconds int, px float8, at_s float8, clients int, level numeric, tps float8, tps_mean float8,
               p50_ms float8, p95_ms float8, p99_ms float8, max_ms float8)
LANGUAGE sql STABLE PARALLEL RESTRICTED ROWS 600
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT l.block, l.place, l.bin,
           avg(p.left_px + (l.second - 0.5) * p.px_per_s), avg(date_part('epoch', l.at - p.begin_at)) + 0.5, l.clients, l.level, avg(l.tps),
           avg(l.tps_mean), percentile_cont(0.5) WITHIN GROUP (ORDER BY l.p50_ms), max(l.p95_ms), max(l.p99_ms), max(l.max_ms)
    FROM (SELECT t.*, n.bin, (t.second - 1) / n.bin AS place,
                 avg(t.tps) OVER (PARTITION BY t.block ORDER BY t.second ROWS BETWEEN 5 PRECEDING AND 4 FOLLOWING) AS tps_mean
          FROM @extschema@.noisy_timeline t,
               (SELECT greatest(1, ceil(count(*) / 600.0))::int AS bin FROM @extschema@.noisy_timeline c WHERE c.run_id = run) AS n
          WHERE t.run_id = run) AS l
    JOIN (SELECT b.*, (b.right_px - b.left_px) / nullif(c.duration_s, 0) AS px_per_s, min(b.started_at) OVER () AS begin_at
          FROM @extschema@.noisy_html_places(run) b
          JOIN @extschema@.noisy_blocks c ON c.run_id = run AND c.block = b.block) AS p ON p.block = l.block
    GROUP BY l.block, l.place, l.bin, l.clients, l.level
$$;
COMMENT ON FUNCTION noisy_html_points(bigint) IS 'the timeline of a run for its pictures: seconds, or means (tps), medians (p50) and largest values (the rest) of several';

CREATE FUNCTION noisy_html_bands(run bigint) RETURNS TABLE (left_px float8, right_px float8, kind text, complete boolean)
LANGUAGE sql STABLE PARALLEL RESTRICTED ROWS 10
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT 52 + 740 * (date_part('epoch', c.started_at) - s.begin_s) / s.length_s, 52 + 740 * (date_part('epoch', c.ended_at) - s.begin_s) / s.length_s,
           coalesce(c.kind, 'unknown'), c.complete
    FROM @extschema@.noisy_checkpoints c,
         (SELECT min(date_part('epoch', b.started_at)) AS begin_s,
                 max(date_part('epoch', b.started_at) + b.duration_s) - min(date_part('epoch', b.started_at)) AS length_s
          FROM @extschema@.noisy_blocks b WHERE b.run_id = run) AS s
    WHERE c.run_id = run AND c.ended_at >= to_timestamp(s.begin_s) AND c.started_at <= to_timestamp(s.begin_s + s.length_s)
$$;
COMMENT ON FUNCTION noisy_html_bands(bigint) IS 'checkpoints of a run in its timeline, in pixels';

-- Noise and clients above, checkpoints and rejected blocks behind the lines. Many blocks have no titles of their own.
CREATE FUNCTION noisy_html_backdrop(run bigint, id text, top float8, bottom float8) RETURNS text
LANGUAGE sql STABLE PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT format('<defs><pattern id="%s-h" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
                  '<path class="hatch" d="M0 0V6"/></pattern></defs>', id)
        || coalesce((SELECT string_agg(format('<rect class="%s" x="%s" y="%s" width="%s" height="%s"><title>checkpoint (%1$s)%6$s</title></rect>', c.kind,
                                              @extschema@.noisy_html_px(greatest(c.left_px, 52)), @extschema@.noisy_html_px(top),
                                              @extschema@.noisy_html_px(greatest(least(c.right_px, 792) - greatest(c.left_px, 52), 1)),
                                              @extschema@.noisy_html_px(bottom - top),
                                              CASE WHEN c.complete THEN '' ELSE ', not complete when the run ended' END), '' ORDER BY c.left_px)
                     FROM @extschema@.noisy_html_bands(run) c), '')
        || '<text class="y" x="46" y="36">noise</text><path class="grid" d="M52 38H792"/>'
        || CASE WHEN max(n.blocks) <= 150 THEN string_agg(
                    format('<g><title>%1$s</title><rect class="nothing" x="%2$s" y="36" width="%3$s" height="2"/>'
                           '<rect class="noise" x="%2$s" y="%4$s" width="%3$s" height="%5$s"/>%6$s%7$s</g>',
                           @extschema@.noisy_html_text(
                               format('block %s: %s clients, noise %s %%', p.block, p.clients, p.level)
                               || coalesce(', delivered ' || @extschema@.noisy_report_number(p.achieved_pct, 1) || ' %', '')
                               || CASE WHEN NOT p.accepted THEN '; rejected: ' || coalesce(p.reject_reason, 'no reason given') ELSE '' END),
                           @extschema@.noisy_html_px(p.left_px), @extschema@.noisy_html_px(p.right_px - p.left_px),
                           @extschema@.noisy_html_px(38 - n.bar), @extschema@.noisy_html_px(n.bar),
                           CASE WHEN p.right_px - p.left_px >= 12 THEN
                               format('<text class="b" x="%s" y="%s">%s</text>', @extschema@.noisy_html_px((p.left_px + p.right_px) / 2),
                                      @extschema@.noisy_html_px(34 - n.bar), trim_scale(p.level)) ELSE '' END,
                           CASE WHEN NOT p.accepted THEN
                               format('<rect class="tint" x="%s" y="%s" width="%s" height="%s"/><rect class="rejected" fill="url(#%s-h)" x="%1$s" y="%2$s" width="%3$s" height="%4$s"/>',
                                      @extschema@.noisy_html_px(p.left_px), @extschema@.noisy_html_px(top), @extschema@.noisy_html_px(p.right_px - p.left_px),
                                      @extschema@.noisy_html_px(bottom - top), id)
                               ELSE '' END), '' ORDER BY p.block)
           ELSE '<path class="noise" d="' || string_agg(format('M%s 38v-%sH%sv%2$sz', @extschema@.noisy_html_px(p.left_px), @extschema@.noisy_html_px(n.bar),
                                                               @extschema@.noisy_html_px(p.right_px)), '' ORDER BY p.block) || '"/>'
                || coalesce(format('<path class="rejected" fill="url(#%s-h)" d="', id)
                            || string_agg(format('M%s %sV%sH%sV%2$sz', @extschema@.noisy_html_px(p.left_px), @extschema@.noisy_html_px(top), @extschema@.noisy_html_px(bottom),
                                                 @extschema@.noisy_html_px(p.right_px)), '' ORDER BY p.block) FILTER (WHERE NOT p.accepted)
                            || '"/>', '') END
    FROM @extschema@.noisy_html_places(run) p,
         LATERAL (SELECT 22 * p.level::float8 / nullif(max(b.level), 0)::float8 AS bar, count(*) AS blocks
                  FROM @extschema@.noisy_blocks b WHERE b.run_id = run) AS m,
         LATERAL (SELECT coalesce(m.bar, 0) AS bar, m.blocks) AS n
$$;
COMMENT ON FUNCTION noisy_html_backdrop(bigint, text, float8, float8) IS 'what lies behind the lines of a timeline: noise, checkpoints, rejected blocks';

-- Runs of blocks with the same clients, named above the plot; NULL when there is one number only
CREATE FUNCTION noisy_html_clients(run bigint) RETURNS text
LANGUAGE sql STABLE PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT '<text class="y" x="46" y="54">clients</text>' || string_agg(
               format('<path class="grid" d="M%s 44v12"/>', @extschema@.noisy_html_px(g.left_px - 1))
               || CASE WHEN g.right_px - g.left_px >= 14 THEN
                      format('<text class="b" x="%s" y="54">%s</text>', @extschema@.noisy_html_px((g.left_px + g.right_px) / 2), g.clients) ELSE '' END,
               '' ORDER BY g.left_px)
    FROM (SELECT min(i.left_px) AS left_px, max(i.right_px) AS right_px, i.clients, i.island
          FROM (SELECT p.*, row_number() OVER (ORDER BY p.block) - row_number() OVER (PARTITION BY p.clients ORDER BY p.block) AS island
                FROM @extschema@.noisy_html_places(run) p) AS i
          GROUP BY i.clients, i.island) AS g
    HAVING count(DISTINCT g.clients) > 1 AND count(*) <= 150
$$;
COMMENT ON FUNCTION noisy_html_clients(bigint) IS 'numbers of clients above a timeline; NULL when there is one only';

CREATE FUNCTION noisy_html_time_axis(run bigint, top float8, bottom float8) RETURNS text
LANGUAGE sql STABLE PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT @extschema@.noisy_html_axis('x', array_agg(52 + 740 * t.tick / s.length ORDER BY t.tick),
                                       array_agg(trim_scale(t.tick::numeric) || ' ' || s.unit ORDER BY t.tick), top, bottom)
    FROM (SELECT m.length_s / CASE WHEN m.length_s > 7200 THEN 3600 WHEN m.length_s > 300 THEN 60 ELSE 1 END AS length,
                 CASE WHEN m.length_s > 7200 THEN 'h' WHEN m.length_s > 300 THEN 'min' ELSE 's' END AS unit
          FROM (SELECT max(date_part('epoch', b.started_at) + b.duration_s) - min(date_part('epoch', b.started_at)) AS length_s
                FROM @extschema@.noisy_blocks b WHERE b.run_id = run) AS m) AS s,
         LATERAL unnest(@extschema@.noisy_html_ticks(0, s.length, 8)) AS t (tick)
    WHERE t.tick < s.length * 0.985
$$;
COMMENT ON FUNCTION noisy_html_time_axis(bigint, float8, float8) IS 'the axis of a timeline';

-- One line of a timeline, broken between blocks
CREATE FUNCTION noisy_html_series(blocks int[], px float8[], y float8[], class text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT format('<path class="%s" d="%s"/>', class, string_agg(g.line, '' ORDER BY g.block))
    FROM (SELECT v.block, @extschema@.noisy_html_path(array_agg(v.px ORDER BY v.n), array_agg(v.y ORDER BY v.n)) AS line
          FROM ROWS FROM (unnest(blocks), unnest(px), unnest(y)) WITH ORDINALITY AS v (block, px, y, n)
          GROUP BY v.block) AS g
$$;
COMMENT ON FUNCTION noisy_html_series(int[], float8[], float8[], text) IS 'a line through the points of a timeline, broken between blocks';

CREATE FUNCTION noisy_html_hover(run bigint, latency boolean) RETURNS json
LANGUAGE sql STABLE PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT json_build_object('x', json_agg(round(p.px::numeric, 1) ORDER BY p.block, p.place),
                             'series', (SELECT json_agg(json_build_object('name', s.name, 'unit', s.unit, 'values', to_json(s.shown)) ORDER BY s.n)
                                        FROM (VALUES (1, 'second', '', array_agg(round(p.at_s::numeric) ORDER BY p.block, p.place)),
                                                     (2, 'clients', '', array_agg(p.clients::numeric ORDER BY p.block, p.place)),
                                                     (3, 'noise', '%', array_agg(p.level ORDER BY p.block, p.place)),
                                                     (4, 'p50', 'ms', array_agg(n.p50 ORDER BY p.block, p.place)),
                                                     (5, 'p95', 'ms', array_agg(n.p95 ORDER BY p.block, p.place)),
                                                     (6, 'p99', 'ms', array_agg(n.p99 ORDER BY p.block, p.place)),
                                                     (7, 'max', 'ms', array_agg(n.max ORDER BY p.block, p.place)),
                                                     (8, 'tps', '', array_agg(round(p.tps::numeric, 1) ORDER BY p.block, p.place)),
                                                     (9, 'mean of 10 s', '', array_agg(round(p.tps_mean::numeric, 1) ORDER BY p.block, p.place)))
                                             AS s (n, name, unit, shown)
                                        WHERE s.n < 4 OR latency = (s.n < 8)))
    FROM @extschema@.noisy_html_points(run) p,
         LATERAL (SELECT @extschema@.noisy_report_number(p.p50_ms)::numeric AS p50, @extschema@.noisy_report_number(p.p95_ms)::numeric AS p95,
                         @extschema@.noisy_report_number(p.p99_ms)::numeric AS p99, @extschema@.noisy_report_number(p.max_ms)::numeric AS max) AS n
$$;
COMMENT ON FUNCTION noisy_html_hover(bigint, boolean) IS 'values of a timeline for the script of the page';

CREATE FUNCTION noisy_html_timeline(run bigint, id text, latency boolean) RETURNS text
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    lanes    text := @extschema@.noisy_html_clients(run);
    top      float8 := CASE WHEN lanes IS NULL THEN 48 ELSE 64 END;
    bottom   float8 := top + 200;
    p        record;
    scales   boolean[] := CASE WHEN latency THEN '{t,f}' ELSE '{f}' END;
    low      float8;
    lines    text := '';
    kinds    text[];
    rejected boolean;
BEGIN
    SELECT array_agg(q.block ORDER BY q.block, q.place) AS blocks, array_agg(q.px ORDER BY q.block, q.place) AS px,
           array_agg(CASE WHEN latency THEN q.max_ms ELSE q.tps END ORDER BY q.block, q.place) AS first,
           array_agg(CASE WHEN latency THEN q.p99_ms ELSE q.tps_mean END ORDER BY q.block, q.place) AS second,
           array_agg(CASE WHEN latency THEN q.p95_ms END ORDER BY q.block, q.place) AS third,
           array_agg(CASE WHEN latency THEN q.p50_ms END ORDER BY q.block, q.place) AS fourth,
           max(CASE WHEN latency THEN q.max_ms ELSE q.tps END) AS high, min(nullif(q.p50_ms, 0)) AS least, max(q.seconds) AS seconds INTO p
        FROM @extschema@.noisy_html_points(run) q;
    IF p.high IS NULL OR p.high <= 0 THEN
        RETURN NULL;
    END IF;
    FOR i IN 1 .. cardinality(scales) LOOP
        low := CASE WHEN scales[i] THEN p.least / 1.3 ELSE 0 END;
        lines := lines || format('<g class="%s">', CASE WHEN scales[i] THEN 'log' WHEN latency THEN 'lin' ELSE 'only' END)
            || coalesce(@extschema@.noisy_html_y_axis(low, p.high * 1.06, top, bottom, 52, 792, scales[i]), '')
            || (SELECT string_agg(@extschema@.noisy_html_series(p.blocks, p.px,
                           (SELECT array_agg(@extschema@.noisy_html_y(v.y, low, p.high * 1.06, top, bottom, scales[i]) ORDER BY v.n)
                            FROM unnest(CASE s.n WHEN 1 THEN p.first WHEN 2 THEN p.second WHEN 3 THEN p.third ELSE p.fourth END)
                                 WITH ORDINALITY AS v (y, n)), s.class), '' ORDER BY s.n)
                FROM (VALUES (1, CASE WHEN latency THEN 'raw c9' ELSE 'raw c1' END), (2, CASE WHEN latency THEN 'line c2' ELSE 'mean c1' END),
                             (3, 'line c5'), (4, 'line c1')) AS s (n, class)
                WHERE latency OR s.n < 3)
            || '</g>';
    END LOOP;
    SELECT array_agg(DISTINCT b.kind ORDER BY b.kind) INTO kinds FROM @extschema@.noisy_html_bands(run) b;
    SELECT bool_or(NOT b.accepted) INTO rejected FROM @extschema@.noisy_blocks b WHERE b.run_id = run;
    RETURN format('<figure class="hover"><figcaption>%s</figcaption>%s', CASE WHEN latency THEN 'Latency over time, ms' ELSE 'Transactions per second over time' END,
                  @extschema@.noisy_html_legend(
                      CASE WHEN latency THEN '{max,p99,p95,p50}'::text[] ELSE ARRAY[CASE WHEN p.seconds = 1 THEN 'each second' ELSE p.seconds || ' s' END, 'mean of 10 s'] END
                      || ARRAY['noise asked for, %']::text[]
                      || (SELECT coalesce(array_agg('checkpoint, ' || CASE k WHEN 'unknown' THEN 'kind not known' ELSE k END ORDER BY k), '{}') FROM unnest(kinds) AS k)
                      || CASE WHEN rejected THEN '{"rejected block"}'::text[] ELSE '{}' END,
                      CASE WHEN latency THEN '{c9,c2,c5,c1}'::text[] ELSE '{"c1 faint",c1}' END || '{noise}'::text[] || coalesce(kinds, '{}')
                      || CASE WHEN rejected THEN '{hatched}'::text[] ELSE '{}' END))
        || CASE WHEN latency THEN
               format('<input class="scale log" type="radio" name="%s-s" id="%1$s-log" checked="checked"/><label for="%1$s-log">logarithmic</label>'
                      '<input class="scale lin" type="radio" name="%1$s-s" id="%1$s-lin"/><label for="%1$s-lin">linear</label>', id) ELSE '' END
        || '<div class="scroll">'
        || @extschema@.noisy_html_svg(id, 800, (bottom + 24)::int, CASE WHEN latency THEN 'Latency over time' ELSE 'Transactions per second over time' END,
               format('%s points over the measured blocks; above: the noise of each block. The table of levels has the figures.', cardinality(p.px)),
               @extschema@.noisy_html_backdrop(run, id, top, bottom) || coalesce(lanes, '')
               || coalesce(@extschema@.noisy_html_time_axis(run, top, bottom), '') || lines)
        || '</div><p class="readout" aria-live="polite"></p>'
        || CASE WHEN p.seconds > 1 THEN format('<p class="note">A point stands for up to %s s: the mean of tps, the median of the p50, the largest of other latencies.</p>', p.seconds)
                ELSE '' END
        || '<script type="application/json">' || @extschema@.noisy_html_json(@extschema@.noisy_html_hover(run, latency)) || '</script></figure>';
END
$$;
COMMENT ON FUNCTION noisy_html_timeline(bigint, text, boolean) IS 'latency or tps of a run over time; NULL: there is none';

-- Baseline l0, doses l1 to l5
CREATE FUNCTION noisy_html_level_class(run bigint, level numeric) RETURNS text
LANGUAGE sql STABLE PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT 'l' || CASE WHEN noisy_html_level_class.level = 0 THEN 0
                       WHEN count(*) <= 5 THEN count(*) FILTER (WHERE v.level <= noisy_html_level_class.level)
                       ELSE 1 + 4 * (count(*) FILTER (WHERE v.level < noisy_html_level_class.level)) / (count(*) - 1) END
    FROM (SELECT DISTINCT b.level FROM @extschema@.noisy_blocks b WHERE b.run_id = run AND b.level > 0) AS v
$$;
COMMENT ON FUNCTION noisy_html_level_class(bigint, numeric) IS 'the colour of a level in all pictures of a run';

CREATE FUNCTION noisy_html_percentiles(run bigint, id text, clients int) RETURNS text
LANGUAGE sql STABLE PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
AS $$
    WITH values AS (
        SELECT s.level, @extschema@.noisy_html_level_class(run, s.level) AS class, q.n, q.name, q.ms, 40 + 350.0 * (q.n - 1) / 6 AS px
        FROM @extschema@.noisy_results s,
             LATERAL (VALUES (1, 'p50', s.p50_ms), (2, 'p75', s.p75_ms), (3, 'p90', s.p90_ms), (4, 'p95', s.p95_ms), (5, 'p99', s.p99_ms),
                             (6, 'p99.9', s.p999_ms), (7, 'max', s.max_ms)) AS q (n, name, ms)
        WHERE s.run_id = run AND s.clients = noisy_html_percentiles.clients AND q.ms > 0),
    frame AS (SELECT min(ms) / 1.2 AS low, max(ms) * 1.2 AS high FROM values),
    points AS (SELECT v.*, @extschema@.noisy_html_y(v.ms, f.low, f.high, 10, 220, true) AS y FROM values v, frame f)
    SELECT format('<figure><figcaption>Latency percentiles, %s clients, ms</figcaption>%s%s</figure>', noisy_html_percentiles.clients,
        (SELECT @extschema@.noisy_html_legend(array_agg(CASE WHEN l.level = 0 THEN 'baseline' ELSE trim_scale(l.level) || ' %' END ORDER BY l.level),
                                              array_agg(l.class ORDER BY l.level))
         FROM (SELECT DISTINCT level, class FROM values) AS l),
        @extschema@.noisy_html_svg(id, 400, 244, format('Latency percentiles with %s clients', noisy_html_percentiles.clients),
            'One line for each noise level, from the median to the largest latency, on a logarithmic scale. The table of percentiles has the figures.',
            @extschema@.noisy_html_y_axis(f.low, f.high, 10, 220, 40, 390, true)
            || (SELECT string_agg(format('<text class="m" x="%s" y="238">%s</text>', @extschema@.noisy_html_px(least(n.px, 384)), n.name), '' ORDER BY n.n)
                FROM (SELECT DISTINCT px, name, n FROM values) AS n)
            || (SELECT string_agg(format('<path class="line %s" d="%s"/>', l.class, l.line), '' ORDER BY l.level)
                FROM (SELECT p.level, p.class, @extschema@.noisy_html_path(array_agg(p.px ORDER BY p.n), array_agg(p.y ORDER BY p.n)) AS line
                      FROM points p GROUP BY p.level, p.class) AS l)
            || (SELECT string_agg(format('<circle class="%s" cx="%s" cy="%s" r="3"><title>%s, noise %s %%: %s ms</title></circle>', p.class,
                                         @extschema@.noisy_html_px(p.px), @extschema@.noisy_html_px(p.y), p.name, p.level,
                                         @extschema@.noisy_report_number(p.ms)), '' ORDER BY p.level, p.n)
                FROM points p)))
    FROM frame f
    WHERE f.high > f.low
$$;
COMMENT ON FUNCTION noisy_html_percentiles(bigint, text, int) IS 'percentiles of the latency at each level; NULL: there are none';

-- Dots are blocks. A whisker is the interval of the ratio to the baseline (noisy_effects) times the curve's value without noise.
CREATE FUNCTION noisy_html_sensitivity(run bigint, id text, clients int, metric text) RETURNS text
LANGUAGE sql STABLE PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
AS $$
    WITH curve AS (
        SELECT s.* FROM @extschema@.noisy_sensitivity s
        WHERE s.run_id = run AND s.clients = noisy_html_sensitivity.clients AND s.metric = noisy_html_sensitivity.metric),
    dots AS (
        SELECT m.block, m.dose_pct, m.level, m.value FROM @extschema@.noisy_block_metrics m
        WHERE m.run_id = run AND m.clients = noisy_html_sensitivity.clients AND m.metric = noisy_html_sensitivity.metric
          AND m.value IS NOT NULL AND m.dose_pct IS NOT NULL),
    whiskers AS (
        SELECT d.dose_pct, e.ratio_low * c.base AS low, e.ratio_high * c.base AS high
        FROM (SELECT median[1] AS base, dose_pct[1] AS base_dose FROM curve) AS c, @extschema@.noisy_effects e
        JOIN (SELECT level, avg(dose_pct) AS dose_pct FROM dots GROUP BY level) AS d ON d.level = e.level
        WHERE e.run_id = run AND e.clients = noisy_html_sensitivity.clients AND e.metric = noisy_html_sensitivity.metric AND e.level > 0
          AND e.ratio_low > 0 AND e.ratio_high < 1e6),
    frame AS (
        SELECT CASE WHEN r.logs THEN r.low / 1.2 ELSE 0 END AS low, r.high * 1.08 AS high, r.right_pct, r.logs
        FROM (SELECT d.low, greatest(d.high, least(w.high, 3 * d.high)) AS high, d.right_pct,
                     noisy_html_sensitivity.metric <> 'tps' AND d.high > 8 * d.low AS logs
              FROM (SELECT min(value) AS low, max(value) AS high, greatest(max(dose_pct), 1) * 1.05 AS right_pct FROM dots) AS d,
                   (SELECT max(high) AS high FROM whiskers) AS w) AS r),
    place AS (SELECT f.*, 336 / f.right_pct AS px FROM frame f)
    SELECT format('<figure><figcaption>%s over the dose delivered, %s clients</figcaption>%s<p class="note">%s</p></figure>',
        CASE c.metric WHEN 'tps' THEN c.metric ELSE c.metric || ', ms,' END, c.clients,
        @extschema@.noisy_html_svg(id, 400, 256, format('%s over the noise dose delivered, %s clients', c.metric, c.clients),
            format('Blocks as dots, the monotone curve from %s without noise to %s at %s %%, intervals as whiskers.',
                   @extschema@.noisy_report_number(c.fitted[1]), @extschema@.noisy_report_number(c.fitted[cardinality(c.fitted)]),
                   @extschema@.noisy_report_number(c.dose_pct[cardinality(c.dose_pct)], 1)),
            coalesce(@extschema@.noisy_html_y_axis(f.low, f.high, 10, 220, 52, 388, f.logs), '')
            || coalesce((SELECT @extschema@.noisy_html_axis('x', array_agg(52 + t * f.px ORDER BY t), array_agg(trim_scale(t::numeric) || ' %' ORDER BY t), 10, 220)
                         FROM unnest(@extschema@.noisy_html_ticks(0, f.right_pct * 0.97, 5)) AS t), '')
            || CASE WHEN c.knee_pct IS NOT NULL THEN
                   coalesce(format('<rect class="kneeband" x="%s" y="10" width="%s" height="210"/>', @extschema@.noisy_html_px(52 + c.knee_low_pct * f.px),
                                   @extschema@.noisy_html_px((c.knee_high_pct - c.knee_low_pct) * f.px)), '')
                   || format('<path class="knee" d="M%s 10V220"/><text class="b" x="%1$s" y="20">knee</text>', @extschema@.noisy_html_px(52 + c.knee_pct * f.px))
                   ELSE '' END
            || coalesce((SELECT string_agg(format('<path class="whisker c9" d="M%s %sV%sm-4 0h8M%s %2$sh8"/>', @extschema@.noisy_html_px(52 + w.dose_pct * f.px),
                                                  @extschema@.noisy_html_px(@extschema@.noisy_html_y(w.low, f.low, f.high, 10, 220, f.logs)),
                                                  @extschema@.noisy_html_px(greatest(@extschema@.noisy_html_y(w.high, f.low, f.high, 10, 220, f.logs), 10)),
                                                  @extschema@.noisy_html_px(48 + w.dose_pct * f.px)), '' ORDER BY w.dose_pct) FROM whiskers w), '')
            || format('<path class="mean c1" d="%s"/>', (SELECT @extschema@.noisy_html_path(array_agg(52 + u.dose * f.px ORDER BY u.n),
                          array_agg(@extschema@.noisy_html_y(u.fitted, f.low, f.high, 10, 220, f.logs) ORDER BY u.n))
                          FROM ROWS FROM (unnest(c.dose_pct), unnest(c.fitted)) WITH ORDINALITY AS u (dose, fitted, n)))
            || (SELECT string_agg(format('<circle class="dot c1" cx="%s" cy="%s" r="3.5"><title>block %s, noise %s %% (delivered %s %%): %s</title></circle>',
                                         @extschema@.noisy_html_px(52 + d.dose_pct * f.px),
                                         @extschema@.noisy_html_px(@extschema@.noisy_html_y(d.value, f.low, f.high, 10, 220, f.logs)), d.block, d.level,
                                         @extschema@.noisy_report_number(d.dose_pct, 1), @extschema@.noisy_report_number(d.value)), '' ORDER BY d.block)
                FROM (SELECT * FROM dots ORDER BY block LIMIT 300) AS d)),
        @extschema@.noisy_html_text(CASE WHEN c.knee_pct IS NOT NULL THEN format('Knee at %s %% (%s to %s %%).', @extschema@.noisy_report_number(c.knee_pct, 1),
                                             @extschema@.noisy_report_number(c.knee_low_pct, 1), @extschema@.noisy_report_number(c.knee_high_pct, 1))
                                         ELSE upper(left(c.knee_reason, 1)) || substr(c.knee_reason, 2) || '.' END
            || coalesce(' Slope: ' || @extschema@.noisy_report_number(c.slope_pct_per_10pp, 1, true) || ' % per 10 points of dose.', ''), 400))
    FROM curve c, place f
    WHERE f.high > f.low AND cardinality(c.dose_pct) > 1
$$;
COMMENT ON FUNCTION noisy_html_sensitivity(bigint, text, int, text) IS 'a metric over the dose delivered, with curve, intervals and knee; NULL: there are fewer than two doses';

REVOKE ALL ON FUNCTION
    noisy_html_places(bigint), noisy_html_points(bigint), noisy_html_bands(bigint), noisy_html_backdrop(bigint, text, float8, float8),
    noisy_html_clients(bigint), noisy_html_time_axis(bigint, float8, float8), noisy_html_hover(bigint, boolean),
    noisy_html_timeline(bigint, text, boolean), noisy_html_level_class(bigint, numeric), noisy_html_percentiles(bigint, text, int),
    noisy_html_sensitivity(bigint, text, int, text)
    FROM PUBLIC;
GRANT EXECUTE ON FUNCTION
    noisy_html_places(bigint), noisy_html_points(bigint), noisy_html_bands(bigint), noisy_html_backdrop(bigint, text, float8, float8),
    noisy_html_clients(bigint), noisy_html_time_axis(bigint, float8, float8), noisy_html_hover(bigint, boolean),
    noisy_html_timeline(bigint, text, boolean), noisy_html_level_class(bigint, numeric), noisy_html_percentiles(bigint, text, int),
    noisy_html_sensitivity(bigint, text, int, text)
    TO pg_monitor;
