#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A CPU goes away and comes back while a recording runs: no absurd figure, samples of it again.
. "$(dirname "$0")/../support/live.sh"
need_root

# Where no CPU can go away there is nothing to be seen: that is no gap in the tests of such a machine.
not_here() {
	ok "no CPU can be taken offline on this machine ($*): not applicable"
	exit 0
}
switch=/sys/devices/system/cpu/cpu1/online
[ -w "$switch" ] && [ "$(cat "$switch")" = 1 ] || not_here "cpu1 cannot be switched"
# cgroup v1 takes the CPU from every inner cpuset and does not give it back.
[ -z "$(find /sys/fs/cgroup/cpuset -mindepth 1 -type d -print -quit 2>/dev/null)" ] || not_here "it has cpusets"
trap 'echo 1 >"$switch"; finish' EXIT

start "$LOADS/spinners" 4 60
spinners=$started
sleep 0.3
"$HOTRUN" record -d 7 -F 199 -o "$T/plug.hotrun" >"$T/sum" 2>"$T/err" &
hotrun=$!
PIDS+=("$hotrun")
until_true 20 grep -qs recording "$T/err" || fail "no start-up line"
ticks() { awk '{ print $14 + $15 }' "/proc/$spinners/stat"; }
before=$(ticks)
sleep 1.6
echo 0 2>/dev/null >"$switch" || not_here "the kernel refuses"
sleep 2.2
echo 1 >"$switch"
wait "$hotrun"
is "exit code" $? 0
after=$(awk -v a="$(ticks)" -v b="$before" -v hz="$(getconf CLK_TCK)" 'BEGIN { print (a - b) / hz }')
stop "$spinners"
capture=$T/plug.hotrun
is "complete" "$(sql "$capture" 'SELECT complete FROM host')" 1
is "no slice of a CPU is longer than its slice" "$(sql "$capture" 'SELECT count(*) FROM cpu JOIN slice ON slice.id = cpu.slice
	WHERE elapsed_ns > (end_ns - start_ns) * 1.2 + 50000000')" 0
is "no figure is negative or absurd" "$(sql "$capture" 'SELECT count(*) FROM cpu WHERE min(idle_ns, accounted_ns,
	unaccounted_ns, steal_ns, switches, ticks_taken, ticks_idle) < 0 OR max(switches, ticks_taken) > 10000000')" 0
within "while it was away cpu1 has no books, slices" "$(sql "$capture" 'SELECT (SELECT count(*) FROM cpu WHERE cpu = 0)
	- (SELECT count(*) FROM cpu WHERE cpu = 1)')" 1 4
within "CPU time of the spinners, of $after s by /proc, s" "$(sql "$capture" "SELECT on_cpu_s FROM process_cpu
	WHERE tgid = $spinners")" "$(awk -v a="$after" 'BEGIN { print a * 0.93 - 0.1 }')" "$(awk -v a="$after" 'BEGIN { print a * 1.07 + 0.1 }')"
within "cpu1 has samples again after it came back" "$(sql "$capture" "SELECT count(*) FROM sample WHERE cpu = 1
	AND time_ns > (SELECT end_ns FROM host) - 1500000000")" 50 400
"$HOTRUN" report "$capture" >"$T/report" 2>"$T/err"
is "the report reads it" $? 0
busy=$(sed -n 's/^CPU busy \([0-9.]*\) of.*/\1/p' "$T/report")
within "busy CPUs in the report" "$busy" 0.5 2.01
