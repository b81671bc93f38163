# SPDX-License-Identifier: GPL-2.0-or-later
"""Row `top`: the CPU time of `hotrun top` at 1 s on a host with 500 processes, of which four compute.

Steady state: from 5 s after its start. Measured in a terminal of 50 lines (tmux), and with --batch.
"""
import shutil
import signal
import subprocess
import time

import kit

PROCESSES, SPINNERS = 500, 4


def cpu_share(pid, seconds):
    """CPU time of a process and its helpers, in % of one CPU."""
    pids = [pid] + children_of(pid)
    before, began = sum(kit.cpu_seconds(p) for p in pids), time.monotonic()
    time.sleep(seconds)
    spent = sum(kit.cpu_seconds(p) for p in pids) - before
    return 100 * spent / (time.monotonic() - began)


def children_of(pid):
    with open(f'/proc/{pid}/task/{pid}/children') as f:
        return [int(p) for p in f.read().split()]


def in_terminal(seconds):
    """The same on a screen, or None where there is no tmux."""
    if not shutil.which('tmux'):
        return None
    socket = kit.path('tmux')
    tmux = ['tmux', '-S', socket]
    kit.run(tmux + ['-f', '/dev/null', 'new-session', '-d', '-x', '160', '-y', '50',
                    f'exec {kit.HOTRUN} top --interval 1'])
    try:
        time.sleep(5)
        pid = int(kit.run(tmux + ['list-panes', '-F', '#{pane_pid}']).strip())
        return cpu_share(pid, seconds)
    finally:
        subprocess.run(tmux + ['kill-server'], check=False)


def measure(results):
    seconds = 5 if kit.quick() else 20
    crowd = kit.start([kit.workload('bench_crowd'), PROCESSES - SPINNERS, SPINNERS])
    crowd.wait_for('ready')
    screen, batch = [], []
    for _ in kit.each_round(3, 180):
        share = in_terminal(seconds)
        if share is not None:
            screen.append(share)
        tool = kit.start([kit.HOTRUN, 'top', '--batch', '--interval', '1'])
        time.sleep(5)
        batch.append(cpu_share(tool.pid, seconds))
        tool.end()
    crowd.end(signal.SIGTERM)
    if not screen:
        raise kit.CannotMeasure('tmux: not found; install the Debian package tmux')
    results.add('top', f'CPU at 1 s, {PROCESSES} processes, on a screen', kit.median(screen),
                '% of a CPU', kit.spread(screen), at_most=1)
    results.add('top', 'the same with --batch', kit.median(batch), '% of a CPU', kit.spread(batch),
                at_most=1)
