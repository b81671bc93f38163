#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Run queues and run delay of a known load, live and from a capture: threads that never sleep, pinned to
# one CPU, are running or waiting at every instant, so that both add up to their number.
. "$(dirname "$0")/../support/live.sh"
need_root

THREADS=4
CPU=1
[ "$(nproc)" -ge 2 ] || CPU=0
start taskset -c $CPU "$LOADS/spinners" $THREADS 60
spinners=$started
sleep 0.5

# waiting FILE: mean of waiting threads of the spinners, from the table of processes
waiting() { awk -v pid="$spinners" '$NF == pid { print $1 }' "$1"; }

# on_cpu FILE COLUMN: of the row of the spinners' CPU in the table of run queues
on_cpu() { awk -v cpu=$CPU -v column="$2" '$1 == cpu && NF == 13 { print $column }' "$1"; }

of_host() { awk '/threads waiting on average/ { print $1; exit }' "$1"; }

# delayed: run delay in s and time slices so far, of all threads of the spinners, as the kernel counts them
delayed() {
	cat "/proc/$spinners/task/"*/schedstat | awk '{ d += $2; n += $3 } END { print d / 1e9, n }'
}

before=$(delayed) began=$(date +%s.%N)
"$HOTRUN" runq -d 6 >"$T/live" 2>"$T/err"
is "runq live: exit code 0" $? 0
after=$(delayed) ended=$(date +%s.%N)
set -- $before $after
seconds=$(awk -v a="$began" -v b="$ended" 'BEGIN { print b - a }')
truth=$(awk -v a="$1" -v b="$3" -v s="$seconds" 'BEGIN { print (b - a) / s }')
# What they waited while hotrun began and ended is in the kernel's figure alone: with it or without.
slack() {
	awk -v a="$before" -v b="$after" -v s="$seconds" -v n=$THREADS -v sign="$1" 'BEGIN {
		split(a, was); split(b, is); d = is[1] - was[1]
		print sign < 0 ? (d - (s - 6) * n) / 6 * 0.99 : d / 6 * 1.01 }'
}
slices=$(awk -v a="$2" -v b="$4" -v s="$seconds" 'BEGIN { print (b - a) / s }')
says "one start-up line" "$T/err" "watching at 99 Hz"
# Others run here, too: what they take of that CPU, the spinners wait longer.
within "waiting threads of $THREADS that never sleep" "$(waiting "$T/live")" $((THREADS - 1)).0 $THREADS.0
within "that is what /proc/PID/task/TID/schedstat says ($truth)" "$(waiting "$T/live")" \
	"$(slack -1)" "$(slack 1)"
waits=$(awk -v pid="$spinners" '$NF == pid { gsub(",", "", $4); print $4 }' "$T/live")
within "and so many waits a second as it counts time slices ($slices)" "$waits" \
	"$(awk -v n="$slices" 'BEGIN { print n * 0.9 }')" "$(awk -v n="$slices" 'BEGIN { print n * 1.1 }')"
least=$(waiting "$T/live")
most=$(of_host "$T/live")
within "the run queue of their CPU, by ticks" "$(on_cpu "$T/live" 2)" \
	"$(awk -v l="$least" 'BEGIN { print l * 0.95 }')" "$(awk -v m="$most" 'BEGIN { print m * 1.05 }')"
short=$(awk -v cpu=$CPU '$1 == cpu && NF == 13 { print $3 + $4 + $5 }' "$T/live")
within "it is never shorter, % of the time" "$short" 0 2
shares=$(awk -v cpu=$CPU '$1 == cpu && NF == 13 { for (i = 3; i <= 13; i++) s += $i; print s }' "$T/live")
within "shares of the time make up all of it" "$shares" 99 101

"$HOTRUN" runq -d 3 -i 1 -p "$spinners" >"$T/intervals" 2>"$T/err"
is "a picture an interval" "$(grep -c '^run queues' "$T/intervals")" 3
is "the histograms of one process" "$(grep -c "^run delay of spinners.*, pid $spinners\$" "$T/intervals")" 3
says "as runqlat prints them" "$T/intervals" "     usecs                 : count     distribution"
"$HOTRUN" runq -d 1 -p spinners --cgroups >"$T/name" 2>"$T/err"
says "a process by its name" "$T/name" "run delay of spinners"
says "cgroups" "$T/name" "run delay of cgroup /"

# Ctrl-C: what there is, is printed.
env --default-signal=INT "$HOTRUN" runq >"$T/int" 2>"$T/err" &
hotrun=$!
PIDS+=("$hotrun")
until_true 10 grep -qs watching "$T/err" || fail "no start-up line after 10 s"
sleep 1
kill -INT "$hotrun"
wait "$hotrun"
is "Ctrl-C gives exit code 0" $? 0
within "and the picture so far" "$(waiting "$T/int")" $((THREADS - 1)).0 $THREADS.0

check "a reader that has seen enough ends it" timeout 10 bash -c \
	"set -o pipefail; '$HOTRUN' runq -i 0.2 2>/dev/null | head -1 >/dev/null"

record waits -d 4 --switches 3.5s -q || exit 1
stop "$spinners"
chmod 644 "$T/waits.hotrun"
setpriv --reuid 65534 --regid 65534 --clear-groups "$HOTRUN" runq "$T/waits.hotrun" >"$T/file" 2>"$T/err"
is "runq of a capture, without privileges: exit code 0" $? 0
within "the same load in the capture" "$(waiting "$T/file")" $((THREADS - 1)).0 $THREADS.0
within "and its run queue" "$(on_cpu "$T/file" 2)" "$(awk -v l="$(waiting "$T/file")" 'BEGIN { print l * 0.95 }')" \
	"$(awk -v m="$(of_host "$T/file")" 'BEGIN { print m * 1.05 }')"

# Single switches of the last seconds: what the CPUs' books have of the same time.
read -r ran idle whole waited length <<<"$(facts turns "$T/waits.hotrun" "$spinners")"
within "switches: time of turns, from the books' by %, of $length s" "$ran" 0 0.1
within "and idle time" "$idle" 0 0.1
within "all of it, %" "$whole" 99.9 100.1
within "waiting threads by their turns" "$waited" $((THREADS - 2)).9 $THREADS.0
setpriv --reuid 65534 --regid 65534 --clear-groups "$HOTRUN" timeline -p spinners --cpu $CPU -n 50 --width 400 "$T/waits.hotrun" >"$T/out" 2>"$T/err"
is "timeline, without privileges: exit code 0" $? 0
says "their row" "$T/out" "$THREADS  spinners  "
check "who waits behind others of them" grep -q "had been preempted; behind .*spinners [0-9]" "$T/out"
"$HOTRUN" timeline --turns -t "$spinners" "$T/waits.hotrun" >"$T/out" 2>"$T/err"
turns=$("$HOTRUN" query --format csv "$T/waits.hotrun" "SELECT count(*) FROM turns WHERE tid = $spinners" | tail -1)
is "as many turns of a thread as SQL has" "$(grep -c "spinners $spinners " "$T/out")" "$turns"
need_tool protoc protobuf-compiler
"$HOTRUN" export --format perfetto "$T/waits.hotrun" 2>"$T/err" |
	protoc --proto_path=user/export/schema --decode perfetto.Trace perfetto.proto >"$T/trace"
# Each CPU's window begins, and ends, with nobody that is known: no switch where it begins so by its first row (64 + 128).
is "perfetto: as many switches" "$(grep -c 'sched_switch {' "$T/trace")" \
	"$(sql "$T/waits.hotrun" 'SELECT (SELECT count(*) FROM switch WHERE kind = 1) +
		sum(flags & 192 != 192) FROM (SELECT flags, min(id) FROM switch WHERE kind = 1 GROUP BY cpu)')"
is "and wakeups" "$(grep -c 'sched_waking {' "$T/trace")" "$(sql "$T/waits.hotrun" 'SELECT count(*) FROM switch WHERE kind = 2')"
cp "$T/waits.hotrun" "$T/former.hotrun"
sqlite3 "$T/former.hotrun" 'DROP TABLE switch'
"$HOTRUN" timeline "$T/former.hotrun" >"$T/out" 2>"$T/err"
is "a capture without switches: failure" $? 1
says "and what to do" "$T/err" "record --switches 5s"

"$HOTRUN" runq -d 1 "$T/waits.hotrun" >"$T/out" 2>"$T/err"
is "-d with a capture: usage" $? 2
"$HOTRUN" runq 1 10 >"$T/out" 2>"$T/err"
is "as runqlat is called: usage" $? 2
says "and it is told how" "$T/err" "-i 1"
"$HOTRUN" runq "$T/none.hotrun" >"$T/out" 2>"$T/err"
is "no such capture: failure" $? 1
is "and nothing but a line that says so" "$(cat "$T/out" "$T/err" | wc -l)" 1
setpriv --reuid 65534 --regid 65534 --clear-groups "$HOTRUN" runq -d 1 >"$T/out" 2>"$T/err"
is "live without privileges: failure" $? 1
is "and a line that says why" "$(wc -l <"$T/err")" 1
