#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Storms of mappings by a user without any right: 1,000 processes a second that each map a file called as the .NET
# runtime is, and 70 processes of 857 mappings each, made over and over.
# They cost little.
. "$(dirname "$0")/../support/live.sh"
need_root
need_tool setpriv util-linux

# Where everybody can read it.
cp "$LOADS/map_storm" "$T"
head -c 8192 /dev/zero >"$T/libcoreclr.so"
chmod 644 "$T/libcoreclr.so"

# cost NAME [ENOUGH]: CPU of a recording of 5 s and all its children, in ms; where that is more than ENOUGH the lesser
# of two, since others may disturb
cost() {
	local TIMEFORMAT='%3U %3S' try spent least=

	for try in 1 2; do
		rm -f "$T/$1.hotrun"
		spent=$({ time "$HOTRUN" record -q -d 5 -o "$T/$1.hotrun" 2>"$T/$1.err"; } 2>&1 | tail -1 |
			awk '{ print int(($1 + $2) * 1000) }')
		[ -s "$T/$1.hotrun" ] || echo "$1: the recording fails" >&2
		[ -n "$least" ] && [ "$least" -le "$spent" ] || least=$spent
		[ "$least" -gt "${2:-0}" ] || break
	done
	echo "$least"
}
storm() { start setpriv --reuid 65534 --regid 65534 --clear-groups "$T/map_storm" "$@"; }

calm=$(cost calm 700)
storm forks "$T/libcoreclr.so" 60 1000
sleep 0.5
forks=$(cost forks $((calm + 800)))
stop "$started"
storm many "$T/libcoreclr.so" 60 70 857
sleep 0.5
many=$(cost many $((calm + 700)))
stop "$started"
# Of 5 s. Before, 850 to 1,440 and 560 to 690; births and ends, and the names of what is sampled, are left.
within "processes that map the runtime's name and end cost little more, ms" $((forks - calm)) -5000 800
within "mappings that are made over and over, too" $((many - calm)) -5000 700
within "of these, most are not followed, and are said" "$(sql "$T/many.hotrun" "SELECT sum(mappings_refused)
	FROM process WHERE comm = 'map_storm'")" 1000 100000000
"$HOTRUN" report "$T/many.hotrun" >"$T/report" 2>&1
says "with who made them" "$T/report" "too many mappings a second, these are not followed"
