#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# `hotrun snapshot` and who does not answer it as it should: nobody is waited for long, and what is not whole is a
# failure; SIGTERM ends it; one that was armed is an ordinary process between answers.
# beside others
. "$(dirname "$0")/../support/live.sh"
need_root
D=$T/asked
mkdir -m 700 "$D"

cat >"$T/answers.py" <<'P'
import os, socket, sys, time
words = {'silent': b'', 'nothing': b'', 'begun': b'snapshot\n', 'part': b'snapshot\nhalf of it\n',
         'whole': b'snapshot\nall of it\n\0', 'refused': b'failed nothing is recorded yet\n'}
s = socket.socket(socket.AF_UNIX)
os.chdir(sys.argv[1])
s.bind('control')
s.listen(5)
for _ in range(5):
    c = s.accept()[0]
    c.recv(1000)
    c.sendall(words[sys.argv[2]])
    if sys.argv[2] == 'silent':
        time.sleep(60)
    c.close()
P

# answers WORD: starts somebody who answers so in $D
answers() {
	rm -f "$D/control"
	start python3 "$T/answers.py" "$D" "$1"
	until_true 10 test -S "$D/control" || fail "nobody listens"
	sleep 0.2
}

# asked WORD EXIT OUTPUT: what comes of it
asked() {
	local rc begun

	answers "$1"
	begun=$(date +%s%N)
	"$HOTRUN" snapshot --dir "$D" >"$T/out" 2>"$T/err"
	rc=$?
	took=$((($(date +%s%N) - begun) / 1000000))
	is "an answer that is $1: exit code" $rc "$2"
	is "an answer that is $1: what is printed" "$(cat "$T/out")" "$3"
	stop "$started"
}

asked whole 0 "all of it"
asked part 1 "half of it"
says "why" "$T/err" "is not whole"
asked begun 1 ""
asked nothing 1 ""
asked refused 1 ""
asked silent 1 ""
within "who says nothing is not waited for, ms" "$took" 1 5000
says "and it is told" "$T/err" "does not answer"

# --- an end in the middle ---
start "$HOTRUN" snapshot --fresh --repeat 20 --format json
snapshot=$started
sleep 1
kill -TERM "$snapshot"
until_true 10 gone "$snapshot" && ok "SIGTERM ends it" || fail "SIGTERM does not end it"
{ wait "$snapshot"; } 2>/dev/null
looks=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["looks"])' "$T/$snapshot.out" 2>/dev/null)
within "with the looks that it had" "$looks" 1 20

# --- one that is armed ---
# policy PID: 0 is an ordinary one, 2 SCHED_RR; nice PID
policy() { sed 's/.*) //' "/proc/$1/stat" | cut -d' ' -f39; }
nice_of() { sed 's/.*) //' "/proc/$1/stat" | cut -d' ' -f17; }
rm -f "$D/control"
start "$HOTRUN" snapshot --arm --dir "$D"
armed=$started
until_true 20 grep -qs armed: "$T/$armed.out" || fail "it is not armed: $(cat "$T/$armed.out")"
nursery=$(pgrep -P "$armed")
for pid in "$armed" $nursery $(pgrep -P "$nursery"); do
	is "between answers an ordinary process: $(cat "/proc/$pid/comm")" "$(policy "$pid")" 0
done
is "with the lowest nice value" "$(nice_of "$armed")" -20
"$HOTRUN" snapshot --dir "$D" --format json >"$T/out" 2>"$T/err"
is "it answers" "$(python3 -c 'import json, sys; t = json.load(open(sys.argv[1])); print(t["by"], t["realtime"])' "$T/out")" "armed True"
as_schema "$T/out"
is "and is an ordinary process again" "$(policy "$armed")" 0
stop "$armed"
