#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The recorder's port under attack from its own host: uid 65534 asks without a pause, and holds connections that
# drip bytes. The scraper and the probes are answered, and nothing that is observed is given up for it.
# mostly waits, 40 s
. "$(dirname "$0")/../support/live.sh"
need_root
need_tool curl curl
need_tool python3 python3

# page: takes it into $T/page
page() { curl -s -m 20 "http://127.0.0.1:$http/metrics" >"$T/page"; }

# metric NAME: of that page
metric() { awk -v n="$1" 'index($0, n) == 1 { print $NF; exit }' "$T/page"; }

# told KIND FIELD: 2 answers, 3 failures, 4 the longest time
told() { awk -v k="$1" -v f="$2" '$1 == k { print $f }' "$T/asked"; }

# attacked NAME SECONDS KIND...: while they attack, the scraper and the probes ask
attacked() {
	local name=$1 seconds=$2 kind pids=() cpu

	shift 2
	page
	cpu=$(metric hotrun_http_cpu_seconds_total)
	for kind; do
		python3 tests/support/http_crowd.py "$kind" "$http" "$seconds" >"$T/$kind" 2>&1 &
		pids+=($!)
		PIDS+=($!)
	done
	python3 tests/support/http_crowd.py asks "$http" "$((seconds - 1))" >"$T/asked" 2>&1
	page
	wait "${pids[@]}"
	is "$name: it did attack" "$(cat "${@/#/$T/}")" ""
	for kind in metrics healthz readyz; do
		within "$name: $kind was answered, times" "$(told "$kind" 2)" $((seconds / 4)) 1000
		is "$name: and never was not" "$(told "$kind" 3)" 0
	done
	for kind in healthz readyz; do
		within "$name: $kind came in time for a probe, s" "$(told "$kind" 4)" 0 0.999
	done
	# Measured 0.5 to 1.3; before, six that ask cost 65.
	within "$name: CPU that answering took, % of one" \
		"$(awk -v a="$cpu" -v b="$(metric hotrun_http_cpu_seconds_total)" -v s="$seconds" 'BEGIN { print (b - a) / s * 100 }')" 0 4
	is "$name: the governor's level" "$(metric hotrun_governor_level)" 0
	is "$name: the rate" "$(metric hotrun_sample_rate_hertz)" 19
}

http=$(free_port)
# Above what observing a busy host costs, and far below what a flood did: a fifth of one CPU.
budget=$(awk -v n="$(nproc)" 'BEGIN { print 20 / n }')
start "$HOTRUN" watch --dir "$T/watch" --listen "127.0.0.1:$http" --budget "$budget%" --capture-on off
watcher=$started
until_true 20 curl -sf -o /dev/null "http://127.0.0.1:$http/readyz" || {
	fail "it does not become ready: $(tail -3 "$T/$watcher.out")"
	exit 1
}
# The governor looks at ten seconds, and at each step begins anew.
attacked "six that ask" 24 flood
attacked "six that ask, and 24 that drip" 12 flood drip
page
within "answers a second are few" "$(awk -v n="$(metric 'hotrun_http_connections_total{result="answered"}')" 'BEGIN { print n / 36 }')" 5 20
within "places were given to others" "$(metric 'hotrun_http_connections_total{result="displaced"}')" 24 1000000
says_not "the budget was not spoken of" "$T/$watcher.out" "budget:"
kill -TERM "$watcher"
until_true 20 gone "$watcher" || fail "it does not end after SIGTERM"
