"""The dashboards: titles, variables, panels and their queries.  docs/grafana/generate writes them as JSON for Grafana.

A query sees one run: $run is a variable. Values of variables are always written as quoted strings (sqlstring), so that a label or a name
cannot become SQL, and an empty variable, which there is before the first run, is no error but an empty panel.
"""

from panels import Bars, Dashboard, Stat, Table, TimeSeries, Variable

RUN = "run_id = nullif(${run:sqlstring}, '')::bigint"
CELLS = "clients::text IN (${clients:sqlstring}) AND trim_scale(level)::text IN (${level:sqlstring})"
NO_RUN = "Nothing here: no run is chosen above, or it has not ended a block yet."
OUTSIDE = "Nothing here: the run lies outside of the time range. Choose the run in the table of runs, which sets the time range too."
NO_NOISE = "Nothing here: the run has no block of a workload that was accepted."

VARIABLES = [
    Variable("run", "Run", """
        SELECT run_id::text AS __value, concat_ws(' ', run_id, label, workload, to_char(started_at, 'YYYY-MM-DD HH24:MI')) AS __text
        FROM noisy_runs ORDER BY run_id DESC LIMIT 500"""),
    Variable("clients", "Clients", f"SELECT DISTINCT clients FROM noisy_blocks WHERE {RUN} ORDER BY clients", several=True),
    Variable("level", "Noise level, %", f"SELECT DISTINCT trim_scale(level) AS level FROM noisy_blocks WHERE {RUN} ORDER BY level",
             several=True),
]
LIVE = "run_id = (SELECT run_id FROM noisy_progress)"
NOT_LIVE = "No run is on in this database. SELECT noisy_run() starts one."
NOT_YET = "Nothing here yet: a row comes when a block of the live run ends."

# A band for each checkpoint that touches the time range.
CHECKPOINTS = """
    SELECT started_at AS "time", ended_at AS timeend, coalesce(kind, 'unknown') || ' checkpoint' ||
           CASE WHEN NOT complete THEN ', not complete' ELSE '' END ||
           coalesce(', ' || pg_size_pretty(bytes_written::numeric), '') AS text, 'checkpoint,' || coalesce(kind, 'unknown') AS tags
    FROM noisy_checkpoints
    WHERE started_at <= $__timeTo() AND ended_at >= $__timeFrom() AND """


def seconds(columns, condition=f"{RUN} AND {CELLS}"):
    """A query on the timeline: means over the interval that the width of the panel asks for."""
    picked = ",\n           ".join(f'{how} AS "{name}"' for name, how in columns.items())
    return f"""
    SELECT date_bin('$__interval', at, '2000-01-01 00:00+00') AS "time",
           {picked}
    FROM noisy_timeline
    WHERE $__timeFilter(at) AND {condition}
    GROUP BY 1
    ORDER BY 1"""


def latency_and_throughput(condition, nothing, y):
    return [
        TimeSeries("Throughput", seconds({"tps": "avg(tps)"}, condition), unit="none", axis="transactions/s", nothing=nothing, at=(0, y, 12, 8)),
        TimeSeries("Latency", seconds({"p50": "avg(p50_ms)", "p95": "avg(p95_ms)", "p99": "max(p99_ms)", "max": "max(max_ms)"}, condition),
                   unit="ms", log=True, nothing=nothing, at=(12, y, 12, 8),
                   about="By second. Where a point stands for several seconds: mean of p50 and p95, largest p99 and maximum."),
        TimeSeries("Noise: level asked for, CPU of the noise workers", seconds({"level": "max(level)::float8", "noise CPU, % of the host": "avg(noise_cpu_pct)"},
                                                                         condition),
                   unit="percent", steps=True, nothing=nothing, at=(0, y + 8, 12, 5)),
        TimeSeries("Waiting for lightweight locks", seconds({"processes": "avg(lwlock_waiters)"}, condition), unit="none", nothing=nothing,
                   at=(12, y + 8, 12, 5)),
    ]


RUNS = Dashboard("runs", "pg_noisyneighbor: run explorer", VARIABLES, CHECKPOINTS + RUN, range_from="now-7d", panels=[
    Table("Runs", """
    SELECT run_id, label, state, workload, started_at, round(extract(epoch FROM finished_at - started_at), 1) AS duration_s, error,
           (1000 * extract(epoch FROM started_at - interval '5 s'))::bigint AS from_ms,
           (1000 * extract(epoch FROM coalesce(finished_at, now()) + interval '5 s'))::bigint AS to_ms
    FROM noisy_runs
    WHERE $__timeFilter(started_at)
    ORDER BY run_id DESC
    LIMIT 500""", units={"duration_s": "s"}, hidden=["from_ms", "to_ms"],
          links={"run_id": "/d/noisyneighbor-runs?var-run=${__data.fields.run_id}&from=${__data.fields.from_ms}&to=${__data.fields.to_ms}"
                           "&var-database=${database}"},
          nothing="No run was started in the time range. Choose a longer one, or start a run: SELECT noisy_run().",
          about="A click on run_id shows the run, and sets the time range to it.", at=(0, 0, 24, 6)),
    Table("Verdict", f"""
    SELECT clients, trim_scale(level) AS level, round(achieved_pct::numeric, 1) AS achieved_pct, verdict, p99_ratio, p99_ratio_low, p99_ratio_high,
           p99_ms, p99_change_ms, tps, tps_change_pct, tps_verdict, blocks_needed
    FROM noisy_impact
    WHERE {RUN} AND {CELLS}
    ORDER BY clients, level""",
          units={"level": "percent", "achieved_pct": "percent", "p99_ms": "ms", "p99_change_ms": "ms", "tps_change_pct": "percent"},
          nothing=NO_NOISE, about="Each level against the baselines around its blocks; the interval is that of 95 %.", at=(0, 6, 24, 6)),
    *latency_and_throughput(f"{RUN} AND {CELLS}", OUTSIDE, 12),
    Bars("Latency by level", f"""
    SELECT clients || ' clients, ' || trim_scale(level) || ' %' AS cell, p50_ms, p95_ms, p99_ms
    FROM noisy_results
    WHERE {RUN} AND {CELLS} AND p50_ms IS NOT NULL
    ORDER BY clients, level""", unit="ms", log=True, nothing=NO_NOISE, at=(0, 25, 12, 9)),
    Bars("Distribution of the latency", f"""
    SELECT CASE WHEN b.low IS NULL THEN 'up to ' ELSE b.low || ' to ' END || b.high || ' ms' AS latency,
           100 * (c.baseline[b.n] - coalesce(c.baseline[b.n - 1], 0))::float8 / nullif(c.baseline_n, 0) AS "without noise",
           100 * (c.noisy[b.n] - coalesce(c.noisy[b.n - 1], 0))::float8 / nullif(c.noisy_n, 0) AS "with noise"
    FROM (SELECT noisy_count(h.baseline) AS baseline_n, noisy_count(h.noisy) AS noisy_n,
                 noisy_cumulative(h.baseline, noisy_latency_bounds_ms()) AS baseline,
                 noisy_cumulative(h.noisy, noisy_latency_bounds_ms()) AS noisy
          FROM (SELECT noisy_merge(latency) FILTER (WHERE level = 0) AS baseline, noisy_merge(latency) FILTER (WHERE level > 0) AS noisy
                FROM noisy_blocks
                WHERE accepted AND {RUN} AND {CELLS} OFFSET 0) AS h OFFSET 0) AS c,
         (SELECT n, bound AS high, lag(bound) OVER (ORDER BY n) AS low
          FROM unnest(noisy_latency_bounds_ms()) WITH ORDINALITY AS u (bound, n)) AS b
    WHERE c.baseline[b.n] - coalesce(c.baseline[b.n - 1], 0) > 0 OR c.noisy[b.n] - coalesce(c.noisy[b.n - 1], 0) > 0
    ORDER BY b.n""", unit="percent", nothing=NO_NOISE, about="Share of the transactions; all chosen cells together.", at=(12, 25, 12, 9)),
    Table("Why: where the time of a transaction went", f"""
    SELECT clients, trim_scale(level) AS level, scope, component, baseline_ms, noisy_ms, delta_ms, share_pct
    FROM noisy_attribution
    WHERE {RUN} AND {CELLS} AND level > 0 AND scope <> 'followed'
    ORDER BY clients, level, scope, delta_ms DESC""",
          units={"level": "percent", "baseline_ms": "ms", "noisy_ms": "ms", "delta_ms": "ms", "share_pct": "percent"}, bars=["share_pct"],
          nothing="Nothing here: no level with noise, or the host does not say where the time went (SELECT * FROM noisy_capabilities).",
          at=(0, 34, 12, 9)),
    Table("Wait events", f"""
    SELECT clients, trim_scale(level) AS level, backend_type, wait_event_type, wait_event, share_pct, avg_waiters
    FROM noisy_wait_events
    WHERE {RUN} AND {CELLS}
    ORDER BY share_pct DESC
    LIMIT 200""", units={"level": "percent", "share_pct": "percent"}, bars=["share_pct"],
          nothing="Nothing here: no sample found a process that was active.", about="Share of the active time of all server processes.",
          at=(12, 34, 12, 9)),
    Table("Checks", f"SELECT check_name, passed, detail FROM noisy_sanity WHERE {RUN} ORDER BY passed NULLS LAST, check_name",
          nothing=NO_RUN, about="What makes the answers doubtful; an empty passed: could not be checked.", at=(0, 43, 12, 8)),
    Table("Dose asked for and delivered", f"""
    SELECT b.clients, trim_scale(b.level) AS level, d.stressor, avg(d.requested_pct) AS requested_pct, avg(d.achieved_pct) AS achieved_pct,
           avg(d.cpu_pct) AS cpu_pct, bool_or(d.unreachable) AS unreachable
    FROM (SELECT * FROM noisy_blocks WHERE {RUN} AND {CELLS} AND accepted) AS b
    JOIN noisy_dose d ON d.run_id = b.run_id AND d.block = b.block
    GROUP BY b.clients, b.level, d.stressor
    ORDER BY b.clients, b.level, d.stressor""", units={"level": "percent", "requested_pct": "percent", "achieved_pct": "percent", "cpu_pct": "percent"},
          nothing=NO_RUN, at=(12, 43, 12, 8)),
    Table("Blocks", f"""
    SELECT block, repeat, clients, trim_scale(level) AS level, started_at, accepted, reject_reason, transactions, errors, tps,
           noisy_percentile(latency, 0.99) AS p99_ms, driver_bound
    FROM noisy_blocks
    WHERE {RUN} AND {CELLS}
    ORDER BY block""", units={"level": "percent", "p99_ms": "ms"}, nothing=NO_RUN, at=(0, 51, 24, 8)),
])


def now(column):
    return f"SELECT {column} AS value FROM noisy_progress"


LIVE_RUN = Dashboard("live", "pg_noisyneighbor: live run", [], CHECKPOINTS + LIVE, range_from="now-15m", refresh="5s", panels=[
    Stat("Run", "SELECT p.run_id || coalesce(' ' || r.label, '') AS value FROM noisy_progress p JOIN noisy_runs r ON r.run_id = p.run_id",
         nothing=NOT_LIVE, at=(0, 0, 6, 4)),
    Stat("Phase", now("phase"), nothing=NOT_LIVE, at=(6, 0, 4, 4)),
    Stat("Block", now("block || ' of ' || blocks"), nothing=NOT_LIVE, at=(10, 0, 4, 4)),
    Stat("Time left", now("remaining_s"), unit="s", nothing=NOT_LIVE, at=(14, 0, 4, 4)),
    Stat("Clients and level", now("clients || ' at ' || trim_scale(level) || ' %'"), nothing=NOT_LIVE, at=(18, 0, 6, 4)),
    Stat("Transactions in the last second", now("tps"), nothing=NOT_LIVE + " Or no second of this block has passed yet.", at=(0, 4, 8, 4)),
    Stat("99th percentile in the last second", now("p99_ms"), unit="ms", nothing=NOT_LIVE + " Or no second of this block has passed yet.",
         at=(8, 4, 8, 4)),
    Stat("Last transaction", now("idle_s"), unit="s", nothing=NOT_LIVE + " Or no transaction has ended yet.",
         about="Time since a transaction was seen to end.", at=(16, 4, 8, 4)),
    *latency_and_throughput(LIVE, NOT_YET, 8),
    Table("Blocks so far", f"""
    SELECT block, clients, trim_scale(level) AS level, started_at, accepted, reject_reason, tps, noisy_percentile(latency, 0.5) AS p50_ms,
           noisy_percentile(latency, 0.99) AS p99_ms, achieved_pct
    FROM noisy_blocks
    WHERE {LIVE}
    ORDER BY block DESC""", units={"level": "percent", "p50_ms": "ms", "p99_ms": "ms", "achieved_pct": "percent"}, nothing=NOT_YET, at=(0, 21, 12, 9)),
    Table("Wait events so far", f"""
    SELECT clients, trim_scale(level) AS level, wait_event_type, wait_event, sum(share_pct) AS share_pct
    FROM noisy_wait_events
    WHERE {LIVE}
    GROUP BY clients, level, wait_event_type, wait_event
    ORDER BY share_pct DESC
    LIMIT 100""", units={"level": "percent", "share_pct": "percent"}, bars=["share_pct"], nothing=NOT_YET, at=(12, 21, 12, 9)),
])


def by_block(columns):
    """A query on the blocks: one point each."""
    picked = ",\n           ".join(f'u.{column} AS "{name}"' for name, column in columns.items())
    return f"""
    SELECT b.started_at AS "time",
           {picked}
    FROM (SELECT * FROM noisy_blocks WHERE {RUN} AND {CELLS}) AS b
    JOIN noisy_host_usage u ON u.run_id = b.run_id AND u.block = b.block
    WHERE $__timeFilter(b.started_at)
    ORDER BY 1"""


NOT_MEASURED = OUTSIDE + " Or the host does not offer it: SELECT * FROM noisy_capabilities."
HOST = Dashboard("host", "pg_noisyneighbor: host and neighbours", VARIABLES, CHECKPOINTS + RUN, range_from="now-7d", panels=[
    TimeSeries("Who used the CPUs", seconds({"noise": "avg(noise_cpu_pct)", "server": "avg(server_cpu_pct)", "load driver": "avg(driver_cpu_pct)",
                                             "everybody else": "avg(foreign_cpu_pct)", "stolen by the hypervisor": "avg(steal_pct)"}),
               unit="percent", stacked=True, nothing=NOT_MEASURED, at=(0, 0, 12, 9)),
    TimeSeries("Signs of a neighbour", seconds({"steal": "avg(steal_pct)", "others on this host": "avg(foreign_cpu_pct)",
                                                "run-queue delay of the server": "avg(run_delay_pct)", "throttled": "avg(throttled_pct)"}),
               unit="percent", nothing=NOT_MEASURED, at=(12, 0, 12, 9),
               about="Steal and others in percent of the host, run-queue delay in percent of one CPU, throttling in percent of the time."),
    TimeSeries("99th percentile beside the CPU of everybody else",
               seconds({"p99, ms": "max(p99_ms)", "everybody else, %": "avg(foreign_cpu_pct)"}), unit="none", nothing=NOT_MEASURED, at=(0, 9, 12, 8)),
    TimeSeries("CPU of the host", seconds({"busy": "avg(host_busy_pct)", "idle": "avg(host_idle_pct)"}), unit="percent", nothing=NOT_MEASURED,
               at=(12, 9, 12, 8)),
    TimeSeries("Pressure by block", by_block({"CPU": "psi_cpu_some_pct", "memory": "psi_memory_some_pct", "IO": "psi_io_some_pct",
                                              "memory, all tasks": "psi_memory_full_pct", "IO, all tasks": "psi_io_full_pct"}),
               unit="percent", points=True, nothing=NOT_MEASURED, about="Time in which some task, or all, waited for the resource.", at=(0, 17, 12, 8)),
    TimeSeries("Context switches and migrations by block", by_block({"voluntary": "voluntary_switches", "involuntary": "involuntary_switches",
                                                                     "migrations": "migrations"}),
               unit="none", points=True, nothing=NOT_MEASURED, at=(12, 17, 12, 8)),
    Table("CPU by level", f"""
    SELECT b.clients, trim_scale(b.level) AS level, avg(u.busy_pct) AS busy_pct, avg(u.noise_pct) AS noise_pct, avg(u.server_pct) AS server_pct,
           avg(u.driver_pct) AS driver_pct, avg(u.foreign_pct) AS foreign_pct, avg(u.steal_pct) AS steal_pct, avg(u.iowait_pct) AS iowait_pct,
           avg(u.run_delay_pct) AS run_delay_pct, avg(u.throttled_pct) AS throttled_pct
    FROM (SELECT * FROM noisy_blocks WHERE {RUN} AND {CELLS} AND accepted) AS b
    JOIN noisy_host_usage u ON u.run_id = b.run_id AND u.block = b.block
    GROUP BY b.clients, b.level
    ORDER BY b.clients, b.level""", every="percent", nothing=NO_RUN, at=(0, 25, 24, 7)),
    Table("Processes of the server", f"""
    SELECT b.clients, trim_scale(b.level) AS level, p.kind, avg(p.processes) AS processes, sum(p.cpu_s) / sum(b.duration_s) AS cpus,
           sum(p.run_delay_s) / sum(b.duration_s) AS waiting_for_a_cpu, sum(p.involuntary_switches) / sum(b.duration_s) AS involuntary_switches_per_s
    FROM (SELECT * FROM noisy_blocks WHERE {RUN} AND {CELLS} AND accepted) AS b
    JOIN noisy_processes p ON p.run_id = b.run_id AND p.block = b.block
    GROUP BY b.clients, b.level, p.kind
    ORDER BY b.clients, b.level, cpus DESC NULLS LAST""", units={"level": "percent"}, nothing=NOT_MEASURED, at=(0, 32, 12, 9)),
    Table("Host now", """
    SELECT e.key AS property, e.value
    FROM noisy_host h, LATERAL jsonb_each_text(to_jsonb(h)) AS e
    ORDER BY e.key""", nothing="Nothing here: the reader is no member of pg_monitor.", at=(12, 32, 6, 9)),
    Table("What can be measured here", "SELECT source, available, fallback, reason FROM noisy_capabilities ORDER BY available, source",
          nothing="Nothing here: the reader is no member of pg_monitor.", at=(18, 32, 6, 9)),
])

CALIBRATION = "calibration_id = ANY (string_to_array(concat_ws(',', ${calibration:sqlstring}), ',')::bigint[])"
NO_CALIBRATION = "Nothing here: no calibration is chosen above. SELECT noisy_calibrate() takes one."
CALIBRATIONS = Dashboard("calibrations", "pg_noisyneighbor: calibrations", [
    Variable("calibration", "Calibration", """
        SELECT calibration_id::text AS __value, concat_ws(' ', calibration_id, label, host, to_char(taken_at, 'YYYY-MM-DD HH24:MI')) AS __text
        FROM noisy_calibrations ORDER BY calibration_id DESC LIMIT 50""", several=True),
    Variable("probe", "Probe", "SELECT DISTINCT probe FROM noisy_calibration_samples ORDER BY probe", several=True),
], None, range_from="now-90d", panels=[
    Table("Calibrations", """
    SELECT calibration_id, host, label, taken_at, state, environment_hash
    FROM noisy_calibrations
    WHERE $__timeFilter(taken_at)
    ORDER BY calibration_id DESC
    LIMIT 100""", nothing="No calibration was taken in the time range. SELECT noisy_calibrate() takes one.", at=(0, 0, 24, 7)),
    TimeSeries("Drift: median of each probe against its first", f"""
    SELECT r.taken_at AS "time", concat_ws(' ', r.host, r.probe, r.variant, r.threads) AS metric,
           100 * r.median / nullif(first_value(r.median) OVER same, 0) AS value
    FROM (SELECT c.taken_at, c.host, q.probe, q.probe_version, q.variant, q.threads, q.median
          FROM noisy_calibrations c
          JOIN noisy_calibration_results q ON q.calibration_id = c.calibration_id
          WHERE $__timeFilter(c.taken_at) AND c.{CALIBRATION} AND q.probe IN (${{probe:sqlstring}})) AS r
    WINDOW same AS (PARTITION BY r.host, r.probe, r.probe_version, r.variant, r.threads ORDER BY r.taken_at)
    ORDER BY 1""", unit="percent", points=True, nothing="No calibration that is chosen above was taken in the time range. SELECT noisy_calibrate() takes one.",
               about="A line that leaves 100 %: the host has changed, or somebody shares it. Versions of a probe do not compare.", at=(0, 7, 24, 9)),
    Table("Results", f"""
    SELECT calibration_id, probe, variant, threads, unit, repeats, p10, median, p90, cv_pct, spread_pct, valid, note
    FROM noisy_calibration_results
    WHERE {CALIBRATION} AND probe IN (${{probe:sqlstring}})
    ORDER BY probe, variant, threads, calibration_id""", units={"cv_pct": "percent", "spread_pct": "percent"}, nothing=NO_CALIBRATION,
          about="Unstable or invalid figures say why in note.", at=(0, 16, 24, 10)),
    Table("Every repeat", f"""
    SELECT r.calibration_id, r.probe, r.variant, r.threads, s.n AS repeat, s.value, r.unit
    FROM noisy_calibration_samples r, LATERAL unnest(r.samples) WITH ORDINALITY AS s (value, n)
    WHERE {CALIBRATION} AND r.probe IN (${{probe:sqlstring}})
    ORDER BY r.probe, r.variant, r.threads, r.calibration_id, s.n
    LIMIT 2000""", nothing=NO_CALIBRATION, at=(0, 26, 24, 9)),
])

DASHBOARDS = [RUNS, LIVE_RUN, HOST, CALIBRATIONS]
