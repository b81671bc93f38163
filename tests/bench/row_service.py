# SPDX-License-Identifier: GPL-2.0-or-later
"""Row `service`: what a busy web service loses while the host is recorded at 99 Hz.

A round has its windows in turning order: twice nothing, hotrun, every other time `perf record -a -g`.
The ratio of a round is its throughput under the tool over the mean of its two quiet windows; the ratio
of the quiet windows to each other is the noise that any claim has to be read against. The CPU time is measured in
a pass of its own, because the kernel's statistics of BPF programs cost time themselves.
"""
import os
import time

import kit
from web import Web

WINDOW = 3


def window(web, tool_of, settle=0.3):
    tool = tool_of() if tool_of else None
    time.sleep(settle)
    rate = web.throughput(WINDOW)
    if tool:
        if tool.poll() is not None:
            raise kit.CannotMeasure(f'{tool.argv[0]} ended by itself: {tool.output()[-300:]}')
        tool.end()
    return rate


def cpu_share(web):
    """Of the CPU time that the host spent, over ten seconds, in per cent: (BPF programs, hotrun, what the kernel's
    statistics take in the programs' runs); and (runs a second, ns of one)."""
    seconds = 4 if kit.quick() else 10
    tool = kit.hotrun_record(kit.path('service.hotrun'))
    load = web.load(seconds + 4)
    time.sleep(1.5)
    programs = kit.BpfTime(tool.pid)

    def look():
        return kit.cpu_seconds(tool.pid), kit.busy_seconds()
    programs.begin()
    first = look()
    time.sleep(seconds)
    own, busy = [b - a for a, b in zip(first, look())]
    bpf, runs, statistics = programs.end()
    tool.end()
    load.end()
    return [100 * part / busy for part in (bpf, own, statistics)], runs / seconds, 1e9 * bpf / runs


def measure(results):
    kit.need('perf', 'linux-perf')
    web = Web()
    tools = [('quiet', None), ('hotrun', lambda: kit.hotrun_record(kit.path('service.hotrun'))),
             ('again', None), ('perf', lambda: kit.perf_record(kit.path('service.data')))]
    rates = {name: [] for name, _ in tools}
    for number in kit.each_round(20, 320):
        for name, tool_of in kit.turned(tools if number % 2 == 0 else tools[:3], number):
            rates[name].append(window(web, tool_of))
        kit.say('  requests/s ' + '  '.join(f'{n} {r[-1]:.0f}' for n, r in rates.items()))
        for file in ('service.hotrun', 'service.data'):
            if os.path.exists(kit.path(file)):
                os.unlink(kit.path(file))
    quiet = [(a + b) / 2 for a, b in zip(rates['quiet'], rates['again'])]
    noise = [b / a for a, b in zip(rates['quiet'], rates['again'])]
    results.add('service', 'rounds', len(rates['quiet']), '')
    results.add('service', 'requests a second, nothing attached', kit.median(quiet), '/s',
                kit.spread(quiet))
    results.add('service', 'nothing / nothing (the noise)', kit.median(noise), 'x', kit.spread(noise))
    for name in ('perf', 'hotrun'):
        ratio = [r / q for r, q in zip(rates[name], quiet[::2] if name == 'perf' else quiet)]
        results.add('service', f'throughput under {name} / nothing', kit.median(ratio), 'x',
                    kit.spread(ratio), at_least=0.97 if name == 'hotrun' else None)
    (bpf, own, statistics), runs, each = cpu_share(web)
    results.add('service', 'BPF programs, of busy CPU time', bpf, '%')
    results.add('service', 'runs of BPF programs', runs, '/s')
    results.add('service', 'a run of a BPF program', each, 'ns')
    results.add('service', 'statistics in these runs (left out), of busy CPU time', statistics, '%')
    results.add('service', 'hotrun itself, of busy CPU time', own, '%')
    results.add('service', 'both together, of busy CPU time', bpf + own, '%', at_most=1)
    web.end()
