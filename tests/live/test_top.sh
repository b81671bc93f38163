#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# `hotrun top` over a known load: as plain text, and on the screen of a real terminal with its keys, its
# sizes and its end.
# beside others, 25 s
. "$(dirname "$0")/../support/live.sh"
need_root
need_tool tmux tmux

THREADS=8
CPU=1
[ "$(nproc)" -ge 2 ] || CPU=0
start taskset -c $CPU "$LOADS/spinners" $THREADS 100
spinners=$started
sleep 0.5

# --- plain text ---
# figure FILE COLUMN: of the last picture's row of the spinners
figure() { awk -v pid="$spinners" -v column="$2" '$1 == pid { v = $column } END { print v }' "$1"; }

timeout 30 "$HOTRUN" top --batch -n 2 -i 2 --sort waiting --width 150 >"$T/batch" 2>"$T/err"
is "top --batch: exit code 0" $? 0
says "one start-up line" "$T/err" "watching at 99 Hz"
is "as many pictures as were asked for" "$(grep -c '^     pid' "$T/batch")" 2
within "the spinners wait" "$(figure "$T/batch" 3)" $((THREADS - 1)).0 $THREADS.0
within "running and waiting are all their threads" \
	"$(awk -v a="$(figure "$T/batch" 2)" -v b="$(figure "$T/batch" 3)" 'BEGIN { print a + b }')" 7.92 8.08
within "waiting is behind others and behind their own" \
	"$(awk -v w="$(figure "$T/batch" 3)" -v o="$(figure "$T/batch" 4)" -v s="$(figure "$T/batch" 5)" \
		'BEGIN { print w - o - s }')" -0.02 0.02
is "those that wait most come first" \
	"$(awk '/^ +pid/ { most = 1e9; next } NF > 8 && $1 ~ /^[0-9]+$/ { if ($3 > most) print $1; most = $3 }' "$T/batch")" ""
says "their hottest method" "$T/batch" "100 % spin"
within "a picture of 3 rows, its head and titles" \
	"$("$HOTRUN" top -b -n 1 -i 0.5 --rows 3 2>/dev/null | grep -vc '^lost')" 6 6
check "a reader that has seen enough ends it" timeout 10 bash -c \
	"set -o pipefail; '$HOTRUN' top -b -i 0.2 2>/dev/null | head -1 >/dev/null"

"$HOTRUN" top >"$T/out" 2>"$T/err" </dev/null
is "without a terminal: failure" $? 1
says "and it names the way" "$T/err" "stdout is no terminal; --batch prints plain text"
"$HOTRUN" top --sort size >"$T/out" 2>"$T/err"
is "an order that does not exist: usage" $? 2

# --- a screen ---
TMUX_SOCKET=$T/tmux
tm() { tmux -S "$TMUX_SOCKET" "$@"; }
tm -f /dev/null new-session -d -x 120 -y 30 -s top "sleep 100"
PIDS+=("$(tm display-message -p '#{pid}')")

# screen_start COMMAND: in the terminal, which tells its exit code in the end
screen_start() { tm respawn-pane -k -t top "trap : INT; LC_ALL=C.UTF-8 $1; echo ended \$?; sleep 60"; }
screen() { tm capture-pane -p -t top; }
shows() { screen | grep -qaF -- "$1"; }
shows_not() { ! shows "$1"; }
key() { tm send-keys -t top "$@"; }
# after NAME TEXT KEY...: the text appears after the key
after() {
	local name=$1 text=$2

	shift 2
	key "$@"
	if until_true 5 shows "$text"; then ok "$name"; else fail "$name: no '$text' on: $(screen | head -5 | tr '\n' '|')"; fi
}

screen_start "$HOTRUN top --interval 0.5"
check "the screen appears" until_true 10 shows ", by CPU"
says_not "no start-up line spoils it" <(screen) "watching"
after "w: by waiting" "by waiting" w
check "the spinners are there" until_true 5 shows " $spinners "
after "s: by switches" "by switches" s
after "c: by CPU" "by CPU" c
after "h: help" "stop the picture" h
after "any key: back" "active processes" x
after "w again" "by waiting" w
sleep 1
after "Enter: the threads" "threads of spinners, pid $spinners" Enter
is "all of them" "$(screen | grep -caE '^ +[0-9]+ .* [RSD] spinners')" $THREADS
after "Esc: the processes" ", by waiting" Escape
after "Space: a pause" "PAUSED" Space
time_of() { screen | head -1 | grep -oE '[0-9]+:[0-9]+:[0-9]+'; }
paused=$(time_of)
sleep 1.5
is "the picture stands still" "$(time_of)" "$paused"
after "Space: on" "Space pause" Space
check "and the picture moves" until_true 5 eval '[ "$(time_of)" != "$paused" ]'
# Lines in reverse that do not follow upon another one: the titles, and the chosen row.
reversed() { tm capture-pane -p -e -t top | grep -caE $'\033\\[(0;)?7m'; }
key End
check "End: the last row is chosen" until_true 5 eval '[ "$(reversed)" = 2 ]'
key Home

tm resize-window -t top -x 20 -y 5
check "20x5: it says that this is too small" until_true 5 shows "too small"
is "and goes on" "$(shows ended && echo ended)" ""
tm resize-window -t top -x 90 -y 20
check "90x20: the table is back" until_true 5 shows "active processes"
within "and fills it" "$(screen | grep -caE '^ +[0-9]+ +[0-9]+\.[0-9][0-9] ')" 5 15
tm resize-window -t top -x 200 -y 50
check "200x50: others and own are shown" until_true 5 shows "  others      own"
key q
check "q ends it, with exit code 0" until_true 5 shows "ended 0"

screen_start "$HOTRUN top -i 0.5"
check "it starts again" until_true 10 shows "active processes"
key C-c
check "Ctrl-C ends it, with exit code 0" until_true 5 shows "ended 0"

screen_start "TERM=no-such-terminal $HOTRUN top"
check "a terminal of no known kind: failure" until_true 10 shows "ended 1"
check "that names the way" shows "--batch"

# Without UTF-8 its own signs become ASCII.
screen_start "LC_ALL=C $HOTRUN top -i 0.5"
check "a terminal without UTF-8" until_true 10 shows "active processes"
check "shows ASCII alone" until_true 5 eval '! screen | grep -qaP "[^\x00-\x7f]"'

# The terminal goes away.
tm respawn-pane -k -t top "LC_ALL=C.UTF-8 exec $HOTRUN top -i 0.5"
pane=$(tm display-message -p -t top '#{pane_pid}')
check "it runs in a terminal" until_true 10 shows "active processes"
helpers=$(cat "/proc/$pane/task/$pane/children")
tm kill-pane -t top
check "the terminal is closed: it ends" until_true 5 eval '[ ! -d /proc/$pane ]'
for helper in $helpers; do
	check "and so does its helper" until_true 5 eval "[ ! -d /proc/$helper ]"
done
stop "$spinners"
