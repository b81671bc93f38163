# SPDX-License-Identifier: GPL-2.0-or-later
# Real containers for live tests; sourced behind live.sh. podman with runc, which works on hybrid hosts;
# its storage lies below $NODE as below the root of a node's files, and everything is removed at the end.
need_tool podman podman
need_tool runc runc
NODE=$T/node
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
mkdir -p "$NODE/var/lib/containers"
PODMAN=(podman --root "$NODE/var/lib/containers/storage" --runroot "$T/run")
pod() { "${PODMAN[@]}" "$@" 2>>"$T/podman.err"; }

# remove_groups FOLDER...: what was in them leaves a moment after podman says so: conmon, and what it starts
remove_groups() {
	local group

	find "$@" -depth -type d -exec rmdir {} \; 2>/dev/null
	for group in "$@"; do
		[ ! -d "$group" ] || return 1
	done
}

# Podman leaves its empty groups behind, and a CPU is not taken off line for as long as there are cpusets.
leave_podman() {
	pod rm -f -t 0 -a >/dev/null
	pod umount -a >/dev/null
	until_true 20 remove_groups /sys/fs/cgroup/*/libpod_parent /sys/fs/cgroup/libpod_parent ||
		echo "# processes are left in $(ls -d /sys/fs/cgroup/*/libpod_parent | head -1)"
	finish
}
trap leave_podman EXIT

# image NAME PROGRAM: an image of nothing but the program in /app and the libraries that it links to
image() {
	mkdir -p "$T/root/app" "$T/root/tmp"
	chmod 1777 "$T/root/tmp"
	cp "$2" "$T/root/app/"
	ldd "$2" | grep -o '/[^ ]*' | sort -u | xargs -I{} cp -L --parents {} "$T/root"
	printf 'FROM scratch\nCOPY root /\nENTRYPOINT ["/app/%s"]\n' "$(basename "$2")" >"$T/Containerfile"
	check "the image is built" pod build -q --network none -t "localhost/$1:test" "$T"
}
