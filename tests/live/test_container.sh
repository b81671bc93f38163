#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A service in a real container (podman, runc): another root, other pids, another user, started without
# any setting. Its map is switched on from outside; its frames are named, also when the container is
# removed before the recording ends; and where it has nowhere to write a map, that is said.
# beside others, 55 s
. "$(dirname "$0")/../support/live.sh"
need_root
need_tool wrk wrk
need_dotnet Web@net10.0-single
. "$(dirname "$0")/../support/podman.sh"
image shop "$BUILD/dotnet/Web@net10.0-single/Shop.Web"

serves() { pod logs "$1" 2>&1 | grep -q ready; }

# serve NAME OPTION...: the service in a container; its pid on the host in $web
serve() {
	local name=$1

	shift
	port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
	pod run -d --name "$name" --network host --env DOTNET_BUNDLE_EXTRACT_BASE_DIR=/tmp "$@" localhost/shop:test \
		"$port" 60 /dev/null >/dev/null || fail "podman run: $(tail -2 "$T/podman.err")"
	web=$(pod inspect -f '{{.State.Pid}}' "$name")
	until_true 60 serves "$name" ||
		fail "the service does not start: $(pod logs "$name" 2>&1 | head -3)"
}

# --- another user, a read-only root with a writable /tmp --------------------------------------------
serve shop --user 1000:1000 --read-only --tmpfs /tmp:mode=1777
start wrk -t1 -c4 -d 60s "http://127.0.0.1:$port/orders"
sleep 1.5
"$HOTRUN" perfmap status --no-sample >"$T/status" 2>"$T/err"
is "status of a service without a map" "$(grep -c " *$web .*absent" "$T/status")" 1
check "it is switched on" "$HOTRUN" perfmap enable "$web"
"$HOTRUN" perfmap status --no-sample >"$T/status" 2>"$T/err"
is "status afterwards" "$(grep -c " *$web .*switched on" "$T/status")" 1
record alive -d 4 -F 199
managed "with a map" "$T/alive.hotrun" "$web" 99.5 "$T/root/app/Shop.Web"
is "the container is known" "$(sql "$T/alive.hotrun" "SELECT container != '' FROM process WHERE tgid = $web")" 1

# --- the container is removed before the recording ends ------------------------------------------------
"$HOTRUN" record -o "$T/removed.hotrun" -d 7 -F 199 >"$T/removed.sum" 2>"$T/removed.err" &
recorder=$!
PIDS+=("$recorder")
sleep 3.5
pod rm -f -t 0 shop >/dev/null
wait "$recorder"
is "the recording ends well" $? 0
managed "removed" "$T/removed.hotrun" "$web" 99.5 "$T/root/app/Shop.Web"

# --- nowhere to write --------------------------------------------------------------------------------
serve sealed --user 1000:1000 --read-only --read-only-tmpfs=false
"$HOTRUN" perfmap enable "$web" >"$T/out" 2>"$T/err"
is "nowhere to write a map: failure" $? 1
cat "$T/out" "$T/err" >"$T/all"
check "and it is said" grep -qE 'no diagnostics socket|read-only|cannot' "$T/all"
# It needs none: its names are in its memory.
start wrk -t1 -c4 -d 20s "http://127.0.0.1:$port/orders"
sleep 1.5
record sealed -d 4 -F 199
late=4 managed "nothing set, nowhere to write" "$T/sealed.hotrun" "$web" 99.5 "$T/root/app/Shop.Web"
"$HOTRUN" report "$T/sealed.hotrun" >"$T/report" 2>&1
check "and the report says what named them" grep -qE 'managed frames: .*have a name .*memory' <("$HOTRUN" report -p Shop.Web "$T/sealed.hotrun")
pod rm -f -t 0 sealed >/dev/null
