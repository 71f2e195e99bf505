#!/usr/bin/env python3
"""Compare throttling as noisy_host_usage has it with the kernel's cpu.stat.  Started by bench/throttle.

All processes of a server are put into a control group with a quota, and noise of 100 % on every CPU is more than it
allows.  cpu.stat is read from outside while a block is measured; the load is steady, so rates compare although
both do not begin in the same moment.  A stall lasts from the moment at which the quota of a period is used up to its end:
P (1 - L / D), which noisy_throttle_stall_ms() computes; cpu.stat has it as throttled time by throttled periods and CPUs.
"""
import argparse
import collections
import os
import time

import measure

Row = collections.namedtuple("Row", "quota period_ms seconds ours_pct kernel_pct ours_periods_pct kernel_periods_pct "
                             "stall_formula_ms stall_kernel_ms")
LIMIT_PCT = 3.0


def measure_one(session, group, quota, period_ms, seconds):
    group.limit(quota, period_ms)
    session.ask(f"SELECT noisy_load('{{cpu}}', 100, '{seconds + 2} s', '{{\"cpu\": {{\"workers\": {measure.CPUS}}}}}', false)")
    measure.wait_until(60, "noisy_load", lambda: session.ask("SELECT phase FROM noisy_progress") == "measuring")
    time.sleep(1)
    before, since = group.stat(), time.monotonic()
    time.sleep(seconds)
    after, wall = group.stat(), time.monotonic() - since
    measure.wait_until(90, "end of noisy_load", lambda: session.ask("SELECT count(*) FROM noisy_progress") == "0")
    group.limit(None, period_ms)
    ours, periods, formula = (float(value or "nan") for value in session.ask(
        f"SELECT throttled_pct, throttled_periods_pct, noisy_throttle_stall_ms({quota}, {measure.CPUS}, {period_ms}) "
        "FROM noisy_host_usage ORDER BY run_id DESC LIMIT 1").split("|"))
    periods_passed, throttled, throttled_s = (b - a for a, b in zip(before, after))
    return Row(quota, period_ms, round(wall, 2), ours, 100 * throttled_s / wall, periods,
               100 * throttled / max(periods_passed, 1), formula,
               1000 * throttled_s / max(throttled, 1) / measure.CPUS)


def stall_ms(row):
    """Length of a stall by what noisy_host_usage has: throttled time by throttled periods and CPUs."""
    return row.period_ms * row.ours_pct / row.ours_periods_pct / measure.CPUS


def report_on(rows, options):
    report = measure.Report("Throttling", options.csv)
    report.text(f"The server in a control group with a quota, under noise of 100 % on {measure.CPUS} CPUs. Throttled time in percent of the "
                "time, summed over CPUs; throttled periods in percent of all; stalls in ms, from the columns of noisy_host_usage, as the kernel counts them, and by the formula, which does not know of "
                "the slices that the kernel hands out in advance.")
    report.table(["quota", "period", "throttled: ours", "kernel", "periods: ours", "kernel", "stall: ours", "kernel", "formula"],
                 [[f"{row.quota} CPUs", f"{row.period_ms} ms", f"{row.ours_pct:.2f} %", f"{row.kernel_pct:.2f} %",
                   f"{row.ours_periods_pct:.1f} %", f"{row.kernel_periods_pct:.1f} %", f"{stall_ms(row):.2f}",
                   f"{row.stall_kernel_ms:.2f}", f"{row.stall_formula_ms:.2f}"] for row in rows])
    # a host that is busy with something else leaves the group less than its quota
    rows, all_rows = [row for row in rows if row.kernel_pct > 1], rows
    if not rows:
        measure.fail("nothing was throttled: the host is busy with something else")
    worst = max(100 * abs(row.ours_pct / row.kernel_pct - 1) for row in rows)
    report.target("throttled time against cpu.stat: largest deviation", f"<= {LIMIT_PCT} %", f"{worst:.2f} %",
                  measure.verdict(worst, LIMIT_PCT))
    worst = max(100 * abs(stall_ms(row) / row.stall_kernel_ms - 1) for row in rows)
    report.target("length of a stall against cpu.stat: largest deviation", f"<= {LIMIT_PCT} %", f"{worst:.2f} %",
                  measure.verdict(worst, LIMIT_PCT))
    worst = max(100 * abs(row.stall_formula_ms / row.stall_kernel_ms - 1) for row in rows)
    report.target("length of a stall by noisy_throttle_stall_ms() against cpu.stat: largest deviation", f"<= {LIMIT_PCT} %", f"{worst:.2f} %",
                  measure.verdict(worst, LIMIT_PCT))
    report.write(Row._fields, all_rows)


def main():
    parser = argparse.ArgumentParser(prog="bench/throttle")
    parser.add_argument("--seconds", type=int, default=max(3, measure.seconds(8)))
    parser.add_argument("--quotas", default="0.5,1.0,1.8")
    parser.add_argument("--periods", default="20,50,100")
    parser.add_argument("--csv", required=True)
    options = parser.parse_args()

    group = measure.CpuGroup(f"noisy_bench_{os.getpid()}")
    if group.path is None:
        measure.fail("there is no hierarchy of the cpu controller that this user may write to")
    rows = []
    try:
        session = measure.Session()
        group.take(int(os.environ["POSTMASTER"]))
        for quota in options.quotas.split(","):
            for period_ms in options.periods.split(","):
                if float(quota) < measure.CPUS:
                    rows.append(measure_one(session, group, float(quota), int(period_ms), options.seconds))
    finally:
        group.close()
    report_on(rows, options)


if __name__ == "__main__":
    main()
