# SPDX-License-Identifier: GPL-2.0-or-later
"""Row `html`: from the last sample to the page, and from a capture to the page.

The web service under load keeps both CPUs busy; hotrun and `perf record -a -g -F 99` record the same
30 s, perf beside hotrun. `perf script` alone, its text thrown away, is what every flame graph made
from perf begins with. Without a .NET SDK the load is a crowd of native spinners.
"""
import os
import subprocess
import time

import kit
from web import Web, without_dotnet


def timed(argv, times):
    took = []
    for _ in range(times):
        began = time.monotonic()
        done = subprocess.run([str(a) for a in argv], check=False, stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=300)
        took.append(time.monotonic() - began)
        if done.returncode:
            raise kit.CannotMeasure(f'{" ".join(argv[:2])}: exit code {done.returncode}: '
                                    + done.stderr.decode(errors='replace')[-300:])
    return took


def record_both(seconds, capture, data):
    """Records with both tools; returns the time from the end asked for to the page."""
    perf = kit.perf_record(data)
    tool = kit.hotrun_record(capture)
    time.sleep(seconds)
    kit.perf_end(perf)
    began = time.monotonic()
    tool.end()
    timed([kit.HOTRUN, 'flame', capture, '-o', kit.path('last.html')], 1)
    took = time.monotonic() - began
    if tool.returncode or not os.path.getsize(kit.path('last.html')):
        raise kit.CannotMeasure('no page: ' + tool.output()[-300:])
    return took


def measure(results):
    kit.need('perf', 'linux-perf')
    seconds = 5 if kit.quick() else 30
    capture, data, page = kit.path('html.hotrun'), kit.path('html.data'), kit.path('html.html')
    web = None if without_dotnet() else Web()
    load = web.load(seconds + 10) if web else \
        kit.start([kit.workload('bench_crowd'), 100, 8])
    time.sleep(1)
    last = record_both(seconds, capture, data)
    load.end(kit.signal.SIGTERM)
    # In turn, so that both meet the machine in the same mood. perf reads the service's perf map
    # by its pid, which is alive until the end of this row.
    flame, script, why = [], [], None
    for _ in range(3 if kit.quick() else 7):
        flame += timed([kit.HOTRUN, 'flame', capture, '-o', page], 1)
        try:
            script += [] if why else timed(['perf', 'script', '-i', data], 1)
        except kit.CannotMeasure as error:
            why = error  # perf 6.1 aborts over odd build ids of what ran: no reason to lose our figures
    results.add('html', f'last sample to page, after {seconds} s', last, 's', at_most=0.5)
    results.add('html', 'capture to page', kit.median(flame), 's', kit.spread(flame), at_most=0.1)
    results.add('html', 'size of the capture', os.path.getsize(capture) / 2**20, 'MiB')
    results.add('html', 'size of perf.data', os.path.getsize(data) / 2**20, 'MiB')
    results.add('html', 'size of the page', os.path.getsize(page) / 2**20, 'MiB')
    if web:
        web.end()
    if why:
        raise why
    results.add('html', 'perf script alone', kit.median(script), 's', kit.spread(script))
    ratio = [f / s for f, s in zip(flame, script)]
    results.add('html', 'capture to page / perf script', kit.median(ratio), 'x', kit.spread(ratio),
                below=1)
