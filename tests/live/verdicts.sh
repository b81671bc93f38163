#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The confusion matrix: programs in a state that is known, each recorded apart, and what `hotrun report` says of
# it. As root, on a machine that does nothing else.
# usage: verdicts.sh [CASE]...     RUNS=3: times of each case, SECONDS_EACH=10: of a recording
# Exit code: 0 all right, 1 some wrong.
. "$(dirname "$0")/../support/live.sh"
. "$(dirname "$0")/../support/servers.sh"
. "$(dirname "$0")/../support/groups.sh"
. "$(dirname "$0")/../support/verdict_cases.sh"
need_root
need_dotnet Hang
need_tool wrk wrk
need_tool nginx nginx-light
need_tool curl curl

RUNS=${RUNS:-3}
SECONDS_EACH=${SECONDS_EACH:-10}
[ $# -gt 0 ] || set -- "${CASES[@]}"
columns=($calm $hurt no-evidence nothing)
declare -A count
right=0 wrong=0 alarms=0 missed=0

# Says of the case that was just recorded what hotrun says; notes of what is wrong go to stderr.
judge() {
	local name=$1 report=$T/report got got_host bad

	ask "$T/case.hotrun" "$report"
	check "$report" "$subject" "$want" "$host" "$culprit"
	count[$name,$got]=$((${count[$name,$got]:-0} + 1))
	if [ -z "$bad" ]; then
		right=$((right + 1))
	else
		wrong=$((wrong + 1))
		among "${want%% *}" "$calm" && among "$got" "$hurt" && alarms=$((alarms + 1))
		among "${want%% *}" "$hurt" && among "$got" "$calm" && missed=$((missed + 1))
		echo "wrong: $name: $bad (strangers took $(strangers "$T/case.hotrun") CPUs)"
		opening "$report" | sed 's/^/    /'
		[ -z "${KEEP:-}" ] || cp "$T/case.hotrun" "$KEEP/$name-$run.hotrun"
	fi >&2
}

for run in $(seq "$RUNS"); do
	for name in "$@"; do
		rm -f "$T/case.hotrun"
		"case_$name"
		if record case -q -d "$SECONDS_EACH"; then
			judge "$name"
		else
			wrong=$((wrong + 1))
		fi
		case_ends
		echo "run $run: $name" >&2
	done
done

# A column for each verdict that was told at all.
shown=()
for verdict in "${columns[@]}"; do
	for name in "$@"; do
		[ -z "${count[$name,$verdict]:-}" ] || {
			shown+=("$verdict")
			break
		}
	done
done
printf '%-16s' state
printf '  %s' "${shown[@]}"
echo
for name in "$@"; do
	printf '%-16s' "$name"
	for verdict in "${shown[@]}"; do
		printf '  %*s' ${#verdict} "${count[$name,$verdict]:-.}"
	done
	echo
done
echo "$right of $((right + wrong)) right; false alarms $alarms, missed $missed"
[ $wrong -eq 0 ]
