#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# hotrun recover: what others left of processes is told, and let go on: stopped, traced, frozen, a runtime that waits
# for its port, what was left on. Only processes that were started here are looked at.
# mostly waits, 20 s
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

# told NAME PID IDS: the findings of a process are these, as JSON as the schema has it, and the exit code says so
told() {
	local rc want=0

	"$HOTRUN" recover --format json "$2" >"$T/told.json" 2>"$T/told.err"
	rc=$?
	[[ $3 != *stands* ]] || want=1
	is "$1: what is told" "$rc: $(python3 -c 'import json, sys
print(*(f["id"] + "/" + f["level"] for f in json.load(open(sys.argv[1]))["processes"][0]["findings"]))' "$T/told.json" 2>&1 | tail -1)" \
		"$want: $3"
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
start env DOTNET_DiagnosticPorts="$T/gone.sock" dotnet "$app" 200 "$T/port.truth" 10
port=$started
start env DOTNET_DefaultDiagnosticPortSuspend=1 dotnet "$app" 200 "$T/suspended.truth" 10
suspended=$started
start env LD_PRELOAD="$T/libwatcher.so" dotnet "$app" 200 "$T/watched.truth" 10
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
# Bit 21 of the flags.
kthread=$(awk '{ pid = $1; sub(/.*\) /, ""); if (int($7 / 2097152) % 2) { print pid; exit } }' /proc/[0-9]*/stat 2>/dev/null)
if [ -n "$kthread" ]; then
	recover 1 "$kthread" --resume
	says "a kernel thread is refused" "$T/err" "a kernel thread"
else
	echo "skip - a kernel thread is refused: none is seen from here"
fi
recover 1 4194304
says "a process that is not there" "$T/err" "no such process"
recover 2 self
recover 2 --resume
says "--resume without a process" "$T/err" "name the processes"
recover 2 "$healthy" --end-tracer=4711
recover 2 "$healthy" --resume --end-tracer=self
recover 2 "$healthy" --resume --end-tracer=1
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
is_over() { "$HOTRUN" recover "$watched" >"$T/over" 2>&1 && grep -q profiler "$T/over" && ! grep -q session "$T/over"; }
check "it ends when its reader is killed" until_true 40 is_over
"$HOTRUN" perfmap enable "$watched" >/dev/null 2>"$T/err"
# Its connection may be there for a moment still.
until_true 20 is_over
told "a map, too" "$watched" "map/left profiler/left"
# A recording may have switched it on.
start "$HOTRUN" record --enable-perf-maps -p $$ -d 30 -o "$T/other.hotrun"
other=$started
until_true 5 grep -qsx hotrun "/proc/$other/comm" || fail "no recording runs"
recover 1 "$watched" --resume
says "a map that a running hotrun may need is left on" "$T/line" "left on, hotrun"
told "it is" "$watched" "map/left profiler/left"
kill -INT "$other"
until_true 10 gone "$other" || fail "the recording does not end"
# Others that record with maps beside this test are refused for as well: asked again until none is left.
not_refused() {
	"$HOTRUN" recover "$watched" --resume >"$T/said" 2>"$T/err"
	off=$?
	! grep -q 'perf map: left on, hotrun' "$T/err"
}
until_true 90 not_refused
is "what was left on is switched off: exit code" "$off" 0
tr '\n' ' ' <"$T/said" | tr -s ' ' >"$T/line"
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
recover 1 "$traced" --resume --end-tracer=$$
says "one that is not named is spared" "$T/line" "--end-tracer names another one"
check "and lives" alive "$holder"
recover 0 "$traced" --resume --end-tracer="$holder"
says "it is ended" "$T/line" "holder $holder ended by SIGTERM"
check "is gone" gone "$holder"
check "and the process runs on" runs "$traced"
hold "$traced" deaf
# Meanwhile another one goes on by itself: what was seen of it does not count any more.
victim
later=$started
kill -STOP "$later"
until_true 5 in_state "$later" T || fail "it does not stop"
{ until_true 5 grep -qs "end-tracer ..." "$T/err" && kill -CONT "$later"; } &
recover 0 "$traced" "$later" --resume --end-tracer="$holder"
wait $!
says "one that goes on by itself meanwhile: nothing is left of it" "$T/line" " $later nothing to recover"
is "and it gets no signal" "$(grep -cE "\b$later .*(continue|SIGCONT)" "$T/err")" 0
stop "$later"
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
recover 1 "$doomed" --resume --end-tracer="$holder"
{ wait "$doomed"; } 2>/dev/null
says "a tracer that takes it along" "$T/line" "the process ended with it"

# trace TID HOW: a tracer of one thread, in $started
trace() {
	start python3 -u -c 'import ctypes, sys, time
ptrace, tid = ctypes.CDLL(None).ptrace, int(sys.argv[1])
ok = ptrace(0x4206, tid, 0, 0) == 0 and (sys.argv[2] == "follows" or ptrace(0x4207, tid, 0, 0) == 0)
print("holds" if ok else "refused")
while True: time.sleep(1)' "$1" "$2"
	until_true 5 grep -qs holds "$T/$started.out" || fail "tracer of $1: $(cat "$T/$started.out")"
}

# Which of several tracers holds it.
start python3 -u -c 'import threading, time
def work():
    while True: time.sleep(0.01)
threading.Thread(target=work).start()
print("ready")
work()'
pair=$started
until_true 5 grep -qs ready "$T/$pair.out" || fail "no pair of threads"
second=$(ls "/proc/$pair/task" | grep -vx "$pair")
trace "$pair" follows
follower=$started
trace "$second" holds
holder=$started
told "two tracers" "$pair" traced/stands
recover 1 "$pair"
says "the one that holds is named" "$T/line" "held by python3 $holder,"
says "and that one is to be ended" "$T/line" "--end-tracer=$holder\`"
recover 0 "$pair" --resume --end-tracer="$holder"
check "it is gone" gone "$holder"
check "the other one stays" alive "$follower"
stop "$follower"
trace "$pair" holds
first=$started
trace "$second" holds
recover 0 "$pair" --resume --end-tracer="$first,$started"
says "two that hold are ended one after the other" "$T/line" "another tracer holds it still"
check "the first is gone" gone "$first"
check "and the second" gone "$started"
check "and it runs on" runs "$pair"

# parent COUNT: one whose child makes it its tracer and stops, beside so many others; in $parent and $child
parent() {
	start python3 -u -c 'import ctypes, os, signal, sys, time
def child(traced):
    pid = os.fork()
    if pid: return pid
    if traced:
        ctypes.CDLL(None).ptrace(0, 0, 0, 0)
        os.kill(os.getpid(), signal.SIGSTOP)
    while True: time.sleep(0.01)
print("children", *(child(not i) for i in range(1 + int(sys.argv[1]))))
while True: time.sleep(1)' "$1"
	parent=$started
	until_true 5 grep -qs children "$T/$parent.out" || fail "no children"
	read -r _ child others <"$T/$parent.out"
	PIDS+=("$child" $others)
	until_true 5 in_state "$child" t || fail "no trace stop: $(state "$child")"
}
parent 1
recover 1 "$child" --resume --end-tracer="$parent"
says "a parent that knows nothing: what it may be" "$T/line" "its own parent, by PTRACE_TRACEME, perhaps unknowingly"
says "it is not ended" "$T/line" "python3 $parent is not ended: it has other children"
says_not "and nobody is told to restart what stands" "$T/line" "nobody outside can undo"
check "the parent lives" alive "$parent"
check "the other child lives" alive "$others"
stop "$child"
stop "$parent"
parent 0
recover 0 "$child" --resume --end-tracer="$parent"
says "a parent with no other child is ended" "$T/line" "python3 $parent ended by SIGTERM"
check "and the child runs on" runs "$child"

# --- frozen ---
# frozen NAME GROUP FILE STOP: a process in it
frozen() {
	local name=$1 group=$2 file=$3 word=$4

	mkdir "$group/inner"
	victim
	echo "$started" >"$group/inner/cgroup.procs"
	echo "$word" >"$group/$file"
	until_true 5 grep -qE 'frozen 1|FROZEN' "$group/inner/cgroup.events" "$group/inner/freezer.state" 2>/dev/null ||
		fail "$name: it does not freeze"
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
else
	echo "skip - frozen, v2: no hierarchy of that version is mounted"
fi
freezer=$(awk '$3 == "cgroup" && ("," $4 ",") ~ /,freezer,/ { print $2; exit }' /proc/self/mounts)
if [ -n "$freezer" ]; then
	mkdir "$freezer/hotrun-live-$$-freezer"
	GROUPS_MADE+=("$freezer/hotrun-live-$$-freezer")
	frozen "frozen, v1" "${GROUPS_MADE[-1]}" freezer.state FROZEN
else
	echo "skip - frozen, v1: no freezer of that version is mounted"
fi
