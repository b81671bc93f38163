# SPDX-License-Identifier: GPL-2.0-or-later
"""Row `recover`: what stands, told of 1,000 processes of which every fiftieth was stopped: seconds, and whether it is
those and no other."""
import json
import os
import signal
import subprocess
import time

import kit

PROCESSES, STOPPED_EACH = 1000, 50


def look():
    """(seconds, CPU seconds, pids that stand)."""
    began, before = time.monotonic(), os.times()
    done = subprocess.run([kit.HOTRUN, 'recover', '--format', 'json'], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    took, after = time.monotonic() - began, os.times()
    told = json.loads(done.stdout)
    if not told['summary']['complete']:
        raise kit.CannotMeasure('recover did not look at all of them')
    return (took, after.children_user + after.children_system - before.children_user - before.children_system,
            {p['pid'] for p in told['processes'] if any(f['level'] == 'stands' for f in p['findings'])})


def measure(results):
    were = look()[2]  # that stand on this host anyway
    crowd = [subprocess.Popen(['sleep', '600']) for _ in range(PROCESSES)]
    stopped = {p.pid for i, p in enumerate(crowd) if i % STOPPED_EACH == 0}
    seconds, cpu, wrong = [], [], 0
    try:
        for pid in stopped:
            os.kill(pid, signal.SIGSTOP)
        time.sleep(0.5)
        for _ in kit.each_round(5, 60):
            took, used, stand = look()
            seconds.append(took)
            cpu.append(used)
            wrong += len((stand - were) ^ stopped)
    finally:
        for child in crowd:
            child.kill()
        for child in crowd:
            child.wait()
    results.add('recover', f'{PROCESSES} processes, {len(stopped)} stopped', kit.median(seconds), 's', kit.spread(seconds), at_most=3)
    results.add('recover', 'CPU time of it', kit.median(cpu), 's', kit.spread(cpu))
    results.add('recover', 'told wrongly, or not at all', wrong, '', at_most=0)
