#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# -p and --cgroup limit the stacks and the report, never the accounts.
# beside others, 12 s
. "$(dirname "$0")/../support/live.sh"
need_root

start "$LOADS/native" 120
native=$started
start "$LOADS/spinners" 1 120
spinners=$started

# filtered NAME TGID OTHER: what a filtered capture must hold
filtered() {
	local capture=$T/$1.hotrun mine=$2 other=$3

	# However much of a CPU others left it.
	within "$1: samples of the one, of those that its CPU time asks for" \
		"$(sql "$capture" "SELECT samples / (on_cpu_s * 199) FROM process_cpu WHERE tgid = $mine AND samples > 10")" 0.7 1.3
	is "$1: samples of all others" "$(sql "$capture" "SELECT coalesce(sum(samples), 0) FROM process_cpu WHERE tgid <> $mine")" 0
	within "$1: the other's CPU time is there, s" \
		"$(sql "$capture" "SELECT on_cpu_s FROM process_cpu WHERE tgid = $other")" 0.05 4
	set -- "$1" $(facts books "$capture")
	within "$1: accounts, idle and unaccounted make CPUs x elapsed" "$(awk -v a="$4" -v b="$2" 'BEGIN { print a / b }')" 0.99 1.01
	"$HOTRUN" report "$capture" >"$T/report" 2>"$T/err" || fail "report: $(cat "$T/err")"
	says "$1: the report says what was filtered" "$T/report" "stacks only of"
	line=$(grep -m1 '^samples ' "$T/report" | tr -d ,)
	set -- "$1" $(printf '%s\n' "$line" | grep -oE '[0-9]+')
	is "$1: ticks taken = reported + filtered + dropped ($line)" "$(($5 + $6 + $7))" "$3"
}

record pid -d 3 -F 199 -p "$native" && filtered pid "$native" "$spinners"

# A cgroup of the cpu controller, v1 or v2.
parent=$(awk '$3 == "cgroup" && $4 ~ /(^|,)cpu(,|$)/ { print $2; exit }' /proc/mounts)
[ -n "$parent" ] || parent=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
group=$parent/hotrun-live-$$
if mkdir "$group" 2>/dev/null && mkdir "$group/inner"; then
	echo "$native" >"$group/inner/cgroup.procs"
	record cgroup -d 3 -F 199 --cgroup "$group" && filtered cgroup "$native" "$spinners"
	record name -d 1.5 -F 199 --cgroup "/hotrun-live-$$"
	within "a group by its path in the tree: samples" \
		"$(sql "$T/name.hotrun" "SELECT samples FROM process_cpu WHERE tgid = $native")" 20 1000
	stop "$native"
	rmdir "$group/inner" "$group"
else
	skip "no cgroup of the cpu controller can be made here"
fi
