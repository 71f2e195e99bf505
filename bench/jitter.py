#!/usr/bin/env python3
"""Measure gaps and wake-ups next to the usual tools.  Started by bench/jitter.

Tools take turns on the last CPU: ours and cyclictest (1 ms interval, no real-time priority, CPUs that may sleep), ours and oslat, the order
turned round every time.  Gaps are measured beside a program that burns 30 % of that CPU, because an idle CPU has next
to none, and on the CPU as it is.  oslat says how often it saw how many microseconds; what is longer than one is stolen.

SIGSTOPs of 1 to 50 ms are injected from the first CPU; what is found is the gap without its time in the run queue.
"""
import argparse
import collections
import json
import math
import os
import statistics
import subprocess

import measure

Row = collections.namedtuple("Row", "kind round tool first second third")
BURNT_PCT = 30
WITHIN_NS = 50_000
OURS = "pg_noisyneighbor"


def output_of(command):
    return subprocess.run([str(word) for word in command], check=True, stdout=subprocess.PIPE, text=True).stdout


def thread_of(options, name, *command):
    """What a program of rt-tests writes about its only thread."""
    path = os.path.join(os.environ["WORK"], "peer.json")
    output_of([os.path.join(options.peer, name), "-q", f"--json={path}", *command])
    with open(path, encoding="utf-8") as file:
        return next(iter(json.load(file)["thread"].values()))


def percentile_us(histogram, p):
    rank, seen = p * sum(histogram.values()), 0
    for value in sorted(histogram):
        seen += histogram[value]
        if seen >= rank:
            return value + 0.5          # whole microseconds, cut off
    return math.nan


def wakeup_ours(options):
    p50, p99, longest, _ = map(float, output_of([options.program, "wakeup", options.seconds, options.cpu]).split(","))
    return p50 / 1000, p99 / 1000, longest / 1000


def wakeup_peer(options):
    thread = thread_of(options, "cyclictest", "-t1", f"-a{options.cpu}", "-i1000", f"-D{options.seconds}", "-h", "20000",
                       "--default-system")
    histogram = {int(value): n for value, n in thread["histogram"].items()}
    return percentile_us(histogram, 0.5), percentile_us(histogram, 0.99), float(thread["max"])


def gaps_ours(options):
    wall, total, longest, count, *_ = map(float, output_of([options.program, "spin", options.seconds, options.cpu]).split(","))
    return 100 * total / wall, longest / 1000, count


def gaps_peer(options):
    thread = thread_of(options, "oslat", "-c", str(options.cpu), "-C", "0", "-D", str(options.seconds), "-b", "1024")
    histogram = {int(value): n for value, n in thread["histogram"].items()}
    samples = sum(histogram.values())
    short = histogram.get(1, 0)
    stolen_us = float(thread["avg"]) * samples - short
    return 100 * stolen_us / 1e6 / float(thread["duration"]), float(thread["max"]), samples - short


def in_turns(options, kind, tools, rows):
    burner = subprocess.Popen([options.program, "burn", "100000", str(options.cpu), str(BURNT_PCT)]) if kind == "gaps, burnt" else None
    try:
        for number in range(options.rounds):
            for name in sorted(tools, reverse=number % 2 == 1):
                rows.append(Row(kind, number, name, *tools[name](options)))
    finally:
        if burner:
            burner.terminate()
            burner.wait()


def ratio(rows, kind, peer, field):
    """Of ours to the peer's, round by round."""
    values = {(row.tool, row.round): getattr(row, field) for row in rows if row.kind == kind}
    logs = [math.log(value / values[peer, number]) for (tool, number), value in values.items()
            if tool == OURS and values.get((peer, number), 0) > 0 and value > 0]
    return measure.ratio_interval(logs) if logs else (math.nan, None, None)


def median(rows, kind, tool, field):
    return statistics.median(getattr(row, field) for row in rows if (row.kind, row.tool) == (kind, tool))


def compare(report, rows, options):
    """The tables of both comparisons."""
    for kind, peer, header in (("wake-up", "cyclictest", ["p50, us", "p99, us", "longest, us"]),
                               ("gaps, burnt", "oslat", ["stolen, %", "longest, us", "number"]),
                               ("gaps, as it is", "oslat", ["stolen, %", "longest, us", "number"])):
        tools = [OURS, peer] if options.peer else [OURS]
        table = [[tool] + [f"{median(rows, kind, tool, field):.2f}" for field in ("first", "second", "third")] for tool in tools]
        if options.peer:
            table.append(["ratio"] + [measure.show(ratio(rows, kind, peer, field), ".3f") for field in ("first", "second", "third")])
        report.text(f"{kind[0].upper()}{kind[1:]}: medians of {options.rounds} windows of {options.seconds} s each.")
        report.table([""] + header, table)
    if not options.peer:
        report.target("time stolen, against oslat", "within 5 %", "", "not measured")
        return
    found = ratio(rows, "gaps, burnt", "oslat", "first")
    report.target("time stolen, against oslat", "within 5 %", f"{median(rows, 'gaps, burnt', OURS, 'first'):.2f} %",
                  "met" if abs(found[0] - 1) <= 0.05 else "MISSED", f"{median(rows, 'gaps, burnt', 'oslat', 'first'):.2f} %",
                  measure.show(found, ".3f"))
    found = ratio(rows, "wake-up", "cyclictest", "first")
    report.target("wake-up lateness p50, against cyclictest", "within 10 %", f"{median(rows, 'wake-up', OURS, 'first'):.1f} us",
                  "met" if abs(found[0] - 1) <= 0.10 else "MISSED", f"{median(rows, 'wake-up', 'cyclictest', 'first'):.1f} us",
                  measure.show(found, ".3f"))


def stops(report, rows, options):
    lines = output_of([options.program, "stop", options.stops]).split()
    for number, line in enumerate(lines):
        _, given, gap, without = map(float, line.split(","))
        rows.append(Row("stop", number, OURS, given, gap, without))
    errors = [row.third - row.first for row in rows if row.kind == "stop"]
    within = sum(abs(error) <= WITHIN_NS for error in errors)
    seen = sum(row.second > 0 for row in rows if row.kind == "stop")
    report.text(f"{len(errors)} SIGSTOPs of 1 to 50 ms: {seen} seen as a gap, {within} within 50 us; error of the length: median "
                f"{statistics.median(errors) / 1000:.1f} us, from {min(errors) / 1000:.1f} to {max(errors) / 1000:.1f} us.")
    share = 100 * within / len(errors)
    report.target("SIGSTOPs of 1 to 50 ms found within 50 us", "100 %", f"{share:.1f} % of {len(errors)}",
                  measure.verdict(share, 100, at_most=False))


def main():
    parser = argparse.ArgumentParser(prog="bench/jitter")
    parser.add_argument("--seconds", type=int, default=measure.seconds(5))
    parser.add_argument("--rounds", type=int, default=measure.rounds(6))
    parser.add_argument("--stops", type=int, default=measure.rounds(5), help="times 20")
    parser.add_argument("--csv", required=True)
    parser.add_argument("--program", required=True)
    parser.add_argument("--peer", help="folder of cyclictest and oslat")
    options = parser.parse_args()
    options.cpu = max(os.sched_getaffinity(0))

    rows = []
    report = measure.Report("Gaps and wake-ups", options.csv)
    gaps = {OURS: gaps_ours, "oslat": gaps_peer}
    wakeups = {OURS: wakeup_ours, "cyclictest": wakeup_peer}
    for kind, tools in (("wake-up", wakeups), ("gaps, burnt", gaps), ("gaps, as it is", gaps)):
        in_turns(options, kind, tools if options.peer else {OURS: tools[OURS]}, rows)
    compare(report, rows, options)
    stops(report, rows, options)
    report.write(Row._fields, rows)


if __name__ == "__main__":
    main()
