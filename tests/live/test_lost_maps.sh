#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A recorder that got no CPU for a second, on a host where somebody maps without end: the kernel dropped records of
# mappings. The library that a service loaded meanwhile is known all the same.
# beside others, 10 s
. "$(dirname "$0")/../support/live.sh"
need_root
need_tool python3 python3

cp "$LOADS/map_storm" "$T"
head -c 8192 /dev/zero >"$T/library"
cat >"$T/service.py" <<'P'
import os, sys, time
def burn(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        sum(range(10000))
while not os.path.exists(sys.argv[1]):
    burn(0.05)
import sqlite3
base = sqlite3.connect(':memory:')
print('loaded', flush=True)
while True:
    base.execute('WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000) SELECT sum(i) FROM n').fetchall()
P
python3 -c 'import sqlite3; print(open("/proc/self/maps").read())' >"$T/own"
grep -q libsqlite3 "$T/own" || skip "python3 has its own sqlite"
start python3 "$T/service.py" "$T/go"
service=$started
start "$HOTRUN" record -q -d 9 -o "$T/lost.hotrun"
recorder=$started
sleep 2
kill -STOP "$recorder"
start setpriv --reuid 65534 --regid 65534 --clear-groups "$T/map_storm" many "$T/library" 60 70 857
storm=$started
sleep 0.7
touch "$T/go"
until_true 10 grep -q loaded "$T/$service.out" || fail "the service does not go on"
stop "$storm"
kill -CONT "$recorder"
until_true 30 gone "$recorder" || fail "the recording does not end: $(cat "$T/$recorder.out")"
within "records that were dropped" "$(sql "$T/lost.hotrun" "SELECT sum(count) FROM loss WHERE cause = 16")" 1 1000000000
within "samples of the service" "$(sql "$T/lost.hotrun" "SELECT samples FROM process_cpu WHERE tgid = $service")" 50 100000
python3 tests/support/facts.py reasons "$T/lost.hotrun" "$service" >"$T/reasons"
all=$(awk '{ n += $1 } END { print n }' "$T/reasons")
# 0 where its turn to be read comes in the slice of the loss, 23 where it comes in the next one; 72 where they are
# not read again.
within "its frames in no known mapping, per cent of $all" \
	"$(awk -v all="$all" '$2 == "no-mapping" { n += $1 } END { print all ? 100 * n / all : "" }' "$T/reasons")" 0 35
