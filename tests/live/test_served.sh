#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Requests in a capture and in its report: counts, the threshold of a port, requests that hang since
# before the recording; and what is said where none are recorded.
# mostly waits, 16 s
. "$(dirname "$0")/../support/live.sh"
need_root
need_tool curl curl
need_tool python3 python3

# GET /slow is answered after 0.5 s, /hang after a minute, all else at once.
cat >"$T/server.py" <<'PY'
import http.server, sys, time


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        time.sleep({"/slow": 0.5, "/hang": 60}.get(self.path, 0))
        try:
            self.send_response(204)
            self.end_headers()
        except OSError:
            pass

    def log_message(self, *arguments):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
with open(sys.argv[1], "w") as out:
    print(server.server_address[1], file=out)
server.serve_forever()
PY
start python3 "$T/server.py" "$T/port"
server=$started
until_true 10 test -s "$T/port" || fail "the server did not start"
port=$(cat "$T/port")
url=http://127.0.0.1:$port
for _ in 1 2 3; do
	curl -s -o /dev/null "$url/hang" &
	PIDS+=($!)
done
sleep 1

"$HOTRUN" record -q -d 13 --slow 1s --slow "$port=300ms" -o "$T/a.hotrun" 2>"$T/err" &
hotrun=$!
PIDS+=("$hotrun")
until_true 20 grep -qs recording "$T/err" || fail "no start-up line after 20 s"
says "the start-up line tells of requests" "$T/err" ", requests, stacks"
for _ in $(seq 30); do curl -s "$url/"; done
for _ in $(seq 5); do curl -s "$url/slow"; done
wait "$hotrun"
is "the recording ends" $? 0

is "requests answered" "$(sql "$T/a.hotrun" "SELECT answered FROM process_request WHERE port = $port")" 35
is "slow ones" "$(sql "$T/a.hotrun" "SELECT slow FROM process_request WHERE port = $port")" 5
is "its threshold" "$(sql "$T/a.hotrun" "SELECT slow_ms FROM process_request WHERE port = $port")" 300.0
is "stuck since before" "$(sql "$T/a.hotrun" "SELECT stuck_most FROM process_request WHERE port = $port")" 3
within "the longest answered one, ms" \
	"$(sql "$T/a.hotrun" "SELECT max_ms FROM process_request WHERE port = $port")" 500 3000
is "the histogram holds the answered ones" "$(sql "$T/a.hotrun" "SELECT sum(r.count) FROM response r
	JOIN endpoint e ON e.id = r.endpoint WHERE e.port = $port")" 35

"$HOTRUN" report -p "$server" "$T/a.hotrun" >"$T/out" 2>"$T/err"
is "report" $? 0
row=$(sed -n '/^requests: unanswered/,/^scheduler/p' "$T/out" | grep " $port\$" | tr -s ' ')
is "unanswered at the end" "$(echo "$row" | cut -d ' ' -f 2)" 3
is "stuck" "$(echo "$row" | cut -d ' ' -f 5)" 3
says "the threshold is told" "$T/out" "T = 300.0 ms"
says "the process tells its port" "$T/out" "serves port $port at 127.0.0.1"
says "and its worst seconds" "$T/out" "the worst 8 of"
within "the widest line" "$("$HOTRUN" report "$T/a.hotrun" |
	python3 -c 'import sys; print(max(len(l.rstrip("\n")) for l in sys.stdin))')" 80 120

"$HOTRUN" record -q -d 1 --no-requests -o "$T/b.hotrun" 2>"$T/err"
says "left out: said at the start" "$T/err" ", requests off, stacks"
"$HOTRUN" report "$T/b.hotrun" >"$T/out" 2>"$T/err"
says "and in the report" "$T/out" "n/a: recorded without requests"
"$HOTRUN" report tests/corpus/store/waits >"$T/out" 2>"$T/err"
says "a capture of an older hotrun says so, too" "$T/out" "n/a: recorded without requests"
