# SPDX-License-Identifier: GPL-2.0-or-later
"""What the processes of a control group (version 2) are and take, told from outside of hotrun.

group_facts.py FOLDER SECONDS

Prints words of a shell:
seconds, cpu_ms         time that passed, and CPU time of all of them, those that have ended included
pss_mib, processes      the most of their memory (what they share counts once), and of them, at a time
workers                 looks at a worker, which is who reads targets' bytes
unfit                   of these, with a nice value under 0, a capability, or without its sandbox
hasty                   looks at who opens targets' files, with a nice value under 0
"""
import os
import sys
import time


def cpu_us(folder):
    with open(f'{folder}/cpu.stat') as f:
        return int(next(line.split()[1] for line in f if line.startswith('usage_usec')))


def pids(folder):
    with open(f'{folder}/cgroup.procs') as f:
        return [int(line) for line in f]


def text(path):
    try:
        with open(path) as f:
            return f.read()
    except OSError:  # gone meanwhile
        return ''


def pss_kib(pid):
    for line in text(f'/proc/{pid}/smaps_rollup').splitlines():
        if line.startswith('Pss:'):
            return int(line.split()[1])
    return 0


# How long a worker may take from its beginning to its sandbox.
START_TICKS = 20


def is_young(pid):
    fields = text(f'/proc/{pid}/stat').rpartition(')')[2].split()
    now = float(text('/proc/uptime').split()[0]) * os.sysconf('SC_CLK_TCK')
    return not fields or now - int(fields[19]) < START_TICKS


def is_unfit(pid):
    status = dict(line.split(':\t', 1) for line in text(f'/proc/{pid}/status').splitlines() if ':\t' in line)
    try:
        nice = os.getpriority(os.PRIO_PROCESS, pid)
    except OSError:
        return False
    if not status or status['State'].startswith(('Z', 'X')):
        return False
    return not (nice >= 0 and int(status['CapPrm'], 16) == int(status['CapEff'], 16) == 0
                and status['NoNewPrivs'] == '1' and status['Seccomp'] == '2')


def is_hasty(pid):
    try:
        return os.getpriority(os.PRIO_PROCESS, pid) < 0
    except OSError:
        return False


def main(folder, seconds):
    start, before = time.monotonic(), cpu_us(folder)
    most_kib = most = workers = unfit = hasty = 0
    while True:
        now = pids(folder)
        most = max(most, len(now))
        most_kib = max(most_kib, sum(map(pss_kib, now)))
        for pid in now:
            comm = text(f'/proc/{pid}/comm').strip()
            if comm == 'hotrun-parse' and not is_young(pid):
                workers += 1
                unfit += is_unfit(pid)
            if comm == 'hotrun-file' and not is_young(pid):
                hasty += is_hasty(pid)
        left = start + float(seconds) - time.monotonic()
        if left <= 0:
            break
        time.sleep(min(left, 0.2))
    print(f'seconds={time.monotonic() - start:.2f} cpu_ms={(cpu_us(folder) - before) / 1000:.0f}')
    print(f'pss_mib={most_kib // 1024} processes={most} workers={workers} unfit={unfit} hasty={hasty}')


main(*sys.argv[1:])
