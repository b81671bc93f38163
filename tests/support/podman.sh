# SPDX-License-Identifier: GPL-2.0-or-later
# Real containers without a registry or a service; sourced after live.sh by the live tests that need them.
# Everything lies below $T; what podman leaves elsewhere is removed at the end, whichever way that comes.
need_tool podman podman
need_tool runc runc
CONTAINER="podman --root $T/storage --runroot $T/runroot"
# As much as this machine allows: podman asks for more than some have, and fails.
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

pod() { $CONTAINER "$@" 2>>"$T/podman.err"; }

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

# web_image: localhost/shop:test, of nothing but the web service and the libraries that it links to
web_image() {
	mkdir -p "$T/root/app" "$T/root/tmp"
	chmod 1777 "$T/root/tmp"
	cp "$BUILD/dotnet/Web@net10.0-single/Shop.Web" "$T/root/app/"
	ldd "$T/root/app/Shop.Web" | grep -o '/[^ ]*' | sort -u | xargs -I{} cp -L --parents {} "$T/root"
	printf 'FROM scratch\nCOPY root /\nENTRYPOINT ["/app/Shop.Web"]\n' >"$T/Containerfile"
	check "the image of the service is built" pod build -q --network none -t localhost/shop:test "$T"
}

# serve NAME OPTION...: the service in a container, at $port of the host; its pid on the host in $web
serve() {
	local name=$1

	shift
	port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
	pod run -d --name "$name" --network host --env DOTNET_BUNDLE_EXTRACT_BASE_DIR=/tmp "$@" localhost/shop:test \
		"$port" 60 /dev/null >/dev/null || fail "podman run: $(tail -2 "$T/podman.err")"
	web=$(pod inspect -f '{{.State.Pid}}' "$name")
	until_true 60 sh -c "$CONTAINER logs '$name' 2>&1 | grep -q ready" ||
		fail "the service does not start: $(pod logs "$name" 2>&1 | head -3)"
}
