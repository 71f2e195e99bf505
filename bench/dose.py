#!/usr/bin/env python3
"""Measure the CPU dose of noisy_load and of stress-ng from outside.  Started by bench/dose.

The witness is the sum of the run time (first field of schedstat) over every thread of the processes that make
the noise: helper and main threads included, so that nothing a tool burns is left out.  The kernel brings
the run time of a running thread up to date at its tick, so a reading may be late by one tick (1 to 10 ms):
0.05 percentage points in a window of 6 s at 4 ms.
"""
import argparse
import collections
import contextlib
import io
import os
import shutil
import statistics
import subprocess
import time

import measure

CPUS = measure.CPUS
LIMITS_PP = {"idle": 0.1, "busy": 0.5}


def descendants(pid):
    """Pids of the children, and of theirs."""
    found = measure.children(pid)
    return found + [grandchild for child in found for grandchild in descendants(child)]


def host_busy_ns():
    """CPU time that the whole host has used, ns."""
    user, nice, system, _, _, irq, softirq = map(int, measure.read("/proc/stat").split()[1:8])
    return (user + nice + system + irq + softirq) * 1e9 / os.sysconf("SC_CLK_TCK")


def reading(pids):
    """Monotonic time, CPU time of the processes and of the host, all in ns."""
    before = time.monotonic_ns()
    total = sum(measure.run_ns(pid) for pid in pids)
    return (before + time.monotonic_ns()) / 2, total, host_busy_ns()


def psql(statement):
    process = measure.popen(["psql", "-XqAt", "-v", "ON_ERROR_STOP=1", "-c", statement], stdout=subprocess.PIPE)
    output = process.communicate()[0].strip()
    if process.returncode != 0:
        measure.fail(f"psql could not do: {statement}")
    return output


def wait_for(name, pids_of, count):
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

    return measure.fail(f"no noise to be seen from {name}")


def witness(pids, seconds):
    """Over a window: mean dose per CPU, largest distance of a second's dose from it, CPU of everybody else; percent."""
    time.sleep(0.5)
    readings = [reading(pids)]
    for second in range(1, seconds + 1):
        wake = readings[0][0] + second * 1e9 - time.monotonic_ns()
        time.sleep(max(wake, 0) / 1e9)
        readings.append(reading(pids))

    def percent(earlier, later, column):
        return 100 * (later[column] - earlier[column]) / (later[0] - earlier[0]) / CPUS
    mean = percent(readings[0], readings[-1], 1)
    others = max(percent(readings[0], readings[-1], 2) - mean, 0)
    spread = max(abs(percent(a, b, 1) - mean) for a, b in zip(readings, readings[1:]))
    return mean, spread, others


def noise_pids():
    return [pid for pid in measure.children(int(os.environ["POSTMASTER"]))
            if "pg_noisyneighbor noise" in measure.title(pid)]


def measure_ours(level, seconds):
    run = psql(f"SELECT noisy_load('{{cpu}}', {level}, '{seconds + 2} s', '{{\"cpu\":{{\"workers\":{CPUS}}}}}', false)")
    pids = wait_for("noisy_load", noise_pids, 1)
    seen = witness(pids, seconds)
    for _ in range(100):
        if psql(f"SELECT state FROM noisy_runs WHERE run_id = {run}") not in ("starting", "running"):
            break
        time.sleep(0.1)
    own, unreachable = psql("SELECT avg(achieved_pct), bool_or(unreachable) FROM noisy_dose "
                            f"WHERE run_id = {run} AND requested_pct > 0").split("|")
    return seen + (float(own), unreachable == "t")


def measure_stress_ng(level, seconds):
    with subprocess.Popen(["stress-ng", "--cpu", str(CPUS), "--cpu-load", f"{level:g}", "--cpu-method", "prime",
                           "-t", str(seconds + 3), "-q"],
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True) as tool:
        pids = wait_for("stress-ng", lambda: descendants(tool.pid), CPUS)
        seen = witness(pids, seconds)
        tool.wait()
    return seen + (None, None)


TOOLS = {"noisy_load": measure_ours}
if shutil.which("stress-ng"):
    TOOLS["stress-ng"] = measure_stress_ng

# One window of one tool. None: that tool doesn't say.
Row = collections.namedtuple(
    "Row", "mode tool repeat asked_pct seen_pct second_spread_pp others_pct said_pct unreachable")


class Busy:
    """A select-only pgbench for as long as it is wanted."""

    def __init__(self, clients):
        self.process = measure.popen(["pgbench", "-S", "-n", "-M", "prepared", "-c", str(clients), "-j", str(CPUS),
                                      "-T", "36000"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(2)

    def stop(self):
        self.process.terminate()
        self.process.wait()


def measure_level(mode, level, repeat, options, rows):
    for name, measure in TOOLS.items():
        rows.append(Row(mode, name, repeat, level, *measure(level, options.seconds)))


def text(values, width):
    values = [value for value in values if value is not None]
    return f"{statistics.mean(values):{width}.2f}" if values else f"{'-':>{width}}"


def print_table(rows, modes, levels):
    for mode in modes:
        print(f"\n{mode}: percent of one CPU per load thread, {CPUS} threads")
        print("          noisy_load                                            stress-ng")
        print("  asked   seen    said  second+-  others  unreachable      seen  second+-  others")
        for level in levels:
            ours, theirs = ([row for row in rows if (row.mode, row.tool, row.asked_pct) == (mode, tool, level)]
                            for tool in ("noisy_load", "stress-ng"))
            print(f"  {level:5g} {text([row.seen_pct for row in ours], 6)}  {text([row.said_pct for row in ours], 6)}"
                  f"  {text([row.second_spread_pp for row in ours], 8)}  {text([row.others_pct for row in ours], 6)}"
                  f"  {'yes' if any(row.unreachable for row in ours) else 'no':>11}  "
                  f"  {text([row.seen_pct for row in theirs], 6)}"
                  f"  {text([row.second_spread_pp for row in theirs], 8)}  {text([row.others_pct for row in theirs], 6)}")
        for tool in TOOLS:
            errors = [abs(row.seen_pct - row.asked_pct) for row in rows if (row.mode, row.tool) == (mode, tool)]
            print(f"  {tool}: mean error {statistics.mean(errors):.3f}, largest {max(errors):.3f} percentage points")
        if mode == "idle" and max(row.others_pct for row in rows if row.mode == mode) > 3:
            print("  The host was not idle: see \"others\", percent of the host's CPU time.")
    print("\nseen: by the witness. said: by noisy_dose, in its own window. second+-: of one second from the mean, at most.")
    if "stress-ng" not in TOOLS:
        print("stress-ng is not installed: nothing to compare with")


def add_targets(report, rows, modes):
    for mode in modes:
        here = [row for row in rows if row.mode == mode]
        # Where the busy CPU was not free for it, and noisy_load says so, neither tool is judged.
        lost = {(row.repeat, row.asked_pct) for row in here if row.unreachable and mode == "busy"}
        errors = {tool: [abs(row.seen_pct - row.asked_pct) for row in here
                         if row.tool == tool and (row.repeat, row.asked_pct) not in lost] for tool in TOOLS}
        mean = {tool: statistics.mean(values) for tool, values in errors.items() if values}
        said = {tool: f"{mean[tool]:.3f} pp (largest {max(errors[tool]):.3f})" for tool in mean}
        ours, peer = mean.get("noisy_load"), mean.get("stress-ng")
        report.target(f"cpu dose, {mode}: mean error" + (f", but for {len(lost)} windows said to be unreachable" if lost else ""),
                      f"<= {LIMITS_PP[mode]} pp", said.get("noisy_load", ""),
                      "not measured" if ours is None else measure.verdict(ours, LIMITS_PP[mode]),
                      f"stress-ng {said['stress-ng']}" if peer else "no stress-ng",
                      f"{ours / peer:.3f}" if peer and ours is not None else "")


def main():
    parser = argparse.ArgumentParser(prog="bench/dose")
    parser.add_argument("--seconds", type=int, default=measure.seconds(5), help="of a window")
    parser.add_argument("--repeats", type=int, default=measure.rounds(1))
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
    report = measure.Report("Dose of cpu noise", options.csv)
    report.text(f"Windows of {options.seconds} s, {options.repeats} for each level, of noisy_load and stress-ng --cpu-load in "
                f"turn, idle and beside a select-only pgbench of {options.clients} clients; seen by a third process in the "
                "kernel's account.")
    table = io.StringIO()
    with contextlib.redirect_stdout(table):
        print_table(rows, modes, levels)
    report.preformatted(table.getvalue())
    add_targets(report, rows, modes)
    report.write(Row._fields, rows)


if __name__ == "__main__":
    main()
