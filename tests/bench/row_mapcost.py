# SPDX-License-Identifier: GPL-2.0-or-later
"""Row `mapcost`: what a perf map costs the service that writes it, side by side.

Start-up: from exec to the first answer, with DOTNET_PerfMapEnabled=3 and without, in turn. Run: the
same warm service with the map off and on in turn, by paired throughput. Switching: the round trips
that `hotrun perfmap enable` and `disable` tell, and how long the commands take.
"""
import re
import time
import urllib.request

import kit
from web import Web


def start_up(perf_map):
    """Seconds until the first answer."""
    began = time.monotonic()
    web = Web(warm_up=0, perf_map=perf_map)
    urllib.request.urlopen(web.url(), timeout=20).read()
    took = time.monotonic() - began
    web.end()
    return took


def switch(web, what):
    """Milliseconds of round trip, seconds of the whole command."""
    began = time.monotonic()
    text = kit.run([kit.HOTRUN, 'perfmap', what, web.pid])
    took = time.monotonic() - began
    found = re.search(r'([0-9.]+) ms', text)
    if not found:
        raise kit.CannotMeasure(f'perfmap {what} tells no round trip: {text[-200:]}')
    return float(found.group(1)), took


def measure(results):
    off, on = [], []
    for _ in kit.each_round(20, 60):
        off.append(start_up(False))
        on.append(start_up(True))
    ratio = [b - a for a, b in zip(off, on)]
    results.add('mapcost', 'start to first answer, no map', kit.median(off), 's', kit.spread(off))
    results.add('mapcost', 'added by a map since the start', 1000 * kit.median(ratio), 'ms',
                [1000 * r for r in kit.spread(ratio)])

    web = Web(perf_map=False)
    enable, disable, commands, without, with_map = [], [], [], [], []
    for _ in kit.each_round(20, 120):
        without.append(web.throughput(2))
        trip, took = switch(web, 'enable')
        enable.append(trip)
        commands.append(took)
        with_map.append(web.throughput(2))
        disable.append(switch(web, 'disable')[0])
    web.end()
    paired = [b / a for a, b in zip(without, with_map)]
    results.add('mapcost', 'throughput, map on / off', kit.median(paired), 'x', kit.spread(paired))
    results.add('mapcost', 'perfmap enable, round trip', kit.median(enable), 'ms', kit.spread(enable))
    results.add('mapcost', 'perfmap enable, whole command', kit.median(commands), 's',
                kit.spread(commands))
    results.add('mapcost', 'perfmap disable, round trip', kit.median(disable), 'ms',
                kit.spread(disable))
