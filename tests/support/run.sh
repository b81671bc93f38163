#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What `make run` does after the build: records this host for 10 s while a batch job takes the CPU from a web
# service, prints the first screen of the report, and names the files. The service is an ASP.NET one where there is
# a .NET SDK, else one in C. As root, or through sudo as a user; the files then belong to the user.
# Whatever it starts ends with it; the host is not changed.
set -eu
cd "$(dirname "$0")/../.."
BUILD=${BUILD:-build}
hotrun=$(realpath "$BUILD/hotrun")
capture=$BUILD/first.hotrun
page=$BUILD/first.html
seconds=10 healthy=4
work=$(mktemp -d)
started=()
mkfifo "$work/never"

finish() {
	local pid

	for pid in "${started[@]}"; do
		kill -KILL "$pid" 2>/dev/null || true
		{ wait "$pid"; } 2>/dev/null || true
	done
	rm -rf "$work"
}
trap finish EXIT
trap 'exit 130' INT TERM HUP

# start COMMAND...: what it says goes to $work/NAME.log. What .NET puts into /tmp lies there, too.
start() {
	TMPDIR=$work "$@" >"$work/${1##*/}.log" 2>&1 &
	started+=($!)
}

# pause SECONDS: without a process of its own, which the report would show
pause() { read -rt "$1" <>"$work/never" || true; }

# until_says NAME WORD: within a minute, of what is written to $work/NAME.log; not if what was started last has ended
until_says() {
	local tries=600

	until grep -qs "$2" "$work/$1.log"; do
		[ $((tries--)) -gt 0 ] && kill -0 "${started[-1]}" 2>/dev/null || return 1
		pause 0.1
	done
}

as_root=()
if [ "$(id -u)" != 0 ]; then
	command -v sudo >/dev/null || {
		echo "make run: recording needs root, and sudo is not installed; run it as root" >&2
		exit 1
	}
	sudo -v
	as_root=(sudo)
fi

# A request takes 10 ms of CPU time, and a client sends one per second: on any machine the service needs 25% of the
# CPUs. Beside 16 threads for each CPU the 2 that it may have get 11%, and requests take more than a second.
cpus=$(nproc) request_ms=10
clients=$((cpus * 25)) threads=$((cpus * 16))
export DOTNET_ThreadPool_ForceMaxWorkerThreads
DOTNET_ThreadPool_ForceMaxWorkerThreads=$(printf %x $((cpus * 2)))
# Half a minute is left for a slow start; what a killed script leaves ends by itself.
limit=$((seconds + 60))

for name in shop-web shop-clients; do ln -s "$(realpath "$BUILD/workloads/shop")" "$work/$name"; done
ln -s "$(realpath "$BUILD/workloads/spinners")" "$work/nightly-export"

# What is wrong with .NET here is told, and is no reason to stop.
service=
if ! command -v dotnet >/dev/null; then
	echo "no dotnet here: the service is one in C"
elif TMPDIR=$work tests/support/dotnet.sh Web >"$work/dotnet.log" 2>&1 &&
	start dotnet "$BUILD/dotnet/Web/Shop.Web.dll" 0 "$limit" "$work/truth" && until_says dotnet ready; then
	service=Shop.Web kind="an ASP.NET service" log=dotnet
else
	echo "the ASP.NET service does not start, so the service is one in C:" >&2
	tail -3 "$work/dotnet.log" >&2
fi
if [ -z "$service" ]; then
	service=shop-web kind="a web service in C" log=shop-web
	start "$work/shop-web" serve "$limit" $((cpus * 2))
	until_says shop-web ready || {
		echo "make run: the web service does not start: $(cat "$work/shop-web.log")" >&2
		exit 1
	}
fi
start "$work/shop-clients" visit "$limit" "$(sed -n 's/^ready .*://p' "$work/$log.log")" "$clients" "$request_ms"
# What is compiled at the first requests is no part of the demonstration.
pause 2

# The job starts only when the recording has: how long that takes depends on the host.
(
	until_says record recording || exit 1
	pause "$healthy"
	exec "$work/nightly-export" "$threads" "$seconds"
) >/dev/null 2>&1 &
started+=($!)

cat <<X

recording this host for $seconds s, while two programs run:
  $service        $kind, with $clients clients: 25% of the CPU time here, and fast
  nightly-export  a batch job of $threads threads that starts after $healthy s and takes the CPU
X
"${as_root[@]}" "$hotrun" record -d "$seconds" -o "$capture" >"$work/summary" 2>"$work/record.log" || {
	cat "$work/record.log" >&2
	exit 1
}
grep -v "^hotrun: capture:" "$work/record.log" >&2 || true
finish
"$hotrun" flame "$capture" -o "$page"
if [ "$(id -u)" = 0 ] && [ -n "${SUDO_UID:-}" ]; then
	# Built under sudo: a later `make` by the user must be able to write there.
	chown -R "$SUDO_UID:${SUDO_GID:-$SUDO_UID}" "$BUILD"
fi
echo
"$hotrun" report --summary "$capture"
echo
# On one line each, whatever the terminal.
if "$hotrun" report --summary --width 400 "$capture" | grep -q "starved $service .*requests slow [^:]*: nightly-export .* from "; then
	echo "In words: nightly-export, which started after $healthy s, starves $service. 'start here' names the hottest"
	echo "method of each."
else
	echo "$service was meant to be starved by nightly-export from second $healthy on, and the report does not say so. Is this"
	echo "host busy with something else, or are requests off here ($BUILD/hotrun doctor)? Try make run again."
fi
echo
printf '%-8s%-55s%s\n' files: "$capture" "the capture" \
	'' "$page" "its flame graph; open it in a browser" \
	next: "$BUILD/hotrun report $capture" "the whole report" \
	'' "$BUILD/hotrun report -p $service $capture" "one process: call tree, methods, threads" \
	'' "${as_root:+sudo }$BUILD/hotrun record -d 10" "your own programs" \
	'' "${as_root:+sudo }$BUILD/hotrun top" "live"
