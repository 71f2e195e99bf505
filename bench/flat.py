#!/usr/bin/env python3
"""Compare the first with the last seconds of a tpcb-like run that a session waits for, and of pgbench.  Started by bench/flat.

Held rows would show in pgbench_branches and pgbench_tellers first, where every row is updated all the time: few
branches make it plain.  Both tools begin on freshly vacuumed tables, and their first two seconds, in which
caches fill, are not counted.
"""
import argparse
import collections
import math
import os
import re
import statistics
import subprocess

import measure

Row = collections.namedtuple("Row", "tool round second tps")
WARMUP = 2
LIMIT = 0.95
OURS, PEER = "noisy_run", "pgbench"


def measure_ours(session, options):
    """tps of each second."""
    caller = measure.Session()
    caller.send(f"SELECT noisy_run('tpcb-like', clients => '{{{options.clients}}}', levels => '{{0}}', noise => '{{}}', "
                f"duration => '{options.seconds} s', warmup => '{WARMUP} s', repeats => 1, "
                f"threads => {min(measure.CPUS, options.clients)})")
    run_id = caller.receive()
    caller.close()
    return [float(value) for value in session.ask(
        f"SELECT string_agg(tps::text, ' ' ORDER BY second) FROM noisy_timeline WHERE run_id = {run_id}").split()]


def measure_pgbench(_, options):
    command = ["pgbench", "-n", "-b", "tpcb-like", "-M", "prepared", "-c", str(options.clients),
               "-j", str(min(measure.CPUS, options.clients)), "-P", "1", "-T", str(options.seconds + WARMUP)]
    with measure.popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        output = process.stderr.read()
    return [float(value) for value in re.findall(r"progress: .*? ([0-9.]+) tps", output)][WARMUP:]


TOOLS = {OURS: measure_ours, PEER: measure_pgbench}


def ends(values):
    """Mean tps of the first and of the last sixth: ten seconds of a minute."""
    width = max(1, len(values) // 6)
    return statistics.mean(values[:width]), statistics.mean(values[-width:])


def seconds_of(rows, tool, number):
    return [row.tps for row in rows if (row.tool, row.round) == (tool, number)]


def kept(rows, tool, number):
    first, last = ends(seconds_of(rows, tool, number))
    return last / first


def report_on(rows, options):
    width = max(1, options.seconds // 6)
    report = measure.Report("tps from first to last second", options.csv)
    report.text(f"tpcb-like, {options.clients} clients, scale 5, {options.seconds} s without noise: mean tps of the first and "
                f"the last {width} s while a session waits in noisy_run, and of pgbench alone, in turn. Spread: standard "
                "deviation of the seconds.")
    table, numbers = [], sorted({row.round for row in rows})
    for number in numbers:
        for tool in TOOLS:
            values = seconds_of(rows, tool, number)
            first, last = ends(values)
            table.append([tool, number + 1, f"{first:.0f}", f"{last:.0f}", f"{last / first:.3f}",
                          f"{statistics.pstdev(values):.0f}"])
    report.table(["", "round", f"tps, first {width} s", f"tps, last {width} s", "last to first", "spread"], table)
    ratio = measure.ratio_interval([math.log(kept(rows, OURS, number) / kept(rows, PEER, number)) for number in numbers])
    ours, peer = (statistics.mean(kept(rows, tool, number) for number in numbers) for tool in TOOLS)
    report.target(f"tps of the last {width} s to the first, of a run of {options.seconds} s", f">= {LIMIT} of pgbench's",
                  f"{ours:.3f}", measure.verdict(ratio[0], LIMIT, *ratio[1:], at_most=False), f"pgbench {peer:.3f}",
                  measure.show(ratio, ".3f"))
    report.write(Row._fields, rows)


def main():
    parser = argparse.ArgumentParser(prog="bench/flat")
    parser.add_argument("--seconds", type=int, default=max(6, measure.seconds(60)), help="of a window")
    parser.add_argument("--rounds", type=int, default=measure.rounds(3))
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--csv", required=True)
    options = parser.parse_args()

    session = measure.Session()
    rows = []
    for number in range(options.rounds):
        for tool in sorted(TOOLS, reverse=number % 2 == 0):
            session.ask("VACUUM FULL pgbench_branches, pgbench_tellers")
            session.ask("VACUUM pgbench_accounts")
            session.ask("TRUNCATE pgbench_history")
            session.ask("CHECKPOINT")
            rows += [Row(tool, number, second, tps) for second, tps in enumerate(TOOLS[tool](session, options))]
    report_on(rows, options)


if __name__ == "__main__":
    main()
