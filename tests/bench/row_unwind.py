# SPDX-License-Identifier: GPL-2.0-or-later
"""Row `unwind`: what it costs to walk a stack of code without frame pointers.

A fixed amount of work, 40 frames deep, alone on a CPU: built without frame pointers under hotrun and
under `perf record --call-graph dwarf`, and with them under hotrun and `perf record -g`, in turn. Cost of
a sample = added wall time / samples of the worker. Frames a microsecond: by the kernel's own measure of
the program that ticks, of a stack of 40 and of one of 240 frames. And the tables themselves: those of
the libraries that every .NET service maps.
"""
import glob
import os

import capture
import kit
import row_sample

HZ = 4999
DEEP, SHALLOW = 240, 40


def tick_ns(depth):
    """Time of one tick, by the kernel's statistics (which add some 50 ns each)."""
    file = kit.path('unwind.hotrun')
    tool = kit.hotrun_record(file, hz=HZ, cpu=kit.TOOL_CPU)
    kit.run(['taskset', '-c', kit.WORK_CPU, kit.workload('chain-deep'), 200, depth])  # its tables are there now
    ids = kit.bpf_ids(tool.pid, 'prog')

    def figures():
        tick, = [p for i, p in kit.bpf_objects('prog').items() if i in ids and p.get('name') == 'on_tick']
        return tick.get('run_time_ns', 0), tick.get('run_cnt', 0)

    worker = kit.start(['taskset', '-c', kit.WORK_CPU, kit.workload('chain-deep'), 100000, depth])
    kit.time.sleep(1)
    kit.bpf_stats(1)
    before = figures()
    kit.time.sleep(1.5)
    after = figures()
    kit.bpf_stats(0)
    worker.end(kit.signal.SIGKILL)
    tool.end()
    whole = capture.whole_stacks(file, worker.pid)
    os.unlink(file)
    if whole[1] < 0.98 * whole[0] or after[1] == before[1]:
        raise kit.CannotMeasure(f'{whole[1]} whole stacks of {whole[0]}, {after[1] - before[1]} ticks')
    return (after[0] - before[0]) / (after[1] - before[1])


def measure_cost(results):
    kit.need('perf', 'linux-perf')
    _, seconds = row_sample.work(100)
    units = max(100, int(0.4 * 100 / seconds))
    ways = {
        'tables': ('chain-deep', row_sample.under_hotrun, {}),
        'dwarf': ('chain-deep', row_sample.under_perf, {'call_graph': 'dwarf'}),
        'framed': ('bench_deep', row_sample.under_hotrun, {}),
        'perf': ('bench_deep', row_sample.under_perf, {}),
    }
    cost = {name: [] for name in ways}
    for number in kit.each_round(10, 150):
        plain = {load: row_sample.work(units, load=load)[1] for load in ('chain-deep', 'bench_deep')}
        for name in kit.turned(list(ways), number):
            load, under, options = ways[name]
            took, count = under(units, load=load, hz=HZ, **options)[:2]
            cost[name].append((took - plain[load]) / count * 1e6)
        kit.say('  a sample costs: ' + ', '.join(f'{name} {cost[name][-1]:.2f} us' for name in ways))
    results.add('unwind', 'rounds', len(cost['perf']), '')
    for name, text in (('tables', '40 frames without frame pointers'), ('framed', '40 frames with them'),
                       ('perf', 'the same by perf record -g'),
                       ('dwarf', 'those without by perf record --call-graph dwarf')):
        results.add('unwind', text, kit.median(cost[name]), 'us', kit.spread(cost[name]))
    if kit.quantile(cost['perf'], 0.1) <= 0 or kit.median(cost['tables']) <= 0:
        raise kit.CannotMeasure('cost of a sample: lost in the noise of this machine')
    for name, peer, text, most in (
            ('tables', 'perf', 'without frame pointers / perf record -g with them', 1.5),
            ('tables', 'dwarf', 'without frame pointers / perf --call-graph dwarf', 0.15),
            ('framed', 'perf', 'with frame pointers / perf record -g', 1.0)):
        ratio = [a / b for a, b in zip(cost[name], cost[peer])]
        results.add('unwind', text, kit.median(ratio), 'x', kit.spread(ratio), at_most=most)


def measure_frames(results):
    shallow, deep = [], []
    for _ in range(2 if kit.quick() else 5):
        shallow.append(tick_ns(SHALLOW))
        deep.append(tick_ns(DEEP))
    a_us = [(DEEP - SHALLOW) / (d - s) * 1e3 for s, d in zip(shallow, deep)]
    results.add('unwind', 'a tick with 40 frames, by the kernel', kit.median(shallow) / 1e3, 'us',
                [ns / 1e3 for ns in kit.spread(shallow)])
    results.add('unwind', 'frames a microsecond', kit.median(a_us), '', kit.spread(a_us))


def measure_tables(results):
    program = os.path.join(kit.BUILD, 'bench', 'unwind_tables')
    if not os.access(program, os.X_OK):
        raise kit.CannotMeasure(f'{program}: not there; `make bench` builds it')
    root = os.path.dirname(os.path.realpath(kit.need('dotnet', 'dotnet-sdk-10.0 (of Microsoft)')))
    newest = sorted(glob.glob(f'{root}/shared/Microsoft.NETCore.App/10.*'))[-1:]
    libc = [line.split()[-1] for line in open('/proc/self/maps') if '/libc.so' in line or '/libc-' in line][:1]
    if not newest or not libc:
        raise kit.CannotMeasure('libc or the .NET runtime: not found')
    files = libc + [f'{newest[0]}/{name}' for name in ('libcoreclr.so', 'libclrjit.so', 'System.Private.CoreLib.dll')]
    took = []
    for _ in range(kit.rounds(7)):
        lines = [line.split() for line in
                 kit.run(['taskset', '-c', kit.WORK_CPU, program] + files).splitlines()]
        took.append(sum(float(line[0]) for line in lines))
    results.add('unwind', 'tables of libc, libcoreclr, libclrjit, CoreLib', kit.median(took), 'ms',
                kit.spread(took), at_most=150)
    results.add('unwind', 'their bytes', sum(int(line[1]) for line in lines) / 2**20, 'MiB', at_most=12)


def measure(results):
    measure_tables(results)
    measure_frames(results)
    measure_cost(results)
