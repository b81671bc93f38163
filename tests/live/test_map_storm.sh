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

# cost NAME: CPU of a recording of 5 s and all its children, in ms; the lesser of two, since others may disturb
cost() {
	local TIMEFORMAT='%3U %3S' try

	for try in 1 2; do
		{ time "$HOTRUN" record -q -d 5 -o "$T/$1.hotrun" 2>"$T/$1.err"; } 2>&1 ||
			echo "$1: the recording fails" >&2
		[ "$try" = 2 ] || rm -f "$T/$1.hotrun"
	done | awk '{ spent = int(($1 + $2) * 1000) } NR == 1 || spent < least { least = spent } END { print least }'
}
storm() { start setpriv --reuid 65534 --regid 65534 --clear-groups "$T/map_storm" "$@"; }

calm=$(cost calm)
storm forks "$T/libcoreclr.so" 60 1000
sleep 0.5
forks=$(cost forks)
stop "$started"
storm many "$T/libcoreclr.so" 60 70 857
sleep 0.5
many=$(cost many)
stop "$started"
# Of 5 s. Before, 850 to 1,440 and 560 to 690; births and ends, and the names of what is sampled, are left.
within "processes that map the runtime's name and end cost little more, ms" $((forks - calm)) -5000 800
within "mappings that are made over and over, too" $((many - calm)) -5000 450
within "of these, most are not followed, and are said" "$(sql "$T/many.hotrun" "SELECT sum(mappings_refused)
	FROM process WHERE comm = 'map_storm'")" 1000 100000000
"$HOTRUN" report "$T/many.hotrun" >"$T/report" 2>&1
says "with who made them" "$T/report" "too many mappings a second, these are not followed"
