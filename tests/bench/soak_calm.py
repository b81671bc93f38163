# SPDX-License-Identifier: GPL-2.0-or-later
"""tests/bench/soak.sh's part `calm`: two services that are fast while all CPUs are in use, a build and a batch
job beside them. `hotrun watch` with all defaults is to capture nothing. SOAK_SECONDS (1800)."""
import os
import re
import signal
import sys
import time

import kit
from soak import Checks
from soak_stalls import Service, captured, watch_start

SECONDS = float(os.environ.get('SOAK_SECONDS') or 1800)


def build(folder):
    """A build that is done again and again."""
    command = ('while :; do rm -rf "$0/obj" "$0/bin"; dotnet build tests/workloads/Split/Split.csproj -v quiet -nologo '
               '--disable-build-servers -nodeReuse:false -p:UseSharedCompilation=false '
               '-p:BaseIntermediateOutputPath="$0/obj/" -p:MSBuildProjectExtensionsPath="$0/obj/" -o "$0/bin"; done')
    return kit.start(['sh', '-c', command, folder], start_new_session=True, env=dict(os.environ, DOTNET_NOLOGO='1'))


def end_session(child):
    os.killpg(child.pid, signal.SIGKILL)
    child.wait()


def p99_ms(text):
    """Of 99 % of the requests."""
    unit = {'us': 1e-3, 'ms': 1, 's': 1e3, 'm': 6e4}
    p99 = re.search(r'99%\s+([0-9.]+)(\w+)', text)
    if not p99:
        raise kit.CannotMeasure('wrk: ' + text[-300:])
    return float(p99.group(1)) * unit[p99.group(2)]


def main():
    checks = Checks()
    kit.prepare()
    kit.run(['tests/support/dotnet.sh', 'Hang', 'Split'], seconds=300, env=os.environ)
    services = [Service(1), Service(2)]
    folder, made = kit.path('watch'), kit.path('build')
    os.mkdir(made)
    tool = watch_start(folder, ())
    others = build(made)
    batch = kit.start(['sh', '-c', 'while :; do xz -T1 -1 -c "$0" >/dev/null; done', kit.HOTRUN], start_new_session=True)
    loads = [kit.start(['wrk', '-t1', '-c4', f'-d{SECONDS:.0f}s', '--latency',
                        f'http://127.0.0.1:{s.port}/busy?us=300']) for s in services]
    before, began = kit.busy_seconds(), time.monotonic()
    try:
        while time.monotonic() - began < SECONDS:
            time.sleep(1)
            if tool.poll() is not None:
                raise kit.CannotMeasure('watch: ' + tool.output()[-300:])
        busy = (kit.busy_seconds() - before) / (time.monotonic() - began) / os.cpu_count()
    finally:
        end_session(others)
        end_session(batch)
        for load in loads:
            load.wait()
        usage = tool.end()
        for service in services:
            service.end()
    for load in loads:
        kit.say('  wrk: 99 % of the requests within ' + f'{p99_ms(load.output()):.1f} ms')
    kit.say(f'  {100 * busy:.1f} % of the CPUs in use; hotrun used '
            f'{100 * (usage.ru_utime + usage.ru_stime) / SECONDS / os.cpu_count():.2f} % of them')
    new = captured(folder, ())
    checks.check(max(p99_ms(load.output()) for load in loads) < 500, 'the services were fast')
    checks.check(busy > 0.9, f'the host was busy: {100 * busy:.1f} %')
    checks.check(not new, f'captures in {SECONDS:.0f} s: {len(new)}')
    for line in tool.output().splitlines():
        if 'taking a capture' in line or 'no capture' in line:
            print('        ' + line)
    return 1 if checks.failed else 0


if __name__ == '__main__':
    try:
        sys.exit(main())
    except kit.CannotMeasure as why:
        print(f'calm: {why}', file=sys.stderr)
        sys.exit(2)
