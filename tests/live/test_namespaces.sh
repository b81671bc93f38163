#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The same pid in two pid namespaces, each with its own /tmp: each process is named from its own map.
# beside others, 8 s
. "$(dirname "$0")/../support/live.sh"
need_root
need_dotnet Split Deep

# box DLL ARGUMENT...: as in a container: first process of its namespace, a /tmp of its own
box() {
	start unshare -p -m -f --mount-proc sh -c 'mount --make-rprivate / &&
		mount -t tmpfs -o mode=1777 tmpfs /tmp && DOTNET_PerfMapEnabled=3 exec dotnet "$@"' sh "$@"
}

# The host's pid of the only child of $1.
inner() { cat "/proc/$1/task/$1/children" | tr -d ' '; }

# The program must be out of /tmp, which is hidden in there.
apps=$(make_folder /var/tmp)
trap 'rm -rf "$apps"; finish' EXIT
cp -r "$BUILD/dotnet/Split" "$BUILD/dotnet/Deep" "$apps"

box "$apps/Split/Split.dll" 20 /tmp/truth
split_box=$started
box "$apps/Deep/Deep.dll" 20 20
deep_box=$started
both_inside() { [ -n "$(inner "$split_box")" ] && [ -n "$(inner "$deep_box")" ]; }
until_true 30 both_inside || fail "no process in the namespaces"
split=$(inner "$split_box")
deep=$(inner "$deep_box")
PIDS+=("$split" "$deep")
until_true 40 grep -qs Walk "/proc/$deep/root/tmp/perf-1.map" || fail "no perf map in the namespace"
until_true 40 grep -qs Reprice "/proc/$split/root/tmp/perf-1.map" || fail "no perf map in the other namespace"
sleep 1
record ns -d 4 -F 199 || exit 1
stop "$split"
stop "$deep"
capture=$T/ns.hotrun

is "both are process 1 inside" \
	"$(sql "$capture" "SELECT group_concat(ns_pid) FROM process WHERE tgid IN ($split, $deep)")" 1,1
is "both are named by their entry assembly" "$(sql "$capture" \
	"SELECT group_concat(name) FROM (SELECT name FROM process WHERE tgid IN ($split, $deep) ORDER BY name)")" Deep,Split
"$HOTRUN" export "$capture" -o "$T/folded" 2>"$T/err" || fail "export: $(cat "$T/err")"
for pair in "Split Shop.Pricing.Engine.Reprice 50 70" "Deep Shop.Catalogue.Tree.Walk 90 100"; do
	set -- $pair
	process=$1 method=$2 low=$3 high=$4
	set -- $(facts share "$T/folded" "$process" "$method")
	within "$process has its own methods, per cent of $2 samples" "$(awk -v h="$1" -v t="$2" 'BEGIN { print 100 * h / t }')" "$low" "$high"
done
is "neither has a method of the other" "$(grep -c '^Split;.*Catalogue\|^Deep;.*\(Pricing\|Search\)' "$T/folded")" 0
for pid in "$split" "$deep"; do
	set -- $(facts jit "$capture" "$pid")
	within "JIT frames of $pid with a name, of $2" "$(awk -v n="$1" -v t="$2" 'BEGIN { print 100 * n / t }')" 99.5 100
done
