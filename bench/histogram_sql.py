#!/usr/bin/env python3
"""Compare noisy_histogram_agg with percentile_cont and tdigest over many values.  Started by bench/histogram_sql.

The values are log-normal about 1 ms, as latencies are, in a table that fits into memory.  A round is one
query of each, in an order that changes from round to round; the ratios are of the queries of a round.  Times are those
of psql's \\timing, of whole queries: reading the table, about the same for all, is in them.
"""
import argparse
import collections
import math
import re
import statistics

import measure

Row = collections.namedtuple("Row", "tool workers round seconds")
PERCENTILES = [0.5, 0.9, 0.95, 0.99, 0.999, 0.9999]
LIST = "'{" + ",".join(map(str, PERCENTILES)) + "}'::float8[]"

# What is timed: the query, with a work_mem, and how to see what it would keep.
Tool = collections.namedtuple("Tool", "query work_mem size", defaults=("1GB", None))
OURS, FLOOR, SORT = "noisy_histogram_agg", "count, for comparison", "percentile_cont"
# The usual number of centroids, and one that keeps about as many bytes as ours.
DIGEST, LARGE_DIGEST = "tdigest, 100 centroids", "tdigest, 500 centroids"
SORT_QUERY = f"SELECT percentile_cont({LIST}) WITHIN GROUP (ORDER BY ms) FROM latencies"
TOOLS = {
    OURS: Tool(f"SELECT noisy_percentile(noisy_histogram_agg(ms), {LIST}) FROM latencies",
               size="noisy_histogram_agg(ms)"),
    FLOOR: Tool("SELECT count(ms) FROM latencies"),
    SORT: Tool(SORT_QUERY),
    SORT + ", work_mem 4 MB": Tool(SORT_QUERY, "4MB"),
    DIGEST: Tool(f"SELECT tdigest_percentile(ms, 100, {LIST}) FROM latencies", size="tdigest(ms, 100)"),
    LARGE_DIGEST: Tool(f"SELECT tdigest_percentile(ms, 500, {LIST}) FROM latencies", size="tdigest(ms, 500)"),
}
TIMES_FASTER = {SORT: 5, DIGEST: 2}
LIMIT_ERROR_PCT = 0.4


def fill(session, values):
    session.ask("SELECT setseed(0.5)")
    session.ask("BEGIN")
    session.ask("CREATE TABLE latencies (ms float8)")
    session.ask("INSERT INTO latencies SELECT exp(0.8 * sqrt(-2 * ln(1 - random())) * cos(2 * pi() * random())) "
                f"FROM generate_series(1, {values})")
    session.ask("COMMIT")
    session.ask("VACUUM (FREEZE, ANALYZE) latencies")
    session.ask("SELECT count(ms) FROM latencies")


def timed(session, query):
    """Seconds that a query took."""
    line = session.ask(f"\\timing on\n{query};\n\\timing off\n--").rsplit("\n", 1)[-1]
    milliseconds = re.match(r"Time: ([0-9.]+) ms", line)
    if not milliseconds:
        measure.fail("psql did not say how long it took: " + line)
    return float(milliseconds[1]) / 1e3


def errors(session, tools):
    """Errors of each tool at each percentile, percent of the exact value: that of the value's rank in the sorted values."""
    def numbers(query):
        return [float(value) for value in session.ask(query).strip("{}").split(",")]
    exact = numbers(f"SELECT percentile_disc({LIST}) WITHIN GROUP (ORDER BY ms) FROM latencies")
    return {tool: [100 * (value / truth - 1) for value, truth in zip(numbers(TOOLS[tool].query), exact)]
            for tool in tools}


def speed(rows, tool, workers):
    """How many times as long a tool takes as ours."""
    times = {(row.round, row.tool): row.seconds for row in rows if row.workers == workers}
    return measure.ratio_interval([math.log(times[number, tool] / times[number, OURS])
                                   for number in sorted({number for number, name in times if name == tool})])


def report_on(rows, off_by, sizes, options):
    report = measure.Report("Percentiles in SQL", options.csv)
    report.text(f"Six percentiles (50 to 99.99) of {options.values} log-normal values in a table in memory, with `work_mem` 1 GB "
                "unless it says otherwise: then the sort needs no disk. Medians of "
                f"{options.rounds} interleaved rounds; ratios within a round, intervals 95 %. The error is against the value "
                "of that rank in the sorted values; what is kept is the size of one aggregate as a value.")
    workers = sorted({row.workers for row in rows})
    table = []
    for tool in dict.fromkeys(row.tool for row in rows):
        line = [tool]
        for n in workers:
            line.append(f"{statistics.median(row.seconds for row in rows if (row.tool, row.workers) == (tool, n)):.2f} s")
            line.append("" if tool == OURS else measure.show(speed(rows, tool, n), ".2f"))
        table.append(line + [f"{max(map(abs, off_by[tool])):.3f} %" if tool in off_by else "", sizes.get(tool, "")])
    head = ["one process", "to ours"] + [cell for n in workers[1:] for cell in (f"and {n} parallel", "to ours")]
    report.table([""] + head + ["largest error", "what is kept"], table)
    report.table(["error, %"] + [f"p{100 * p:g}" for p in PERCENTILES],
                 [[tool] + [f"{value:+.4f}" for value in off_by[tool]] for tool in off_by])
    for tool, limit in TIMES_FASTER.items():
        if tool in off_by:
            ratio = speed(rows, tool, 0)
            mine, other = (statistics.median(row.seconds for row in rows if (row.tool, row.workers) == (name, 0))
                           for name in (OURS, tool))
            report.target(f"percentiles of {options.values} values: time of {tool} to ours", f">= {limit}", f"{mine:.2f} s",
                          measure.verdict(ratio[0], limit, *ratio[1:], at_most=False),
                          f"{tool} {other:.2f} s", measure.show(ratio, ".2f"))
        else:
            report.target(f"percentiles of {options.values} values: time of {tool} to ours", f">= {limit}", "",
                          "not measured", f"no {tool}")
    worst = max(map(abs, off_by[OURS]))
    report.target("percentiles: largest error, p50 to p99.99", f"<= {LIMIT_ERROR_PCT} %", f"{worst:.3f} %",
                  measure.verdict(worst, LIMIT_ERROR_PCT),
                  f"{DIGEST} {max(map(abs, off_by[DIGEST])):.3f} %" if DIGEST in off_by else "no tdigest")
    report.write(Row._fields, rows)


def main():
    parser = argparse.ArgumentParser(prog="bench/histogram_sql")
    parser.add_argument("--values", type=int, default=int(10_000_000 * min(measure.SCALE, 1)))
    parser.add_argument("--rounds", type=int, default=measure.rounds(3))
    parser.add_argument("--csv", required=True)
    options = parser.parse_args()

    session = measure.Session()
    fill(session, options.values)
    digest = session.ask("SELECT count(*) FROM pg_extension WHERE extname = 'tdigest'") == "1"
    tools = [tool for tool in TOOLS if digest or "tdigest" not in tool]
    rows = []
    for workers in (0, min(measure.CPUS - 1, 4)) if measure.CPUS > 1 else (0,):
        session.ask(f"SET max_parallel_workers_per_gather = {workers}")
        for number in range(options.rounds if workers == 0 else min(options.rounds, 2)):
            for tool in tools[number % len(tools):] + tools[:number % len(tools)]:
                session.ask(f"SET work_mem = '{TOOLS[tool].work_mem}'")
                rows.append(Row(tool, workers, number, timed(session, TOOLS[tool].query)))
    session.ask("SET work_mem = '1GB'")
    sizes = {tool: session.ask(f"SELECT pg_column_size({TOOLS[tool].size}) FROM latencies") + " bytes"
             for tool in tools if TOOLS[tool].size}
    report_on(rows, errors(session, [tool for tool in tools if TOOLS[tool].size or tool == SORT]), sizes, options)


if __name__ == "__main__":
    main()
