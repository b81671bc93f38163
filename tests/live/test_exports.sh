#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Exports of one capture, each opened by its own reader, whose totals are hotrun's.
# beside others, 24 s
# usage: test_exports.sh [CAPTURE]    without one that of the web service, or a short one of its own
. "$(dirname "$0")/../support/live.sh"

need_tool go golang-go
need_tool node nodejs
need_tool chromium chromium
need_tool dotnet "none: a .NET 10 SDK"
npm=$BUILD/readers/node_modules
[ -d "$npm/speedscope" ] || skip "needs speedscope of npm (make deps-test)"
capture=${1:-$BUILD/live/aspnet.hotrun}
if [ ! -e "$capture" ]; then
	need_root
	record own -d 2 -- "$LOADS/native" 2
	capture=$T/own.hotrun
fi

# export_as NAME OPTION...: into $T/NAME
export_as() {
	local name=$1

	shift
	"$HOTRUN" export "$@" "$capture" -o "$T/$name" 2>"$T/err" || fail "export $*: $(cat "$T/err")"
}

# counts FILE: of folded stacks
counts() { awk '{ n += $NF } END { printf "%.0f", n }' "$1"; }

hz=$(sql "$capture" 'SELECT sample_hz FROM host')
tick=$((1000000000 / hz))
blocked=yes
export_as folded
export_as folded.waiters --weight waiters
"$HOTRUN" export --weight blocked "$capture" -o "$T/folded.blocked" 2>/dev/null || blocked=
samples=$(counts "$T/folded")
waiters=$(counts "$T/folded.waiters")
cpu_ns=$((samples * tick))
within "samples of the capture" "$samples" 50 10000000
process=$(sql "$capture" "SELECT p.tgid FROM sample s JOIN thread t ON t.id = s.thread JOIN process p ON p.id = t.process
	GROUP BY p.id ORDER BY count(*) DESC LIMIT 1")
# The options that say what is taken hold for each format.
export_as part --from 1 --to 2 -p "$process" --just-my-code
part=$(counts "$T/part")

# --- pprof ---
# pprof_sums FILE: of each value, as `go tool pprof` reads it, in $T/raw
pprof_sums() {
	go tool pprof -raw "$1" 2>/dev/null >"$T/raw"
	awk '/^Samples:/ { on = 1; getline; next } /^Locations/ { on = 0 }
		on && /^ *[0-9]+( +[0-9]+)*:/ { sub(/:.*/, ""); n = split($0, v, " "); for (i = 1; i <= n; i++) sum[i] += v[i] }
		END { for (i = 1; i <= n; i++) printf "%.0f ", sum[i] }' "$T/raw"
}
export_as pprof --format pprof
set -- $(pprof_sums "$T/pprof")
go tool pprof -top "$T/pprof" >"$T/top" 2>"$T/err" || fail "go tool pprof -top: $(cat "$T/err")"
is "pprof: samples" "${1:-}" "$samples"
is "pprof: CPU time, ns" "${2:-}" "$cpu_ns"
is "pprof: waiting, ns" "${3:-}" "$((waiters * tick))"
[ -z "$blocked" ] ||
	is "pprof: blocked, ns" "${4:-}" "$(($(counts "$T/folded.blocked") * 1000000))"
check "pprof has build ids" grep -qE '^[0-9]+: 0x0/0x0/0x0 /[^ ]+ [0-9a-f]{16,40} ' "$T/raw"
says "pprof -top has a table" "$T/top" "flat%"
hottest=$(awk '{ sub(/ [0-9]+$/, ""); n = split($0, f, ";"); print f[n] }' "$T/folded" | grep -v '^\[' | sort | uniq -c |
	sort -rn | awk 'NR == 1 { sub(/^ *[0-9]+ /, ""); sub(/_\[[kj]\]$/, ""); print }')
go tool pprof -peek "$(sed 's/[][\\.*^$+?(){}|]/\\&/g' <<<"$hottest")" "$T/pprof" >"$T/peek" 2>/dev/null
says "pprof -peek finds a method" "$T/peek" "$hottest"
go tool pprof -tags "$T/pprof" >"$T/tags" 2>/dev/null
for label in process pid thread tid role; do
	check "pprof -tags has $label" grep -q "^ *$label: Total" "$T/tags"
done
export_as pprof.part --format pprof --from 1 --to 2 -p "$process" --just-my-code
is "pprof: a part in time of one process" "$(pprof_sums "$T/pprof.part" | cut -d" " -f1)" "$part"

# --- speedscope ---
mkdir "$T/page"
cp -r "$npm/speedscope/dist/release/." "$T/page/"
cp tests/live/speedscope_drive.js "$T/page/"
sed -i 's|</body>|<script src="speedscope_drive.js"></script></body>|' "$T/page/index.html"

chrome() {
	timeout 60 chromium --headless --no-sandbox --disable-gpu --disable-quic --no-first-run \
		--disable-background-networking --disable-component-update --disable-sync --enable-unsafe-swiftshader \
		--user-data-dir="$T/profile" --virtual-time-budget=60000 "$@" 2>"$T/chrome.err"
}

# speedscope_reads FILE: its own page does; what it made of it in $profiles $unit $weight $depth
speedscope_reads() {
	node -e 'const bytes = require("fs").readFileSync(process.argv[1]).toString("base64");
		console.log(`speedscope.loadFileFromBase64("capture", "${bytes}")`)' "$1" >"$T/page/in.js"
	chrome --dump-dom "file://$T/page/index.html#localProfilePath=$T/page/in.js" >"$T/dom"
	read -r profiles unit weight depth rest < <(sed -n 's|.*<pre id="results">\(.*\)</pre>.*|\1|p' "$T/dom")
	[ -n "${weight:-}" ] && [ -z "$rest" ] || fail "speedscope did not read $1: ${rest:-$(tail -2 "$T/chrome.err")}"
}
threads=$(sql "$capture" 'SELECT count(DISTINCT thread) FROM sample')
export_as speedscope --format speedscope
check "speedscope's schema" python3 -c 'import json, jsonschema, sys
jsonschema.validate(json.load(open(sys.argv[1])), json.load(open(sys.argv[2])))' \
	"$T/speedscope" "$npm/speedscope/dist/release/file-format-schema.json"
speedscope_reads "$T/speedscope"
is "speedscope: a profile a thread" "$profiles" "$threads"
is "speedscope: CPU time, $unit" "$weight" "$cpu_ns"
export_as part --format speedscope --from 1 --to 2 -p "$process" --just-my-code
is "speedscope: a part in time of one process" \
	"$(jq '[.profiles[] | [.samples, .weights] | transpose[] | select(.[0] != []) | .[1]] | add' "$T/part")" "$((part * tick))"

# --- perf-script ---
export_as perf-script --format perf-script
is "perf-script: samples" "$(grep -c ' cpu-clock: $' "$T/perf-script")" "$(sql "$capture" 'SELECT count(*) FROM sample')"
is "perf-script: CPU time, ns" \
	"$(awk '/ cpu-clock: $/ { n += $(NF - 1) } END { printf "%.0f", n }' "$T/perf-script")" "$cpu_ns"
speedscope_reads "$T/perf-script"
is "speedscope reads perf-script: threads" "$profiles" "$threads"
cp "$T/perf-script" "$T/perf.data.txt"
read -r read_samples read_threads read_depth < <(dotnet "$BUILD/readers/perf_script/PerfScriptReader.dll" "$T/perf.data.txt")
# What a sample weighs there is the time to the next one of its CPU, which the last one does not have.
set -- $(sql "$capture" 'SELECT count(*), count(DISTINCT cpu) FROM sample')
is "PerfView's parser reads perf-script: samples" "$read_samples" $(($1 - $2))
within "threads" "$read_threads" $((threads - $2)) "$threads"
within "frames of the deepest stack" "$read_depth" 5 4200
export_as part --format perf-script --from 1 --to 2 -p "$process" --just-my-code
is "perf-script: a part in time of one process" \
	"$(awk '/ cpu-clock: $/ { n += $(NF - 1) } END { printf "%.0f", n }' "$T/part")" "$((part * tick))"

# --- firefox ---
export PROFILER_CLI_SESSION_DIR=$T/profiler
profiler() { node "$npm/@firefox-devtools/profiler-cli/dist/profiler-cli.js" "$@" --session test --json; }
is_loaded() { grep -qs "Profile loaded successfully" "$PROFILER_CLI_SESSION_DIR/test.log"; }

# profiler_reads FILE: sums of what it made of it, in $threads_read $cpu_ms $weight_read
profiler_reads() {
	local pid

	mkdir -p "$PROFILER_CLI_SESSION_DIR"
	start node "$npm/@firefox-devtools/profiler-cli/dist/profiler-cli.js" --daemon "$1" --session test
	pid=$started
	until_true 20 is_loaded || fail "the Firefox Profiler did not read $1: $(tail -n 2 "$PROFILER_CLI_SESSION_DIR/test.log")"
	profiler thread list --limit 0 >"$T/threads.json"
	profiler profile markers --limit 0 >"$T/markers.json"
	profiler counter list >"$T/counters.json"
	stop "$pid"
	rm -rf "$PROFILER_CLI_SESSION_DIR"
}
export_as firefox --format firefox
profiler_reads "$T/firefox"
is "firefox: a track a thread, and that of the host" "$(jq '.threads | length' "$T/threads.json")" $((threads + 1))
is "firefox: CPU time, us" "$(jq '[.threads[].cpuMs] | add * 1000 | round' "$T/threads.json")" \
	"$(awk -v n="$cpu_ns" 'BEGIN { printf "%.0f", n / 1000 }')"
is "firefox: counters" "$(jq -r '[.counters[].name] | join(" ")' "$T/counters.json")" "CPU waiting queue requests slow"
is "firefox: samples" "$(jq '[.threads[].samples.weight[]] | add' "$T/firefox")" "$samples"
is "firefox: markers" "$(jq '.markers | length' "$T/markers.json")" \
	"$(jq '[.threads[].markers.length] | add' "$T/firefox")"
export_as part --format firefox --from 1 --to 2 -p "$process" --just-my-code
is "firefox: a part in time of one process" "$(jq '[.threads[].samples.weight[]] | add' "$T/part")" "$part"

# --- json, ndjson, csv ---
need_tool jq jq
need_tool sqlite3 sqlite3
export_as tables --format json
as_schema "$T/tables"
is "json: samples by table" "$(jq -c '[.host, .processes, .threads, .samples | [.[].samples] | add]' "$T/tables")" \
	"[$samples,$samples,$samples,$samples]"
is "json: threads that waited" "$(jq '[.processes[].waiters // 0] | add' "$T/tables")" "$waiters"
is "json: methods" "$(jq '[.methods[].self] | add' "$T/tables")" "$samples"
export_as lines --format ndjson --table samples
is "ndjson: samples" "$(jq -n '[inputs | .samples] | add' "$T/lines")" "$samples"
for table in host seconds processes threads methods requests waits events losses samples; do
	export_as $table.csv --format csv --table $table
	is "csv: rows of $table" "$(sqlite3 :memory: ".import --csv $T/$table.csv t" 'SELECT count(*) FROM t')" \
		"$(jq ".$table | length" "$T/tables")"
done
is "csv: samples" "$(sqlite3 :memory: ".import --csv $T/samples.csv t" 'SELECT sum(samples) FROM t')" "$samples"
export_as part --format csv --table samples --from 1 --to 2 -p "$process" --just-my-code
is "csv: a part in time of one process" \
	"$(sqlite3 :memory: ".import --csv $T/part t" 'SELECT sum(samples) FROM t')" "$part"

# --- svg ---
export_as picture.svg --format svg
check "svg: well-formed" python3 -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])' "$T/picture.svg"
says "svg: all samples" "$T/picture.svg" ">$(sed -E ':a; s/^([0-9]+)([0-9]{3})/\1,\2/; ta' <<<"$samples") samples</text>"
chrome --dump-dom "file://$T/picture.svg" >"$T/dom"
is "svg: as many boxes in Chromium" "$(grep -c '<g><title>' "$T/dom")" "$(grep -c '<g><title>' "$T/picture.svg")"

# --- perfetto, otlp ---
need_tool protoc protobuf-compiler
# decoded NAME MESSAGE: into $T/NAME.txt, as the schema has it; fields that it has not stand there by number
decoded() { protoc --proto_path=user/export/schema --decode "$2" "${2%%.*}.proto" <"$T/$1" >"$T/$1.txt" 2>"$T/err"; }
export_as perfetto --format perfetto
check "perfetto: protoc reads it" decoded perfetto perfetto.Trace
is "perfetto: samples, each a tick" "$(grep -c '^  perf_sample {' "$T/perfetto.txt")" "$samples"
is "perfetto: slices, begun and ended" "$(grep -c TYPE_SLICE_BEGIN "$T/perfetto.txt")" \
	"$(grep -c TYPE_SLICE_END "$T/perfetto.txt")"
is "perfetto: slices, and events of the tables" "$(grep -c TYPE_SLICE_BEGIN "$T/perfetto.txt")" \
	"$(jq '.events | length' "$T/tables")"
is "perfetto: nothing that the schema has not" "$(grep -cE '^ *[0-9]+:' "$T/perfetto.txt")" 0
export_as part --format perfetto --from 1 --to 2 -p "$process" --just-my-code
decoded part perfetto.Trace
is "perfetto: a part in time of one process" "$(grep -c '^  perf_sample {' "$T/part.txt")" "$part"
"$HOTRUN" export --format perfetto --weight waiters "$capture" >"$T/out" 2>"$T/err"
is "perfetto has one weight: exit code" $? 2
says "and why" "$T/err" "its tools count samples, each as one"
export_as otlp --format otlp
check "otlp: protoc reads it" decoded otlp otlp.ProfilesData
# otlp_sums: of the first, second and third profile of all resources
otlp_sums() {
	awk '/^resource_profiles/ { i = 0 } /^    profiles {/ { i++ } /^ +values:/ { n[i] += $2 }
		END { printf "%.0f %.0f %.0f", n[1], n[2], n[3] }' "$T/$1.txt"
}
set -- $(otlp_sums otlp)
is "otlp: CPU time, ns" "$1" "$cpu_ns"
is "otlp: waiting, ns" "$2" "$((waiters * tick))"
[ -z "$blocked" ] || is "otlp: blocked, ns" "$3" "$(($(counts "$T/folded.blocked") * 1000000))"
is "otlp: nothing that the schema has not" "$(grep -cE '^ *[0-9]+:' "$T/otlp.txt")" 0
export_as part --format otlp --from 1 --to 2 -p "$process" --just-my-code
decoded part otlp.ProfilesData
is "otlp: a part in time of one process" "$(otlp_sums part | cut -d' ' -f1)" $((part * tick))
