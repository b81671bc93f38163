#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Names of precompiled framework methods against the runtime's own words for them.
# usage: test_jitdump.sh [PROGRAM PORT]...   other ASP.NET programs than our own, e.g. of older
# runtimes or single-file: each is started with its port and asked for / once
# beside others
. "$(dirname "$0")/../support/live.sh"
need_root
need_dotnet Web
names=$BUILD/bench/image_names
[ -x "$names" ] || { fail "$names is not there: make $names"; exit 1; }

# compare NAME PID: names of the methods that the process has used
compare() {
	local out counts

	out=$(python3 tests/live/jitdump.py "$2" "$names" 2>&1)
	counts=$(printf '%s\n' "$out" | tail -1)
	if [ -n "${counts##[0-9]*}" ]; then
		fail "$1: $counts"
		return
	fi
	set -- "$1" $counts
	is "$1: $2 of $4 names are the runtime's" "$2" "$4"
	[ "$2" = "$4" ] || printf '%s\n' "$out" | head -20
	within "$1: methods that were compared" "$4" 1000 1000000
}

if [ $# -eq 0 ]; then
	port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
	dotnet_start "$BUILD/dotnet/Web/Shop.Web.dll" "$port" 20 "$T/truth"
	until_true 20 grep -q ready "$T/$started.out" || { fail "the service does not start"; exit 1; }
	python3 -c "import urllib.request; urllib.request.urlopen('http://127.0.0.1:$port/orders').read()"
	compare "Shop.Web" "$started"
fi
while [ $# -ge 2 ]; do
	start "$1" "$2"
	program=$started
	until_true 20 python3 -c "import urllib.request; urllib.request.urlopen('http://127.0.0.1:$2/').read()" 2>/dev/null ||
		fail "$1 does not answer"
	compare "$1" "$program"
	stop "$program"
	shift 2
done
