#!/usr/bin/env python3
"""Divide waits for a lock under cpu noise, and see whether the parts sum to the waits.  Started by bench/lock.

A run with the lock probe beside one client that selects, in rounds of random order.  Held and free time of the lock are entered by those who
hold it, the length of a wait is measured by who waits: that these agree is the witness of the account.  Beside it, what
the probe costs as it is by default: the CPU time of its workers, from the scheduler's account.
"""
import argparse
import collections
import statistics
import time

import measure

SHARES = ("holder_on_cpu_pct", "holder_off_cpu_pct", "waiter_run_queue_pct", "rest_pct", "next_in_line_pct")
LONG = ("long_holder_on_cpu_pct", "long_holder_off_cpu_pct", "long_waiter_run_queue_pct", "long_next_in_line_pct")
FIGURES = ("achieved_pct", "acquisitions", "long_waits", "hold_p50_ms", "hold_p99_ms", "wait_p50_ms", "wait_p99_ms", "wait_max_ms") + \
    SHARES + ("overlap_pct", "closure_pct") + LONG
Row = collections.namedtuple("Row", ("round", "level") + FIGURES)
CLOSURE_PCT, COST_PCT = 5.0, 5.0


def run_probe(session, options, number):
    """Rows of one run."""
    levels = ",".join(options.levels)
    probe = f'{{"workers": {options.workers}, "hold_us": {options.hold_us}, "pause_us": {options.pause_us}}}'
    run_id = session.ask(
        f"SELECT noisy_run('select-only', '{{1}}', '{{{levels}}}', '{{cpu}}', '{{\"cpu\": {{\"workers\": {2 * measure.CPUS}}}}}', "
        f"'{options.seconds} s', '500 ms', 1, options => '{{\"guard\": false, \"lock_probe\": {probe}}}')")
    answer = session.ask(f"SELECT {number}, v.level, {', '.join(('r.' if name == 'achieved_pct' else 'v.') + name for name in FIGURES)} "
                         f"FROM noisy_lock_probe v JOIN noisy_results r USING (run_id, clients, level) WHERE run_id = {run_id} ORDER BY v.level")
    return [Row(*(float(value or "nan") for value in line.split("|"))) for line in answer.split("\n")]


def cost(options):
    """CPU time of the workers of the probe as it is by default, percent of one CPU."""
    watch, session = measure.Session(), measure.Session()
    session.send(f"SELECT noisy_run('select-only', '{{1}}', '{{0}}', duration => '{options.seconds + 2} s', warmup => '0 s', repeats => 1, "
                 "options => '{\"guard\": false, \"lock_probe\": true}')")
    measure.wait_until(60, "noisy_run", lambda: watch.ask("SELECT phase FROM noisy_progress") == "measuring")
    time.sleep(0.5)
    pids = [int(pid) for pid in watch.ask("SELECT pid FROM pg_stat_activity WHERE backend_type = 'pg_noisyneighbor lock'").split()]
    before, since = sum(map(measure.run_ns, pids)), time.monotonic()
    time.sleep(options.seconds)
    used = sum(map(measure.run_ns, pids)) - before
    wall_s = time.monotonic() - since
    session.receive()
    return 100 * used / 1e9 / wall_s, len(pids)


def middle(rows, level, name):
    known = [value for value in (getattr(row, name) for row in rows if row.level == level) if value == value]
    return statistics.median(known) if known else float("nan")


def number(value, form):
    return "-" if value != value else f"{value:{form}}"


def report_on(rows, cost_pct, cost_workers, options):
    report = measure.Report("Waits for a lock", options.csv)
    report.text(f"{options.workers} workers take one lock for {options.hold_us:g} us of CPU time each and rest for {options.pause_us:g} us, beside one select-only client and cpu "
                f"noise in {2 * measure.CPUS} threads on {measure.CPUS} CPUs. Medians of {options.rounds} rounds of {options.seconds} s; shares are of all the time waited, then of "
                "the waits over 1 ms alone.")
    levels = sorted({row.level for row in rows})
    report.table(["noise", "delivered", "taken", "wait p50", "p99", "longest", "over 1 ms"],
                 [[f"{level:g} %", f"{middle(rows, level, 'achieved_pct'):.1f} %", f"{middle(rows, level, 'acquisitions'):.0f}"] +
                  [f"{middle(rows, level, name):.4f} ms" for name in ("wait_p50_ms", "wait_p99_ms", "wait_max_ms")] +
                  [f"{middle(rows, level, 'long_waits'):.0f}"] for level in levels])
    for title, names in (("all waits", SHARES), ("waits over 1 ms", LONG)):
        report.table([title] + [name.removeprefix("long_").removesuffix("_pct").replace("_", " ") for name in names],
                     [[f"noise of {level:g} %"] + [number(middle(rows, level, name), ".1f") + " %" for name in names] for level in levels])
    worst = max(abs(row.closure_pct - 100) for row in rows)
    report.target("held and free time of a lock against the waits for it: largest deviation", f"<= {CLOSURE_PCT:g} %", f"{worst:.3f} %",
                  measure.verdict(worst, CLOSURE_PCT))
    worst = max(abs(sum(getattr(row, name) for name in SHARES[:4]) - 100) for row in rows)
    report.target("sum of the shares of a wait: largest deviation", f"<= {CLOSURE_PCT:g} %", f"{worst:.3f} %", measure.verdict(worst, CLOSURE_PCT))
    report.target(f"lock probe as it is by default ({cost_workers} workers): CPU time", f"<= {COST_PCT:g} % of one CPU", f"{cost_pct:.2f} %",
                  measure.verdict(cost_pct, COST_PCT))
    report.write(Row._fields, rows)


def main():
    parser = argparse.ArgumentParser(prog="bench/lock")
    parser.add_argument("--seconds", type=int, default=max(2, measure.seconds(8)), help="of a block")
    parser.add_argument("--rounds", type=int, default=measure.rounds(4))
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--hold-us", type=float, default=50)
    parser.add_argument("--pause-us", type=float, default=200)
    parser.add_argument("--levels", default="0,50,100", type=lambda text: text.split(","))
    parser.add_argument("--csv", required=True)
    options = parser.parse_args()

    session = measure.Session()
    rows = [row for number in range(options.rounds) for row in run_probe(session, options, number)]
    report_on(rows, *cost(options), options)


if __name__ == "__main__":
    main()
