#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Perf maps of running services: switched on, looked at, switched off, for a recording too; refused
# where it would do harm. --all is tried in a pid namespace: it shall not reach processes of others.
# beside others, 50 s
. "$(dirname "$0")/../support/live.sh"
need_root
need_dotnet Split
need_tool setpriv util-linux

nobody=(setpriv --reuid=nobody --regid=nogroup --clear-groups)
# Out of /tmp, which boxes have for themselves.
apps=$(make_folder /var/tmp)
chmod 755 "$apps"
trap 'rm -rf "$apps"; finish' EXIT
cp -r "$BUILD/dotnet/Split" "$HOTRUN" "$apps"
app=$apps/Split/Split.dll
unset DOTNET_PerfMapEnabled DOTNET_PerfMapJitDumpPath TMPDIR

# perfmap WANT ARGUMENT...: exit code; output of both kinds in $T/said
perfmap() {
	local want=$1 rc

	shift
	"$HOTRUN" perfmap "$@" >"$T/said" 2>&1
	rc=$?
	[ $rc = "$want" ] || fail "perfmap $*: exit $rc, not $want: $(head -3 "$T/said" | tr '\n' '|')"
}

# state PID: what status says of its map, as for machines
state() {
	"$HOTRUN" perfmap status --no-sample --format json "$1" 2>/dev/null >"$T/status.json"
	python3 -c 'import json, sys; print(json.load(sys.stdin)["dotnet_processes"][0]["map"])' <"$T/status.json"
}

# service NAME SETTING...: a service without a map, in $started; at $part per cent of a CPU (10)
service() {
	local name=$1

	shift
	start env "$@" dotnet "$app" 240 "$T/$name.truth" "${part:-10}"
}

# box PREPARE COMMAND...: first process of its pid namespace, with mounts of its own
box() {
	local prepare=$1

	shift
	start unshare -p -m -f --mount-proc sh -c "mount --make-rprivate / && $prepare"' && exec "$@"' sh "$@"
}

# The host's pid of the only child of $1.
inner() { tr -d ' ' <"/proc/$1/task/$1/children"; }
has_inner() { [ -n "$(inner "$1")" ]; }
# All of them at once: each waits a second to be old enough.
part=40 service plain
plain=$started
part=40 service early DOTNET_PerfMapEnabled=3
early=$started
service deaf DOTNET_EnableDiagnostics=0
deaf=$started
start "${nobody[@]}" env HOME=/nonexistent DOTNET_EnableWriteXorExecute=0 dotnet "$app" 240 /dev/null 10
theirs=$started
service linked
linked=$started
service stopped
stopped=$started
box 'mount -t tmpfs -o mode=1777 tmpfs /tmp' dotnet "$app" 240 /tmp/truth 10
root_box=$started
box 'mount -t tmpfs -o mode=1777 tmpfs /tmp' "${nobody[@]}" env HOME=/nonexistent dotnet "$app" 240 /tmp/truth 10
user_box=$started
mkdir -m 1777 "$apps/sockets"
box 'mount -t tmpfs -o ro tmpfs /tmp' env TMPDIR="$apps/sockets" dotnet "$app" 240 /dev/null 10
ro_box=$started

# --- a runtime that has just started ---
service young
young=$started
rm -f "/tmp/perf-$young.map" # of an earlier process with that id
until_true 10 sh -c "ls /tmp/dotnet-diagnostic-$young-*" >/dev/null 2>&1 || fail "the service does not start"
# It is as old as its socket; on a busy host all this may have taken a second.
touch "/tmp/dotnet-diagnostic-$young-"*
perfmap 1 enable "$young"
says "a runtime in its first second is refused" "$T/said" "less than a second ago"
check "and it lives" alive "$young"
is "and has no map" "$(ls "/tmp/perf-$young.map" 2>&1 | grep -c '^/tmp')" 0

for pid in "$root_box" "$user_box" "$ro_box"; do
	until_true 10 has_inner "$pid" || fail "no process in the namespace"
done
root_in=$(inner "$root_box") user_in=$(inner "$user_box") ro_in=$(inner "$ro_box")
PIDS+=("$root_in" "$user_in" "$ro_in")
stop "$young"
sleep 1.3
# Those that are not looked at yet leave the CPUs to the others.
waiting="$theirs $linked $root_in $user_in $ro_in $stopped"
kill -STOP $waiting
"$HOTRUN" perfmap enable "$stopped" >"$T/stopped.said" 2>&1 &
asking=$!

# --- on and off ---
perfmap 0 status "$plain" "$early" "$deaf"
says "status: a service without a map" "$T/said" "absent"
says "status: one with a map since its start" "$T/said" "on since start"
# With the share of its JIT frames that have one, and what has most of these.
named_by() { awk -v p="$1" -v by="$2" '$1 == p && $(NF - 2) > 99 && $NF == by { f = 1 } END { exit !f }' "$T/said"; }
check "status: its JIT code has its names from its memory" named_by "$plain" memory
check "status: the other's from its map" named_by "$early" map
says "status: the version" "$T/said" " 10.0."
perfmap 0 enable "$plain"
says "enable says what came of it" "$T/said" "switched on in"
check "the file is there and holds the hot method" grep -q 'Shop.Pricing.Engine::Reprice' "/tmp/perf-$plain.map"
is "and is told" "$(state "$plain")" switched-on
as_schema "$T/status.json"
lines=$(wc -l <"/tmp/perf-$plain.map")
perfmap 0 enable "$plain" "$early"
says "a second enable does nothing" "$T/said" "on already, nothing asked"
within "no line was repeated" "$(sort "/tmp/perf-$plain.map" | uniq -d | grep -c 'Reprice')" 0 0
record on -d 1.5 -F 199 -p "$plain"
set -- $(facts jit "$T/on.hotrun" "$plain")
within "JIT frames with a name, of $2" "$(awk -v n="$1" -v t="$2" 'BEGIN { print 100 * n / t }')" 99 100
"$HOTRUN" report -p "$plain" "$T/on.hotrun" >"$T/report" 2>&1
says "the report names the hot method" "$T/report" "Shop.Pricing.Engine.Reprice"
perfmap 0 disable "$plain"
says "disable says that the file stays" "$T/said" "its file stays: /tmp/perf-$plain.map"
is "and is told" "$(state "$plain")" switched-off
perfmap 0 disable "$plain"
says "a second disable does nothing" "$T/said" "nothing asked"
perfmap 0 enable "$plain"
rm "/tmp/perf-$plain.map"
is "a deleted map is told" "$(state "$plain")" deleted
perfmap 0 enable "$plain"
check "and begun anew" grep -q Reprice "/tmp/perf-$plain.map"
perfmap 0 disable "$plain"

# --- beside a tool that traces the same runtime, as dotnet-trace does ---
# trace SOCKET: opens an event session, prints "tracing", reads to the end of input, prints the bytes
trace() {
	python3 -c '
import select, socket, struct, sys
def string(s): return struct.pack("<I", len(s) + 1) + (s + "\0").encode("utf-16-le")
payload = struct.pack("<IIBI", 16, 1, 0, 1) + struct.pack("<QI", 0x4c14fccbd, 5) + \
    string("Microsoft-Windows-DotNETRuntime") + struct.pack("<I", 0)
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
s.sendall(b"DOTNET_IPC_V1\0" + struct.pack("<HBBH", 20 + len(payload), 2, 3, 0) + payload)
head = s.recv(28)
print("tracing" if head[17] == 0 else "refused", flush=True)
total = 0
while not select.select([sys.stdin], [], [], 0)[0]:
    if select.select([s], [], [], 0.05)[0]:
        total += len(s.recv(65536))
print(total)' "$1"
}
mkfifo "$T/stop"
: >"$T/trace"
trace /tmp/dotnet-diagnostic-"$plain"-*-socket <"$T/stop" >"$T/trace" 2>&1 &
tracer=$!
exec 9>"$T/stop"
until_true 10 grep -q tracing "$T/trace" || fail "no event session: $(cat "$T/trace")"
perfmap 0 enable "$plain"
is "beside an event session the map is switched on" "$(state "$plain")" switched-on
perfmap 0 disable "$plain"
is "and off" "$(state "$plain")" switched-off
sleep 0.3
exec 9>&-
wait "$tracer"
within "the session went on, bytes" "$(tail -1 "$T/trace")" 100 1000000000

# --- for a recording ---
rm -f "/tmp/perf-$plain.map"
"$HOTRUN" record -q --enable-perf-maps -p "$plain" -p "$early" -p "$deaf" -p "$linked" -F 199 -o "$T/rec.hotrun" 2>"$T/err" &
hotrun=$!
PIDS+=("$hotrun")
until_true 10 grep -qs Reprice "/tmp/perf-$plain.map" || fail "record does not switch the map on"
sleep 1
kill -INT "$hotrun"
wait "$hotrun"
is "record ends well at Ctrl-C" $? 0
is "what it switched on is off again" "$(state "$plain")" switched-off
is "what was on stays on" "$(state "$early")" since-start
says "it says so" "$T/err" "switched on for the recording and off again: 1 (the files stay); on anyway: 1; failed: 2"
says "and why one was not" "$T/err" "DOTNET_EnableDiagnostics=0"
says "and another, which is stopped" "$T/err" "perf map of $linked Split: no answer"
set -- $(facts jit "$T/rec.hotrun" "$plain")
within "JIT frames with a name, of $2" "$(awk -v n="$1" -v t="$2" 'BEGIN { print 100 * n / t }')" 99 100
"$HOTRUN" record -q --enable-perf-maps -p "$plain" -o "$T/killed.hotrun" 2>"$T/err" &
hotrun=$!
PIDS+=("$hotrun")
until_true 10 sh -c "[ \$('$HOTRUN' perfmap status --no-sample $plain | grep -c 'switched on ') = 1 ]" || fail "no map"
kill -KILL "$hotrun"
{ wait "$hotrun"; } 2>/dev/null
perfmap 0 status --no-sample "$plain"
says "after SIGKILL the map stays on, and status says so" "$T/said" "switched on"
says "and what to do" "$T/said" "hotrun perfmap disable PID"
perfmap 0 disable "$plain"

# Runtimes that misbehave, played by a script.
play() { start python3 tests/support/fake_runtime.py "$T" "$1"; }
said() { tr '\n' ' ' <"$T/$1.out"; }
play mute
mute=$started
silent=()
for _ in 1 2 3 4 5 6; do
	play silent
	silent+=("$started")
done
for pid in "$mute" "${silent[@]}"; do
	until_true 20 grep -q listens "$T/$pid.out" || fail "a played runtime does not start"
done
sleep 1.2
begun=$(date +%s%N)
perfmap 0 status --no-sample "${silent[@]}"
within "status waits for all that say nothing together, ms" $((($(date +%s%N) - begun) / 1000000)) 400 3000
play late
late=$started
"$HOTRUN" record -q --enable-perf-maps -p "$late" -p "$mute" -d 7 -o "$T/played.hotrun" 2>"$T/err"
is "a runtime that listens late is asked again" "$(said "$late")" "listens on off "
is "one that acts and hangs up is switched off, too" "$(said "$mute")" "listens on off "
says "and said to have failed" "$T/err" "its diagnostics socket was closed without an answer"
for pid in "$late" "$mute" "${silent[@]}"; do
	stop "$pid"
	rm -f /tmp/dotnet-diagnostic-"$pid"-*-socket
done

# A service that starts while a recording of its group runs.
parent=$(awk '$3 == "cgroup" && $4 ~ /(^|,)cpu(,|$)/ { print $2; exit }' /proc/mounts)
[ -n "$parent" ] || parent=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
group=$parent/hotrun-live-$$
if mkdir "$group" 2>/dev/null; then
	"$HOTRUN" record -q --enable-perf-maps --cgroup "$group" -d 4 -F 199 -o "$T/late.hotrun" 2>"$T/err" &
	hotrun=$!
	PIDS+=("$hotrun")
	until_true 10 grep -q recording "$T/err" || fail "the recording does not start"
	start sh -c 'echo $$ >"$0/cgroup.procs" && exec dotnet "$@"' "$group" "$app" 60 /dev/null
	late=$started
	wait "$hotrun"
	says "one that started later got a map" "$T/err" "off again: 1 (the files stay); on anyway: 0; failed: 0"
	set -- $(facts jit "$T/late.hotrun" "$late")
	within "JIT frames with a name, of $2" "$(awk -v n="$1" -v t="$2" 'BEGIN { print 100 * n / t }')" 95 100
	stop "$late"
	until_true 5 rmdir "$group" 2>/dev/null
else
	skip "no cgroup of the cpu controller can be made here"
fi

# --- containers, users ---
kill -CONT "$theirs" "$root_in" "$user_in"
perfmap 0 enable "$root_in" "$user_in"
for pid in "$root_in" "$user_in"; do
	check "a box: the map lies in its own /tmp, under its own pid" grep -q Reprice "/proc/$pid/root/tmp/perf-1.map"
	is "a box: and is told" "$(state "$pid")" switched-on
done
is "a box of nobody: the file is nobody's" "$(stat -c %U "/proc/$user_in/root/tmp/perf-1.map")" nobody
nsenter -t "$root_in" -p -m "$apps/hotrun" perfmap disable --all >"$T/said" 2>&1
is "inside, --all is what is in there" "$(grep -c '^1 Split: switched off' "$T/said")" 1
is "and it is off" "$(state "$root_in")" switched-off
nsenter -t "$root_in" -p -m "$apps/hotrun" perfmap enable --all >"$T/said" 2>&1
is "enable --all, too" "$? $(grep -c '^1 Split: switched on' "$T/said")" "0 1"
is "the other box is as it was" "$(state "$user_in")" switched-on
"${nobody[@]}" "$HOTRUN" perfmap enable "$theirs" >"$T/said" 2>&1
is "a user may ask an own process" "$?" 0
"${nobody[@]}" "$HOTRUN" perfmap enable "$plain" >"$T/said" 2>&1
is "but none of others" $? 1
says "and is told why" "$T/said" "no permission"

# --- where it would do harm, or nothing ---
kill -CONT "$linked"
until_true 5 test -e "/tmp/perf-$linked.map" || fail "the stopped one does not come to what it was asked"
until_true 5 sh -c "'$HOTRUN' perfmap status --no-sample $linked | grep -q 'switched off'"
is "what a recording could not wait for is taken back" "$(state "$linked")" switched-off
rm "/tmp/perf-$linked.map"
printf precious >"$T/victim"
ln -s "$T/victim" "/tmp/perf-$linked.map"
perfmap 1 enable "$linked"
says "a planted link is refused" "$T/said" "a symbolic link lies there"
is "and nothing was overwritten" "$(cat "$T/victim")" precious
rm "/tmp/perf-$linked.map"
mkfifo "/tmp/perf-$linked.map"
perfmap 1 enable "$linked"
says "a FIFO is refused" "$T/said" "no regular file"
rm "/tmp/perf-$linked.map"
touch "/tmp/perf-$linked.map"
chown nobody "/tmp/perf-$linked.map"
perfmap 1 enable "$linked"
says "another user's file is refused" "$T/said" "a file of another user"
rm "/tmp/perf-$linked.map"
wait "$asking"
is "a stopped one is given up" $? 1
says "and is told" "$T/stopped.said" "no answer at its diagnostics socket"
kill -CONT $waiting
perfmap 1 enable "$ro_in"
says "a read-only /tmp is told" "$T/said" "the file system is read-only"
is "in status, too" "$(state "$ro_in")" unwritable
perfmap 1 enable "$deaf"
says "diagnostics switched off is told" "$T/said" "DOTNET_EnableDiagnostics=0"
perfmap 1 enable $$
says "what is not .NET is told" "$T/said" "not a .NET process"
perfmap 1 enable 4194304
says "what does not exist is told" "$T/said" "no such process"
perfmap 2 enable
perfmap 2 disable --all 1
perfmap 2 switch 1
perfmap 2 status --format xml
ok "wrong usage is told by exit code 2"
for pid in "$plain" "$early" "$deaf" "$theirs" "$linked" "$root_in" "$user_in" "$ro_in" "$stopped"; do
	alive "$pid" || fail "process $pid is dead"
done
