#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A service in a real container (podman, runc): another root, other pids, another user, started without
# any setting. Its map is switched on from outside; its frames are named, also when the container is
# removed before the recording ends; and where it has nowhere to write a map, that is said.
. "$(dirname "$0")/../support/live.sh"
need_root
need_tool podman podman
need_tool runc runc
need_tool wrk wrk
need_dotnet Web@net10.0-single
limit=$(ulimit -Hn)
[ "$limit" != unlimited ] && [ "$limit" -lt 20000 ] || limit=20000
cat >"$T/containers.conf" <<C
[containers]
default_ulimits = ["nofile=$limit:$limit","nproc=20000:20000"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
C
export CONTAINERS_CONF=$T/containers.conf
pod() { podman --root "$T/storage" --runroot "$T/runroot" "$@" 2>>"$T/podman.err"; }
# Podman leaves its empty groups behind, and a CPU is not taken off line for as long as there are cpusets.
leave() {
	local group

	pod rm -f -t 0 -a >/dev/null
	pod umount -a >/dev/null
	for group in /sys/fs/cgroup/*/libpod_parent /sys/fs/cgroup/libpod_parent; do
		[ -d "$group" ] && find "$group" -depth -type d -exec rmdir {} + 2>/dev/null
	done
	finish
}
trap leave EXIT

# An image of nothing but the program and the libraries that it links to.
mkdir -p "$T/root/app" "$T/root/tmp"
chmod 1777 "$T/root/tmp"
cp "$BUILD/dotnet/Web@net10.0-single/Shop.Web" "$T/root/app/"
ldd "$T/root/app/Shop.Web" | grep -o '/[^ ]*' | sort -u | xargs -I{} cp -L --parents {} "$T/root"
printf 'FROM scratch\nCOPY root /\nENTRYPOINT ["/app/Shop.Web"]\n' >"$T/Containerfile"
check "the image is built" pod build -q --network none -t localhost/shop:test "$T"

# serve NAME OPTION...: the service in a container; its pid on the host in $web
serve() {
	local name=$1

	shift
	port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
	pod run -d --name "$name" --network host --env DOTNET_BUNDLE_EXTRACT_BASE_DIR=/tmp "$@" localhost/shop:test \
		"$port" 60 /dev/null >/dev/null || fail "podman run: $(tail -2 "$T/podman.err")"
	web=$(pod inspect -f '{{.State.Pid}}' "$name")
	until_true 60 sh -c "podman --root '$T/storage' --runroot '$T/runroot' logs '$name' 2>&1 | grep -q ready" ||
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
set -- $(facts managed "$T/alive.hotrun" "$web" "$T/root/app/Shop.Web" | awk "NR == 1")
within "managed frames with a name, of $2, per cent" "$(awk -v n="$1" -v t="$2" 'BEGIN { print (t > 1000 ? 100 * n / t : 0) }')" 99.5 100
is "the container is known" "$(sql "$T/alive.hotrun" "SELECT container != '' FROM process WHERE tgid = $web")" 1

# --- the container is removed before the recording ends ------------------------------------------------
"$HOTRUN" record -o "$T/removed.hotrun" -d 7 -F 199 >"$T/removed.sum" 2>"$T/removed.err" &
recorder=$!
PIDS+=("$recorder")
sleep 3.5
pod rm -f -t 0 shop >/dev/null
wait "$recorder"
is "the recording ends well" $? 0
set -- $(facts managed "$T/removed.hotrun" "$web" "$T/root/app/Shop.Web" | awk "NR == 1")
within "removed: managed frames with a name, of $2, per cent" "$(awk -v n="$1" -v t="$2" 'BEGIN { print (t > 1000 ? 100 * n / t : 0) }')" 99.5 100

# --- nowhere to write --------------------------------------------------------------------------------
serve sealed --user 1000:1000 --read-only --read-only-tmpfs=false
"$HOTRUN" perfmap enable "$web" >"$T/out" 2>"$T/err"
is "nowhere to write a map: failure" $? 1
cat "$T/out" "$T/err" >"$T/all"
check "and it is said" grep -qE 'no diagnostics socket|read-only|cannot' "$T/all"
pod rm -f -t 0 sealed >/dev/null
