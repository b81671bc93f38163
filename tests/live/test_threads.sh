#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A process with 10,000 threads; stacks 500 frames deep, cut where the kernel cuts them.
# beside others, 32 s
. "$(dirname "$0")/../support/live.sh"
need_root
need_dotnet Deep

# --- 10,000 threads; fewer where the host allows fewer ---
want=10000
free=$(($(cat /proc/sys/kernel/threads-max) - $(ls -d /proc/[0-9]*/task/[0-9]* 2>/dev/null | wc -l)))
[ "$free" -gt 11000 ] || want=$((free / 2))
start "$LOADS/threads10k" "$want" 40
many=$started
until_true 30 grep -q threads: "$T/$many.out" || fail "the threads do not start"
have=$(sed -n 's/^threads: //p' "$T/$many.out")
within "the process has its threads" "$have" "$((want * 9 / 10))" "$((want + 1))"
"$HOTRUN" record -q -d 4 -o "$T/many.hotrun" 2>"$T/err" &
hotrun=$!
PIDS+=("$hotrun")
watch "$hotrun"
is "the recording ends well" $? 0
stop "$many"
is "every thread is in the capture" "$(sql "$T/many.hotrun" "SELECT count(*) FROM thread t
	JOIN process p ON p.id = t.process WHERE p.tgid = $many")" "$have"
within "hotrun stayed small, MiB" "$((peak / 1024))" 1 160
set -- $(facts books "$T/many.hotrun")
# A pass over so many threads takes up to 0.1 s where others have the CPUs: the first and the last one count.
within "accounts, idle and unaccounted make CPUs x elapsed" "$(awk -v a="$3" -v b="$1" 'BEGIN { print a / b }')" 0.97 1.03
"$HOTRUN" report --all "$T/many.hotrun" >"$T/report" 2>"$T/err" || fail "report: $(cat "$T/err")"
check "the report counts them, in a column of their own" grep -qE " [0-9]+ of $have +threads10k" "$T/report"

# --- deep stacks ---
dotnet_start "$BUILD/dotnet/Deep/Deep.dll" 90 900
deep=$started
until_true 15 grep -qs Walk "/tmp/perf-$deep.map" || fail "the load does not start"
sleep 1

# of_deep CAPTURE WHAT [SINCE]: of its samples since then (the first two seconds left out)
of_deep() {
	sql "$1" "SELECT $2 FROM sample s JOIN thread t ON t.id = s.thread
		JOIN process p ON p.id = t.process JOIN stack k ON k.key = s.user_stack, host h
		WHERE p.tgid = $deep AND s.time_ns >= ${3:-h.start_ns + 2000000000}"
}
# cut_of CAPTURE FLAG [SINCE]: those whose user stack has that flag, per cent
cut_of() { of_deep "$1" "100.0 * sum($2) / count(*)" "${3:-}"; }
deepest() { awk -F';' '{ if (NF > n) n = NF } END { print n }' "$1"; }

# Until the tables of its libraries are there, and two seconds more: on a busy host that takes its time.
capture=$T/deep.hotrun
start "$HOTRUN" record -o "$capture" -F 199
recorder=$started
first_whole() { of_deep "$capture" 'min(s.time_ns)' '0 AND k."end" = 1' 2>"$T/none"; }
until_true 30 eval 'sleep 0.3; whole=$(first_whole); [ "${whole:-0}" -gt 0 ]' || fail "no stack reaches the root"
sleep 2
kill -INT "$recorder"
{ wait "$recorder"; } 2>/dev/null
whole=$(first_whole)
within "samples since the first whole one" "$(of_deep "$capture" 'count(*)' "$whole")" 30 100000
record deeper -d 4 -F 199 --stack-depth 1200 || exit 1
# Along frame pointers the kernel walks.
record fp -d 3 -F 199 --stacks fp || exit 1
stop "$deep"
within "the middle of its stacks is left out, per cent of its samples" "$(cut_of "$capture" "k.left_out > 0" "$whole")" 90 100
within "and their root is there" "$(cut_of "$capture" 'k."end" = 1' "$whole")" 97 100
"$HOTRUN" export "$capture" -p Deep -o "$T/folded" 2>"$T/err" || fail "export: $(cat "$T/err")"
check "a note stands where frames are missing" grep -q ';\[frames left out\];' "$T/folded"
within "frames of the deepest line, of 512 that are kept" "$(deepest "$T/folded")" 505 1100
"$HOTRUN" report -p Deep "$capture" >"$T/report" 2>"$T/err" || fail "report: $(cat "$T/err")"
says "the report counts them" "$T/report" "left out"
is "nothing is left out where more is kept" "$(cut_of "$T/deeper.hotrun" "k.left_out > 0")" 0.0

limit=$(cat /proc/sys/kernel/perf_event_max_stack)
within "along frame pointers they are cut, per cent" "$(cut_of "$T/fp.hotrun" "k.flags & 2 > 0")" 90 100
"$HOTRUN" export "$T/fp.hotrun" -p Deep -o "$T/folded" 2>"$T/err" || fail "export: $(cat "$T/err")"
check "a note stands where the root is missing" grep -q '^Deep;\[truncated\]' "$T/folded"
within "frames of the deepest line, of $limit that the kernel walks" "$(deepest "$T/folded")" "$((limit - 5))" "$((limit + 40))"
"$HOTRUN" report -p Deep "$T/fp.hotrun" >"$T/report" 2>"$T/err" || fail "report: $(cat "$T/err")"
says "the report counts them, too" "$T/report" "truncated: deeper than is walked"
says "with the remedy" "$T/report" "record with --stack-depth"
says "the method is found all the same" "$T/report" "Shop.Catalogue.Tree."
within "lines of the report" "$(wc -l <"$T/report")" 20 400
