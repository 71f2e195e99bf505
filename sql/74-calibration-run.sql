-- What the server itself does on a host: a run without noise becomes a part of a calibration.

CREATE FUNCTION noisy_calibration_add_run(calibration_id bigint, run_id bigint) RETURNS int
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    c     record;
    r     record;
    alike boolean;
    added int;
BEGIN
    SELECT * INTO c FROM @extschema@.noisy_calibrations k WHERE k.calibration_id = $1;
    IF NOT FOUND OR c.state = 'running' THEN
        RAISE EXCEPTION USING ERRCODE = 'undefined_object', MESSAGE = format('calibration %s does not exist, or is still on', $1),
            HINT = 'SELECT calibration_id, label, state FROM noisy_calibrations lists them.';
    END IF;
    SELECT * INTO r FROM @extschema@.noisy_runs k WHERE k.run_id = $2;
    IF NOT FOUND OR r.workload IS NULL OR r.state <> 'completed' THEN
        RAISE EXCEPTION USING ERRCODE = 'undefined_object', MESSAGE = format('run %s does not exist, has no workload, or was not completed', $2),
            HINT = 'For example: SELECT noisy_run(''select-only'', ''{1,2,4}'', ''{0}'', noise => ''{}'', repeats => 5).';
    END IF;
    alike := @extschema@.noisy_environment_hash(r.environment) = c.environment_hash;
    INSERT INTO @extschema@.noisy_calibration_samples
        (calibration_id, probe, variant, threads, unit, samples, valid, note, probe_version)
    SELECT $1, 'postgres', f.variant, b.clients, f.unit, array_agg(f.value ORDER BY b.block), alike,
           concat_ws('; ', format('run %s', $2), CASE WHEN NOT alike THEN 'made in another environment than the calibration' END), 1
    FROM @extschema@.noisy_blocks b,
         LATERAL (VALUES (r.workload, 'transactions/s', b.tps),
                         (r.workload || ', mean', 'ms', @extschema@.noisy_mean(b.latency)),
                         (r.workload || ', p50', 'ms', @extschema@.noisy_percentile(b.latency, 0.5)),
                         (r.workload || ', p95', 'ms', @extschema@.noisy_percentile(b.latency, 0.95)),
                         (r.workload || ', p99', 'ms', @extschema@.noisy_percentile(b.latency, 0.99))) AS f (variant, unit, value)
    WHERE b.run_id = $2 AND b.level = 0 AND b.accepted AND f.value IS NOT NULL
    GROUP BY f.variant, f.unit, b.clients;
    GET DIAGNOSTICS added = ROW_COUNT;
    RETURN added;
END
$$;
REVOKE ALL ON FUNCTION noisy_calibration_add_run(bigint, bigint) FROM PUBLIC;
COMMENT ON FUNCTION noisy_calibration_add_run(bigint, bigint)
    IS 'make the blocks without noise of a run figures of the probe "postgres" of a calibration: tps and latency, threads are its clients; not valid when the run was made in another environment; returns how many figures';
