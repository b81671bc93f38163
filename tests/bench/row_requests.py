# SPDX-License-Identifier: GPL-2.0-or-later
"""Row `requests`: what it costs to see the requests of services.

A static file of 100 bytes from nginx (one worker) under wrk: the shortest answer that a real server gives, so the
worst ratio. A round has its windows in turning order: nothing, twice `hotrun record --no-requests`, `hotrun
record`; the ratio of a round is its throughput with requests over the mean of the two without, that of these two to
each other the noise. The run time of the BPF programs is counted in a pass of its own (the counting slows them, so it
is an upper bound); the programs are those that a recording without requests does not have.
Memory: 100,000 connections that are open before the recording, all answered, and then one of ten not; kernel
side by the growth of unreclaimable slab memory, as in row `threads`.
"""
import os
import re
import signal
import time

import kit
from row_itself import ring_kib
from row_threads import slab_kib
from web import free_port

WINDOW = 3
CLIENTS = 16
CONNECTIONS = 100000

CONF = '''daemon off;
master_process off;
pid {folder}/nginx.pid;
error_log {folder}/nginx.error;
events {{ worker_connections 1000; }}
http {{
    access_log off;
    sendfile on;
    keepalive_requests 1000000000;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    server {{ listen 127.0.0.1:{port}; root {folder}/www; }}
}}
'''


class Static:
    def __init__(self):
        kit.need('wrk', 'wrk')
        kit.need('nginx', 'nginx-light')
        port = free_port()
        os.makedirs(kit.path('www'))
        os.chmod(kit.folder, 0o755)
        with open(kit.path('www/file'), 'w') as f:
            f.write('x' * 100)
        with open(kit.path('nginx.conf'), 'w') as f:
            f.write(CONF.format(folder=kit.folder, port=port))
        self.url = f'http://127.0.0.1:{port}/file'
        self.child = kit.start(['nginx', '-e', kit.path('nginx.error'), '-c', kit.path('nginx.conf')])
        time.sleep(0.5)
        self.wrk(1)

    def wrk(self, seconds):
        """(requests a second, requests) of so many seconds."""
        out = kit.run(['wrk', '-t', 1, '-c', CLIENTS, '-d', f'{seconds}s', self.url])
        rate = re.search(r'Requests/sec:\s+([0-9.]+)', out)
        count = re.search(r'(\d+) requests in', out)
        if re.search(r'Non-2xx|Socket errors', out) or not rate or not count:
            raise kit.CannotMeasure('wrk: ' + out[-300:])
        return float(rate.group(1)), int(count.group(1))


def record(*options):
    """A recording that has begun, with or without requests."""
    child = kit.start([kit.HOTRUN, 'record', '-q', '-o', kit.path('requests.hotrun'), *options])
    child.wait_for('recording ')
    return child


def end(tool):
    tool.end()
    if tool.returncode:
        raise kit.CannotMeasure('hotrun record failed: ' + tool.output()[-300:])
    os.unlink(kit.path('requests.hotrun'))


def window(static, options):
    tool = record(*options) if options is not None else None
    time.sleep(0.3)
    rate, _ = static.wrk(WINDOW)
    if tool:
        end(tool)
    return rate


def program_names(options):
    tool = record(*options)
    ids = kit.bpf_ids(tool.pid, 'prog')
    names = {p.get('name', '') for i, p in kit.bpf_objects('prog').items() if i in ids}
    end(tool)
    return names


def each_request(static):
    """(ns of BPF programs for each request, runs of them for each)"""
    seconds = 3 if kit.quick() else 10
    others = program_names(['--no-requests'])
    kit.bpf_stats(1)
    try:
        tool = record()
        ids = kit.bpf_ids(tool.pid, 'prog')

        def look():
            ours = [p for i, p in kit.bpf_objects('prog').items()
                    if i in ids and p.get('name', '') not in others]
            return (sum(p.get('run_time_ns', 0) for p in ours), sum(p.get('run_cnt', 0) for p in ours))
        first = look()
        _, count = static.wrk(seconds)
        last = look()
        end(tool)
    finally:
        kit.bpf_stats(0)
    ns, runs = [b - a for a, b in zip(first, last)]
    if not ns:
        raise kit.CannotMeasure('no BPF run time was counted')
    return ns / count, runs / count


def memory():
    """(peak KiB without rings, growth of slab KiB, hotrun's CPU in per cent of one) of one recording."""
    before = slab_kib()
    tool = record()
    peak = kit.PeakMemory(tool.pid)
    time.sleep(2)
    cpu = kit.cpu_seconds(tool.pid)
    time.sleep(4)
    cpu = 100 * (kit.cpu_seconds(tool.pid) - cpu) / 4
    grown, rings = slab_kib() - before, ring_kib(tool.pid)
    peak.pause = 0.002
    time.sleep(0.2)
    end(tool)
    peak.join(5)
    return peak.kib - rings, grown, cpu


def with_connections(answered):
    crowd = kit.start([kit.workload('bench_connections'), CONNECTIONS, answered])
    crowd.wait_for('ready', 120)
    time.sleep(1)
    seen = memory()
    crowd.end(signal.SIGKILL)
    time.sleep(3)  # the kernel takes the sockets away
    return seen


def measure_memory(results):
    memory()  # warms the page cache of the symbol files
    figures = {'none': [], 'answered': [], 'a tenth unanswered': []}
    for _ in kit.each_round(3, 150):
        figures['none'].append(memory())
        figures['answered'].append(with_connections(100))
        figures['a tenth unanswered'].append(with_connections(90))
    for name in ('answered', 'a tenth unanswered'):
        peak = [row[0] / 1024 for row in figures[name]]
        user = [1024 * (row[0] - none[0]) / CONNECTIONS for row, none in zip(figures[name], figures['none'])]
        kernel = [1024 * (row[1] - none[1]) / CONNECTIONS for row, none in zip(figures[name], figures['none'])]
        cpu = [row[2] for row in figures[name]]
        what = f'{CONNECTIONS:,} connections, {name}: '
        results.add('requests', what + 'memory (VmHWM without ring pages)', kit.median(peak), 'MiB',
                    kit.spread(peak))
        results.add('requests', what + 'user side, each', kit.median(user), 'B', kit.spread(user))
        results.add('requests', what + 'kernel, each', kit.median(kernel), 'B', kit.spread(kernel))
        results.add('requests', what + 'hotrun', kit.median(cpu), '% of a CPU', kit.spread(cpu))


def measure(results):
    static = Static()
    tools = [('nothing', None), ('without', ['--no-requests']), ('with', []), ('again', ['--no-requests'])]
    rates = {name: [] for name, _ in tools}
    for number in kit.each_round(20, 320):
        for name, options in kit.turned(tools, number):
            rates[name].append(window(static, options))
        kit.say('  requests/s ' + '  '.join(f'{n} {r[-1]:.0f}' for n, r in rates.items()))
    without = [(a + b) / 2 for a, b in zip(rates['without'], rates['again'])]
    noise = [b / a for a, b in zip(rates['without'], rates['again'])]
    results.add('requests', 'rounds', len(without), '')
    results.add('requests', 'requests a second, nothing attached', kit.median(rates['nothing']), '/s',
                kit.spread(rates['nothing']))
    results.add('requests', 'without / without (the noise)', kit.median(noise), 'x', kit.spread(noise))
    for name, base, what in (('with', without, 'with requests / without'),
                             ('with', rates['nothing'], 'with requests / nothing attached')):
        ratio = [w / b for w, b in zip(rates[name], base)]
        results.add('requests', 'throughput ' + what, kit.median(ratio), 'x', kit.spread(ratio))
    each = [each_request(static) for _ in range(1 if kit.quick() else 3)]
    for index, what, unit in ((0, 'BPF programs, each request', 'ns'), (1, 'their runs, each request', '')):
        values = [row[index] for row in each]
        results.add('requests', what, kit.median(values), unit, kit.spread(values))
    static.child.end(signal.SIGKILL)
    measure_memory(results)
