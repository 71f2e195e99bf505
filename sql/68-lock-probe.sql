-- A lock of our own: what those who wait for it wait for. The function and the view share their name; one is called, the other read.

CREATE FUNCTION noisy_lock_probe(
    duration      interval  DEFAULT '5 s',
    workers       int       DEFAULT 4,
    hold_us       float8    DEFAULT 50,
    pause_us      float8    DEFAULT 100,
    OUT run_id bigint, OUT acquisitions bigint, OUT hold_p50_ms float8, OUT hold_p99_ms float8, OUT wait_p50_ms float8,
    OUT wait_p99_ms float8, OUT wait_max_ms float8, OUT long_waits bigint, OUT holder_on_cpu_pct float8,
    OUT holder_off_cpu_pct float8, OUT waiter_run_queue_pct float8, OUT rest_pct float8, OUT next_in_line_pct float8,
    OUT overlap_pct float8, OUT closure_pct float8, OUT long_holder_on_cpu_pct float8, OUT long_holder_off_cpu_pct float8,
    OUT long_waiter_run_queue_pct float8, OUT long_next_in_line_pct float8
) RETURNS SETOF record
AS 'MODULE_PATHNAME', 'nn_noisy_lock_probe'
LANGUAGE C VOLATILE ROWS 1 PARALLEL UNSAFE;
REVOKE ALL ON FUNCTION noisy_lock_probe(interval, int, float8, float8) FROM PUBLIC;
COMMENT ON FUNCTION noisy_lock_probe(interval, int, float8, float8)
    IS 'have workers contend for a lightweight lock of their own, and tell what they waited for; the columns are those of the view';

CREATE VIEW noisy_lock_probe AS
    SELECT g.run_id, g.clients, g.level, g.blocks, g.workers, g.hold_us, g.pause_us, g.acquisitions,
           g.h[1] AS hold_p50_ms, g.h[2] AS hold_p99_ms, g.w[1] AS wait_p50_ms, g.w[2] AS wait_p99_ms, g.wait_max_ms, g.long_waits,
           100 * g.holder_on_cpu_s / nullif(g.wait_s, 0) AS holder_on_cpu_pct,
           100 * g.holder_off_cpu_s / nullif(g.wait_s, 0) AS holder_off_cpu_pct,
           100 * g.waiter_run_queue_s / nullif(g.wait_s, 0) AS waiter_run_queue_pct,
           100 * g.rest_s / nullif(g.wait_s, 0) AS rest_pct,
           100 * g.next_in_line_s / nullif(g.wait_s, 0) AS next_in_line_pct,
           100 * g.overlap_s / nullif(g.wait_s, 0) AS overlap_pct, 100 * g.known_s / nullif(g.wait_s, 0) AS closure_pct,
           100 * g.long_holder_on_cpu_s / nullif(g.long_wait_s, 0) AS long_holder_on_cpu_pct,
           100 * g.long_holder_off_cpu_s / nullif(g.long_wait_s, 0) AS long_holder_off_cpu_pct,
           100 * g.long_waiter_run_queue_s / nullif(g.long_wait_s, 0) AS long_waiter_run_queue_pct,
           100 * g.long_next_in_line_s / nullif(g.long_wait_s, 0) AS long_next_in_line_pct
    FROM (SELECT b.run_id, b.clients, b.level, count(*) AS blocks, max(p.workers) AS workers, max(p.hold_us) AS hold_us,
                 max(p.pause_us) AS pause_us, sum(p.acquisitions)::bigint AS acquisitions, sum(p.long_waits)::bigint AS long_waits,
                 noisy_percentile(noisy_merge(p.hold), '{0.5,0.99}'::float8[]) AS h,
                 noisy_percentile(noisy_merge(p.wait), '{0.5,0.99}'::float8[]) AS w,
                 noisy_max(noisy_merge(p.wait)) AS wait_max_ms, sum(p.wait_s) AS wait_s,
                 sum(p.holder_on_cpu_s) AS holder_on_cpu_s, sum(p.holder_off_cpu_s) AS holder_off_cpu_s,
                 sum(p.waiter_run_queue_s) AS waiter_run_queue_s, sum(p.rest_s) AS rest_s, sum(p.next_in_line_s) AS next_in_line_s,
                 sum(p.overlap_s) AS overlap_s, sum(p.known_s) AS known_s, sum(p.long_wait_s) AS long_wait_s,
                 sum(p.long_holder_on_cpu_s) AS long_holder_on_cpu_s, sum(p.long_holder_off_cpu_s) AS long_holder_off_cpu_s,
                 sum(p.long_waiter_run_queue_s) AS long_waiter_run_queue_s, sum(p.long_next_in_line_s) AS long_next_in_line_s
          FROM noisy_blocks b
          JOIN noisy_block_lock_probe p ON p.run_id = b.run_id AND p.block = b.block
          WHERE b.accepted
          GROUP BY b.run_id, b.clients, b.level) AS g;
COMMENT ON VIEW noisy_lock_probe IS 'a lightweight lock of our own, taken by several workers at once: how long they waited, and whether because its holder was kept from a CPU; of runs with the option lock_probe, and of noisy_lock_probe()';
COMMENT ON COLUMN noisy_lock_probe.run_id IS 'run';
COMMENT ON COLUMN noisy_lock_probe.clients IS 'clients of the workload; 0: none';
COMMENT ON COLUMN noisy_lock_probe.level IS 'noise dose asked for, percent; 0 is the baseline';
COMMENT ON COLUMN noisy_lock_probe.blocks IS 'accepted blocks';
COMMENT ON COLUMN noisy_lock_probe.workers IS 'workers that contend for the lock';
COMMENT ON COLUMN noisy_lock_probe.hold_us IS 'CPU time for which each of them holds it, microseconds';
COMMENT ON COLUMN noisy_lock_probe.pause_us IS 'rest after it, microseconds: they come together every hold_us + pause_us';
COMMENT ON COLUMN noisy_lock_probe.acquisitions IS 'times that one had it';
COMMENT ON COLUMN noisy_lock_probe.hold_p50_ms IS 'median of the time that it was held, ms';
COMMENT ON COLUMN noisy_lock_probe.hold_p99_ms IS '99th percentile of it, ms';
COMMENT ON COLUMN noisy_lock_probe.wait_p50_ms IS 'median of the waits, ms';
COMMENT ON COLUMN noisy_lock_probe.wait_p99_ms IS '99th percentile of them, ms';
COMMENT ON COLUMN noisy_lock_probe.wait_max_ms IS 'longest wait, ms';
COMMENT ON COLUMN noisy_lock_probe.long_waits IS 'waits of more than a millisecond';
COMMENT ON COLUMN noisy_lock_probe.holder_on_cpu_pct IS 'share of all time waited in which others held the lock and were on a CPU, percent';
COMMENT ON COLUMN noisy_lock_probe.holder_off_cpu_pct IS 'share in which others held it and were kept from a CPU: preemption of the holder, percent';
COMMENT ON COLUMN noisy_lock_probe.waiter_run_queue_pct IS 'share in which the waiter itself waited for a CPU, percent; NULL: the kernel keeps no account';
COMMENT ON COLUMN noisy_lock_probe.rest_pct IS 'the rest: wake-ups, and the lock''s own code, percent; the four shares sum to 100';
COMMENT ON COLUMN noisy_lock_probe.next_in_line_pct IS 'of the rest: the lock was free, and another one, who had been woken to take it, waited for a CPU, percent of the waits';
COMMENT ON COLUMN noisy_lock_probe.overlap_pct IS 'time in which a waiter queued for a CPU while others held the lock, percent of the waits: it is in waiter_run_queue_pct alone';
COMMENT ON COLUMN noisy_lock_probe.closure_pct IS 'time for which the lock was held or free during the waits, by the account of its holders, percent of the waits by the clock of the waiters: 100 when the parts are right';
COMMENT ON COLUMN noisy_lock_probe.long_holder_on_cpu_pct IS 'holder_on_cpu_pct of the long waits alone; NULL: there were none';
COMMENT ON COLUMN noisy_lock_probe.long_holder_off_cpu_pct IS 'holder_off_cpu_pct of the long waits alone';
COMMENT ON COLUMN noisy_lock_probe.long_waiter_run_queue_pct IS 'waiter_run_queue_pct of the long waits alone';
COMMENT ON COLUMN noisy_lock_probe.long_next_in_line_pct IS 'next_in_line_pct of the long waits alone';

CREATE FUNCTION noisy_report_lock_probe(run bigint) RETURNS text
LANGUAGE sql STABLE PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT format(E'Lock probe: %s workers hold a lock of their own for %s us each; shares of the time that they waited\n',
                  max(p.workers), @extschema@.noisy_report_number(max(p.hold_us))) ||
           @extschema@.noisy_report_table(
               '{clients,noise,taken,hold p99,wait p50,wait p99,wait max,"> 1 ms",holder on CPU %,holder off CPU %,own run queue %,rest %,of it next in line %}',
               'rrrrrrrrrrrrr',
               array_agg(ARRAY[nullif(p.clients, 0)::text, p.level::text, p.acquisitions::text,
                               @extschema@.noisy_report_number(p.hold_p99_ms), @extschema@.noisy_report_number(p.wait_p50_ms),
                               @extschema@.noisy_report_number(p.wait_p99_ms), @extschema@.noisy_report_number(p.wait_max_ms),
                               p.long_waits::text, @extschema@.noisy_report_number(p.holder_on_cpu_pct, 0),
                               @extschema@.noisy_report_number(p.holder_off_cpu_pct, 0),
                               @extschema@.noisy_report_number(p.waiter_run_queue_pct, 0),
                               @extschema@.noisy_report_number(p.rest_pct, 0), @extschema@.noisy_report_number(p.next_in_line_pct, 0)]
                         ORDER BY p.clients, p.level))
    FROM @extschema@.noisy_lock_probe p
    WHERE p.run_id = run
    HAVING count(*) > 0
$$;
COMMENT ON FUNCTION noisy_report_lock_probe(bigint)
    IS 'section of noisy_report(): what the workers of the lock probe waited for; NULL: the run had none';

GRANT SELECT ON noisy_lock_probe TO pg_monitor;
REVOKE ALL ON FUNCTION noisy_report_lock_probe(bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION noisy_report_lock_probe(bigint) TO pg_monitor;
