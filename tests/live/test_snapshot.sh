#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# `hotrun snapshot` on a host that drowns: 64 threads that never sleep, of a C program and of .NET, whose method and
# number are known, and a storm of short processes; by itself, and by one that was armed. Each answer within seconds.
# quite alone
. "$(dirname "$0")/../support/live.sh"
need_root
# Its first snapshot goes by while the loads are made.
mkdir -m 700 "$T/armed"
start "$HOTRUN" snapshot --arm --dir "$T/armed"
armed=$started
need_dotnet Crowd

# The test itself is to get its turn; what it starts is ordinary again.
renice -n -15 $$ >/dev/null || fail "the test cannot raise its priority"

start sleep 120
sleeper=$started
DOTNET_PerfMapEnabled=0 start nice -n 15 dotnet "$BUILD/dotnet/Crowd/Crowd.dll" 12 4 90
crowd=$started
until_true 20 grep -qs ready "$T/$crowd.out" || fail "the .NET load does not start"
until_true 10 grep -qs armed: "$T/$armed.out" || fail "it is not armed: $(cat "$T/$armed.out")"
within "memory of one that is armed is locked, kB" "$(awk '/^VmLck/ { print $2 }' "/proc/$armed/status")" 10000 400000
nursery=$(pgrep -P "$armed" | head -1)
is "and that of its helpers, but for none" "$(for helper in $nursery $(pgrep -P "$nursery"); do
	awk '/^VmLck/ { print ($2 > 0) }' "/proc/$helper/status"; done 2>/dev/null | sort -u)" 1
start nice -n 15 "$LOADS/spinners" 48 90
spinners=$started
sleep 0.5

# took COMMAND...: its output in $T/out; prints the milliseconds until its first line, and until its end
took() {
	python3 - "$T/out" "$@" <<'P'
import subprocess, sys, time
begun = time.monotonic()
p = subprocess.Popen(sys.argv[2:], stdout=subprocess.PIPE)
first = p.stdout.readline()
at = time.monotonic()
open(sys.argv[1], 'wb').write(first + p.stdout.read())
print(int((at - begun) * 1000), int((time.monotonic() - begun) * 1000), p.wait())
P
}

# of_process NAME FIELD; of_code PROCESS METHOD FIELD: sums of the last JSON
of_process() {
	python3 -c 'import json, sys
print(sum(p[sys.argv[3]] for p in json.load(open(sys.argv[1]))["processes"] if p["process"] == sys.argv[2]))' "$T/out" "$@"
}
of_code() {
	python3 -c 'import json, sys
print(sum(c[sys.argv[4]] for c in json.load(open(sys.argv[1]))["codes"]
	if c["process"] == sys.argv[2] and (c["method"] or "") == sys.argv[3]))' "$T/out" "$@"
}
field() { python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' "$T/out" "$1"; }
# CPU time of a process so far, ns; with that of all its threads
ran() { cat "/proc/$1/task/"*/schedstat | awk '{ n += $1 } END { printf "%.0f\n", n }'; }
switches() { awk '/ctxt_switches/ { print $2 }' "/proc/$1/status" | tr '\n' ' '; }

# --- 64 spinners: ten lines at first ---
before=$(switches "$sleeper")
set -- $(took nice -n 15 "$HOTRUN" snapshot --fresh)
is "a snapshot ends well" "$3" 0
within "its first line, ms" "$1" 1 3000
is "nothing happens to who sleeps" "$(switches "$sleeper")" "$before"
awk '!NF { exit } { print }' "$T/out" >"$T/first"
# They wait for it 1.2 s at the most, which a host that is slow to read files may need for less.
if [ "$1" -lt 1350 ]; then
	says "the first lines name the C program's method" "$T/first" "spinners: spin"
else
	says "all lines name the C program's method" "$T/out" "spinners: spin"
fi
says "and who takes the CPUs" "$T/first" "spinners $spinners"
is "an empty line ends them" "$(awk '!NF { print NR; exit }' "$T/out" | awk '{ print $1 <= 11 }')" 1
says "all names follow" "$T/out" "with all names"
says "the .NET method among them" "$T/out" "Shop.Pricing.Quote.Compute"

# --- the same in figures, over more looks, by the one that is armed ---
c=$(ran "$spinners") net=$(ran "$crowd")
set -- $(took nice -n 15 "$HOTRUN" snapshot --dir "$T/armed" --repeat 5 --format json)
c=$(($(ran "$spinners") - c)) net=$(($(ran "$crowd") - net))
# What looks at the answer would only wait for a CPU.
stop "$crowd"
stop "$spinners"
is "five intervals are told" "$(field looks)" 6
is "by the one that is armed" "$(field by)" armed
within "within, ms" "$2" 1 4000
as_schema "$T/out"
within "threads of the C program in its method" "$(of_code spinners spin threads)" 46 48
within "threads of .NET in the one method" "$(of_code Crowd Shop.Pricing.Quote.Compute threads)" 11 12
within "and in the other" "$(of_code Crowd Shop.Search.Ranker.Score threads)" 4 4
ratio() { awk -v a="$1" -v b="$2" 'BEGIN { print a / b }'; }
# Over a longer time, of which the looks are the middle.
truth=$(ratio "$c" $((c + net)))
told=$(ratio "$(of_process spinners cpu_ns)" $(($(of_process spinners cpu_ns) + $(of_process Crowd cpu_ns))))
within "the C program's part of both, of $truth by its threads' own clocks" "$told" \
	"$(awk -v t="$truth" 'BEGIN { print t - 0.1 }')" "$(awk -v t="$truth" 'BEGIN { print t + 0.1 }')"
within "the one method's part of the .NET program's CPU time" \
	"$(ratio "$(of_code Crowd Shop.Pricing.Quote.Compute cpu_ns)" "$(of_process Crowd cpu_ns)")" 0.6 0.9
within "threads that wait for a CPU" "$(ratio "$(field waited_ns)" "$(field elapsed_ns)")" 50 80
within "its books close: CPU time in no row, of all" "$(ratio "$(field gone_ns)" "$(field busy_ns)")" 0 0.1

# --- a storm of short processes, which no look meets ---
start nice -n 15 "$LOADS/storm" 30 1000
storm=$started
sleep 0.5
begun() { awk '/^processes/ { print $2 }' /proc/stat; }
before=$(begun) at=$(date +%s%N)
set -- $(took nice -n 15 "$HOTRUN" snapshot --dir "$T/armed" --repeat 2 --format json)
rate=$(awk -v n=$(($(begun) - before)) -v ns=$(($(date +%s%N) - at)) 'BEGIN { printf "%.0f", n / ns * 1e9 }')
stop "$storm"
within "a snapshot of a storm, ms" "$2" 1 4000
within "what is begun a second, of $rate as the kernel counts them over a longer time" \
	"$(awk -v n="$(field forks)" -v ns="$(field elapsed_ns)" -v r="$rate" 'BEGIN { print n / ns * 1e9 / r }')" 0.3 3
within "CPU time of its children is the storm's, in cores" \
	"$(ratio "$(of_process storm children_cpu_ns)" "$(field elapsed_ns)")" 0.02 2

stop "$armed"
"$HOTRUN" snapshot --dir "$T/armed" >"$T/out" 2>"$T/err"
is "nobody there is a failure" $? 1
