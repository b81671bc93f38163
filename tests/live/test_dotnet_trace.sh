#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# hotrun beside dotnet-trace on one process, both over its diagnostics socket: each gets what it asked
# for, and hotrun switches off what it switched on.
# beside others, 15 s
. "$(dirname "$0")/../support/live.sh"
need_root
need_tool wrk wrk
need_dotnet Web
tools=$BUILD/dotnet/tools
[ -x "$tools/dotnet-trace" ] || dotnet tool install dotnet-trace --tool-path "$tools" >"$T/install" 2>&1 || {
	fail "dotnet-trace cannot be installed: $(tail -2 "$T/install" | tr '\n' ' ')"
	exit 1
}

port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
start dotnet "$BUILD/dotnet/Web/Shop.Web.dll" "$port" 60 "$T/truth"
web=$started
until_true 60 grep -q ready "$T/$web.out" || fail "the service does not start: $(head -3 "$T/$web.out")"
start wrk -t1 -c4 -d 60s "http://127.0.0.1:$port/orders"
sleep 2

start "$tools/dotnet-trace" collect -p "$web" --duration 00:00:06 --providers \
	Microsoft-DotNETCore-SampleProfiler,Microsoft-Windows-DotNETRuntime:0x4c14fccbd:4 -o "$T/beside.nettrace"
trace=$started
sleep 1
record beside -d 4 -F 199 --enable-perf-maps -p "$web"
wait "$trace"
is "dotnet-trace ends well" $? 0
within "its trace, KiB" "$(($(stat -c %s "$T/beside.nettrace" 2>/dev/null || echo 0) / 1024))" 100 1000000
late=4 managed "beside it" "$T/beside.hotrun" "$web"
size=$(stat -c %s "/tmp/perf-$web.map" 2>/dev/null || echo 0)
within "a map was written, KiB" "$((size / 1024))" 50 100000
"$HOTRUN" perfmap status --no-sample >"$T/status" 2>"$T/err"
is "and ended with the recording: it can be switched on anew" "$("$HOTRUN" perfmap enable "$web" 2>&1 | grep -c 'already')" 0
