#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# More requests than are followed: what some connections tell stands for all, within the error that is told; and
# what nobody answers is counted on each connection.
# beside others, 20 s
. "$(dirname "$0")/../support/live.sh"
. "$(dirname "$0")/../support/servers.sh"
. "$(dirname "$0")/../support/groups.sh"
need_root
need_tool wrk wrk
need_tool nginx nginx-light
need_tool curl curl
need_tool python3 python3

# Answers "GET /" at once, and never anything else.
cat >"$T/server.py" <<'PY'
import asyncio


async def serve(reader, writer):
    while line := await reader.readline():
        while (await reader.readline()).strip():
            pass
        if line.startswith(b"GET / "):
            writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")


async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()

asyncio.run(main())
PY
start python3 "$T/server.py"
hung_out=$T/$started.out
# One that serves little, in a group of its own: with the bucket of the busy one in one of 1,000 runs.
group_unified small || fail "no control groups of version 2"
start "${in_group[@]}" python3 "$T/server.py"
small_out=$T/$started.out
for out in "$hung_out" "$small_out"; do until_true 10 test -s "$out" || fail "a server did not start"; done
hung=$(cat "$hung_out") small=$(cat "$small_out")
port=$(free_port)
nginx_start many "$port" ''
answers "http://127.0.0.1:$port/file" || fail "nginx does not answer"

# Slow is what no host's business makes of a file that is sent at once.
"$HOTRUN" record -q --follow 500 --slow 10s -o "$T/many.hotrun" 2>"$T/err" &
recorder=$!
PIDS+=("$recorder")
until_true 20 grep -qs 'recording ' "$T/err" || fail "no recording: $(cat "$T/err")"
curl -s -o "$T/answer" "http://127.0.0.1:$hung/" "http://127.0.0.1:$hung/"
wrk_run "$T/wrk" wrk -t1 -c800 -d6s "http://127.0.0.1:$port/file" &
asking=$!
start clients hold "$hung" 40 /never 30
sleep 2 # by then few of the busy one's connections are followed
for ((i = 0; i < 20; i++)); do
	curl -s -o "$T/answer" "http://127.0.0.1:$small/"
	sleep 0.1
done
wait "$asking"
sleep 1.2
kill -INT "$recorder"
wait "$recorder"
is "the recording ends well" $? 0

least=$(sql "$T/many.hotrun" "SELECT max(one_followed_of) FROM slice")
within "one of so many connections was followed" "$least" 2 64
"$HOTRUN" report --format json "$T/many.hotrun" >"$T/json"
as_schema "$T/json"
error=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["host"]["counts_error_share"])' "$T/json")
within "the error of counts" "$error" 0.01 0.9
eval "$(facts requests "$T/many.hotrun" "$port")"
count=$(wrk_figure "$T/wrk" count)
# The error is that of 95 in 100 times.
within "answered, as wrk counts $count, within twice the error of $error" "$answered" \
	"$(awk -v n="$count" -v e="$error" 'BEGIN { print n * (1 - 2 * e) }')" \
	"$(awk -v n="$count" -v e="$error" 'BEGIN { print n * (1 + 2 * e) }')"
is "nothing of it looks stuck or slow" "$stuck $late $slow" "0 0 0"
within "most of its answers were not seen, per cent" \
	"$(sql "$T/many.hotrun" "SELECT 100 * sum(unseen) / sum(answered) FROM service")" 30 99
eval "$(facts requests "$T/many.hotrun" "$hung")"
is "what nobody answers is counted on each connection" "$open" 40
eval "$(facts requests "$T/many.hotrun" "$small")"
is "a small service beside the busy one is seen whole" "$answered" 20
is "with nothing estimated" "$(sql "$T/many.hotrun" "SELECT sum(unseen) FROM service JOIN endpoint
	ON service.endpoint = endpoint.id WHERE port = $small")" 0
"$HOTRUN" report --width 200 "$T/many.hotrun" >"$T/report"
says "the report says what was followed" "$T/report" "connections followed for"
says "and how sure shares are" "$T/report" "answers seen"

"$HOTRUN" record -q -d 2 --follow 0 -o "$T/all.hotrun" 2>"$T/err" &
recorder=$!
until_true 20 grep -qs 'recording ' "$T/err" || fail "no recording: $(cat "$T/err")"
wrk_run "$T/wrk" wrk -t1 -c50 -d1s "http://127.0.0.1:$port/file"
wait "$recorder"
is "without a bound all are followed" "$(sql "$T/all.hotrun" "SELECT max(one_followed_of) FROM slice")" 1
is "and seen" "$(sql "$T/all.hotrun" "SELECT sum(unseen) FROM service")" 0

