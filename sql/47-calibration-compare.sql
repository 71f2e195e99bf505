-- What calibrations say beside each other: whether two hosts are equal, and what limit makes them so.

-- The ratio of two samples with its interval: difference of the means of logarithms, without the same variance in both (Welch).
CREATE FUNCTION noisy_calibration_ratio(a float8[], b float8[], OUT ratio float8, OUT low float8, OUT high float8)
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT exp(d), exp(d - half), exp(d + half)
    FROM (SELECT avg(ln(v)) AS mean, var_samp(ln(v)) AS variance, count(*)::int AS n FROM unnest(a) v WHERE v > 0) x,
         (SELECT avg(ln(v)) AS mean, var_samp(ln(v)) AS variance, count(*)::int AS n FROM unnest(b) v WHERE v > 0) y,
         LATERAL (SELECT x.mean - y.mean AS d, @extschema@.noisy_welch_half_width(x.variance, x.n, y.variance, y.n) AS half) h
$$;
COMMENT ON FUNCTION noisy_calibration_ratio(float8[], float8[])
    IS 'ratio of two samples of positive values, by the means of their logarithms, with its 95 % interval (Welch); the interval is NULL below two values in one of them';

CREATE FUNCTION noisy_compare_calibrations(a bigint, b bigint)
RETURNS TABLE (probe text, variant text, threads int, unit text, a_median float8, b_median float8, gap_pct float8, gap_low_pct float8,
               gap_high_pct float8, verdict text, a_spread_pct float8, b_spread_pct float8, a_scaling float8, b_scaling float8, note text)
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    missing bigint;
BEGIN
    SELECT id INTO missing FROM unnest(ARRAY[a, b]) id
    WHERE NOT EXISTS (SELECT FROM @extschema@.noisy_calibrations c WHERE c.calibration_id = id) LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'calibration % does not exist', coalesce(missing::text, 'NULL')
            USING ERRCODE = 'undefined_object', HINT = 'The calibrations of this database are in noisy_calibrations.';
    END IF;
    RETURN QUERY
    SELECT r.probe, r.variant, r.threads, r.unit, r.median, s.median,
           100 * (g.ratio - 1), 100 * (g.low - 1), 100 * (g.high - 1),
           CASE WHEN NOT r.valid OR NOT s.valid THEN 'invalid'
                WHEN g.low IS NULL THEN 'inconclusive'
                WHEN g.low > 0.99 AND g.high < 1.01 THEN 'equal'
                WHEN (g.low > 1.01) <> (r.unit IN ('ns', 'us', 'ms')) AND (g.low > 1.01 OR g.high < 0.99) THEN 'a is faster'
                WHEN g.low > 1.01 OR g.high < 0.99 THEN 'b is faster'
                ELSE 'inconclusive' END,
           r.spread_pct, s.spread_pct, r.median / r1.median, s.median / s1.median,
           CASE WHEN NOT r.valid THEN 'a: ' || r.note WHEN NOT s.valid THEN 'b: ' || s.note
                WHEN r.note IS DISTINCT FROM s.note THEN concat_ws('; ', 'a: ' || r.note, 'b: ' || s.note) ELSE r.note END
    FROM @extschema@.noisy_calibration_results r
        JOIN @extschema@.noisy_calibration_samples rs USING (calibration_id, probe, variant, threads)
        JOIN @extschema@.noisy_calibration_results s ON s.calibration_id = b AND s.probe = r.probe AND s.variant = r.variant
            AND s.threads = r.threads AND s.unit = r.unit
        JOIN @extschema@.noisy_calibration_samples ss ON ss.calibration_id = b AND ss.probe = s.probe AND ss.variant = s.variant
            AND ss.threads = s.threads AND ss.probe_version = rs.probe_version
        LEFT JOIN @extschema@.noisy_calibration_results r1 ON r1.calibration_id = a AND r1.probe = r.probe AND r1.variant = r.variant
            AND r1.threads = 1 AND r.unit NOT IN ('ns', 'us', 'ms')
        LEFT JOIN @extschema@.noisy_calibration_results s1 ON s1.calibration_id = b AND s1.probe = r.probe AND s1.variant = r.variant
            AND s1.threads = 1 AND r.unit NOT IN ('ns', 'us', 'ms'),
        LATERAL @extschema@.noisy_calibration_ratio(r.samples, s.samples) g
    WHERE r.calibration_id = a
    ORDER BY 1, 2, 3;
END
$$;
REVOKE ALL ON FUNCTION noisy_compare_calibrations(bigint, bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION noisy_compare_calibrations(bigint, bigint) TO pg_monitor;
COMMENT ON FUNCTION noisy_compare_calibrations(bigint, bigint)
    IS 'two calibrations beside each other: gap = a / b - 1 with its 95 % interval, whether they are equal within one percent, spreads, and scaling = rate / rate of one thread; only what both have measured by the same version of a probe';

CREATE FUNCTION noisy_recommend_cpulimit(fast bigint, slow bigint,
    OUT cpulimit float8, OUT predicted_gap_pct float8, OUT one_thread_gap_pct float8, OUT stall_ms float8, OUT tail_gap_pct float8,
    OUT advice text, OUT cpulimit_low float8, OUT cpulimit_high float8, OUT threads int)
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    most record;
    one  record;
    tail record;
    cpus  float8;
    exact float8;
    period_ms CONSTANT float8 := 100;
BEGIN
    SELECT * INTO most FROM @extschema@.noisy_compare_calibrations(fast, slow) c
    WHERE c.probe = 'cpu' ORDER BY c.threads DESC, c.variant LIMIT 1;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'calibrations % and % have no figures of the CPU in common', fast, slow
            USING ERRCODE = 'object_not_in_prerequisite_state',
                  HINT = 'Calibrate both with the probe "cpu", the same cpu_max_prime, and as many threads: noisy_calibrate(''{cpu}'').';
    END IF;
    IF most.verdict = 'invalid' THEN
        RAISE EXCEPTION 'a figure of the CPU is not valid' USING ERRCODE = 'object_not_in_prerequisite_state', DETAIL = most.note;
    END IF;
    SELECT * INTO one FROM @extschema@.noisy_compare_calibrations(fast, slow) c
    WHERE c.probe = 'cpu' AND c.variant = most.variant AND c.threads = 1;
    threads := most.threads;
    one_thread_gap_pct := one.gap_pct;

    -- what the threads had: all CPUs that they ask for, or the limit that was set already
    SELECT least(threads, coalesce(k.cpulimit_said, k.cpulimit_seen)) INTO cpus
    FROM @extschema@.noisy_calibration_checks k WHERE k.calibration_id = fast;
    exact := cpus / (1 + most.gap_pct / 100);
    cpulimit_low := cpus / (1 + most.gap_high_pct / 100);
    cpulimit_high := cpus / (1 + most.gap_low_pct / 100);
    IF exact >= threads THEN
        advice := format('Calibration %s is not faster with %s threads: it needs no limit.', fast, threads);
        RETURN;
    END IF;
    cpulimit := round(exact::numeric, 2);
    predicted_gap_pct := 100 * (cpulimit / exact - 1);
    stall_ms := @extschema@.noisy_throttle_stall_ms(cpulimit, threads, period_ms);

    -- the tails, where the fast host was calibrated under this limit, too, and both have the probe "postgres"
    SELECT t.under, t.variant, t.threads, 100 * (t.fast_ms / t.slow_ms - 1) AS gap_pct INTO tail
    FROM (SELECT c.calibration_id AS under, l.variant, l.threads, l.median AS fast_ms, s.median AS slow_ms, c.taken_at
          FROM @extschema@.noisy_calibrations f
              JOIN @extschema@.noisy_calibrations c ON c.host IS NOT DISTINCT FROM f.host AND c.calibration_id <> f.calibration_id
              JOIN @extschema@.noisy_calibration_checks k ON k.calibration_id = c.calibration_id
              JOIN @extschema@.noisy_calibration_results l ON l.calibration_id = c.calibration_id AND l.probe = 'postgres'
                  AND l.variant LIKE '%, p99' AND l.valid
              JOIN @extschema@.noisy_calibration_results s ON s.calibration_id = slow AND s.probe = l.probe
                  AND s.variant = l.variant AND s.threads = l.threads AND s.valid AND s.median > 0
          WHERE f.calibration_id = fast AND c.calibration_id <> slow AND k.contradiction IS NULL
            AND abs(coalesce(k.cpulimit_said, k.cpulimit_seen) / exact - 1) <= 0.02) t
    ORDER BY t.taken_at DESC, t.under DESC, t.threads DESC, t.variant LIMIT 1;
    tail_gap_pct := tail.gap_pct;
    advice := concat_ws(E'\n',
        format('A limit of %s CPUs makes the fast host as fast as the slow one when all %s threads are busy (%s to %s).', cpulimit, threads,
               coalesce(round(cpulimit_low::numeric, 3)::text, '?'), coalesce(round(cpulimit_high::numeric, 3)::text, '?')),
        format('The limit is inactive below %s busy CPUs%s.', cpulimit, ': one thread stays ' || round(one_thread_gap_pct::numeric, 1) || ' % faster'),
        format('With all threads busy it stops everything for %s ms in each period of %s ms, which the tail of the latency shows. %s',
               round(stall_ms::numeric, 1), period_ms,
               CASE WHEN tail.gap_pct IS NULL THEN 'The tails are equal only if measured so: calibrate the fast host again with the limit set, and both with the probe "postgres".'
                    ELSE format('Measured with the limit set (calibration %s, %s with %s clients): the tail is %s %% %s than that of the slow host.', tail.under,
                                tail.variant, tail.threads, round(abs(tail.gap_pct)::numeric, 1), CASE WHEN tail.gap_pct > 0 THEN 'longer' ELSE 'shorter' END)
                    END),
        format('Proxmox:    qm set VMID --cpulimit %s   (--cpuunits is a weight: it binds only when others want the CPUs)', cpulimit),
        format('cgroup v2:  echo "%s 100000" >/sys/fs/cgroup/GROUP/cpu.max', round((cpulimit * 100000)::numeric)),
        format('cgroup v1:  echo %s >/sys/fs/cgroup/cpu/GROUP/cpu.cfs_quota_us', round((cpulimit * 100000)::numeric)),
        format('systemd:    systemctl set-property UNIT CPUQuota=%s%%', round((cpulimit * 100)::numeric)),
        format('Docker:     docker update --cpus %s CONTAINER', cpulimit),
        format('Kubernetes: resources: {limits: {cpu: %sm}}', round((cpulimit * 1000)::numeric)));
END
$$;
REVOKE ALL ON FUNCTION noisy_recommend_cpulimit(bigint, bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION noisy_recommend_cpulimit(bigint, bigint) TO pg_monitor;
COMMENT ON FUNCTION noisy_recommend_cpulimit(bigint, bigint)
    IS 'limit, CPUs, that makes a fast host as fast as a slow one with all threads busy: threads (or the limit that was set already) * slow / fast, with its 95 % interval, what it leaves, and the commands that set it';

CREATE FUNCTION noisy_recommend_cpulimits(calibrations bigint[])
RETURNS TABLE (calibration_id bigint, host text, is_standard boolean, cpulimit float8, predicted_gap_pct float8, one_thread_gap_pct float8,
               stall_ms float8, advice text)
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    weakest bigint;
BEGIN
    SELECT r.calibration_id INTO weakest
    FROM @extschema@.noisy_calibration_results r
    WHERE r.calibration_id = ANY (calibrations) AND r.probe = 'cpu'
      AND r.threads = (SELECT min(most) FROM (SELECT max(m.threads) AS most FROM @extschema@.noisy_calibration_results m
                                              WHERE m.calibration_id = ANY (calibrations) AND m.probe = 'cpu'
                                              GROUP BY m.calibration_id) x)
    ORDER BY r.median LIMIT 1;
    IF weakest IS NULL THEN
        RAISE EXCEPTION 'none of the calibrations has figures of the CPU'
            USING ERRCODE = 'undefined_object', HINT = 'Calibrate each host with the probe "cpu".';
    END IF;
    RETURN QUERY
    SELECT c.calibration_id, c.host, c.calibration_id = weakest, l.cpulimit, l.predicted_gap_pct, l.one_thread_gap_pct, l.stall_ms,
           CASE WHEN w.id = weakest THEN 'The weakest host is the standard.' ELSE l.advice END
    FROM unnest(calibrations) WITH ORDINALITY AS w(id, n)
        JOIN @extschema@.noisy_calibrations c ON c.calibration_id = w.id
        CROSS JOIN LATERAL @extschema@.noisy_recommend_cpulimit(w.id, weakest) l
    ORDER BY w.n;
END
$$;
REVOKE ALL ON FUNCTION noisy_recommend_cpulimits(bigint[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION noisy_recommend_cpulimits(bigint[]) TO pg_monitor;
COMMENT ON FUNCTION noisy_recommend_cpulimits(bigint[])
    IS 'limits for a fleet: the weakest of the calibrated hosts is the standard, each other one gets the limit that makes it equal';

CREATE FUNCTION noisy_calibration_iterations(fast bigint, slow bigint)
RETURNS TABLE (calibration_id bigint, label text, taken_at timestamptz, cpulimit float8, threads int, rate float8, slow_rate float8,
               gap_pct float8, gap_low_pct float8, gap_high_pct float8, predicted_gap_pct float8, valid boolean, note text)
LANGUAGE sql STABLE PARALLEL RESTRICTED SET search_path = pg_catalog, pg_temp AS $$
    WITH free AS (SELECT * FROM @extschema@.noisy_recommend_cpulimit(fast, slow))
    SELECT c.calibration_id, c.label, c.taken_at, coalesce(k.cpulimit_said, k.cpulimit_seen), g.threads, g.a_median, g.b_median,
           g.gap_pct, g.gap_low_pct, g.gap_high_pct,
           CASE WHEN coalesce(k.cpulimit_said, k.cpulimit_seen) < g.threads
                THEN 100 * (coalesce(k.cpulimit_said, k.cpulimit_seen) / (base.cpus / (1 + base.gap_pct / 100)) - 1) END,
           k.contradiction IS NULL, k.contradiction
    FROM @extschema@.noisy_calibrations c
        JOIN @extschema@.noisy_calibrations f ON f.calibration_id = fast AND c.host = f.host
        CROSS JOIN free
        CROSS JOIN LATERAL (SELECT * FROM @extschema@.noisy_compare_calibrations(c.calibration_id, slow) x
                            WHERE x.probe = 'cpu' AND x.threads = free.threads ORDER BY x.variant LIMIT 1) g
        CROSS JOIN LATERAL (SELECT x.gap_pct, least(x.threads, coalesce(b.cpulimit_said, b.cpulimit_seen)) AS cpus
                            FROM @extschema@.noisy_compare_calibrations(fast, slow) x
                                LEFT JOIN @extschema@.noisy_calibration_checks b ON b.calibration_id = fast
                            WHERE x.probe = 'cpu' AND x.threads = free.threads AND x.variant = g.variant) base
        LEFT JOIN @extschema@.noisy_calibration_checks k ON k.calibration_id = c.calibration_id
    ORDER BY c.taken_at, c.calibration_id
$$;
REVOKE ALL ON FUNCTION noisy_calibration_iterations(bigint, bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION noisy_calibration_iterations(bigint, bigint) TO pg_monitor;
COMMENT ON FUNCTION noisy_calibration_iterations(bigint, bigint)
    IS 'the search for a limit as a log: every calibration of the fast host beside the slow one, the gap that its limit leaves and the one that the formula predicts from the fast host without a limit; rows whose figures contradict their limit are not valid';

CREATE FUNCTION noisy_calibration_export(calibration_id bigint) RETURNS jsonb
LANGUAGE sql STABLE PARALLEL RESTRICTED SET search_path = pg_catalog, pg_temp AS $$
    SELECT jsonb_build_object('format', 'pg_noisyneighbor calibration', 'version', 1,
        'calibration', to_jsonb(c) - 'calibration_id' - 'imported',
        'samples', (SELECT jsonb_agg(to_jsonb(s) - 'calibration_id' ORDER BY s.probe, s.variant, s.threads)
                    FROM @extschema@.noisy_calibration_samples s WHERE s.calibration_id = c.calibration_id))
    FROM @extschema@.noisy_calibration_records c WHERE c.calibration_id = $1
$$;
REVOKE ALL ON FUNCTION noisy_calibration_export(bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION noisy_calibration_export(bigint) TO pg_monitor;
COMMENT ON FUNCTION noisy_calibration_export(bigint)
    IS 'a calibration as jsonb, for noisy_calibration_import() in another database; NULL when there is none of that id';

CREATE FUNCTION noisy_calibration_import(calibration jsonb) RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    id bigint;
BEGIN
    IF calibration ->> 'format' IS DISTINCT FROM 'pg_noisyneighbor calibration' OR calibration -> 'version' IS DISTINCT FROM '1'::jsonb
       OR jsonb_typeof(calibration -> 'calibration') IS DISTINCT FROM 'object'
       OR jsonb_typeof(calibration -> 'samples') IS DISTINCT FROM 'array' THEN
        RAISE EXCEPTION 'this is no exported calibration'
            USING ERRCODE = 'invalid_parameter_value', HINT = 'Exports are made by noisy_calibration_export(); version 1 is read.';
    END IF;
    INSERT INTO @extschema@.noisy_calibration_records (host, label, state, taken_at, finished_at, role_name, parameters, environment, error, imported)
    SELECT c.host, c.label, CASE c.state WHEN 'running' THEN 'aborted' ELSE c.state END, c.taken_at, c.finished_at, c.role_name, c.parameters,
           c.environment, c.error, true
    FROM jsonb_populate_record(NULL::@extschema@.noisy_calibration_records, calibration -> 'calibration') c
    RETURNING calibration_id INTO id;
    INSERT INTO @extschema@.noisy_calibration_samples (calibration_id, probe, variant, threads, unit, samples, valid, note, probe_version)
    SELECT id, s.probe, s.variant, s.threads, s.unit, s.samples, s.valid, s.note, s.probe_version
    FROM jsonb_populate_recordset(NULL::@extschema@.noisy_calibration_samples, calibration -> 'samples') s;
    RETURN id;
END
$$;
REVOKE ALL ON FUNCTION noisy_calibration_import(jsonb) FROM PUBLIC;
COMMENT ON FUNCTION noisy_calibration_import(jsonb)
    IS 'take in a calibration that noisy_calibration_export() made, so that hosts meet in one database; returns its id here';

GRANT SELECT ON noisy_calibration_checks TO pg_monitor;
