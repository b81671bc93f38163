#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The resident recorder's budget, settings that change while it runs, a storm of signals, rights that do not
# suffice.
# mostly waits, 48 s
. "$(dirname "$0")/../support/live.sh"
. "$(dirname "$0")/../support/watch.sh"
need_root
need_tool curl curl
need_tool capsh libcap2-bin

# --- the budget, and settings that change while it runs ------------------------------------------------
dir=$T/budget
printf '[hotrun watch]\nbudget = 0.001%%\nrotate = 1h\nring = 20s\n' >"$T/budget.conf"
watch_start --config "$T/budget.conf"
until_true 20 answers readyz 200
until_true 25 at_least hotrun_governor_level 1 && ok "what costs too much is given up" || fail "level: $(metric hotrun_governor_level)"
says "and that is told" "$T/$watcher.out" "in place of 19 Hz"
until_true 5 eval 'level=$(awk "/^level/ { print \$2 }" "$dir/state"); [ "${level:-0}" -ge 1 ]' && ok "a kill would not lose the level" || fail "state: $(cat "$dir/state")"
printf '[hotrun watch]\nbudget = 0\nrotate = 1h\nring = 20s\n' >"$T/budget.conf"
kill -HUP "$watcher"
until_true 8 eval '[ "$(metric hotrun_governor_level)" = 0 ]' && ok "without a budget all is taken back at once" || fail "level: $(metric hotrun_governor_level)"
rotated=$(metric 'hotrun_captures_total{by="rotation"}')
printf '[hotrun watch]\nbudget = 0\nring = 20s\n' >"$T/budget.conf"
sleep 2
kill -HUP "$watcher"
until_true 6 at_least 'hotrun_captures_total{by="rotation"}' $((rotated + 1)) && ok "what rotates ends when rotation is off" || fail "captures: $(ls "$dir")"
is "a step does not end it: both rates are in it" "$(for f in "$dir"/*-rotate.hotrun; do sql "$f" 'SELECT count(DISTINCT sample_every) > 1 FROM slice'; done)" 1
printf '[hotrun watch]\nbudget = 0\nrotate = 10s\nring = 20s\nfrequency = 199\n' >"$T/budget.conf"
kill -HUP "$watcher"
until_true 25 eval 'for f in "$dir"/*-rotate.hotrun; do [ "$(sql "$f" "SELECT sample_hz || complete FROM host" 2>&1)" = 1991 ] && break; done' && ok "what rotates has the new rate" || fail "captures: $(ls "$dir")"
start python3 -c 'import os, sys
while True: os.kill(int(sys.argv[1]), 10)' "$watcher"
storm=$started
sleep 2
answers healthz 200 && ok "it stays up in a storm of signals" || fail "healthz: $(cat "$T/answer")"
watch_end
stop "$storm"
is "no capture without a slice stays" "$(for f in "$dir"/*.hotrun; do sql "$f" 'SELECT count(*) > 0 FROM slice'; done | sort -u)" 1
dir=$T/watch

# --- rights that do not suffice -----------------------------------------------------------------------
start capsh --drop=cap_bpf,cap_sys_admin -- -c "exec '$HOTRUN' watch --dir '$T/blind' --listen 127.0.0.1:$http"
blind=$started
until_true 10 answers healthz 200 && ok "without rights it stays up" || fail "it does not stay up: $(tail -2 "$T/$blind.out")"
answers readyz 503 && ok "not ready" || fail "readyz: $(cat "$T/answer")"
until_true 5 eval 'answers readyz 503 && grep -q BPF "$T/answer"' && ok "and says why" || fail "readyz: $(cat "$T/answer")"
within "one metric says so" "$(metric hotrun_ready)" 0 0
"$HOTRUN" trigger --dir "$T/blind" >"$T/out" 2>&1
is "trigger then: exit code" $? 1
says "and why" "$T/out" "BPF"
kill -TERM "$blind"
until_true 10 gone "$blind"
