# SPDX-License-Identifier: GPL-2.0-or-later
# Servers that requests and verdicts are measured on; sourced after live.sh.

# clients ...: for start(), whose pid is then that of the clients
clients() { exec python3 tests/support/clients.py "$@"; }

# answers URL: within 10 s
answers() { until_true 10 curl -s -m 1 -o "$T/answer" "$1"; }

# hang_start PORTS SECONDS [COMMAND...]: the C# load Hang with so many ports, started through COMMAND; its pid
# in $hang, its ports in the array hang_ports, the last one of HTTP/2. It is called Shop.Hang, or as $hang_name says
hang_start() {
	local ports=$1 seconds=$2 name=${hang_name:-Shop.Hang} program=$BUILD/dotnet/Hang list

	shift 2
	hang_ports=($(free_ports $((ports + 1))))
	list=$(printf '%s,' "${hang_ports[@]::ports}")
	if [ "$name" != Shop.Hang ]; then
		mkdir -p "$T/$name"
		cp "$program/Shop.Hang.dll" "$T/$name/$name.dll"
		cp "$program/Shop.Hang.runtimeconfig.json" "$T/$name/$name.runtimeconfig.json"
		program=$T/$name
	fi
	DOTNET_PerfMapEnabled=3 start "$@" dotnet "$program/$name.dll" "${list%,}" \
		"${hang_ports[$ports]}" "$seconds"
	hang=$started
	until_true 20 grep -q ready "$T/$hang.out" || fail "Hang does not start: $(head -3 "$T/$hang.out")"
}

# nginx_start NAME PORT UPSTREAM_PORT|'' [COMMAND...]: two workers that serve a file of 1 KiB, or what the upstream
# serves, started through COMMAND. In a pid namespace, so that they end with the process that is in $started.
nginx_start() {
	local name=$1 port=$2 upstream=$3 folder=$T/nginx.$1 proxy=

	shift 3
	[ -z "$upstream" ] || proxy='proxy_pass http://behind; proxy_http_version 1.1; proxy_set_header Connection "";'
	mkdir -p "$folder/www"
	head -c 1024 /dev/zero | tr '\0' x >"$folder/www/file"
	cat >"$folder/conf" <<X
daemon off;
worker_processes 2;
pid $folder/pid;
error_log $folder/error;
events { worker_connections 1000; }
http {
	access_log off;
	sendfile on;
	keepalive_requests 1000000000;
	client_body_temp_path $folder/body;
	proxy_temp_path $folder/proxy;
	fastcgi_temp_path $folder/fastcgi;
	uwsgi_temp_path $folder/uwsgi;
	scgi_temp_path $folder/scgi;
	upstream behind {
		server 127.0.0.1:${upstream:-1};
		keepalive 32;
	}
	server {
		listen 127.0.0.1:$port;
		location / {
			$proxy
			root $folder/www;
		}
	}
}
X
	start "$@" unshare -p -f --kill-child=KILL nginx -e "$folder/error" -c "$folder/conf"
	until_true 10 grep -qs . "$folder/pid" ||
		fail "nginx does not start: $(head -3 "$folder/error" "$T/$started.out")"
}

# wrk_run FILE COMMAND...: runs wrk, with latencies, its words into the file
wrk_run() {
	local file=$1

	shift
	"$@" --latency >"$file" 2>&1 || fail "$*: $(tail -1 "$file")"
	grep -qE 'Non-2xx|Socket errors' "$file" && fail "wrk: $(grep -E 'Non-2xx|Socket errors' "$file")"
}

# wrk_figure FILE count|50|90|99: requests answered; a percentile in us
wrk_figure() {
	awk -v what="$2" '
		function us(text) {
			return text * (text ~ /us$/ ? 1 : text ~ /ms$/ ? 1e3 : text ~ /m$/ ? 6e7 : 1e6)
		}
		what == "count" && / requests in / { print $1 }
		$1 == what "%" { print us($2) }' "$1"
}
