# SPDX-License-Identifier: GPL-2.0-or-later
# Other kernels in an emulated machine; sourced by tests/live/guest/run.sh. Kernels and, where the
# installed one is too old, QEMU are Debian packages of other releases, fetched through a private
# view of apt that leaves the machine's own alone, and unpacked below $G without being installed.
# Emulation (TCG) needs no /dev/kvm; it is slow and its CPUs are interrupted by the host: a place
# to see that things work, never to measure their cost.

# Where this machine has its packages from, whatever that is.
guest_apt() {
	local site

	[ -s "$G/apt/conf" ] && grep -q trixie-backports "$G/apt/list" && return
	site=$(apt-get indextargets --format '$(SITE) $(RELEASE)' 'Created-By: Packages' |
		awk '$2 !~ /security|updates|backports/ { print $1; exit }')
	[ -n "$site" ] || { echo "no Debian mirror in apt's sources" >&2; return 1; }
	mkdir -p "$G/apt/state/lists/partial" "$G/apt/cache/archives/partial"
	printf "deb $site %s main\n" bullseye bookworm bookworm-backports trixie trixie-backports >"$G/apt/list"
	cat >"$G/apt/conf.new" <<-C
		Dir::Etc::sourcelist "$G/apt/list";
		Dir::Etc::sourceparts "-";
		Dir::State "$G/apt/state";
		Dir::State::status "/var/lib/dpkg/status";
		Dir::Cache "$G/apt/cache";
		APT::Sandbox::User "root";
	C
	APT_CONFIG=$G/apt/conf.new apt-get update -qq >"$G/apt/log" 2>&1 &&
		! grep -qE '^(E:|W: Failed)' "$G/apt/log" || { tail -3 "$G/apt/log" >&2; return 1; }
	mv "$G/apt/conf.new" "$G/apt/conf"
}

# guest_fetch FOLDER PACKAGE...: unpacks packages (NAME or NAME/RELEASE) into $G/FOLDER, once.
guest_fetch() {
	local folder=$G/$1 deb

	shift
	[ -e "$folder" ] && return
	rm -rf "$folder.new" && mkdir -p "$folder.new"
	(cd "$folder.new" && APT_CONFIG=$G/apt/conf apt-get download -qq "$@" >"$G/apt/log" 2>&1) ||
		{ tail -3 "$G/apt/log" >&2; return 1; }
	for deb in "$folder.new"/*.deb; do
		dpkg-deb --fsys-tarfile "$deb" | tar -x -C "$folder.new" --exclude './lib/modules' || return 1
		rm "$deb"
	done
	mv "$folder.new" "$folder"
}

# guest_kernel VERSION: the newest signed cloud kernel of that series, or of all (newest); its file in $kernel.
guest_kernel() {
	local package series="${1//./\\.}\."

	[ "$1" != newest ] || series='[0-9]'
	if [ ! -e "$G/linux-$1" ]; then
		guest_apt || return 1
		package=$(APT_CONFIG=$G/apt/conf apt-cache search -n "^linux-image-$series.*-cloud-amd64\$" |
			awk '{ print $1 }' | sort -V | tail -1)
		[ -n "$package" ] || { echo "no kernel $1 in Debian" >&2; return 1; }
		# Since 7.3 the kernel itself is in a package of its own.
		APT_CONFIG=$G/apt/conf apt-cache show "${package/-image-/-binary-}" >/dev/null 2>&1 &&
			package=${package/-image-/-binary-}
		guest_fetch "linux-$1" "$package" || return 1
	fi
	kernel=$(find "$G/linux-$1" -name 'vmlinuz*')
}

# QEMU before 8 corrupts 6.12 guests with several CPUs (cmpxchg16b). Sets the array $qemu.
guest_qemu() {
	local major

	command -v qemu-system-x86_64 >/dev/null || { echo "no QEMU (Debian package qemu-system-x86)" >&2; return 1; }
	major=$(qemu-system-x86_64 --version | sed -n 's/.*version \([0-9]*\)\..*/\1/p')
	qemu=(qemu-system-x86_64)
	[ "$major" -ge 9 ] && return
	if [ ! -e "$G/qemu" ]; then
		guest_apt || return 1
		guest_fetch qemu {qemu-system-x86,qemu-system-common,qemu-system-data}/bookworm-backports || return 1
	fi
	qemu=("$G/qemu/usr/bin/qemu-system-x86_64" -L "$G/qemu/usr/share/qemu" -L /usr/share/qemu -L /usr/share/seabios)
}

# guest_root INIT FILE...: an initramfs of busybox, INIT as /init and the files in /bin.
guest_root() {
	local root=$G/root init=$1 applet busybox

	shift
	busybox=$(command -v busybox) && ! ldd "$busybox" >/dev/null 2>&1 ||
		{ echo "no static busybox (Debian package busybox-static)" >&2; return 1; }
	rm -rf "$root" && mkdir -p "$root"/{bin,proc,sys,dev,tmp}
	cp "$busybox" "$root/bin/busybox"
	for applet in $(busybox --list); do
		[ "$applet" = busybox ] || ln -s busybox "$root/bin/$applet"
	done
	cp "$@" "$root/bin/"
	cp "$init" "$root/init"
	(cd "$root" && find . | busybox cpio -o -H newc 2>/dev/null | gzip -1 >"$G/initrd.gz")
}

# guest_boot CPUS SECONDS LOG PARAMETER...: boots $kernel; whether it came to its end is told by
# GUEST-END in the log, since QEMU's exit code says nothing.
guest_boot() {
	local cpus=$1 seconds=$2 log=$3

	shift 3
	timeout -k 5 "$seconds" "${qemu[@]}" -M q35 -accel tcg,thread=multi -cpu max -smp "$cpus" -m 768 -nodefaults \
		-no-user-config -no-reboot -nographic -serial stdio -kernel "$kernel" -initrd "$G/initrd.gz" \
		-append "console=ttyS0 panic=-1 mitigations=off quiet tsc=reliable $*" </dev/null >"$log" 2>&1
	grep -q '^GUEST-END' "$log"
}
