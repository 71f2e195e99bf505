#!/usr/bin/env python3
"""Runs whose noise does nothing: what is called an impact there is a false alarm.  Started by bench/aa.

The dose holds a few kilobytes of memory, so its blocks and the baselines are the same.  The verdicts are those of
noisy_impact.  Beside them stands what is often done: one block with noise against one without, and a
difference of more than 5 % is taken for an effect.
"""
import argparse
import collections
import json

import measure

Row = collections.namedtuple("Row", "run block repeat level accepted reject_reason tps p99_ms foreign_pct verdict tps_verdict")
LIMIT_PCT = 5
NAIVE = 1.05


def measure_run(control, options, number):
    """Rows of the blocks of one run under a noise that does nothing."""
    caller = measure.Session()
    caller.send(f"SELECT noisy_run('{options.workload}', clients => '{{{options.clients}}}', levels => '{{0,50}}', noise => '{{memory}}', "
                'noise_options => \'{"memory": {"workers": 1, "bytes": "64kB"}}\', '
                f"duration => '{options.seconds} s', warmup => '300 ms', repeats => {options.repeats})")
    run_id = caller.receive()
    caller.close()
    found = json.loads(control.ask(
        "SELECT json_agg(row ORDER BY row.block) FROM (SELECT b.block, b.repeat, b.level::float8 AS level, b.accepted, b.reject_reason, b.tps, "
        "noisy_percentile(b.latency, 0.99) AS p99_ms, u.foreign_pct, i.verdict, i.tps_verdict FROM noisy_blocks b "
        "JOIN noisy_host_usage u USING (run_id, block) JOIN noisy_impact i ON i.run_id = b.run_id AND i.level > 0 "
        f"WHERE b.run_id = {run_id}) AS row"))
    return [Row(number, **block) for block in found]


def one_against_one(rows):
    """What a comparison of each dose with the baseline before it says: 'impact' or not, on p99 and on tps."""
    said = {"p99": [], "tps": []}
    for base, dose in zip(rows, rows[1:]):
        if base.run == dose.run and base.level == 0 and dose.level > 0:
            said["p99"].append(dose.p99_ms > NAIVE * base.p99_ms)
            said["tps"].append(dose.tps < base.tps / NAIVE)
    return said


def report_on(rows, options):
    runs = [next(row for row in rows if row.run == number) for number in sorted({row.run for row in rows})]
    rejected = [row for row in rows if not row.accepted]
    report = measure.Report("Runs without an effect", options.csv)
    report.text(f"{len(runs)} runs of {options.workload} with {options.clients} clients and {options.repeats} repeats, blocks of "
                f"{options.seconds} s, under a noise that does nothing. The guard rejected {len(rejected)} of {len(rows)} blocks. "
                "Below: how often an impact was said to be there, by the verdict of the run, and by comparing one block "
                f"with the baseline before it at a threshold of {100 * (NAIVE - 1):.0f} %.")
    naive = one_against_one(rows)
    table = []
    for metric, verdicts in (("p99", [row.verdict for row in runs]), ("tps", [row.tps_verdict for row in runs])):
        table.append([metric, f"{verdicts.count('impact')} of {len(verdicts)}", f"{verdicts.count('improved')}",
                      f"{verdicts.count('within_noise')}", f"{verdicts.count('inconclusive')}",
                      f"{sum(naive[metric])} of {len(naive[metric])}"])
        share = 100 * verdicts.count("impact") / len(verdicts)
        report.target(f"runs without an effect: impact on {metric} claimed", f"<= {LIMIT_PCT} %",
                      f"{share:.1f} % ({verdicts.count('impact')} of {len(verdicts)} runs)", measure.verdict(share, LIMIT_PCT),
                      f"one block against one {100 * sum(naive[metric]) / max(len(naive[metric]), 1):.1f} %")
    report.table(["", "impact", "improved", "within noise", "inconclusive", "one block against one: impact"], table)
    report.write(Row._fields, rows)


def main():
    parser = argparse.ArgumentParser(prog="bench/aa")
    parser.add_argument("--runs", type=int, default=measure.rounds(30))
    parser.add_argument("--seconds", type=float, default=1, help="of a block")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--workload", default="tpcb-like")
    parser.add_argument("--csv", required=True)
    options = parser.parse_args()

    control = measure.Session()
    rows = []
    for number in range(options.runs):
        rows += measure_run(control, options, number)
    report_on(rows, options)


if __name__ == "__main__":
    main()
