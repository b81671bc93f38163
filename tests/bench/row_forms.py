# SPDX-License-Identifier: GPL-2.0-or-later
"""Row `forms`: of all managed frames of a loaded web service with nothing set, those named, by form.

What is published in that form, with its runtime, is built first, which takes a minute each.
"""
import os
import sys
import time

import kit
from web import Web

SECONDS = 10
LOADS = [
    ('Web', '.NET 10, shared runtime'),
    ('Web@net10.0', '.NET 10, self-contained'),
    ('Web@net10.0-single', '.NET 10, single file'),
    ('Web@net10.0-compressed', '.NET 10, compressed single file'),
    ('Web@net10.0-trimmed', '.NET 10, trimmed single file'),
    ('Web@net10.0-composite', '.NET 10, composite images'),
    ('Web@net11.0', '.NET 11, self-contained'),
    ('Web@net11.0-single', '.NET 11, single file'),
    ('Web@net9.0', '.NET 9, self-contained'),
]


def share(results, load, name):
    """Records a service under load and adds its row."""
    file = kit.path('forms.hotrun')
    seconds = 3 if kit.quick() else SECONDS
    web = Web(load=load, perf_map=False)
    wrk = web.load(seconds + 5)
    tool = kit.hotrun_record(file)
    time.sleep(seconds)
    tool.end()
    wrk.end(kit.signal.SIGTERM)
    program = [os.path.join(kit.BUILD, 'dotnet', load, 'Shop.Web')] if '-' in load else []
    lines = kit.run([sys.executable, 'tests/support/facts.py', 'managed', file, web.pid] + program).splitlines()
    web.end()
    named, total = map(int, lines[0].split())
    if not total:
        raise kit.CannotMeasure(f'{load}: the capture has no managed frame of the service')
    kit.say(f'  {name}: {total} managed frames; without a name: ' + ('; '.join(lines[1:]) or 'none'))
    results.add('forms', f'managed frames named, {name}', 100 * named / total, '%',
                at_least=95 if 'net9' in load else 99.5)


def measure(results):
    for load, name in LOADS:
        share(results, load, name)
