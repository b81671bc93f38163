#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What `make run` does after the build: records this host for 10 s, with a small C# load beside it
# where there is a .NET SDK, shows the report and names the files. As root, or through sudo as a user;
# the files then belong to the user.
set -eu
cd "$(dirname "$0")/../.."
BUILD=${BUILD:-build}
seconds=${RUN_SECONDS:-10}
hotrun=$(realpath "$BUILD/hotrun")
capture=$BUILD/first.hotrun
page=$BUILD/first.html
work=$(mktemp -d)
load=

finish() {
	if [ -n "$load" ]; then
		kill "$load" 2>/dev/null || true
		wait "$load" 2>/dev/null || true
		rm -f "/tmp/perf-$load.map" "/tmp/dotnet-diagnostic-$load-"* "/tmp/clr-debug-pipe-$load-"*
	fi
	rm -rf "$work"
}
trap finish EXIT
trap 'exit 130' INT TERM HUP

as_root=()
if [ "$(id -u)" != 0 ]; then
	command -v sudo >/dev/null || {
		echo "recording needs root, and there is no sudo here: run this as root" >&2
		exit 1
	}
	sudo -v
	as_root=(sudo)
fi

if command -v dotnet >/dev/null; then
	if tests/support/dotnet.sh Split >"$work/build.log" 2>&1; then
		DOTNET_PerfMapEnabled=3 dotnet "$BUILD/dotnet/Split/Split.dll" $((seconds + 60)) "$work/truth" \
			>/dev/null 2>&1 &
		load=$!
		# It says what it did as soon as it does something; on a busy host that takes a while.
		for _ in {1..100}; do
			[ ! -s "$work/truth" ] && kill -0 "$load" 2>/dev/null || break
			sleep 0.1
		done
		sleep 1
		echo "beside it runs a small C# load, Split: it spends 60 % of its time in one method, 40 % in another"
	else
		echo "the C# load does not build (the recording goes on without it):" >&2
		tail -3 "$work/build.log" >&2
	fi
else
	echo "no dotnet here: recording without the C# load"
fi

echo "recording this host for $seconds s"
"${as_root[@]}" "$hotrun" record -q -d "$seconds" -o "$capture"
"$hotrun" flame "$capture" -o "$page"
if [ "$(id -u)" = 0 ] && [ -n "${SUDO_UID:-}" ]; then
	# Built under sudo: a later `make` by the user must be able to write there.
	chown -R "$SUDO_UID:${SUDO_GID:-$SUDO_UID}" "$BUILD"
fi
echo
"$hotrun" report -n 1 --lines 40 --rows 8 "$capture"
echo
echo "capture:      $capture   ($BUILD/hotrun report $capture)"
echo "flame graph:  $page   (open it in a browser)"
