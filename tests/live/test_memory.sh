#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Names of JIT-compiled code out of memory: an ASP.NET service that was started with nothing set has its managed
# frames named; what the memory of another one says is what its perf map says; and dynamic methods at addresses that
# are used again have no wrong name.
# beside others, 28 s
. "$(dirname "$0")/../support/live.sh"
need_root
need_tool wrk wrk
need_dotnet Web Reuse

set -- $(free_ports 2)
plain_port=$1 map_port=$2
start dotnet "$BUILD/dotnet/Web/Shop.Web.dll" "$plain_port" 60 "$T/truth.plain"
plain=$started
DOTNET_PerfMapEnabled=3 start dotnet "$BUILD/dotnet/Web/Shop.Web.dll" "$map_port" 60 "$T/truth.map"
map=$started
for pid in $plain $map; do
	until_true 60 grep -q ready "$T/$pid.out" || fail "the service does not start: $(head -3 "$T/$pid.out")"
done
loads=()
for port in $plain_port $map_port; do
	start wrk -t1 -c2 -d 50s "http://127.0.0.1:$port/orders"
	loads+=("$started")
done
sleep 1
start "$HOTRUN" record -d 7 -F 299 -o "$T/all.hotrun"
recorder=$started
until_true 10 grep -qs 'recording at' "$T/$recorder.out" || fail "no recording: $(cat "$T/$recorder.out")"
start dotnet "$BUILD/dotnet/Reuse/Reuse.dll" 1 "$T/truth.reuse"
reuse=$started
wait "$recorder"
is "the recording ends well" $? 0
for pid in "${loads[@]}"; do stop "$pid"; done

is "no map was written" "$(ls "/tmp/perf-$plain.map" "/tmp/perf-$reuse.map" 2>/dev/null)" ""
late=4 managed "with nothing set" "$T/all.hotrun" "$plain"

# --- against the map, of the same samples ---
check "names of the other one from its memory" \
	"$HOTRUN" rename --all --names memory -o "$T/memory.hotrun" "$T/all.hotrun"
facts same "$T/all.hotrun" "$T/memory.hotrun" "$map" >"$T/same"
set -- $(head -1 "$T/same")
within "frames of methods that the map names, of $3, with a name in memory, per cent" \
	"$(awk -v n="$1" -v t="$3" 'BEGIN { printf "%.2f", (t > 1000 ? 100 * n / t : 0) }')" 99.5 100
within "of these, with the name of the map, per cent" \
	"$(awk -v n="$2" -v t="$1" 'BEGIN { printf "%.3f", (t > 1000 ? 100 * n / t : 0) }')" 99.9 100
tail -n +2 "$T/same" | sed 's/^/#   differs: /'

# --- methods that are dropped, and others at their addresses ---
set -- $(facts phases "$T/all.hotrun" "$reuse" "$T/truth.reuse")
within "samples of dynamic methods by the name of their time" "$1" 1 100000
within "by that of another time" "$2" 0 0
facts reasons "$T/all.hotrun" "$reuse" | sed 's/^/#   leaves without a name: /'
for pid in $plain $map $reuse; do
	stop "$pid"
done

# --- each method runs once and is dropped ---
start dotnet "$BUILD/dotnet/Reuse/Reuse.dll" 6 "$T/truth.each" each
each=$started
sleep 1
check "a recording of methods that run once" "$HOTRUN" record -d 4 -o "$T/each.hotrun"
wait "$each"
set -- $(facts each "$T/each.hotrun" "$each" "$T/truth.each")
# 94 to 99 where nothing else runs, by how often memory is collected. Where the load itself gets no fourth of a CPU, who
# reads its memory may come too late for each of them.
[ "$1" -ge 100 ] && late=0 || late=$5
within "of $1 samples of $4 such methods a second, with their name (too late for $5), per cent" \
	"$(awk -v n="$2" -v t="$1" -v l="$late" 'BEGIN { printf "%.1f", (t > 0 ? 100 * (n + l) / t : 0) }')" 60 100
within "with another one" "$3" 0 0
