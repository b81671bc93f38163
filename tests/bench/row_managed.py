# SPDX-License-Identifier: GPL-2.0-or-later
"""Row `managed`: of all frames in JIT code of a loaded web service with a perf map, those named.

Counted from the capture's tables, not by the report, so that both are checked. Twice: a warm
service, and one that is recorded from its first request on, while its code is compiled.
"""
import time

import capture
import kit
from web import Web

SECONDS = 10


def share(web):
    file = kit.path('managed.hotrun')
    seconds = 3 if kit.quick() else SECONDS
    tool = kit.hotrun_record(file)
    load = web.load(seconds + 5)
    time.sleep(seconds)
    tool.end()
    load.end(kit.signal.SIGTERM)
    base = capture.open_capture(file)
    frames = capture.managed_frames(base, web.pid)
    base.close()
    kit.os.unlink(file)
    total = sum(frames.values())
    if not total:
        raise kit.CannotMeasure('the capture has no frame in JIT code of the service')
    kit.say('  frames in JIT code: ' + ', '.join(f'{n} {r}' for r, n in frames.items()))
    return 100 * frames.get('named', 0) / total, total


def measure(results):
    web = Web()
    warm, frames = share(web)
    web.end()
    web = Web(warm_up=0)
    cold, _ = share(web)
    web.end()
    results.add('managed', 'frames in JIT code, warm service', frames, '')
    results.add('managed', 'named, warm service', warm, '%', at_least=99.5)
    results.add('managed', 'named, from the first request', cold, '%', at_least=99.5)
