#!/usr/bin/env python3
"""Report on what bench/histogram.c has measured.  Started by bench/histogram."""
import argparse
import csv

import measure

LIMIT_NS = 25


def main():
    parser = argparse.ArgumentParser(prog="bench/histogram")
    parser.add_argument("rows")
    parser.add_argument("--csv", required=True)
    options = parser.parse_args()

    with open(options.rows, newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    report = measure.Report("Histogram in C", options.csv)
    report.text("CPU time of one operation, nanoseconds, on a histogram of log-normal latencies: nine rounds.")
    report.table(["", "best", "median", "worst"], rows)
    best, median, worst = next(map(float, row[1:]) for row in rows if row[0] == "record")
    report.target("recording a latency", f"<= {LIMIT_NS} ns", f"{median:.1f} ns ({best:.1f} to {worst:.1f})",
                  measure.verdict(median, LIMIT_NS))
    report.write(header, rows)


if __name__ == "__main__":
    main()
