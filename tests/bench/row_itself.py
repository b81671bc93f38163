# SPDX-License-Identifier: GPL-2.0-or-later
"""Row `itself`: the CPU time and memory of hotrun, 99 Hz, 200 processes of which four compute.

Two recordings, 10 s and 40 s: the difference of their CPU times is what 30 s of recording cost, and
what the short one spent beyond that is its start and end. Memory: VmHWM, without the pages of BPF
ring buffers that the kernel maps into it (they are map memory, printed too); symbol tables of the
host's libraries are in it.
"""
import os
import re
import time

import kit

PROCESSES, SPINNERS = 200, 4


def ring_kib(pid):
    """KiB of BPF maps that are resident in the process's address space."""
    total, ours = 0, False
    with open(f'/proc/{pid}/smaps') as f:
        for line in f:
            if re.match(r'[0-9a-f]+-[0-9a-f]+ ', line):
                ours = 'bpf' in line
            elif ours and line.startswith('Rss:'):
                total += int(line.split()[1])
    return total


def recording(seconds):
    """(CPU s, peak KiB, ring KiB resident, map bytes in the kernel) of one recording."""
    file = kit.path('itself.hotrun')
    tool = kit.hotrun_record(file)
    memory = kit.PeakMemory(tool.pid)
    time.sleep(seconds - 0.2)
    rings = ring_kib(tool.pid)
    ids = kit.bpf_ids(tool.pid, 'map')
    locked = sum(m.get('bytes_memlock', 0) for i, m in kit.bpf_objects('map').items() if i in ids)
    memory.pause = 0.002
    time.sleep(0.2)
    usage = tool.end()
    memory.join(5)
    os.unlink(file)
    if tool.returncode or not usage:
        raise kit.CannotMeasure('hotrun record failed: ' + tool.output()[-300:])
    return usage.ru_utime + usage.ru_stime, memory.kib, rings, locked


def measure(results):
    short, long = (3, 8) if kit.quick() else (10, 40)
    crowd = kit.start([kit.workload('bench_crowd'), PROCESSES - SPINNERS, SPINNERS])
    crowd.wait_for('ready')
    time.sleep(1)
    recording(3)  # warms the page cache of the symbol files
    few = [recording(short)[0] for _ in range(1 if kit.quick() else 3)]
    cpu, peak, rings, locked = recording(long)
    crowd.end(kit.signal.SIGTERM)
    steady = [(cpu - f) / (long - short) for f in few]
    ends = [f - max(s, 0) * short for f, s in zip(few, steady)]
    results.add('itself', 'CPU while recording', 100 * kit.median(steady), '% of a CPU',
                [100 * s for s in kit.spread(steady)], at_most=0.5)
    results.add('itself', 'CPU of start and end', kit.median(ends), 's', kit.spread(ends), at_most=0.3)
    results.add('itself', 'memory (VmHWM without ring pages)', (peak - rings) / 1024, 'MiB', at_most=40)
    results.add('itself', 'VmHWM', peak / 1024, 'MiB')
    results.add('itself', 'BPF maps in the kernel', locked / 2**20, 'MiB')
