#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Captures that the resident recorder takes by itself: a stall once, with its first bad second, in time and with
# the right verdict; a service that is busy and fast never. The operator's program, and one that hangs; standing
# consent to ask for a perf map; a trigger without end.
. "$(dirname "$0")/../support/live.sh"
. "$(dirname "$0")/../support/servers.sh"
. "$(dirname "$0")/../support/watch.sh"
need_root
need_dotnet Hang
need_tool wrk wrk
need_tool curl curl

# The one that stalls writes no perf map of its own.
hang_name=Shop.Stall hang_start 1 120
stall=$hang stall_port=${hang_ports[0]}
hang_name=Shop.Fast hang_start 1 120
fast_port=${hang_ports[0]}
"$HOTRUN" perfmap disable "$stall" >"$T/out" 2>&1 || fail "perfmap disable: $(cat "$T/out")"

cat >"$T/told" <<X
#!/bin/sh
echo "\$@" >>$T/told.args
cat >>$T/told.json
sleep 600 &
exec sleep 600
X
chmod 755 "$T/told"
# Whatever else this host is short of is none of this test's.
cat >"$T/conf" <<X
[hotrun watch]
ring = 30s
before = 4s
after = 3s
budget = 0
include = name=Shop.Stall
include = name=Shop.Fast
capture-on = inelastic, no-evidence
on-capture = $T/told
perf-maps = on-capture
perf-maps-for = name=Shop.Stall
X
itself=
watch_start --config "$T/conf"
until_true 20 answers readyz 200 || fail "it does not become ready: $(tail -3 "$T/$watcher.out")"
start wrk -t1 -c8 -d100s "http://127.0.0.1:$fast_port/busy?us=300"
fast_load=$started
until_true 20 at_least hotrun_ring_seconds 4 || fail "it has $(metric hotrun_ring_seconds) s of the past"

# --- a stall ------------------------------------------------------------------------------------------
began=$(date +%s.%N)
start wrk -t1 -c40 -d5s "http://127.0.0.1:$stall_port/slow?ms=1500"
until_true 12 grep -q 'taking a capture' "$T/$watcher.out" && ok "a stall is captured" || fail "no capture: $(tail -3 "$T/$watcher.out")"
taken=$(date +%s.%N)
# Its first requests are slow half a second after they came, in a slice that ends a second later at most.
within "so soon after it began, s" "$(awk -v a="$began" -v b="$taken" 'BEGIN { print b - a }')" 2.5 7.5
until_true 25 test -s "$T/told.args" || fail "the operator's program does not run: $(tail -3 "$T/$watcher.out")"
capture=$(ls "$dir"/*-auto.hotrun)
is "one capture" "$(printf '%s\n' "$capture" | wc -l)" 1
why=$(sql "$capture" 'SELECT taken FROM host')
case $why in "inelastic Shop.Stall $stall since "*"running: none") ok "taken because: ${why%%;*}" ;; *) fail "taken because: $why" ;; esac
says "the log line has the answers" "$T/$watcher.out" "taking a capture: $(basename "$capture"): $why"
# The first slice in which something of it was late.
first="SELECT min(l.start_ns) FROM service s JOIN slice l ON l.id = s.slice JOIN endpoint e ON e.id = s.endpoint
	WHERE e.port = $stall_port AND s.late > 0"
within "its first bad second is in the capture, s after its beginning" \
	"$(sql "$capture" "SELECT ($first) / 1e9 - start_ns / 1e9 FROM host")" 0.3 7
within "and lies so long before the decision, s" \
	"$(sql "$capture" "SELECT end_ns / 1e9 - ($first) / 1e9 FROM host")" 5 9.5
is "it is complete" "$(sql "$capture" 'SELECT complete FROM host')" 1
says "the report says why it was taken" "${capture%.hotrun}.txt" "taken because: inelastic Shop.Stall"
# Over all of it, on a host that is busy with others, it may be short of CPU, too.
check "and that it is hurt" grep -qE "^ +[a-z]+ Shop.Stall $stall: .* requests slow" "${capture%.hotrun}.txt"
"$HOTRUN" captures --dir "$dir" >"$T/list"
says "captures says why, too" "$T/list" "taken because: inelastic Shop.Stall $stall since"
check "one line names it, its evidence and its trunks" grep -q "done, with report and page: inelastic Shop.Stall $stall since .*requests slow.*thickest trunks: " "$T/$watcher.out"

# --- what is not taken ----------------------------------------------------------------------------------
# Not one stall that goes on: of that nothing more is told.
until_true 25 eval '[ "$(metric hotrun_suspects)" = 0 ]' || fail "suspects: $(metric hotrun_suspects)"
start wrk -t1 -c40 -d6s "http://127.0.0.1:$stall_port/slow?ms=1500"
is "the operator's program has its arguments" "$(cat "$T/told.args")" \
	"$capture ${capture%.hotrun}.txt ${capture%.hotrun}.html Shop.Stall inelastic"
is "and JSON" "$(python3 -c 'import json, sys; j = json.load(open(sys.argv[1])); print(j["process"], j["pid"], j["verdict"], len(j["evidence"]) > 0)' "$T/told.json")" \
	"Shop.Stall $stall inelastic True"
as_schema "$T/told.json"
until_true 12 grep -q 'no capture of inelastic Shop.Stall .*lately: the like' "$T/$watcher.out" && ok "the like rests" || fail "the like: $(tail -2 "$T/$watcher.out")"
until_true 3 at_least 'hotrun_captures_not_taken_total{reason="lately"}' 1 && ok "and metrics count that" || fail "lately: $(metric 'hotrun_captures_not_taken_total{reason="lately"}')"
stop "$fast_load"
is "busy and fast is never captured" "$(grep -c 'taking a capture' "$T/$watcher.out")" 1
within "and metrics count one" "$(metric 'hotrun_captures_total{by="auto"}')" 1 1
says "the runtime was asked for its map, and it is off again" "$T/$watcher.out" "perf maps: switched on for the capture and off again: 1"

# --- a trigger without end ------------------------------------------------------------------------------
cat >"$T/triggers.py" <<'P'
import socket, sys, time
end = time.time() + 2
asked = 0
while time.time() < end:
    s = socket.socket(socket.AF_UNIX)
    try:
        s.connect(sys.argv[1])
        s.send(b'trigger 1000000000 600000000000\n')
        s.recv(100)
        asked += 1
    except OSError:
        pass
    s.close()
print(asked)
P
python3 "$T/triggers.py" "$dir/control" >"$T/asked"
within "so many triggers in two seconds" "$(cat "$T/asked")" 20 1000000
is "begin no more captures than may be under way" "$(ls "$dir" | grep -cE 'trigger(-[0-9])?.hotrun$')" 4
answers healthz 200 && ok "and it goes on" || fail "healthz: $(cat "$T/answer")"

# --- the operator's program hangs ----------------------------------------------------------------------
until_true 15 grep -q 'on-capture: .*did not end in 10 s, and was killed' "$T/$watcher.out" && ok "it is killed" || fail "not killed: $(tail -2 "$T/$watcher.out")"
is "with all that it started" "$(pgrep -cf "^sleep 600$" -P "$watcher")" 0

# --- settings -------------------------------------------------------------------------------------------
printf '[hotrun watch]\ncapture-on = tired\n' >"$T/conf"
kill -HUP "$watcher"
until_true 5 grep -q ':2: capture-on tired: not all, off' "$T/$watcher.out" && ok "a bad setting is refused whole" || fail "refused: $(tail -2 "$T/$watcher.out")"
watch_end
check "a restart remembers what was taken" grep -q "^like " "$dir/state"
