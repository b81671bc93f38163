#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# An unprivileged user with files, perf maps and processes that are made to keep hotrun busy: the service beside
# them keeps its names, samples and requests, and hotrun keeps to its time, memory and rights.
# quite alone
. "$(dirname "$0")/../support/live.sh"
. "$(dirname "$0")/../support/servers.sh"
need_root
need_dotnet Web
need_tool wrk wrk
need_tool setpriv util-linux

attacker=65534 # nobody
user=65533     # of the service
hz=99
# Of `record -d 2`: what it uses is its own, how long it takes is the host's, too (some fifteen threads on each CPU).
RECORD_CPU_MS=2500
RECORD_MS=30000
# ATTACK_EACH=1: each of them alone, too, as it was when the bounds were found.
each=${ATTACK_EACH:-0}
# ATTACK_CHURN=1: with 1,000 forks a second and 60,000 mappings, beside which the governor still lowers the rate.
churn=${ATTACK_CHURN:-0}
level=all # of the resident recorder

folders=()
trap 'finish; leave_groups' EXIT

# --- who attacks ---------------------------------------------------------------------------------------
as() { setpriv --reuid="$1" --regid="$1" --clear-groups -- "${@:2}"; }

# attack NAME WORD...: one process of attack.c; its pid joins those of that name
declare -A pids_of
attack() {
	start setpriv --reuid=$attacker --regid=$attacker --clear-groups -- "$T/attack" 120 "${@:2}"
	pids_of[$1]+=" $started"
}

start_cie() { attack cie files "$T"/files/cie.*; }
start_nested() { attack nested files "$T"/files/*.dll; }
start_symbols() { attack symbols files "$T"/files/symbols.*; }
start_map() { attack map map 8000000 && attack map map 8000000; }
start_rewrite() { for _ in 1 2 3 4; do attack rewrite rewrite $((16 << 20)); done; }
start_runtime() { for _ in 1 2 3 4; do attack runtime runtime "$T/files/runtime/libcoreclr.so"; done; }
start_churn() {
	attack churn forks 1000 "$T/files/libcoreclr.so"
	for ((i = 0; i < 70; i++)); do attack churn mappings 857 "$T/files/libcoreclr.so"; done
}

# For the resident recorder's port, and for rows of endpoints: both are to be there while the others are measured
start_flood() {
	start setpriv --reuid=$attacker --regid=$attacker --clear-groups -- \
		python3 "$T/http_crowd.py" flood "$http" 100 /healthz
	others+=("$started")
}
start_listeners() {
	start "${in_crowd[@]}" prlimit --nofile=16384 -- setpriv --reuid=$attacker --regid=$attacker --clear-groups -- \
		"$T/many_listeners" 4200 100
	others+=("$started")
}

others=()
attacks_stop() {
	local pid

	for pid in "${others[@]}"; do stop "$pid"; done
	others=()

	for pid in ${pids_of[*]}; do stop "$pid"; done
	pids_of=()
}

# What they did is looked at while they stand still, and those that look need not wait behind them.
attacks_pause() { kill -STOP ${pids_of[*]} "${others[@]}"; }
attacks_go_on() { kill -CONT ${pids_of[*]} "${others[@]}"; }

all_ready() {
	local pid

	for pid in ${pids_of[*]}; do grep -qs ready "$T/$pid.out" || return 1; done
}

# attacks_start NAME...
attacks_start() {
	local name

	for name in "$@"; do "start_$name"; done
	until_true 20 all_ready || fail "$*: does not start: $(cat $(printf "$T/%s.out " ${pids_of[*]}) | sort -u | head -3)"
}

# --- what is asked of a capture --------------------------------------------------------------------------
samples=0 expected=0

# innocent NAME CAPTURE: the service's own part of it. Samples of the resident recorder, a few a second that stand
# for many, are too few to compare.
innocent() {
	local row named total cpu_s why

	row=$(sql "$2" "SELECT samples, on_cpu_s FROM process_cpu WHERE tgid = $web")
	[ -n "$row" ] || {
		fail "$1: the capture does not know the service"
		return
	}
	if [ "$1" != watch ]; then
		samples=$((samples + ${row% *}))
		expected=$(awk -v e="$expected" -v s="${row#* }" -v hz="$hz" 'BEGIN { print e + s * hz }')
	fi
	why=$(facts managed "$2" "$web")
	read -r named total <<<"$why"
	why=$(sed 1d <<<"$why" | tr '\n' ',')
	within "$1: managed frames of the service with a name, per cent of $total${why:+, not: $why}" \
		"$(awk -v n="$named" -v t="$total" 'BEGIN { print t ? 100 * n / t : "" }')" 99.5 100
	within "$1: samples of the service" "${row% *}" 1 100000
	[ "$(sql "$2" "SELECT count(*) FROM endpoint WHERE port = $port")" = 0 ] && [ "$1" = watch ] && [ "$level" != all ] && return
	# Each takes 1 ms of CPU time by its own clock, in the first figure of the truth.
	set -- "$1" "$2" $(sql "$2" 'SELECT start_ns, end_ns FROM host')
	cpu_s=$(facts truth "$T/innocent/truth" "$3" "$4" | cut -d' ' -f3)
	eval "$(facts requests "$2" "$port")"
	within "$1: its requests, of those that its own clock tells" \
		"$(awk -v a="$answered" -v s="$cpu_s" 'BEGIN { print a / (s * 1000) }')" 0.9 1.1
}

# what NAME CAPTURE: why the attackers' own frames have no name; a word each
told() {
	local pid

	for pid in ${pids_of[$1]}; do facts reasons "$2" "$pid"; done | awk '{ n[$2] += $1 } END { for (w in n) print n[w], w }' | sort -rn
}

# says_why NAME CAPTURE WORDS: frames of an attacker say why they have no name, with one of the words at least; one
# that was still waited for when the capture ended has no location, which reports call pending
says_why() {
	local words

	words=$(told "$1" "$2" | sed 's/nothing/pending/')
	# At a low rate the sixth of a CPU that each uses may be missed.
	[ -z "$words" ] && [ "$level" = rate-least ] && return
	grep -qE " ($3)\$" <<<"$words" && ok "$1: it is told what became of its frames: $(tr '\n' ' ' <<<"$words")" || fail "$1: not one of $3: $words"
}

# record_under NAME...: a recording of two seconds under these attacks, which stand still then
record_under() {
	local name=$1 TIMEFORMAT='%R %U %S' took

	[ $# -gt 1 ] && name=all
	{ time record "$name" -d 2 -F $hz; } 2>"$T/$name.time"
	attacks_pause
	took=$(tail -1 "$T/$name.time")
	within "$name: record -d 2 ends, ms" "$(awk '{ print 1000 * $1 }' <<<"$took")" 2000 $RECORD_MS
	within "$name: CPU time of all its processes, ms" "$(awk '{ print 1000 * ($2 + $3) }' <<<"$took")" 50 $RECORD_CPU_MS
	innocent "$name" "$T/$name.hotrun"
}

# --- groups ----------------------------------------------------------------------------------------------
# A group of version 2 for the CPU time, and the memory limit of what is shipped in deploy/ in whichever version there
# is: ${in_group[@]} COMMAND... runs in both.
make_groups() {
	local unified memory

	unified=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/self/mounts)
	[ -n "$unified" ] || skip "needs control groups of version 2"
	group=$unified/hotrun-live-$$
	mkdir "$group" && folders+=("$group")
	grep -qsw memory "$unified/cgroup.controllers" && echo +memory >"$unified/cgroup.subtree_control"
	limited=
	if echo 512M 2>/dev/null >"$group/memory.max"; then
		limited=$group
	else
		memory=$(awk '$3 == "cgroup" && ("," $4 ",") ~ /,memory,/ { print $2; exit }' /proc/self/mounts)
		limited=${memory:+$memory/hotrun-live-$$}
		[ -n "$limited" ] && mkdir "$limited" && folders+=("$limited") &&
			echo 512M >"$limited/memory.limit_in_bytes"
	fi
	in_group=(sh -c 'for folder in $0; do echo $$ >"$folder/cgroup.procs"; done; exec "$@"' "${folders[*]}")
	# Who logs in, or a container, has a group of its own.
	mkdir "$group-crowd" && folders+=("$group-crowd")
	in_crowd=(sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$group-crowd")
}

leave_groups() {
	local folder

	for folder in "${folders[@]}"; do
		until_true 3 rmdir "$folder" 2>/dev/null || echo "FAIL - $folder stays"
	done
}

# Processes killed for want of memory in the group
oom_kills() { cat "$limited/memory.events" "$limited/memory.oom_control" 2>/dev/null | awk '$1 == "oom_kill" { print $2 }'; }

# cost SECONDS: of the group, in per cent of a CPU, in $cost; see group_facts.py
cost() {
	eval "$(python3 tests/support/group_facts.py "$group" "$1")"
	cost=$(awk -v c="$cpu_ms" -v s="$seconds" 'BEGIN { printf "%.2f", c / s / 10 }')
}

# ms_of FILE COMMAND...: how long it takes, beside whatever runs; what it prints goes to the file
ms_of() {
	local before

	before=$(date +%s%N)
	"${@:2}" >"$1" 2>&1 || return
	echo $((($(date +%s%N) - before) / 1000000))
}

# status NAME: how long it takes to answer, beyond what the same program takes to begin on this host now, and what
status() {
	local ms begin_ms

	begin_ms=$(ms_of /dev/null "$HOTRUN" --version)
	ms=$(ms_of "$T/status" "$HOTRUN" watch --status --dir "$T/watch") || fail "$1: --status: $(head -1 "$T/status")"
	within "$1: watch --status answers, ms (to begin: $begin_ms)" "$ms" 0 $((1000 + 4 * begin_ms))
}

# --- the service, and the files ----------------------------------------------------------------------------
mkdir "$T/files" "$T/innocent"
chown $attacker "$T/files"
chown $user "$T/innocent"
cp -r "$BUILD/dotnet/Web" "$T/Web"
cp "$LOADS/attack" "$LOADS/attack_files" "$LOADS/many_listeners" tests/support/http_crowd.py "$T"
read -r port http <<<"$(free_ports 2)"
DOTNET_PerfMapEnabled=3 start setpriv --reuid=$user --regid=$user --clear-groups -- \
	dotnet "$T/Web/Shop.Web.dll" "$port" 280 "$T/innocent/truth"
web=$started
as $attacker "$T/attack_files" cie "$T/files/cie.1" || fail "no files"
for ((i = 2; i <= 18; i++)); do as $attacker cp "$T/files/cie.1" "$T/files/cie.$i"; done
for i in 1 2 3; do as $attacker "$T/attack_files" symbols "$T/files/symbols.$i"; done
for i in 1 2; do as $attacker "$T/attack_files" nested "$T/files/nested$i.dll"; done
as $attacker cp "$T/files/symbols.1" "$T/files/libcoreclr.so"
as $attacker mkdir "$T/files/runtime"
as $attacker "$T/attack_files" runtime "$T/files/runtime/libcoreclr.so"
until_true 60 grep -q ready "$T/$web.out" || {
	fail "the service does not start: $(head -3 "$T/$web.out")"
	exit 1
}
start wrk -t1 -c1 -d 270s "http://127.0.0.1:$port/price"
load=$started
sleep 3 # until its methods are compiled for good

# --- one after the other -----------------------------------------------------------------------------------
declare -A words=(
	[cie]='no-symbol|file-costly|budget|limit|file-malformed'
	[nested]='named|precompiled|file-costly|budget|limit|file-malformed'
	[symbols]='named|file-costly|budget|limit|file-malformed'
	[map]='file-costly|budget|limit|pending|perf-map-.*'
	[rewrite]='file-costly|budget|limit|pending|perf-map-.*'
	[runtime]='named|runtime-silent|memory-.*|file-.*|budget|limit|no-perf-map'
)
kinds=(cie nested symbols map rewrite runtime)
if [ "$each" = 1 ]; then
	for name in "${kinds[@]}"; do
		attacks_start $name
		record_under $name
		says_why $name "$T/$name.hotrun" "${words[$name]}"
		attacks_stop
	done
fi

# --- the resident recorder, under all of them ----------------------------------------------------------------
all=("${kinds[@]}" flood listeners)
[ "$churn" = 1 ] && all+=(churn)
make_groups
start "${in_group[@]}" nice -n -10 "$HOTRUN" watch --dir "$T/watch" --listen "127.0.0.1:$http"
watcher=$started
until_true 20 eval '"$HOTRUN" watch --status --dir "$T/watch" 2>/dev/null | grep -q "ready 1"' ||
	fail "it does not become ready: $(tail -3 "$T/$watcher.out")"
sleep 5
status "in peace"
cost 8
quiet=$cost most_mib=$pss_mib
attacks_start "${all[@]}"
cost 5
burst=$cost
status "at the attack's beginning"
cost 5
burst=$(awk -v a="$burst" -v b="$cost" 'BEGIN { print (a + b) / 2 }')
[ "$pss_mib" -gt "$most_mib" ] && most_mib=$pss_mib
# The governor looks each ten seconds, and the first look may have the allowance in it that everybody has once.
is_aside() { "$HOTRUN" watch --status --dir "$T/watch" | grep -q '^aside_s .* attack'; }
until_true 30 is_aside && ok "the attacker's names are given up before anything else" ||
	fail "nobody is set aside: $(tr '\n' ' ' <"$T/$watcher.out")"
cost 10
[ "$pss_mib" -gt "$most_mib" ] && most_mib=$pss_mib
status "under attack"
level=$(sed -n 's/^level //p' "$T/status")
echo "watch: $quiet % of a CPU in peace, $burst % in the first 10 s of the attack, $cost % in the next 10 s; $most_mib MiB; level $level"
# Of these, 1.3 may be answers over HTTP, which are no cost of observing.
within "cost of the attack once its allowance is used up, per cent of a CPU" \
	"$(awk -v a="$cost" -v b="$quiet" 'BEGIN { print a - b }')" -100 3.8
# A host on which observing alone takes the budget, half a per cent of its CPUs, gives up something without an attack.
if awk -v q="$quiet" -v n="$(nproc)" 'BEGIN { exit !(q < 0.25 * n) }'; then
	grep -qE '^(all|rate-half)$' <<<"$level" && ok "no evidence is taken from others ($level)" || fail "taken from others: $level"
fi
within "looks at workers" "$workers" 10 100000
is "with a nice value under 0, a capability, or no sandbox" "$unfit" 0
is "looks at who opens their files, with a nice value under 0" "$hasty" 0
within "memory of all its processes, MiB" "$most_mib" 5 512
"$HOTRUN" trigger --dir "$T/watch" --before 8s --after 1s >"$T/asked" 2>&1 || fail "trigger: $(cat "$T/asked")"
attacks_pause
capture=$(tail -1 "$T/asked")
"$HOTRUN" report "$capture" >"$T/report" 2>&1
says "the attacker is named, with what was left out" "$T/report" "names of attack"
innocent watch "$capture"
for name in "${kinds[@]}"; do says_why $name "$capture" "${words[$name]}|pending"; done
is "processes killed for want of memory" "$(oom_kills)" "${limited:+0}"
kill -TERM "$watcher"
until_true 20 gone "$watcher" || fail "watch does not end"
attacks_go_on

# --- a recording, under all of them ----------------------------------------------------------------------------
record_under "${all[@]}"
for name in "${kinds[@]}"; do says_why $name "$T/all.hotrun" "${words[$name]}|pending"; done
# It is taken for a runtime, and some of what it says is sound: here, where its allowance is still whole.
check "runtime: some of its code has names" grep -qw named <(told runtime "$T/all.hotrun")
attacks_stop
# Three standard deviations, where they are few.
within "samples of the service, of those that its CPU time asks for, per cent of $expected" \
	"$(awk -v s="$samples" -v e="$expected" 'BEGIN { print 100 * s / e }')" \
	$(awk -v e="$expected" 'BEGIN { t = 300 / sqrt(e); t = t > 10 ? t : 10; print 100 - t, 100 + t }')
check "the service runs on" alive "$web"
