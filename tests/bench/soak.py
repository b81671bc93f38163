# SPDX-License-Identifier: GPL-2.0-or-later
"""tests/bench/soak.sh's inside: one long recording under churn, then its memory and its books."""
import os
import signal
import subprocess
import sys
import time

import capture
import kit

SECONDS = float(os.environ.get('SOAK_SECONDS') or 600)
RATE = int(os.environ.get('SOAK_RATE') or 200)
# What a recording may keep until its end of each thing that came: a process with its main thread and
# its mappings, a further thread, a line of a perf map. Whatever else grows steadily is a leak.
PROCESS_BYTES, THREAD_BYTES, METHOD_BYTES = 1024, 512, 96
# Of others that ran meanwhile, a name with its places, and a stack beside its frames.
LOCATION_BYTES, STACK_BYTES = 256, 64
SLACK_BYTES = 8 << 20
# A program that is first sampled late brings its symbol table: a step, bounded by names/files.h.
TABLES_BYTES = 256 << 20
WARM_UP = 0.2  # of the time: caches and symbol tables fill
# Of a short run the tables of files, which lie in shared memory, are most of what grows: they come with whatever else
# is started on this host.
GROWS = 'VmRSS' if SECONDS >= 60 else 'RssAnon'


def follow(tool, churn):
    """Records for the whole time; returns [(second, bytes of what is to stay, resident bytes)]."""
    seen, began, told = [], time.monotonic(), 0
    while (now := time.monotonic() - began) < SECONDS:
        if tool.poll() is not None or churn.poll() is not None:
            raise kit.CannotMeasure('ended by itself: ' + (tool.output() + churn.output())[-300:])
        seen.append((now, 1024 * kit.status_kib(tool.pid, GROWS), 1024 * kit.status_kib(tool.pid, 'VmRSS')))
        if now >= told:
            kit.say(f'  {now:4.0f} s: {seen[-1][2] / 2**20:.1f} MiB')
            told += SECONDS / 20
        time.sleep(min(1.0, SECONDS / 100))
    return seen


class Checks:
    def __init__(self):
        self.failed = 0

    def check(self, good, text):
        print(f'{"ok    " if good else "FAILED"}  {text}', flush=True)
        self.failed += not good


def steady_growth(seen):
    """Bytes a second: the median of the slopes between all pairs of looks, which a step leaves alone."""
    return kit.median([(b[1] - a[1]) / (b[0] - a[0])
                       for n, a in enumerate(seen) for b in seen[n + 1:]])


def of_others(base, churn):
    """Bytes that the recording may keep of whatever else ran on this host."""
    base.execute('CREATE TEMP TABLE other AS SELECT id FROM process WHERE tgid != ? AND parent_tgid != ?',
                 (churn, churn))
    processes, threads, locations, stacks, frames = [base.execute(query).fetchone()[0] or 0 for query in (
        'SELECT count(*) FROM other',
        'SELECT count(*) FROM thread WHERE process IN other',
        'SELECT count(*) FROM location WHERE process IN other',
        'SELECT count(*) FROM stack WHERE process IN other',
        'SELECT sum(length(frames)) FROM stack WHERE process IN other')]
    return (processes * PROCESS_BYTES + threads * THREAD_BYTES + locations * LOCATION_BYTES +
            stacks * STACK_BYTES + frames)


def check_memory(checks, seen, made, others):
    late = [look for look in seen if look[0] > SECONDS * WARM_UP]
    late = late[::len(late) // 300 + 1]
    warm, peak = late[0][2], max(rss for _, _, rss in seen)
    processes, threads, methods = [n * (1 - WARM_UP) for n in made]
    kept = processes * PROCESS_BYTES + threads * THREAD_BYTES + methods * METHOD_BYTES + others + SLACK_BYTES
    grown = steady_growth(late) * (late[-1][0] - late[0][0])
    checks.check(grown <= kept,
                 f'memory: {grown / 2**20:.1f} MiB of steady growth after warm-up, {kept / 2**20:.1f} '
                 f'allowed for {processes:.0f} processes, {threads:.0f} threads, {methods:.0f} methods, and '
                 f'{others / 2**20:.1f} MiB of others')
    checks.check(peak - warm <= kept + TABLES_BYTES,
                 f'memory: {warm / 2**20:.1f} MiB after warm-up, {peak / 2**20:.1f} MiB at most')


def check_end(checks, tool, usage, programs):
    """It ended well and left nothing; False where there is nothing more to look at."""
    checks.check(tool.returncode == 0, f'hotrun {tool.argv[1]}: exit code {tool.returncode}')
    if tool.returncode or not usage:
        print(tool.output()[-2000:])
        return False
    cpu = usage.ru_utime + usage.ru_stime
    kit.say(f'  hotrun used {cpu:.1f} s of CPU, {100 * cpu / SECONDS:.2f} % of one')
    time.sleep(1)
    left = kit.bpf_objects('prog').keys() & programs
    checks.check(programs and not left,
                 f'kernel: {len(left)} of {len(programs)} BPF programs left behind')
    return True


def check_books(checks, base, made, pid):
    lost = capture.losses(base)
    taken, whole, expected = capture.sample_books(base)
    rows = base.execute('SELECT count(*) FROM sample').fetchone()[0]
    # Of what the model had no room for, samples are a part.
    full, limit = lost.get('sample-ring-full', 0), lost.get('model-limit', 0)
    checks.check(full <= taken - rows <= full + limit,
                 f'samples: {taken} ticks taken = {rows} in the file + {full} counted as dropped + '
                 f'at most {limit} beyond bounds')
    missed = lost.get('ticks-missed', 0)
    noise = 4 * expected ** 0.5  # of a count; CPU time comes in pieces shorter than a tick
    checks.check(expected > 0 and abs(expected - taken - missed) <= 0.01 * expected + noise,
                 f'ticks: {expected:.0f} expected, {taken} taken, {missed} counted as missed')
    explained = lost.get('stack-ring-full', 0) + lost.get('model-limit', 0)
    checks.check(rows == whole or explained,
                 f'stacks: {rows - whole} samples without theirs, {explained} losses counted')
    elapsed, sums, accounted, unaccounted = base.execute(
        'SELECT sum(elapsed_ns), sum(idle_ns + accounted_ns + unaccounted_ns), sum(accounted_ns), '
        'sum(unaccounted_ns) FROM cpu').fetchone()
    checks.check(abs(elapsed - sums) <= 0.001 * elapsed,
                 f'CPU time: {elapsed / 1e9:.1f} s elapsed, {sums / 1e9:.1f} s in idle, accounts and '
                 'unaccounted')
    accounts = base.execute('SELECT sum(on_cpu_ns) FROM account').fetchone()[0]
    # A switch that fires no program (of pid 1 on some machines) is seen at the next tick: what was told of the thread
    # until then is unaccounted in the CPU's books.
    unseen = 1e9 / 99 + unaccounted if lost.get('switch-unseen') else 0
    checks.check(abs(accounts - accounted) <= 0.001 * accounted + unseen,
                 f'accounts: {accounts / 1e9:.3f} s by thread, {accounted / 1e9:.3f} s by CPU')
    short = base.execute('SELECT count(*) FROM process WHERE parent_tgid = ?', (pid,)).fetchone()[0]
    gap = lost.get('sideband', 0) + lost.get('task-ring-full', 0) + lost.get('model-limit', 0)
    checks.check(short + gap >= 0.99 * made[0],
                 f'processes: {made[0]} were made while recording, {short} are in the file, {gap} '
                 'records counted as lost')
    kit.say('  losses: ' + (', '.join(f'{n} {word}' for word, n in lost.items()) or 'none'))


def check_names(checks, file, pid):
    counts, *others = kit.run([sys.executable, 'tests/support/facts.py', 'managed', file, pid]).splitlines()
    named, total = map(int, counts.split())
    checks.check(total and named >= 0.95 * total,
                 f'names: {named} of {total} frames in growing JIT code have one ({"; ".join(others) or "no other"})')


def check_file(checks, base, file):
    checks.check(base.execute('SELECT complete FROM host').fetchone()[0] == 1, 'file: complete')
    fine = base.execute('PRAGMA integrity_check').fetchone()[0]
    checks.check(fine == 'ok', f'file: integrity {fine}, {os.path.getsize(file) / 2**20:.1f} MiB')
    for argv in ([kit.HOTRUN, 'report', file],
                 [kit.HOTRUN, 'export', file, '--format', 'folded'],
                 [kit.HOTRUN, 'flame', file, '-o', kit.path('soak.html')]):
        began = time.monotonic()
        done = subprocess.run(argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
        checks.check(done.returncode == 0,
                     f'hotrun {argv[1]}: exit code {done.returncode}, '
                     f'{time.monotonic() - began:.2f} s {done.stderr.decode()[-200:].strip()}')


def main():
    kit.prepare()
    file = kit.path('soak.hotrun')
    tool = kit.hotrun_record(file)
    programs = kit.bpf_ids(tool.pid, 'prog')
    churn = kit.start([kit.workload('bench_churn'), RATE, RATE, RATE])
    seen = follow(tool, churn)
    churn.end(signal.SIGTERM)
    usage = tool.end()
    checks = Checks()
    if not check_end(checks, tool, usage, programs):
        return 1
    made = [int(n) for n in churn.output().split()[-3:]]
    base = capture.open_capture(file)
    check_memory(checks, seen, made, of_others(base, churn.pid))
    check_books(checks, base, made, churn.pid)
    check_names(checks, file, churn.pid)
    check_file(checks, base, file)
    base.close()
    return 1 if checks.failed else 0


if __name__ == '__main__':
    try:
        sys.exit(main())
    except kit.CannotMeasure as error:
        print(error, file=sys.stderr)
        sys.exit(2)
