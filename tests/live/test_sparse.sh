#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Reading creates nothing: a process of nobody's, made so that each page which a reader makes present costs a page of
# page tables, is as large after everything that hotrun does as before. And a process that has a helper's name is none.
# beside others
. "$(dirname "$0")/../support/live.sh"
need_root
as_nobody=(setpriv --reuid 65534 --regid 65534 --clear-groups)
chmod 755 "$T"
mkdir -m 755 "$T/shared"
cp "$LOADS/sparse" "$T/shared/"
head -c 65536 /dev/zero >"$T/shared/libcoreclr.so"
cp "$LOADS/spinners" "$T/shared/hotrun-parse"
start "${as_nobody[@]}" "$T/shared/sparse" "$T/shared/libcoreclr.so" 600 120
sparse=$started
until_true 20 grep -q ready "$T/$sparse.out" || fail "the workload does not start: $(head -3 "$T/$sparse.out")"

# kb NAME: a figure of the process
kb() { awk -v n="$1:" '$1 == n { print $2 }' "/proc/$sparse/status"; }
tables=$(kb VmPTE)
resident=$(kb VmRSS)
# same WHAT
same() {
	within "$1: its page tables, kB" "$(kb VmPTE)" "$tables" $((tables + 8))
	within "$1: its memory, kB" "$(kb VmRSS)" $((resident - 64)) $((resident + 64))
}
"$HOTRUN" threads -p "$sparse" >"$T/out" 2>"$T/err"
is "threads: exit code" $? 0
within "threads: it has them all" "$(grep -oE '^.* · [0-9,]+ threads' "$T/out" | head -1 | grep -oE '[0-9]+ threads' | cut -d' ' -f1)" 601 601
same threads
"$HOTRUN" threads >"$T/out" 2>"$T/err"
is "threads of all: exit code" $? 0
same "threads of all"
record a -d 4
same record
start "${as_nobody[@]}" "$T/shared/hotrun-parse" 1 120
spinner=$started
sleep 0.3
"$HOTRUN" snapshot --format json >"$T/snapshot.json" 2>"$T/err"
is "snapshot: exit code" $? 0
same snapshot
is "who has a helper's name is among the processes of a snapshot" \
	"$(python3 -c 'import json, sys
print([p["pid"] for p in json.load(open(sys.argv[1]))["processes"] if "hotrun-parse" in str(p)])' "$T/snapshot.json")" "[$spinner]"
# cpu_ticks PID: by its own clock, of 10 ms
cpu_ticks() { awk '{ print $14 + $15 }' "/proc/$1/stat"; }
was=$(cpu_ticks "$spinner")
record b -d 2
rose=$(($(cpu_ticks "$spinner") - was)) # the recorder's start and end among it
"$HOTRUN" report "$T/b.hotrun" --format json >"$T/b.json" 2>"$T/err"
within "and takes its CPU time in the report ($rose ticks of its own clock)" \
	"$(python3 -c 'import json, sys
print(sum(p["running_threads"] for p in json.load(open(sys.argv[1]))["processes"] if p["pid"] == int(sys.argv[2])))' "$T/b.json" "$spinner")" "$(awk -v t="$rose" 'BEGIN { print t / 800 }')" "$(awk -v t="$rose" 'BEGIN { print t / 200 + 0.02 }')"
