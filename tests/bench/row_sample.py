# SPDX-License-Identifier: GPL-2.0-or-later
"""Row `sample`: what one sample with its stacks costs the code that is hit.

A fixed amount of work, 40 frames deep, alone on a CPU, with nothing, hotrun and `perf record -g` at
4,999 Hz in turn. Cost of a sample = added wall time / samples of the worker; both tools record the
whole host and drain on the other CPU.
"""
import os
import sqlite3
import time

import kit

HZ = 4999


def work(units, times=3, load='bench_deep'):
    """(pid, seconds) of the best of a few runs: what disturbs only ever adds."""
    runs = [kit.run(['nice', '-n', '-20', 'taskset', '-c', kit.WORK_CPU, kit.workload(load),
                     units]).split() for _ in range(times)]
    return min(((int(pid), float(seconds)) for pid, seconds in runs), key=lambda r: r[1])


def under_hotrun(units, load='bench_deep', hz=HZ):
    file = kit.path('sample.hotrun')
    tool = kit.hotrun_record(file, hz=hz, cpu=kit.TOOL_CPU)
    pid, seconds = work(units, load=load)
    tool.end()
    base = sqlite3.connect(f'file:{file}?mode=ro', uri=True)
    count, whole = base.execute('''SELECT count(*), sum(s.user_stack IN (SELECT key FROM stack
        WHERE length(frames) >= 320)) FROM sample s JOIN thread t ON t.id = s.thread
        JOIN process p ON p.id = t.process WHERE p.tgid = ?''', (pid,)).fetchone()
    base.close()
    os.unlink(file)
    if not count:
        raise kit.CannotMeasure('hotrun recorded no sample of the worker')
    return seconds, count, (whole or 0) / count


def under_perf(units, load='bench_deep', hz=HZ, call_graph='fp'):
    file = kit.path('sample.data')
    tool = kit.start(['taskset', '-c', kit.TOOL_CPU, 'perf', 'record', '-B', '-a', '--call-graph', call_graph,
                      '-e', 'cpu-clock', '-F', hz, '-o', file, '--', 'sleep', '3600'])
    kit.perf_begun(tool, file)
    time.sleep(0.3)
    pid, seconds = work(units, load=load)
    kit.perf_end(tool)
    out = kit.run(['perf', 'script', '-i', file, '-F', 'pid', '-G', '--pid', pid])
    count = sum(1 for line in out.splitlines() if line.strip() == str(pid))
    os.unlink(file)
    if not count:
        raise kit.CannotMeasure('perf recorded no sample of the worker')
    return seconds, count


def measure(results):
    kit.need('perf', 'linux-perf')
    _, seconds = work(100)
    units = max(100, int(0.5 * 100 / seconds))
    cost = {'hotrun': [], 'perf': []}
    deep = []
    for number in kit.each_round(12, 120):
        took = {}
        for name in kit.turned(['none', 'hotrun', 'perf'], number):
            if name == 'none':
                took[name] = work(units)[1:]
            elif name == 'hotrun':
                seconds, count, whole = under_hotrun(units)
                took[name] = seconds, count
                deep.append(whole)
            else:
                took[name] = under_perf(units)
        for name, values in cost.items():
            values.append((took[name][0] - took['none'][0]) / took[name][1] * 1e6)
        kit.say(f'  work {took["none"][0]:.3f} s, a sample costs: hotrun {cost["hotrun"][-1]:.2f} us '
                f'({took["hotrun"][1]}), perf {cost["perf"][-1]:.2f} us ({took["perf"][1]})')
    results.add('sample', 'rounds', len(cost['perf']), '')
    for name, values in cost.items():
        results.add('sample', f'a sample of {name}', kit.median(values), 'us', kit.spread(values))
    results.add('sample', 'hotrun samples with all 40 frames', 100 * kit.median(deep), '%')
    if kit.quantile(cost['perf'], 0.1) <= 0 or kit.median(cost['hotrun']) <= 0:
        raise kit.CannotMeasure('cost of a sample: lost in the noise of this machine')
    ratio = [h / p for h, p in zip(cost['hotrun'], cost['perf'])]
    results.add('sample', 'hotrun / perf record -g', kit.median(ratio), 'x', kit.spread(ratio), at_most=1)
