# SPDX-License-Identifier: GPL-2.0-or-later
"""Row `diff`: whether `hotrun diff` finds a method that became 10 % dearer, and names nothing else.

A web service keeps both CPUs busy; half of its CPU time is one method's. Recordings of a minute follow each other,
in which that method takes 100 % and 110 % of its usual work in turn: each beside its neighbour is a pair in which
it grew or shrank by a tenth, each beside the one after the next a pair of one load, in which nothing changed. All
by one process: what differs from start to start is not in it. Told is of this service alone.
"""
import json
import time

import kit
from web import Web, without_dotnet

METHOD = 'Shop.Orders.Basket.Tax'
CHANGE = 0.10


def difference(before, after):
    return json.loads(kit.run([kit.HOTRUN, 'diff', '-p', 'Shop.Web', '--format', 'json', '--rows', 0,
                               before, after]))


def named_methods(found):
    return [c for c in found['changed'] if c['of'] == 'self']


def say_named(pair, told):
    for c in told['changed']:
        kit.say(f"  {pair}: {c['of']} {c['method']}: {c['samples_before']} -> {c['samples_after']} samples, "
                f"{100 * (c['change_of_before'] or 0):+.1f} %, chance {c['chance']:.2g}")


def measure(results):
    if without_dotnet():
        raise kit.CannotMeasure('needs a .NET SDK')
    seconds, count = (6, 3) if kit.quick() else (60, 11)
    web = Web(warm_up=0)
    captures = []
    # Until all is compiled that will be: some of it a minute after it became busy.
    kit.run(['wrk', '-t', 1, '-c', 16, '-d', '3s' if kit.quick() else '60s', web.url('basket/100')])
    for number in range(count):
        load = web.load(seconds + 6, f'basket/{100 + number % 2 * round(100 * CHANGE)}')
        time.sleep(2)  # the other kind of request is gone
        captures.append(kit.path(f'diff{number}.hotrun'))
        kit.run([kit.HOTRUN, 'record', '-q', '-d', seconds, '-o', captures[-1]], seconds=seconds + 60)
        load.end()
    found, sizes, others, shares, same, processes = 0, [], 0, [], 0, 0
    for number, (before, after) in enumerate(zip(captures, captures[1:])):
        if number % 2:
            before, after = after, before
        told = difference(before, after)
        grown = [c for c in named_methods(told) if c['method'] == METHOD and c['change'] > 0]
        found += bool(grown)
        sizes += [100 * c['change_of_before'] for c in grown]
        others += sum(c['method'] != METHOD for c in named_methods(told))
        shares += [100 * c['samples_before'] / told['before']['samples'] for c in grown]
        kit.say(f'  pair {number + 1}: ' + (f'+{sizes[-1]:.1f} %' if grown else 'not found'))
    pairs = list(zip(captures, captures[2:]))
    for number, (before, after) in enumerate(pairs):
        told = difference(before, after)
        say_named(f'of one load {number + 1}', told)
        same += bool(told['changed'])
        processes += any(p['certain'] for p in told['processes'])
    took = kit.cpu_of([kit.HOTRUN, 'diff', captures[0], captures[1]], 3 if kit.quick() else 7)
    samples = kit.median([difference(a, b)['before']['samples'] for a, b in pairs])
    row = 'diff'
    results.add(row, f'samples of a recording of {seconds} s', samples, '')
    if shares:
        results.add(row, "of them in the method, its own", kit.median(shares), '%')
    results.add(row, f'pairs with the method {100 * CHANGE:.0f} % dearer that name it', found, f'of {count - 1}',
                at_least=None if kit.quick() else 0.9 * (count - 1))
    if sizes:
        results.add(row, 'its growth, as told', kit.median(sizes), '%', spread=kit.spread(sizes))
    results.add(row, 'other methods named beside it, in all pairs', others, '')
    results.add(row, 'pairs of one load in which anything is named', same, f'of {len(pairs)}',
                at_most=None if kit.quick() else 1)
    results.add(row, 'pairs of one load in which a process is', processes, f'of {len(pairs)}')
    results.add(row, 'CPU time of one comparison', 1000 * kit.median(took), 'ms', spread=[
        1000 * t for t in kit.spread(took)])
