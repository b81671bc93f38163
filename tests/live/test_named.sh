#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# An ASP.NET service on .NET 11, 10, 9 and 8, by the shared runtime, self-contained and as a single file, with
# its perf map on since the start or switched on later, or from .NET 9 on without one: at least 99.5 % of
# its managed frames have a name (95 of .NET 9 without one), those of the precompiled framework included. What is a managed frame is told by the mappings,
# apart from hotrun's own code.
. "$(dirname "$0")/../support/live.sh"
need_root
need_tool wrk wrk
# 106 MB of runtimes each, from the package manager.
need_dotnet Web Web@net8.0 Web@net9.0 Web@net10.0 Web@net8.0-single Web@net9.0-single Web@net10.0-single Web@net11.0 Web@net10.0-compressed

shared='Web/start Web/late Web@net10.0/start Web@net9.0/late Web@net8.0/late'
single='Web@net10.0-single/late Web@net9.0-single/start Web@net8.0-single/start Web@net11.0/none'
plain='Web@net10.0/none Web@net10.0-single/none Web@net9.0/none Web@net10.0-compressed/none'
declare -A webs ports

# So that the host has room: on one that is full ten times, what is read comes too late.
echo 'function delay() return 4 end' >"$T/pace.lua"

# serve RUN: LOAD/start, LOAD/late or LOAD/none, its perf map on since the start, later or never; its pid and port in webs, ports
serve() {
	local load=${1%/*} program=$BUILD/dotnet/${1%/*}/Shop.Web run=$1 port

	port=$(free_port)
	set -- "$port" 120 "$T/truth"
	[ "$load" = Web ] && set -- "$BUILD/dotnet/Web/Shop.Web.dll" "$@" && program=dotnet
	case $run in
	*/start) DOTNET_PerfMapEnabled=3 start "$program" "$@" ;;
	*) start "$program" "$@" ;;
	esac
	webs[$run]=$started ports[$run]=$port
}

# burden RUN: waits until it serves, and has it serve
burden() {
	local run=$1 started=${webs[$1]}

	until_true 60 grep -q ready "$T/$started.out" || {
		fail "$run: the service does not start: $(head -3 "$T/$started.out")"
		return 1
	}
	start wrk -t1 -c2 -d 110s -s "$T/pace.lua" "http://127.0.0.1:${ports[$run]}/orders"
}

# named RUN CAPTURE: of its managed frames, how many have a name
named() {
	local run=$1 file=$2 web=${webs[$1]} program=$BUILD/dotnet/${1%/*}/Shop.Web least=99.5 late

	case $run in *@net9.0*/none) least=95 ;; esac
	case $run in */none) late=6 ;; *) late=0.2 ;; esac
	case $run in
	*-single/* | *-compressed/*) managed "$run" "$file" "$web" "$least" "$program" ;;
	*) managed "$run" "$file" "$web" "$least" ;;
	esac
	# Some of them in the framework, precompiled, and called by its words.
	"$HOTRUN" export "$file" -p "$web" -o "$T/folded" 2>"$T/err" || fail "export: $(cat "$T/err")"
	check "$run: Kestrel's own frames" \
		grep -q 'Microsoft\.AspNetCore\.Server\.Kestrel\.Core\.Internal\.Http\.HttpProtocol\.ProcessRequests' "$T/folded"
}

# look FILE RUN...: all of them at once, and nothing of them afterwards
look() {
	local file=$1 run i=${#PIDS[@]}

	shift
	for run in "$@"; do
		serve "$run"
	done
	for run in "$@"; do
		burden "$run"
	done
	sleep 2
	for run in "$@"; do
		case $run in */late) check "$run: perfmap enable" "$HOTRUN" perfmap enable "${webs[$run]}" ;; esac
	done
	record "$file" -d 10 -F 499
	for pid in "${PIDS[@]:i}"; do
		stop "$pid"
	done
	for run in "$@"; do
		named "$run" "$T/$file.hotrun"
	done
}

look shared $shared
look single $single
look plain $plain
