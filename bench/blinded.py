#!/usr/bin/env python3
"""Inject a known cause into a run and ask the run's views for it.  Started by bench/blinded.

A trial is a run of a tpcb-like workload whose noise is next to none (0.1 % of a CPU of one thread): its level only marks
the blocks in which the cause is at work.  noisy_progress tells when these begin and end.

The answer, from what changed between the marked blocks and the baselines around them:

    quota        periods in which the server's control group was throttled
    checkpoint   seconds in which a checkpoint was in progress
    nothing      the mean latency grew by less than a tenth; or it is no "impact" in noisy_effects, and the interval of what
                 grew most reaches down to 0
    otherwise    the component of noisy_attribution that grew most: lock waits are a lock hog, IO is an fsync hog, and so are
                 waits for WAL that grew, where they grew most or the host's IO pressure did, too; run queue, client and
                 CPU are a hog of CPU, or of the cache where both probes of cache and memory, or the CPU time for the same
                 work, grew by a fifth
"""
import argparse
import collections
import os
import random
import signal
import subprocess
import threading
import time

import measure

Row = collections.namedtuple("Row", "trial cause answer change_pct top share_pct second cpu_inflation_pct memory_pct throttled_pct "
                             "checkpoint_pp io_pressure_pp verdict")
CAUSES = ("cpu", "quota", "cache", "lock", "fsync", "checkpoint", "nothing")
LEAST_PCT = 10
INFLATION_PCT = 20
PRESSURE_PP = 10
NAMED_PCT = 90


class Injector:
    """Does the cause while it is switched on."""

    def __init__(self, cause, options):
        self.cause, self.options = cause, options
        self.processes, self.session, self.stop = [], None, None
        self.group = None
        if cause == "quota":
            self.group = measure.CpuGroup(f"noisy_bench_{os.getpid()}")
            self.group.take(int(os.environ["POSTMASTER"]))
        if cause in ("lock", "checkpoint"):
            self.session = measure.Session()

    def on(self):
        if self.cause in ("cpu", "cache", "fsync"):
            argument = {"cpu": [], "cache": [str(64 << 20)], "fsync": [os.path.join(self.options.folder, "hog")]}[self.cause]
            number = 1 if self.cause == "fsync" else measure.CPUS
            self.processes = [subprocess.Popen([self.options.hog, self.cause] + argument) for _ in range(number)]
        elif self.cause == "quota":
            self.group.limit(0.8, 100)
        elif self.session:
            self.stop = threading.Event()
            self.thread = threading.Thread(target=self.repeat)
            self.thread.start()

    def repeat(self):
        statements = {"lock": ["BEGIN", "LOCK TABLE pgbench_branches IN EXCLUSIVE MODE", "SELECT pg_sleep(0.02)", "COMMIT"],
                      "checkpoint": ["CHECKPOINT"]}[self.cause]
        while not self.stop.is_set():
            for statement in statements:
                self.session.ask(statement)
            time.sleep(0.02)

    def off(self):
        for process in self.processes:
            process.send_signal(signal.SIGKILL)
            process.wait()
        self.processes = []
        if self.cause == "quota":
            self.group.limit(None, 100)
        if self.stop:
            self.stop.set()
            self.thread.join()
            self.stop = None

    def close(self):
        self.off()
        if self.group:
            self.group.close()
        if self.session:
            self.session.close()


def cache_inflation_pct(options):
    """How much slower loads get at least, at the size at which it is most, while the hog of the cache is at work on another CPU."""
    control = measure.Session()
    calibrations = []
    for busy in (False, True):
        hog = subprocess.Popen([options.hog, "cache", str(64 << 20)],
                               preexec_fn=lambda: os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})) if busy else None
        calibration_id = control.ask("SELECT noisy_calibrate('{cache}', '200 ms', 8, options => '{\"threads\": [1]}')")
        if hog:
            hog.kill()
            hog.wait()
        calibrations.append(calibration_id)
    low = control.ask(f"SELECT max(gap_low_pct) FROM noisy_compare_calibrations({calibrations[1]}, {calibrations[0]})")
    control.close()
    return float(low)


def follow(control, injector):
    """Switch the cause on and off with the level of the block, until the run has ended."""
    at_work = False
    while True:
        now = control.ask("SELECT level > 0 AND phase IN ('warm-up', 'measuring', 'stalled') FROM noisy_progress")
        if now == "" and not at_work:
            return
        if (now == "t") != at_work:
            at_work = now == "t"
            (injector.on if at_work else injector.off)()
        time.sleep(0.01)


def numbers(line):
    return [float(value or "nan") for value in line.split("|")]


def answer_of(control, run_id):
    """What the run's views say, and the figures that it rests on."""
    throttled, checkpoint, pressure = numbers(control.ask(f"""
        SELECT coalesce(avg(throttled_periods_pct) FILTER (WHERE level > 0), 0) - coalesce(avg(throttled_periods_pct) FILTER (WHERE level = 0), 0),
               100 * (avg(checkpoint::int) FILTER (WHERE level > 0) - avg(checkpoint::int) FILTER (WHERE level = 0)),
               coalesce(avg(psi_io_some_pct) FILTER (WHERE level > 0) - avg(psi_io_some_pct) FILTER (WHERE level = 0), 0)
        FROM (SELECT b.level, u.throttled_periods_pct, u.psi_io_some_pct, t.checkpoint FROM noisy_blocks b JOIN noisy_host_usage u USING (run_id, block)
              JOIN noisy_timeline t USING (run_id, block) WHERE run_id = {run_id} AND b.accepted) AS x"""))
    components = [(name, *numbers(rest)) for name, rest in (line.split("|", 1) for line in control.ask(f"""
        SELECT component, baseline_ms, delta_ms, share_pct, delta_low_ms, delta_high_ms FROM noisy_attribution
        WHERE run_id = {run_id} AND level > 0 AND scope = 'mean' ORDER BY delta_ms DESC""").split("\n"))]
    change = 100 * sum(c[2] for c in components) / sum(c[1] for c in components)
    verdict = control.ask(f"SELECT verdict FROM noisy_effects WHERE run_id = {run_id} AND level > 0 AND metric = 'avg'")
    cpu = next((100 * c[2] / c[1] for c in components if c[0] == "cpu" and c[1] > 0), 0)
    memory = numbers(control.ask(f"SELECT coalesce(min(median_change_pct), 0) FROM noisy_probes WHERE run_id = {run_id} AND level > 0 "
                                 "AND probe IN ('cache_l2', 'memory')"))[0]
    walwrite = float(control.ask(f"SELECT coalesce(max(avg_waiters_change), 0) FROM noisy_lwlocks WHERE run_id = {run_id} AND level > 0 "
                                 "AND wait_event IN ('WALWrite', 'WALInsert')"))
    top, second = components[0], components[1]
    if throttled > 5:
        answer = "quota"
    elif checkpoint > 30:
        answer = "checkpoint"
    elif change < LEAST_PCT or verdict != "impact" and not top[4] > 0:
        answer = "nothing"
    elif top[0] == "lock":
        answer = "lock"
    elif top[0] in ("io", "other_waits") or walwrite > 0 and (top[0] == "lwlock" or pressure > PRESSURE_PP):
        answer = "fsync"
    elif max(cpu, memory) > INFLATION_PCT:
        answer = "cache"
    else:
        answer = "cpu"
    return answer, (round(change, 1), top[0], round(top[3], 1), second[0], round(cpu, 1), round(memory, 1), round(throttled, 1),
                    round(checkpoint, 1), round(pressure, 1), verdict)


def trial(number, cause, options):
    control = measure.Session()
    injector = Injector(cause, options)
    caller = measure.Session()
    try:
        caller.send(f"""SELECT noisy_run('tpcb-like', clients => '{{4}}', levels => '{{0,0.1}}', noise => '{{cpu}}',
            noise_options => '{{"cpu": {{"workers": 1}}}}', duration => '{options.seconds} s', warmup => '0.7 s',
            repeats => {options.repeats}, options => '{{"guard": false, "settle": 300}}')""")
        measure.wait_until(20, "start of the run", lambda: control.ask("SELECT count(*) FROM noisy_progress") == "1")
        follow(control, injector)
        run_id = int(caller.receive())
        answer, figures = answer_of(control, run_id)
    finally:
        injector.close()
    caller.close()
    control.close()
    print(f"trial {number}: {cause}, said to be {answer}", flush=True)
    return Row(number, cause, answer, *figures)


def report_on(rows, inflation_pct, options):
    causes = [cause for cause in CAUSES if any(row.cause == cause for row in rows)]
    report = measure.Report("Blinded causes", options.csv)
    report.text(f"{len(rows)} runs of a tpcb-like workload with 4 clients, {options.repeats} repeats of {options.seconds} s each, in random order. In the "
                "marked blocks of each run one thing happened; what it was is read from the run's views alone. Rows: what was done; "
                "columns: what was said. The rule that reads the answer was adjusted on earlier runs with the same seed, so this is no test "
                "on unseen runs.")
    counts = collections.Counter((row.cause, row.answer) for row in rows)
    report.table(["done \\ said"] + list(CAUSES), [[cause] + [counts[cause, said] or "" for said in CAUSES] for cause in causes])
    counted = [row for row in rows if row.cause != "cache" or inflation_pct is None or inflation_pct >= INFLATION_PCT]
    if inflation_pct is not None:
        report.text(f"While the hog of the cache is at work on another CPU, loads from no size of memory are slower by more than {max(inflation_pct, 0):.0f} % for certain, by noisy_calibrate"
                    + ("." if len(counted) == len(rows) else ": the cache that programs share here is not ours to thrash, and what that hog takes is CPU. "
                       "Its trials are shown and not counted."))
    right = sum(row.cause == row.answer for row in counted)
    report.target("causes that were named", f">= {NAMED_PCT} %", f"{100 * right / len(counted):.0f} % ({right} of {len(counted)})",
                  measure.verdict(100 * right / len(counted), NAMED_PCT, at_most=False))
    nothing = [row for row in rows if row.cause == "nothing"]
    false_alarms = sum(row.answer != "nothing" for row in nothing)
    if nothing:
        report.target("causes that were named though nothing was done", "none", f"{false_alarms} of {len(nothing)}",
                      measure.verdict(false_alarms, 0))
    report.write(Row._fields, rows)


def main():
    parser = argparse.ArgumentParser(prog="bench/blinded")
    parser.add_argument("--trials", type=int, default=measure.rounds(3), help="of each cause")
    parser.add_argument("--seconds", type=int, default=max(2, measure.seconds(3)))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--causes", default=",".join(CAUSES))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--hog", required=True)
    parser.add_argument("--folder", required=True)
    parser.add_argument("--csv", required=True)
    options = parser.parse_args()

    causes = options.causes.split(",")
    if "quota" in causes:
        group = measure.CpuGroup(f"noisy_bench_try_{os.getpid()}")
        if group.path is None:
            causes.remove("quota")
        else:
            group.close()
    order = causes * options.trials
    random.Random(options.seed).shuffle(order)
    inflation_pct = cache_inflation_pct(options) if "cache" in causes and measure.CPUS > 1 else None
    report_on([trial(number, cause, options) for number, cause in enumerate(order, 1)], inflation_pct, options)


if __name__ == "__main__":
    main()
