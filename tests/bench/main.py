# SPDX-License-Identifier: GPL-2.0-or-later
"""tests/bench/run.sh's inside: measures the rows asked for, prints the table."""
import os
import platform
import subprocess
import sys
import time

import kit
import row_diff
import row_forms
import row_html
import row_images
import row_itself
import row_managed
import row_mapcost
import row_notice
import row_perfmap
import row_recover
import row_requests
import row_sample
import row_service
import row_snapshot
import row_spinners
import row_stacks
import row_switch
import row_threads
import row_top
import row_truth
import row_unwind
import row_watch
from table import Results

ROWS = {
    'switch': (row_switch.measure, 'added cost of a context switch, beside runqlat, bpftrace, perf'),
    'sample': (row_sample.measure, 'one on-CPU sample with stacks, beside perf record -g'),
    'stacks': (row_stacks.measure, 'share of whole stacks by program, without and with tables'),
    'truth': (row_truth.measure, 'stacks beside those of perf record --call-graph dwarf'),
    'unwind': (row_unwind.measure, 'cost of walks by tables, and of the tables'),
    'service': (row_service.measure, 'what a busy web service loses while it is recorded'),
    'requests': (row_requests.measure, 'seeing requests: each, throughput, 100,000 connections'),
    'itself': (row_itself.measure, "hotrun's own CPU time and memory with 200 processes"),
    'html': (row_html.measure, 'last sample to page, capture to page, beside perf script'),
    'diff': (row_diff.measure, 'whether a method that got 10 % dearer is found, and nothing else'),
    'perfmap': (row_perfmap.measure, 'a perf map of a million lines'),
    'managed': (row_managed.measure, 'share of managed frames that have a name'),
    'forms': (row_forms.measure, 'the same with nothing set, by how the service was published'),
    'images': (row_images.measure, 'the precompiled images of a web service'),
    'mapcost': (row_mapcost.measure, 'what a perf map costs the service that writes it'),
    'threads': (row_threads.measure, 'memory with 10,000 threads'),
    'top': (row_top.measure, '`hotrun top` at 1 s with 500 processes'),
    'watch': (row_watch.measure, 'the resident recorder, idle and beside a busy service'),
    'spinners': (row_spinners.measure, '64 spinners on 2 CPUs: losses, progress, Ctrl-C'),
    'notice': (row_notice.measure, 'whether a busy service notices a look at where its threads stand'),
    'recover': (row_recover.measure, 'what stands among 1,000 processes: seconds, and whether it is those'),
    'snapshot': (row_snapshot.measure, 'seconds to an answer under 80 and 400 spinners, and without memory'),
}


def main(args):
    if args == ['--list']:
        for name, (_, text) in ROWS.items():
            print(f'{name:<10}{text}')
        return 0
    unknown = [a for a in args if a not in ROWS]
    if unknown:
        print(f'{unknown[0]}: no such row; one of: {" ".join(ROWS)}', file=sys.stderr)
        return 2
    kit.prepare()
    if os.cpu_count() < 2:
        print('two CPUs are needed: the measured work has one of its own', file=sys.stderr)
        return 2
    results = Results()
    for name in args or ROWS:
        kit.say(f'{name}: {ROWS[name][1]}')
        began = time.monotonic()
        try:
            ROWS[name][0](results)
        except (kit.CannotMeasure, subprocess.SubprocessError, OSError) as error:
            results.cannot(name, str(error))
        kit.stop_all()
        kit.say(f'{name}: {time.monotonic() - began:.0f} s')
    print(f'{platform.node()}: Linux {platform.release()} {platform.machine()}, '
          f'{os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}, '
          f'{time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime())}'
          + (f', ROUNDS={os.environ["ROUNDS"]}' if 'ROUNDS' in os.environ else ''))
    results.print()
    results.keep(os.path.join(kit.BUILD, 'bench.tsv'))
    return results.exit_code()


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
