# SPDX-License-Identifier: GPL-2.0-or-later
"""tests/bench/soak.sh's other half: `hotrun watch` under churn of processes, threads, methods and cgroups,
with captures by rotation and on request. Its memory stays flat, its descriptors do not grow, what it
captured can be read, and nothing stays in the kernel."""
import os
import random
import re
import signal
import subprocess
import sys
import time
import urllib.request

import kit
from soak import Checks, RATE, SECONDS, WARM_UP, check_end, steady_growth
from web import free_port

GROUPS = 20	# at a time; each lives for some seconds
SLACK_BYTES = 16 << 20
PEAK_BYTES = 128 << 20	# a quarter of the limit that deploy/ gives the pod
RENEWALS = re.compile(rb'^hotrun_model_renewals_total (\d+)', re.M)
FDS_SLACK = 4


class Groups:
    """Cgroups that come and go, named as containerd names its containers, each with a process."""

    def __init__(self):
        root = '/sys/fs/cgroup/cpu'
        self.root = os.path.join(root if os.path.isdir(root) else '/sys/fs/cgroup',
                                 f'hotrun-soak-{os.getpid()}')
        os.mkdir(self.root)
        self.kept, self.made = [], 0

    def turn(self):
        while len(self.kept) >= GROUPS:
            path, child = self.kept.pop(random.randrange(len(self.kept)))
            child.kill()
            child.wait()
            self.remove(path)
        path = os.path.join(self.root, f'cri-containerd-{random.getrandbits(256):064x}.scope')
        os.mkdir(path)
        child = subprocess.Popen(['sleep', '60'])
        with open(os.path.join(path, 'cgroup.procs'), 'w') as f:
            f.write(str(child.pid))
        self.kept.append((path, child))
        self.made += 1

    @staticmethod
    def remove(path):
        for _ in range(100):
            try:
                return os.rmdir(path)
            except OSError:
                time.sleep(0.01)

    def end(self):
        for path, child in self.kept:
            child.kill()
            child.wait()
            self.remove(path)
        self.remove(self.root)


def answer(port, path):
    with urllib.request.urlopen(f'http://127.0.0.1:{port}/{path}', timeout=10) as page:
        return page.read()


def follow(tool, churn, groups, port, folder):
    """[(second, resident bytes, descriptors, renewals of the model)], and the size of /metrics at most."""
    seen, began, told, asked, largest = [], time.monotonic(), 0, 0, 0
    while (now := time.monotonic() - began) < SECONDS:
        if tool.poll() is not None or churn.poll() is not None:
            raise kit.CannotMeasure('ended by itself: ' + (tool.output() + churn.output())[-300:])
        groups.turn()
        metrics = answer(port, 'metrics')
        largest = max(largest, len(metrics))
        seen.append((now, 1024 * kit.status_kib(tool.pid, 'VmRSS'), len(os.listdir(f'/proc/{tool.pid}/fd')),
                     int(RENEWALS.search(metrics).group(1))))
        if now >= told:
            kit.say(f'  {now:4.0f} s: {seen[-1][1] / 2**20:.1f} MiB, {seen[-1][2]} descriptors, '
                    f'{seen[-1][3]} renewals')
            told += SECONDS / 20
        if now >= asked:
            kit.start([kit.HOTRUN, 'trigger', '--dir', folder, '--before', '10s', '--after', '5s'])
            asked += SECONDS / 10
        time.sleep(min(0.5, SECONDS / 100))
    return seen, largest


def check_flat(checks, seen):
    """After warm-up, and from the first renewal on: until then the model fills, and after it again and again."""
    late = [look for look in seen if look[0] > SECONDS * WARM_UP and look[3]]
    cycles = seen[-1][3] - 1
    checks.check(cycles >= 4, f'renewals: {cycles} times from one to the next, 4 are needed to tell of memory')
    if not late:
        return
    part = len(late) // 4 + 1
    # Captures and requests have descriptors while they last: what leaks stays, and raises the fewest.
    first, last = [min(look[2] for look in some) for some in (late[:part], late[-part:])]
    late = late[::len(late) // 300 + 1]
    grown = steady_growth(late) * (late[-1][0] - late[0][0])
    peak = max(look[1] for look in seen)
    checks.check(grown <= SLACK_BYTES,
                 f'memory: {grown / 2**20:.1f} MiB of steady growth after warm-up, '
                 f'{SLACK_BYTES / 2**20:.0f} allowed')
    checks.check(peak <= PEAK_BYTES, f'memory: {peak / 2**20:.1f} MiB at most, {PEAK_BYTES / 2**20:.0f} allowed')
    checks.check(last <= first + FDS_SLACK,
                 f'descriptors: {first} at the fewest in the first quarter, {last} in the last; '
                 f'{max(look[2] for look in seen)} at most')


def check_captures(checks, folder):
    captures = sorted(f for f in os.listdir(folder) if f.endswith('.hotrun'))
    bad = [f for f in captures
           if subprocess.run([kit.HOTRUN, 'report', os.path.join(folder, f)], stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL, check=False).returncode]
    checks.check(captures and not bad, f'captures: {len(captures)} are there, {len(bad)} cannot be read {bad[:3]}')
    triggered = [f for f in captures if 'trigger' in f]
    without = [f for f in triggered if not os.path.exists(os.path.join(folder, f[:-7] + '.html'))]
    checks.check(triggered and not without,
                 f'captures on request: {len(triggered)}, {len(without)} without their artifacts')
    left = [f for f in os.listdir(folder) if f.startswith('.') or f.endswith('-journal')]
    checks.check(not left, f'folder: {len(left)} unfinished files {left[:3]}')


def main():
    kit.prepare()
    folder, port = kit.path('watch'), free_port()
    tool = kit.start([kit.HOTRUN, 'watch', '--dir', folder, '--listen', f'127.0.0.1:{port}',
                      '--rotate', f'{max(10, SECONDS / 10):.0f}s', '--keep-count', '15',
                      # All parts on to the end, and the model renewed again and again: some cycles tell more.
                      '--budget', '0', '--memory', '8M'])
    tool.wait_for('watching ')
    programs = kit.bpf_ids(tool.pid, 'prog')
    churn = kit.start([kit.workload('bench_churn'), RATE, RATE, RATE])
    groups = Groups()
    checks = Checks()
    try:
        seen, metrics = follow(tool, churn, groups, port, folder)
    finally:
        groups.end()
    churn.end(signal.SIGTERM)
    time.sleep(6)
    usage = tool.end(signal.SIGTERM)
    if not check_end(checks, tool, usage, programs):
        return 1
    kit.say(f'  {groups.made} cgroups came and went; /metrics up to {metrics / 1024:.0f} KiB')
    check_flat(checks, seen)
    check_captures(checks, folder)
    return 1 if checks.failed else 0


if __name__ == '__main__':
    try:
        sys.exit(main())
    except kit.CannotMeasure as error:
        print(error, file=sys.stderr)
        sys.exit(2)
