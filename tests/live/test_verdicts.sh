#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Verdicts on programs whose state is known, once each: those that a quota holds in one recording, all others apart,
# since two slow CPUs have no room for more. `make verdicts` takes each apart, and several times.
# quite alone
. "$(dirname "$0")/../support/live.sh"
. "$(dirname "$0")/../support/servers.sh"
. "$(dirname "$0")/../support/groups.sh"
. "$(dirname "$0")/../support/verdict_cases.sh"
need_root
need_dotnet Hang
need_tool wrk wrk
need_tool nginx nginx-light
need_tool curl curl

declare -A subjects wants hosts culprits
keep() { subjects[$1]=$subject wants[$1]=$want hosts[$1]=$host culprits[$1]=$culprit; }

# judge SECONDS NAME...: what one recording says of the cases, kept by keep(). Where strangers took the CPU that a case
# needs, what is told is true of another state: recorded again, at most twice.
judge() {
	local seconds=$1 report=$T/report name try line got got_host bad
	declare -A faults gots

	shift
	for try in 1 2 3; do
		faults=()
		rm -f "$T/case.hotrun"
		record case -q -d "$seconds"
		# What is asked now need not wait behind them.
		kill -STOP "${PIDS[@]:calm_pids}"
		ask "$T/case.hotrun" "$report"
		for name in "$@"; do
			check "$report" "${subjects[$name]}" "${wants[$name]}" "${hosts[$name]}" "${culprits[$name]}"
			gots[$name]=$got
			[ -z "$bad" ] || faults[$name]=$bad
		done
		[ ${#faults[@]} -gt 0 ] && ! undisturbed "$T/case.hotrun" || break
		kill -CONT "${PIDS[@]:calm_pids}"
		echo "# try $try: strangers took $(strangers "$T/case.hotrun") CPUs"
	done
	line=$(opening "$report" | tr -s ' \n' '  ' | cut -c1-700)
	for name in "$@"; do
		[ -z "${faults[$name]:-}" ] && ok "$name: ${gots[$name]}" || fail "$name: ${faults[$name]}: $line"
	done
}

# each NAME...: apart, one after the other, beside what runs already
each() {
	local name pid

	calm_pids=${#PIDS[@]}
	for name in "$@"; do
		"case_$name"
		keep "$name"
		judge 4 "$name"
		for pid in "${PIDS[@]:calm_pids}"; do
			stop "$pid"
		done
		PIDS=("${PIDS[@]::calm_pids}")
	done
}

# Before anybody is hurt.
each idle unmeasured build crowd
# The same figures are an alarm where it was declared.
ask "$T/case.hotrun" "$T/declared" --limit hurt-by=waiting
is "crowd, declared to be hurt by waiting" "$(told "$T/declared" $subject) $(told_host "$T/declared")" \
	"oversubscribed host-overloaded"

# The hang before the others: its requests must be 12 s old in the end.
case_hang_begins
keep hang
hung_at=$SECONDS
each slow gives_up sips elastic starved oversubscribed nginx

group_make throttled 30000
hang_one "${in_group[@]}"
load 200 '/busy?us=2000'
want=throttled
keep throttled
case_tight
keep tight
case_limited
keep limited
until_true 12 test $((SECONDS - hung_at)) -ge 12
judge 5 hang throttled tight limited
