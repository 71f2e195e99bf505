#!/usr/bin/env python3
"""Is an effect found that is there?  Started by bench/power.

One long run whose noise does nothing is cut into pieces of as many repeats as noisy_blocks_for_power() names, and its p99 under
"noise" is multiplied by a factor before noisy_paired_effects() judges each piece.  The spread is real, and the effect is known.
"""
import argparse
import collections
import math

import measure
from aa import Row, measure_run

FACTORS = (1.1, 1.25, 1.5, 2)
FOUND_PCT = 90
FLOOR_MIN = 0.05

Found = collections.namedtuple("Found", "factor needed pieces verdicts")


def spread(pairs):
    """Root of the mean square of logarithmic differences."""
    logs = [math.log(a / b) for a, b in pairs]
    return math.sqrt(sum(x * x for x in logs) / len(logs))


def array(values):
    return "'{" + ",".join(map(str, values)) + "}'"


def judge(control, blocks, factor):
    """Verdict on blocks of which those under noise have the factor on their p99."""
    return control.ask(f"SELECT verdict FROM noisy_paired_effects({array(b.level for b in blocks)}, {array(2.0 * b.block for b in blocks)}, "
                       f"{array(b.p99_ms * (factor if b.level else 1) for b in blocks)}, true) WHERE level > 0")


def inject(control, triples, factor, sd, sd_aa):
    """What the pieces of a run say of an effect, each as long as is named."""
    needed = int(control.ask(f"SELECT noisy_blocks_for_power(ln({factor}), {sd}, {sd_aa})") or 0)
    starts = range(0, len(triples) - needed + 1, needed) if needed else []
    verdicts = collections.Counter(judge(control, [b for triple in triples[first:first + needed] for b in triple], factor) for first in starts)
    return Found(factor, needed, len(starts), verdicts)


def report_on(rows, control, options):
    blocks = [row for row in rows if row.accepted]
    triples = [(a, b, c) for a, b, c in zip(blocks, blocks[1:], blocks[2:]) if a.level == c.level == 0 < b.level]
    sd = spread((b.p99_ms, math.sqrt(a.p99_ms * c.p99_ms)) for a, b, c in triples)
    sd_aa = spread((b.p99_ms, a.p99_ms) for a, b in zip(blocks, blocks[1:]) if a.level == b.level == 0)
    floor = max(FLOOR_MIN, 2 * sd_aa)
    report = measure.Report("Effects that are there", options.csv)
    report.text(f"One run of {options.workload} with {options.clients} clients and {options.repeats} repeats, blocks of {options.seconds} s, under a noise that "
                f"does nothing, whose p99 under that noise was multiplied by a factor. Blocks spread by {100 * sd:.1f} % around their baselines, and "
                f"baselines among themselves by {100 * sd_aa:.1f} %: the noise floor is {100 * floor:.1f} %, and an effect below it is not called one.")
    table = []
    for found in (inject(control, triples, factor, sd, sd_aa) for factor in FACTORS):
        share = 100 * found.verdicts["impact"] / max(found.pieces, 1)
        table.append([f"x {found.factor}", found.needed or "-", found.pieces] + [found.verdicts[verdict] for verdict in ("impact", "within_noise", "inconclusive")])
        what = f"p99 times {found.factor}, with the blocks that are named: found"
        if found.factor <= 1 + floor:
            report.target(what, f">= {FOUND_PCT} %", f"below the noise floor of {100 * floor:.0f} %", "MISSED" if found.factor == FACTORS[0] else "not measured")
        elif found.pieces:
            report.target(what, f">= {FOUND_PCT} %", f"{share:.0f} % ({found.verdicts['impact']} of {found.pieces}, {found.needed} blocks)",
                          measure.verdict(share, FOUND_PCT, at_most=False))
        else:
            report.target(what, f">= {FOUND_PCT} %", f"it takes {found.needed} blocks", "not measured")
    report.table(["p99", "blocks needed", "pieces", "impact", "within noise", "inconclusive"], table)
    report.write(Row._fields, rows)


def main():
    parser = argparse.ArgumentParser(prog="bench/power")
    parser.add_argument("--seconds", type=float, default=1, help="of a block")
    parser.add_argument("--repeats", type=int, default=measure.rounds(80))
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--workload", default="select-only")
    parser.add_argument("--csv", required=True)
    options = parser.parse_args()

    control = measure.Session()
    rows = measure_run(control, options, 0)
    report_on(rows, control, options)


if __name__ == "__main__":
    main()
