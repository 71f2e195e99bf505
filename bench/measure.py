"""What the measuring programs of this folder share: the server, processes, intervals, and the report of a part.

A part is a script bench/PART.  It prints what it found, and keeps in bench/results/:

    PART.csv            raw rows, one a window
    PART.md             its section of docs/benchmarks.md
    PART.targets.csv    one row a target: measure, target, ours, peer, ratio, verdict

BENCH_SCALE makes every part longer (4: four times the rounds) or shorter (0.1: to see whether it works).
"""
import csv
import math
import os
import statistics
import subprocess
import sys
import time

CPUS = len(os.sched_getaffinity(0))
SCALE = float(os.environ.get("BENCH_SCALE", "1"))

# Quantile 0.975 of Student's t by degrees of freedom, from 0.
T_975 = [math.nan, 12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145,
         2.131, 2.120, 2.110, 2.101, 2.093, 2.086]


def rounds(default):
    """Number of rounds that BENCH_SCALE makes of a default."""
    return max(1, round(default * SCALE))


def seconds(default):
    """Length of a window: shorter where BENCH_SCALE wants less, never longer, so that results stay comparable."""
    return max(1, round(default * min(SCALE, 1)))


def fail(message):
    sys.exit(f"{os.path.basename(sys.argv[0])}: {message}")


# ---- the server

def program(name):
    return os.path.join(os.environ["BIN"], name)


def popen(command, **options):
    """Start a program of the server as the server's user."""
    user = os.environ["SERVER_USER"] if os.getuid() == 0 else None
    return subprocess.Popen([program(command[0])] + command[1:], cwd="/", user=user, text=True, **options)


class Session:
    """A psql that stays: a statement costs no new process and no new connection."""

    END = "end of the answer"

    def __init__(self, port=None):
        command = ["psql", "-XqAt", "-v", "ON_ERROR_STOP=1"] + (["-p", port] if port else [])
        self.process = popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.ask("SET client_min_messages = warning")
        self.pid = int(self.ask("SELECT pg_backend_pid()"))

    def send(self, statement):
        self.process.stdin.write(f"{statement};\n\\echo {self.END}\n")
        self.process.stdin.flush()

    def receive(self):
        lines = []
        for line in self.process.stdout:
            if line == self.END + "\n":
                return "".join(lines).strip()
            lines.append(line)
        raise fail("".join(lines).strip())

    def ask(self, statement):
        self.send(statement)
        return self.receive()

    def close(self):
        self.process.stdin.close()
        self.process.stdout.read()
        self.process.wait()


def wait_until(seconds_at_most, what, condition):
    """Value of a condition as soon as it is true."""
    deadline = time.monotonic() + seconds_at_most
    while time.monotonic() < deadline:
        value = condition()
        if value:
            return value
        time.sleep(0.02)
    return fail(f"waited {seconds_at_most} s in vain: {what}")


# ---- processes

def read(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def children(pid):
    """Pids of the children."""
    found = []
    for entry in os.listdir("/proc"):
        # "pid (name) state ppid …", and the name may hold anything
        fields = read(f"/proc/{entry}/stat").rpartition(")")[2].split() if entry.isdigit() else []
        if len(fields) > 1 and int(fields[1]) == pid:
            found.append(int(entry))
    return found


def title(pid):
    return read(f"/proc/{pid}/cmdline").replace("\0", " ").strip()


def run_ns(pid):
    """CPU time of all threads of a process that runs, ns; 0 where it is gone."""
    total = 0
    try:
        tasks = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return 0
    for task in tasks:
        fields = read(f"/proc/{pid}/task/{task}/schedstat").split()
        total += int(fields[0]) if fields else 0
    return total


# ---- intervals

def t_975(freedom):
    if freedom < len(T_975):
        return T_975[freedom]
    z = 1.959964
    return z + (z ** 3 + z) / (4 * freedom)


def interval(values):
    """Mean and its 95 % interval; the interval is None where one or two values say nothing about it."""
    mean = statistics.mean(values)
    if len(values) < 3:
        return mean, None, None
    half = t_975(len(values) - 1) * statistics.stdev(values) / math.sqrt(len(values))
    return mean, mean - half, mean + half


def ratio_interval(logs):
    """Geometric mean of ratios, given by their logarithms, and its 95 % interval."""
    return tuple(None if value is None else math.exp(value) for value in interval(logs))


def show(values, form, unit=""):
    """'1.02 (0.99 to 1.05)'"""
    value, low, high = values
    if low is None:
        return f"{value:{form}}{unit}"
    return f"{value:{form}}{unit} ({low:{form}} to {high:{form}})"


def verdict(value, limit, low=None, high=None, at_most=True):
    """'met' or 'MISSED' by the value itself; says so where its interval has the target inside."""
    met = value <= limit if at_most else value >= limit
    spans = low is not None and low < limit < high
    return ("met" if met else "MISSED") + (", but the interval spans the target" if spans else "")


# ---- the report of a part

class Report:
    """What a part prints: a section in Markdown, in columns that a terminal shows well too."""

    def __init__(self, heading, csv_path):
        self.base = os.path.splitext(csv_path)[0]
        self.lines = [f"## {heading}", ""]
        self.targets = []

    def text(self, paragraph):
        self.lines += [paragraph, ""]

    def table(self, header, rows):
        rows = [[str(cell) for cell in row] for row in [header] + rows]
        widths = [max(len(row[i]) for row in rows) for i in range(len(header))]
        rows.insert(1, ["-" * width for width in widths])
        self.lines += ["| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths)) + " |" for row in rows]
        self.lines.append("")

    def preformatted(self, text):
        self.lines += ["```", text.strip("\n"), "```", ""]

    def target(self, measure, target, ours, result, peer="", ratio=""):
        self.targets.append([measure, target, ours, peer, ratio, result])

    def write(self, header, rows):
        """Keep the raw rows, the section and the targets, and print the section and the verdicts."""
        with open(self.base + ".csv", "w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([header] + rows)
        with open(self.base + ".targets.csv", "w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([TARGETS_HEADER] + self.targets)
        with open(self.base + ".md", "w", encoding="utf-8") as file:
            file.write("\n".join(self.lines))
        print("\n" + "\n".join(self.lines))
        for measure, target, ours, _, _, result in self.targets:
            print(f"{measure}: {ours}; target {target}: {result}")


TARGETS_HEADER = ["measure", "target", "ours", "peer", "ratio", "verdict"]


# ---- control groups

class CpuGroup:
    """A control group of the cpu controller, version 1 or 2, for the processes of a server.  Gone at the end."""

    PLACES = (("/sys/fs/cgroup/cpu", 1), ("/sys/fs/cgroup/cpu,cpuacct", 1), ("/sys/fs/cgroup", 2))

    def __init__(self, name):
        self.path = None
        for place, version in self.PLACES:
            path = os.path.join(place, name)
            if version == 2 and "cpu" not in read(os.path.join(place, "cgroup.subtree_control")).split():
                continue
            try:
                os.mkdir(path)
            except OSError:
                continue
            self.path, self.parent, self.version = path, place, version
            return

    def write(self, file, text):
        with open(os.path.join(self.path, file), "w", encoding="utf-8") as target:
            target.write(text)

    def take(self, pid):
        """Move a process and all below it; what they start later comes along."""
        for child in [pid] + children(pid):
            try:
                self.write("cgroup.procs", str(child))
            except OSError:
                pass                        # it has gone

    def limit(self, cpus, period_ms):
        """cpus None: no limit."""
        period = round(1000 * period_ms)
        quota = None if cpus is None else round(cpus * period)
        if self.version == 2:
            self.write("cpu.max", f"{'max' if quota is None else quota} {period}")
        else:
            self.write("cpu.cfs_quota_us", "-1")
            self.write("cpu.cfs_period_us", str(period))
            self.write("cpu.cfs_quota_us", str(-1 if quota is None else quota))

    def stat(self):
        """Periods, throttled periods, and throttled time in seconds, summed over CPUs."""
        found = dict(line.split() for line in read(os.path.join(self.path, "cpu.stat")).splitlines())
        throttled = int(found["throttled_usec"]) / 1e6 if self.version == 2 else int(found["throttled_time"]) / 1e9
        return int(found["nr_periods"]), int(found["nr_throttled"]), throttled

    def close(self):
        for pid in read(os.path.join(self.path, "cgroup.procs")).split():
            try:
                with open(os.path.join(self.parent, "cgroup.procs"), "w", encoding="utf-8") as target:
                    target.write(pid)
            except OSError:
                pass
        os.rmdir(self.path)
