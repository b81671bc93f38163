# SPDX-License-Identifier: GPL-2.0-or-later
"""Row `watch`: what the resident recorder costs, on an idle host and beside a busy .NET service.

CPU: of its own threads, and of its BPF programs by the kernel's statistics, in a pass of their own. Idle hosts, also with 10,000 threads that sleep and 100,000 connections of which
a tenth stands unanswered, with the governor off, so that nothing is given up; beside the service with all defaults, and
in the full gear without bound. Throughput of the service with and without, in turning order, as row `service` does.
"""
import os
import re
import time
import urllib.request

import kit
from row_itself import ring_kib
from web import Web, free_port

WINDOW, SETTLE = 3, 6
SLEEPERS = 10000
CONNECTIONS = 100000
# Per cent of all CPUs; of connections of one.
BUDGETS = {'idle host': 0.04, f'{SLEEPERS:,} sleepers': 0.15, 'busy host': 0.4,
           f'{CONNECTIONS:,} connections': 1 / os.cpu_count()}
WITHOUT_BOUND = ('--budget', '0')


class Watch:
    def __init__(self, *options):
        self.dir, self.port = kit.path('watch'), free_port()
        self.child = kit.start([kit.HOTRUN, 'watch', '--dir', self.dir, '--listen',
                                f'127.0.0.1:{self.port}', *options])
        end = time.monotonic() + 30
        while not self.ready():
            if self.child.poll() is not None or time.monotonic() > end:
                raise kit.CannotMeasure('hotrun watch: ' + self.child.output()[-300:])
            time.sleep(0.1)

    def get(self, path):
        with urllib.request.urlopen(f'http://127.0.0.1:{self.port}/{path}', timeout=5) as answer:
            return answer.read().decode()

    def ready(self):
        try:
            return self.get('readyz') is not None
        except OSError:
            return False

    def metric(self, name):
        found = re.search(rf'^{re.escape(name)}(?:{{[^}}]*}})? ([0-9.eE+-]+)$', self.get('metrics'), re.M)
        if not found:
            raise kit.CannotMeasure(f'/metrics lacks {name}')
        return float(found.group(1))

    def end(self):
        self.child.end(kit.signal.SIGTERM)


def cost(watch, seconds):
    """Over so long, of the host's CPUs, in per cent: (own, BPF programs, what the kernel's statistics take in their
    runs); and what the programs tell of themselves, of what is counted."""
    programs = kit.BpfTime(watch.child.pid)

    def look():
        return (time.monotonic(), kit.cpu_seconds(watch.child.pid),
                watch.metric('hotrun_bpf_seconds_total'))
    programs.begin()
    first = look()
    time.sleep(seconds)
    elapsed, own, told = [b - a for a, b in zip(first, look())]
    bpf, _, statistics = programs.end()
    return ([100 * part / elapsed / os.cpu_count() for part in (own, bpf, statistics)],
            told / (bpf + statistics))


def locked_bytes(pid):
    ids = kit.bpf_ids(pid, 'map')
    return sum(m.get('bytes_memlock', 0) for i, m in kit.bpf_objects('map').items() if i in ids)


def measure_cost(results, name, watch, seconds):
    (own, bpf, statistics), told = cost(watch, seconds)
    results.add('watch', f'{name}: its own CPU', own, '% of all CPUs')
    results.add('watch', f'{name}: BPF programs', bpf, '% of all CPUs')
    results.add('watch', f'{name}: statistics in these runs (left out)', statistics, '% of all CPUs')
    results.add('watch', f'{name}: both', own + bpf, '% of all CPUs',
                at_most=BUDGETS.get(name))
    results.add('watch', f'{name}: BPF time as it tells / as counted', told, 'x')
    rss = kit.status_kib(watch.child.pid, 'VmRSS') - ring_kib(watch.child.pid)
    results.add('watch', f'{name}: memory (VmRSS without ring pages)', rss / 1024, 'MiB')
    results.add('watch', f'{name}: BPF maps in the kernel', locked_bytes(watch.child.pid) / 2**20, 'MiB')


def measure_captures(results, watch):
    out = kit.run([kit.HOTRUN, 'trigger', '--dir', watch.dir, '--before', '15s', '--after', '15s'])
    capture = [line for line in out.splitlines() if line.endswith('.hotrun')][-1]
    base = capture[:-len('.hotrun')]
    for kind, ending in (('capture', 'hotrun'), ('report', 'txt'), ('page', 'html')):
        results.add('watch', f'{kind} of 30 s, busy host',
                    os.path.getsize(f'{base}.{ending}') / 2**20, 'MiB')


def window(web, with_watch):
    watch = Watch() if with_watch else None
    # It is resident: what it takes to start is not what it costs, nor what it does before its governor has a say.
    web.throughput(SETTLE)
    rate = web.throughput(WINDOW)
    if watch:
        watch.end()
    return rate


def measure_throughput(results, web):
    names = ('quiet', 'watch', 'again')
    rates = {name: [] for name in names}
    for number in kit.each_round(12, 240):
        for name in kit.turned(list(names), number):
            rates[name].append(window(web, name == 'watch'))
        kit.say('  requests/s ' + '  '.join(f'{n} {r[-1]:.0f}' for n, r in rates.items()))
    noise = [b / a for a, b in zip(rates['quiet'], rates['again'])]
    ratio = [2 * w / (a + b) for w, a, b in zip(rates['watch'], rates['quiet'], rates['again'])]
    results.add('watch', 'nothing / nothing (the noise)', kit.median(noise), 'x', kit.spread(noise))
    results.add('watch', 'throughput beside it / nothing', kit.median(ratio), 'x', kit.spread(ratio),
                at_least=0.99)


def beside(results, name, watch, seconds, argv, ready):
    crowd = kit.start(argv)
    crowd.wait_for(ready, 120)
    time.sleep(8)
    measure_cost(results, name, watch, seconds)
    crowd.end(kit.signal.SIGKILL)
    time.sleep(3)


def measure_busy(results, web, name, options, seconds):
    watch = Watch(*options)
    load = web.load(seconds + 60)
    time.sleep(40 if not kit.quick() else 15)  # the governor, too, has had its say
    measure_cost(results, name, watch, seconds)
    results.add('watch', f'{name}: level of the governor', watch.metric('hotrun_governor_level'), '')
    if not options:
        measure_captures(results, watch)
    watch.end()
    load.end()


def measure(results):
    seconds = 10 if kit.quick() else 60
    watch = Watch(*WITHOUT_BOUND)
    time.sleep(5)
    measure_cost(results, 'idle host', watch, seconds)
    beside(results, f'{SLEEPERS:,} sleepers', watch, seconds, [kit.workload('threads10k'), SLEEPERS, 600, 'asleep'], 'threads:')
    beside(results, f'{CONNECTIONS:,} connections', watch, seconds,
           [kit.workload('bench_connections'), CONNECTIONS, 90], 'ready')
    watch.end()
    web = Web()
    measure_busy(results, web, 'busy host', (), seconds)
    measure_busy(results, web, 'busy host, full gear', (*WITHOUT_BOUND, '--gear', 'full'), seconds)
    measure_throughput(results, web)
    web.end()
