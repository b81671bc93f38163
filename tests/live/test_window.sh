#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A part of a recording in time: --from and --to take what was asked for and nothing else, --worst finds
# the seconds in which threads waited.
# beside others, 18 s
. "$(dirname "$0")/../support/live.sh"
need_root
need_tool taskset util-linux

monotonic() { python3 -c 'import time; print(time.clock_gettime_ns(time.CLOCK_MONOTONIC))'; }

# Quiet, then threads that share one CPU for some seconds, then quiet. So many that what else runs on
# the host does not wait as much.
start env --default-signal=INT "$HOTRUN" record -q -o "$T/w.hotrun"
hotrun=$started
until_true 10 grep -qs recording "$T/$hotrun.out" || fail "no start-up line after 10 s"
sleep 4.5
cp "$LOADS/spinners" "$T/windowload" # a name that nothing else on the host has
began=$(monotonic)
clock=$(date -u +%H:%M:%S.%3N)
start taskset -c 0 "$T/windowload" 16 60
load=$started
sleep 5.5
stop "$load"
ended=$(monotonic)
sleep 2.5
kill -INT "$hotrun"
wait "$hotrun"
is "the recording ends" $? 0
capture=$T/w.hotrun

start_ns=$(sql "$capture" 'SELECT start_ns FROM host')
seconds() { awk -v t="$1" -v s="$start_ns" -v by="$2" 'BEGIN { printf "%.3f", (t - s) / 1e9 + by }'; }
from=$(seconds "$began" 0)
to=$(seconds "$ended" 0)

# window FILE: the numbers of "window 3.0 to 8.0 s of 30.0 s (whole slices)" into $1 and $2
window() { sed -nE 's/.*window ([0-9.]+) to ([0-9.]+) s of [0-9.]+ s \(whole slices\).*/\1 \2/p' "$1" | head -1; }

# samples OPTION...: what export writes of the load, into $have; its window into $1 $2 of $taken
samples() {
	"$HOTRUN" export "$@" "$capture" >"$T/folded" 2>"$T/err" || fail "export $*: $(cat "$T/err")"
	have=$(awk '/^windowload;/ { n += $NF } END { print n + 0 }' "$T/folded")
	taken=$(window "$T/err")
}

truth=$(sql "$capture" "SELECT samples FROM process_cpu WHERE name = 'windowload'")
samples
is "the whole capture has all its samples" "$have" "$truth"
is "and no window is spoken of" "$taken" ""

# Slices are a second long: what lies a slice away from the load has none of it.
samples --to "$(seconds "$began" -1.2)"
is "before it: none of its samples" "$have" 0
samples --from "$(seconds "$ended" 1.2)"
is "after it: none of its samples" "$have" 0
samples --from "$from" --to "$to"
is "from its start to its end: all its samples" "$have" "$truth"
set -- $taken
within "its window begins at most a slice before" "$1" "$(seconds "$began" -1.3)" "$from"
within "and ends at most a slice behind" "$2" "$(seconds "$ended" -0.1)" "$(seconds "$ended" 1.3)"
by_seconds=$taken
samples --from "$clock" --to "$to"
is "clock time is the same time" "$taken" "$by_seconds"

all=$(awk '{ n += $NF } END { print n + 0 }' "$T/folded")
is "all samples of those slices, and no other" "$all" "$(sql "$capture" "
	SELECT count(*) FROM sample WHERE time_ns >= (SELECT min(start_ns) FROM slice WHERE end_ns > $began)
		AND time_ns < (SELECT max(end_ns) FROM slice WHERE start_ns < $ended)")"

# --- the worst ---
# Another test's, where a crowd of it wants the CPUs; told by its accounts.
others=$(sql "$capture" "SELECT coalesce(max(waited), 0) FROM (SELECT sum(a.waited_ns) / 1e9 AS waited FROM account a
	JOIN thread t ON t.id = a.thread JOIN process p ON p.id = t.process WHERE p.comm != 'windowload' GROUP BY a.slice)")
is_worst() { awk -v o="$others" 'BEGIN { exit !(o < 7) }'; }
is_worst || echo "# others waited for up to $others s in a second: the worst may be theirs"
"$HOTRUN" report --worst 2s "$capture" >"$T/report" 2>"$T/err" || fail "report --worst: $(cat "$T/err")"
set -- $(window "$T/report")
if is_worst; then
	within "the worst 2 s begin when the load runs" "$1" "$(seconds "$began" -1.3)" "$to"
	within "and end with it" "$2" "$from" "$(seconds "$ended" 1.3)"
fi
within "they are 2 s in whole slices" "$(awk -v a="$1" -v b="$2" 'BEGIN { print b - a }')" 1.9 5
says "the report tells who waits" "$T/report" "who waits"
if is_worst; then
	waiting=$(sed -nE 's/.*threads: .* ([0-9.]+) waiting.*/\1/p' "$T/report")
	within "16 threads on one CPU: 15 of them wait, and what else runs" "$waiting" 13.5 40
	own=$(grep -aE "^  windowload $load: wanted" -A2 "$T/report" | tr -s '\n ' ' ' | grep -oE '[0-9]+ % behind its own' | cut -d' ' -f1)
	within "they wait behind their own threads, per cent" "$own" 30 100
	samples --worst 2s --weight waiters
	all=$(awk '{ n += $NF } END { print n + 0 }' "$T/folded")
	within "weighted by those that waited, the load is most of it, per cent" \
		"$(awk -v h="$have" -v a="$all" 'BEGIN { print 100 * h / (a ? a : 1) }')" 30 100
fi
check "a page of the worst" "$HOTRUN" flame --worst 2s -o "$T/worst.html" "$capture"
check "it is a page" grep -q '<html' "$T/worst.html"

# --- one span and another ---
before="$capture@0..$(seconds "$began" -1.2)" with="$capture@$from..$to"
"$HOTRUN" diff "$with" "$with" >"$T/diff" 2>"$T/err"
is "a span and itself: exit code" $? 0
says "and nothing changed" "$T/diff" "no method changed for certain"
"$HOTRUN" diff --fail-above 5% -o "$T/diff" "$before" "$with" 2>"$T/err"
rc=$?
if is_worst; then
	is "what grew is an exit code" $rc 3
	says "and told" "$T/err" "grew by more than 5%"
fi
check "the load is new" grep -qE "^windowload .* new" "$T/diff"
# It may have had a sample or two in what is before.
"$HOTRUN" diff --format json --per cores -p windowload "$before" "$with" >"$T/diff.json" || fail "diff: $(cat "$T/err")"
check "JSON as the schema has it" tests/support/check_schema.py "$T/diff.json"
eval "$(python3 - "$T/diff.json" <<'P'
import json, sys
d = json.load(open(sys.argv[1]))
spin = [m for m in d['changed'] if m['method'] == 'spin']
print(f"found={len(spin)} spun={spin[0]['samples_after'] if spin else 0} cores={spin[0]['after'] if spin else 0}"
      f" all={d['after']['samples']} exact={d['processes'][0]['after']}")
P
)"
# Where a crowd wants the CPUs its part of them is no certain one.
is_worst && is "its method is found" "$found" 1
is "with all its samples" "$all" "$truth"
is_worst && within "its CPUs by samples are those by switches, less its other code" \
	"$(awk -v c="$cores" -v e="$exact" 'BEGIN { print c / e }')" 0.75 1.1
for wrong in "2:FROM..TO:$capture@soon..later" "2:is not before:$capture@5..3" "2:not with --format html:--min-effect --format html $capture" "1:outside of this capture:$capture@600..700" \
	"1:no such process:-pnobody $capture"; do
	IFS=: read -r code text words <<<"$wrong"
	"$HOTRUN" diff $words "$capture" >"$T/out" 2>"$T/err"
	is "diff $words: exit code" $? "$code"
	says "diff $words: says why" "$T/err" "$text"
done

"$HOTRUN" report -p windowlo "$capture" >"$T/begins" 2>"$T/err"
is "a process by the beginning of its name: exit code" $? 0
says "it is what start here is about" <(sed -n '/^start here/,/^host /p' "$T/begins") "windowload"

# --- questions ---
# asks QUESTION OPTION...: the first value of the answer
asks() { "$HOTRUN" query --format csv "${@:2}" "$1" | sed -n 2p | tr -d '"'; }
ours="SELECT sum(samples) FROM stacks WHERE process = 'windowload'"
is "SQL counts all its samples" "$(asks "$ours" "$capture")" "$truth"
is "and those of a span" "$(asks "$ours" --to "$(seconds "$began" -1.2)" "$capture")" ""
is "stacks for flame graphs" "$("$HOTRUN" query --folded "$capture" "SELECT stack, samples FROM stacks WHERE process = 'windowload'" |
	awk '{ n += $NF } END { print n }')" "$truth"
mkdir "$T/folder"
cp "$capture" "$T/folder/a.hotrun"
cp "$capture" "$T/folder/b.hotrun"
head -c 5000 "$capture" >"$T/folder/cut.hotrun"
is "a folder is one database" "$(asks "SELECT count(DISTINCT capture) || ' ' || sum(samples) FROM host" "$T/folder" 2>"$T/err")" \
	"2 $((2 * $(asks "SELECT samples FROM host" "$capture")))"
says "and says what it left out" "$T/err" "1 of 3 captures could not be read"
"$HOTRUN" query "$capture" "DELETE FROM host" >"$T/out" 2>"$T/err"
is "it only reads: exit code" $? 2
says "it only reads" "$T/err" "it may read, and nothing else"

# --- a span chosen in a page has the samples of the same window ---
"$HOTRUN" flame -o "$T/page.html" "$capture" 2>"$T/err" || fail "flame: $(cat "$T/err")"
for span in "0 3" "2.5 2.6" "$from $to"; do
	set -- $span
	"$HOTRUN" export --from "$1" --to "$2" "$capture" >"$T/folded" 2>"$T/err" || fail "export $span: $(cat "$T/err")"
	is "the page's samples from $1 to $2" "$(tests/support/page_block.py "$T/page.html" sum "$1" "$2")" \
		"$(awk '{ n += $NF } END { print n + 0 }' "$T/folded")"
done

# --- what cannot be ---
# refused CODE TEXT OPTION...
refused() {
	local code=$1 text=$2

	shift 2
	"$HOTRUN" report "$@" "$capture" >"$T/out" 2>"$T/err"
	is "$*: exit code" $? "$code"
	says "$*: says why" "$T/err" "$text"
	is "$*: nothing on stdout" "$(wc -c <"$T/out")" 0
}
refused 1 "outside of this capture; it is " --from 600
refused 1 "outside of this capture" --to "$(date -u -d '2 hours ago' +%H:%M:%S)"
refused 2 "is not before" --from 5 --to 5
refused 2 "is not before" --from 5 --to 3
refused 2 "not a time" --from noon
refused 2 "not a time" --to 1m1m
refused 2 "not a length" --worst 0
refused 2 "not a length" --worst 14:03
refused 2 "leave out --from" --worst 2s --from 1
refused 2 "leave out --to" --to 3 --worst 2s
"$HOTRUN" export --weight cpu "$capture" >"$T/out" 2>"$T/err"
is "a weight that is none: exit code" $? 2
says "tells which there are" "$T/err" "samples, waiters or blocked"
