#!/usr/bin/env python3
"""Compare the figures of noisy_calibrate with those of sysbench.  Started by bench/calibration.

Windows of both take turns, and which is first changes from round to round, so that a drift of the machine reaches both.
The target is that of events per second: the definition of an event is the same, so the figures must be.  The speed in
blocks of 1 KiB is shown without one: most of it is the cost of looking at the clock and of counting, which each program
has its own way of.
"""
import argparse
import collections
import math
import re
import statistics
import subprocess

import measure

Row = collections.namedtuple("Row", "what threads tool round value")
OURS, PEER = "noisy_calibrate", "sysbench"
LIMIT = 0.02


def ask_ours(session, probe, variant, threads, options, settings):
    calibration_id = session.ask(f"SELECT noisy_calibrate('{{{probe}}}', '{options.seconds} s', 1, options => "
                                 f"'{{\"threads\": [{threads}]{settings}}}')")
    return float(session.ask(f"SELECT median FROM noisy_calibration_results WHERE calibration_id = {calibration_id} "
                             f"AND variant = '{variant}'"))


def ask_sysbench(test, threads, pattern, options, *arguments):
    done = subprocess.run(["sysbench", test, f"--threads={threads}", f"--time={options.seconds}", *arguments, "run"],
                          stdout=subprocess.PIPE, text=True, check=True)
    return float(re.search(pattern, done.stdout)[1])


def primes(limit):
    return {OURS: lambda session, threads, options: ask_ours(session, "cpu", f"primes {limit}", threads, options,
                                                             f', "cpu_max_prime": {limit}'),
            PEER: lambda _, threads, options: ask_sysbench("cpu", threads, r"events per second: *([0-9.]+)", options,
                                                           f"--cpu-max-prime={limit}")}


def blocks():
    return {OURS: lambda session, threads, options: ask_ours(session, "memory", "write 1 KiB blocks", threads, options,
                                                             ', "memory_bytes": "8MB"'),
            PEER: lambda _, threads, options: ask_sysbench("memory", threads, r"\(([0-9.]+) MiB/sec\)", options,
                                                           "--memory-total-size=100T")}


WHAT = {"primes 10000": primes(10000), "primes 20000": primes(20000), "1 KiB blocks": blocks()}


def values_of(rows, what, threads, tool):
    return [row.value for row in rows if (row.what, row.threads, row.tool) == (what, threads, tool)]


def report_on(rows, options):
    report = measure.Report("events per second against sysbench", options.csv)
    report.text(f"Windows of {options.seconds} s in turns, {options.rounds} of each. Events per second, and MiB/s of blocks of 1 KiB: means, and "
                "the ratio of neighbouring windows with its 95 % interval.")
    table = []
    for what in WHAT:
        for threads in (1, 2):
            ours, peer = (values_of(rows, what, threads, tool) for tool in (OURS, PEER))
            ratio = measure.ratio_interval([math.log(a / b) for a, b in zip(ours, peer)])
            table.append([what, threads, f"{statistics.mean(ours):.2f}", f"{statistics.mean(peer):.2f}",
                          measure.show(ratio, ".4f")])
            if what.startswith("primes"):
                away, low = abs(ratio[0] - 1), None
                if ratio[1] is not None:
                    low = min(abs(ratio[1] - 1), abs(ratio[2] - 1))
                report.target(f"events/s, {what}, {threads} thread{'s' if threads > 1 else ''}: ratio to sysbench",
                              f"1.00 ± {LIMIT}", f"{statistics.mean(ours):.1f}",
                              measure.verdict(away, LIMIT, low, max(abs(ratio[1] - 1), abs(ratio[2] - 1)) if low is not None else None),
                              f"{statistics.mean(peer):.1f}", measure.show(ratio, ".4f"))
    report.table(["", "threads", OURS, PEER, "ratio"], table)
    report.text("Blocks of 1 KiB stay in the caches. sysbench counts and times each block by its own means, which cost it more "
                "than the two readings of the clock that ours has; so the ratio is above 1, and no target is set.")
    report.write(Row._fields, rows)


def main():
    parser = argparse.ArgumentParser(prog="bench/calibration")
    parser.add_argument("--seconds", type=int, default=measure.seconds(3), help="of a window")
    parser.add_argument("--rounds", type=int, default=measure.rounds(6))
    parser.add_argument("--csv", required=True)
    options = parser.parse_args()

    session = measure.Session()
    rows = []
    for number in range(options.rounds):
        for what, tools in WHAT.items():
            for threads in (1, 2):
                for tool in sorted(tools, reverse=number % 2 == 0):
                    rows.append(Row(what, threads, tool, number, tools[tool](session, threads, options)))
    report_on(rows, options)


if __name__ == "__main__":
    main()
