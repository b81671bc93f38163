#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A process that listens on 4,200 sockets and has requests on all of them, as a user without any right: those of a
# server that starts later are all seen, and it is told whose are not.
# beside others
. "$(dirname "$0")/../support/live.sh"
need_root
need_tool setpriv util-linux

cp "$LOADS/many_listeners" "$T/taker" # where everybody can read it
cat >"$T/innocent.py" <<'P'
import socket, threading, time
listener = socket.create_server(("127.0.0.1", 0))
def serve():
    while True:
        s = listener.accept()[0]
        while s.recv(1000):
            s.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
threading.Thread(target=serve, daemon=True).start()
for _ in range(20):
    client = socket.create_connection(listener.getsockname())
    for _ in range(50):
        client.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        client.recv(1000)
    client.close()
print("asked 1000", flush=True)
time.sleep(100)
P
ulimit -n 16384
start setpriv --reuid 65534 --regid 65534 --clear-groups "$T/taker" 4200 150
taker=$started
until_true 60 grep -qs 'round 1' "$T/$taker.out" || fail "the sockets are not there: $(head -3 "$T/$taker.out")"
"$HOTRUN" record -q -o "$T/taken.hotrun" 2>"$T/err" &
recorder=$!
PIDS+=("$recorder")
until_true 20 grep -qs recording "$T/err" || fail "record: no start-up line"
rounds=$(grep -c round "$T/$taker.out")
more_rounds() { [ "$(grep -c round "$T/$taker.out")" -ge $((rounds + 2)) ]; }
until_true 60 more_rounds || fail "the process does not go round"
start python3 "$T/innocent.py"
innocent=$started
until_true 20 grep -qs asked "$T/$innocent.out" || fail "the innocent server does not answer"
sleep 1.5
kill -INT "$recorder"
wait "$recorder"
is "the recording ends well" $? 0

capture=$T/taken.hotrun
served() {
	sql "$capture" "SELECT coalesce(sum(s.$2), 0) FROM service s JOIN endpoint e ON e.id = s.endpoint
		JOIN process p ON p.id = e.process WHERE p.tgid = $1"
}
is "of the server that came later each request has its answer" "$(served "$innocent" answered)" 1000
is "and its beginning" "$(served "$innocent" begun)" 1000
within "who took all that it got has no more rows than its share" "$(sql "$capture" "SELECT count(*) FROM endpoint e
	JOIN process p ON p.id = e.process WHERE p.tgid = $taker")" 64 256
refused=$(sql "$capture" "SELECT requests_refused FROM process WHERE tgid = $taker")
within "of its requests, most are not followed" "$refused" 3900 10000000
# Counters of losses are not exact to the last one.
within "which are all those that were lost" "$(sql "$capture" "SELECT sum(count) FROM loss
	WHERE cause = 12")" $((refused * 99 / 100)) $((refused * 101 / 100))
is "and nobody else is refused" "$(sql "$capture" "SELECT count(*) FROM process
	WHERE requests_refused > 0")" 1
within "sockets from before the recording beyond its share are told, too" "$(sql "$capture" "SELECT sum(count) FROM loss
	WHERE cause = 15")" 3944 4300
"$HOTRUN" report "$capture" >"$T/report" 2>&1
is "the report is readable" $? 0
check "and names who has too many" grep -q "of taker.* $taker: of its endpoints, these are not followed" "$T/report"
