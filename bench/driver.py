#!/usr/bin/env python3
"""Compare our workload driver with pgbench.  Started by bench/driver.

A round is one window of each, one right after the other, in an order that changes from round to round; what is compared are the
two windows of a round, so that whatever else the host does has a chance to cancel.  pgbench's CPU time is that
of its process, less that of a run of one transaction per client, which connects and prepares the same
way; ours is what noisy_blocks says of the measured window.
"""
import argparse
import collections
import contextlib
import io
import json
import math
import os
import re
import statistics
import subprocess

import measure

LEAST_TPS = 0.98
MOST_CPU = 1.0

Row = collections.namedtuple("Row", "workload clients threads round tool transactions tps cpu_us_per_tx avg_ms p99_ms")


def run(command):
    """Output of a command as the server's user, and the CPU time it used."""
    with measure.popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        measure.fail(f"{command[0]} failed: {output.strip()}")
    return output, usage.ru_utime + usage.ru_stime


def psql(*statements):
    command = ["psql", "-XqAt", "-v", "ON_ERROR_STOP=1", "-c", "SET client_min_messages = warning"]
    for statement in statements:
        command += ["-c", statement]
    return run(command)[0].strip()


def pgbench(options, workload, clients, *length):
    command = ["pgbench", "-n", "-b", workload, "-M", options.mode, "-c", str(clients),
               "-j", str(min(options.threads, clients)), *length]
    output, cpu_s = run(command)
    transactions = int(re.search(r"transactions actually processed: (\d+)", output)[1])
    tps = float(re.search(r"tps = ([0-9.]+)", output)[1])
    avg_ms = float(re.search(r"latency average = ([0-9.]+)", output)[1])
    return transactions, tps, cpu_s, avg_ms


def measure_pgbench(options, workload, clients):
    few, _, set_up_s, _ = pgbench(options, workload, clients, "-t", "1")
    transactions, tps, cpu_s, avg_ms = pgbench(options, workload, clients, "-T", str(options.seconds + options.warmup))
    return transactions, tps, 1e6 * (cpu_s - set_up_s) / (transactions - few), avg_ms, None


def measure_ours(options, workload, clients):
    run_id = psql(f"SELECT noisy_run('{workload}', clients => '{{{clients}}}', levels => '{{0}}', noise => '{{}}', "
                  f"duration => '{options.seconds} s', warmup => '{options.warmup} s', repeats => 1, "
                  f"query_mode => '{options.mode}', threads => {min(options.threads, clients)})")
    found = json.loads(psql("SELECT to_json(b) FROM (SELECT transactions, errors, tps, driver_cpu_s, "
                            "noisy_mean(latency) AS avg_ms, noisy_percentile(latency, 0.99) AS p99_ms "
                            f"FROM noisy_blocks WHERE run_id = {run_id}) b"))
    if found["errors"] > 0:
        measure.fail(f"{found['errors']} transactions of run {run_id} failed")
    return (found["transactions"], found["tps"], 1e6 * found["driver_cpu_s"] / found["transactions"], found["avg_ms"],
            found["p99_ms"])


TOOLS = {"pgbench": measure_pgbench, "pg_noisyneighbor": measure_ours}


def ratio(rows, column):
    """Ours to pgbench's: geometric mean over the rounds, and its 95 % interval."""
    values = {(row.round, row.tool): getattr(row, column) for row in rows}
    logs = [math.log(values[number, "pg_noisyneighbor"] / values[number, "pgbench"])
            for number in sorted({row.round for row in rows})]
    return measure.ratio_interval(logs)


def print_table(rows, options):
    print(f"\n{options.mode} mode, {options.threads} threads, {options.repeats} rounds of {options.seconds} s; "
          "medians, and ratios ours / pgbench with their 95 % intervals")
    print("workload       clients       tps pgbench      ours   ratio                      "
          "CPU us/tx pgbench    ours   ratio")
    for workload, clients in dict.fromkeys((row.workload, row.clients) for row in rows):
        here = [row for row in rows if (row.workload, row.clients) == (workload, clients)]

        def median(tool, column, here=here):
            return statistics.median(getattr(row, column) for row in here if row.tool == tool)
        print(f"{workload:14} {clients:7}  {median('pgbench', 'tps'):16.0f}  {median('pg_noisyneighbor', 'tps'):8.0f}"
              f"   {measure.show(ratio(here, 'tps'), '.3f'):25}  {median('pgbench', 'cpu_us_per_tx'):17.2f}"
              f"  {median('pg_noisyneighbor', 'cpu_us_per_tx'):6.2f}   {measure.show(ratio(here, 'cpu_us_per_tx'), '.3f')}")


def add_targets(report, rows):
    for workload, clients in dict.fromkeys((row.workload, row.clients) for row in rows):
        here = [row for row in rows if (row.workload, row.clients) == (workload, clients)]
        found = {column: ratio(here, column) for column in ("tps", "cpu_us_per_tx")}
        median = {(tool, column): statistics.median(getattr(row, column) for row in here if row.tool == tool)
                  for tool in TOOLS for column in found}
        report.target(f"{workload}, {clients} clients: tps", f">= {LEAST_TPS} of pgbench's",
                      f"{median['pg_noisyneighbor', 'tps']:.0f}",
                      measure.verdict(found["tps"][0], LEAST_TPS, *found["tps"][1:], at_most=False),
                      f"pgbench {median['pgbench', 'tps']:.0f}", measure.show(found["tps"], ".3f"))
        report.target(f"{workload}, {clients} clients: driver's CPU per transaction", f"<= {MOST_CPU:g} of pgbench's",
                      f"{median['pg_noisyneighbor', 'cpu_us_per_tx']:.2f} us",
                      measure.verdict(found["cpu_us_per_tx"][0], MOST_CPU, *found["cpu_us_per_tx"][1:]),
                      f"pgbench {median['pgbench', 'cpu_us_per_tx']:.2f} us", measure.show(found["cpu_us_per_tx"], ".3f"))


def main():
    parser = argparse.ArgumentParser(prog="bench/driver")
    parser.add_argument("--seconds", type=int, default=measure.seconds(4), help="of a window")
    parser.add_argument("--warmup", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=measure.rounds(3))
    parser.add_argument("--workloads", default="select-only,tpcb-like")
    parser.add_argument("--clients", default="2,10,50")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--mode", default="prepared")
    parser.add_argument("--csv", required=True)
    options = parser.parse_args()

    rows = []
    for workload in options.workloads.split(","):
        for clients in map(int, options.clients.split(",")):
            for number in range(1, options.repeats + 1):
                for tool in sorted(TOOLS, reverse=number % 2 == 0):
                    psql("VACUUM pgbench_branches, pgbench_tellers, pgbench_accounts", "TRUNCATE pgbench_history",
                         "CHECKPOINT")
                    rows.append(Row(workload, clients, options.threads, number, tool,
                                    *TOOLS[tool](options, workload, clients)))
    report = measure.Report("Driving clients", options.csv)
    report.text("The same scripts, clients and threads driven by noisy_run and by pgbench, in turn. CPU is that of the driver, "
                "not of the server.")
    table = io.StringIO()
    with contextlib.redirect_stdout(table):
        print_table(rows, options)
    report.preformatted(table.getvalue())
    add_targets(report, rows)
    report.write(Row._fields, rows)


if __name__ == "__main__":
    main()
