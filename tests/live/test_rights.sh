#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What hotrun and its children may still do while they record: the table of user/kernel/rights.h, as
# /proc/PID/status has it; and that a capture gets to whoever it is for all the same.
# mostly waits, 30 s
. "$(dirname "$0")/../support/live.sh"
need_root
need_tool curl curl

# set_of NAME...: the mask of these, of those that this shell has
set_of() {
	local mask=0 name held=$((16#$(awk '/^CapPrm/ { print $2 }' /proc/self/status)))

	for name in "$@"; do
		case $name in
		CHOWN) name=0 ;; DAC_OVERRIDE) name=1 ;; DAC_READ_SEARCH) name=2 ;; FOWNER) name=3 ;;
		IPC_LOCK) name=14 ;; SYS_PTRACE) name=19 ;; SYSLOG) name=34 ;; PERFMON) name=38 ;; BPF) name=39 ;;
		CHECKPOINT_RESTORE) name=40 ;;
		esac
		mask=$((mask | 1 << name))
	done
	printf '%016x' $((mask & held))
}
OBSERVE=(PERFMON SYS_PTRACE DAC_READ_SEARCH CHECKPOINT_RESTORE SYSLOG)
# Where locked memory cannot be made free, rings need it.
[ $((16#$(awk '/^CapPrm/ { print $2 }' /proc/self/status) >> 24 & 1)) = 1 ] || OBSERVE+=(IPC_LOCK)
none=0000000000000000

# sets FILE: "permitted effective bounding inheritable ambient" of a status file
sets() { awk '/^Cap/ { s[$1] = $2 } END { print s["CapPrm:"], s["CapEff:"], s["CapBnd:"], s["CapInh:"], s["CapAmb:"] }' "$1" 2>/dev/null; }

# threads_have PID MASK: each thread has these or fewer; the first one these
threads_have() {
	local status permitted

	[ "$(sets "/proc/$1/status")" = "$2 $2 $none $none $none" ] || return 1
	for status in /proc/"$1"/task/*/status; do
		permitted=$(awk '/^CapPrm/ { print $2 }' "$status")
		[ $((16#$permitted & ~16#$2)) = 0 ] || return 1
	done
}
# holds NAME PID MASK: within some seconds, since it begins with more
holds() { until_true 20 threads_have "$2" "$3" && ok "$1 ($3)" || fail "$1: $(sets "/proc/$2/status"), not $3"; }

# --- while it records --------------------------------------------------------------------------------
start "$HOTRUN" record -d 3 -q -o "$T/own.hotrun"
holds "record holds what it needs to observe, and to make maps of tables" "$started" "$(set_of "${OBSERVE[@]}" BPF)"
wait "$started"
is "its capture is complete" "$(sql "$T/own.hotrun" 'SELECT complete FROM host')" 1
start "$HOTRUN" top -b -n 2 -i 1
holds "top" "$started" "$(set_of "${OBSERVE[@]}" BPF)"
wait "$started"
is "it ends well" $? 0
# Names looked up again, of a capture of its own.
"$HOTRUN" rename -o "$T/theirs.hotrun" "$T/own.hotrun" >"$T/out" 2>"$T/err"
is "names are looked up again without the rest" $? 0

# Into a folder where root may write because it is root, and for who called sudo.
mkdir -m 700 "$T/theirs"
chown nobody "$T/theirs"
FILES=(DAC_OVERRIDE CHOWN FOWNER)
start env SUDO_UID="$(id -u nobody)" SUDO_GID="$(id -g nobody)" "$HOTRUN" record -d 3 -q -o "$T/theirs/sudo.hotrun"
holds "under sudo it can write for who called it" "$started" "$(set_of "${OBSERVE[@]}" "${FILES[@]}" BPF)"
wait "$started"
is "whose the capture is" "$(stat -c %U "$T/theirs/sudo.hotrun")" nobody
is "complete" "$(sql "$T/theirs/sudo.hotrun" 'SELECT complete FROM host')" 1
start "$HOTRUN" record -d 2 -q -o "$T/theirs/root.hotrun"
holds "the same into another user's folder" "$started" "$(set_of "${OBSERVE[@]}" "${FILES[@]}" BPF)"
wait "$started"
is "complete, too" "$(sql "$T/theirs/root.hotrun" 'SELECT complete FROM host')" 1

# The operator's own command is as if hotrun were not there.
"$HOTRUN" record -q -o "$T/cmd.hotrun" -- cp /proc/self/status "$T/cmd" 2>"$T/err"
is "a command that is recorded has all that its caller has" "$(sets "$T/cmd")" "$(sets /proc/self/status)"
is "and may gain more" "$(awk '/^NoNewPrivs/ { print $2 }' "$T/cmd")" 0

# --- the resident recorder -----------------------------------------------------------------------------
http=$(free_port)
printf '#!/bin/sh\ncp /proc/self/status %s/signal.new && mv %s/signal.new %s/signal\necho x 0\n' "$T" "$T" "$T" >"$T/signal.sh"
chmod 755 "$T/signal.sh"
start "$HOTRUN" watch --dir "$T/watch" --listen "127.0.0.1:$http" --service-signal "!$T/signal.sh"
watcher=$started
is_ready() { [ "$(curl -s -m 5 -o /dev/null -w '%{http_code}' "http://127.0.0.1:$http/readyz")" = 200 ]; }
until_true 30 is_ready || fail "not ready: $(tail -3 "$T/$watcher.out")"
holds "watch can load programs, too" "$watcher" "$(set_of "${OBSERVE[@]}" BPF)"
bare=$(grep -l "^CapPrm:.$none" /proc/"$watcher"/task/*/status | wc -l)
is "the threads that serve metrics and write the history hold nothing" "$bare" 2

# Artifacts: whatever child of it appears is looked at, before and after it executes.
cat >"$T/children.py" <<'P'
import sys
watcher, out = sys.argv[1:]
seen = {}
while len([k for k in seen if k[1] in ('report', 'flame')]) < 2:
    for pid in open(f'/proc/{watcher}/task/{watcher}/children').read().split():
        try:
            words = open(f'/proc/{pid}/cmdline').read().split('\0')
            status = dict(l.split(':\t', 1) for l in open(f'/proc/{pid}/status').read().splitlines() if ':\t' in l)
        except (OSError, ValueError):
            continue
        if words[0] == 'hotrun' and words[1:2] and words[1] in ('report', 'flame'):
            seen[pid, words[1]] = ' '.join(f'{k}:{status[k].lstrip("0") or 0}' for k in
                ('CapPrm', 'CapEff', 'CapBnd', 'CapInh', 'CapAmb', 'NoNewPrivs'))
with open(out, 'w') as file:
    for (pid, word), text in seen.items():
        print(word, text, file=file)
P
start python3 "$T/children.py" "$watcher" "$T/children"
looker=$started
"$HOTRUN" trigger --dir "$T/watch" --before 2s --after 2s >"$T/out" 2>"$T/err"
is "a capture with report and page" "$?$(ls "$T/watch" | grep -cE -- '-trigger\.(hotrun|txt|html)$')" 03
until_true 10 gone "$looker" || fail "no process was seen that writes them"
for artifact in report flame; do
	is "who writes the $artifact has no capability, and gains none" "$(sed -n "s/^$artifact //p" "$T/children")" \
		"CapPrm:0 CapEff:0 CapBnd:0 CapInh:0 CapAmb:0 NoNewPrivs:1"
done
is "nor has a command of --service-signal" "$(sets "$T/signal")$(awk '/^NoNewPrivs/ { print " " $2 }' "$T/signal")" \
	"$none $none $none $none $none 1"
# Given up and taken back, the programs are loaded anew.
printf '[hotrun watch]\nfrequency = 150\n' >"$T/conf"
stop "$watcher"
start "$HOTRUN" watch --dir "$T/watch" --listen "127.0.0.1:$http" --config "$T/conf" --budget 0
watcher=$started
until_true 30 is_ready || fail "not ready: $(tail -3 "$T/$watcher.out")"
holds "another watch" "$watcher" "$(set_of "${OBSERVE[@]}" BPF)"
printf '[hotrun watch]\nfrequency = 990\n' >"$T/conf"
before=$(bpf_of "$watcher"; echo $progs)
kill -HUP "$watcher"
loaded_anew() { [ "$(bpf_of "$watcher"; echo $progs)" != "$before" ]; }
until_true 30 loaded_anew && ok "it loads its programs anew without them" || fail "not loaded anew: $(tail -3 "$T/$watcher.out")"
until_true 10 is_ready && ok "and is ready" || fail "not ready: $(tail -3 "$T/$watcher.out")"
stop "$watcher"
# A port that only few may take.
low=$(python3 -c '
import socket
for port in range(600, 1024):
    s = socket.socket()
    try:
        s.bind(("127.0.0.1", port))
    except OSError:
        continue
    print(port)
    break')
http=$low
start "$HOTRUN" watch --dir "$T/watch" --listen "127.0.0.1:$http"
until_true 30 is_ready && ok "metrics on a port below 1024" || fail "port $low: $(tail -3 "$T/$started.out")"
