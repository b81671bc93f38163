# SPDX-License-Identifier: GPL-2.0-or-later
"""Row `spinners`: a host with 64 busy processes on its CPUs, hotrun in a terminal as a user runs it.

Progress = the longest time without a sign of life from the command's start to its end. Ctrl-C is
typed into the terminal; its time is until the program is gone and the capture complete.
"""
import os
import pty
import select
import signal
import time

import capture
import kit

SPINNERS = 64


def in_terminal(argv):
    """A program with a terminal of its own, which is the only way that it shows progress."""
    pid, terminal = pty.fork()
    if not pid:
        try:
            os.execv(argv[0], argv)
        finally:
            os._exit(127)
    return pid, terminal


def watch(terminal, seconds, began):
    """Reads for a while; returns the times of output after `began`."""
    end, seen = time.monotonic() + seconds, []
    while (left := end - time.monotonic()) > 0:
        if select.select([terminal], [], [], left)[0]:
            try:
                if not os.read(terminal, 65536):
                    break
            except OSError:
                break
            seen.append(time.monotonic() - began)
    return seen


def gone(pid, terminal, seconds):
    """Waits for the end, reading on; returns the exit code, None if it had to be killed."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        watch(terminal, 0.01, 0)
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return None


def one(seconds):
    file = kit.path('spinners.hotrun')
    began = time.monotonic()
    pid, terminal = in_terminal([kit.HOTRUN, 'record', '-q', '-o', file])
    ended = False
    try:
        seen = watch(terminal, seconds, began)
        asked = time.monotonic()
        os.write(terminal, b'\x03')
        code = gone(pid, terminal, 20)
        ended = True
        took = time.monotonic() - asked
    finally:
        if not ended:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        os.close(terminal)
    if code != 0 or not seen:
        raise kit.CannotMeasure(f'hotrun ended with {code}, {len(seen)} signs of life')
    base = capture.open_capture(file)
    complete = base.execute('SELECT complete FROM host').fetchone()[0]
    books = capture.sample_books(base)
    base.close()
    os.unlink(file)
    if not complete:
        raise kit.CannotMeasure('the capture is not complete after Ctrl-C')
    times = [0.0] + seen + [asked - began]
    return max(b - a for a, b in zip(times, times[1:])), took, books


def measure(results):
    crowd = kit.start([kit.workload('bench_crowd'), 0, SPINNERS])
    crowd.wait_for('ready')
    time.sleep(1)
    quiet, ends, lost, missed = [], [], [], []
    for _ in range(1 if kit.quick() else 3):
        silence, took, (taken, whole, expected) = one(6)
        if not taken:
            raise kit.CannotMeasure('no tick was taken')
        quiet.append(silence)
        ends.append(took)
        lost.append(100 * (taken - whole) / taken)
        missed.append(100 * (expected - taken) / expected)
    crowd.end(signal.SIGTERM)
    results.add('spinners', 'samples taken but not in the file whole', max(lost), '%', below=1)
    results.add('spinners', 'ticks expected but not taken', kit.median(missed), '%',
                kit.spread(missed), below=1)
    results.add('spinners', 'longest without progress', max(quiet), 's', at_most=2)
    results.add('spinners', 'Ctrl-C to the end', max(ends), 's', at_most=2)
