#!/usr/bin/env python3
"""Hidden foreign load in a random three of ten blocks of real runs.  Started by bench/foreign.

Each block is drawn when it is seen to begin, repetitions of the guard too: so the guard does not know, and we do.  A block
is counted as loaded when the hogs burnt CPU in it, which is measured, and as clean when they used none.
Runs that are left alone say what the effect of the dose is.
"""
import argparse
import collections
import json
import math
import random
import statistics
import subprocess
import sys
import threading
import time

import measure

Row = collections.namedtuple("Row", "kind round run block repeat level drawn hog_s accepted reject_reason tps p99_ms foreign_pct "
                             "p99_ratio avg_ratio")
GUARDED, BLIND, ALONE = "guarded", "without the guard", "nobody else there"
SHARE = 0.3
METRICS = ("p99", "avg")
CAUGHT_PCT, LOST_PCT, BIAS_PCT = 95, 3, 5


class Hogs:
    """Processes that burn CPU from the begin of a block that is drawn to its end."""

    def __init__(self, count):
        self.count, self.processes, self.drawn, self.used = count, [], {}, collections.Counter()

    def start(self):
        self.processes = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(self.count)]

    def stop(self):
        """CPU time that they have used, s."""
        used = sum(measure.run_ns(process.pid) for process in self.processes) / 1e9
        for process in self.processes:
            process.kill()
            process.wait()
        self.processes = []
        return used


def haunt(control, hogs, share, chance, finished):
    """Watch the run, and burn in a share of its blocks, as chance draws them.  To watch costs CPU, too: so all runs are watched."""
    block = 0
    while not finished.is_set():
        now = control.ask("SELECT block FROM noisy_progress WHERE phase IN ('warm-up', 'measuring')")
        if now and int(now) != block:
            if block and hogs.processes:
                hogs.used[block] += hogs.stop()
            block = int(now)
            hogs.drawn[block] = chance.random() < share
            if hogs.drawn[block]:
                hogs.start()
        elif not now and block and hogs.processes:
            hogs.used[block] += hogs.stop()
        time.sleep(0.01)
    if hogs.processes:
        hogs.used[block] += hogs.stop()


def measure_run(control, options, kind, number, chance):
    hogs, finished = Hogs(options.hogs), threading.Event()
    watcher = threading.Thread(target=haunt, args=(control, hogs, 0 if kind == ALONE else SHARE, chance, finished))
    watcher.start()
    caller = measure.Session()
    guard = "false" if kind == BLIND else "true"
    caller.send(f"SELECT noisy_run('select-only', clients => '{{{options.clients}}}', levels => '{{0,{options.level}}}', noise => '{{cpu}}', "
                f"duration => '{options.seconds} s', warmup => '500 ms', repeats => {options.repeats}, rate => {options.rate}, "
                f"options => '{{\"guard\": {guard}}}')")
    run_id = int(caller.receive())
    caller.close()
    finished.set()
    watcher.join()
    found = json.loads(control.ask(
        "SELECT json_agg(row ORDER BY row.block) FROM (SELECT b.block, b.repeat, b.level::float8 AS level, b.accepted, b.reject_reason, b.tps, "
        "noisy_percentile(b.latency, 0.99) AS p99_ms, u.foreign_pct, i.p99_ratio, i.avg_ratio FROM noisy_blocks b "
        "JOIN noisy_host_usage u USING (run_id, block) LEFT JOIN (SELECT run_id, max(ratio) FILTER (WHERE metric = 'p99') AS p99_ratio, "
        "max(ratio) FILTER (WHERE metric = 'avg') AS avg_ratio FROM noisy_effects WHERE level > 0 GROUP BY run_id) i USING (run_id) "
        f"WHERE b.run_id = {run_id}) AS row"))
    return [Row(kind=kind, round=number, run=run_id, drawn=hogs.drawn.get(block["block"], False), hog_s=round(hogs.used[block["block"]], 3),
                **block) for block in found]


def effect_of(rows, kind, metric):
    """Logarithm of the ratio of the dose in the run of a kind, by round."""
    ratios = {row.round: getattr(row, f"{metric}_ratio") for row in rows if row.kind == kind}
    return {number: math.log(ratio) for number, ratio in ratios.items() if ratio}


def report_on(rows, options):
    guarded = [row for row in rows if row.kind == GUARDED]
    # what was begun in the last moment of a block has not disturbed it
    loaded = [row for row in guarded if row.hog_s > 0.2 * options.seconds]
    clean = [row for row in guarded if row.hog_s == 0]
    caught = [row for row in loaded if not row.accepted]
    # a dose whose baselines are gone cannot be compared, and is no false alarm
    bereft = [row for row in clean if not row.accepted and row.reject_reason.startswith("no accepted baseline")]
    lost = [row for row in clean if not row.accepted and row not in bereft]
    report = measure.Report("Hidden foreign load", options.csv)
    report.text(f"{options.rounds} rounds: select-only at {options.rate} transactions/s of {options.clients} clients, CPU noise of {options.level} %, "
                f"{options.repeats} repeats of {options.seconds} s; in {100 * SHARE:.0f} % of the blocks, at random, {options.hogs} "
                f"process(es) of somebody else burn CPU. Of {len(guarded)} blocks of guarded runs {len(loaded)} were loaded, "
                f"{len(caught)} of these rejected; of {len(clean)} clean ones {len(lost)}, and {len(bereft)} doses for want of a baseline that counts. Effects are ratios to the baselines; "
                "bias is the guarded effect against that of the runs beside which nobody was.")
    table, effects = [], {}
    for kind in (ALONE, GUARDED, BLIND):
        for metric in METRICS:
            logs = effects[kind, metric] = effect_of(rows, kind, metric)
            table.append([kind, metric, len(logs), measure.show(measure.ratio_interval(logs.values()), ".3f") if logs else "-",
                          f"{statistics.stdev(logs.values()):.3f}" if len(logs) > 1 else "-",
                          f"{len([row for row in rows if row.kind == kind]) / options.rounds:.1f}"])
    report.table(["", "of", "runs", "ratio of the dose", "sd of ln between runs", "blocks of a run"], table)
    share = 100 * len(caught) / max(len(loaded), 1)
    report.target("hidden load in 30 % of the blocks: caught", f">= {CAUGHT_PCT} %", f"{share:.1f} % of {len(loaded)}",
                  measure.verdict(share, CAUGHT_PCT, at_most=False) if loaded else "not measured")
    share = 100 * len(lost) / max(len(clean), 1)
    report.target("hidden load: clean blocks rejected", f"<= {LOST_PCT} %", f"{share:.1f} % of {len(clean)}", measure.verdict(share, LOST_PCT))
    for metric in METRICS:
        bias = {}
        for kind in (GUARDED, BLIND):
            alone, other = effects[ALONE, metric], effects[kind, metric]
            pairs = [other[number] - alone[number] for number in alone if number in other]
            bias[kind] = [None if x is None else 100 * (x - 1) for x in measure.ratio_interval(pairs)] if pairs else None
        if not bias[GUARDED] or not bias[BLIND]:
            continue
        value, low, high = bias[GUARDED]
        result = measure.verdict(abs(value), BIAS_PCT)
        if low is not None and any(low < edge < high for edge in (-BIAS_PCT, BIAS_PCT)):
            result += ", but the interval spans the target"
        report.target(f"hidden load: bias of the effect on the {metric}", f"<= {BIAS_PCT} %", measure.show(bias[GUARDED], "+.1f", " %"),
                      result, f"without the guard {measure.show(bias[BLIND], '+.1f', ' %')}")
    report.write(Row._fields, rows)


def main():
    parser = argparse.ArgumentParser(prog="bench/foreign")
    parser.add_argument("--rounds", type=int, default=measure.rounds(5))
    parser.add_argument("--seconds", type=float, default=1.5, help="of a block")
    parser.add_argument("--repeats", type=int, default=4)
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--level", type=float, default=30)
    parser.add_argument("--rate", type=float, default=500)
    parser.add_argument("--hogs", type=int, default=max(1, measure.CPUS // 2))
    parser.add_argument("--csv", required=True)
    options = parser.parse_args()

    control, rows, chance = measure.Session(), [], random.Random(1)
    for number in range(options.rounds):
        for kind in random.Random(number).sample((ALONE, GUARDED, BLIND), 3):
            rows += measure_run(control, options, kind, number, chance)
    report_on(rows, options)


if __name__ == "__main__":
    main()
