# SPDX-License-Identifier: GPL-2.0-or-later
"""Row `notice`: whether a service at full load notices that somebody looks at where its threads stand.

A pair is two windows of 2 s under wrk, in turning order, and in one of them `hotrun threads -p` looks at the service
three times, programs loaded anew. Both have a slowest request; over all pairs the slowest with looks is to be no slower
than the slowest without. Of a pair the difference tells what looks cost its slowest request on the mean. ROUNDS=334 for
a thousand looks: 25 minutes.
"""
import json
import re
import time

import kit
from web import CONNECTIONS, Web

WINDOW = 2
LOOKS = 3
UNITS = {'us': 1e-3, 'ms': 1, 's': 1e3}


def window(web, look):
    """(ms of the slowest request, what the looks told)."""
    load = web.load(WINDOW)
    told = []
    for _ in range(LOOKS if look else 0):
        time.sleep(0.1)
        told.append(json.loads(kit.run([kit.HOTRUN, 'threads', '-p', web.pid, '--idle', '--format', 'json'])
                               .split('\nhotrun:')[0]))
    if load.poll() is not None:
        raise kit.CannotMeasure('the looks took longer than their window')
    while load.poll() is None:
        time.sleep(0.01)
    found = re.search(r'Latency\s+\S+\s+\S+\s+([0-9.]+)(us|ms|s)\b', load.output())
    if re.search(r'Non-2xx|Socket errors', load.output()) or not found:
        raise kit.CannotMeasure('wrk: ' + load.output()[-300:])
    return float(found.group(1)) * UNITS[found.group(2)], told


def measure(results):
    web = Web(perf_map=False)
    slowest = {True: [], False: []}
    threads = moved = looks = 0
    for number in kit.each_round(60, 3600):
        for look in kit.turned([False, True], number):
            ms, told = window(web, look)
            slowest[look].append(ms)
            looks += len(told)
            for group in (g for t in told for g in t['groups']):
                threads += group['threads']
                moved += group['threads'] if group['moved'] else 0
    web.end()
    more = [w - o for w, o in zip(slowest[True], slowest[False])]
    results.add('notice', f'pairs of windows, {CONNECTIONS} connections', len(more), '')
    results.add('notice', 'looks', looks, '')
    results.add('notice', 'slowest request of a window, without', kit.median(slowest[False]), 'ms', kit.spread(slowest[False]))
    results.add('notice', 'the same, with a look', kit.median(slowest[True]), 'ms', kit.spread(slowest[True]))
    results.add('notice', 'of a pair, with less without', kit.median(more), 'ms', kit.spread(more))
    results.add('notice', 'slowest of all, without', max(slowest[False]), 'ms')
    results.add('notice', 'slowest of all, with', max(slowest[True]), 'ms', at_most=max(slowest[False]))
    results.add('notice', 'threads that ran while they were read, told so', 100 * moved / max(threads, 1), '%')
