#!/usr/bin/env python3
"""Measure whether the account of time closes, what it costs, and what the probes see.  Started by bench/attribution.

closure    a process that never sleeps adds up its CPU time and its run-queue delay, beside 0, 1, 2 and 4 others that
           spin on the same CPU: wall = CPU + run queue, but for what the hypervisor took.
followed   select-only tps with the probes and with one client followed, and without, in runs of the order on-off-off-on.
backends   CPU time of the sample worker with many idle backends, against that with few: what one look per second
           at each of them, and a hundred at their wait events, cost.
probes     probes of fixed work under cpu and cache noise of the same dose, in turn with none.
"""
import argparse
import collections
import math
import os
import statistics
import subprocess
import time

import measure

Row = collections.namedtuple("Row", "part case round value unit")
COMPETITORS = (0, 1, 2, 4)
CLOSURE_PCT, FOLLOWED_PCT, BACKENDS_PCT = 0.05, 1.0, 5.0
DOSE = 60


def on_one_cpu(command, **options):
    cpu = min(os.sched_getaffinity(0))
    return subprocess.Popen(command, preexec_fn=lambda: os.sched_setaffinity(0, {cpu}), text=True, **options)


def closure(options):
    rows = []
    for number in range(measure.rounds(2)):
        for others in COMPETITORS:
            spinners = [on_one_cpu([options.hog, "cpu"]) for _ in range(others)]
            try:
                time.sleep(0.2)
                with on_one_cpu([options.hog, "account", str(options.seconds)], stdout=subprocess.PIPE) as spinner:
                    wall, cpu, queue = map(int, spinner.stdout.read().split())
            finally:
                for spinner in spinners:
                    spinner.kill()
                    spinner.wait()
            rows.append(Row("closure", others, number, 100 * abs(wall - cpu - queue) / wall, "% of wall"))
            rows.append(Row("queue", others, number, 100 * queue / wall, "% of wall"))
    return rows


def run(session, workload, seconds, more):
    return session.ask(f"SELECT noisy_run('{workload}', '{{8}}', '{{0}}', duration => '{seconds} s', warmup => '1 s', repeats => 1{more})")


def followed(options):
    session = measure.Session()
    rows = []
    for number in range(measure.rounds(4)):
        for on in (True, False, False, True):
            more = "" if on else """, options => '{"tail": false, "probes": false}'"""
            run_id = run(session, "select-only", options.seconds, more)
            tps = float(session.ask(f"SELECT tps FROM noisy_results WHERE run_id = {run_id}"))
            rows.append(Row("followed", "on" if on else "off", number, tps, "tps"))
    return rows


def sampler_cpu(session, seconds):
    """CPU of the sample worker, percent of one, over the middle of a window."""
    session.ask(f"SELECT noisy_load('{{cpu}}', 0, '{seconds + 3} s', '{{\"cpu\": {{\"workers\": 1}}}}', false)")
    measure.wait_until(20, "noisy_load", lambda: session.ask("SELECT phase FROM noisy_progress") == "measuring")
    pids = [pid for pid in measure.children(int(os.environ["POSTMASTER"])) if "pg_noisyneighbor sample" in measure.title(pid)]
    if not pids:
        measure.fail("there is no sample worker")
    time.sleep(1)
    before, since = measure.run_ns(pids[0]), time.monotonic()
    time.sleep(seconds)
    value = 100 * (measure.run_ns(pids[0]) - before) / 1e9 / (time.monotonic() - since)
    measure.wait_until(30, "end of noisy_load", lambda: session.ask("SELECT count(*) FROM noisy_progress") == "0")
    return value


def backends(options):
    session = measure.Session()
    rows = []
    for number in range(measure.rounds(1)):
        rows.append(Row("backends", 0, number, sampler_cpu(session, options.seconds), "% of a CPU"))
        with measure.popen(["pgbench", "-n", "-f", "-", "-c", str(options.backends), "-j", "2", "-T", str(options.seconds + 60)],
                           stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as bench:
            bench.stdin.write("SELECT pg_sleep(600);\n")
            bench.stdin.close()
            measure.wait_until(60, "backends", lambda: int(session.ask(
                "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'")) > options.backends)
            rows.append(Row("backends", options.backends, number, sampler_cpu(session, options.seconds), "% of a CPU"))
            session.ask("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = 'pgbench'")
            bench.wait()
    return rows


def probes(options):
    session = measure.Session()
    rows = []
    for number in range(measure.rounds(4)):
        for noise, dose in (("none", 0), ("cpu", DOSE), ("cache", DOSE)):
            run_id = session.ask(f"SELECT noisy_load('{{{'cpu' if noise == 'none' else noise}}}', {dose}, '{options.seconds} s')")
            for line in session.ask(f"SELECT probe, median_ns, p90_ns FROM noisy_probes WHERE run_id = {run_id}").split("\n"):
                probe, median, p90 = line.split("|")
                rows.append(Row(f"probe {probe} median", noise, number, float(median or "nan"), "ns"))
                rows.append(Row(f"probe {probe} p90", noise, number, float(p90 or "nan"), "ns"))
    return rows


def values(rows, part, case=None):
    return [row.value for row in rows if row.part == part and case in (None, row.case)]


def report_closure(report, rows):
    report.text("Closure: a process that never sleeps, beside others that spin on the same CPU. Its CPU time and its run-queue delay "
                "should add up to the time that passed.")
    report.table(["others on its CPU", "in the run queue", "|wall - CPU - run queue|, largest"],
                 [[others, f"{statistics.mean(values(rows, 'queue', others)):.1f} %", f"{max(values(rows, 'closure', others)):.4f} %"]
                  for others in COMPETITORS])
    worst = max(values(rows, "closure"))
    report.target("account of a spinner: what is missing, largest", f"<= {CLOSURE_PCT} % of wall", f"{worst:.4f} %",
                  measure.verdict(worst, CLOSURE_PCT))


def report_followed(report, rows):
    logs = collections.defaultdict(float)
    for row in rows:
        if row.part == "followed":
            logs[row.round] += (-0.5 if row.case == "on" else 0.5) * math.log(row.value)
    cost = measure.interval([100 * (1 - math.exp(-value)) for value in logs.values()])
    report.text(f"tps of 8 select-only clients that is lost while one of them is followed and the probes run: {measure.show(cost, '.2f', ' %')}, "
                f"{len(logs)} replicates of four runs.")
    report.target("one client followed, and probes: tps lost", f"<= {FOLLOWED_PCT} %", measure.show(cost, ".2f", " %"),
                  measure.verdict(cost[0], FOLLOWED_PCT, *cost[1:]))


def report_backends(report, rows, options):
    few, many = (statistics.mean(values(rows, "backends", case)) for case in (0, options.backends))
    report.text(f"CPU time of the sample worker at its default rate: {few:.2f} % of a CPU without clients, {many:.2f} % with "
                f"{options.backends} idle backends.")
    report.target(f"sample worker with {options.backends} backends", f"<= {BACKENDS_PCT} % of a CPU", f"{many:.2f} %",
                  measure.verdict(many, BACKENDS_PCT))


def report_probes(report, rows):
    report.text(f"Probes without noise, and under cpu and cache noise of {DOSE} % on every CPU: medians of the rounds, ns.")
    parts = sorted({row.part for row in rows if row.part.startswith("probe ")})
    table = []
    for part in parts:
        none, cpu, cache = (statistics.median(values(rows, part, noise)) for noise in ("none", "cpu", "cache"))
        table.append([part.removeprefix("probe "), f"{none:.1f}", f"{cpu:.1f}", f"{cache:.1f}", f"{cache / cpu:.2f}"])
    report.table(["", "none", "cpu", "cache", "cache / cpu"], table)
    pairs = [math.log(cache / cpu) for cpu, cache in zip(values(rows, "probe cache_l2 p90", "cpu"), values(rows, "probe cache_l2 p90", "cache"))]
    ratio = measure.ratio_interval(pairs)
    report.target("cache noise evicts: p90 of a load from the L2 set, against cpu noise of the same dose", ">= 1.2 times",
                  measure.show(ratio, ".2f", " times"), measure.verdict(ratio[0], 1.2, *ratio[1:], at_most=False))


def main():
    parser = argparse.ArgumentParser(prog="bench/attribution")
    parser.add_argument("--seconds", type=int, default=max(2, measure.seconds(6)), help="of a window")
    parser.add_argument("--backends", type=int, default=500)
    parser.add_argument("--parts", default="closure,followed,backends,probes")
    parser.add_argument("--hog", required=True)
    parser.add_argument("--csv", required=True)
    options = parser.parse_args()

    report = measure.Report("The account of time", options.csv)
    rows = []
    wanted = options.parts.split(",")
    for name, measured, told in (("closure", closure, lambda: report_closure(report, rows)),
                                 ("followed", followed, lambda: report_followed(report, rows)),
                                 ("backends", backends, lambda: report_backends(report, rows, options)),
                                 ("probes", probes, lambda: report_probes(report, rows))):
        if name in wanted:
            rows += measured(options)
            told()
    report.write(Row._fields, rows)


if __name__ == "__main__":
    main()
