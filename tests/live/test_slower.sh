#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A service that answers three times as slowly as it is used to, though fast by the general limit, is captured by the
# resident recorder; the same service at its usual pace is not.
# mostly waits, 75 s
. "$(dirname "$0")/../support/live.sh"
. "$(dirname "$0")/../support/servers.sh"
. "$(dirname "$0")/../support/watch.sh"
need_root
need_dotnet Hang
need_tool curl curl

hang_name=Shop.Used hang_start 1 200
used_port=${hang_ports[0]}
hang_name=Shop.Tired hang_start 1 200
tired_port=${hang_ports[0]}

# past NAME PLACE: 60 hours in which it answered 70, 100 or 140 times a second, half of it within 60 ms
past() {
	sqlite3 "$dir/history" "INSERT INTO kind(name, place, first_minute, last_minute, minutes)
		VALUES ('$1', '$2', unixepoch() / 60 - 2400, unixepoch() / 60, 1800);
	WITH RECURSIVE n(i) AS (SELECT 2 UNION SELECT i + 1 FROM n WHERE i < 61)
	INSERT INTO hour SELECT unixepoch() / 3600 - i, last_insert_rowid(), 3600000, 3600000, 36000, 0, 0, 2000,
		CASE i % 3 WHEN 0 THEN 252000 WHEN 1 THEN 360000 ELSE 504000 END, 0, 60000, 90000, 0, 0, 0, 0 FROM n"
}

cat >"$T/conf" <<X
[hotrun watch]
before = 4s
after = 1s
budget = 0
include = name=Shop.Used
include = name=Shop.Tired
capture-on = inelastic
X
# The place of a process here, and the file with its tables.
itself=
watch_start --config "$T/conf"
until_true 20 answers readyz 200 || fail "it does not become ready: $(tail -3 "$T/$watcher.out")"
start clients pace "$used_port" 10 '/slow?ms=50' 200 100
start clients pace "$tired_port" 10 '/slow?ms=50' 200 100
fresh=$started
sleep 2
watch_end
until_true 5 test -s "$dir/history" || fail "no history: $(tail -3 "$T/$watcher.out")"
place=$(sqlite3 "$dir/history" "SELECT place FROM kind WHERE name = 'Shop.Used'")
sqlite3 "$dir/history" "DELETE FROM kind; DELETE FROM minute; DELETE FROM hour"
past Shop.Used "$place"
past Shop.Tired "$place"
stop "$fresh"
start clients pace "$tired_port" 30 '/slow?ms=250' 200 300
watch_start --config "$T/conf"
until_true 20 answers readyz 200 || fail "it does not become ready again: $(tail -3 "$T/$watcher.out")"
until_true 90 grep -q 'taking a capture' "$T/$watcher.out" && ok "a capture" || fail "none: $(tail -3 "$T/$watcher.out")"
check "taken because it is slower than it is used to" \
	grep -qE 'taking a capture: .* inelastic Shop.Tired .* times as slow as it is used to at this rate \(limit 2\)' "$T/$watcher.out"
sleep 3
capture=$(ls "$dir"/*-auto.hotrun)
"$HOTRUN" report "$capture" >"$T/report" 2>&1
check "the capture says so, too" grep -qE 'Shop.Tired [0-9]+: [0-9.]+ times as slow as it is used to at this rate' "$T/report"
is "who is at its usual pace is not captured" "$(grep -c 'Shop.Used' "$T/$watcher.out")" 0
watch_end
