#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# An ASP.NET service on .NET 10, 9 and 8, by the shared runtime, self-contained and as a single file, with
# its perf map on since the start or switched on later: at least 99.5 % of its managed frames have a
# name, those of the precompiled framework included. What is a managed frame is told by the mappings,
# apart from hotrun's own code.
. "$(dirname "$0")/../support/live.sh"
need_root
need_tool wrk wrk
# 106 MB of runtimes each, from the package manager.
need_dotnet Web Web@net8.0 Web@net9.0 Web@net10.0 Web@net8.0-single Web@net9.0-single Web@net10.0-single

# serve LOAD start|late: the service under load, recorded for 4 s into $T/LOAD-MODE.hotrun
serve() {
	local load=$1 mode=$2 program=$BUILD/dotnet/$1/Shop.Web port web wrk

	port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
	set -- "$port" 60 "$T/truth"
	[ "$load" = Web ] && set -- "$BUILD/dotnet/Web/Shop.Web.dll" "$@" && program=dotnet
	if [ "$mode" = start ]; then
		DOTNET_PerfMapEnabled=3 start "$program" "$@"
	else
		start "$program" "$@"
	fi
	web=$started
	until_true 60 grep -q ready "$T/$web.out" || {
		fail "$load: the service does not start: $(head -3 "$T/$web.out")"
		return 1
	}
	start wrk -t1 -c4 -d 60s "http://127.0.0.1:$port/orders"
	wrk=$started
	sleep 2
	[ "$mode" = start ] || check "$load: perfmap enable" "$HOTRUN" perfmap enable "$web"
	record "$load-$mode" -d 4 -F 199
	stop "$wrk"
	stop "$web"
	program=$BUILD/dotnet/$load/Shop.Web
	case $load in
	*-single) facts managed "$T/$load-$mode.hotrun" "$web" "$program" ;;
	*) facts managed "$T/$load-$mode.hotrun" "$web" ;;
	esac >"$T/named"
	set -- $(head -1 "$T/named")
	within "$load, map $mode: managed frames with a name, of $2, per cent" \
		"$(awk -v n="$1" -v t="$2" 'BEGIN { printf "%.2f", (t > 1000 ? 100 * n / t : 0) }')" 99.5 100
	tail -n +2 "$T/named" | sed 's/^/#   without: /'
	# Some of them in the framework, precompiled, and called by its words.
	"$HOTRUN" export "$T/$load-$mode.hotrun" -p Shop.Web -o "$T/folded" 2>"$T/err" || fail "export: $(cat "$T/err")"
	check "$load, map $mode: Kestrel's own frames" \
		grep -q 'Microsoft\.AspNetCore\.Server\.Kestrel\.Core\.Internal\.Http\.HttpProtocol\.ProcessRequests' "$T/folded"
}

serve Web start
serve Web late
serve Web@net10.0 start
serve Web@net9.0 late
serve Web@net8.0 late
serve Web@net10.0-single late
serve Web@net9.0-single start
serve Web@net8.0-single start
