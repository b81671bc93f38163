#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# hotrun's run delays beside those that bpftrace sees of the same load: spinners on one CPU, and a stream of
# short processes. Two ways to the same figure: ours are summed in the kernel by account, bpftrace keeps a
# time for each thread that becomes runnable. The kernel tells of that (sched_wakeup) up to two microseconds after it
# queued the thread, where ours begin: so much ours may be longer. They may be a microsecond shorter: the time that a
# program of bpftrace takes before it reads the clock, and what ours are off by. Of bpftrace's the time counts in which
# both look.
# Another recorder would add its own time to that.
# quite alone
. "$(dirname "$0")/../support/live.sh"
need_root
need_tool bpftrace bpftrace

cat >"$T/delays.bt" <<'X'
tracepoint:sched:sched_wakeup, tracepoint:sched:sched_wakeup_new { @since[args->pid] = nsecs; }
tracepoint:sched:sched_switch {
	$now = nsecs;
	if ((args->prev_state == 0 || args->prev_state == 256) && args->prev_pid) {
		@since[args->prev_pid] = $now;
	}
	$since = @since[args->next_pid];
	if ($since) {
		$sooner = $now - $since > 1000 ? $now - $since - 1000 : 0;
		@usecs = hist($sooner / 1000);
		@later = hist(($now - $since + 2000) / 1000);
	}
	delete(@since[args->next_pid]);
}
interval:ms:200 { printf("at %llu ms\n", nsecs / 1000000); print(@usecs); print(@later); }
interval:s:15 { exit(); }
END { clear(@since); clear(@usecs); clear(@later); }
X
start taskset -c $(($(nproc) > 1)) "$LOADS/spinners" 3 60
spinners=$started
start "$LOADS/storm" 60 300
storm=$started
sleep 0.5
# What happens while only one of them looks (the hypervisor takes the CPU) is in one figure alone: then once more.
for try in 1 2 3; do
	start bpftrace "$T/delays.bt"
	peer=$started
	until_true 20 grep -q Attaching "$T/$peer.out" || fail "bpftrace does not start: $(head -3 "$T/$peer.out")"
	sleep 1
	"$HOTRUN" runq -d 6 >"$T/runq" 2>"$T/err"
	is "runq beside bpftrace: exit code 0" $? 0
	ended_ms=$(awk '{ print int($1 * 1000) }' /proc/uptime)
	stop "$peer"
	set -- $(facts delays "$T/runq" "$T/$peer.out" $((ended_ms - 6000)) $((ended_ms - 200)))
	awk -v d="$3" 'BEGIN { exit !(d <= 5) }' && break
done
stop "$storm"
stop "$spinners"
within "run delays counted in a second, ours to bpftrace's ($1 in 6 s, $2 in $4 s of them)" \
	"$(awk -v a="$1" -v b="$2" -v s="$4" 'BEGIN { print (a / 6) / (b / s) }')" 0.85 1.15
within "largest difference of the two distributions, per cent" "$3" 0 5
