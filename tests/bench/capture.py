# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads figures out of a capture (its schema: user/store/schema.sql)."""
import bisect
import sqlite3
import struct

KIND_ANONYMOUS, KIND_JIT = 2, 3
STACK_LOST = (0, 1)  # sample-ring-full, stack-ring-full


def open_capture(file):
    return sqlite3.connect(f'file:{file}?mode=ro', uri=True)


def losses(base):
    """{word of the cause: records lost}."""
    return dict(base.execute('SELECT c.word, sum(l.count) FROM loss l '
                             'JOIN loss_cause c ON c.id = l.cause GROUP BY c.id'))


def managed_frames(base, tgid):
    """{reason: frames} of all samples' frames in JIT or anonymous code of a process; 'named' is one.

    A frame's name is that of the newest location of its address that is not after the sample.
    """
    process = base.execute('SELECT id FROM process WHERE tgid = ?', (tgid,)).fetchone()
    if not process:
        return {}
    process = process[0]
    code = base.execute('SELECT start, "end", from_ns, to_ns FROM mapping WHERE process = ? '
                        'AND kind IN (?, ?)', (process, KIND_ANONYMOUS, KIND_JIT)).fetchall()
    where = {}
    for address, from_ns, reason in base.execute(
            'SELECT l.address, l.from_ns, r.word FROM location l JOIN symbol s ON s.id = l.symbol '
            'JOIN reason r ON r.id = s.reason WHERE l.process = ? ORDER BY l.from_ns', (process,)):
        where.setdefault(address, []).append((from_ns, reason))
    stacks = {key: struct.unpack(f'<{len(frames) // 8}q', frames) for key, frames in base.execute(
        'SELECT key, frames FROM stack WHERE process = ?', (process,))}
    found = {}
    for time_ns, key in base.execute('SELECT s.time_ns, s.user_stack FROM sample s JOIN thread t '
                                     'ON t.id = s.thread WHERE t.process = ?', (process,)):
        for n, address in enumerate(stacks.get(key, ())):
            address -= n > 0  # callers are return addresses
            if not any(start <= address < end and from_ns <= time_ns and (not to_ns or time_ns < to_ns)
                       for start, end, from_ns, to_ns in code):
                continue
            rows = where.get(address, [(0, 'no location')])
            at = bisect.bisect_right(rows, time_ns, key=lambda row: row[0])
            reason = rows[max(at - 1, 0)][1]
            found[reason] = found.get(reason, 0) + 1
    return found


def sample_books(base):
    """(ticks taken, of them in the file with their stacks, expected by CPU time and frequency)."""
    taken, busy_ns = base.execute('SELECT sum(ticks_taken), sum(accounted_ns + unaccounted_ns) '
                                  'FROM cpu').fetchone()
    hz = base.execute('SELECT sample_hz FROM host').fetchone()[0]
    whole = base.execute('''SELECT count(*) FROM sample WHERE
        (user_stack = 0 OR user_stack IN (SELECT key FROM stack)) AND
        (kernel_stack = 0 OR kernel_stack IN (SELECT key FROM stack))''').fetchone()[0]
    return taken or 0, whole, (busy_ns or 0) * hz / 1e9
