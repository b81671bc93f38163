# SPDX-License-Identifier: GPL-2.0-or-later
"""Row `truth`: chains that hotrun saw beside those that `perf record --call-graph dwarf,16384` saw.

The same programs, recorded by one and by the other in turn: of hotrun's samples whose stack is whole, the
share whose chain of functions perf saw at least once. What has no name is told by its file. perf
copies 16 KiB of stack and walks them afterwards by the same tables, with another walker; so signals on a
stack of their own are not among the programs, nor are static ones, of which it finds no tables.
"""
import os
import re
import sys
from collections import Counter

import kit

sys.path.insert(0, 'tests/support')
import stacks  # noqa: E402

HZ = 997
SECONDS = 3


def programs():
    lib = os.path.join(kit.BUILD, 'workloads', 'chain-')
    main = kit.workload('chain-main')
    return {
        'a chain of 40': [main, 600, 'chain'],
        'every instruction of it': [main, 600, 'brief'],
        '300 calls of itself': [main, 600, 'deep', 300],
        'a signal': [main, 600, 'signal'],
        'signals anywhere': [main, 600, 'signal', 'brief'],
        'calls that never return': [main, 600, 'forever'],
        'through a library': [main, 1200, 'library', lib + 'first.so', lib + 'second.so'],
        'exceptions': [kit.workload('chain-throw'), 600],
        'xz': ['sh', '-c', 'exec xz -c -T1 /dev/zero >/dev/null'],
    }


def plain(name):
    """A name without what the two write differently: versions, what follows a clone's name, parameters."""
    name = re.sub(r'@@?\w.*|(?:\.| \[clone \.).*|\(.*\)$', '', name)
    return re.sub(r'^(?:__GI_+|__)?(\w+?)(?:_impl)?$', r'\1', name).lstrip('_')


def folded(frames):
    """(name or None, file) of each, root first: calls within what has no names are one."""
    out = []
    for name, file in frames:
        # Files of the C library have names for one of the two only.
        word = plain(name) if name and not re.match(r'(?:lib|ld-|\[)', file) else file
        if not out or out[-1] != word or not word.startswith(('lib', 'ld-', '[')):
            out.append(word)
    return ';'.join(out)


def of_hotrun(file, pid):
    """Counter of chains that are whole."""
    base, chains = stacks.Capture(file), Counter()
    for time, _, key, process in base.samples(pid, 1):
        stack = base.stacks.get(key)
        if not stack or stack[0] != stacks.ROOT:
            continue
        frames = []
        for name, address, _ in base.frames(process, stack, time):
            module = base.mapping(process, address).split('+')[0]
            frames.append((name if name != module else None, module))
        chains[folded(frames)] += 1
    return chains


def of_perf(data):
    """{pid: set of chains}."""
    text = kit.run(['perf', 'script', '-i', data, '--no-inline', '--max-stack', '1024', '-F', 'pid,ip,sym,dso'],
                   seconds=400)
    chains = {}
    for sample in text.split('\n\n'):
        lines = sample.strip('\n').split('\n')
        if not lines[0].strip().isdigit():
            continue
        frames = []
        for line in lines[1:]:
            found = re.match(r'\s+[0-9a-f]+ (.*) \((.*)\)$', line)
            if found and not found[2].startswith(('[kernel', '[guest')):
                name = None if found[1] == '[unknown]' else found[1]
                frames.append((name, found[2].split('/')[-1]))
        chains.setdefault(int(lines[0]), set()).add(folded(frames[::-1]))
    return chains


def measure(results):
    kit.need('perf', 'linux-perf')
    running = {name: kit.start(command) for name, command in programs().items()}
    data, file = kit.path('truth.data'), kit.path('truth.hotrun')
    perf = kit.start(['perf', 'record', '-q', '-B', '-m', '64M', '-e', 'cpu-clock', '-F', HZ, '--call-graph',
                      'dwarf,16384', '-p', ','.join(str(p.pid) for p in running.values()), '-o', data,
                      '--', 'sleep', str(4 * SECONDS)])
    perf.wait(60)
    tool = kit.hotrun_record(file, hz=HZ)
    kit.time.sleep(SECONDS + 1)
    tool.end()
    for program in running.values():
        program.end(kit.signal.SIGKILL)
    theirs = of_perf(data)
    os.unlink(data)
    samples = agreed = 0
    for name, program in running.items():
        ours = of_hotrun(file, program.pid)
        known = sum(count for chain, count in ours.items() if chain in theirs.get(program.pid, ()))
        total = sum(ours.values())
        if total < 50:
            raise kit.CannotMeasure(f'{name}: {total} whole stacks only')
        odd = [chain for chain, _ in ours.most_common() if chain not in theirs.get(program.pid, ())][:2]
        kit.say(f'  {name}: {known} of {total} samples, {len(ours)} chains; perf: {len(theirs.get(program.pid, ()))}'
                + ''.join(f'\n    not seen by perf: {chain[-300:]}' for chain in odd))
        results.add('truth', name, 100 * known / total, '%')
        samples, agreed = samples + total, agreed + known
    os.unlink(file)
    results.add('truth', 'all: chains that perf saw, too', 100 * agreed / samples, '%', at_least=99)
