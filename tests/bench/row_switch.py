# SPDX-License-Identifier: GPL-2.0-or-later
"""Row `switch`: what each tool adds to a context switch.

`perf bench sched pipe` on one CPU is a pair of processes that wake each other: an operation is two
wake-ups and two switches. Each round runs it under every tool; costs and ratios are taken within a
round, their medians printed. The user sides of the tools run on the other CPU.
"""
import os
import re
import signal
import time

import kit

# Run delay by the kernel's static tracepoints, as a histogram: what one would type.
ONE_LINER = '''
tracepoint:sched:sched_wakeup, tracepoint:sched:sched_wakeup_new { @since[args->pid] = nsecs; }
tracepoint:sched:sched_switch {
    if (args->prev_state == 0) { @since[args->prev_pid] = nsecs; }
    $since = @since[args->next_pid];
    if ($since) { @delay_us = hist((nsecs - $since) / 1000); delete(@since[args->next_pid]); }
}'''
SETTLE = 0.5


def pipe(operations, times=3):
    """Microseconds an operation, the best of a few runs: what disturbs only ever adds."""
    best = None
    for _ in range(times):
        out = kit.run(['nice', '-n', '-20', 'taskset', '-c', kit.WORK_CPU, 'perf', 'bench', 'sched',
                       'pipe', '-l', operations])
        found = re.search(r'([0-9.]+) usecs/op', out)
        if not found:
            raise kit.CannotMeasure('perf bench: no usecs/op in its output: ' + out[-200:])
        best = min(best or 1e9, float(found.group(1)))
    return best


def start_nothing():
    return None


def start_hotrun():
    return kit.hotrun_record(kit.path('switch.hotrun'), cpu=kit.TOOL_CPU)


def start_wakers():
    return kit.hotrun_record(kit.path('wakers.hotrun'), cpu=kit.TOOL_CPU, options=['--wakers'])


def start_switches():
    return kit.hotrun_record(kit.path('switches.hotrun'), cpu=kit.TOOL_CPU, options=['--switches', '5s'])


def attached(child, at_least):
    """Until the tool's BPF programs are loaded: a peer that does not run would look cheap."""
    end = time.monotonic() + 20
    while child.poll() is None and len(kit.bpf_ids(child.pid, 'prog')) < at_least:
        if time.monotonic() > end:
            raise kit.CannotMeasure(f'{child.argv[3]}: did not attach: {child.output()[-300:]}')
        time.sleep(0.05)
    if child.poll() is not None:
        raise kit.CannotMeasure(f'{child.argv[3]}: ended: {child.output()[-300:]}')
    return child


def start_runqlat():
    return attached(kit.start(['taskset', '-c', kit.TOOL_CPU, '/usr/sbin/runqlat', '3600']), 3)


def start_bpftrace():
    child = kit.start(['taskset', '-c', kit.TOOL_CPU, kit.need('bpftrace', 'bpftrace'), '-e',
                       ONE_LINER])
    child.wait_for('Attaching')
    return attached(child, 3)


def start_perf_sched():
    if os.path.exists(kit.path('sched.data')):
        os.unlink(kit.path('sched.data'))
    child = kit.start(['taskset', '-c', kit.TOOL_CPU, 'perf', 'sched', 'record', '-o',
                       kit.path('sched.data'), 'sleep', '3600'])
    kit.perf_begun(child, kit.path('sched.data'))
    return child


def measure(results):
    kit.need('perf', 'linux-perf')
    kit.need('taskset', 'util-linux')
    kit.need('bpftrace', 'bpftrace')
    tools = [('none', start_nothing), ('hotrun', start_hotrun),
             ('hotrun --wakers', start_wakers), ('hotrun --switches', start_switches),
             ('empty', kit.empty_program),
             ('bpftrace', start_bpftrace), ('perf sched', start_perf_sched)]
    if os.access('/usr/sbin/runqlat', os.X_OK):
        tools.append(('runqlat', start_runqlat))
    operations = max(2000, int(0.5e6 / pipe(20000)))
    times = {name: [] for name, _ in tools}
    for number in kit.each_round(12, 240):
        for name, begin in kit.turned(tools, number):
            tool = begin()
            time.sleep(SETTLE)
            times[name].append(pipe(operations))
            if tool:
                if tool.poll() is not None:
                    raise kit.CannotMeasure(f'{name} ended by itself: {tool.output()[-300:]}')
                tool.end(signal.SIGINT)
        kit.say('  us/op ' + '  '.join(f'{n} {t[-1]:.2f}' for n, t in times.items()))

    added = {name: [t - n for t, n in zip(times[name], times['none'])]
             for name in times if name != 'none'}
    results.add('switch', 'rounds', len(times['none']), '')
    results.add('switch', 'nothing attached', kit.median(times['none']), 'us/op',
                kit.spread(times['none']))
    for name, values in added.items():
        results.add('switch', f'added by {name}', kit.median(values), 'us/op', kit.spread(values))
    beyond = [h - e for h, e in zip(added['hotrun'], added['empty'])]
    results.add('switch', 'hotrun - an empty program', kit.median(beyond), 'us/op',
                kit.spread(beyond), at_most=0.15)
    # An operation is two wakeups.
    wakers = [(w - h) / 2 for w, h in zip(added['hotrun --wakers'], added['hotrun'])]
    results.add('switch', 'of each wakeup, with --wakers', kit.median(wakers), 'us',
                kit.spread(wakers), at_most=0.1)
    switches = [(s - h) / 2 for s, h in zip(added['hotrun --switches'], added['hotrun'])]
    results.add('switch', 'of each switch and its wakeup, with --switches', kit.median(switches), 'us',
                kit.spread(switches))
    whole = [s / p for s, p in zip(added['hotrun --switches'], added['perf sched'])]
    results.add('switch', 'hotrun --switches / perf sched', kit.median(whole), 'x', kit.spread(whole),
                at_most=1)
    for peer, budget in (('runqlat', 0.25), ('bpftrace', 0.5)):
        if peer not in added:
            continue
        # A tool that adds less than nothing is noise, and so is any ratio to it.
        if kit.quantile(added[peer], 0.1) <= 0 or kit.median(added['hotrun']) <= 0:
            raise kit.CannotMeasure(f'added by hotrun and {peer}: lost in the noise of this machine')
        ratio = [h / p for h, p in zip(added['hotrun'], added[peer])]
        results.add('switch', f'hotrun / {peer}', kit.median(ratio), 'x', kit.spread(ratio),
                    at_most=budget)
