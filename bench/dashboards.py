#!/usr/bin/env python3
"""Measure how long the queries of the dashboards take.  Started by bench/dashboards.

Runs are made in the tables: 20 blocks of 50 s each, 2 numbers of clients, 5 levels.  A real run of next to no noise is on, so that the
live dashboard has something to show; blocks are made for it too.  A round is every query once, as Grafana would send it, in a
session that stays; times are those of psql's \\timing.
"""
import argparse
import collections
import os
import re
import statistics
import sys

import measure

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "test"))
import grafana  # noqa: E402

Row = collections.namedtuple("Row", "dashboard title round milliseconds cpu_ms")
BLOCKS, SECONDS, CALIBRATIONS, LIMIT_MS = 20, 50, 200, 50
START = "'2026-01-01 00:00+00'::timestamptz"
EVENTS = [("CPU", "CPU"), ("IO", "WALSync"), ("IO", "WALWrite"), ("IO", "DataFileRead"), ("IO", "DataFileExtend"), ("IO", "SLRURead"),
          ("LWLock", "WALWrite"), ("LWLock", "ProcArray"), ("LWLock", "BufferContent"), ("LWLock", "BufferMapping"), ("LWLock", "LockManager"),
          ("LWLock", "XidGen"), ("Lock", "transactionid"), ("Lock", "tuple"), ("Lock", "extend"), ("Client", "ClientRead"), ("Client", "ClientWrite"),
          ("IPC", "ProcArrayGroupUpdate"), ("IPC", "XactGroupUpdate"), ("Timeout", "SpinDelay")]
COMPONENTS = ["cpu", "run_queue", "steal", "lwlock", "lock", "io", "other_waits", "client", "unexplained"]
KINDS = ["workload", "other clients", "checkpointer", "background writer", "walwriter", "autovacuum", "other"]


def values(rows):
    return ", ".join("(" + ", ".join(f"'{cell}'" for cell in row) + ")" for row in rows)


def statements(runs):
    """Statements that make the blocks of a list of runs, which is a table "made" of run_id and started_at."""
    block = "SELECT m.run_id, b AS block, m.started_at + b * interval '60 s' AS started_at, " \
            "10 * (1 + b / 11) AS clients, (b % 5) * 10 AS level FROM made m, generate_series(1, 20) AS b"
    picks = "JOIN histograms h ON h.n = 1 + (b.run_id * 31 + b.block * 7) % 50"
    return [
        f"CREATE TEMP TABLE made AS SELECT r AS run_id, {START} + r * interval '30 min' AS started_at FROM generate_series(1, {runs}) AS r",
        "INSERT INTO made SELECT run_id, clock_timestamp() - interval '20 min' FROM noisy_progress",
        # 2,000 transactions each, 5 to 45 ms at the 99th percentile
        "CREATE TEMP TABLE histograms AS SELECT n, (SELECT noisy_histogram_agg(exp(ln(n / 10.0 + 1) + 0 * i + 0.8 * sqrt(-2 * ln(1 - random())) * "
        "cos(2 * pi() * random()))) FROM generate_series(1, 2000) AS i) AS latency FROM generate_series(1, 50) AS n",
        f"""INSERT INTO noisy_run_records SELECT run_id, 'run ' || run_id % 20, 'completed', started_at, started_at + interval '21 min', 'postgres',
            'tpcb-like', '{{"levels": [0, 10, 20, 30, 40], "noise": {{"cpu": {{"workers": 4}}}}}}', jsonb_build_object('kernel', '6.1.0', 'host_name', 'bench',
            'settings', (SELECT jsonb_object_agg(name, setting) FROM pg_settings WHERE name ~ '^(shared|work|max|wal|check|bg)')), run_id
            FROM made WHERE run_id <= {runs}""",
        f"CREATE TEMP TABLE blocks AS {block}",
        f"""INSERT INTO noisy_blocks (run_id, block, repeat, clients, level, achieved_pct, started_at, duration_s, accepted, transactions, errors,
            serialization_failures, deadlocks, connection_errors, other_errors, tps, latency, driver_cpu_s, driver_busiest_pct, driver_bound,
            samples_expected, samples_taken)
            SELECT b.run_id, b.block, 1 + (b.block - 1) / 5 % 2, b.clients, b.level, b.level, b.started_at, 50, b.block % 19 <> 0, 2000, 0, 0, 0, 0, 0,
                   40, h.latency, 1, 10, false, 5000, 4990 FROM blocks b {picks}""",
        """INSERT INTO noisy_timeline (run_id, block, at, second, clients, level, transactions, errors, tps, p50_ms, p95_ms, p99_ms, max_ms, noise_cpu_pct,
            server_cpu_pct, driver_cpu_pct, foreign_cpu_pct, host_busy_pct, host_idle_pct, steal_pct, run_delay_pct, throttled_pct, lwlock_waiters, checkpoint)
            SELECT b.run_id, b.block, b.started_at + (s - 1) * interval '1 s', s, b.clients, b.level, 40, 0, 40, 2, 5, 10 + s, 50, b.level, 30, 5, 1, 60, 40,
                   0.1, 3, 0, 0.2, s % 10 = 0 FROM blocks b, generate_series(1, 50) AS s""",
        """INSERT INTO noisy_dose SELECT b.run_id, b.block, s, w, b.level, b.level, 1000, 'primes/s', b.level, false, array_fill(b.level::float4, '{50}')
            FROM blocks b, unnest('{cpu,memory}'::text[]) AS s, generate_series(1, 2) AS w""",
        f"""INSERT INTO noisy_wait_samples SELECT b.run_id, b.block, k, e.class, e.event, 100 + length(e.event), 3
            FROM blocks b, (VALUES {values(EVENTS)}) AS e (class, event), unnest('{{client backend,checkpointer}}'::text[]) AS k""",
        """INSERT INTO noisy_bgwriter (run_id, block, checkpointer_buffers, checkpointer_bytes, bgwriter_buffers, bgwriter_bytes, wal_bytes,
            checkpoints_timed, checkpoints_requested) SELECT run_id, block, 100, 819200, 10, 81920, 1000000, 0, 0 FROM blocks""",
        """INSERT INTO noisy_host_usage (run_id, block, busy_pct, user_pct, system_pct, iowait_pct, steal_pct, idle_pct, noise_pct, server_pct, driver_pct,
            own_pct, foreign_pct, run_delay_pct, throttled_pct, psi_cpu_some_pct)
            SELECT run_id, block, 60, 40, 20, 1, 0.1, 40, level, 30, 5, 0.5, 1, 3, 0, 10 FROM blocks""",
        """INSERT INTO noisy_checkpoints (run_id, checkpoint, started_at, ended_at, kind, complete, buffers_written, bytes_written)
            SELECT run_id, block / 4, started_at + interval '10 s', started_at + interval '40 s', 'timed', true, 1000, 8192000 FROM blocks WHERE block % 4 = 0""",
        f"""INSERT INTO noisy_processes (run_id, block, kind, processes, cpu_s, run_delay_s, slices, voluntary_switches, involuntary_switches, migrations)
            SELECT b.run_id, b.block, k, 3, 10, 1, 100, 1000, 100, 10 FROM blocks b, unnest('{{{','.join(KINDS)}}}'::text[]) AS k""",
        f"""INSERT INTO noisy_block_budget SELECT b.run_id, b.block, s, c, 2000, 0.1 * length(c) * (1 + b.level / 100.0)
            FROM blocks b, unnest('{{mean,tail,followed}}'::text[]) AS s, unnest('{{{','.join(COMPONENTS)}}}'::text[]) AS c""",
        "DROP TABLE made, blocks, histograms",
        f"""INSERT INTO noisy_calibration_records (calibration_id, host, label, state, taken_at, finished_at, role_name, parameters, environment)
            SELECT c, 'host ' || c % 10, 'nightly', 'completed', {START} + c * interval '1 h', {START} + c * interval '1 h', 'postgres', '{{}}',
                   '{{"kernel": "6.1.0"}}' FROM generate_series(1, {CALIBRATIONS}) AS c""",
        f"""INSERT INTO noisy_calibration_samples (calibration_id, probe, variant, threads, unit, samples, valid, probe_version)
            SELECT c, p, 'variant ' || v, t, 'ops/s', ARRAY(SELECT 1000 + (c * i * t) % 37 FROM generate_series(1, 5) AS i), true, 1
            FROM generate_series(1, {CALIBRATIONS}) AS c, unnest('{{cpu,memory,cache,disk}}'::text[]) AS p, generate_series(1, 3) AS v,
                 unnest('{{1,2}}'::int[]) AS t""",
    ]


def make(session, runs):
    """Make the runs, without the checks of foreign keys, which would take most of the time."""
    session.ask("SELECT setval('noisy_run_id_seq', 1000000)")
    session.ask("SELECT noisy_load('{cpu}', 1, '50 min', '{\"cpu\": {\"workers\": 1}}', false)")
    measure.wait_until(30, "the live run", lambda: session.ask("SELECT count(*) FROM noisy_progress") == "1")
    session.ask("SET session_replication_role = replica")
    for statement in statements(runs):
        session.ask(statement)
    session.ask("SET session_replication_role = origin")
    session.ask("VACUUM (ANALYZE)")


def main():
    parser = argparse.ArgumentParser(prog="bench/dashboards")
    parser.add_argument("--runs", type=int, default=max(10, int(1000 * min(measure.SCALE, 1))))
    parser.add_argument("--rounds", type=int, default=max(3, measure.rounds(5)))
    parser.add_argument("--csv", required=True)
    options = parser.parse_args()

    session = measure.Session()
    make(session, options.runs)
    timeline = int(session.ask("SELECT count(*) FROM noisy_timeline"))
    chosen = options.runs // 2
    bounds = session.ask("SELECT extract(epoch FROM min(at)), extract(epoch FROM max(at)) FROM noisy_timeline "
                         f"WHERE run_id = {chosen}").split("|")
    variables = {"run": [str(chosen)], "clients": ["10", "20"], "level": ["0", "10", "20", "30", "40"]}
    whole = session.ask(f"SELECT extract(epoch FROM {START}), extract(epoch FROM clock_timestamp() + interval '1 hour')").split("|")
    # the table of runs shows every run, live panels show the last hours
    variables["calibration"] = session.ask("SELECT calibration_id FROM noisy_calibrations ORDER BY 1 DESC LIMIT 50").split()
    variables["probe"] = ["cpu", "memory", "cache", "disk"]
    narrow = grafana.queries(float(bounds[0]) - 5, float(bounds[1]) + 5, "1s", variables)
    wide = grafana.queries(float(whole[0]), float(whole[1]), "1s", variables)
    queries = [wide[n] if query["dashboard"] in ("live", "calibrations") or query["title"] == "Runs" else query for n, query in enumerate(narrow)]
    rows = []
    for number in range(options.rounds + 1):
        for query in queries[number % len(queries):] + queries[:number % len(queries)]:
            times = timed(session, query)
            # the first round fills the caches
            if number > 0:
                rows.append(Row(query["dashboard"], query["title"], number, *times))
    session.ask("SELECT noisy_stop()")
    report_on(rows, timeline, options)


def timed(session, query):
    """Milliseconds that a query took, and CPU time of the backend, ms."""
    before = measure.run_ns(session.pid)
    answer = session.ask(f"\\timing on\n{query['sql']};\n\\timing off\n--").rsplit("\n", 1)
    milliseconds = re.match(r"Time: ([0-9.]+) ms", answer[-1])
    if not milliseconds:
        measure.fail(f"{query['title']}: {answer[-1]}")
    return float(milliseconds[1]), (measure.run_ns(session.pid) - before) / 1e6


def report_on(rows, timeline, options):
    report = measure.Report("Dashboards", options.csv)
    report.text(f"Every query of the dashboards in `docs/grafana`, as Grafana would send it, with {options.runs} runs and {timeline} rows in "
                f"`noisy_timeline`; a run has {BLOCKS} blocks of {SECONDS} s, and there are {CALIBRATIONS} calibrations. Median and largest of {options.rounds} interleaved rounds in a session "
                "that stays, and median CPU time of the backend, ms.")
    by_query, cpu = collections.defaultdict(list), collections.defaultdict(list)
    for row in rows:
        by_query[row.dashboard, row.title].append(row.milliseconds)
        cpu[row.dashboard, row.title].append(row.cpu_ms)
    medians = {query: statistics.median(times) for query, times in by_query.items()}
    report.table(["dashboard", "query", "median", "largest", "CPU"],
                 [[*query, f"{medians[query]:.1f}", f"{max(by_query[query]):.1f}", f"{statistics.median(cpu[query]):.1f}"] for query in sorted(medians, key=medians.get, reverse=True)])
    slowest = max(medians, key=medians.get)
    report.target(f"slowest query of the dashboards, {options.runs} runs", f"<= {LIMIT_MS} ms", f"{medians[slowest]:.1f} ms ({': '.join(slowest)})",
                  measure.verdict(medians[slowest], LIMIT_MS))
    report.write(Row._fields, rows)


if __name__ == "__main__":
    main()
