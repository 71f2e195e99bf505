-- Parts of the HTML report that know nothing of runs: text, numbers, tables, lines, bars.
--
-- A page is text for a file, so it is ASCII whatever the encodings of server and client are: what is not becomes a
-- character reference. It is well-formed XML and HTML at once. Everything from outside goes through noisy_html_text().

CREATE FUNCTION noisy_html_text(value text, max_length int DEFAULT 300) RETURNS text
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    clean  text := @extschema@.noisy_report_clean(value, max_length);
    bytes  bytea;
    byte   int;
    code   bigint;
    result text := '';
    place  int := 0;
BEGIN
    clean := replace(replace(replace(replace(replace(clean, '&', '&amp;'), '<', '&lt;'), '>', '&gt;'), '"', '&quot;'), '''', '&#39;');
    IF octet_length(clean) = length(clean) AND clean !~ '[^\u0001-\u007e]' THEN
        RETURN clean;
    ELSIF getdatabaseencoding() = 'SQL_ASCII' THEN
        bytes := convert_to(clean, 'SQL_ASCII');
    ELSE
        bytes := convert_to(clean, 'UTF8');
    END IF;
    WHILE place < length(bytes) LOOP
        byte := get_byte(bytes, place);
        place := place + 1;
        IF byte < 128 THEN
            result := result || chr(byte);
        ELSIF byte < 192 OR getdatabaseencoding() = 'SQL_ASCII' THEN
            result := result || '?';
        ELSE
            code := CASE WHEN byte < 224 THEN byte & 31 WHEN byte < 240 THEN byte & 15 ELSE byte & 7 END;
            FOR i IN 1 .. CASE WHEN byte < 224 THEN 1 WHEN byte < 240 THEN 2 ELSE 3 END LOOP
                code := code * 64 + (get_byte(bytes, place) & 63);
                place := place + 1;
            END LOOP;
            -- not a character of XML
            result := result || CASE WHEN code IN (65534, 65535) THEN '?' ELSE '&#' || code || ';' END;
        END IF;
    END LOOP;
    RETURN result;
END
$$;
COMMENT ON FUNCTION noisy_html_text(text, int)
    IS 'text of anybody for content and attributes of HTML: markup is escaped, control characters become question marks, others outside ASCII references';

CREATE FUNCTION noisy_html_json(value json) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$ SELECT replace(replace(replace(value::text, '<', '\u003c'), '>', '\u003e'), '&', '\u0026') $$;
COMMENT ON FUNCTION noisy_html_json(json) IS 'a json value for an element "script": nothing in it can end the element';

-- numeric has a point under every lc_numeric
CREATE FUNCTION noisy_html_px(x float8) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN trim_scale(round(x::numeric, 1))::text;
COMMENT ON FUNCTION noisy_html_px(float8) IS 'a coordinate';

CREATE FUNCTION noisy_html_ticks(low float8, high float8, wanted int DEFAULT 5) RETURNS float8[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT array_agg(t.tick::float8 ORDER BY t.tick)
    FROM (SELECT min(c.step) AS step
          FROM (SELECT m * 10 ^ (floor(log((CASE WHEN high > low THEN high - low END / n.wanted)::numeric)) + e) AS step, n.wanted
                FROM unnest('{1,2,5}'::numeric[]) AS m, generate_series(0, 1) AS e,
                     (SELECT least(greatest(noisy_html_ticks.wanted, 1), 50) AS wanted) AS n) AS c
          WHERE c.step >= ((high - low) / c.wanted)::numeric * 0.999) AS s,
         LATERAL (SELECT n * s.step AS tick
                  FROM generate_series(ceil(low::numeric / s.step), floor(high::numeric / s.step)) AS n) AS t
    WHERE high > low
$$;
COMMENT ON FUNCTION noisy_html_ticks(float8, float8, int) IS 'round numbers from low to high, about so many, for an axis; NULL where there is no room';

CREATE FUNCTION noisy_html_log_ticks(low float8, high float8) RETURNS float8[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT array_agg((m * 10::numeric ^ e)::float8 ORDER BY m * 10::numeric ^ e)
    FROM generate_series(floor(log(low))::int, ceil(log(high))::int) AS e,
         unnest(CASE WHEN log(high / low) > 2.5 THEN '{1}' WHEN log(high / low) > 0.8 THEN '{1,2,5}'
                     ELSE '{1,1.2,1.5,2,2.5,3,4,5,6,8}' END::numeric[]) AS m
    WHERE (m * 10::numeric ^ e)::float8 BETWEEN low * 0.9999 AND high * 1.0001
$$;
COMMENT ON FUNCTION noisy_html_log_ticks(float8, float8) IS 'round numbers from low to high for a logarithmic axis';

CREATE FUNCTION noisy_html_path(x float8[], y float8[]) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT string_agg(CASE WHEN p.y IS NULL OR p.x IS NULL THEN ''
                           ELSE CASE WHEN p.before IS NULL THEN 'M' ELSE 'L' END || @extschema@.noisy_html_px(p.x) || ' ' || @extschema@.noisy_html_px(p.y)
                                -- a point alone is drawn by its round ends
                                || CASE WHEN p.before IS NULL AND p.after IS NULL THEN 'h0' ELSE '' END END, '' ORDER BY p.n)
    FROM (SELECT v.*, lag(v.y) OVER (ORDER BY v.n) AS before, lead(v.y) OVER (ORDER BY v.n) AS after
          FROM ROWS FROM (unnest(x), unnest(y)) WITH ORDINALITY AS v (x, y, n)) AS p
$$;
COMMENT ON FUNCTION noisy_html_path(float8[], float8[]) IS 'a line through points for the attribute d of a path, broken where y is NULL';

-- at: where, in pixels; a grid line from "from" to "until" of the other axis
CREATE FUNCTION noisy_html_axis(axis text, at float8[], labels text[], from_px float8, until_px float8) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT coalesce(CASE axis WHEN 'y' THEN
               '<path class="grid" d="' || string_agg(format('M%s %sH%s', @extschema@.noisy_html_px(from_px), @extschema@.noisy_html_px(t.at),
                                                             @extschema@.noisy_html_px(until_px)), '' ORDER BY t.n) || '"/>'
               || string_agg(format('<text class="y" x="%s" y="%s">%s</text>', @extschema@.noisy_html_px(from_px - 6),
                                    @extschema@.noisy_html_px(t.at + 4), t.label), '' ORDER BY t.n)
           ELSE
               '<path class="grid" d="' || string_agg(format('M%s %sV%s', @extschema@.noisy_html_px(t.at), @extschema@.noisy_html_px(from_px),
                                                             @extschema@.noisy_html_px(until_px)), '' ORDER BY t.n) || '"/>'
               || string_agg(format('<text class="x" x="%s" y="%s">%s</text>', @extschema@.noisy_html_px(t.at),
                                    @extschema@.noisy_html_px(until_px + 16), t.label), '' ORDER BY t.n)
           END, '')
    FROM ROWS FROM (unnest(at), unnest(labels)) WITH ORDINALITY AS t (at, label, n)
$$;
COMMENT ON FUNCTION noisy_html_axis(text, float8[], text[], float8, float8) IS 'grid lines and labels of an axis x or y, at these pixels';

CREATE FUNCTION noisy_html_tick_labels(ticks float8[]) RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT array_agg(CASE WHEN abs(t.x) >= 1e6 THEN trim_scale((t.x / 1e6)::numeric)::text || 'M'
                          WHEN abs(t.x) >= 1e4 THEN trim_scale((t.x / 1e3)::numeric)::text || 'k'
                          ELSE trim_scale(t.x::numeric)::text END ORDER BY t.n)
    FROM unnest(ticks) WITH ORDINALITY AS t (x, n)
$$;
COMMENT ON FUNCTION noisy_html_tick_labels(float8[]) IS 'labels of an axis';

CREATE FUNCTION noisy_html_svg(id text, width int, height int, title text, description text, content text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT format('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %1$s %2$s" role="img" aria-labelledby="%3$s-t %3$s-d">'
                  '<title id="%3$s-t">%4$s</title><desc id="%3$s-d">%5$s</desc>%6$s</svg>', width, height, id,
                  @extschema@.noisy_html_text(title), @extschema@.noisy_html_text(description, 600), content)
$$;
COMMENT ON FUNCTION noisy_html_svg(text, int, int, text, text, text) IS 'a picture with its text alternative; content is markup';

CREATE FUNCTION noisy_html_legend(names text[], classes text[]) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT '<ul class="legend">' || string_agg(format('<li class="%s">%s</li>', l.class, @extschema@.noisy_html_text(l.name)), '' ORDER BY l.n) || '</ul>'
    FROM ROWS FROM (unnest(names), unnest(classes)) WITH ORDINALITY AS l (name, class, n)
$$;
COMMENT ON FUNCTION noisy_html_legend(text[], text[]) IS 'what the colours of a picture mean';

-- The first column names the row.
CREATE FUNCTION noisy_html_table(caption text, head text[], alignment text, body text[]) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT format('<div class="scroll" tabindex="0" role="region" aria-label="%s"><table><caption>%1$s</caption><thead><tr>%s</tr></thead><tbody>%s</tbody></table></div>',
                  @extschema@.noisy_html_text(caption, 600),
                  (SELECT string_agg(format('<th scope="col"%s>%s</th>', CASE substr(alignment, h.n::int, 1) WHEN 'r' THEN ' class="n"' ELSE '' END,
                                            @extschema@.noisy_html_text(h.name)), '' ORDER BY h.n)
                   FROM unnest(head) WITH ORDINALITY AS h (name, n)),
                  (SELECT string_agg(l.line, '' ORDER BY l.r)
                   FROM (SELECT r, '<tr>' || string_agg(
                                    CASE WHEN c = 1 THEN '<th scope="row"' ELSE '<td' END
                                    || CASE WHEN substr(alignment, c, 1) = 'r' THEN ' class="n"'
                                            WHEN body[r][c] ~ '^(impact|improved|within noise|inconclusive|baseline)' THEN
                                                ' class="v ' || substring(body[r][c] FROM '^[a-z]+') || '"' ELSE '' END || '>'
                                    || coalesce(@extschema@.noisy_html_text(body[r][c]), '&#8211;')
                                    || CASE WHEN c = 1 THEN '</th>' ELSE '</td>' END, '' ORDER BY c) || '</tr>' AS line
                         FROM generate_subscripts(body, 1) AS r, generate_series(1, least(cardinality(head), array_length(body, 2))) AS c
                         GROUP BY r) AS l))
    WHERE body IS NOT NULL
$$;
COMMENT ON FUNCTION noisy_html_table(text, text[], text, text[])
    IS 'a table: heads, l or r for each column, and an array of rows of text; NULL cells are a dash; NULL without rows';

-- rows: [{"label": …, "values": [number or null, …]}, …]; below zero has its place in tables only
CREATE FUNCTION noisy_html_bars(id text, title text, description text, names text[], unit text, rows jsonb) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    top    float8;
    scale  float8;
    ticks  float8[];
    bottom float8 := 22 * jsonb_array_length(rows) + 8;
    bars   text;
BEGIN
    SELECT max(s.total) INTO top
        FROM (SELECT sum(greatest(v.value::float8, 0)) AS total
              FROM jsonb_array_elements(rows) WITH ORDINALITY AS r (line, n), jsonb_array_elements_text(r.line -> 'values') AS v (value)
              GROUP BY r.n) AS s;
    IF coalesce(top, 0) <= 0 THEN
        RETURN NULL;
    END IF;
    scale := 640 / (top * 1.02);
    ticks := @extschema@.noisy_html_ticks(0, 640 / scale, 6);
    SELECT string_agg(format('<text class="y" x="144" y="%s">%s</text>', @extschema@.noisy_html_px(22 * r.n + 1),
                             @extschema@.noisy_html_text(r.line ->> 'label', 40)) || coalesce(b.bars, ''), '' ORDER BY r.n)
        INTO bars
        FROM jsonb_array_elements(rows) WITH ORDINALITY AS r (line, n),
             LATERAL (SELECT string_agg(format('<rect class="c%s" x="%s" y="%s" width="%s" height="16"><title>%s: %s %s</title></rect>', p.m,
                                               @extschema@.noisy_html_px(150 + p.before * scale), @extschema@.noisy_html_px(22 * r.n - 11),
                                               @extschema@.noisy_html_px(p.value * scale), @extschema@.noisy_html_text(names[p.m]),
                                               @extschema@.noisy_report_number(p.value), unit), '' ORDER BY p.m) AS bars
                      FROM (SELECT v.m, v.value::float8 AS value,
                                   sum(v.value::float8) OVER (ORDER BY v.m) - v.value::float8 AS before
                            FROM jsonb_array_elements_text(r.line -> 'values') WITH ORDINALITY AS v (value, m)
                            WHERE v.value::float8 > 0) AS p) AS b;
    RETURN format('<figure><figcaption>%1$s</figcaption>%2$s<div class="scroll" tabindex="0" role="region" aria-label="%1$s">%3$s</div></figure>',
                  @extschema@.noisy_html_text(title),
                  (SELECT @extschema@.noisy_html_legend(array_agg(names[n.i] ORDER BY n.i), array_agg('c' || n.i ORDER BY n.i))
                   FROM (SELECT DISTINCT v.i
                         FROM jsonb_array_elements(rows) AS r (line), jsonb_array_elements_text(r.line -> 'values') WITH ORDINALITY AS v (value, i)
                         WHERE v.value::float8 > 0) AS n),
                  @extschema@.noisy_html_svg(id, 800, bottom::int + 24, title, description,
                      @extschema@.noisy_html_axis('x', (SELECT array_agg(150 + t * scale ORDER BY t) FROM unnest(ticks) AS t),
                                                  @extschema@.noisy_html_tick_labels(ticks), 4, bottom)
                      || bars));
END
$$;
COMMENT ON FUNCTION noisy_html_bars(text, text, text, text[], text, jsonb) IS 'stacked bars, a row of values each; NULL: nothing is above zero';
