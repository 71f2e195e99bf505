#!/usr/bin/env python3
"""End runs within checkpoints, and compare what they say of them with the log and with the kernel.  Started by bench/bands."""
import argparse
import collections
import re
import statistics
import threading
import time

import measure

Row = collections.namedtuple("Row", "run kind kind_seen start_off_ms end_off_ms pages pages_seen")
EDGE_MS = 150
LIMIT_PCT = 98
PAGES = 12000                   # of the table that is made dirty


class Writes(threading.Thread):
    """Pages that the checkpointer has written, by the kernel, every 20 ms.  It counts little files, too: a page or two."""

    def __init__(self, pid):
        super().__init__(daemon=True)
        self.pid, self.seen, self.going = pid, [], True
        self.readable = self.bytes() is not None

    def bytes(self):
        match = re.search(r"^wchar: (\d+)", measure.read(f"/proc/{self.pid}/io"), re.M)
        return int(match[1]) if match else None

    def run(self):
        while self.going:
            self.seen.append((time.time(), self.bytes()))
            time.sleep(0.02)

    def between(self, since, until, block_size):
        """Pages written from one moment to another."""
        at = [max((s for s in self.seen if s[0] <= t), default=self.seen[0])[1] for t in (since, until)]
        return (at[1] - at[0]) / block_size


def checkpoints(log):
    """(start, kind, end or None) of those in the server's log."""
    found = []
    for line in measure.read(log).splitlines():
        match = re.match(r"(\d+\.\d+) .*checkpoint (starting: (.*)|complete)", line)
        if match and match[3]:
            found.append([float(match[1]), "timed" if re.search(r"\btime\b", match[3]) else "requested", None])
        elif match and found:
            found[-1][2] = float(match[1])
    return found


def one_run(session, options, number, kind, block_size):
    """A run that ends some seconds after a checkpoint has begun."""
    session.ask("SELECT pg_sleep(0.5)")
    measure.wait_until(120, "the last checkpoint ends", lambda: all(c[2] for c in checkpoints(options.log)))
    session.ask("UPDATE dirt SET x = x + 1")
    known = len(checkpoints(options.log))
    writes = Writes(int(session.ask("SELECT pid FROM pg_stat_activity WHERE backend_type = 'checkpointer'")))
    writes.start()
    caller, asker = measure.Session(), measure.Session()
    caller.send("SELECT noisy_run('simple-update', '{2}', '{0,5}', '{cpu}', '{\"cpu\": {\"workers\": 1}}', '5 s', '0 s', 20, "
                "options => '{\"guard\": false}')")
    measure.wait_until(30, "the run begins", lambda: session.ask("SELECT phase = 'measuring' FROM noisy_progress") == "t")
    if kind == "requested":
        asker.send(f"SELECT {options.backup_start}('bands', false)")      # a checkpoint that takes its time
    measure.wait_until(60, "a checkpoint begins", lambda: len(checkpoints(options.log)) > known)
    time.sleep(4 + number % 3)
    session.ask("SELECT noisy_stop()")
    run_id = int(caller_result(caller, session))
    started, logged_kind, _ = checkpoints(options.log)[known]
    time.sleep(0.3)
    writes.going = False
    if kind == "requested":
        session.ask(f"SELECT pg_cancel_backend({asker.pid})")
    seen = session.ask("SELECT extract(epoch FROM started_at), extract(epoch FROM ended_at), coalesce(kind, 'unknown'), "
                       f"buffers_written FROM noisy_checkpoints WHERE run_id = {run_id} ORDER BY started_at DESC LIMIT 1").split("|")
    stopped = float(session.ask(f"SELECT extract(epoch FROM finished_at) FROM noisy_runs WHERE run_id = {run_id}"))
    pages = writes.between(started, float(seen[1]), block_size) if writes.readable else None
    return Row(run_id, logged_kind, seen[2], 1000 * (float(seen[0]) - started), 1000 * (float(seen[1]) - stopped),
               None if pages is None else round(pages), int(seen[3]))


def caller_result(caller, session):
    """Id of the run that was stopped: its call may say so as an error, the table knows it."""
    caller.process.stdin.close()
    caller.process.stdout.read()
    caller.process.wait()
    return session.ask("SELECT max(run_id) FROM noisy_runs")


def report_on(rows, options):
    report = measure.Report("Runs that end in a checkpoint", options.csv)
    report.text(f"{len(rows)} runs of simple-update were stopped some seconds after a checkpoint had begun, timed and requested in turn, on a "
                f"table of which {PAGES} pages were dirty. Edges and kinds against the server's log, which names a checkpoint a little "
                "after it has begun; pages against the bytes that the checkpointer wrote by the kernel's count, at the moment at which the "
                "run last saw it.")
    table = []
    for kind in ("timed", "requested"):
        some = [row for row in rows if row.kind == kind]
        if some:
            counted = [100 * row.pages_seen / row.pages for row in some if row.pages]
            table.append([kind, len(some), sum(row.kind_seen == kind for row in some),
                          f"{statistics.median(row.start_off_ms for row in some):+.0f}",
                          f"{max(abs(row.start_off_ms) for row in some):.0f}",
                          f"{statistics.median(row.pages_seen for row in some):.0f}",
                          f"{min(counted):.1f}" if counted else "-"])
    report.table(["kind", "runs", "kind right", "start off, ms, median", "largest", "pages, median", "counted %, least"], table)
    right = sum(row.kind == row.kind_seen for row in rows)
    report.target("runs that end in a checkpoint: kind right", f"{len(rows)} of {len(rows)}", f"{right}",
                  measure.verdict(right, len(rows), at_most=False))
    worst = max(abs(row.start_off_ms) for row in rows)
    report.target("start of a checkpoint against the log, ms, largest", f"<= {EDGE_MS}", f"{worst:.0f}", measure.verdict(worst, EDGE_MS))
    counted = [100 * row.pages_seen / row.pages for row in rows if row.pages]
    if counted:
        report.target("pages written by the end of the run that are counted, %, least", f">= {LIMIT_PCT}", f"{min(counted):.1f}",
                      measure.verdict(min(counted), LIMIT_PCT, at_most=False))
    else:
        report.target("pages written by the end of the run that are counted, %, least", f">= {LIMIT_PCT}", "", "not measured")
    report.write(Row._fields, rows)


def main():
    parser = argparse.ArgumentParser(prog="bench/bands")
    parser.add_argument("--runs", type=int, default=measure.rounds(20))
    parser.add_argument("--log", required=True)
    parser.add_argument("--csv", required=True)
    options = parser.parse_args()

    session = measure.Session()
    block_size = int(session.ask("SHOW block_size"))
    options.backup_start = "pg_backup_start"
    session.ask("CREATE TABLE dirt (x int, filler char(3000)) WITH (fillfactor = 50)")
    session.ask(f"INSERT INTO dirt SELECT i, '' FROM generate_series(1, {PAGES}) i")
    session.ask("CHECKPOINT")
    rows = []
    for number in range(options.runs):
        rows.append(one_run(session, options, number, ("timed", "requested")[number % 2], block_size))
    report_on(rows, options)


if __name__ == "__main__":
    main()
