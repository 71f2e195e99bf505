#!/usr/bin/env python3
"""Measure the CPU dose of noisy_load and of stress-ng from outside.  Started by bench/dose.

The witness is the sum of the run time (first field of schedstat) over every thread of the processes that make
the noise: helper and main threads included, so that nothing a tool burns is left out.  The kernel brings
the run time of a running thread up to date at its tick, so a reading may be late by one tick (1 to 10 ms):
0.05 percentage points in a window of 6 s at 4 ms.
"""
import argparse
import csv
import os
import shutil
import statistics
import subprocess
import sys
import time

CPUS = len(os.sched_getaffinity(0))


def read(path):
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def children(pid):
    """Pids of the children, and of theirs."""
    parents = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            # "pid (name) state ppid …", and the name may hold anything
            fields = read(f"/proc/{entry}/stat").rpartition(")")[2].split()
            if len(fields) > 1:
                parents.setdefault(int(fields[1]), []).append(int(entry))
    found = list(parents.get(pid, []))
    for child in found:
        found.extend(parents.get(child, []))
    return found


def run_ns(pid):
    """Run time of all threads of a process, ns."""
    total = 0
    try:
        tasks = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return 0
    for task in tasks:
        fields = read(f"/proc/{pid}/task/{task}/schedstat").split()
        total += int(fields[0]) if fields else 0
    return total


def reading(pids):
    before = time.monotonic_ns()
    total = sum(run_ns(pid) for pid in pids)
    return (before + time.monotonic_ns()) / 2, total


def psql(statement):
    command = ["psql", "-XqAt", "-v", "ON_ERROR_STOP=1", "-c", statement]
    return subprocess.run(as_server(command), check=True, capture_output=True, text=True, cwd="/").stdout.strip()


def as_server(command):
    command = [os.path.join(os.environ["BIN"], command[0])] + command[1:]
    if os.getuid() == 0:
        return ["runuser", "-u", os.environ["SERVER_USER"], "--"] + command
    return command


def wait_for(pids_of, count):
    """Wait until the noise is there and burns."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        pids = pids_of()
        if len(pids) >= count:
            first = reading(pids)[1]
            time.sleep(0.1)
            if reading(pids)[1] > first + 1_000_000:
                return pids
        time.sleep(0.05)

    sys.exit(f"dose.py: the noise did not start ({len(pids)} processes)")


def witness(pids, seconds):
    """Mean dose per CPU over the window, and the doses of its whole seconds, percent."""
    time.sleep(0.5)
    readings = [reading(pids)]
    for second in range(1, seconds + 1):
        wake = readings[0][0] + second * 1e9 - time.monotonic_ns()
        time.sleep(max(wake, 0) / 1e9)
        readings.append(reading(pids))

    def dose(earlier, later):
        return 100 * (later[1] - earlier[1]) / (later[0] - earlier[0]) / CPUS
    return dose(readings[0], readings[-1]), [dose(a, b) for a, b in zip(readings, readings[1:])]


def noise_pids():
    return [pid for pid in children(int(os.environ["POSTMASTER"]))
            if "pg_noisyneighbor noise" in read(f"/proc/{pid}/cmdline").replace("\0", " ")]


def measure_ours(level, seconds):
    run = psql(f"SELECT noisy_load('{{cpu}}', {level}, '{seconds + 2} s', '{{\"cpu\":{{\"workers\":{CPUS}}}}}', false)")
    pids = wait_for(noise_pids, 1)
    mean, per_second = witness(pids, seconds)
    for _ in range(100):
        if psql(f"SELECT state FROM noisy_runs WHERE run_id = {run}") not in ("starting", "running"):
            break
        time.sleep(0.1)
    own, unreachable = psql("SELECT avg(achieved_pct), bool_or(unreachable) FROM noisy_dose "
                            f"WHERE run_id = {run} AND requested_pct > 0").split("|")
    return mean, per_second, float(own), unreachable == "t"


def measure_stress_ng(level, seconds):
    with subprocess.Popen(["stress-ng", "--cpu", str(CPUS), "--cpu-load", str(level), "--cpu-method", "prime",
                           "-t", str(seconds + 3), "-q"],
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True) as tool:
        pids = wait_for(lambda: children(tool.pid), CPUS)
        result = witness(pids, seconds)
        tool.wait()
    return result


class Busy:
    """A select-only pgbench for as long as it is wanted."""

    def __init__(self, clients):
        command = ["pgbench", "-S", "-n", "-M", "prepared", "-c", str(clients), "-j", str(CPUS), "-T", "36000"]
        self.process = subprocess.Popen(as_server(command), cwd="/", stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)
        time.sleep(2)

    def stop(self):
        for pid in children(self.process.pid) + [self.process.pid]:
            try:
                os.kill(pid, 15)
            except OSError:
                pass
        self.process.wait()


def measure_level(mode, level, repeat, options, rows):
    mean, per_second, own, unreachable = measure_ours(level, options.seconds)
    worst = max((abs(dose - level) for dose in per_second), default=float("nan"))
    rows.append((mode, "noisy_load", repeat, level, mean, worst, own, unreachable))
    if shutil.which("stress-ng"):
        mean, per_second = measure_stress_ng(level, options.seconds)
        worst = max((abs(dose - level) for dose in per_second), default=float("nan"))
        rows.append((mode, "stress-ng", repeat, level, mean, worst, None, None))


def print_table(rows, modes, levels):
    def cell(mode, tool, level, column):
        values = [row[column] for row in rows if row[0] == mode and row[1] == tool and row[3] == level]
        return statistics.mean(values) if values else None

    def text(value, width):
        return f"{value:{width}.2f}" if value is not None else " " * (width - 1) + "-"

    for mode in modes:
        print(f"\n{mode}: percent of one CPU per load thread, {CPUS} threads")
        print("  asked  noisy_load  its report  worst second  unreachable |  stress-ng  worst second")
        for level in levels:
            flag = any(row[7] for row in rows if row[0] == mode and row[3] == level)
            print(f"  {level:5g}  {text(cell(mode, 'noisy_load', level, 4), 10)}  "
                  f"{text(cell(mode, 'noisy_load', level, 6), 10)}  "
                  f"{text(cell(mode, 'noisy_load', level, 5), 12)}  {'yes' if flag else 'no':>11} | "
                  f"{text(cell(mode, 'stress-ng', level, 4), 10)}  {text(cell(mode, 'stress-ng', level, 5), 12)}")
        for tool in ("noisy_load", "stress-ng"):
            errors = [abs(row[4] - row[3]) for row in rows if row[0] == mode and row[1] == tool]
            if errors:
                print(f"  {tool}: mean error {statistics.mean(errors):.3f}, largest {max(errors):.3f} percentage points")
        errors = [abs(row[6] - row[4]) for row in rows if row[0] == mode and row[1] == "noisy_load"]
        if errors:
            print(f"  noisy_load's own report and the witness differ by {statistics.mean(errors):.3f} on average")
    if not shutil.which("stress-ng"):
        print("\nstress-ng is not installed: nothing to compare with")


def main():
    parser = argparse.ArgumentParser(prog="bench/dose")
    parser.add_argument("--seconds", type=int, default=5, help="of a window")
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--levels", default="10,20,30,40,50,75,90")
    parser.add_argument("--clients", type=int, default=4 * CPUS, help="of the busy pgbench")
    parser.add_argument("--modes", default="idle,busy")
    parser.add_argument("--csv", required=True)
    options = parser.parse_args()
    levels = [float(level) for level in options.levels.split(",")]
    modes = options.modes.split(",")

    rows = []
    for mode in modes:
        busy = Busy(options.clients) if mode == "busy" else None
        try:
            for repeat in range(1, options.repeats + 1):
                for level in levels:
                    measure_level(mode, level, repeat, options, rows)
        finally:
            if busy:
                busy.stop()
    with open(options.csv, "w", newline="", encoding="ascii") as file:
        writer = csv.writer(file)
        writer.writerow(("mode", "tool", "repeat", "asked_pct", "witness_pct", "worst_second_error_pp",
                         "own_report_pct", "unreachable"))
        writer.writerows(rows)
    print_table(rows, modes, levels)


if __name__ == "__main__":
    main()
