#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# `hotrun threads`, begun when all hangs already: of threads whose places are known, the method, the number and since
# when; and the targets notice nothing of it.
# beside others, 45 s
. "$(dirname "$0")/../support/live.sh"
need_root
need_dotnet Stands Stands@net11.0
need_tool strace strace

start "$LOADS/stands" 7 5 3 250
native=$started
# A file system that never answers a read, which the service alone sees.
[ -c /dev/fuse ] || { echo "skip - needs /dev/fuse"; exit 0; }
mkdir "$T/archive"
trap 'kill "$(cat "$T/fuse")"; finish' EXIT
DOTNET_PerfMapEnabled=0 start unshare -m sh -c 'mount --make-rprivate / && "$1" "$2/archive" >"$2/mounted" & echo $! >"$2/fuse"
	for i in 1 2 3 4 5 6 7 8 9 10; do grep -qs mounted "$2/mounted" && break; sleep 0.3; done
	exec dotnet "$3" 40 6 250 "$2/archive/perf-1"' sh "$LOADS/hang_fuse" "$T" "$BUILD/dotnet/Stands/Shop.Stands.dll"
net=$started
# As a service of .NET 11, whose monitors are others, alone has it.
DOTNET_PerfMapEnabled=0 start "$BUILD/dotnet/Stands@net11.0/Shop.Stands" 2 2 120
newest=$started
until_true 20 grep -qs ready "$T/$native.out" || fail "the native load does not start"
until_true 20 grep -qs ready "$T/$net.out" || fail "the .NET load does not start"
until_true 20 grep -qs ready "$T/$newest.out" || fail "the load of .NET 11 does not start"
holder=$(sed -n 's/^ready //p' "$T/$native.out")
sleep 2

# group FILE PID METHOD [FIELD]: of its groups with a frame so named, the sum of their threads, or the values of a field
group() {
	python3 - "$@" <<'P'
import json, sys
path, pid, method, *field = sys.argv[1:]
found = [g for g in json.load(open(path))['groups'] if g['pid'] == int(pid) and not g['sampled']
         and any((f['name'] or '') == method for f in g['frames'])]
print(*sorted({str(g[field[0]]) for g in found}) if field else [sum(g['threads'] for g in found)])
P
}

# look NAME PID: into $T/NAME.json; again where the bounded look says that it had no time for a name, or a stack. Of a
# stripped library none has the names.
look() {
	local try rc missing

	for try in 1 2 3 4 5; do
		"$HOTRUN" threads -p "$2" --format json >"$T/$1.json" 2>"$T/err"
		rc=$?
		missing=$(grep -oE '"unnamed": "[a-z-]+"|"stack_cut": true' "$T/$1.json" | grep -v '"no-symbol"' | sort | uniq -c | xargs)
		[ -n "$missing" ] || break
		echo "# $1, look $try: $missing"
	done
	return $rc
}

# read_look NAME ARGUMENTS: what people read, into $T/NAME; again as look()
read_look() {
	local name=$1 try rc

	shift
	for try in 1 2 3 4 5; do
		"$HOTRUN" threads "$@" >"$T/$name" 2>"$T/err"
		rc=$?
		grep -E "did not come in time|\(stack cut\)" "$T/$name" >"$T/missing" || break
		echo "# $name, look $try: $(head -1 "$T/missing")"
	done
	return $rc
}

# deadlock FILE PID A B: each of these methods waits for what the other one's thread holds
deadlock() {
	is "$3 waits for what $4 holds" "$(group "$1" "$2" "$3" holder_tid)" "$(group "$1" "$2" "$4" tids | tr -d '[]')"
	is "and the other way round" "$(group "$1" "$2" "$4" holder_tid)" "$(group "$1" "$2" "$3" tids | tr -d '[]')"
}

# counts PID: state and switches of each thread that does not run, the tracer of each
counts() {
	awk '/^State|^TracerPid|ctxt_switches/ { line = line " " $2 } END { print line }' "$1" 2>/dev/null
}
standing() {
	local task

	for task in "/proc/$1/task/"*; do
		[ "$task" = "/proc/$1/task/${2:-}" ] || echo "${task##*/} $(counts "$task/status")"
	done
}

# --- a C program, whose library keeps no frame pointers ---
spinner=$(for task in "/proc/$native/task/"*; do awk -v t="${task##*/}" '/^State:/ && $2 == "R" { print t }' "$task/status"; done)
standing "$native" "$spinner" >"$T/before"
look native "$native"
is "a look at a C program ends well" $? 0
standing "$native" "$spinner" >"$T/after"
as_schema "$T/native.json"
is "threads that wait for a mutex" "$(group "$T/native.json" "$native" take_turn)" 7 ||
	grep -E '"(name|unnamed|stack_cut|threads)":' "$T/native.json" | xargs -n 24 | sed 's/^/# /'
is "and what they wait in" "$(group "$T/native.json" "$native" take_turn wait)" lock
is "and who holds it" "$(group "$T/native.json" "$native" take_turn holder_tid)" "$holder"
is "threads that sleep, the holder and the main one among them" "$(group "$T/native.json" "$native" sleep_long)" 7
is "and what they wait in" "$(group "$T/native.json" "$native" sleep_long wait)" sleep
is "threads that read an empty pipe" "$(group "$T/native.json" "$native" read_tube)" 3
is "and what they wait in" "$(group "$T/native.json" "$native" read_tube wait)" pipe
# The one that spins may just have lost its CPU.
within "each stack is walked to its thread's begin" "$(group "$T/native.json" "$native" start_thread)" 16 17
within "since when, s" "$(group "$T/native.json" "$native" read_tube age_least_ns | awk '{ print $1 / 1e9 }')" 1.9 200
is "none of those that stand was switched, stopped or traced" "$(diff "$T/before" "$T/after")" ""
read_look text -p "$native" --width 130
says "who sleeps with a mutex is told to hold up others" "$T/text" "(others wait for it)"
# One of its threads spins.
stop "$native"

# --- .NET 10, without a perf map ---
standing "$net" >"$T/before"
look net "$net"
is "a look at a .NET service ends well" $? 0
as_schema "$T/net.json"
is "workers that wait sync over async" "$(group "$T/net.json" "$net" Shop.Pay.Client.Get)" 40
is "are known as workers" "$(group "$T/net.json" "$net" Shop.Pay.Client.Get role)" "thread-pool workers"
is "and that it is no idle wait" "$(group "$T/net.json" "$net" Shop.Pay.Client.Get idle)" False
is "the way there" "$(group "$T/net.json" "$net" System.Threading.ThreadPoolWorkQueue.Dispatch)" 40
is "threads of a semaphore" "$(group "$T/net.json" "$net" Shop.Pay.Gate.Enter)" 6
is "threads that ask a service that is slow" "$(group "$T/net.json" "$net" Shop.Pay.Bank.Ask)" 3
is "and what they wait in" "$(group "$T/net.json" "$net" Shop.Pay.Bank.Ask wait)" network
is "threads that read a file of a disk that hangs" "$(group "$T/net.json" "$net" Shop.Pay.Archive.Load)" 2
is "and what they wait in" "$(group "$T/net.json" "$net" Shop.Pay.Archive.Load wait)" disk
# The one that asked the file system waits for its answer, the other for the page.
is "one of them so that no signal ends it" "$(group "$T/net.json" "$net" Shop.Pay.Archive.Load state)" "D S"
is "of the deadlock, one side" "$(group "$T/net.json" "$net" Shop.Pay.Ledger.Debit)" 1
is "and the other" "$(group "$T/net.json" "$net" Shop.Pay.Ledger.Credit)" 1
is "both wait for the second lock" "$(group "$T/net.json" "$net" System.Threading.Monitor.Enter wait)" lock
deadlock "$T/net.json" "$net" Shop.Pay.Ledger.Debit Shop.Pay.Ledger.Credit
deadlock "$T/net.json" "$net" Shop.Pay.Vault.Gold Shop.Pay.Vault.Silver
is "who waits for no monitor is held by nobody" "$(group "$T/net.json" "$net" Shop.Pay.Gate.Enter holder_tid)" None
within "since when, s" "$(group "$T/net.json" "$net" Shop.Pay.Client.Get age_least_ns | awk '{ print $1 / 1e9 }')" 1.9 200
standing "$net" >"$T/after"
# The runtime's own threads wake up by themselves now and then.
python3 - "$T/net.json" "$T/before" "$T/after" >"$T/moved" <<'P'
import json, sys
ours = {str(t) for g in json.load(open(sys.argv[1]))['groups'] for t in g['tids']
        if any(f['application'] and f['kind'] == 'jit' for f in g['frames'])}
lines = [{l.split()[0]: l.split()[1:] for l in open(path)} for path in sys.argv[2:]]
print(len(ours), *(t for t in ours if lines[0].get(t) != lines[1].get(t)))
P
is "of 56 threads in the application's code none was switched, stopped or traced" "$(cat "$T/moved")" 56

look newest "$newest"
is "a look at a service of .NET 11 ends well" $? 0
deadlock "$T/newest.json" "$newest" Shop.Pay.Ledger.Debit Shop.Pay.Ledger.Credit
deadlock "$T/newest.json" "$newest" Shop.Pay.Vault.Gold Shop.Pay.Vault.Silver

# --- what people read ---
read_look text -p "$net" --width 130
says "a line names the method, and what it waits in" "$T/text" \
	"Shop.Pay.Client.Get → Task<int>.GetResultCore → Monitor.Wait → futex"
within "deadlocks are told as such, lines" "$(grep -c 'deadlock, each waits for .*: [lv].* → [lv].* → [lv]' "$T/text")" 2 2
says_not "idle waits are folded away" "$T/text" "(idle)"
says "and counted" "$T/text" "idle not shown"
read_look text -p "$net" --idle -v
says "they are shown on request" "$T/text" "(idle)"
says "with whole stacks" "$T/text" "clone3"
"$HOTRUN" threads -n 1 >"$T/text" 2>"$T/err"
is "a look at all of the host ends well" $? 0
says "it says what is left out" "$T/text" "more not shown"
"$HOTRUN" threads -p no-such-service >"$T/text" 2>"$T/err"
is "of a process that is not there, exit code" $? 1
says "and what is missing" "$T/err" "no such process"

# --- what it asks of the kernel ---
mkdir "$T/own"
(cd "$T/own" && strace -f -y -s 300 -o "$T/strace" "$HOTRUN" threads -p "$net") >"$T/text" 2>"$T/err"
is "a look under strace ends well" $? 0
check "no ptrace, no signal, no foreign memory, no write" facts strace "$T/strace" "$T/own"
