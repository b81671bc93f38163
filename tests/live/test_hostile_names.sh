#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Process, path and method names with ESC, newline, `;`, `<script>`, bad UTF-8: harmless in every output.
# beside others, 18 s
. "$(dirname "$0")/../support/live.sh"
need_root
need_dotnet Split Evil

evil_path="$T/ev"$'\033'"[31m;<script>alert(1)<&script>"$'\n'"$(printf '\377\303')x"
cp "$LOADS/spinners" "$evil_path"
dotnet_start "$BUILD/dotnet/Split/Split.dll" 40 "$T/truth"
split=$started
dotnet_start "$BUILD/dotnet/Evil/Evil.dll" 40
evil=$started
start "$LOADS/hostile" 40 comm
comm=$started
start "$LOADS/hostile" 40 anon
anon=$started
start "$LOADS/hostile" 40 map
map=$started
start "$evil_path" 1 40
path=$started
until_true 20 grep -qs Reprice "/tmp/perf-$split.map" || fail "the load does not start"
until_true 20 grep -qs dynamicClass "/tmp/perf-$evil.map" || fail "the evil load does not start"
sleep 1
record names -d 6 -F 199 || exit 1
for pid in "$split" "$evil" "$comm" "$anon" "$map" "$path"; do
	stop "$pid"
done
capture=$T/names.hotrun
for pid in "$split" "$evil" "$comm" "$anon" "$map" "$path"; do
	within "samples of $(tr '\n\033' '  ' <<<"$(sql "$capture" "SELECT name FROM process WHERE tgid = $pid")" | cat -v)" \
		"$(sql "$capture" "SELECT samples FROM process_cpu WHERE tgid = $pid")" 20 100000
done

"$HOTRUN" report -n 20 --all "$capture" >"$T/report" 2>"$T/err" || fail "report: $(cat "$T/err")"
# On a busy host they may not be among the first.
for pid in "$comm" "$path"; do
	"$HOTRUN" report -p "$pid" "$capture" >>"$T/report" 2>>"$T/err" || fail "report -p: $(cat "$T/err")"
done
"$HOTRUN" report -n 20 -b "$capture" >"$T/bottom" 2>>"$T/err" || fail "report -b: $(cat "$T/err")"
"$HOTRUN" report -s "$capture" >"$T/summary" 2>>"$T/err" || fail "report -s: $(cat "$T/err")"
"$HOTRUN" export "$capture" -o "$T/folded" 2>>"$T/err" || fail "export: $(cat "$T/err")"
"$HOTRUN" export --pid --addresses "$capture" -o "$T/folded.pid" 2>>"$T/err" || fail "export --pid: $(cat "$T/err")"
"$HOTRUN" flame "$capture" -o "$T/flame.html" 2>>"$T/err" || fail "flame: $(cat "$T/err")"
check "no byte that a terminal obeys in reports and stacks" \
	facts clean text "$T/report" "$T/bottom" "$T/summary" "$T/folded" "$T/folded.pid" "$T/names.sum" "$T/err" "$T/names.err"
tests/support/page_block.py "$T/flame.html" >"$T/flame.json"
check "nor in the page, and no markup of a target" facts clean html "$T/flame.html"
check "its data can be read" grep -q '"format": "hotrun-flame"' "$T/flame.json"
check "folded lines are stacks and counts" facts folded "$T/folded"
for format in csv firefox json ndjson otlp perf-script perfetto pprof speedscope svg; do
	"$HOTRUN" export --format $format "$capture" -o "$T/export.$format" 2>>"$T/err" || fail "export --format $format"
done
# Its frames begin with a tab.
sed -i "s/^\t/ /" "$T/export.perf-script"
check "no byte that a terminal obeys in other formats" facts clean text "$T"/export.{csv,firefox,json,ndjson,perf-script,speedscope,svg}
check "with process ids, too" facts folded "$T/folded.pid"
is "as many counts as samples" "$(awk '{ n += $NF } END { print n }' "$T/folded")" "$(sql "$capture" 'SELECT count(*) FROM sample')"
# Harmless, but still to be recognized.
says "the process name is shown, escaped" "$T/report" '\x1b[31m;<b>\x0a'
says "in folded stacks its separator, too" "$T/folded" '\x1b[31m\x3b<b>\x0a'
says "a method name with an escape sequence" "$T/folded" 'esc\x1b[31m\x1b]0'
says "the path of the executable" "$T/report" 'ev\x1b[31m;<script>alert(1)<&script>\x0a'
# A perf map of a program that is not .NET, with lines of all sorts.
says "the name of a perf map's line, escaped" "$T/folded" 'ev\x1b[2J\x3bil\x0d\x07<script>alert(1)</script>'
leaf=$(facts reasons "$capture" "$anon" | sed -n 1p)
is "code outside of every file says so: $leaf" "${leaf#* }" anonymous-code
# A forged line in a method name names nothing else: the neighbours keep their names.
is "no frame takes a forged name" "$(grep -c ';forged' "$T/folded")" 0
"$HOTRUN" export -p "$split" "$capture" -o "$T/folded.split" 2>>"$T/err" || fail "export -p: $(cat "$T/err")"
set -- $(facts share "$T/folded.split" Split Shop.Pricing.Engine.Reprice)
within "the process beside them keeps its names, per cent of $2" "$(awk -v h="$1" -v t="$2" 'BEGIN { print 100 * h / t }')" 40 80 # 57, of few samples
set -- $(facts jit "$capture" "$split")
within "all of them" "$(awk -v n="$1" -v t="$2" 'BEGIN { print 100 * n / t }')" 99.5 100
