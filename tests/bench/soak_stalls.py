# SPDX-License-Identifier: GPL-2.0-or-later
"""tests/bench/soak.sh's part `stalls`: services that stall for 3 to 5 s, mixed at random, beside others that
take 0, 50 or 95 % of the CPUs. `hotrun watch` is to capture each by itself, once, from its first bad second
on, and with the right verdict. SOAK_STALLS=N (100), SOAK_SEED=N (1), SOAK_KIND=KIND (all). Each stall has a service of its own: the
like of the same process rests by design.

When a stall was is told by clients that ask 200 times a second and keep the time of each slow answer."""
import itertools
import json
import os
import random
import shutil
import signal
import sqlite3
import statistics
import subprocess
import sys
import time
from datetime import datetime

import kit
from soak import Checks
from web import free_port

STALLS = int(os.environ.get('SOAK_STALLS') or 100)
SEED = int(os.environ.get('SOAK_SEED') or 1)
KINDS = {  # the verdicts that are right
    'lock': ('inelastic',),
    'sync-over-async': ('inelastic',),
    'starved': ('starved', 'host-overloaded'),
    'throttled': ('throttled',),
    # Beside others that fill the host its many threads wait behind these as well.
    'oversubscribed': ('oversubscribed', 'host-overloaded', 'starved'),
}
KINDS_TRIED = [os.environ['SOAK_KIND']] if os.environ.get('SOAK_KIND') else list(KINDS)
OTHERS = (0, 50, 95)
CLIENTS, EVERY_MS = 20, 100
PATH = '/stock?us=500'
BEFORE, AFTER = 8, 4
SLOW_LEAST = 2	# seconds from the first late answer to the last; 3 with the half in which it was not late yet
PER_RECORDER = 50	# stalls: a recorder takes no more than 60 in an hour
PATIENCE = 15	# until a capture is begun, from the end of the stall on


class Group:
    """A cgroup whose CPU limit can be set while processes run in it."""

    def __init__(self, name):
        v1 = os.path.isdir('/sys/fs/cgroup/cpu')
        self.path = os.path.join('/sys/fs/cgroup' + ('/cpu' if v1 else ''), f'hotrun-soak-{os.getpid()}-{name}')
        self.v1 = v1
        os.mkdir(self.path)

    def limit(self, share):
        """Of one CPU; None: no limit."""
        quota = int(share * 100000) if share else -1 if self.v1 else 'max'
        with open(os.path.join(self.path, 'cpu.cfs_quota_us' if self.v1 else 'cpu.max'), 'w') as f:
            f.write(str(quota) if self.v1 else f'{quota} 100000')

    def enter(self):
        with open(os.path.join(self.path, 'cgroup.procs'), 'w') as f:
            f.write(str(os.getpid()))

    def end(self):
        for _ in range(200):
            try:
                return os.rmdir(self.path)
            except OSError:
                time.sleep(0.02)


class Service:
    """The load Hang under a name of its own, in a group of its own."""

    def __init__(self, number):
        self.name = f'Shop.Desk{number}'
        self.group = Group(self.name)
        self.port = free_port()
        folder = kit.path(self.name)
        os.mkdir(folder)
        built = os.path.join(kit.BUILD, 'dotnet', 'Hang', 'Shop.Hang')
        for end in ('.dll', '.runtimeconfig.json'):
            shutil.copy(built + end, os.path.join(folder, self.name + end))
        self.child = kit.start(['dotnet', os.path.join(folder, self.name + '.dll'), self.port, free_port(), 36000],
                               preexec_fn=self.group.enter, env=dict(os.environ, DOTNET_NOLOGO='1'))
        self.child.wait_for('ready', 60)

    def clients(self, kind, number, path, seconds, *more):
        return kit.start([sys.executable, 'tests/support/clients.py', kind, self.port, number, path, seconds, *more])

    def load(self, connections, path, seconds):
        return kit.start(['wrk', '-t1', f'-c{connections}', f'-d{seconds:.0f}s', '--timeout', '20s',
                          f'http://127.0.0.1:{self.port}{path}'])

    def end(self):
        self.child.end(signal.SIGKILL)
        self.group.end()


def stall(service, kind, seconds):
    """Makes it stall for so long; returns when that is over."""
    begun = []
    if kind == 'lock':
        begun = [service.clients('hold', 1, f'/lock?ms={seconds * 1000:.0f}', seconds)]
    elif kind == 'sync-over-async':
        begun = [service.clients('hold', 64, f'/wait?ms={seconds * 500:.0f}', seconds)]
    elif kind == 'starved':
        # Of many sessions: to the kernel's autogroups one is as much as the service.
        begun = [kit.start([kit.workload('spinners'), os.cpu_count(), seconds], start_new_session=True)
                 for _ in range(12)]
        begun.append(service.load(50, '/busy?us=2000', seconds))
    elif kind == 'throttled':
        service.group.limit(0.1)
        begun = [service.load(50, '/busy?us=2000', seconds)]
    else:
        begun = [service.load(32, '/many?threads=2&ms=30', seconds)]
    time.sleep(seconds)
    service.group.limit(None)
    for child in begun:
        child.end(signal.SIGKILL)


def slow_time(text):
    """(first, last) moment at which an answer was late already, by the clients; and how many there were."""
    rows = [[float(word) for word in line.split()[1:]] for line in text.splitlines() if line.startswith('slow ')]
    return (min(a for a, _ in rows) + 0.5, max(b for _, b in rows), len(rows)) if rows else (0, 0, 0)


def captured(folder, known):
    return [f for f in sorted(os.listdir(folder)) if f.endswith('-auto.hotrun') and f not in known]


def wait_for_capture(folder, known, seconds):
    """Those that are new, when all of them are done and have their report."""
    end = time.monotonic() + seconds
    while True:
        new = captured(folder, known)
        done = [f for f in new if os.path.exists(os.path.join(folder, f[:-len('.hotrun')] + '.html'))]
        if new and len(done) == len(new):
            return new
        if time.monotonic() > end and not new or time.monotonic() > end + AFTER + 20:
            return new
        time.sleep(0.2)


def verdicts_of(file, name):
    """Of the process, and of the host."""
    told = json.loads(kit.run([kit.HOTRUN, 'report', '--format', 'json', file]))
    return next((p['verdict'] for p in told['processes'] if p['name'] == name), 'none'), told['host']['verdict']


def times_of(file):
    """Unix time of its beginning and end, and why it was taken."""
    with sqlite3.connect(f'file:{file}?mode=ro', uri=True) as db:
        return db.execute('SELECT min(l.start_ns + l.wall_offset_ns) / 1e9, max(l.end_ns + l.wall_offset_ns) / 1e9, '
                          '(SELECT taken FROM host) FROM slice l').fetchone()


def begun_at(file):
    """Unix time at which that capture was asked for, in the middle of the second that its name tells."""
    return datetime.strptime(file.split('-')[-2], '%Y%m%dT%H%M%S%z').timestamp() + 0.5


def judge(service, kind, slow, new, folder, delays):
    """What is wrong with what was captured; '' = nothing."""
    first, last, answers = slow
    told = {f: times_of(os.path.join(folder, f)) for f in new}
    # What takes the whole host down may be told of the host.
    ours = [f for f in new if service.name in told[f][2] or told[f][2].split()[0].strip(',') in KINDS[kind]]
    if len(ours) != 1:
        return f'{len(ours)} captures of it; ' + '; '.join(row[2].split(';')[0] for row in told.values())
    begin, end, taken = told[ours[0]]
    verdicts = verdicts_of(os.path.join(folder, ours[0]), service.name)
    if taken.split()[0].strip(',') not in KINDS[kind] or not set(verdicts) & set(KINDS[kind]):
        return f'verdict {verdicts[0]}, host {verdicts[1]}; {taken}'
    if not begin <= first <= end:
        return f'its first bad second is {begin - first:.1f} s before the capture'
    delays.append(begun_at(ours[0]) - first)
    return ''


def one(number, service, kind, others, folder, known, log, delays):
    """(what is wrong, or None where its clients did not find it slow for long enough; its captures)"""
    with open(log) as f:
        said = len(f.read())
    neighbours = [kit.start([kit.workload('spinners'), os.cpu_count(), 600, others])] if others else []
    clients = service.clients('pace', CLIENTS, PATH, 600, EVERY_MS)
    clients.wait_for('ready')
    time.sleep(4 + 2 * random.random())
    seconds = 3 + 2 * random.random()
    stall(service, kind, seconds)
    new = wait_for_capture(folder, known, PATIENCE)
    for child in [clients, *neighbours]:
        child.end(signal.SIGKILL)
    slow = slow_time(clients.output())
    if slow[1] - slow[0] < SLOW_LEAST:
        kit.say(f'  {number}: {service.name} {kind} for {seconds:.1f} s beside {others} %: no stall: '
                f'{slow[2]} answers slow, for {slow[1] - slow[0]:.1f} s')
        return None, new
    why = judge(service, kind, slow, new, folder, delays)
    with open(log) as f:
        words = [line[:300] for line in f.read()[said:].splitlines() if 'capture' in line]
    if why:
        why += ''.join('\n      ' + line for line in words)
    kit.say(f'  {number}: {service.name} {kind} for {seconds:.1f} s beside {others} %: {why or "right"}')
    return why, new


def watch_start(folder, options):
    tool = kit.start([kit.HOTRUN, 'watch', '--dir', folder, *options])
    end = time.monotonic() + 30
    while 'ready 1' not in subprocess.run([kit.HOTRUN, 'watch', '--status', '--dir', folder], check=False,
                                          stdout=subprocess.PIPE, text=True, stderr=subprocess.DEVNULL).stdout:
        if tool.poll() is not None or time.monotonic() > end:
            raise kit.CannotMeasure('watch: ' + tool.output()[-300:])
        time.sleep(0.2)
    return tool


def some(numbers, services, folder, log, wrong, by_kind, delays):
    """Stalls before one recorder. What turns out to be none is made again."""
    known, names = set(), itertools.count(numbers[0] * 10 + 1)
    for number in numbers:
        kind, others = random.choice(KINDS_TRIED), random.choice(OTHERS)
        for _ in range(4):
            service = Service(next(names))
            services.append(service)
            why, new = one(number + 1, service, kind, others, folder, known, log, delays)
            services.pop().end()
            known.update(new)
            if why is not None:
                break
        else:
            raise kit.CannotMeasure(f'{kind} beside {others} % makes no stall')
        by_kind[kind][bool(why)] += 1
        if not why:
            continue
        wrong.append(f'{kind} beside {others} %: {why}')
        for file in new if os.environ.get('KEEP') else []:
            shutil.copy(os.path.join(folder, file), os.environ['KEEP'])


def main():
    random.seed(SEED)
    checks = Checks()
    kit.prepare()
    kit.run(['tests/support/dotnet.sh', 'Hang'], seconds=300, env=os.environ)
    services = []
    wrong, delays, by_kind, logs = [], [], {kind: [0, 0] for kind in KINDS}, []
    try:
        for first in range(0, STALLS, PER_RECORDER):
            folder = kit.path(f'watch.{first}')
            tool = watch_start(folder, ('--before', f'{BEFORE}s', '--after', f'{AFTER}s', '--captures-per-hour',
                                        PER_RECORDER + 10, '--budget', '0'))
            logs.append(tool.log)
            time.sleep(BEFORE)
            some(range(first, min(first + PER_RECORDER, STALLS)), services, folder, tool.log, wrong, by_kind, delays)
            tool.end()
    finally:
        for service in services:
            service.end()
    if delays:
        print(f'        from the first late answer to the capture: median {statistics.median(delays):.1f} s, '
              f'most {max(delays):.1f} s (to half a second)')
    for kind, (good, bad) in by_kind.items():
        print(f'        {kind}: {good} of {good + bad}')
    for log in logs if os.environ.get('KEEP') else []:
        shutil.copy(log, os.environ['KEEP'])
    checks.check(len(wrong) <= STALLS * 0.05,
                 f'stalls that are captured once, whole and with the right verdict: {STALLS - len(wrong)} of {STALLS}')
    return 1 if checks.failed else 0


if __name__ == '__main__':
    try:
        sys.exit(main())
    except kit.CannotMeasure as why:
        print(f'stalls: {why}', file=sys.stderr)
        sys.exit(2)
