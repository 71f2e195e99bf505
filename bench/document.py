#!/usr/bin/env python3
"""Put the reports of the parts together into one document.  Started by bench/run."""
import argparse
import csv
import os
import platform
import re
import shutil
import subprocess

import measure

MOST_BUSY_PCT = 5
PEER_EXTENSIONS = ("pg_wait_sampling", "tdigest")


def output_of(*command):
    """First line that a program prints, or nothing."""
    if not shutil.which(command[0]):
        return ""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return done.stdout.strip().split("\n")[0] if done.returncode == 0 else ""


def first_match(pattern, path):
    match = re.search(pattern, measure.read(path), re.M)
    return match[1].strip() if match else ""


def machine():
    """Rows of what the measurements were made on."""
    cpu = first_match(r"^model name\s*:(.*)", "/proc/cpuinfo") or output_of("sh", "-c", "lscpu | sed -n 's/^Model name: *//p'")
    memory_kib = int(first_match(r"^MemTotal: *(\d+)", "/proc/meminfo") or 0)
    return [("CPU", f"{measure.CPUS} of {os.cpu_count()} usable, {cpu or 'unknown'}, {platform.machine()}"),
            ("memory", f"{memory_kib / 2 ** 20:.1f} GiB"),
            ("virtualisation", f"{output_of('systemd-detect-virt', '--vm') or 'not known'}, "
             f"container: {output_of('systemd-detect-virt', '--container') or 'not known'}"),
            ("system", first_match('^PRETTY_NAME="(.*)"', "/etc/os-release") + f", Linux {platform.release()}")]


def extension_version(pg, name):
    for folder, _, files in os.walk(os.path.join(pg, "usr")):
        if f"{name}.control" in files:
            return first_match("^default_version *= *'(.*)'", os.path.join(folder, f"{name}.control"))
    return ""


def peer_version(results, pg, name):
    """Version of an extension that is a peer: it is there only in a run that measures against it, so it is kept."""
    path = os.path.join(results, name + ".version")
    version = extension_version(pg, name)
    if version:
        with open(path, "w", encoding="utf-8") as file:
            file.write(version)
    return version or measure.read(path)


def versions(results, top, pg):
    found = [("pg_noisyneighbor", first_match("^default_version *= *'(.*)'", os.path.join(top, "pg_noisyneighbor.control"))),
             ("PostgreSQL, pgbench", output_of(os.environ["PG_CONFIG"], "--version").replace("PostgreSQL ", "")),
             ("compiler", output_of(os.environ.get("CC", "cc"), "--version")),
             ("stress-ng", output_of("stress-ng", "--version").replace("stress-ng, version ", ""))]
    found += [(name, peer_version(results, pg, name)) for name in PEER_EXTENSIONS]
    return [(name, version or "not there") for name, version in found]


def summary(results, parts):
    """Rows of the table of targets."""
    rows = []
    for part in parts:
        path = os.path.join(results, part + ".targets.csv")
        if not os.path.exists(path):
            rows.append([part, "", "", "", "", "MISSED: it ended with an error"])
            continue
        with open(path, newline="", encoding="utf-8") as file:
            rows += list(csv.reader(file))[1:]
    for row in rows:
        if row[-1].startswith("MISSED"):
            row[-1] = "**MISSED**" + row[-1][len("MISSED"):]
    return rows


def markdown_table(header, rows):
    return ["| " + " | ".join(row) + " |" for row in [header, ["---"] * len(header)] + rows] + [""]


def origin(results, part):
    """When a part was measured, of what, and beside what, as a sentence."""
    date, revision, _ = measure.read(os.path.join(results, part + ".stamp")).split()
    busy = float(measure.read(os.path.join(results, part + ".busy")) or "nan")
    sentence = f"By `bench/run {part}` on {date}, revision {revision}; before it the host was busy to {busy:.1f} %."
    if busy > MOST_BUSY_PCT:
        sentence += " **It was not idle**, so these numbers say little."
    return sentence


def main():
    parser = argparse.ArgumentParser(prog="bench/document.py")
    parser.add_argument("--results", required=True)
    parser.add_argument("--output", required=True)
    parser.add_argument("--pg", required=True)
    parser.add_argument("parts", nargs="+")
    options = parser.parse_args()
    top = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    options.parts, left_out = ([part for part in options.parts if os.path.exists(os.path.join(options.results, part + ".stamp")) is there]
                               for there in (True, False))
    rows = summary(options.results, options.parts)
    missed = sum("MISSED" in row[-1] for row in rows)
    unknown = sum(row[-1] == "not measured" for row in rows)

    lines = ["# Benchmarks", "",
             "Written by `make bench` and `bench/run PART`, in whose parts pg_noisyneighbor and its peers take turns; each section says when "
             "it was measured. `BENCH_SCALE=4` takes four times the rounds. Raw rows are left in `bench/results/`.", "",
             f"{len(rows)} targets: {len(rows) - missed - unknown} met, {missed} missed, {unknown} not measured. "
             "Intervals, in parentheses, are 95 % unless it says otherwise; where one has the target inside, the run was "
             "too short to tell.", ""]
    lines += markdown_table(measure.TARGETS_HEADER, rows)
    if left_out:
        lines += [f"Parts that were not run: {', '.join(left_out)}.", ""]
    lines += ["## Machine and versions", ""]
    lines += markdown_table(["", ""], [list(row) for row in machine() + versions(options.results, top, options.pg)])
    for part in options.parts:
        section = measure.read(os.path.join(options.results, part + ".md"))
        lines += [section.strip() or f"## {part}\n\nThis part ended with an error.", "", origin(options.results, part), ""]
    with open(options.output, "w", encoding="utf-8") as file:
        file.write("\n".join(lines).rstrip() + "\n")
    for measured, target, ours, peer, ratio, result in rows:
        facts = (ours, peer, ratio and f"ratio {ratio}", f"target {target}")
        print(f"{result:10}  {measured}: " + ", ".join(fact for fact in facts if fact))


if __name__ == "__main__":
    main()
