# SPDX-License-Identifier: GPL-2.0-or-later
"""Row `threads`: memory while 10,000 threads live, most of them asleep.

User side: VmHWM without the pages of BPF ring buffers, less that of a recording without the threads.
Kernel side: the accounts are task storage, which no map's own figure holds: growth of the kernel's
unreclaimable slab memory from before the recording to its middle.
"""
import os
import signal
import time

import kit
from row_itself import ring_kib

THREADS = 10000


def slab_kib():
    with open('/proc/meminfo') as f:
        return next(int(line.split()[1]) for line in f if line.startswith('SUnreclaim:'))


def recording():
    """(peak KiB without rings, growth of slab KiB) of one recording of three seconds."""
    file = kit.path('threads.hotrun')
    before = slab_kib()
    tool = kit.hotrun_record(file)
    memory = kit.PeakMemory(tool.pid)
    time.sleep(2.8)
    grown, rings = slab_kib() - before, ring_kib(tool.pid)
    memory.pause = 0.002
    time.sleep(0.2)
    tool.end()
    memory.join(5)
    os.unlink(file)
    if tool.returncode:
        raise kit.CannotMeasure('hotrun record failed: ' + tool.output()[-300:])
    return memory.kib - rings, grown


def measure(results):
    recording()  # warms the page cache of the symbol files
    without, with_threads = [], []
    for _ in kit.each_round(3, 120):
        without.append(recording())
        crowd = kit.start([kit.workload('threads10k'), THREADS, 600])
        crowd.wait_for('threads:')
        time.sleep(1)
        with_threads.append(recording())
        crowd.end(signal.SIGKILL)
        time.sleep(1)  # the kernel takes the threads away
    user = [(w[0] - o[0]) for w, o in zip(with_threads, without)]
    kernel = [(w[1] - o[1]) for w, o in zip(with_threads, without)]
    peak = [w[0] / 1024 for w in with_threads]
    results.add('threads', f'memory with {THREADS:,} threads (VmHWM without ring pages)',
                kit.median(peak), 'MiB', kit.spread(peak))
    for name, kib in (('user side', user), ('accounts in the kernel', kernel)):
        each = [k * 1024 / THREADS for k in kib]
        results.add('threads', f'for each thread, {name}', kit.median(each), 'B', kit.spread(each))
