#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Two resident recorders, one in the quiet gear and one in the full one, over the same seconds of programs in a state
# that is known: how often both have the same verdict. As root, on a machine that does nothing else.
# usage: gears.sh [CASE]...     WINDOWS=5: of each case, SECONDS_EACH=12: of a window
# Exit code: 0 the same in 97 of 100 windows, 1 not.
. "$(dirname "$0")/../support/live.sh"
. "$(dirname "$0")/../support/servers.sh"
. "$(dirname "$0")/../support/groups.sh"
. "$(dirname "$0")/../support/verdict_cases.sh"
need_root
need_dotnet Hang
need_tool wrk wrk
need_tool nginx nginx-light
need_tool curl curl

WINDOWS=${WINDOWS:-5}
SECONDS_EACH=${SECONDS_EACH:-12}
[ $# -gt 0 ] || set -- "${CASES[@]}"
gears=(quiet full)
declare -A pair recorder count
same=0 windows=0

recorders_start() {
	local gear

	for gear in "${gears[@]}"; do
		"$HOTRUN" watch --dir "$T/$gear" --listen 127.0.0.1:0 --gear "$gear" --budget 0 --capture-on off >"$T/$gear.log" 2>&1 &
		recorder[$gear]=$!
	done
	for gear in "${gears[@]}"; do
		until_true 30 eval '"$HOTRUN" watch --status --dir "$T/$gear" 2>/dev/null | grep -q "ready 1"' ||
			fail "$gear: does not become ready: $(tail -3 "$T/$gear.log")"
	done
}

recorders_end() {
	local gear

	for gear in "${!recorder[@]}"; do
		kill "${recorder[$gear]}" 2>/dev/null
		wait "${recorder[$gear]}" 2>/dev/null
	done
}
trap 'recorders_end; finish; groups_remove' EXIT

# Both are asked at once for what they have in memory of the window.
window() {
	local gear asked=()

	sleep "$SECONDS_EACH"
	for gear in "${gears[@]}"; do
		"$HOTRUN" trigger --dir "$T/$gear" --before "${SECONDS_EACH}s" --after 0s >"$T/$gear.asked" 2>&1 &
		asked+=($!)
	done
	wait "${asked[@]}"
}

# capture GEAR
capture() { tail -1 "$T/$1.asked"; }

# compare NAME RUN: both verdicts, of the subject and of the host
compare() {
	local name=$1 gear got got_host bad

	for gear in "${gears[@]}"; do
		ask "$(capture "$gear")" "$T/report.$gear"
		check "$T/report.$gear" "$subject" "$want" "$host" "$culprit"
		pair[$gear]="$got host $got_host"
		[ -z "$bad" ] || echo "$name $2, $gear: $bad" >&2
	done
	windows=$((windows + 1))
	count[$name]=$((${count[$name]:-0} + 1))
	if [ "${pair[quiet]}" = "${pair[full]}" ]; then
		same=$((same + 1))
	else
		echo "$name $2: quiet ${pair[quiet]}, full ${pair[full]} (strangers took $(strangers "$(capture full)") CPUs)" >&2
		for gear in "${gears[@]}"; do opening "$T/report.$gear" | sed "s/^/    $gear: /" >&2; done
	fi
	for gear in "${gears[@]}"; do
		[ -z "${KEEP:-}" ] || cp "$(capture "$gear")" "$KEEP/$name-$2-$gear.hotrun"
		rm -f "$(capture "$gear")"
	done
}

recorders_start
for name in "$@"; do
	"case_$name"
	sleep 2
	for run in $(seq "$WINDOWS"); do
		window
		compare "$name" "$run"
	done
	case_ends
	echo "$name: done" >&2
done
echo "the same verdict in $same of $windows windows of $SECONDS_EACH s"
awk -v s="$same" -v w="$windows" 'BEGIN { exit !(s >= 0.97 * w) }'
