#!/usr/bin/env python3
"""Measure what sampling wait events costs.  Started by bench/sampler.

pgbench drives 8 select-only clients and reports every second.  At each of its reports the sampling process is
stopped (SIGSTOP) or let go on, in the order on-off-off-on: connections, processes, memory and settings are the same
in both, only the sampling is not.  Four seconds are one replicate, in which a linear drift cancels.  Tools and
periods take turns, one pgbench each.

The CPU time of the sampling process is read from the scheduler's account in /proc over the seconds in which it
was on.  The samples that it took are counted, so that a sampler that does not sample cannot win.

A sampler here is started with a period, returns the pid of the process that samples, and when it
is stopped says how many samples a second it took while it was not standing still.
"""
import argparse
import collections
import math
import os
import re
import signal
import statistics
import subprocess
import time

import measure

Row = collections.namedtuple("Row", "tool period_ms round quadruple position sampling tps sampler_cpu_pct")
PATTERN = (True, False, False, True)
LIMITS_PCT = {10: 0.3, 1: 1.0}
ROUNDS = {10: 3, 1: 2}              # the finer target needs more
OURS, PEER = "pg_noisyneighbor", "pg_wait_sampling"


def sampling_process(session, name):
    postmaster = int(session.ask("SELECT pg_read_file('postmaster.pid')").split("\n")[0])

    def find():
        return [pid for pid in measure.children(postmaster) if name in measure.title(pid)]
    return measure.wait_until(10, name, find)[0]


class OurSampler:
    """The sample worker, kept at work by a run of noise at level 0."""

    def __init__(self, port):
        self.session = measure.Session(port)
        self.port = port
        self.run_id = None

    def start(self, period_ms, seconds):
        self.session.ask(f"SET pg_noisyneighbor.sample_interval = '{period_ms} ms'")
        self.run_id = self.session.ask(f"SELECT noisy_load('{{cpu}}', 0, '{seconds} s', '{{\"cpu\":{{\"workers\":1}}}}', false)")
        measure.wait_until(10, "noisy_load", lambda: self.session.ask("SELECT phase FROM noisy_progress") == "measuring")
        return sampling_process(self.session, "pg_noisyneighbor sample")

    def stop(self, still_s):
        measure.wait_until(60, "end of noisy_load",
                           lambda: self.session.ask("SELECT count(*) FROM noisy_progress") == "0")
        return float(self.session.ask(f"SELECT samples_taken / (duration_s - {still_s}) FROM noisy_blocks "
                                      f"WHERE run_id = {self.run_id}"))


class PeerSampler:
    """The collector of pg_wait_sampling, which is always there and sleeps a second at a time between measurements."""

    def __init__(self, port):
        self.session = measure.Session(port)
        self.port = port
        self.started = None

    def start(self, period_ms, _):
        pid = sampling_process(self.session, "pg_wait_sampling collector")
        os.kill(pid, signal.SIGCONT)
        self.set_period(period_ms)
        self.session.ask("SELECT pg_wait_sampling_reset_profile()")
        self.started = time.monotonic()
        return pid

    def stop(self, still_s):
        # The checkpointer waits for its turn in every sample.
        samples = self.session.ask("SELECT sum(count) FROM pg_wait_sampling_profile WHERE event = 'CheckpointerMain'")
        rate = int(samples or 0) / (time.monotonic() - self.started - still_s)
        self.set_period(1000)
        return rate

    def set_period(self, period_ms):
        self.session.ask(f"ALTER SYSTEM SET pg_wait_sampling.profile_period = {period_ms}")
        self.session.ask("SELECT pg_reload_conf()")
        time.sleep(1.2)


def drive(options, port, seconds):
    return measure.popen(["pgbench", "-n", "-S", "-M", "prepared", "-c", str(options.clients),
                          "-j", str(min(measure.CPUS, options.clients)), "-P", "1", "-T", str(seconds), "-p", port],
                         stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def measure_round(options, tool, sampler, period_ms, number):
    """Rows of one pgbench run, and samples taken per second of sampling."""
    slots = max(options.seconds // 4, 1) * 4
    rows = []
    pid = sampler.start(period_ms, slots + 4)
    slot = -1                           # the first second is for warming up
    still_s = 0
    try:
        with drive(options, sampler.port, slots + 2) as bench:
            last, last_cpu_ns = time.monotonic(), measure.run_ns(pid)
            for line in bench.stderr:
                report = re.match(r"progress: .*? ([0-9.]+) tps", line)
                if not report:
                    continue
                now, cpu_ns = time.monotonic(), measure.run_ns(pid)
                if 0 <= slot < slots:
                    sampling = PATTERN[slot % 4]
                    rows.append(Row(tool, period_ms, number, slot // 4, slot % 4, sampling, float(report[1]),
                                    100 * (cpu_ns - last_cpu_ns) / 1e9 / (now - last)))
                    still_s += 0 if sampling else now - last
                slot += 1
                # On again behind the last slot, too.
                os.kill(pid, signal.SIGCONT if slot >= slots or PATTERN[slot % 4] else signal.SIGSTOP)
                last, last_cpu_ns = now, cpu_ns
    finally:
        os.kill(pid, signal.SIGCONT)
    if len(rows) < slots:
        measure.fail("pgbench reported too few seconds: " + line.strip())
    return rows, sampler.stop(still_s)


def costs(rows):
    """Loss of tps in percent, one value for each replicate."""
    logs = collections.defaultdict(float)
    for row in rows:
        logs[row.round, row.quadruple] += (-0.5 if row.sampling else 0.5) * math.log(row.tps)
    return [100 * (1 - math.exp(-value)) for value in logs.values()]


def report_on(rows, rates, periods, tools, options):
    report = measure.Report("What sampling costs", options.csv)
    report.text(f"tps of {options.clients} select-only clients (prepared, {min(measure.CPUS, options.clients)} pgbench threads, "
                "scale 10, all in memory) that is lost while wait events are sampled. The sampling process is stopped and "
                "let go on from second to second, in the order on-off-off-on; each four seconds are one replicate. "
                "Intervals are 95 %. Samples are counted while it is on; its CPU time comes from the kernel.")
    table = []
    for period in periods:
        found = {}
        for tool in tools:
            here = [row for row in rows if (row.tool, row.period_ms) == (tool, period)]
            found[tool] = measure.interval(costs(here))
            table.append([tool, f"{period} ms", f"{statistics.median(row.tps for row in here if not row.sampling):.0f}",
                          measure.show(found[tool], ".2f", " %"),
                          f"{statistics.mean(row.sampler_cpu_pct for row in here if row.sampling):.2f} %",
                          f"{statistics.mean(rates[tool, period]):.0f}", len(costs(here))])
        if period in LIMITS_PCT:
            report.target(f"sampling every {period} ms: tps lost", f"<= {LIMITS_PCT[period]} %",
                          measure.show(found[OURS], ".2f", " %"),
                          measure.verdict(found[OURS][0], LIMITS_PCT[period], *found[OURS][1:]),
                          f"{PEER} {measure.show(found[PEER], '.2f', ' %')}" if PEER in found else f"no {PEER}")
    report.table(["", "period", "tps without", "tps lost", "CPU of the sampling process, of one CPU",
                  "samples/s", "replicates"], table)
    report.write(Row._fields, rows)


def main():
    parser = argparse.ArgumentParser(prog="bench/sampler")
    parser.add_argument("--seconds", type=int, default=max(4, measure.seconds(20)), help="of a round, a multiple of 4")
    parser.add_argument("--rounds", type=int, help="for each tool and period")
    parser.add_argument("--periods", default="10,1", help="ms")
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--csv", required=True)
    parser.add_argument("--port", required=True)
    parser.add_argument("--peer-port")
    options = parser.parse_args()

    samplers = {OURS: OurSampler(options.port)}
    if options.peer_port:
        samplers[PEER] = PeerSampler(options.peer_port)
    periods = [int(period) for period in options.periods.split(",")]
    wanted = {period: options.rounds or measure.rounds(ROUNDS.get(period, 2)) for period in periods}
    rows, rates = [], collections.defaultdict(list)
    for number in range(max(wanted.values())):
        for period in periods:
            for tool in sorted(samplers, reverse=number % 2 == 1):
                if number < wanted[period]:
                    more, rate = measure_round(options, tool, samplers[tool], period, number)
                    rows += more
                    rates[tool, period].append(rate)
    report_on(rows, rates, periods, list(samplers), options)


if __name__ == "__main__":
    main()
