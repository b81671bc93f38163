# SPDX-License-Identifier: GPL-2.0-or-later
"""Row `snapshot`: a host that drowns: seconds from the command to its first line, and to its end.

80 and 400 threads that never sleep; and 80 of them beside a group of 2 GiB (memory controller) of
which 95 % are in use while others read files in it, hotrun among them. It is started as a shell
starts it, at an ordinary priority. Right is an answer that names the method, and all its threads
but those that were being moved.
"""
import json
import os
import signal
import subprocess
import time

import kit

GROUP = '/sys/fs/cgroup/memory/hotrun-bench-snapshot'
LIMIT = 2 << 30
IN_USE = 0.95
ROUNDS = 5


def enter():
    with open(f'{GROUP}/cgroup.procs', 'w') as f:
        f.write(str(os.getpid()))


def ask(argv, inside):
    """(seconds to the first line, to the end, its output)"""
    began = time.monotonic()
    with subprocess.Popen(argv, stdout=subprocess.PIPE, preexec_fn=enter if inside else None) as p:
        first = p.stdout.readline()
        at = time.monotonic() - began
        rest = p.stdout.read()
    if p.returncode:
        raise kit.CannotMeasure(f'{argv[0]} ends with {p.returncode}')
    return at, time.monotonic() - began, first + rest


def method_part(threads, inside):
    """Of the threads of the load, those that are told in their method."""
    told = json.loads(ask([kit.HOTRUN, 'snapshot', '--fresh', '--format', 'json'], inside)[2])
    return sum(c['threads'] for c in told['codes']
               if c['process'] == 'spinners' and c['method'] == 'spin') / threads


def one(results, name, threads, inside=False):
    first, end, named = [], [], []
    load = kit.start([kit.workload('spinners'), threads, 600])
    time.sleep(1)
    for _ in range(ROUNDS):
        at, whole, _ = ask([kit.HOTRUN, 'snapshot', '--fresh'], inside)
        first.append(at)
        end.append(whole)
        named.append(method_part(threads, inside))
    load.end(signal.SIGKILL)
    results.add('snapshot', f'{name}: first line', kit.median(first), 's', kit.spread(first), at_most=3)
    results.add('snapshot', f'{name}: all of it', kit.median(end), 's', kit.spread(end))
    named = [100 * n for n in named]
    results.add('snapshot', f'{name}: threads told in their method', kit.median(named), '%',
                kit.spread(named), at_least=95)


def crowded():
    """Processes in the group that hold what is to be in use, and read a file over and over."""
    hold = f'b = b"1" * {int(LIMIT * IN_USE)}\nprint("full", flush=True)\nimport time\ntime.sleep(600)'
    read = ('import itertools\nfor _ in itertools.repeat(0):\n'
            ' with open("/proc/self/exe", "rb") as f:\n  f.read()\n')
    held = subprocess.Popen(['python3', '-c', hold], stdout=subprocess.PIPE, preexec_fn=enter)
    held.stdout.readline()
    return held, subprocess.Popen(['python3', '-c', read], preexec_fn=enter)


def measure(results):
    one(results, '80 spinners', 80)
    one(results, '400 spinners', 400)
    try:
        os.mkdir(GROUP)
        with open(f'{GROUP}/memory.limit_in_bytes', 'w') as f:
            f.write(str(LIMIT))
    except OSError as e:
        raise kit.CannotMeasure(f'a group with a limit of memory: {e}') from e
    load = []
    try:
        load = crowded()
        one(results, '80 spinners, 95 % of memory in use', 80, inside=True)
    finally:
        for p in load:
            p.kill()
            p.wait()
        os.rmdir(GROUP)
