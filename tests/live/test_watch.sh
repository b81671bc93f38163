#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The resident recorder: ready, metrics that are true, captures with the time before they were asked for,
# rotation, a configuration that is read again, kill -9, two at once, a full disk, a folder that goes.
. "$(dirname "$0")/../support/live.sh"
need_root
need_dotnet Web
need_tool wrk wrk
need_tool curl curl
need_tool capsh libcap2-bin

free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

answers() { [ "$(curl -s -m 5 -o "$T/answer" -w '%{http_code}' "http://127.0.0.1:$http/$1")" = "$2" ]; }

# metric NAME: the value of the first line that begins so
metric() { curl -s -m 5 "http://127.0.0.1:$http/metrics" | awk -v n="$1" 'index($0, n) == 1 { print $NF; exit }'; }

at_least() { awk -v v="$(metric "$1")" -v w="$2" 'BEGIN { exit !(v != "" && v + 0 >= w) }'; }

# watch_start OPTION...: pid in $watcher, messages in $T/$watcher.out. As under sudo, whose user must not get
# the captures: they would not be the folder's owner's.
watch_start() {
	start env SUDO_UID="$(id -u nobody)" SUDO_GID="$(id -g nobody)" "$HOTRUN" watch --dir "$dir" --listen "127.0.0.1:$http" "$@"
	watcher=$started
}

watch_end() {
	kill -TERM "$watcher"
	until_true 20 gone "$watcher" || fail "it does not end after SIGTERM"
	{ wait "$watcher"; } 2>/dev/null
}

captures() { ls "$dir" | grep -c "$1"; }

bpf_programs() { bpftool prog show 2>/dev/null | grep -c 'name on_\|hotrun'; }

port=$(free_port)
http=$(free_port)
dir=$T/watch
dotnet_start "$BUILD/dotnet/Web/Shop.Web.dll" "$port" 120 "$T/truth"
web=$started
until_true 60 grep -q ready "$T/$web.out" || {
	fail "the service does not start: $(head -3 "$T/$web.out")"
	exit 1
}
start wrk -t1 -c4 -d 110s "http://127.0.0.1:$port/price"
load=$started

# --- start: ready, told to the service manager -------------------------------------------------------
cat >"$T/manager.py" <<'P'
import os, socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
while True:
    print(s.recv(4096).decode(), flush=True)
P
start python3 "$T/manager.py" "$T/notify"
manager=$started
until_true 5 test -S "$T/notify"
# A step of the governor would begin the ring anew.
printf '[hotrun watch]\nring = 30s\nkeep-count = 3\nbudget = 0\n' >"$T/conf"
NOTIFY_SOCKET=$T/notify WATCHDOG_USEC=2000000 watch_start --config "$T/conf" --slow "$port=100ms"
until_true 20 answers readyz 200 && ok "it becomes ready" || fail "it does not become ready: $(tail -3 "$T/$watcher.out")"
until_true 5 grep -q READY=1 "$T/$manager.out" && ok "the service manager is told" || fail "no READY=1"
answers healthz 200 && ok "healthy" || fail "healthz: $(cat "$T/answer")"
until_true 5 grep -q WATCHDOG=1 "$T/$manager.out" && ok "the watchdog is fed" || fail "no WATCHDOG=1"
for path in captures watch/state ../etc/passwd "$(basename "$dir")"; do
	answers "$path" 404 && ok "nothing but metrics and health over HTTP: $path" || fail "/$path is served"
done
"$HOTRUN" watch --status --dir "$dir" >"$T/status" 2>&1
is "--status: exit code" $? 0
says "and it is ready" "$T/status" "ready 1"
"$HOTRUN" watch --status --dir "$T" >"$T/out" 2>&1
is "--status where no recorder runs: exit code" $? 1
is "folder, mode" "$(stat -c %a "$dir")" 700
is "socket, mode" "$(stat -c %a "$dir/control")" 600

"$HOTRUN" watch --dir "$dir" --listen off >"$T/second" 2>&1
is "a second one in the same folder: exit code" $? 1
says "and which one is there" "$T/second" "$watcher"
"$HOTRUN" watch --dir "$T/other" --listen "127.0.0.1:$http" >"$T/second" 2>&1
is "a port that is taken: exit code" $? 1
says "and which port" "$T/second" "$http"

# --- a capture that begins in the past ----------------------------------------------------------------
until_true 30 at_least hotrun_ring_seconds 8 || fail "it has $(metric hotrun_ring_seconds) s of the past"
before_s=$(date +%s)
"$HOTRUN" trigger --dir "$dir" --before 6s --after 3s >"$T/asked" 2>"$T/asked.err"
is "trigger: exit code" $? 0
capture=$(tail -1 "$T/asked")
check "it prints the capture's path" test -s "$capture"
begins=$(sql "$capture" "SELECT (h.start_ns + s.wall_offset_ns) / 1000000000.0 FROM host h, slice s WHERE s.id = 0")
# The second in which it was asked for stands in its name. It begins with a slice, which is longer than a second
# when the recorder has to wait for a CPU.
asked_s=$(date -ud "$(basename "$capture" | sed -E 's/.*-([0-9]{4})([0-9]{2})([0-9]{2})T([0-9]{2})([0-9]{2})([0-9]{2})Z-.*/\1-\2-\3 \4:\5:\6/')" +%s)
within "which is true, s after it was asked for" "$((asked_s - before_s))" 0 5
within "it begins so long before it was asked for, s" "$(awk -v a="$asked_s" -v b="$begins" 'BEGIN { print a - b }')" 4.9 8.5
within "and is as long as asked for, s" "$(sql "$capture" 'SELECT (end_ns - start_ns) / 1e9 FROM host')" 8 12
is "complete" "$(sql "$capture" 'SELECT complete FROM host')" 1
for paper in txt html; do
	is "its $paper, mode" "$(stat -c %a "${capture%.hotrun}.$paper" 2>&1)" 600
done
says "the report names the hot method" "${capture%.hotrun}.txt" "Shop.Orders.Checkout.Total"
says "the page is whole" "${capture%.hotrun}.html" "</html>"
set -- $(sql "$capture" 'SELECT start_ns, end_ns FROM host')
set -- $(facts truth "$T/truth" "$1" "$2")
cpu=$2
within "CPU time of the service is that of its own clock" \
	"$(awk -v a="$(sql "$capture" "SELECT on_cpu_s FROM process_cpu WHERE tgid = $web")" -v b="$cpu" 'BEGIN { print a / b }')" 0.97 1.03
set -- $(facts jit "$capture" "$web")
within "JIT frames with a name, of $2" "$(awk -v n="$1" -v t="$2" 'BEGIN { print 100 * n / t }')" 99 100
"$HOTRUN" report "$capture" >"$T/report" 2>"$T/err"
is "report on it: exit code" $? 0
says "and its requests" "$T/report" "$port"
"$HOTRUN" captures --dir "$dir" >"$T/list"
says "captures lists it" "$T/list" "complete       $(basename "$capture")"
"$HOTRUN" captures get "$(basename "$capture")" --dir "$dir" -o - >"$T/copy"
is "captures get hands it out" "$(sql "$T/copy" 'SELECT count(*) FROM sample')" "$(sql "$capture" 'SELECT count(*) FROM sample')"

# --- metrics are true ---------------------------------------------------------------------------------
before=$(metric "hotrun_process_cpu_seconds_total{process=\"Shop.Web\"")
curl -s -m 5 "http://127.0.0.1:$http/metrics" >"$T/metrics"
cpu_of() { curl -s -m 5 "http://127.0.0.1:$http/metrics" | awk '/^hotrun_process_cpu_seconds_total\{process="Shop.Web"/ { s += $NF } END { print s + 0 }'; }
clock_of() { awk '{ print ($14 + $15) / 100 }' "/proc/$web/stat"; }
a=$(cpu_of) ca=$(clock_of)
sleep 6
b=$(cpu_of) cb=$(clock_of)
within "CPU seconds of the service grow as its own clock" \
	"$(awk -v a="$a" -v b="$b" -v c="$ca" -v d="$cb" 'BEGIN { print (b - a) / (d - c) }')" 0.75 1.25
says "its requests are counted" "$T/metrics" "hotrun_process_requests_total{process=\"Shop.Web\""
[ -n "$before" ] && ok "the service has series of its own" || fail "no series of the service: $(grep -m3 process_cpu "$T/metrics")"

# --- SIGUSR1, SIGHUP, rotation ------------------------------------------------------------------------
printf '[hotrun watch]\nring = 30s\nrotate = 10s\nkeep-count = 9\nbefore = 3s\nafter = 2s\nbudget = 0\n' >"$T/conf"
kill -HUP "$watcher"
until_true 5 at_least 'hotrun_reloads_total{result="taken"}' 1 && ok "SIGHUP reads the configuration again" || fail "SIGHUP: $(tail -2 "$T/$watcher.out")"
printf '[hotrun watch]\nring = soon\n' >"$T/conf"
kill -HUP "$watcher"
until_true 5 at_least 'hotrun_reloads_total{result="refused"}' 1 && ok "a bad one is refused" || fail "refused: $(tail -2 "$T/$watcher.out")"
says "and told, with its line" "$T/$watcher.out" ":2: ring soon"
kill -USR1 "$watcher"
until_true 15 eval '[ "$(captures "trigger.txt")" -ge 2 ]' && ok "SIGUSR1 asks for a capture" || fail "SIGUSR1: $(tail -2 "$T/$watcher.out")"
until_true 30 at_least 'hotrun_captures_total{by="rotation"}' 1 && ok "captures rotate" || fail "no rotation: $(ls "$dir")"
rotated=$(ls "$dir"/*rotate.hotrun | head -1)
within "a rotating one is no longer than asked for, s" "$(sql "$rotated" 'SELECT (end_ns - start_ns) / 1e9 FROM host')" 0.5 12
watch_end
is "after SIGTERM nothing is cut short" \
	"$(for f in "$dir"/*.hotrun; do sql "$f" 'SELECT complete FROM host'; done | sort -u)" 1

# --- killed in the middle of a capture ----------------------------------------------------------------
watch_start --ring 10s
until_true 20 answers readyz 200
start "$HOTRUN" trigger --dir "$dir" --before 2s --after 60s
asker=$started
until_true 10 eval 'grep -qs begun "$T/$asker.out" || ls "$dir"/*trigger.hotrun 2>/dev/null | grep -qv "$(basename "$capture")"'
sleep 3
cut=$(ls -t "$dir"/*trigger.hotrun | head -1)
stop "$watcher"
until_true 5 gone "$asker" && ok "who asked is told that it died" || fail "trigger waits for a dead recorder"
is "killed: the capture can be read" "$("$HOTRUN" report "$cut" >"$T/cut" 2>&1; echo $?)" 0
is "and says that it was cut short" "$(sql "$cut" 'SELECT complete FROM host')" 0
alive "$web" && ok "the service runs on" || fail "the service ended"
: >"$dir/.x.txt.new"
watch_start --ring 10s
until_true 30 answers readyz 200 && ok "it starts again after that" || fail "no start: $(tail -3 "$T/$watcher.out")"
[ ! -e "$dir/.x.txt.new" ] && ok "and cleans up" || fail "unfinished files stay"

# --- more files than it can remove in one turn --------------------------------------------------------
watch_end
python3 - "$dir" <<'P'
import sys
for i in range(5000):
    open("%s/old-20200101T%02d%02d%02dZ-rotate.hotrun" % (sys.argv[1], i // 3600, i // 60 % 60, i % 60), "w").close()
P
before=$(sed -n 's/^removed //p' "$dir/state")
watch_start --ring 10s --keep-age 30d
until_true 20 at_least hotrun_captures_removed_total $((before + 1))
is "of thousands of old captures it removes some" "$(metric hotrun_captures_removed_total)" $((before + 1000))
until_true 30 at_least hotrun_captures_removed_total $((before + 2000)) && ok "and more later" || fail "no more are removed"
within "without a line for each" "$(grep -c removed "$T/$watcher.out")" 1 60

# --- another folder in its place ----------------------------------------------------------------------
mv "$dir" "$dir.moved"
mkdir -m 700 "$T/elsewhere"
ln -s "$T/elsewhere" "$dir"
kill -USR1 "$watcher"
until_true 20 grep -q "symbolic link" "$T/$watcher.out" && ok "a link in its place is told" || fail "not told: $(tail -2 "$T/$watcher.out")"
is "and nothing is written where it leads" "$(ls -A "$T/elsewhere")" ""
rm "$dir"
mv "$dir.moved" "$dir"
until_true 20 test -S "$dir/control" && ok "it takes its folder again" || fail "the folder is not taken: $(tail -2 "$T/$watcher.out")"

# --- the folder goes, the disk is full ----------------------------------------------------------------
rm -rf "$dir"
"$HOTRUN" trigger --dir "$dir" --before 1s --after 1s >"$T/out" 2>&1
is "without its folder: exit code of trigger" $? 1
kill -USR1 "$watcher"
sleep 1
answers healthz 200 && ok "it stays up without its folder" || fail "it died with its folder"
until_true 75 test -S "$dir/control" && ok "and makes it again" || fail "the folder is not made again: $(tail -2 "$T/$watcher.out")"
rm -rf "$dir"
: >"$dir"
until_true 20 grep -q "not a folder" "$T/$watcher.out" && ok "a file in its place is told" || fail "not told: $(tail -2 "$T/$watcher.out")"
sleep 11
is "once" "$(grep -c "not a folder" "$T/$watcher.out")" 1
rm "$dir"
until_true 20 test -S "$dir/control" && ok "and it mends" || fail "the folder is not made again: $(tail -2 "$T/$watcher.out")"
watch_end
mkdir "$T/small"
mount -t tmpfs -o size=8m,mode=700 none "$T/small" && MOUNTS+=("$T/small")
dir=$T/small
watch_start --ring 10s
until_true 20 answers readyz 200
"$HOTRUN" trigger --dir "$dir" --before 5s --after 60s >"$T/out" 2>&1 &
asker=$!
until_true 10 grep -q "is begun" "$T/out" || fail "no capture is begun: $(tail -1 "$T/out")"
head -c 9m /dev/zero >"$dir/filler" 2>/dev/null
wait "$asker"
is "a full disk: exit code of trigger" $? 1
says "it says so" "$T/out" "space"
answers healthz 200 && ok "it stays up with a full disk" || fail "it died of a full disk"
until_true 5 at_least hotrun_captures_failed_total 1 && ok "and counts it" || fail "the failure is not counted"
watch_end
stop "$load"
dir=$T/watch

# --- the budget, and settings that change while it runs ------------------------------------------------
dir=$T/budget
printf '[hotrun watch]\nbudget = 0.001%%\nrotate = 1h\nring = 20s\n' >"$T/budget.conf"
watch_start --config "$T/budget.conf"
until_true 20 answers readyz 200
until_true 25 at_least hotrun_governor_level 1 && ok "what costs too much is given up" || fail "level: $(metric hotrun_governor_level)"
says "and that is told" "$T/$watcher.out" "allowed: samples at half the rate"
until_true 3 at_least 'hotrun_captures_total{by="rotation"}' 1 && ok "a capture has one rate: the one that rotates ends with the step" || fail "captures: $(ls "$dir")"
until_true 5 eval 'level=$(awk "/^level/ { print \$2 }" "$dir/state"); [ "${level:-0}" -ge 1 ]' && ok "a kill would not lose the level" || fail "state: $(cat "$dir/state")"
printf '[hotrun watch]\nbudget = 0\nrotate = 1h\nring = 20s\n' >"$T/budget.conf"
kill -HUP "$watcher"
until_true 8 eval '[ "$(metric hotrun_governor_level)" = 0 ]' && ok "without a budget all is taken back at once" || fail "level: $(metric hotrun_governor_level)"
rotated=$(metric 'hotrun_captures_total{by="rotation"}')
printf '[hotrun watch]\nbudget = 0\nring = 20s\n' >"$T/budget.conf"
sleep 2
kill -HUP "$watcher"
until_true 6 at_least 'hotrun_captures_total{by="rotation"}' $((rotated + 1)) && ok "what rotates ends when rotation is off" || fail "captures: $(ls "$dir")"
printf '[hotrun watch]\nbudget = 0\nrotate = 10s\nring = 20s\nfrequency = 199\n' >"$T/budget.conf"
kill -HUP "$watcher"
until_true 25 eval 'for f in "$dir"/*-rotate.hotrun; do [ "$(sql "$f" "SELECT sample_hz || complete FROM host" 2>&1)" = 1991 ] && break; done' && ok "what rotates has the new rate" || fail "captures: $(ls "$dir")"
start python3 -c 'import os, sys
while True: os.kill(int(sys.argv[1]), 10)' "$watcher"
storm=$started
sleep 2
answers healthz 200 && ok "it stays up in a storm of signals" || fail "healthz: $(cat "$T/answer")"
watch_end
stop "$storm"
is "no capture without a slice stays" "$(for f in "$dir"/*.hotrun; do sql "$f" 'SELECT count(*) > 0 FROM slice'; done | sort -u)" 1
dir=$T/watch

# --- rights that do not suffice -----------------------------------------------------------------------
start capsh --drop=cap_bpf,cap_sys_admin -- -c "exec '$HOTRUN' watch --dir '$T/blind' --listen 127.0.0.1:$http"
blind=$started
until_true 10 answers healthz 200 && ok "without rights it stays up" || fail "it does not stay up: $(tail -2 "$T/$blind.out")"
answers readyz 503 && ok "not ready" || fail "readyz: $(cat "$T/answer")"
until_true 5 eval 'answers readyz 503 && grep -q BPF "$T/answer"' && ok "and says why" || fail "readyz: $(cat "$T/answer")"
within "one metric says so" "$(metric hotrun_ready)" 0 0
"$HOTRUN" trigger --dir "$T/blind" >"$T/out" 2>&1
is "trigger then: exit code" $? 1
says "and why" "$T/out" "BPF"
kill -TERM "$blind"
until_true 10 gone "$blind"

# --- usage --------------------------------------------------------------------------------------------
"$HOTRUN" watch --help >"$T/help"
is "--help: exit code" $? 0
says "--help tells the settings" "$T/help" "--keep-bytes"
"$HOTRUN" watch --rotate never >"$T/out" 2>&1
is "a wrong option: exit code" $? 2
says "and what is wrong" "$T/out" "rotate never: not a time"
"$HOTRUN" watch --dir /proc/nowhere >"$T/out" 2>&1
is "a folder that cannot be: exit code" $? 1
"$HOTRUN" watch --dir "$dir" --config "$T/conf" >"$T/out" 2>&1
is "a wrong file at the start: exit code" $? 1
says "and its line" "$T/out" ":2: ring soon"
