# SPDX-License-Identifier: GPL-2.0-or-later
"""Row `itself`: the CPU time and memory of hotrun, 99 Hz, 200 processes of which four compute.

Two recordings, 10 s and 40 s: the difference of their CPU times is what 30 s of recording cost, and
what the short one spent beyond that is its start and end. Time to the first stack that was walked by tables:
from the start of the program. Memory: VmHWM, without the pages of BPF
ring buffers that the kernel maps into it (they are map memory, printed too); symbol tables of the
host's libraries are in it.
"""
import os
import re
import time

import capture
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


def first_tabled_s(file, began):
    """From then to the first sample whose stack was walked by tables."""
    base = capture.open_capture(file)
    first = base.execute('SELECT min(a.time_ns) FROM sample a JOIN stack s ON s.key = a.user_stack '
                         'WHERE s."end" = 1').fetchone()[0]
    base.close()
    if not first:
        raise kit.CannotMeasure('no stack was walked by tables')
    return first / 1e9 - began


def table_bytes(maps, ids):
    """In the maps that tables are in, and their inner ones, which nobody holds."""
    return sum(m.get('bytes_memlock', 0) for i, m in maps.items()
               if m.get('name', '').startswith('unwind_') and (i in ids or m['name'] == 'unwind_chunk'))


def recording(seconds):
    """(CPU s, peak KiB, ring KiB resident, map bytes in the kernel, those of tables, s to the first stack walked
    by them) of one recording."""
    file = kit.path('itself.hotrun')
    began = time.monotonic()
    tool = kit.hotrun_record(file)
    memory = kit.PeakMemory(tool.pid)
    time.sleep(seconds - 0.2)
    rings = ring_kib(tool.pid)
    ids = kit.bpf_ids(tool.pid, 'map')
    maps = kit.bpf_objects('map')
    locked = sum(m.get('bytes_memlock', 0) for i, m in maps.items() if i in ids)
    tables = table_bytes(maps, ids)
    memory.pause = 0.002
    time.sleep(0.2)
    usage = tool.end()
    memory.join(5)
    first = first_tabled_s(file, began)
    os.unlink(file)
    if tool.returncode or not usage:
        raise kit.CannotMeasure('hotrun record failed: ' + tool.output()[-300:])
    return usage.ru_utime + usage.ru_stime, memory.kib, rings, locked, tables, first


def measure(results):
    short, long = (3, 8) if kit.quick() else (10, 40)
    crowd = kit.start([kit.workload('bench_crowd'), PROCESSES - SPINNERS, SPINNERS])
    crowd.wait_for('ready')
    time.sleep(1)
    recording(3)  # warms the page cache of the symbol files
    few = [recording(short)[0] for _ in range(1 if kit.quick() else 3)]
    cpu, peak, rings, locked, tables, first = recording(long)
    crowd.end(kit.signal.SIGTERM)
    steady = [(cpu - f) / (long - short) for f in few]
    ends = [f - max(s, 0) * short for f, s in zip(few, steady)]
    results.add('itself', 'CPU while recording', 100 * kit.median(steady), '% of a CPU',
                [100 * s for s in kit.spread(steady)], at_most=0.5)
    results.add('itself', 'CPU of start and end', kit.median(ends), 's', kit.spread(ends), at_most=0.3)
    results.add('itself', 'memory (VmHWM without ring pages)', (peak - rings) / 1024, 'MiB', at_most=40)
    results.add('itself', 'VmHWM', peak / 1024, 'MiB')
    results.add('itself', 'BPF maps in the kernel', locked / 2**20, 'MiB')
    results.add('itself', 'of these, tables to walk stacks by', tables / 2**20, 'MiB', at_most=40)
    results.add('itself', 'start to first stack walked by them', first, 's', at_most=1)
