-- Runs at a fixed rate: what was asked for, what was done, and what waited.

CREATE VIEW noisy_open_loop AS
    SELECT g.run_id, r.workload, g.clients, g.level, g.achieved_pct, g.blocks, g.rate,
           g.transactions / nullif(g.measured_s, 0) AS tps,
           g.p[1] AS p50_ms, g.p[2] AS p95_ms, g.p[3] AS p99_ms,
           g.s[1] AS service_p50_ms, g.s[2] AS service_p95_ms, g.s[3] AS service_p99_ms,
           g.backlog_max, g.not_started, g.unfinished, g.late,
           100 * g.late::float8 / nullif(g.transactions + g.not_started + g.unfinished, 0) AS late_pct,
           g.generator_lag_p99_ms
    FROM (SELECT b.run_id, b.clients, b.level,
                 sum(b.achieved_pct * b.duration_s)
                     / nullif(sum(b.duration_s) FILTER (WHERE b.achieved_pct IS NOT NULL), 0) AS achieved_pct,
                 count(*) AS blocks, max(b.rate) AS rate, sum(b.duration_s) AS measured_s,
                 sum(b.transactions)::bigint AS transactions,
                 noisy_percentile(noisy_merge(b.latency), '{0.5,0.95,0.99}'::float8[]) AS p,
                 noisy_percentile(noisy_merge(b.service), '{0.5,0.95,0.99}'::float8[]) AS s,
                 max(b.backlog_max) AS backlog_max, sum(b.not_started)::bigint AS not_started,
                 sum(b.unfinished)::bigint AS unfinished, sum(b.late)::bigint AS late,
                 max(b.generator_lag_p99_ms) AS generator_lag_p99_ms
          FROM noisy_blocks b
          WHERE b.accepted AND b.rate IS NOT NULL
          GROUP BY b.run_id, b.clients, b.level) AS g
    JOIN noisy_run_records r ON r.run_id = g.run_id;
COMMENT ON VIEW noisy_open_loop IS 'runs with a rate: what was asked for and done, over the accepted blocks of each number of clients and noise level; a server that keeps up has tps near rate and a latency near the service time';
COMMENT ON COLUMN noisy_open_loop.run_id IS 'run';
COMMENT ON COLUMN noisy_open_loop.workload IS 'name of the workload';
COMMENT ON COLUMN noisy_open_loop.clients IS 'clients of the workload: at most so many transactions are in flight at once';
COMMENT ON COLUMN noisy_open_loop.level IS 'noise dose asked for, percent per load thread; 0 is the baseline';
COMMENT ON COLUMN noisy_open_loop.achieved_pct IS 'noise dose delivered, percent, mean over time';
COMMENT ON COLUMN noisy_open_loop.blocks IS 'accepted blocks; everything else in the row is about these';
COMMENT ON COLUMN noisy_open_loop.rate IS 'transactions per second asked for';
COMMENT ON COLUMN noisy_open_loop.tps IS 'transactions per second that ended';
COMMENT ON COLUMN noisy_open_loop.p50_ms IS 'median latency, from the moment at which a transaction was due, ms';
COMMENT ON COLUMN noisy_open_loop.p95_ms IS '95th percentile of it, ms';
COMMENT ON COLUMN noisy_open_loop.p99_ms IS '99th percentile of it, ms';
COMMENT ON COLUMN noisy_open_loop.service_p50_ms IS 'median service time, from sending, ms';
COMMENT ON COLUMN noisy_open_loop.service_p95_ms IS '95th percentile of it, ms';
COMMENT ON COLUMN noisy_open_loop.service_p99_ms IS '99th percentile of it, ms';
COMMENT ON COLUMN noisy_open_loop.backlog_max IS 'most transactions that were due and waited for a client at once, in any block';
COMMENT ON COLUMN noisy_open_loop.not_started IS 'transactions that were due and still waited for a client when their block ended';
COMMENT ON COLUMN noisy_open_loop.unfinished IS 'transactions that were in flight when their block ended';
COMMENT ON COLUMN noisy_open_loop.late IS 'transactions over latency_limit_ms, see noisy_blocks; NULL: no limit was given';
COMMENT ON COLUMN noisy_open_loop.late_pct IS 'late as a share of those that ended, were not started, or were in flight at the end, percent';
COMMENT ON COLUMN noisy_open_loop.generator_lag_p99_ms IS 'largest, over the blocks, of the 99th percentile of how late transactions were sent for which a client was idle, ms: where it is not small beside the latency, the load driver is part of what was measured';

CREATE FUNCTION noisy_report_open_loop(run bigint) RETURNS text
LANGUAGE sql STABLE PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT format(E'Open loop of %s transactions/s%s: latency counts from when they were due, service time from sending\n',
                  @extschema@.noisy_report_number(max(o.rate)),
                  ', limit ' || @extschema@.noisy_report_number(max((r.parameters ->> 'latency_limit_ms')::float8)) || ' ms') ||
           @extschema@.noisy_report_table(
               '{clients,noise,done/s,service p50,service p99,backlog,not started,late %,driver lag p99}', 'rrrrrrrrr',
               array_agg(ARRAY[o.clients::text, o.level::text, @extschema@.noisy_report_number(o.tps, 1),
                               @extschema@.noisy_report_number(o.service_p50_ms),
                               @extschema@.noisy_report_number(o.service_p99_ms),
                               o.backlog_max::text, o.not_started::text, @extschema@.noisy_report_number(o.late_pct, 2),
                               @extschema@.noisy_report_number(o.generator_lag_p99_ms)]
                         ORDER BY o.clients, o.level))
    FROM @extschema@.noisy_open_loop o
    JOIN @extschema@.noisy_run_records r ON r.run_id = o.run_id
    WHERE o.run_id = run
    HAVING count(*) > 0
$$;
COMMENT ON FUNCTION noisy_report_open_loop(bigint)
    IS 'section of noisy_report(): rate, service time, backlog and late share; NULL for a closed loop';

GRANT SELECT ON noisy_open_loop TO pg_monitor;
REVOKE ALL ON FUNCTION noisy_report_open_loop(bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION noisy_report_open_loop(bigint) TO pg_monitor;
