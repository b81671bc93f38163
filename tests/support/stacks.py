# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares the stacks in a capture with call chains that are known (tests/workloads/chain, Chain).

stacks.py frameless PID                 of the methods Links.L00 and so on that are optimized: those that keep no frame
                                        pointer, all of them
stacks.py CAPTURE SECONDS PID=LOAD...   from so many seconds after the start on, and since the tables of its code
                                        were there, of each program a line:
                                        PID LOAD samples whole known unsure wrong
    whole: that reach the root; known: whole ones that are a known chain to the last frame; unsure: whole
    ones that say that callers may be missing; wrong: whole ones that are neither. The commonest of what is broken or wrong follow, with their addresses, on lines
    that begin with #. LOAD `any` says nothing of its chains.
"""
import re
import sqlite3
import struct
import sys
from collections import Counter

ROOT, NOT_YET = 1, 3  # enum stack_end in bpf/events.h
BROKEN, FLAG_UNSURE = 256, 4  # of stack.flags
UNSURE = 1 << 63
RING = 128  # STACK_ROOT_FRAMES

# What a C library is called where it has no symbols, and with them; calls of it begin in the program's own table.
LIBC = r'(?:;(?:libc\.so\.6|__libc_start\w*|libc_start_main\w*|_start_c|_start|_dl_relocate_static_pie))'
CLOCK = r'(?:;(?:\w*clock_gettime\w*|\[vdso\]|libc\.so\.6|chain-main))*'
MAIN = rf'_start{LIBC}{{0,3}};main'
RESTORER = r';(?:__restore_rt|__restore|libc\.so\.6|chain-static|chain-musl)'
HANDLER = rf'{RESTORER};on_timer;h0;h1;h2;handler_leaf'
LINKS = [f'f{i:02}' for i in range(40)]


def chain(*names):
    return ''.join(f';{name}' for name in names)


def some(*names):
    """The chain or any part of it that begins with its first name: between two calls."""
    text = ''
    for name in reversed(names):
        text = f'(?:;{name}{text})?'
    return text


def handled(text):
    """The same, interrupted by the timer's signal, or in its handler's first and last instructions."""
    return rf'{text}(?:{RESTORER}(?:;on_timer{some("h0", "h1", "h2", "handler_leaf")})?)?'


# musl has no tables of its own code: its functions below main are the last that are found.
MUSL = '(?:libc_start_main_stage2;)?main'
BRIEF = MAIN + some(*LINKS, 'leaf')
BURNT = MAIN + some(*LINKS, 'leaf' + CLOCK) + CLOCK
ASYNC = r'Program\.Async\d(?: \(async\))?'
LOADS = {
    'any': None,
    'chain': BURNT,
    'brief': BRIEF + CLOCK,
    'signal': handled(BURNT),
    'musl-signal': handled(BURNT).replace(MAIN, MUSL),
    'signal-brief': handled(BRIEF + CLOCK),
    'library': '_start;main(?:;use_library)?' + some('a0', 'a1', 'through', '(?P<library>first|second)_outer',
                                                     '(?P=library)_inner', 'b0', 'leaf'),
    'forever': MAIN + chain('n0', 'n1', 'n2', 'never') + CLOCK,
    'throw': '_start;main' + some('try_all') + '(?:;caught|;t0' + some('t1', '(?:t2|Burner::~Burner)') + ')?',
    # Of what waits, the rest of a method is called by the pool of threads.
    'managed': 'Program.Main(?:' + '|'.join(('',
        some(*(f'Links.L{i:02}' for i in range(40)), 'Leaves.Chain'),
        some('Program.Interface', 'Derived.Call', 'Base.Call', 'Leaves.Virtual'),
        some('Native.There0', 'Native.There1', 'through', 'first_outer', 'first_inner', 'Native.Back0',
             'Native.Back1', 'Leaves.Back'),
        some('Native.Down0', 'Native.Down1', 'burn', 'first_high', 'first_low', 'first_burn'),
        some('Made.Call', 'Emitted', 'Made.Between', 'compiled', 'Leaves.Dynamic'),
        some('Program.Loop', 'Leaves.Replaced'),
        some('Program.Try', 'Program.Through', 'Program.Thrower',
             '(?:Program.Through(?:;Leaves.Finally)?|Program.Try(?:;Leaves.Caught)?)'))) + ')|' +
               f'(?:{ASYNC}(?:;{ASYNC})*)?|(?:{ASYNC};)*Program.Async1 .async.;Leaves.Awaited',
    'deep': MAIN + '(?:(?:;recurse){LEVELS};leaf|(?:;recurse){,LEVELS})' + CLOCK,
}

# Of these the frames of libraries are not compared; and what stands around names is left away.
NOISE = r'^Chains\.|^<dynamic>\.|(?:\.| \[clone \.)cold.*'
OWN = {
    'managed': re.compile(r'Chains\..*|<dynamic>\..*|through|burn|first_\w+').fullmatch,
    'library': re.compile(r'_start|main|use_library|a[01]|through|(?:first|second)_\w+|b0|leaf').fullmatch,
    'throw': re.compile(r'_start|main|try_all|caught|t[0-2](?:| .*|\..*)|Burner.*').fullmatch,
}


class Capture:
    def __init__(self, path):
        self.db = db = sqlite3.connect(f'file:{path}?mode=ro', uri=True)
        db.text_factory = lambda b: b.decode(errors='replace')
        self.start_ns = db.execute('SELECT start_ns FROM host').fetchone()[0]
        self.symbols = dict(db.execute('SELECT id, CASE reason WHEN 0 THEN name ELSE module END FROM symbol'))
        self.stacks = {key: row for key, *row in
                       db.execute('SELECT key, "end", left_out, flags, frames FROM stack')}
        self.places = {}
        for process, address, since, symbol in db.execute(
                'SELECT process, address, from_ns, symbol FROM location ORDER BY from_ns'):
            self.places.setdefault((process, address), []).append((since, symbol))

    def samples(self, tgid, after_s):
        """(time, thread, its stack's row, process) of each sample in user code or below it."""
        for row in self.db.execute(
                '''SELECT s.time_ns, t.tid, s.user_stack, t.process FROM sample s
                JOIN thread t ON t.id = s.thread JOIN process p ON p.id = t.process
                WHERE p.tgid = ? AND s.time_ns >= ? ORDER BY s.time_ns''', (tgid, self.start_ns + int(after_s * 1e9))):
            yield row

    def name(self, process, address, time):
        rows = self.places.get((process, address))
        if not rows:
            return '?'
        before = [symbol for since, symbol in rows if since <= time]
        return self.symbols[before[-1] if before else rows[0][1]]

    def mapping(self, process, address):
        row = self.db.execute(
            '''SELECT coalesce(m.path, ''), a.start, a.file_offset FROM mapping a LEFT JOIN module m ON m.id = a.module
            WHERE a.process = ? AND a.start <= ? AND ? < a."end" ORDER BY a.number DESC''',
            (process, address, address)).fetchone()
        return f'{row[0].split("/")[-1]}+{address - row[1] + row[2]:#x}' if row else f'{address:#x}'

    def frames(self, process, stack, time):
        """(name, address looked up, unsure) of each frame, root first."""
        end, left_out, flags, blob = stack
        words = struct.unpack(f'<{len(blob) // 8}Q', blob)
        # A signal interrupts at an address, all others called from before one.
        out, is_call = [], False
        for word in words:
            address = word & ~UNSURE
            looked_up = address - is_call
            if (process, looked_up) not in self.places and (process, address) in self.places:
                looked_up = address
            out.append((self.name(process, looked_up, time), looked_up, bool(word & UNSURE)))
            is_call = True
        return out[::-1]


def frameless(pid):
    """By the first byte of their code: push %rbp, or not."""
    newest = {}
    for line in open(f'/tmp/perf-{pid}.map', errors='replace'):
        found = re.match(r'0x(\w+) \w+ .*Chains\.Links::(L\d\d)\b.*\[Optimized', line)
        if found:
            newest[found[2]] = int(found[1], 16)
    with open(f'/proc/{pid}/mem', 'rb') as memory:
        first = []
        for address in newest.values():
            memory.seek(address)
            first.append(memory.read(1))
    print(sum(byte != b'\x55' for byte in first), len(first))


def main(path, after_s, *programs):
    capture = Capture(path)
    for program in programs:
        pid, load = program.split('=')
        load, _, levels = load.partition(':')
        shape = load.removesuffix('-once')
        pattern = LOADS[shape]
        own = OWN.get(shape, lambda name: True)
        pattern = pattern and re.compile(pattern.replace('LEVELS', levels))
        counts, odd = Counter(), Counter()
        for time, tid, key, process in capture.samples(int(pid), float(after_s)):
            stack = capture.stacks.get(key)
            # On a host that is slow to read files.
            if stack and stack[0] == NOT_YET and not counts['samples']:
                odd['before its tables were there', ''] += 1
                continue
            counts['samples'] += 1
            if not stack:
                odd['no stack', ''] += 1
                continue
            frames = capture.frames(process, stack, time)
            names = [re.sub(NOISE, '', name) for name, _, _ in frames if own(name)]
            # What was left out in the middle is what stands on both of its sides.
            if stack[1] and names[RING - 1] == names[RING]:
                names[RING:RING] = [names[RING]] * stack[1]
            text = ';'.join(names)
            whole = stack[0] == ROOT or shape.startswith('musl-') and not stack[2] & BROKEN
            known = bool(whole and pattern and pattern.fullmatch(text))
            unsure = bool(stack[2] & FLAG_UNSURE) or any(unsure for _, _, unsure in frames)
            counts['whole'] += whole
            counts['known'] += known
            counts['wrong'] += bool(whole and pattern and not known and not unsure)
            counts['unsure'] += whole and unsure
            if not whole or pattern and not known:
                shown = frames[:4] + [('...', 0, False)] + frames[-10:] if len(frames) > 16 else frames
                odd[f'end {stack[0]}, flags {stack[2]}, {len(frames)} frames, {stack[1]} left out',
                    ' '.join(f'{name}{"!" if unsure else ""}({capture.mapping(process, address)})'
                             for name, address, unsure in shown)] += 1
        print(pid, load, *(counts[word] for word in ('samples', 'whole', 'known', 'unsure', 'wrong')))
        for (what, text), count in odd.most_common(4):
            print(f'# {count} x {what}: {text}')


if __name__ == '__main__':
    frameless(*sys.argv[2:]) if sys.argv[1] == 'frameless' else main(*sys.argv[1:])
