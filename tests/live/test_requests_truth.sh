#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Requests as hotrun counts them, beside what the clients themselves count: ASP.NET and nginx under wrk and
# h2load, a proxy, two network namespaces; requests older than the recording; HTTP/2, WebSocket and slow
# clients, of which only so much can be told.
# beside others, 33 s
. "$(dirname "$0")/../support/live.sh"
. "$(dirname "$0")/../support/servers.sh"
need_root
need_dotnet Hang Web
need_tool wrk wrk
need_tool nginx nginx-light
need_tool h2load nghttp2-client
need_tool curl curl
need_tool ip iproute2

# figures PORT [FIELD VALUE]: as variables
figures() { eval "$(facts requests "$T/truth.hotrun" "$@")"; }

# counted NAME FILE CLIENTS: answered as often as wrk says, or, when it stopped, once more for each client
counted() {
	local count

	count=$(wrk_figure "$2" count)
	[ "${count:-0}" -ge 100 ] || fail "$1: wrk counts ${count:-nothing}"
	within "$1: answered $answered, as wrk counts" "$answered" "$(awk -v n="$count" 'BEGIN { print 0.995 * n }')" \
		"$(awk -v n="$count" -v c="$3" 'BEGIN { print 1.005 * n + c }')"
}

# timed NAME FILE: the server's p50 and p99 lie within those of wrk, whose clock also runs on the way
timed() {
	local us

	for p in 50 99; do
		us=$(wrk_figure "$2" $p)
		within "$1: p$p is within that of wrk (${us:-none} us)" "$((p == 50 ? p50 : p99))" 1 \
			"$(awk -v us="$us" 'BEGIN { print 1.25 * us }')"
	done
}

# no_alarm NAME [CLIENT]: nothing of it looks slow or stuck, but what its client had to wait for
no_alarm() {
	local seen=0

	[ -z "${2:-}" ] || seen=$(grep -c '^slow' "$T/$2.out")
	[ "$slow" -gt 0 ] && [ "$slow" -le "$seen" ] && slow=0
	is "$1: nothing slow, nothing stuck" "$slow $late $stuck" "0 0 0"
}

# box_start NAME: nginx in a network namespace of its own, on port 80
box_start() { nginx_start "$1" 80 '' unshare -n sh -c 'ip link set lo up && exec "$@"' sh; }

box_ask() { wrk_run "$T/$1.wrk" nsenter -t "$2" -n wrk -t1 -c4 -d1s http://127.0.0.1/file; }

hang_start 8 60
waits=${hang_ports[0]} older=${hang_ports[1]} slows=${hang_ports[2]} behind=${hang_ports[3]}
echoes=${hang_ports[4]} pushes=${hang_ports[5]} mute=${hang_ports[6]} sips=${hang_ports[7]} h2=${hang_ports[8]}
set -- $(free_ports 3)
web_port=$1 static_port=$2 proxy_port=$3
dotnet_start "$BUILD/dotnet/Web/Shop.Web.dll" "$web_port" 60 "$T/web.truth"
web=$started
nginx_start static "$static_port" ''
nginx_start proxy "$proxy_port" "$behind"
proxy=$started
box_start before
before=$started
answers "http://127.0.0.1:$web_port/orders" || fail "the service does not answer"
answers "http://127.0.0.1:$proxy_port/fast" || fail "the proxy does not answer"
wrk_run "$T/warm" wrk -t1 -c8 -d2s "http://127.0.0.1:$web_port/orders"

# --- asked before the recording ---
start clients hold "$waits" 20 '/slow?ms=100000' 100
waiting=$started
start clients hold "$older" 10 '/slow?ms=9000' 30
until_true 5 grep -q ready "$T/$waiting.out"
sleep 2
"$HOTRUN" record -q --follow 0 -o "$T/truth.hotrun" 2>"$T/err" &
recorder=$!
PIDS+=("$recorder")
until_true 20 grep -qs 'recording ' "$T/err" || fail "no recording: $(cat "$T/err")"

# --- odd clients, as long as the others ---
start clients socket "$echoes" 5 /ws 100 100
echoing=$started
start clients socket "$pushes" 5 '/ws?push_ms=100' 100 0
pushed_to=$started
start clients socket "$mute" 5 '/ws?mute=1' 100 100
muted=$started
start clients sip "$sips" 3 '/big?mb=1' 100

# --- counts and times ---
wrk_run "$T/web.wrk" wrk -t1 -c8 -d3s "http://127.0.0.1:$web_port/orders"
wrk_run "$T/static.wrk" wrk -t1 -c8 -d2s "http://127.0.0.1:$static_port/file"
wrk_run "$T/proxy.wrk" wrk -t1 -c8 -d2s "http://127.0.0.1:$proxy_port/fast"
h2load --h1 -t1 -c8 -n400 --log-file="$T/slows.log" "http://127.0.0.1:$slows/slow?ms=30" >"$T/slows.h2load" 2>&1
h2load -t1 -c2 -m10 -n2000 "http://127.0.0.1:$h2/fast" >"$T/h2.h2load" 2>&1
is "curl speaks HTTP/2" "$(curl -s --http2-prior-knowledge -o "$T/answer" -w '%{http_version} %{http_code}' \
	"http://127.0.0.1:$h2/fast")" "2 200"
box_ask before "$before"
box_start after
after=$started
box_ask after "$after"
inodes="$(stat -Lc %i "/proc/$before/ns/net") $(stat -Lc %i "/proc/$after/ns/net")"
sleep 1.2
kill -INT "$recorder"
wait "$recorder"
is "the recording ends well" $? 0
cp "$T/truth.hotrun" "$BUILD/live/truth.hotrun"

figures "$web_port"
counted "ASP.NET" "$T/web.wrk" 8
is "connections" "$connections" 8
is "of one process" "$processes" 1
timed "ASP.NET" "$T/web.wrk"

figures "$static_port"
counted "nginx, a file" "$T/static.wrk" 8
is "connections" "$connections" 8
timed "nginx" "$T/static.wrk"
within "its bytes: 1 KiB and a head each" "$(awk -v b="$sent_bytes" -v n="$answered" 'BEGIN { print b / n }')" 1100 1400

# The client's clock starts a little earlier and stops a little later.
figures "$slows"
set -- $(sort -n -k3 "$T/slows.log" | awk '{ us[NR] = $3 } END { print us[int(NR / 2)], us[int(NR * 0.99)], NR }')
is "answers after 30 ms, as h2load counts" "$answered" "$3"
# A slot of the histogram is up to a quarter of its lower bound wide.
within "p50 is that of h2load ($1 us)" "$p50" 29000 "$(awk -v us="$1" 'BEGIN { print 1.25 * us }')"
within "p99 is that of h2load ($2 us)" "$p99" 29000 "$(awk -v us="$2" 'BEGIN { print 1.25 * us }')"

# --- a proxy: its connections to the service behind it are none of its requests ---
figures "$proxy_port"
counted "proxy" "$T/proxy.wrk" 8
through=$answered
figures "$behind"
within "the service behind it answered as many" "$answered" "$((through - 8))" "$((through + 8))"
is "the proxy and its workers have no other endpoint" "$(sql "$T/truth.hotrun" "
	WITH RECURSIVE own(tgid) AS (VALUES ($proxy) UNION SELECT p.tgid FROM process p JOIN own ON p.parent_tgid = own.tgid)
	SELECT group_concat(DISTINCT port) FROM endpoint e JOIN process p ON p.id = e.process WHERE p.tgid IN own")" "$proxy_port"

# --- network namespaces ---
for name in before after; do
	figures 80 netns "${inodes%% *}"
	counted "a namespace made $name the recording" "$T/$name.wrk" 4
	inodes=${inodes#* }
done

# --- older than the recording ---
figures "$waits"
is "requests from before that nobody answers: stuck" "$stuck" 20
within "their age is from before, s" "$(awk -v ns="$oldest_ns" 'BEGIN { print ns / 1e9 }')" \
	"$(sql "$T/truth.hotrun" 'SELECT (end_ns - start_ns) / 1e9 + 1.5 FROM host')" 60
figures "$older"
is "requests from before that were answered" "$answered" 10
within "after what they took in all, s" "$(awk -v ns="$time_max_ns" 'BEGIN { print ns / 1e9 }')" 8.5 10.5

# --- what blurs ---
figures "$h2"
is "HTTP/2 is seen as such" "$protocols" 2
within "its bursts are fewer than its requests" "$answered" 1 2001
no_alarm "HTTP/2"
figures "$echoes"
no_alarm "WebSocket that answers" "$echoing"
figures "$pushes"
within "WebSocket that is not asked: pushed" "$pushed" 100 100000
no_alarm "WebSocket that is not asked" "$pushed_to"
figures "$mute"
no_alarm "WebSocket that never answers" "$muted"
figures "$sips"
within "slow readers were answered" "$answered" 3 10000
no_alarm "slow readers"
"$HOTRUN" requests --rows 1000 "$T/truth.hotrun" >"$T/requests" 2>&1
is "hotrun requests reads the capture" $? 0
says "HTTP/2 is told" "$T/requests" "port $h2: HTTP/2"
for port in "$echoes" "$pushes" "$mute"; do
	says "WebSocket is told" "$T/requests" "port $port: WebSocket"
done
says_not "plain requests are not doubted" "$T/requests" "port $web_port:"
