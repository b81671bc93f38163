# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads figures out of a capture (its schema: user/store/schema.sql)."""
import sqlite3

STACK_LOST = (0, 1)  # sample-ring-full, stack-ring-full


def open_capture(file):
    return sqlite3.connect(f'file:{file}?mode=ro', uri=True)


def losses(base):
    """{word of the cause: records lost}."""
    return dict(base.execute('SELECT c.word, sum(l.count) FROM loss l '
                             'JOIN loss_cause c ON c.id = l.cause GROUP BY c.id'))


def sample_books(base):
    """(ticks taken, of them in the file with their stacks, expected by CPU time and frequency)."""
    taken, busy_ns = base.execute('SELECT sum(ticks_taken), sum(accounted_ns + unaccounted_ns) '
                                  'FROM cpu').fetchone()
    hz = base.execute('SELECT sample_hz FROM host').fetchone()[0]
    whole = base.execute('''SELECT count(*) FROM sample WHERE
        (user_stack = 0 OR user_stack IN (SELECT key FROM stack)) AND
        (kernel_stack = 0 OR kernel_stack IN (SELECT key FROM stack))''').fetchone()[0]
    return taken or 0, whole, (busy_ns or 0) * hz / 1e9


def family(base, pid):
    """A process and all that it started, by tgid."""
    children = {}
    for tgid, parent in base.execute('SELECT tgid, parent_tgid FROM process'):
        children.setdefault(parent, set()).add(tgid)
    found, todo = set(), {pid}
    while todo:
        found |= todo
        todo = {c for p in todo for c in children.get(p, ())} - found
    return found


def whole_stacks(file, pid, after=1):
    """(samples of a process and all that it started, of them with a stack that is whole, of those with
    a frame whose caller may be missing), from so many seconds after the start on."""
    base = open_capture(file)
    samples = whole = unsure = 0
    for tgid in family(base, pid):
        row = base.execute('''SELECT count(*), sum(NOT s.flags & (256 + 2)), sum(s.flags & (256 + 4) = 4)
            FROM host h, sample a JOIN thread t ON t.id = a.thread JOIN process p ON p.id = t.process
            LEFT JOIN stack s ON s.key = a.user_stack WHERE p.tgid = ? AND a.user_stack AND
            a.time_ns - h.start_ns >= ? * 1e9''', (tgid, after)).fetchone()
        samples, whole, unsure = samples + row[0], whole + (row[1] or 0), unsure + (row[2] or 0)
    base.close()
    return samples, whole, unsure
