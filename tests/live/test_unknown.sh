#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Where requests are not measured, what listens on TCP ports is unknown, in each network namespace, and nothing else is.
# beside others, 8 s
. "$(dirname "$0")/../support/live.sh"
need_root
need_tool python3 python3
need_tool ip iproute2

cat >"$T/server.py" <<'PY'
import http.server, socket, sys

if sys.argv[2] == "6":
    http.server.HTTPServer.address_family = socket.AF_INET6
server = http.server.HTTPServer(("::1" if sys.argv[2] == "6" else "127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
open(sys.argv[1], "w").write("listens\n")
server.serve_forever()
PY
serve() { "${@:3}" python3 "$T/server.py" "$T/$1.up" "$2"; }
start serve host 4 exec
here=$started
start serve own 4 exec unshare -n sh -c 'ip link set lo up && exec "$@"' sh
apart=$started
listeners="$here $apart" names="host own"
if [ -e /proc/net/tcp6 ]; then
	start serve six 6 exec
	listeners+=" $started" names+=" six"
fi
# Some CPU, and it serves nothing.
start sh -c 'while sleep 0.05; do :; done'
calm=$started
for name in $names; do
	until_true 10 test -s "$T/$name.up" || fail "server $name does not start"
done

record off -d 3 -q --no-requests || exit 1
"$HOTRUN" report --format json "$T/off.hotrun" >"$T/off.json" 2>"$T/err"
is "report" $? 0
as_schema "$T/off.json"

# of PID KEY: what the report says of it; "none": it has no row
of() {
	python3 - "$T/off.json" "$@" <<'PY'
import json, sys
rows = [p for p in json.load(open(sys.argv[1]))["processes"] if p["pid"] == int(sys.argv[2])]
print(rows[0][sys.argv[3]] if rows else "none")
PY
}
why=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["host"]["requests_off"])' "$T/off.json")
is "the reason is there" "${why:0:8}" recorded
for pid in $listeners; do
	is "verdict of $pid, which listens" "$(of "$pid" verdict)" unknown
	is "why" "$(of "$pid" no_service_signal)" "$why"
	is "it listens" "$(of "$pid" listens)" True
	is "no alarm" "$(of "$pid" hurt)" False
done
case $(of "$calm" verdict) in
healthy | contended) ok "what does not listen is judged" ;;
*) fail "what does not listen is $(of "$calm" verdict)" ;;
esac
is "it does not listen" "$(of "$calm" listens)" False
"$HOTRUN" report --summary -p "$here" "$T/off.hotrun" >"$T/out" 2>"$T/err"
says "the host's line" <(tr -s '\n ' ' ' <"$T/out") "; requests not measured: recorded"
says "the process's" <(tr -s '\n ' ' ' <"$T/out") "it listens, and its requests were not measured"
says_not "nobody is called well" "$T/out" "nobody is hurt"
