#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# hotrun recover: what others left of processes is told, and let go on: stopped, traced, frozen, a runtime that waits
# for its port, what was left on. Only processes that were started here are looked at.
# beside others, 20 s
. "$(dirname "$0")/../support/live.sh"
need_root
need_dotnet Split
need_tool gcc gcc
. tests/support/groups.sh

# recover WANT ARGUMENT...: exit code; stdout in $T/said, and without its line breaks in $T/line; stderr in $T/err
recover() {
	local want=$1 rc

	shift
	"$HOTRUN" recover "$@" >"$T/said" 2>"$T/err"
	rc=$?
	[ $rc = "$want" ] || fail "recover $*: exit $rc, not $want: $(head -3 "$T/said" "$T/err" | tr '\n' '|')"
	tr '\n' ' ' <"$T/said" | tr -s ' ' >"$T/line"
}

# told NAME PID IDS: the findings of a process are these; as JSON as the schema has it
told() {
	"$HOTRUN" recover --format json "$2" >"$T/told.json" 2>>"$T/err"
	is "$1: what is told" "$(python3 -c 'import json, sys
print(*(f["id"] + "/" + f["level"] for f in json.load(open(sys.argv[1]))["processes"][0]["findings"]))' "$T/told.json")" "$3"
}

state() { awk '{ sub(/.*\) /, ""); print $1 }' "/proc/$1/stat" 2>/dev/null; }
in_state() { [ "$(state "$1")" = "$2" ]; }
switches() { awk '/ctxt_switches/ { n += $2 } END { print n + 0 }' "/proc/$1/status"; }
went_on() { [ "$(switches "$1")" -gt "$2" ]; }
# runs PID: gets a CPU
runs() { until_true 5 went_on "$1" "$(switches "$1")"; }

# victim: a program that wakes up a hundred times a second, in $started
victim() {
	start python3 -u -c 'import time
print("ready")
while True: time.sleep(0.01)'
	until_true 5 grep -qs ready "$T/$started.out" || fail "no victim"
}

# hold PID HOW: a tracer, in $holder
hold() {
	start "$LOADS/holder" "$1" "$2"
	holder=$started
	until_true 5 grep -qs holds "$T/$holder.out" || fail "holder $2: $(cat "$T/$holder.out")"
}

# What takes a moment to start begins now.
echo 'int DllGetClassObject(void) { return -1; }' | gcc -shared -fPIC -o "$T/libwatcher.so" -x c -
app=$BUILD/dotnet/Split/Split.dll
unset DOTNET_PerfMapEnabled DOTNET_DiagnosticPorts TMPDIR
start env DOTNET_DiagnosticPorts="$T/gone.sock" dotnet "$app" 60 "$T/port.truth"
port=$started
start env DOTNET_DefaultDiagnosticPortSuspend=1 dotnet "$app" 60 "$T/suspended.truth"
suspended=$started
start env LD_PRELOAD="$T/libwatcher.so" dotnet "$app" 60 "$T/watched.truth"
watched=$started

# --- healthy; refusals ---
victim
healthy=$started
recover 0 "$healthy"
says "a healthy process" "$T/line" "nothing to recover"
told "a healthy process" "$healthy" ""
as_schema "$T/told.json"
recover 0 "$healthy" --resume
says "nothing is done to it" "$T/line" "nothing to recover"
says_not "and nothing is logged" "$T/err" "sent"
recover 1 1
says "pid 1 is refused" "$T/err" "1: refused"
recover 1 1 --resume
says "with --resume, too" "$T/err" "1: refused"
sh -c 'echo $$ >"$1"; exec "$2" recover --resume $$' - "$T/own" "$HOTRUN" >"$T/said" 2>"$T/err"
is "hotrun itself: exit code" $? 1
says "hotrun itself is refused" "$T/err" "$(cat "$T/own"): refused: hotrun itself"
if grep -qs kthreadd /proc/2/comm; then
	recover 1 2 --resume
	says "a kernel thread is refused" "$T/err" "a kernel thread"
fi
recover 1 4194304
says "a process that is not there" "$T/err" "no such process"
recover 2 self
recover 2 --resume
says "--resume without a process" "$T/err" "name the processes"
recover 2 "$healthy" --end-tracer
recover 2 --no-such-option

# --- .NET: ports, what was left on ---
until_true 10 test -s "$T/watched.truth" || fail "the service does not start"
# In the second of its start nobody says that it waits.
waits() { ! "$HOTRUN" recover "$1" >/dev/null 2>&1; }
until_true 10 waits "$port" && until_true 10 waits "$suspended" || fail "no runtime waits"
is "a suspended runtime has run nothing" "$(ls "$T" | grep -c 'port.truth\|suspended.truth')" 0
told "a runtime that waits for a port" "$port" port/stands
recover 1 "$port" "$suspended"
says "which port" "$T/line" "$T/gone.sock"
says "that nobody listens there" "$T/line" "nobody is seen to listen there"
recover 0 "$port" "$suspended" --resume
is "both were told" "$(grep -c 'told to go on; it runs' "$T/said")" 2
for pid in "$port" "$suspended"; do
	told "a runtime that was resumed" "$pid" ""
done
until_true 10 test -s "$T/port.truth" -a -s "$T/suspended.truth" && ok "their programs run" || fail "their programs do not run"
is "nothing is left of the port" "$(ls "$T" | grep -c gone.sock)" 0
told "a profiler" "$watched" profiler/left
recover 0 "$watched"
says "a profiler: its library" "$T/line" "libwatcher.so (exports DllGetClassObject)"
# Reads events as dotnet-trace does, until it is killed; the runtime sees that when it next writes to it.
start python3 -u -c 'import glob, socket, struct, sys, time
def string(s): return struct.pack("<I", len(s) + 1) + (s + "\0").encode("utf-16-le")
payload = struct.pack("<IIBI", 16, 1, 0, 1) + struct.pack("<QI", 0x4c14fccbd, 5) + string("Microsoft-Windows-DotNETRuntime") + \
    struct.pack("<I", 0)
s = socket.socket(socket.AF_UNIX)
s.connect(glob.glob(f"/tmp/dotnet-diagnostic-{sys.argv[1]}-*-socket")[0])
s.sendall(b"DOTNET_IPC_V1\0" + struct.pack("<HBBH", 20 + len(payload), 2, 3, 0) + payload)
print("tracing" if s.recv(28)[17] == 0 else "refused")
time.sleep(60)' "$watched"
reader=$started
until_true 5 grep -qs tracing "$T/$reader.out" || fail "no session: $(cat "$T/$reader.out")"
told "an event session" "$watched" "session/left profiler/left"
stop "$reader"
is_over() { ! "$HOTRUN" recover "$watched" 2>/dev/null | grep -q session; }
check "it ends when its reader is killed" until_true 10 is_over
"$HOTRUN" perfmap enable "$watched" >/dev/null 2>"$T/err"
told "a map, too" "$watched" "map/left profiler/left"
recover 0 "$watched" --resume
says "the map is switched off" "$T/line" "switched off"
told "the profiler stays" "$watched" profiler/left
for pid in "$port" "$suspended" "$watched"; do stop "$pid"; done

# --- stopped ---
victim
stopped=$started
kill -STOP "$stopped"
until_true 5 in_state "$stopped" T || fail "it does not stop"
recover 1 "$stopped"
says "stopped: says so" "$T/line" "1 of 1 threads stopped (T); parent"
says "stopped: who sent the signal is not known" "$T/line" "Who sent the signal is not known"
told "stopped" "$stopped" stopped/stands
as_schema "$T/told.json"
is "a dry run leaves it" "$(state "$stopped")" T
recover 0 "$stopped" --resume
says "stopped: what is done" "$T/line" "SIGCONT sent; it runs"
says "and logged" "$T/err" "SIGCONT sent"
check "it runs on" runs "$stopped"

# --- traced ---
victim
traced=$started
hold "$traced" follows
told "traced, and runs" "$traced" traced/left
stop "$holder"
told "its tracer is gone" "$traced" ""

hold "$traced" holds
recover 1 "$traced"
says "traced: by whom" "$T/line" "holder $holder, which is alive"
says "traced: what its end may do" "$T/line" PTRACE_O_EXITKILL
told "traced" "$traced" traced/stands
recover 1 "$traced" --resume
says "a tracer is spared" "$T/line" "only with --end-tracer"
check "and lives" alive "$holder"
kill -STOP "$holder"
until_true 5 in_state "$holder" T || fail "the tracer does not stop"
recover 1 "$traced"
says "a tracer that stands itself" "$T/line" "which is itself stopped (T)"
says "what comes first" "$T/line" "hotrun recover $holder"
recover 0 "$traced" --resume --end-tracer
says "it is ended" "$T/line" "holder $holder ended by SIGTERM"
check "is gone" gone "$holder"
check "and the process runs on" runs "$traced"
hold "$traced" deaf
recover 0 "$traced" --resume --end-tracer
{ wait "$holder"; } 2>/dev/null
says "one that does not listen is killed" "$T/line" "ended by SIGKILL"
check "and the process runs on, again" runs "$traced"
hold "$traced" attach
until_true 5 in_state "$traced" t
stop "$holder"
until_true 5 in_state "$traced" T || fail "a killed tracer leaves it in state $(state "$traced")"
told "a tracer was killed" "$traced" stopped/stands
recover 0 "$traced" --resume
check "and it runs on after that" runs "$traced"
victim
doomed=$started
hold "$doomed" exitkill
recover 1 "$doomed" --resume --end-tracer
{ wait "$doomed"; } 2>/dev/null
says "a tracer that takes it along" "$T/line" "the process ended with it"

# --- frozen ---
# frozen NAME GROUP FILE STOP: a process in it
frozen() {
	local name=$1 group=$2 file=$3 word=$4

	mkdir "$group/inner"
	victim
	echo "$started" >"$group/inner/cgroup.procs"
	echo "$word" >"$group/$file"
	until_true 5 grep -qE 'frozen 1|FROZEN' "$group/inner/cgroup.events" "$group/inner/freezer.state" 2>/dev/null
	recover 1 "$started"
	says "$name: which group" "$T/line" "$(basename "$group")"
	told "$name" "$started" frozen/stands
	recover 0 "$started" --resume
	says "$name: thawed" "$T/line" "thawed; it runs"
	check "$name: it runs on" runs "$started"
	stop "$started"
	until_true 3 rmdir "$group/inner"
}
if group_unified freeze; then
	frozen "frozen, v2" "${GROUPS_MADE[-1]}" cgroup.freeze 1
fi
freezer=$(awk '$3 == "cgroup" && ("," $4 ",") ~ /,freezer,/ { print $2; exit }' /proc/self/mounts)
if [ -n "$freezer" ]; then
	mkdir "$freezer/hotrun-live-$$-freezer"
	GROUPS_MADE+=("$freezer/hotrun-live-$$-freezer")
	frozen "frozen, v1" "${GROUPS_MADE[-1]}" freezer.state FROZEN
fi
