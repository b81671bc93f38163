#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Verdicts on programs whose state is known, once each: those that saturate the host apart, those that do not in
# one recording. `make verdicts` takes each apart, and several times.
. "$(dirname "$0")/../support/live.sh"
. "$(dirname "$0")/../support/servers.sh"
. "$(dirname "$0")/../support/groups.sh"
. "$(dirname "$0")/../support/verdict_cases.sh"
need_root
need_dotnet Hang
need_tool wrk wrk
need_tool nginx nginx-light
need_tool curl curl

# judged NAME REPORT: what stands in it of the case NAME, whose pids and verdicts were kept by keep()
judged() {
	local name=$1 report=$2 got line

	got=$(told "$report" ${subjects[$name]})
	line=$(opening "$report" | tr -s ' \n' '  ' | cut -c1-700)
	if among "$got" "${wants[$name]}"; then
		ok "$name: $got"
	else
		fail "$name: $got, not ${wants[$name]}: $line"
	fi
	among "$(told_host "$report")" "${hosts[$name]}" || fail "$name: the host is not ${hosts[$name]}: $line"
	[ -z "${culprits[$name]}" ] || opening "$report" | grep -qE -- "${culprits[$name]}" ||
		fail "$name: no '${culprits[$name]}' in $line"
}

declare -A subjects wants hosts culprits
keep() { subjects[$1]=$subject wants[$1]=$want hosts[$1]=$host culprits[$1]=$culprit; }

# The hang first: its requests must be 12 s old in the end.
case_hang_begins
keep hang
hung_at=$SECONDS
calm_pids=${#PIDS[@]}

for name in elastic starved oversubscribed crowd unmeasured nginx; do
	"case_$name"
	keep "$name"
	record "$name" -q -d 4
	ask "$T/$name.hotrun" "$T/$name.report"
	for pid in "${PIDS[@]:calm_pids}"; do
		stop "$pid"
	done
	PIDS=("${PIDS[@]::calm_pids}")
	judged "$name" "$T/$name.report"
done

group_make throttled 30000
hang_one "${in_group[@]}"
load 200 '/busy?us=2000'
want=throttled
keep throttled
case_idle
keep idle
case_slow
keep slow
case_gives_up
keep gives_up
case_sips
keep sips
until_true 12 test $((SECONDS - hung_at)) -ge 12
record calm -q -d 5
ask "$T/calm.hotrun" "$T/calm.report"
for name in hang throttled idle slow gives_up sips; do
	judged "$name" "$T/calm.report"
done
