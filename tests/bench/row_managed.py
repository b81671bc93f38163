# SPDX-License-Identifier: GPL-2.0-or-later
"""Row `managed`: of all managed frames of a loaded web service with a perf map, those named.

JIT code and precompiled code of the framework, by .NET version, counted from the capture's tables by
tests/support/facts.py. Beside it, of the same process: the share of perf's samples that hold an
[unknown] frame.
"""
import os
import sys
import time

import kit
from web import Web

SECONDS = 10
LOADS = [('Web', '.NET 10'), ('Web@net9.0', '.NET 9'), ('Web@net8.0', '.NET 8')]


def share(results, web, name):
    """Records the service under load and adds its rows."""
    file = kit.path('managed.hotrun')
    seconds = 3 if kit.quick() else SECONDS
    tool = kit.hotrun_record(file)
    load = web.load(seconds + 5)
    time.sleep(seconds)
    tool.end()
    load.end(kit.signal.SIGTERM)
    lines = kit.run([sys.executable, 'tests/support/facts.py', 'managed', file, web.pid]).splitlines()
    os.unlink(file)
    named, total = map(int, lines[0].split())
    if not total:
        raise kit.CannotMeasure('the capture has no managed frame of the service')
    kit.say(f'  {name}: {total} managed frames; without a name: ' + ('; '.join(lines[1:]) or 'none'))
    results.add('managed', f'managed frames named, {name}', 100 * named / total, '%', at_least=99.5)


def unknown_of_perf(results, web):
    """What `perf script` says of the same process."""
    data, seconds = kit.path('managed.data'), 3 if kit.quick() else SECONDS
    kit.need('perf', 'linux-perf')
    perf = kit.perf_record(data)
    load = web.load(seconds + 5)
    time.sleep(seconds)
    kit.perf_end(perf)
    load.end(kit.signal.SIGTERM)
    text = kit.run(['perf', 'script', '-i', data, '--pid', web.pid, '-F', 'pid,ip,sym'], seconds=300)
    samples = [s for s in text.split('\n\n') if s.strip().count('\n')]
    os.unlink(data)
    if not samples:
        raise kit.CannotMeasure('perf saw no stack of the service')
    results.add('managed', 'perf script: samples with an [unknown] frame',
                100 * sum('[unknown]' in s for s in samples) / len(samples), '%')


def measure(results):
    for load, name in LOADS:
        web = Web(load=load)
        share(results, web, name + ', warm')
        if load == 'Web':
            unknown_of_perf(results, web)
        web.end()
    web = Web(warm_up=0)
    share(results, web, '.NET 10, from the first request')
    web.end()
