#!/usr/bin/env python3
"""Measure how long load goes on after it was told to stop.  Started by bench/stop.

A run of cpu, cache and memory noise at 75 % with a select-only workload is stopped at a random moment of its
blocks.  From the moment before the stop is sent, the CPU time and the presence of every process of the run (its
workers, and the backends of its clients) are read from /proc every two milliseconds.  "CPU" ends with the last reading
in which they had used any; "gone" is when the last of them has ended.
"""
import argparse
import collections
import os
import random
import statistics
import time

import measure

Row = collections.namedtuple("Row", "way round told_after_ms cpu_ms gone_ms state")
WAYS = {"noisy_stop()": "SELECT noisy_stop()",
        "cancel of the caller": "SELECT pg_cancel_backend({caller})"}
LIMIT_MS = 1000


def processes(control):
    """Pids of all that the run has: its workers are known by their title, its clients by their name."""
    postmaster = int(os.environ["POSTMASTER"])
    workers = [pid for pid in measure.children(postmaster) if "pg_noisyneighbor " in measure.title(pid)]
    clients = control.ask("SELECT pid FROM pg_stat_activity WHERE application_name LIKE 'pg_noisyneighbor run=%'").split()
    return set(workers) | {int(pid) for pid in clients}


def alive(pid):
    state = measure.read(f"/proc/{pid}/stat").rpartition(")")[2].split()
    return bool(state) and state[0] != "Z"


def watch(pids, started):
    """Seconds from the start until the last CPU use, and until the last one has ended."""
    last = {pid: measure.run_ns(pid) for pid in pids}
    cpu_end = started
    while pids:
        time.sleep(0.002)
        for pid in list(pids):
            used = measure.run_ns(pid)
            if used > last[pid]:
                last[pid], cpu_end = used, time.monotonic()
            if not alive(pid):
                pids.discard(pid)
        if time.monotonic() > started + 30:
            measure.fail(f"processes go on for 30 s: {', '.join(measure.title(pid) for pid in pids)}")
    return cpu_end - started, time.monotonic() - started


def measure_one(way, number, control, options):
    # The caller's psql ends with the error of a cancelled statement, so it is a new one each time.
    caller = measure.Session()
    caller.send(f"SELECT noisy_run('select-only', clients => '{{{options.clients}}}', levels => '{{0,75}}', "
                "noise => '{cpu,cache,memory}', duration => '0.7 s', warmup => '0.2 s', repeats => 20)")
    measure.wait_until(20, "start of the run", lambda: control.ask(
        "SELECT count(*) FROM noisy_progress WHERE phase IN ('warm-up', 'measuring')") == "1")
    delay = random.uniform(0, 3)
    time.sleep(delay)
    pids = processes(control)
    started = time.monotonic()
    control.send(WAYS[way].format(caller=caller.pid))
    cpu_s, gone_s = watch(pids, started)
    control.receive()
    caller.close()
    state = control.ask("SELECT state FROM noisy_runs ORDER BY run_id DESC LIMIT 1")
    if processes(control):
        measure.fail("the run left processes behind")
    return Row(way, number, round(1e3 * delay), round(1e3 * cpu_s, 1), round(1e3 * gone_s, 1), state)


def report_on(rows, options):
    report = measure.Report("Stopping", options.csv)
    report.text(f"From the moment that a run is told to stop: {options.rounds} runs of each, of cpu, cache and memory noise at "
                f"75 % and {options.clients} select-only clients, stopped at a random moment. CPU: until none of its processes "
                "(workers, backends of its clients) uses any; gone: until the last of them has ended; milliseconds.")
    table = []
    for way in WAYS:
        here = [row for row in rows if row.way == way]
        cpu, gone = ([getattr(row, column) for row in here] for column in ("cpu_ms", "gone_ms"))
        table.append([way, len(here)] + [f"{function(values):.0f}" for values in (cpu, gone)
                                         for function in (statistics.median, max)]
                     + [", ".join(sorted({row.state for row in here}))])
        report.target(f"{way}: until no CPU is used, longest", f"<= {LIMIT_MS} ms", f"{max(cpu):.0f} ms "
                      f"(median {statistics.median(cpu):.0f}, n {len(cpu)})", measure.verdict(max(cpu), LIMIT_MS))
    report.table(["told by", "n", "CPU, median", "longest", "gone, median", "longest", "state of the run"], table)
    report.write(Row._fields, rows)


def main():
    parser = argparse.ArgumentParser(prog="bench/stop")
    parser.add_argument("--rounds", type=int, default=max(2, measure.rounds(12)), help="of each way")
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--csv", required=True)
    options = parser.parse_args()

    random.seed(1)
    control = measure.Session()
    rows = [measure_one(way, number, control, options) for number in range(options.rounds) for way in WAYS]
    report_on(rows, options)


if __name__ == "__main__":
    main()
