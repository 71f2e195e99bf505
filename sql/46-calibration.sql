-- Calibrations: what a host can do. Only the calibrate worker writes here, and noisy_calibration_import().

CREATE SEQUENCE noisy_calibration_id_seq;
COMMENT ON SEQUENCE noisy_calibration_id_seq IS 'ids of calibrations';

CREATE TABLE noisy_calibration_records (
    calibration_id  bigint PRIMARY KEY DEFAULT pg_catalog.nextval('@extschema@.noisy_calibration_id_seq'),
    host            text,
    label           text,
    state           text NOT NULL CHECK (state IN ('running', 'completed', 'cancelled', 'failed', 'aborted')),
    taken_at        timestamptz NOT NULL DEFAULT pg_catalog.clock_timestamp(),
    finished_at     timestamptz,
    role_name       name NOT NULL,
    parameters      jsonb NOT NULL,
    environment     jsonb NOT NULL,
    error           text,
    imported        boolean NOT NULL DEFAULT false
);
ALTER SEQUENCE noisy_calibration_id_seq OWNED BY noisy_calibration_records.calibration_id;
COMMENT ON TABLE noisy_calibration_records IS 'calibrations as their worker recorded them; read noisy_calibrations, which knows about those that died';
COMMENT ON COLUMN noisy_calibration_records.calibration_id IS 'id of the calibration';
COMMENT ON COLUMN noisy_calibration_records.host IS 'name of the host';
COMMENT ON COLUMN noisy_calibration_records.label IS 'name given by the caller';
COMMENT ON COLUMN noisy_calibration_records.state IS 'state as last recorded';
COMMENT ON COLUMN noisy_calibration_records.taken_at IS 'when it was started';
COMMENT ON COLUMN noisy_calibration_records.finished_at IS 'when it ended';
COMMENT ON COLUMN noisy_calibration_records.role_name IS 'role that started it';
COMMENT ON COLUMN noisy_calibration_records.parameters IS 'what was asked for';
COMMENT ON COLUMN noisy_calibration_records.environment IS 'host and server as they were';
COMMENT ON COLUMN noisy_calibration_records.error IS 'why it failed or was aborted';
COMMENT ON COLUMN noisy_calibration_records.imported IS 'whether it came with noisy_calibration_import()';

CREATE TABLE noisy_calibration_samples (
    calibration_id  bigint NOT NULL REFERENCES noisy_calibration_records ON DELETE CASCADE,
    probe           text NOT NULL,
    variant         text NOT NULL,
    threads         int NOT NULL,
    unit            text NOT NULL,
    samples         float8[] NOT NULL,
    valid           boolean NOT NULL,
    note            text,
    probe_version   int NOT NULL,
    PRIMARY KEY (calibration_id, probe, variant, threads)
);
COMMENT ON TABLE noisy_calibration_samples IS 'every repeat of what was measured; read noisy_calibration_results';
COMMENT ON COLUMN noisy_calibration_samples.calibration_id IS 'calibration';
COMMENT ON COLUMN noisy_calibration_samples.probe IS 'probe';
COMMENT ON COLUMN noisy_calibration_samples.variant IS 'what the probe measured';
COMMENT ON COLUMN noisy_calibration_samples.threads IS 'threads at work at the same time';
COMMENT ON COLUMN noisy_calibration_samples.unit IS 'unit of the samples';
COMMENT ON COLUMN noisy_calibration_samples.samples IS 'one value per repeat, in their order';
COMMENT ON COLUMN noisy_calibration_samples.valid IS 'whether they may be compared';
COMMENT ON COLUMN noisy_calibration_samples.note IS 'why not, or what is to be known about them';
COMMENT ON COLUMN noisy_calibration_samples.probe_version IS 'version of the probe: results of different versions do not compare';

-- What the probe "postgres" reads: the same on every host, hence never written.
CREATE TABLE noisy_calibration_accounts (
    aid      int PRIMARY KEY,
    abalance int NOT NULL,
    filler   character(84) NOT NULL
);
COMMENT ON TABLE noisy_calibration_accounts IS 'data set of the probe "postgres" of noisy_calibrate()';
COMMENT ON COLUMN noisy_calibration_accounts.aid IS 'key';
COMMENT ON COLUMN noisy_calibration_accounts.abalance IS 'what is looked up';
COMMENT ON COLUMN noisy_calibration_accounts.filler IS 'makes a row as long as one of pgbench_accounts';
INSERT INTO noisy_calibration_accounts SELECT n, 0, '' FROM pg_catalog.generate_series(1, 10000) AS n;

SELECT pg_catalog.pg_extension_config_dump('noisy_calibration_id_seq', '');
SELECT pg_catalog.pg_extension_config_dump('noisy_calibration_records', '');
SELECT pg_catalog.pg_extension_config_dump('noisy_calibration_samples', '');
SELECT pg_catalog.pg_extension_config_dump('noisy_calibration_accounts', 'WHERE false');

CREATE FUNCTION noisy_calibrate(
    probes   text[]   DEFAULT '{cpu,memory,cache,jitter,disk}',
    duration interval DEFAULT '2 s',
    repeats  int      DEFAULT 5,
    label    text     DEFAULT NULL,
    options  jsonb    DEFAULT '{}'
) RETURNS bigint
AS 'MODULE_PATHNAME', 'nn_noisy_calibrate'
LANGUAGE C VOLATILE PARALLEL UNSAFE;
REVOKE ALL ON FUNCTION noisy_calibrate(text[], interval, int, text, jsonb) FROM PUBLIC;
COMMENT ON FUNCTION noisy_calibrate(text[], interval, int, text, jsonb)
    IS 'measure what this host can do, in a background worker, and wait for the end; returns the id of the calibration';

CREATE FUNCTION noisy_live_calibration() RETURNS bigint
AS 'MODULE_PATHNAME', 'nn_noisy_live_calibration'
LANGUAGE C VOLATILE PARALLEL RESTRICTED;
REVOKE ALL ON FUNCTION noisy_live_calibration() FROM PUBLIC;
COMMENT ON FUNCTION noisy_live_calibration()
    IS 'low 32 bits of the id of the calibration that is on in this database; NULL: none is';

-- What decides about speed. Names and what changes by itself are left out.
CREATE FUNCTION noisy_environment_identity(environment jsonb) RETURNS jsonb
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT environment - ARRAY['host_name', 'mem_available_bytes', 'mem_used_bytes', 'load_1min', 'settings', 'cpu_mhz',
                               'clock_read_ns', 'quota_source', 'cgroup_path']
           || CASE WHEN jsonb_typeof(environment -> 'settings') = 'object'
                   THEN jsonb_build_object('settings', (environment -> 'settings') - 'port') ELSE '{}' END
$$;
COMMENT ON FUNCTION noisy_environment_identity(jsonb)
    IS 'the parts of an environment that decide about speed: CPU, caches, quota, affinity, governor, clock, kernel, server and its settings';

CREATE FUNCTION noisy_environment_hash(environment jsonb) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$ SELECT md5(@extschema@.noisy_environment_identity(environment)::text) $$;
COMMENT ON FUNCTION noisy_environment_hash(jsonb)
    IS 'fingerprint of noisy_environment_identity(): calibrations with the same one were made under the same conditions';

CREATE VIEW noisy_calibrations AS
    SELECT c.calibration_id, c.host, c.label, c.taken_at, c.environment,
           noisy_environment_hash(c.environment) AS environment_hash,
           CASE WHEN c.state = 'running' AND NOT pg_is_in_recovery()
                     AND noisy_live_calibration() IS DISTINCT FROM (c.calibration_id & 4294967295)
                THEN 'aborted' ELSE c.state END AS state,
           c.finished_at, c.role_name, c.parameters,
           CASE WHEN c.state = 'running' AND NOT pg_is_in_recovery()
                     AND noisy_live_calibration() IS DISTINCT FROM (c.calibration_id & 4294967295)
                THEN 'the server or the worker of the calibration died' ELSE c.error END AS error,
           c.imported
    FROM noisy_calibration_records c;
COMMENT ON VIEW noisy_calibrations IS 'calibrations; DELETE FROM noisy_calibrations removes one with all that belongs to it';
COMMENT ON COLUMN noisy_calibrations.calibration_id IS 'id of the calibration';
COMMENT ON COLUMN noisy_calibrations.host IS 'name of the host';
COMMENT ON COLUMN noisy_calibrations.label IS 'name given by the caller';
COMMENT ON COLUMN noisy_calibrations.taken_at IS 'when it was started';
COMMENT ON COLUMN noisy_calibrations.environment IS 'host and server as they were';
COMMENT ON COLUMN noisy_calibrations.environment_hash IS 'fingerprint of what of it decides about speed';
COMMENT ON COLUMN noisy_calibrations.state IS 'running, completed, cancelled, failed or aborted; what ended early keeps the figures that it has';
COMMENT ON COLUMN noisy_calibrations.finished_at IS 'when it ended';
COMMENT ON COLUMN noisy_calibrations.role_name IS 'role that started it';
COMMENT ON COLUMN noisy_calibrations.parameters IS 'what was asked for';
COMMENT ON COLUMN noisy_calibrations.error IS 'why it failed or was aborted';
COMMENT ON COLUMN noisy_calibrations.imported IS 'whether it came with noisy_calibration_import()';

-- Ways in which figures contradict what was expected of the host (option "expect"): its environment is another one; it has more CPUs than
-- the limit that is said to be set; or no limit is said, but all threads together are far from what they had reached before.
CREATE VIEW noisy_calibration_checks AS
    WITH scaling AS (
        SELECT c.calibration_id, c.host, c.taken_at, c.environment, x.expect, x.said, x.quota, r.variant, r.threads, r.cpus
        FROM noisy_calibration_records c,
             LATERAL (SELECT c.parameters #> '{options,expect}' AS expect,
                             (c.parameters #>> '{options,expect,quota_cpus}')::float8 AS said,
                             (c.environment ->> 'quota_cpus')::float8 AS quota) AS x
             LEFT JOIN LATERAL (
                 SELECT n.variant, n.threads,
                        (SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY v) FROM unnest(n.samples) v)
                        / nullif((SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY v) FROM unnest(one.samples) v), 0) AS cpus
                 FROM noisy_calibration_samples n
                     JOIN noisy_calibration_samples one ON one.calibration_id = n.calibration_id AND one.probe = n.probe
                         AND one.variant = n.variant AND one.threads = 1
                 WHERE n.calibration_id = c.calibration_id AND n.probe = 'cpu'
                 ORDER BY n.threads DESC, n.variant LIMIT 1) AS r ON true)
    SELECT s.calibration_id, s.said AS cpulimit_said, s.quota AS cpulimit_seen, s.cpus AS effective_cpus,
           coalesce(wrong.what,
               CASE WHEN s.said IS NULL AND s.quota IS NULL AND s.cpus < 0.8 * best.cpus
                    THEN format('no limit is said, but %s threads reach %s CPUs where this host had reached %s: a limit seems to be set still',
                                s.threads, round(s.cpus::numeric, 2), round(best.cpus::numeric, 2))
                    WHEN s.said IS NOT NULL AND s.quota IS NULL AND s.cpus > 1.05 * s.said
                    THEN format('a limit of %s CPUs is said, but %s threads reach %s', s.said, s.threads, round(s.cpus::numeric, 2))
                    END) AS contradiction
    FROM scaling s
        LEFT JOIN LATERAL (SELECT max(e.cpus) AS cpus FROM scaling e
                           WHERE e.host = s.host AND e.said IS NULL AND e.variant = s.variant AND e.threads = s.threads
                             AND e.taken_at <= s.taken_at) AS best ON true
        LEFT JOIN LATERAL (SELECT string_agg(format('%s was to be %s, and is %s', e.key, e.value, s.environment -> e.key), '; ' ORDER BY e.key) AS what
                           FROM jsonb_each(CASE WHEN jsonb_typeof(s.expect) = 'object' THEN s.expect ELSE '{}' END) AS e
                           WHERE s.environment ? e.key AND s.environment -> e.key <> e.value
                             AND NOT (e.key = 'quota_cpus' AND s.quota IS NULL)) AS wrong ON true;
COMMENT ON VIEW noisy_calibration_checks IS 'whether the figures of each calibration contradict what was expected of the host';
COMMENT ON COLUMN noisy_calibration_checks.calibration_id IS 'calibration';
COMMENT ON COLUMN noisy_calibration_checks.cpulimit_said IS 'limit that the caller believed to be set, CPUs: option {"expect": {"quota_cpus": …}}';
COMMENT ON COLUMN noisy_calibration_checks.cpulimit_seen IS 'quota that the host showed, CPUs; NULL: none, or not to be seen from inside';
COMMENT ON COLUMN noisy_calibration_checks.effective_cpus IS 'rate of the most threads / rate of one';
COMMENT ON COLUMN noisy_calibration_checks.contradiction IS 'what is wrong; NULL: nothing';

CREATE VIEW noisy_calibration_results AS
    SELECT s.calibration_id, s.probe, s.variant, s.threads, s.unit, cardinality(s.samples) AS repeats,
           q.p[1] AS p10, q.p[2] AS median, q.p[3] AS p90, q.mean,
           CASE WHEN cardinality(s.samples) > 1 AND q.mean > 0 THEN 100 * q.stddev / q.mean END AS cv_pct,
           CASE WHEN cardinality(s.samples) > 1 AND q.p[2] > 0 THEN 100 * (q.p[3] - q.p[1]) / q.p[2] END AS spread_pct,
           s.samples, s.valid AND k.contradiction IS NULL AS valid, coalesce(k.contradiction, s.note) AS note, s.probe_version
    FROM noisy_calibration_samples s
        LEFT JOIN noisy_calibration_checks k ON k.calibration_id = s.calibration_id AND s.probe = 'cpu',
         LATERAL (SELECT percentile_cont('{0.1,0.5,0.9}'::float8[]) WITHIN GROUP (ORDER BY v) AS p,
                         avg(v) AS mean, stddev_samp(v) AS stddev
                  FROM unnest(s.samples) AS v) AS q;
COMMENT ON VIEW noisy_calibration_results IS 'what was measured by each probe of a calibration, over its repeats';
COMMENT ON COLUMN noisy_calibration_results.calibration_id IS 'calibration';
COMMENT ON COLUMN noisy_calibration_results.probe IS 'probe';
COMMENT ON COLUMN noisy_calibration_results.variant IS 'what the probe measured';
COMMENT ON COLUMN noisy_calibration_results.threads IS 'threads at work at the same time';
COMMENT ON COLUMN noisy_calibration_results.unit IS 'unit of the figures: rates end in /s; of ns, us and ms the smaller is the faster';
COMMENT ON COLUMN noisy_calibration_results.repeats IS 'repeats that were measured';
COMMENT ON COLUMN noisy_calibration_results.p10 IS '10th percentile over the repeats';
COMMENT ON COLUMN noisy_calibration_results.median IS 'median over the repeats';
COMMENT ON COLUMN noisy_calibration_results.p90 IS '90th percentile over the repeats';
COMMENT ON COLUMN noisy_calibration_results.mean IS 'mean over the repeats';
COMMENT ON COLUMN noisy_calibration_results.cv_pct IS 'standard deviation, percent of the mean';
COMMENT ON COLUMN noisy_calibration_results.spread_pct IS '(p90 - p10) / median, percent: wide where somebody else uses the same cores';
COMMENT ON COLUMN noisy_calibration_results.samples IS 'one value per repeat, in their order';
COMMENT ON COLUMN noisy_calibration_results.valid IS 'whether the figures may be compared';
COMMENT ON COLUMN noisy_calibration_results.note IS 'why not, or what is to be known about them';
COMMENT ON COLUMN noisy_calibration_results.probe_version IS 'version of the probe: results of different versions do not compare';

GRANT SELECT ON noisy_calibration_records, noisy_calibration_samples, noisy_calibration_accounts, noisy_calibrations, noisy_calibration_results
    TO pg_monitor;
GRANT EXECUTE ON FUNCTION noisy_live_calibration() TO pg_monitor;
