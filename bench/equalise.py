#!/usr/bin/env python3
"""Find the CPU limit that makes a fast host as fast as a slow one, live.  Started by bench/equalise.

The slow host is this machine under a quota with periods of 20 ms, the fast one is this machine as it is; the limit that is
recommended is set with periods of 100 ms, and the host calibrated again.  Where more than half a percent is left, the limit
that follows from that calibration is tried, as a user would.  The witness is sysbench in the same control group.
"""
import argparse
import collections
import os
import re
import subprocess

import measure

Row = collections.namedtuple("Row", "quota step limit gap_pct gap_low_pct gap_high_pct verdict tail_gap_pct sysbench_gap_pct")
LIMIT_PCT = 0.5
STEPS = 2
SLOW_PERIOD_MS, FAST_PERIOD_MS = 20, 100


def sysbench(group, options):
    """Events per second of all CPUs in the group; None where there is no sysbench."""
    try:
        done = subprocess.run(["sysbench", "cpu", f"--threads={measure.CPUS}", f"--time={round(options.seconds * options.repeats / 2)}", "run"],
                              stdout=subprocess.PIPE, text=True, check=True, preexec_fn=lambda: group.write("cgroup.procs", str(os.getpid())))
    except FileNotFoundError:
        return None
    return float(re.search(r"events per second: *([0-9.]+)", done.stdout)[1])


def calibrate(session, options, label):
    return int(session.ask(f"SELECT noisy_calibrate('{{cpu,postgres}}', '{options.seconds} s', {options.repeats}, '{label}', "
                           f"'{{\"threads\": [{measure.CPUS}]}}')"))


def equalise(session, group, quota, options):
    """One row a limit that was tried."""
    group.limit(quota, SLOW_PERIOD_MS)
    slow, slow_rate = calibrate(session, options, f"slow, {quota} CPUs"), sysbench(group, options)
    group.limit(None, FAST_PERIOD_MS)
    fast = calibrate(session, options, "fast")
    rows, latest = [], fast
    for step in range(1, STEPS + 1):
        limit = float(session.ask(f"SELECT cpulimit FROM noisy_recommend_cpulimit({latest}, {slow})"))
        group.limit(limit, FAST_PERIOD_MS)
        latest, rate = calibrate(session, options, f"fast, {limit} CPUs"), sysbench(group, options)
        gap = session.ask(f"SELECT gap_pct, gap_low_pct, gap_high_pct, verdict FROM noisy_compare_calibrations({latest}, {slow}) "
                          f"WHERE probe = 'cpu' AND threads = {measure.CPUS}").split("|")
        tail = session.ask(f"SELECT tail_gap_pct FROM noisy_recommend_cpulimit({fast}, {slow})")
        rows.append(Row(quota, step, limit, *map(float, gap[:3]), gap[3], float(tail) if tail else None,
                        100 * (rate / slow_rate - 1) if rate else None))
        if abs(rows[-1].gap_pct) <= LIMIT_PCT:
            break
    group.limit(None, FAST_PERIOD_MS)
    return rows


def report_on(rows, options):
    report = measure.Report("Two hosts made equal", options.csv)
    report.text(f"This machine under a quota with periods of {SLOW_PERIOD_MS} ms is the slow host, without one the fast one; then it is calibrated under the limit "
                f"that is recommended, with periods of {FAST_PERIOD_MS} ms. Gaps are fast / slow - 1, with {measure.CPUS} threads, of "
                f"{options.repeats} repeats of {options.seconds} s; the gap of the tail is that of the 99th percentile of the probe `postgres` with as many clients; "
                "sysbench cpu ran in the same groups.")
    report.table(["slow host", "step", "limit", "gap", "95 % interval", "verdict", "tail", "sysbench"],
                 [[f"{row.quota} CPUs", row.step, f"{row.limit:.2f}", f"{row.gap_pct:+.2f} %", f"{row.gap_low_pct:+.2f} to {row.gap_high_pct:+.2f}",
                   row.verdict, "-" if row.tail_gap_pct is None else f"{row.tail_gap_pct:+.0f} %",
                   "-" if row.sysbench_gap_pct is None else f"{row.sysbench_gap_pct:+.2f} %"] for row in rows])
    last = {row.quota: row for row in rows}.values()
    worst = max(abs(row.gap_pct) for row in last)
    report.target(f"gap that the recommended limit leaves, in at most {STEPS} steps", f"<= {LIMIT_PCT} %", f"{worst:.2f} %",
                  measure.verdict(worst, LIMIT_PCT) + (", but an interval spans the target" if any(row.gap_low_pct < edge < row.gap_high_pct for row in last
                                                                                                   for edge in (-LIMIT_PCT, LIMIT_PCT)) else ""))
    report.write(Row._fields, rows)


def main():
    parser = argparse.ArgumentParser(prog="bench/equalise")
    parser.add_argument("--seconds", type=float, default=measure.seconds(2), help="of a repeat")
    parser.add_argument("--repeats", type=int, default=measure.rounds(8))
    parser.add_argument("--quotas", default="1.3,0.8")
    parser.add_argument("--csv", required=True)
    options = parser.parse_args()

    session = measure.Session()
    group = measure.CpuGroup(f"pg_noisyneighbor_bench_{os.getpid()}")
    if group.path is None:
        report = measure.Report("Two hosts made equal", options.csv)
        report.text("Not measured: no control group can be made here.")
        report.target("gap that the recommended limit leaves", f"<= {LIMIT_PCT} %", "", "not measured")
        report.write(Row._fields, [])
        return
    rows = []
    try:
        group.take(int(os.environ["POSTMASTER"]))
        for quota in map(float, options.quotas.split(",")):
            if quota < measure.CPUS:
                rows += equalise(session, group, quota, options)
    finally:
        group.close()
    report_on(rows, options)


if __name__ == "__main__":
    main()
