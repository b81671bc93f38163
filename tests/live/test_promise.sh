#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The target never notices: no tracer, no stopped thread, no signal, no write; and after a SIGKILL of
# hotrun nothing of it stays.
# beside others, 33 s
. "$(dirname "$0")/../support/live.sh"
need_root
need_dotnet Split
need_tool strace strace
need_tool bpftool bpftool

# Without a perf map: its names come from its memory.
start dotnet "$BUILD/dotnet/Split/Split.dll" 150 "$T/truth" 40
split=$started
start "$LOADS/native" 150
native=$started
until_true 20 test -s "$T/truth" || fail "the load does not start"

# --- what the targets can see of it, all the time of a recording ---
"$HOTRUN" record -q -d 4 -F 499 -o "$T/watched.hotrun" 2>"$T/err" &
hotrun=$!
PIDS+=("$hotrun")
set -- $(facts watch "$hotrun" "$split" "$native")
looks=$1 traced=$2 states=$3
wait "$hotrun"
is "the recording ends well" $? 0
within "looks at threads of the targets while it ran" "$looks" 100 1000000
is "none was traced" "$traced" 0
is "none was stopped (states seen: $states)" "$(printf '%s' "$states" | tr -d RSD)" ""
within "both were sampled" "$(sql "$T/watched.hotrun" "SELECT min(samples) FROM process_cpu WHERE tgid IN ($split, $native)")" 20 100000

# --- what hotrun asks of the kernel ---
kill -STOP "$native"
mkdir "$T/own"
before=$(find "/proc/$split/root/tmp" -xdev -maxdepth 1 -name "*$split*" 2>/dev/null | sort)
(cd "$T/own" && strace -f -y -s 300 -o "$T/strace" "$HOTRUN" record -q -d 3 -F 199 -o "$T/own/traced.hotrun") 2>"$T/err"
is "a recording under strace ends well" $? 0
within "the trace holds the recording, system calls" "$(wc -l <"$T/strace")" 500 10000000
within "and its looks at the target" "$(grep -c "/proc/$split" "$T/strace")" 1 1000000
within "its memory is read" "$(grep -c "pread64([0-9]*</proc/$split/mem>" "$T/strace")" 10 1000000
check "no ptrace, no signal, no foreign memory, no write outside of its own folder" facts strace "$T/strace" "$T/own"
is "files of the target are as before" \
	"$(find "/proc/$split/root/tmp" -xdev -maxdepth 1 -name "*$split*" 2>/dev/null | sort)" "$before"
is "only the capture is in its folder" "$(ls "$T/own")" traced.hotrun
# The checker itself must find what it looks for.
printf '1 ptrace(PTRACE_ATTACH, 5) = 0\n' >"$T/bad.1"
printf '1 openat(AT_FDCWD, "/proc/5/root/tmp/x", O_WRONLY|O_CREAT, 0600) = 4\n' >"$T/bad.2"
printf '1 tgkill(5, 5, SIGSTOP) = 0\n' >"$T/bad.3"
printf '1 kill(5, SIGTERM) = 0\n' >"$T/bad.4"
printf '1 setns(9</proc/5/ns/mnt>, CLONE_NEWNS) = 0\n' >"$T/bad.5"
printf '1 setns(9<net:[4026532253]>, CLONE_NEWNET|CLONE_NEWPID) = 0\n' >"$T/bad.6"
printf '1 pwrite64(9</proc/5/mem>, "x", 1, 140000000000) = 1\n' >"$T/bad.7"
for i in 1 2 3 4 5 6 7; do
	facts strace "$T/bad.$i" "$T/own" >"$T/found" && fail "the check of the trace is blind: $(cat "$T/bad.$i")"
done

# --- SIGKILL in the middle ---
kill -CONT "$native"
"$HOTRUN" record -q -F 199 -o "$T/killed.hotrun" 2>"$T/err.killed" &
hotrun=$!
PIDS+=("$hotrun")
until_true 20 grep -qs recording "$T/err.killed" || fail "no start-up line: $(cat "$T/err.killed")"
slices() { sql "$T/killed.hotrun" 'SELECT count(*) FROM slice' 2>"$T/none"; }
has_slices() { before=$(slices) && [ "${before:-0}" -ge 2 ]; }
until_true 30 has_slices || fail "no slices: ${before:-}"
bpf_of "$hotrun"
within "hotrun holds BPF programs" "$(printf '%s\n' $progs | wc -l)" 3 100
within "and maps" "$(printf '%s\n' $maps | wc -l)" 3 100
cpu_before=$(awk '{ print $14 + $15 }' "/proc/$split/stat")
kill -KILL "$hotrun"
{ wait "$hotrun"; } 2>/dev/null
sleep 1
until_true 10 bpf_is_gone
is "soon after SIGKILL no BPF program, map or link of it is left" "$left" ""
check "the targets run on" alive "$split"
check "the other too" alive "$native"
within "and use CPU: ticks of CPU in that second" \
	"$(($(awk '{ print $14 + $15 }' "/proc/$split/stat") - cpu_before))" 5 400
is "the file can be read" "$("$HOTRUN" report "$T/killed.hotrun" >"$T/report" 2>"$T/err"; echo $?)" 0
says "it says that it ended early" "$T/report" "ended early"
# Killed while it wrote: SQLite puts that right, for which it has to write, too.
within "every slice before the kill is in it" "$(sqlite3 -batch "$T/killed.hotrun" 'SELECT count(*) FROM slice')" "$before" $((before + 5))
within "with the samples of the target" \
	"$(sqlite3 -batch "$T/killed.hotrun" "SELECT samples FROM process_cpu WHERE tgid = $split")" 20 4000
