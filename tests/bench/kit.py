# SPDX-License-Identifier: GPL-2.0-or-later
"""What the rows share: children that do not outlive us, clocks, statistics.

A row starts programs with start(), which end by their pid when the bench ends, however it ends.
Times are seconds; a spread is the 10th to 90th percentile of the rounds.
"""
import atexit
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

BUILD = os.environ.get('BUILD', 'build')
HOTRUN = os.path.join(BUILD, 'hotrun')
STATS = '/proc/sys/kernel/bpf_stats_enabled'
# The measured work runs here, the user side of every tool on the other CPU.
WORK_CPU, TOOL_CPU = '1', '0'

folder = None  # of this run's files, from prepare() on
children = []


class CannotMeasure(Exception):
    """A row's reason why it has no figure: a peer is missing, a load did not start."""


def say(text):
    print(text, file=sys.stderr, flush=True)


def rounds(default):
    return max(1, int(os.environ.get('ROUNDS') or default))


def each_round(default, seconds):
    """Numbers of the rounds; a slow machine gets fewer, but never under three, once time is up."""
    began = time.monotonic()
    for number in range(rounds(default)):
        if number >= 3 and time.monotonic() - began > seconds:
            return
        yield number


def quick():
    """True for a smoke test: the long recordings of a row may be short."""
    return 'ROUNDS' in os.environ and rounds(1) < 5


def path(name):
    return os.path.join(folder, name)


def need(tool, package):
    found = shutil.which(tool)
    if not found:
        raise CannotMeasure(f'{tool}: not found; install the Debian package {package}')
    return found


def workload(name):
    file = os.path.join(BUILD, 'workloads', name)
    if not os.access(file, os.X_OK):
        raise CannotMeasure(f'{file}: not there; run `make workloads`')
    return file


# --- children ----------------------------------------------------------------------------------

class Child(subprocess.Popen):
    """A program whose stderr and stdout go to files, read by seen()."""

    def __init__(self, argv, **more):
        self.log = path(f'log.{len(children)}')
        self.argv = argv
        with open(self.log, 'wb') as log:
            super().__init__(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log, **more)
        children.append(self)

    def output(self):
        with open(self.log, errors='replace') as log:
            return log.read()

    def wait_for(self, text, seconds=20):
        """Until the program wrote `text`; it must not end before."""
        end = time.monotonic() + seconds
        while text not in self.output():
            if self.poll() is not None or time.monotonic() > end:
                raise CannotMeasure(f'{" ".join(self.argv[:4])}: no "{text}" in its output: '
                                    + self.output()[-300:])
            time.sleep(0.02)

    def end(self, sig=signal.SIGINT, seconds=30):
        """Asks the program to end and waits; returns its resource usage (None if it was gone)."""
        if self.returncode is not None:
            return None
        os.kill(self.pid, sig)
        limit = time.monotonic() + seconds
        while True:
            pid, status, usage = os.wait4(self.pid, os.WNOHANG)
            if pid:
                self.returncode = os.waitstatus_to_exitcode(status)
                return usage
            if time.monotonic() > limit:
                os.kill(self.pid, signal.SIGKILL)
            time.sleep(0.002)


def start(argv, **more):
    return Child([str(a) for a in argv], **more)


def run(argv, seconds=120, **more):
    """A program to its end; returns its stdout."""
    done = subprocess.run([str(a) for a in argv], stdin=subprocess.DEVNULL, timeout=seconds,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          errors='replace', check=False, **more)
    if done.returncode:
        raise CannotMeasure(f'{" ".join(str(a) for a in argv[:4])}: exit code {done.returncode}: '
                            + (done.stderr or done.stdout)[-300:])
    return done.stdout + done.stderr


def cpu_of(argv, times, seconds=120):
    """CPU seconds of a program, from start to end, for each of so many runs."""
    took = []
    for _ in range(times):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        run(argv, seconds)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        took.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return took


def hotrun_record(file, hz=99, cpu=None, seconds=None, options=()):
    """A recording that has begun; end() keeps it. `cpu`: where its own threads may run."""
    pin = ['taskset', '-c', cpu] if cpu else []
    limit = ['-d', seconds] if seconds else []
    child = start(pin + [HOTRUN, 'record', '-q', '-F', hz, '-o', file, *options] + limit)
    child.wait_for('recording ')
    return child


def perf_record(file):
    """`perf record -a -g` at 99 Hz that has begun; perf_end() keeps it.

    Without its collection of build ids (-B): perf 6.1 aborts over one that is longer than 20 bytes.
    """
    child = start(['perf', 'record', '-B', '-a', '-g', '-e', 'cpu-clock', '-F', 99, '-o', file])
    perf_begun(child, file)
    return child


def perf_begun(child, file):
    """perf creates its file before it records, and says nothing when it does."""
    end = time.monotonic() + 20
    while not (os.path.exists(file) and os.path.getsize(file)):
        if child.poll() is not None or time.monotonic() > end:
            raise CannotMeasure(f'{" ".join(child.argv[:4])}: {child.output()[-300:]}')
        time.sleep(0.02)


def perf_end(child):
    child.end()
    if 'Captured and wrote' not in child.output():
        raise CannotMeasure(f'perf record wrote nothing (exit code {child.returncode}): '
                            + child.output()[-300:])


def stop_all():
    for child in reversed(children):
        if child.returncode is None and child.poll() is None:
            try:
                child.terminate()
                child.wait(3)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
            except OSError:
                pass
        # A .NET program leaves its perf map behind; the pid was ours.
        if os.path.exists(f'/tmp/perf-{child.pid}.map'):
            os.unlink(f'/tmp/perf-{child.pid}.map')
    children.clear()


# --- the machine -------------------------------------------------------------------------------

def bpf_stats(value=None):
    with open(STATS) as f:
        before = f.read().strip()
    if value is not None:
        with open(STATS, 'w') as f:
            f.write(str(value))
    return before


def clean_up(stats_before):
    stop_all()
    bpf_stats(stats_before)
    shutil.rmtree(folder, ignore_errors=True)


def prepare():
    """Statistics of BPF programs off (they slow every tool), all put back at the end."""
    global folder
    folder = tempfile.mkdtemp(prefix='hotrun-bench-')
    before = bpf_stats()
    atexit.register(clean_up, before)
    for sig in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(sig, lambda number, frame: sys.exit(128 + number))
    bpf_stats(0)


def cpu_seconds(pid):
    """CPU time of a whole process, exact, its ended threads included (see clock_getcpuclockid(3))."""
    return time.clock_gettime((~pid << 3) | 2)


def busy_seconds():
    """CPU time that all CPUs spent on anything, from /proc/stat; steal is not work."""
    with open('/proc/stat') as f:
        user, nice, system, _, _, irq, softirq = [int(x) for x in f.readline().split()[1:8]]
    return (user + nice + system + irq + softirq) / os.sysconf('SC_CLK_TCK')


def status_kib(pid, field):
    try:
        with open(f'/proc/{pid}/status') as f:
            for line in f:
                if line.startswith(field + ':'):
                    return int(line.split()[1])
    except OSError:
        pass
    return 0


def bpf_objects(kind):
    """{id: facts} of the kernel's BPF programs ("prog") or maps ("map")."""
    need('bpftool', 'bpftool')
    listed = json.loads(subprocess.run(['bpftool', '-j', kind, 'show'], check=True,
                                       stdout=subprocess.PIPE).stdout or b'[]')
    return {o['id']: o for o in listed if isinstance(o, dict)}


def bpf_ids(pid, kind):
    """Ids of the BPF programs ("prog") or maps ("map") that a process holds open."""
    ids = set()
    for name in os.listdir(f'/proc/{pid}/fdinfo'):
        try:
            with open(f'/proc/{pid}/fdinfo/{name}') as f:
                ids |= {int(line.split()[1]) for line in f if line.startswith(kind + '_id:')}
        except OSError:
            pass  # closed meanwhile
    return ids


def empty_program():
    child = start([os.path.join(BUILD, 'bench', 'empty_program')])
    child.wait_for('attached')
    return child


class BpfTime:
    """What the BPF programs of hotrun run in the time of others (`on_...`), by the kernel's statistics; its iterators
    run in its own.

    The statistics count a part of themselves into each run, as much as that of a program that does nothing:
    of programs that run for 100 ns it is as much as the program. It is told apart."""

    def __init__(self, pid):
        held = bpf_ids(pid, 'prog')
        self.ids = {i for i, p in bpf_objects('prog').items() if i in held and p.get('name', '').startswith('on_')}
        bpf_stats(1)
        self.empty = empty_program()
        self.empty_ids = bpf_ids(self.empty.pid, 'prog')

    def counts(self, ids):
        ours = [p for i, p in bpf_objects('prog').items() if i in ids]
        return sum(p.get('run_time_ns', 0) for p in ours), sum(p.get('run_cnt', 0) for p in ours)

    def begin(self):
        self.began = self.counts(self.ids), self.counts(self.empty_ids)

    def end(self):
        """(seconds of the programs, runs, seconds of the statistics themselves)"""
        now = self.counts(self.ids), self.counts(self.empty_ids)
        self.empty.end()
        bpf_stats(0)
        (ns, runs), (empty_ns, empty_runs) = [[b - a for a, b in zip(*pair)] for pair in zip(self.began, now)]
        if not ns or not empty_runs:
            raise CannotMeasure('no BPF run time was counted')
        statistics = min(ns, runs * empty_ns / empty_runs)
        return (ns - statistics) / 1e9, runs, statistics / 1e9


class PeakMemory(threading.Thread):
    """Follows a process's VmHWM until it is gone; .kib is the last seen."""

    def __init__(self, pid):
        super().__init__(daemon=True)
        self.pid, self.kib, self.pause = pid, 0, 0.1
        self.start()

    def run(self):
        while True:
            kib = status_kib(self.pid, 'VmHWM')
            if not kib:
                return
            self.kib = kib
            time.sleep(self.pause)


# --- statistics --------------------------------------------------------------------------------

def quantile(values, q):
    values = sorted(values)
    at = q * (len(values) - 1)
    low = int(at)
    high = min(low + 1, len(values) - 1)
    return values[low] + (values[high] - values[low]) * (at - low)


def median(values):
    return quantile(values, 0.5)


def spread(values):
    return quantile(values, 0.1), quantile(values, 0.9)


def turned(items, round_number):
    """The same items in another order each round, so that drift of the machine hits all alike."""
    at = round_number % len(items)
    items = items[at:] + items[:at]
    return items[::-1] if round_number // len(items) % 2 else items
