# SPDX-License-Identifier: GPL-2.0-or-later
"""Figures that the live tests compare with, worked out apart from hotrun's own code.

facts.py truth FILE START_NS END_NS      seconds of wall, process CPU, first way, second way
facts.py share FOLDED PROCESS FRAME      samples with that frame, samples of the process
facts.py jit CAPTURE TGID                JIT frames with a name, all JIT frames, in samples
facts.py managed CAPTURE TGID [EXE]      managed frames with a name, all of them, in samples; then a line per
                                         reason of the others: frames, per cent, reason. EXE: a single-file
                                         program, whose assemblies lie behind what ELF loads of it
facts.py same CAPTURE OTHER TGID         JIT frames of methods with a name in both, of these with the same name, those
                                         with a name in CAPTURE, in samples; then a line per difference: frames,
                                         the one name, the other. OTHER: the same capture with names from elsewhere
facts.py enable PID [3|1|off]            asks the runtime for a perf map (3), with jitdump (1), or to end it
facts.py reasons CAPTURE TGID            a line per reason of leaf frames: samples word
facts.py phases CAPTURE TGID TRUTH       samples with a name of their phase, with one of another, addresses
                                         that had names of several phases
facts.py each CAPTURE TGID TRUTH         leaf frames in dynamic methods: all, with the right name, with a wrong
                                         one, methods a second, without one since memory was read too late
facts.py books CAPTURE                   seconds: CPUs x elapsed, of all CPUs, of all accounts
facts.py delays RUNQ BPFTRACE            run delays that each counted, the largest difference of their
                                         cumulative shares in per cent
facts.py requests CAPTURE PORT [FIELD VALUE]  of the endpoints of a port (with tgid or netns VALUE alone), as
                                         words of a shell: sums, the most of a slice, p50 and p99 in us
facts.py verdict JSON host|TGID...       of `report --format json`: the verdict of the host, or the worst of those
                                         processes
facts.py clean text|html FILE...         no byte that a terminal or a browser would obey
facts.py folded FILE                     every line is frames, a space and a number
facts.py strace FILE FOLDER              system calls that a mere observer does not make
facts.py names TRUTH FOLDED PROCESS HOW  a line per caller of Burn.Spin: samples, the fewest and the most
                                         that its CPU time allows, its name; HOW: display, mine (with what
                                         just my code folds) or raw (by method alone)
facts.py calls FOLDED PROCESS FRAME      a line per number of times that the frame stands on a stack: times,
                                         samples; commonest first
facts.py own_ms OUTPUT COMMAND...        runs it; its exit code, and how long it took without the time in which its
                                         first thread waited for a CPU
facts.py watch OBSERVER PID...           until that process ends: looks at the threads of the others, how
                                         many times one was traced, their states in turn
"""
import bisect
import glob
import json
import os
import re
import socket
import sqlite3
import struct
import subprocess
import sys
import time


def truth(path, start, end):
    rows = [tuple(map(int, line.split())) for line in open(path) if line.count(' ') == 3]
    start, end = int(start), int(end)

    def at(time):
        i = bisect.bisect_left(rows, (time,))
        if i == 0 or i == len(rows):
            sys.exit(f'{path}: says nothing about that time')
        a, b = rows[i - 1], rows[i]
        part = (time - a[0]) / (b[0] - a[0])
        return [x + (y - x) * part for x, y in zip(a, b)]

    print(*(f'{(b - a) / 1e9:.6f}' for a, b in zip(at(start), at(end))))


def folded_lines(path):
    for line in open(path, 'rb').read().decode().splitlines():
        stack, count = line.rsplit(' ', 1)
        yield [re.sub(r'_\[[kj]\]$', '', frame) for frame in stack.split(';')], int(count)


def share(path, process, frame):
    hits = total = 0
    for frames, count in folded_lines(path):
        if frames[0] == process:
            total += count
            hits += count if frame in frames else 0
    print(hits, total)


def runq_slots(path):
    """{slot: count} of the first histogram that `hotrun runq` printed."""
    slots, begun = {}, False
    for line in open(path):
        row = re.match(r' *(\d+) -> \d+ +: (\d+)', line)
        if row:
            begun = True
            slots[max(int(row[1]).bit_length() - 1, 0)] = int(row[2])
        elif begun:
            break
    return slots


def bpftrace_slots(path, from_ms, to_ms):
    """{name: {slot: count}} of maps that bpftrace printed with hist(), time and again after a line `at N ms`: by how
    much they rose between the first and the last time within from_ms..to_ms; and the seconds between these."""
    units = {'': 0, 'K': 10, 'M': 20}
    shown, of = [], None
    for line in open(path):
        at = re.match(r'at (\d+) ms', line)
        if at:
            shown.append((int(at[1]), {}))
        if line.startswith('@'):
            of = line.strip(':@ \n')
        row = re.match(r'\[(\d+)([KM]?)(?:, \w+\))?\]? +(\d+) \|', line)
        if row and shown:
            slot = max(int(row[1]).bit_length() - 1, 0) + units[row[2]]
            slots = shown[-1][1].setdefault(of, {})
            slots[slot] = slots.get(slot, 0) + int(row[3])
    shown = [s for s in shown if from_ms <= s[0] <= to_ms]
    if len(shown) < 2:
        sys.exit(f'bpftrace told nothing between {from_ms} and {to_ms} ms')
    (first_ms, was), (last_ms, now) = shown[0], shown[-1]
    rise = {name: {slot: n - was.get(name, {}).get(slot, 0) for slot, n in now[name].items()} for name in now}
    return rise, (last_ms - first_ms) / 1000


def delays(runq, bpftrace, from_ms, to_ms):
    """By how much ours are outside of what bpftrace saw, from a microsecond less than its times to two more."""
    ours = runq_slots(runq)
    rise, seconds = bpftrace_slots(bpftrace, int(from_ms), int(to_ms))
    theirs, later = rise.get('usecs', {}), rise.get('later', {})
    cnt, peer = sum(ours.values()), sum(theirs.values())
    if not cnt or not peer:
        sys.exit(f'{cnt} delays by hotrun, {peer} by bpftrace')
    largest = a = most = least = 0
    for slot in range(32):
        a += ours.get(slot, 0) / cnt
        most += theirs.get(slot, 0) / peer
        least += later.get(slot, 0) / peer
        largest = max(largest, a - most, least - a)
    print(cnt, peer, f'{100 * largest:.2f}', seconds)


def address_of(frame):
    """As SQLite has it, which knows signed numbers; bit 63 alone says that callers may be missing."""
    if frame >> 62 == 2:
        frame &= ~(1 << 63)
    return frame - (frame >> 63 << 64)


def frames_of(db, tgid):
    """For each sample of a process: (its time, addresses of its user stack, leaf first)."""
    stacks = {key: frames for key, frames in db.execute('SELECT key, frames FROM stack')}
    query = '''SELECT s.time_ns, s.user_stack, s.kernel_stack, t.process FROM sample s
        JOIN thread t ON t.id = s.thread JOIN process p ON p.id = t.process WHERE p.tgid = ?'''
    for time, user, kernel, process in db.execute(query, (tgid,)):
        blob = stacks.get(user, b'')
        addresses = [address_of(a) for a in struct.unpack(f'<{len(blob) // 8}Q', blob)]
        yield time, process, [a - (i > 0) for i, a in enumerate(addresses)], kernel


def locations(db):
    table = {}
    for process, address, start, symbol in db.execute(
            'SELECT process, address, from_ns, symbol FROM location ORDER BY from_ns'):
        table.setdefault((process, address), []).append((start, symbol))
    return table


def symbol_at(table, process, address, time):
    rows = table.get((process, address))
    if not rows:
        return None
    before = [symbol for start, symbol in rows if start <= time]
    return before[-1] if before else rows[0][1]


def jit(path, tgid):
    db = sqlite3.connect(f'file:{path}?mode=ro', uri=True)
    db.text_factory = bytes
    table = locations(db)
    symbols = {i: (kind, reason) for i, kind, reason in
               db.execute('SELECT id, kind, reason FROM symbol')}
    ranges = [(a, b) for a, b in db.execute('''SELECT m.start, m."end" FROM mapping m
        JOIN process p ON p.id = m.process WHERE p.tgid = ? AND m.kind IN (2, 3)''', (tgid,))]
    named = total = 0
    for time, process, addresses, _ in frames_of(db, int(tgid)):
        for address in addresses:
            if not any(a <= address < b for a, b in ranges):
                continue
            symbol = symbol_at(table, process, address, time)
            total += 1
            named += symbol is not None and symbols[symbol][1] == 0
    print(named, total)


def elf_end(path):
    """Where the parts of a 64-bit ELF file that are loaded end in the file."""
    with open(path, 'rb') as f:
        head = f.read(64)
        offset, = struct.unpack_from('<Q', head, 32)
        size, count = struct.unpack_from('<HH', head, 54)
        f.seek(offset)
        rows = f.read(size * count)
    ends = []
    for i in range(count):
        kind, _, offset, _, _, bytes_ = struct.unpack_from('<IIQQQQ', rows, i * size)
        ends += [offset + bytes_] if kind == 1 else []
    return max(ends)


def managed(path, tgid, exe=None):
    db = sqlite3.connect(f'file:{path}?mode=ro', uri=True)
    db.text_factory = bytes
    table = locations(db)
    words = {i: w.decode() for i, w in db.execute('SELECT id, word FROM reason')}
    symbols = dict(db.execute('SELECT id, reason FROM symbol'))
    bundle = elf_end(exe) if exe else None
    ranges = []
    for start, end, offset, kind, module in db.execute(
            '''SELECT m.start, m."end", m.file_offset, m.kind, f.path FROM mapping m
            JOIN process p ON p.id = m.process JOIN module f ON f.id = m.module WHERE p.tgid = ?''', (tgid,)):
        bundled = exe and module.endswith(b'/' + exe.split('/')[-1].encode()) and offset >= bundle
        if kind in (2, 3) or module.lower().endswith(b'.dll') or bundled:
            ranges.append((start, end))
    ranges.sort()
    starts = [a for a, _ in ranges]
    counts, named, total = {}, 0, 0
    for when, process, addresses, _ in frames_of(db, int(tgid)):
        for address in addresses:
            i = bisect.bisect_right(starts, address) - 1
            if i < 0 or address >= ranges[i][1]:
                continue
            reason = symbols.get(symbol_at(table, process, address, when), -1)
            total += 1
            named += reason == 0
            if reason:
                counts[reason] = counts.get(reason, 0) + 1
    print(named, total)
    for reason, count in sorted(counts.items(), key=lambda item: -item[1]):
        print(count, f'{100 * count / total:.2f}', words.get(reason, 'nothing'))


def same(path, other, tgid):
    tables = []
    for file in path, other:
        db = sqlite3.connect(f'file:{file}?mode=ro', uri=True)
        db.text_factory = bytes
        tables.append((locations(db), {i: row for i, *row in db.execute(
            'SELECT id, reason, kind, name, coalesce(raw, name), module FROM symbol')}))
    named = both = equal = 0
    differences = {}
    for when, process, addresses, _ in frames_of(db, int(tgid)):
        for address in addresses:
            here, there = (symbols.get(symbol_at(table, process, address, when), (1, 0))
                           for table, symbols in tables)
            if here[:2] != [0, 3]:
                continue
            named += 1
            if there[0]:
                continue
            both += 1
            equal += here == there
            if here != there:
                key = here[3].decode(), there[3].decode()
                differences[key] = differences.get(key, 0) + 1
    print(both, equal, named)
    for (a, b), count in sorted(differences.items(), key=lambda item: -item[1])[:10]:
        print(count, a, '|', b)


def enable(pid, what='3'):
    """dotnet/runtime, docs/design: the diagnostics protocol; process set 4, commands 5 and 6."""
    path, = glob.glob(f'/tmp/dotnet-diagnostic-{pid}-*-socket')
    off = what == 'off'
    request = b'DOTNET_IPC_V1\0' + struct.pack('<HBBH', 20 if off else 24, 4, 6 if off else 5, 0)
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(10)
        s.connect(path)
        s.sendall(request if off else request + struct.pack('<I', int(what)))
        reply = s.recv(64)
    return not (reply[:14] == request[:14] and reply[16:18] == b'\xff\0')


def reasons(path, tgid):
    db = sqlite3.connect(f'file:{path}?mode=ro', uri=True)
    db.text_factory = bytes
    words = {i: w.decode() for i, w in db.execute('SELECT id, word FROM reason')}
    table = locations(db)
    of_symbol = dict(db.execute('SELECT id, reason FROM symbol'))
    counts = {}
    for time, process, addresses, kernel in frames_of(db, int(tgid)):
        if kernel or not addresses:
            continue
        symbol = symbol_at(table, process, addresses[0], time)
        word = words.get(of_symbol.get(symbol), 'nothing')
        counts[word] = counts.get(word, 0) + 1
    for word, count in sorted(counts.items(), key=lambda item: -item[1]):
        print(count, word)


KIND_JIT = 3

# How exactly a line of a perf map can be dated: it is looked at that often, and the load's own word
# comes a little before its first method is compiled.
LOOKS_NS = 300_000_000


def phases(path, tgid, truth):
    """Names that say in which phase of the load they ran: Second_7."""
    db = sqlite3.connect(f'file:{path}?mode=ro', uri=True)
    db.text_factory = lambda b: b.decode(errors='replace')
    table = locations(db)
    names = dict(db.execute('SELECT id, coalesce(raw, name) FROM symbol'))
    turns = [(int(ns), word) for ns, word in (line.split() for line in open(truth))]
    words = {word for _, word in turns}

    def word_of(symbol):
        found = re.search(r'(\w+?)_\d+', names.get(symbol, ''))
        return found.group(1) if found and found.group(1) in words else None

    right = wrong = 0
    addresses = {}
    for time, process, frames, kernel in frames_of(db, int(tgid)):
        before = [turn for turn in turns if turn[0] <= time]
        for address in frames:
            word = word_of(symbol_at(table, process, address, time))
            if not word:
                continue
            addresses.setdefault(address, set()).add(word)
            if not before or time - before[-1][0] < LOOKS_NS:
                continue
            right += word == before[-1][1]
            wrong += word != before[-1][1]
    print(right, wrong, sum(len(found) > 1 for found in addresses.values()))


def each(path, tgid, truth):
    """Each method runs once, and its name is its own."""
    db = sqlite3.connect(f'file:{path}?mode=ro', uri=True)
    db.text_factory = lambda b: b.decode(errors='replace')
    table = locations(db)
    symbols = {i: row for i, *row in db.execute('SELECT id, kind, reason, coalesce(raw, name) FROM symbol')}
    runs = [(int(a), int(b), name) for a, b, name in (line.split() for line in open(truth))]
    starts = [run[0] for run in runs]
    late_reason = dict(db.execute('SELECT word, id FROM reason'))['memory-late']
    total = right = wrong = late = 0
    for time, process, frames, kernel in frames_of(db, int(tgid)):
        i = bisect.bisect_right(starts, time) - 1
        if kernel or not frames or i < 0 or time >= runs[i][1]:
            continue
        kind, reason, name = symbols.get(symbol_at(table, process, frames[0], time), (0, 1, ''))
        found = re.search(r'dynamicClass::(\w+)\(', name)
        # Of all that runs there it is the only compiled code that may stay without a name.
        if not found and (not reason or kind != KIND_JIT):
            continue
        total += 1
        late += not found and reason == late_reason
        right += bool(found) and found.group(1) == runs[i][2]
        wrong += bool(found) and found.group(1) != runs[i][2]
    print(total, right, wrong, round(len(runs) / ((runs[-1][1] - runs[0][0]) / 1e9)), late)


def books(path):
    db = sqlite3.connect(f'file:{path}?mode=ro', uri=True)
    one = lambda query: (db.execute(query).fetchone()[0] or 0) / 1e9
    capacity = one('SELECT sum(end_ns - start_ns) * (SELECT cpus_online FROM host) FROM slice')
    cpus = one('SELECT sum(idle_ns + accounted_ns + unaccounted_ns) FROM cpu')
    accounts = one('SELECT (SELECT sum(on_cpu_ns) FROM account) + sum(idle_ns + unaccounted_ns) FROM cpu')
    print(f'{capacity:.6f} {cpus:.6f} {accounts:.6f}')


# C0 and DEL, C1, what changes the direction of text, line and paragraph separators, byte order mark.
HARMFUL = re.compile('[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2028\u2029\u2066-\u2069\ufeff]')


def clean(kind, *paths):
    bad = []
    for path in paths:
        data = open(path, 'rb').read()
        try:
            text = data.decode()
        except UnicodeDecodeError as error:
            bad.append(f'{path}: not UTF-8 at {error.start}: {data[error.start - 20:error.start + 20]!r}')
            continue
        if kind == 'html':
            text = text.replace('\t', ' ')
            for word in ('<script>alert', '<img src=x'):
                if word in text:
                    bad.append(f'{path}: markup of a target: {word}')
        found = HARMFUL.search(text)
        if found:
            bad.append(f'{path}: {text[max(0, found.start() - 40):found.start() + 10]!r}')
    print('\n'.join(bad))
    return bool(bad)


def folded(path):
    seen, bad = set(), []
    for n, line in enumerate(open(path, 'rb').read().split(b'\n')[:-1], 1):
        stack, _, count = line.rpartition(b' ')
        if not count.isdigit() or not stack or b';;' in stack or stack in seen:
            bad.append(f'{path}:{n}: {line[:100]!r}')
        seen.add(stack)
    print('\n'.join(bad))
    return bool(bad) or not seen


def strace(path, folder):
    """Lines of `strace -f -y` that do more than look."""
    bad = []
    banned = re.compile(r'\b(ptrace|process_vm_writev|process_vm_readv|kill|tkill|tgkill|'
                        r'pidfd_send_signal|process_madvise|prlimit64\([1-9]|sched_setaffinity\([1-9]|'
                        r'mount|umount2|setns|kcmp|unlink\w*|rename\w*|mkdir\w*|truncate|symlink\w*|'
                        r'link\w*|mknod\w*|chmod|chown|f?setxattr)\(')
    writes = re.compile(r'O_WRONLY|O_RDWR|O_CREAT|O_TRUNC|O_APPEND')
    lines = open(path, encoding='utf-8', errors='replace').read().splitlines()
    # All that was traced is its own: who is killed by a descriptor must be one of its helpers.
    own = {line.split(None, 1)[0] for line in lines if line}
    pid_of_fd, asked = {}, {}
    for line in lines:
        call = re.sub(r'^\d+\s+', '', line)
        tracee = line.split(None, 1)[0] if line else ''
        opens = re.match(r'pidfd_open\((\d+)', call)
        if opens:
            asked[tracee] = opens.group(1)
        # Of a call that another process interrupted the result is on a line of its own.
        result = re.match(r'(?:<\.\.\. pidfd_open resumed|pidfd_open\().*= (\d+)', call)
        if result:
            pid_of_fd[result.group(1)] = asked.get(tracee)
        killed = re.match(r'pidfd_send_signal\((\d+)', call)
        if killed and pid_of_fd.get(killed.group(1)) in own:
            continue
        # Sockets of another network are listed from within, by a thread of its own (user/kernel/namespaces.h).
        if re.match(r'setns\(\d+<net:\[\d+\]>, CLONE_NEWNET\)', call):
            continue
        # Signal 0 is none: it asks whether the process is there.
        if call.startswith(('+++', '---', '<...')) or re.match(r'kill\(\d+, 0(\)| <unfinished)', call):
            continue
        if banned.search(call.split('=')[0] + '(') and banned.match(call):
            # Its own capture is made, renamed and cleaned up.
            if not (folder in call and '/proc/' not in call):
                bad.append(call.strip())
        elif re.match(r'p?write\w*\(\d+</proc/\d+/mem>', call):
            bad.append(call.strip())
        elif call.startswith('open') and writes.search(call):
            if folder not in call and '"/dev/null"' not in call:
                bad.append(call.strip())
    print('\n'.join(bad))
    return bool(bad)


def watch(observer, *pids):
    looks = traced = 0
    states = set()
    while True:
        try:
            if open(f'/proc/{observer}/stat').read().rsplit(')', 1)[1].split()[0] == 'Z':
                break
        except OSError:
            break
        for pid in pids:
            for path in glob.glob(f'/proc/{pid}/task/*/status'):
                try:
                    text = open(path, errors='replace').read()
                except OSError:
                    continue
                looks += 1
                traced += re.search(r'^TracerPid:\t0$', text, re.M) is None
                states.add(re.search(r'^State:\t(.)', text, re.M).group(1))
        time.sleep(0.01)
    print(looks, traced, ''.join(sorted(states)))


def names(truth, path, process, how):
    """Tab-separated, with a last line for callers that the truth does not know."""
    burnt, seen = {}, {}
    for line in open(truth, encoding='utf-8').read().splitlines():
        ns, method, name = line.split('\t')
        # Folded into its caller.
        if how == 'mine' and name.startswith('<expression>'):
            name = 'Shop.Names.Bodies.Emitted'
        # The runtime damages the lines of names that are not ASCII.
        key = name if how != 'raw' or name == '[jit]' else method
        burnt[key] = burnt.get(key, 0) + int(ns)
    for frames, count in folded_lines(path):
        if frames[0] != process:
            continue
        frames = [frame for frame in frames if frame != '[caller unsure]']
        spin = [i for i, frame in enumerate(frames) if 'Load.Burn' in frame and 'Spin' in frame]
        if not spin or spin[-1] < 2:
            continue
        key = frames[spin[-1] - 1].replace('\\x3b', ';')
        # It is skipped where its caller has no frame of its own, and no table yet.
        if how == 'mine' and key == 'Program.Main' and key not in burnt:
            key = 'Shop.Names.Bodies.Emitted'
        if how == 'raw' and '::' in key:
            key = re.sub(r'^.*?::', '', key).split('(')[0]
        seen[key] = seen.get(key, 0) + count
    total, whole = sum(seen.values()), sum(burnt.values())
    for name, ns in burnt.items():
        p = ns / whole
        off = 4 * (total * p * (1 - p)) ** 0.5 + 2
        print(seen.pop(name, 0), f'{total * p - off:.1f}', f'{total * p + off:.1f}', name, sep='\t')
    print(sum(seen.values()), 0, f'{total * 0.01:.1f}', 'callers that did not burn ' +
          ', '.join(list(seen)[:5]), sep='\t')


def calls(path, process, frame):
    times = {}
    for frames, count in folded_lines(path):
        if frames[0] == process and frame in frames:
            n = frames.count(frame)
            times[n] = times.get(n, 0) + count
    for n, count in sorted(times.items(), key=lambda row: -row[1]):
        print(n, count)


def slot_us(slot):
    """Lower bound of a slot of the histogram of times to the first answer byte, us."""
    return slot if slot < 4 else (4 + slot % 4) << (slot // 4 - 1)


def percentile_us(slots, share):
    """Interpolated within its slot; -1 without any."""
    left = share * sum(slots.values())
    for slot, count in sorted(slots.items()):
        if left <= count:
            return slot_us(slot) + (slot_us(slot + 1) - slot_us(slot)) * left / count
        left -= count
    return -1


def requests(path, port, field='e.port', value=None):
    db = sqlite3.connect(f'file:{path}?mode=ro', uri=True)
    which = (f'FROM endpoint e JOIN process p ON p.id = e.process JOIN {{}} s ON s.endpoint = e.id '
             f'WHERE e.port = {int(port)} AND {field} = {int(value or port)}')
    sums = ('connections', 'begun', 'answered', 'abandoned', 'slow', 'joined', 'pushed', 'sent_bytes', 'refused')
    mosts = ('stuck', 'open', 'late', 'oldest_ns', 'time_max_ns')
    row = db.execute('SELECT ' + ', '.join([f'sum({c})' for c in sums] + [f'max({c})' for c in mosts])
                     + ' ' + which.format('service')).fetchone()
    for name, figure in zip(sums + mosts, row):
        print(f'{name}={figure or 0}')
    protocols = 0
    for bits, in db.execute(f'SELECT protocols {which.format("service")}'):
        protocols |= bits
    slots = dict(db.execute(f'SELECT slot, sum(count) {which.format("response")} GROUP BY slot'))
    print(f'protocols={protocols} p50={percentile_us(slots, .5):.0f} p99={percentile_us(slots, .99):.0f}')
    print('processes=%d' % db.execute(f'SELECT count(DISTINCT p.id) {which.format("service")}').fetchone())


def verdict(path, *tgids):
    told = json.load(open(path))
    if tgids == ('host',):
        print(told['host']['verdict'])
        return
    # The most urgent come first; the healthy last.
    print(next((p['verdict'] for p in told['processes'] if str(p['pid']) in tgids), 'healthy'))


def turns(path, tgid):
    """Of the whole slices in the window of single switches: by how much the time of threads' turns and of idle ones
    differs from the CPUs' books, in per cent of all, their sum as part of the elapsed time, and the mean of threads of that process that
    waited, by turns."""
    db = sqlite3.connect(f'file:{path}?mode=ro', uri=True)
    rows = db.execute('SELECT time_ns, cpu, kind, thread, other, state, flags FROM switch ORDER BY id').fetchall()
    last = db.execute('SELECT max(end_ns) FROM slice').fetchone()[0]
    first, begin, end = db.execute('SELECT min(id), min(start_ns), max(end_ns) FROM slice WHERE start_ns >= ?',
                                   (rows[0][0],)).fetchone()
    own = {t for t, in db.execute('SELECT t.id FROM thread t JOIN process p ON p.id = t.process WHERE p.tgid = ?',
                                  (int(tgid),))}
    sums, on, ready = {'ran': 0, 'idle': 0, 'unknown': 0, 'waited': 0}, {}, {}

    def clipped(since, until):
        return max(0, min(until, end) - max(since, begin))

    def close(cpu, time):
        if cpu in on:
            what, since = on[cpu]
            sums[what] += clipped(since, time)

    for time, cpu, kind, thread, other, state, flags in rows:
        if kind == 2:
            ready.setdefault(thread, time)
            continue
        close(cpu, time)
        on[cpu] = ('unknown' if flags & 128 else 'idle' if thread is None else 'ran', time)
        ready.pop(other, None)
        if flags & 2:
            ready[other] = time
        since = ready.pop(thread, None)
        if thread in own and since:
            sums['waited'] += clipped(since, time)
    for cpu in on:
        close(cpu, last)
    ran, idle, unknown, elapsed = db.execute('SELECT sum(accounted_ns), sum(idle_ns), sum(unaccounted_ns), '
                                             'sum(elapsed_ns) FROM cpu WHERE slice >= ?', (first,)).fetchone()
    # What no account has of a thread, the one or the other may know whose it is.
    busy = abs(sums['ran'] + sums['unknown'] - ran - unknown)
    print(f"{100 * busy / elapsed:.4f} {100 * abs(sums['idle'] - idle) / elapsed:.4f} "
          f"{100 * (sums['ran'] + sums['idle'] + sums['unknown']) / elapsed:.4f} "
          f"{sums['waited'] / (end - begin):.3f} {(end - begin) / 1e9:.3f}")


def own_ms(output, *command):
    began = time.monotonic()
    with open(output, 'wb') as out:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out)
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    took = time.monotonic() - began
    with open(f'/proc/{child.pid}/schedstat', encoding='ascii') as f:
        waited = int(f.read().split()[1])
    print(child.wait(), round((took - waited / 1e9) * 1000))


COMMANDS = {'truth': truth, 'share': share, 'jit': jit, 'reasons': reasons, 'phases': phases, 'each': each, 'books': books,
            'managed': managed, 'same': same, 'enable': enable, 'delays': delays, 'clean': clean, 'folded': folded,
            'strace': strace, 'watch': watch, 'own_ms': own_ms, 'requests': requests,
            'verdict': verdict, 'names': names, 'calls': calls, 'turns': turns}

if __name__ == '__main__':
    sys.exit(COMMANDS[sys.argv[1]](*sys.argv[2:]))
