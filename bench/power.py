#!/usr/bin/env python3
"""Is an effect found that is there?  Started by bench/power.

One long run whose noise does nothing is cut into pieces of as many repeats as noisy_blocks_for_power() names, and its p99 under
"noise" is multiplied by 1.1 before noisy_paired_effects() judges each piece.  The spread is real, and the effect is known.
"""
import argparse
import collections
import math

import measure
from aa import Row, measure_run

INJECTED = 1.1
FOUND_PCT = 90


def spread(pairs):
    """Root of the mean square of logarithmic differences."""
    logs = [math.log(a / b) for a, b in pairs]
    return math.sqrt(sum(x * x for x in logs) / len(logs))


def injected(control, rows):
    """Blocks that are needed to find INJECTED, and (verdict, ratio) of each piece of so many of a run's repeats."""
    rows = [row for row in rows if row.accepted]
    triples = [(a, b, c) for a, b, c in zip(rows, rows[1:], rows[2:]) if a.level == c.level == 0 < b.level]
    sd = spread((b.p99_ms, math.sqrt(a.p99_ms * c.p99_ms)) for a, b, c in triples)
    sd_aa = spread((b.p99_ms, a.p99_ms) for a, b in zip(rows, rows[1:]) if a.level == b.level == 0)
    needed = control.ask(f"SELECT noisy_blocks_for_power(ln({INJECTED}), {sd}, {sd_aa})")
    pieces = []
    if needed:
        for first in range(0, len(triples) - int(needed) + 1, int(needed)):
            blocks = [row for triple in triples[first:first + int(needed)] for row in triple]
            levels, values = ([str(x) for x in list_] for list_ in
                              ([row.level for row in blocks], [row.p99_ms * (INJECTED if row.level else 1) for row in blocks]))
            middles = [str(row.block * 2.0) for row in blocks]
            pieces.append(control.ask(f"SELECT verdict, ratio FROM noisy_paired_effects('{{{','.join(levels)}}}', '{{{','.join(middles)}}}', "
                                      f"'{{{','.join(values)}}}', true) WHERE level > 0").split("|"))
    return needed, sd, sd_aa, pieces


def report_on(rows, found, options):
    needed, sd, sd_aa, pieces = found
    report = measure.Report("An effect of ten percent", options.csv)
    text = (f"One run of {options.workload} with {options.clients} clients and {options.repeats} repeats, blocks of {options.seconds} s, under a noise that "
            f"does nothing, whose p99 under that noise was multiplied by {INJECTED}. Blocks spread by {100 * sd:.1f} % around their baselines, and "
            f"baselines among themselves by {100 * sd_aa:.1f} %. ")
    what = f"p99 times {INJECTED}, with the blocks that are named: found"
    if needed:
        verdicts = collections.Counter(verdict for verdict, _ in pieces)
        report.text(text + f"So {needed} blocks are needed, and the run has {len(pieces)} pieces of so many: "
                    + ", ".join(f"{n} {verdict}" for verdict, n in verdicts.most_common()) + ".")
        share = 100 * verdicts["impact"] / len(pieces)
        report.target(what, f">= {FOUND_PCT} %", f"{share:.0f} % ({verdicts['impact']} of {len(pieces)}, {needed} blocks)",
                      measure.verdict(share, FOUND_PCT, at_most=False))
    else:
        report.text(text + "At this spread no number of blocks finds it: the noise floor is above it.")
        report.target(what, f">= {FOUND_PCT} %", "the noise floor is above it", "not measured")
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
    report_on(rows, injected(control, rows), options)


if __name__ == "__main__":
    main()
