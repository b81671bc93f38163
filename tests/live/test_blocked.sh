#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Blocked time with stacks: of a thread that waits in known shares, of one long sleep among very many brief ones, and
# what the scheduler's own accounts say of both; and who ended these waits.
# beside others, 20 s
. "$(dirname "$0")/../support/live.sh"
need_root

start "$LOADS/wait_shares" 60
shares=$started
start "$LOADS/wait_crowd" 60 1000 100
crowd=$started
until_true 20 grep -qs ready "$T/$crowd.out" || fail "the crowd does not start"

# Tables and names of who waits come within the first second.
before=$(tail -n 2 "$T/$shares.out" | head -1)
"$HOTRUN" record -q --wakers -d 12 -o "$T/b.hotrun" 2>"$T/err"
is "it records" $? 0
after=$(tail -n 2 "$T/$shares.out" | head -1)
# true N: the share of its Nth wait, as the program itself saw it
truth() {
	awk -v n="$1" -v b="$before" -v a="$after" 'BEGIN { split(b, x); split(a, y)
		print (y[n] - x[n]) / (y[1] + y[2] + y[3] - x[1] - x[2] - x[3]) }'
}
# near WHAT NAME N: within four standard errors of some 60 looks, a quarter
near() {
	within "the share of a $1, less what it was ($(truth "$3"))" \
		"$(awk -v a="$(seen "$shares" "$2")" -v b="$(truth "$3")" 'BEGIN { print a - b }')" -0.25 0.25
}
python3 - "$T/b.hotrun" "$shares" "$crowd" >"$T/seen" <<'P'
import collections, sqlite3, struct, sys
db = sqlite3.connect(sys.argv[1])
db.text_factory = lambda text: text.decode(errors='replace')
names = {(p, a): n for p, a, n in db.execute(
    'SELECT l.process, l.address, y.name FROM location l JOIN symbol y ON y.id = l.symbol')}
stacks = {}
for key, process, frames in db.execute('SELECT key, process, frames FROM stack'):
    words = [w for (w,) in struct.iter_unpack('<Q', frames)]
    words = [w & ~(1 << 63) if process is not None and w >> 62 == 2 else w for w in words]
    words = [w - 1 if i else w for i, w in enumerate(words)]
    stacks[key] = {names.get((process, w - (1 << 64) if w >> 63 else w)) for w in words}
start, end = db.execute('SELECT start_ns, end_ns FROM host').fetchone()
for tgid, methods in ((sys.argv[2], ('lock', 'timer', 'answer')), (sys.argv[3], ('briefly', 'long'))):
    rows = db.execute('''SELECT s.slice, s.blocked_ns, s.user_stack, s.now, s.age_ns FROM stand s JOIN thread t ON t.id = s.thread
        JOIN process p ON p.id = t.process WHERE p.tgid = ?''', (tgid,)).fetchall()
    by = collections.Counter()
    for slice, ns, user, now, age in rows:
        for method in methods:
            if {f'wait_{method}', f'wait_for_{method}'} & stacks.get(user, set()):
                by[method] += ns
    total = sum(r[1] for r in rows)
    threads, ran = db.execute('''SELECT count(*), sum(on_cpu_ns + waited_ns) FROM thread t
        JOIN process p ON p.id = t.process WHERE p.tgid = ?''', (tgid,)).fetchone()
    exact = threads * (end - start) - ran
    print(tgid, 'total', total / exact)
    for method in methods:
        print(tgid, method, by[method] / total, by[method] / (end - start))
    print(tgid, 'now', sum(r[3] for r in rows), threads)
    print(tgid, 'rows', len(rows))
P
seen() {
	awk -v p="$1" -v w="$2" -v f="${3:-3}" '$1 == p && $2 == w { print $f }' "$T/seen"
}
near mutex lock 1
near timer timer 2
near socket answer 3
within "all of it, by the scheduler's account" "$(seen "$shares" total)" 0.85 1.12
within "of a crowd as well" "$(seen "$crowd" total)" 0.85 1.15
within "nearly all of that is brief" "$(seen "$crowd" briefly)" 0.9 1
# It sleeps all the time; what it is in its first second stands for many.
within "one that lasts is found among them" "$(seen "$crowd" long 4)" 0.4 8
within "not each of them is looked at" "$(seen "$crowd" rows)" 1100 6000
is "where every thread stands in the end" "$(seen "$crowd" now)" "$(seen "$crowd" now 4)"

# Who ended the three waits: the other process, by its thread that holds the mutex, the clock, and the other process again.
"$HOTRUN" report --blocked --format json -p "$shares" "$T/b.hotrun" >"$T/blocked.json"
python3 - "$T/blocked.json" >"$T/woken" <<'P'
import collections, json, sys
by = collections.defaultdict(collections.Counter)
for group in json.load(open(sys.argv[1]))['processes'][0]['groups']:
    names = {frame['name'] for frame in group['frames']}
    for what in ('lock', 'timer', 'answer'):
        if f'wait_for_{what}' in names:
            for w in group['wakers']:
                by[what][w['process'] or '-', w['method'] or '-', w['kind']] += w['blocked_ns']
for what, wakers in by.items():
    who, ns = wakers.most_common(1)[0]
    print(what, *who, ns / sum(wakers.values()))
P
woken() {
	awk -v w="$1" -v f="$2" '$1 == w { print $f }' "$T/woken"
}
is "the mutex was unlocked by who held it" "$(woken lock 2) $(woken lock 3)" "wait_other hold"
is "nobody is named for a timer" "$(woken timer 2) $(woken timer 3) $(woken timer 4)" "- - timer"
is "the answer was sent by who gives it" "$(woken answer 2) $(woken answer 3)" "wait_other main"
for what in lock timer answer; do
	within "nobody else ended a $what" "$(woken $what 5)" 0.7 1
done

"$HOTRUN" record -q -d 1 --no-blocked -o "$T/without.hotrun" 2>"$T/err"
is "without it a capture says so" "$(sqlite3 "$T/without.hotrun" 'SELECT off & 512, (SELECT count(*) FROM stand) FROM host')" "512|0"
