# SPDX-License-Identifier: GPL-2.0-or-later
"""Row `stacks`: the share of samples whose stack is whole, by program.

Walked along frame pointers alone and by tables, in turn: a web service under load, `dotnet build`, and
programs of the distribution. From 1 s after the recording's start on; of `dotnet build` and git all processes.
Beside it, walked by tables: the share of whole stacks in which some frame says that its callers may be missing,
3 s after the start.
"""
import os
import subprocess

import capture
import kit
from web import Web

SECONDS = 5
HZ = 499
HOW = ('fp', 'tables')
PYTHON = 'while True: sorted({str(i): i for i in range(20000)})'
SQL = 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT sum(i * i % 7) FROM n'
NODE = 'for (;;) JSON.parse(JSON.stringify([...Array(10000).keys()].map(String)))'


def distribution():
    """{name: command} of those that are there, each of which computes until it is ended."""
    commands = {
        'python3': ['/usr/bin/python3', '-c', PYTHON],
        'xz': ['sh', '-c', 'exec xz -9 -c -T1 /dev/zero >/dev/null'],
        'openssl speed': ['openssl', 'speed', '-seconds', '30', 'sha256', 'rsa2048'],
        'git log -p': ['sh', '-c', 'while :; do git --no-pager log -p >/dev/null; done'],
        'git log -p -30, a process after the other':
            ['sh', '-c', 'while :; do git --no-pager log -p -30 >/dev/null; done'],
        'sqlite3': ['sqlite3', ':memory:', SQL],
        'node': ['node', '-e', NODE],
    }
    return {name: command for name, command in commands.items()
            if subprocess.call(['sh', '-c', f'command -v {name.split()[0]} >/dev/null']) == 0}


def recording(how, run):
    """What run(tool) did, recorded; the capture's path."""
    file = kit.path(f'stacks.{how}.hotrun')
    tool = kit.hotrun_record(file, hz=HZ, options=['--stacks', how])
    run()
    tool.end()
    return file


def shares_of(file, how, pid):
    """What show() takes."""
    found = {how: capture.whole_stacks(file, pid)}
    if how == 'tables':
        found['later'] = capture.whole_stacks(file, pid, after=3)
    return found


def show(results, name, shares):
    """`shares`: {how: (samples, whole, unsure)}, and 'later'."""
    for how in HOW:
        samples, whole, unsure = shares[how]
        if samples < 50:
            raise kit.CannotMeasure(f'{name}: {samples} samples only')
        kit.say(f'  {name}, {how}: {samples} samples, {100 * whole / samples:.2f} % whole, '
                f'{100 * unsure / samples:.2f} % unsure')
    # Of a process that is new its files are not known for a moment.
    least = 99.5 if name.startswith('ASP') else None if 'a process' in name else 99
    results.add('stacks', f'{name}, by frame pointers', 100 * shares['fp'][1] / shares['fp'][0], '%')
    results.add('stacks', f'{name}, by tables', 100 * shares['tables'][1] / shares['tables'][0], '%',
                at_least=least)
    samples, _, unsure = shares['later']
    if unsure:
        results.add('stacks', f'{name}, callers may be missing', 100 * unsure / samples, '%')


def measure_distribution(results):
    shares, programs = {}, {}
    for how in HOW:
        # Started anew: those that end by themselves must not.
        programs = {name: kit.start(command) for name, command in distribution().items()}
        file = recording(how, lambda: kit.time.sleep(SECONDS + 1))
        for name, program in programs.items():
            shares.setdefault(name, {}).update(shares_of(file, how, program.pid))
            program.end(kit.signal.SIGKILL)
        os.unlink(file)
    for name, by_how in shares.items():
        show(results, name, by_how)


def measure_web(results):
    web, shares = Web(), {}
    for how in HOW:
        load = web.load(SECONDS + 4)
        file = recording(how, lambda: kit.time.sleep(SECONDS + 1))
        load.end(kit.signal.SIGTERM)
        shares.update(shares_of(file, how, web.pid))
        os.unlink(file)
    web.end()
    show(results, 'ASP.NET under wrk', shares)


def measure_build(results):
    kit.need('dotnet', 'dotnet-sdk-10.0 (of Microsoft)')
    out, shares = kit.path('build'), {}
    command = ['dotnet', 'build', 'tests/workloads/Split/Split.csproj', '-c', 'Release', '-o', f'{out}/out', '-nologo',
               '-v', 'quiet', '-nodeReuse:false', '-p:UseSharedCompilation=false', '--no-incremental',
               f'-p:BaseIntermediateOutputPath={out}/obj/', f'-p:MSBuildProjectExtensionsPath={out}/obj/']
    more = dict(env=dict(os.environ, DOTNET_PerfMapEnabled='3', DOTNET_NOLOGO='1', DOTNET_CLI_TELEMETRY_OPTOUT='1'))
    for how in HOW:
        builds = []

        def run():
            builds.append(kit.start(command, **more))
            builds[0].wait(120)

        file = recording(how, run)
        if builds[0].returncode:
            raise kit.CannotMeasure('dotnet build: ' + builds[0].output()[-300:])
        shares.update(shares_of(file, how, builds[0].pid))
        os.unlink(file)
    show(results, 'dotnet build', shares)


def measure(results):
    measure_distribution(results)
    measure_build(results)
    measure_web(results)
