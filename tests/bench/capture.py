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
