#!/usr/bin/env python3
"""Freeze a server for half a second under a fixed rate, and see what the percentiles say.  Started by bench/open_loop.

The backends of the driver's connections are stopped (SIGSTOP) in the middle of the window and let go on after STALL_S.
Transactions that fall due in a stall of S seconds wait for the rest of it: in a window of T seconds a share x / T of
them has a latency above S - x, so that the p99 is S - T / 100.  Which share falls due in the stall is up to
chance (the schedule is random), so percentiles are taken over all rounds together, from the merged
histograms of noisy_blocks and from the transaction log of pgbench.

The server works off what has waited with its capacity less what goes on falling due, which makes latencies
longer than the formula says, by the share of its capacity that the rate takes.
"""
import argparse
import collections
import glob
import json
import math
import os
import re
import signal
import statistics
import subprocess
import threading
import time

import measure

Row = collections.namedtuple("Row", "tool round stall_ms transactions p50_ms p98_ms p99_ms service_p99_ms cpu_us_per_tx "
                             "lag_p99_ms")
OURS, PEER, CLOSED = "pg_noisyneighbor", "pgbench --rate", "pg_noisyneighbor, closed loop"
STALL_S = 0.5
LIMIT_PCT = 5


def freeze(control, options, name, is_on, result):
    """Stop the backends of the connections with that name in the middle of the window."""
    measure.wait_until(30, f"connections of {name}", is_on)
    begun = time.monotonic()
    pids = [int(pid) for pid in control.ask(f"SELECT pid FROM pg_stat_activity WHERE application_name LIKE '{name}'").split()]
    time.sleep(max(0, begun + options.seconds / 2 - time.monotonic()))
    started = time.monotonic()
    try:
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        time.sleep(max(0, started + STALL_S - time.monotonic()))
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)
    result.append(1e3 * (time.monotonic() - started))


def with_freeze(control, options, name, is_on, work):
    """Result of work(), with a freeze during it, and how long that was, ms."""
    stalls = []
    freezer = threading.Thread(target=freeze, args=(control, options, name, is_on, stalls))
    freezer.start()
    result = work()
    freezer.join()
    return result, stalls[0] if stalls else measure.fail("the server was not frozen")


def measure_ours(control, options, number, _, rate=True):
    def is_on():
        return control.ask("SELECT count(*) FROM noisy_progress WHERE phase = 'measuring'") == "1"

    def work():
        caller = measure.Session()
        caller.send(f"SELECT noisy_run('select-only', clients => '{{{options.clients}}}', levels => '{{0}}', noise => '{{}}', "
                    f"duration => '{options.seconds} s', warmup => '1 s', repeats => 1, threads => 1, "
                    f"rate => {options.rate if rate else 'NULL'})")
        run_id = caller.receive()
        caller.close()
        return run_id
    run_id, stall_ms = with_freeze(control, options, "pg_noisyneighbor run=%", is_on, work)
    found = json.loads(control.ask(
        "SELECT to_json(b) FROM (SELECT transactions, errors, 1e6 * driver_cpu_s / transactions AS cpu, generator_lag_p99_ms AS lag, "
        "noisy_percentile(latency, '{0.5,0.98,0.99}'::float8[]) AS p, "
        f"noisy_percentile(coalesce(service, latency), 0.99) AS service FROM noisy_blocks WHERE run_id = {run_id}) b"))
    if found["errors"]:
        measure.fail(f"{found['errors']} transactions failed")
    return Row(OURS if rate else CLOSED, number, stall_ms, found["transactions"], *found["p"], found["service"], found["cpu"],
               found["lag"])


def quantile(values, p):
    ordered = sorted(values)
    return ordered[math.ceil(p * len(ordered)) - 1]


def measure_pgbench(control, options, number, latencies):
    def is_on():
        return control.ask("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'pgbench'") == str(options.clients)

    def work():
        command = ["pgbench", "-n", "-S", "-M", "prepared", "-c", str(options.clients), "-j", "1", "-R", str(options.rate),
                   "-T", str(options.seconds), "-l", "--log-prefix", f"{options.logs}/{number}"]
        process = measure.popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode or not re.search(r"number of transactions actually processed", output):
            measure.fail(output)
        return usage.ru_utime + usage.ru_stime
    cpu_s, stall_ms = with_freeze(control, options, "pgbench", is_on, work)
    here, service = [], []
    for path in glob.glob(f"{options.logs}/{number}.*"):
        for line in measure.read(path).splitlines():
            fields = line.split()
            here.append(int(fields[2]) / 1e3)                       # from the scheduled start
            service.append((int(fields[2]) - int(fields[6])) / 1e3)
    latencies += here
    return Row(PEER, number, stall_ms, len(here), *(quantile(here, p) for p in (0.5, 0.98, 0.99)), quantile(service, 0.99),
               1e6 * cpu_s / len(here), None)


def merged(control):
    """p50, p98, p99 of all our rounds together."""
    return json.loads(control.ask("SELECT to_json(noisy_percentile(noisy_merge(latency), '{0.5,0.98,0.99}'::float8[])) "
                                  "FROM noisy_blocks WHERE rate IS NOT NULL"))


def report_on(rows, together, options):
    expected = {p: 1e3 * max(0, STALL_S - (1 - p) * options.seconds) for p in (0.98, 0.99)}
    report = measure.Report("A frozen server at a fixed rate", options.csv)
    report.text(f"{options.rate} select-only transactions/s of {options.clients} clients on one thread (prepared), "
                f"rounds of {options.seconds} s, in the middle of which every backend is stopped for "
                f"{1e3 * STALL_S:.0f} ms. Expected from the intended starts: p98 {expected[0.98]:.0f} ms, p99 "
                f"{expected[0.99]:.0f} ms, a little more for working off what has waited. Percentiles in ms, over all rounds "
                "together; in brackets the rounds' mean with its 95 % interval. A closed loop is beside it for comparison.")
    table = []
    for tool in (OURS, PEER, CLOSED):
        here = [row for row in rows if row.tool == tool]
        p50, p98, p99 = together.get(tool) or (here[0].p50_ms, here[0].p98_ms, here[0].p99_ms)
        lags = [row.lag_p99_ms for row in here if row.lag_p99_ms is not None]
        table.append([tool, len(here), f"{statistics.mean(row.stall_ms for row in here):.1f}", f"{p50:.3f}", f"{p98:.1f}",
                      f"{p99:.1f} [{measure.show(measure.interval([row.p99_ms for row in here]), '.1f')}]",
                      f"{statistics.median(row.service_p99_ms for row in here):.3f}",
                      f"{statistics.median(row.cpu_us_per_tx for row in here):.1f}",
                      f"{statistics.median(lags):.3f}" if lags else "-"])
    report.table(["", "rounds", "stall, ms", "p50", "p98", "p99", "service p99", "driver CPU, us/transaction",
                  "driver lag p99, ms"], table)
    ours, peer = together[OURS][2], together[PEER][2]
    error = 100 * abs(ours / expected[0.99] - 1)
    report.target(f"stall of {1e3 * STALL_S:.0f} ms in {options.seconds} s at a fixed rate: p99",
                  f"within {LIMIT_PCT} % of {expected[0.99]:.0f} ms", f"{ours:.1f} ms", measure.verdict(error, LIMIT_PCT),
                  f"pgbench {peer:.1f} ms", f"{ours / peer:.3f}")
    report.write(Row._fields, rows)


def main():
    parser = argparse.ArgumentParser(prog="bench/open_loop")
    parser.add_argument("--rounds", type=int, default=measure.rounds(8))
    parser.add_argument("--seconds", type=int, default=20, help="of a window: the percentiles expected depend on it")
    parser.add_argument("--rate", type=float, default=1000)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--csv", required=True)
    parser.add_argument("--logs", required=True)
    options = parser.parse_args()

    control = measure.Session()
    rows, latencies = [], []
    for number in range(options.rounds):
        rows.append(measure_ours(control, options, number, latencies))
        if number % 2 == 0:             # the peer need not be as exact
            rows.append(measure_pgbench(control, options, number, latencies))
    together = {OURS: merged(control), PEER: [quantile(latencies, p) for p in (0.5, 0.98, 0.99)]}
    rows.append(measure_ours(control, options, 0, latencies, rate=False))
    report_on(rows, together, options)


if __name__ == "__main__":
    main()
