#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Requests beside what their client counted: live, from a capture of the same time and in `hotrun top`;
# a service that answers nobody; the operator's own signal.
# mostly waits, 42 s
. "$(dirname "$0")/../support/live.sh"
need_root
need_tool capsh libcap2-bin
need_dotnet Web
need_tool wrk wrk

# A server that reads and never answers, and five clients that wait for it: since before hotrun starts.
cat >"$T/hang.py" <<'P'
import socket, sys, threading, time
port, role = int(sys.argv[1]), sys.argv[2]
if role == "server":
    s = socket.create_server(("127.0.0.1", port), backlog=7)
    print("ready", flush=True)
    kept = []
    while True:
        c = s.accept()[0]
        c.recv(1000)
        kept.append(c)
clients = [socket.create_connection(("127.0.0.1", port)) for _ in range(5)]
for c in clients:
    c.sendall(b"GET /never HTTP/1.1\r\nHost: x\r\n\r\n")
time.sleep(100)
P
hang_port=$(free_port)
start python3 "$T/hang.py" "$hang_port" server
hang=$started
until_true 5 grep -qs ready "$T/$hang.out"
start python3 "$T/hang.py" "$hang_port" clients
hung_since=$SECONDS

port=$(free_port)
dotnet_start "$BUILD/dotnet/Web/Shop.Web.dll" "$port" 60 "$T/truth"
web=$started
until_true 20 grep -q ready "$T/$web.out" || {
	fail "the service does not start: $(head -3 "$T/$web.out")"
	exit 1
}
wrk -t1 -c4 -d 2s "http://127.0.0.1:$port/price" >/dev/null # methods reach their last tier

# --- the same seconds, seen by the client, live and in a capture -------------------------------------
"$HOTRUN" requests -d 7 --follow 0 -p "$web" -v --width 130 >"$T/live" 2>"$T/live.err" &
live=$!
PIDS+=("$live")
"$HOTRUN" record -q -d 7 --follow 0 -o "$T/web.hotrun" 2>"$T/record.err" &
recorder=$!
PIDS+=("$recorder")
until_true 10 grep -qs watching "$T/live.err" || fail "no start-up line after 10 s"
until_true 10 grep -qs recording "$T/record.err" || fail "record: no start-up line after 10 s"
wrk -t1 -c4 -d 4s --latency "http://127.0.0.1:$port/price" >"$T/wrk"
wait "$live"
is "requests live: exit code 0" $? 0
wait "$recorder"
is "record: exit code 0" $? 0
chmod 644 "$T/web.hotrun"
setpriv --reuid 65534 --regid 65534 --clear-groups "$HOTRUN" requests -p "$web" -v --width 130 "$T/web.hotrun" \
	>"$T/file" 2>"$T/err"
is "requests of a capture, without privileges: exit code 0" $? 0

ms() { awk -v t="$1" 'BEGIN { n = t + 0; if (t ~ /us$/) n /= 1000; else if (t !~ /ms$/) n *= 1000; print n }'; }
answered() { tr -d , <"$1" | grep -oE '[0-9]+ answered' | head -1; }
# of FILE COLUMN: the row of the service; a number and its unit are one column
of() { sed -E 's/ (us|ms|s|%) /\1 /g' "$1" | awk -v pid="$web" -v c="$2" '$NF == pid { print $c; exit }'; }

truth=$(awk '/requests in/ { print $1 }' "$T/wrk")
p50=$(ms "$(awk '$1 == "50%" { print $2 }' "$T/wrk")")
p99=$(ms "$(awk '$1 == "99%" { print $2 }' "$T/wrk")")
for how in live file; do
	within "$how: answered requests are those of wrk ($truth), per cent" \
		"$(awk -v a="$(answered "$T/$how")" -v t="$truth" 'BEGIN { print 100 * a / t }')" 99 101
	# The client's own wait for a CPU is in wrk's times, not in ours: on a busy host most of them, above all of the worst.
	within "$how: p50 is near wrk's ($p50 ms), in ms" "$(ms "$(of "$T/$how" 2)")" \
		"$(awk -v p="$p50" 'BEGIN { print p * 0.2 }')" "$(awk -v p="$p50" 'BEGIN { print p * 1.25 + 0.1 }')"
	within "$how: p99 is near wrk's ($p99 ms), in ms" "$(ms "$(of "$T/$how" 3)")" \
		"$(awk -v p="$p99" 'BEGIN { print p * 0.1 }')" "$(awk -v p="$p99" 'BEGIN { print p * 1.25 + 0.5 }')"
	says "$how: the process has its name" "$T/$how" "Shop.Web"
	says "$how: its histogram" "$T/$how" "     usecs                 : count     distribution"
done
check "the capture's parts are there, too" "$HOTRUN" requests --from 1 --to 4 "$T/web.hotrun"
check "and the worst of it" "$HOTRUN" requests --worst 2s "$T/web.hotrun"

# --- a service that answers nobody ---------------------------------------------------------------------
until [ $((SECONDS - hung_since)) -ge 12 ]; do sleep 0.2; done
row() { awk -v pid="$hang" '$NF == pid' "$1"; }
"$HOTRUN" requests -d 1 --width 130 >"$T/hung" 2>"$T/err"
row "$T/hung" >"$T/row"
says "all that wait are slow" "$T/row" " 100.0 % "
sed -E 's/ (us|ms|s|%) /\1 /g' "$T/row" >"$T/cells"
is "five are open, and stuck" "$(awk '{ print $7, $9 }' "$T/cells")" "5 5"
within "since before hotrun was started, s" \
	"$(awk '{ print $8 + 0 }' "$T/cells")" 11 60
is "only who hangs, too, stands above it" "$(sed -E 's/ (us|ms|s|%) /\1 /g' "$T/hung" |
	awk -v pid="$hang" 'rows && $NF == pid { print "found"; exit } rows && $9 + 0 == 0 { print } /answers\/s/ { rows = 1 }')" found
says "its accept queue and backlog" "$T/row" " 0/7 "

"$HOTRUN" top -b -n 1 -i 1 --sort verdict --width 170 >"$T/top" 2>"$T/err"
is "top: exit code 0" $? 0
is "top: only who hangs, too, stands above who hangs, though it wants no CPU" \
	"$(awk -v pid="$hang" 'rows && $1 == pid { print "found"; exit } rows && !/inelastic/ { print } /^ +pid/ { rows = 1 }' "$T/top")" \
	found
is "top: its slow share, stuck requests and verdict" \
	"$(awk -v pid="$hang" '$1 == pid { for (i = 1; i < NF; i++) if ($i == "%") print $(i - 1), $(i + 1), $(i + 2) }' "$T/top")" \
	"100.0 5 inelastic"
says "top: the host is told, too" "$T/top" " hurt, "
"$HOTRUN" top -b -n 1 -i 0.5 --sort slow --width 100 >"$T/top" 2>"$T/err"
is "top by slow requests: only who is as slow stands above it" "$(awk -v pid="$hang" 'rows && $1 == pid { print "found"; exit }
	rows && !/ 100\.0 %/ { print } /^ +pid/ { rows = 1 }' "$T/top")" found

# --- the operator's own signal ---------------------------------------------------------------------------
echo 60% >"$T/share"
printf '#!/bin/sh\necho "%s 0.25"\n' "$web" >"$T/lines.sh"
printf '#!/bin/sh\nsleep 54.321 | cat\n' >"$T/slow.sh"
chmod 755 "$T/lines.sh" "$T/slow.sh"
record signal -d 4 -q --no-requests --service-signal "$hang=$T/share" --service-signal "!$T/lines.sh" \
	--service-signal "x=!$T/slow.sh" --service-signal "y=$T/none" --service-signal "z=/dev/zero"
signals() { sql "$T/signal.hotrun" "SELECT count(*), min(value_ppm), max(value_ppm) FROM signal s JOIN process p ON p.id = s.process WHERE tgid = $1"; }
set -- $(signals "$hang")
within "a file: seconds with its number, of 4" "$1" 3 5
is "and the number" "$2 $3" "600000 600000"
set -- $(signals "$web")
within "lines of a command: seconds with its number" "$1" 2 5
is "and the number" "$2 $3" "250000 250000"
for what in "x=!$T/slow.sh: n/a: it did not end within 2 s" "y=$T/none: n/a: No such file" "z=/dev/zero: n/a: not a regular file"; do
	is "told once: ${what##*n/a: }" "$(grep -cF -- "--service-signal $what" "$T/signal.err")" 1
done
none_left() { ! grep -lsaz '^54.321$' /proc/[0-9]*/cmdline | grep -q .; }
check "nothing of the slow command runs on" until_true 3 none_left
# What a command may do: it prints its own rights.
printf '#!/bin/sh\ngrep -E "^(Uid|Cap|NoNewPrivs)" /proc/self/status >%s/rights-$1\n' "$T" >"$T/rights.sh"
chmod 755 "$T/rights.sh"
install -m 666 /dev/null "$T/rights-nobody"
record rights -d 2 -q --no-requests --service-signal "!$T/rights.sh root"
record rights -d 2 -q --no-requests --service-signal "!$T/rights.sh nobody" --signal-user nobody
for who in root nobody; do
	is "a command run by $who has no capability, and gains none" \
		"$(awk '/^(Cap|NoNew)/ { sub(/^0+$/, 0, $2); printf "%s%s ", $1, $2 }' "$T/rights-$who")" \
		"CapInh:0 CapPrm:0 CapEff:0 CapBnd:0 CapAmb:0 NoNewPrivs:1 "
	is "its user" "$(awk '/^Uid/ { print $2, $3, $4 }' "$T/rights-$who")" "$(id -u $who) $(id -u $who) $(id -u $who)"
done
for who in nobody-such 1:x; do
	"$HOTRUN" record -d 1 --service-signal "!true" --signal-user "$who" >"$T/out" 2>"$T/err"
	within "--signal-user $who: failure" $? 1 2
	says "and why" "$T/err" "--signal-user $who: no"
done
capsh --drop=cap_setuid -- -c "'$HOTRUN' record -d 1 --service-signal '!true' --signal-user nobody" >"$T/out" 2>"$T/err"
is "--signal-user without the right to it: failure" $? 1
says "and what is needed" "$T/err" "the capabilities SETUID and SETGID"
"$HOTRUN" report -s "$T/signal.hotrun" >"$T/report" 2>"$T/err"
says "the report judges by it" "$T/report" ": its own signal 0.60 (limit"

# --- what it cannot do -----------------------------------------------------------------------------------
"$HOTRUN" requests "$T/signal.hotrun" >"$T/out" 2>"$T/err"
is "a capture without requests: failure" $? 1
says "and why" "$T/err" "requests n/a: "
"$HOTRUN" requests -d 1 "$T/web.hotrun" >"$T/out" 2>"$T/err"
is "-d with a capture: usage" $? 2
"$HOTRUN" requests --slow fast >"$T/out" 2>"$T/err"
is "a time that is none: usage" $? 2
"$HOTRUN" record -d 1 --service-signal "x=" >"$T/out" 2>"$T/err"
is "a signal without a file: usage" $? 2
setpriv --reuid 65534 --regid 65534 --clear-groups "$HOTRUN" requests -d 1 >"$T/out" 2>"$T/err"
is "live without privileges: failure" $? 1
is "and a line that says why" "$(wc -l <"$T/err")" 1
check "a reader that has seen enough ends it" timeout 10 bash -c \
	"set -o pipefail; '$HOTRUN' requests -i 0.2 2>/dev/null | head -1 >/dev/null"
