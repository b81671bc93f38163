#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# .NET processes that are gone before anybody looks at their samples: short ones, one whose namespaces
# and /tmp went with it, one whose whole root was removed as with its container.
. "$(dirname "$0")/../support/live.sh"
need_root
need_dotnet Deep

# The programs must be out of /tmp, which is hidden in there.
apps=$(make_folder /var/tmp)
trap 'rm -rf "$apps"; finish' EXIT
# Under a name of its own: other tests run the same load.
mkdir "$apps/Brief"
for file in dll runtimeconfig.json; do cp "$BUILD/dotnet/Deep/Deep.$file" "$apps/Brief/Brief.$file"; done

# short SECONDS: a process of its own, on the host
short() { DOTNET_PerfMapEnabled=3 dotnet "$apps/Brief/Brief.dll" "$1" 5; }

# boxed SECONDS: first process of a pid namespace, with a /tmp that goes with its mount namespace
boxed() {
	unshare -p -m -f --mount-proc sh -c 'mount --make-rprivate / &&
		mount -t tmpfs -o mode=1777 tmpfs /tmp && DOTNET_PerfMapEnabled=3 exec dotnet "$@"' \
		sh "$apps/Brief/Brief.dll" "$1" 5
}

# contained SECONDS: below an overlay of this host's root, in which alone the program lies
contained() {
	mkdir -p "$apps/upper/app" "$apps/work" "$apps/root"
	cp -r "$apps/Brief/." "$apps/upper/app"
	unshare -p -m -f sh -c 'mount --make-rprivate / && cd "$1" &&
		mount -t overlay overlay -o lowerdir=/,upperdir=upper,workdir=work root &&
		mount -t proc proc root/proc && mount --rbind /dev root/dev && cd root && shift &&
		pivot_root . . && umount -l . &&
		DOTNET_PerfMapEnabled=3 exec dotnet "$@"' sh "$apps" /app/Brief.dll "$1" 5
	rm -rf "$apps/upper" "$apps/work" "$apps/root"
}

# As long as all this takes.
start env --default-signal=INT "$HOTRUN" record -o "$T/exit.hotrun" -F 499
recorder=$started
until_true 10 grep -qs 'recording at' "$T/$recorder.out" || fail "no recording: $(cat "$T/$recorder.out")"
for seconds in 0.02 0.1 0.3; do
	short "$seconds" >"$T/short.out" 2>&1 || fail "short $seconds: exit $?, $(head -1 "$T/short.out")"
	boxed "$seconds" >"$T/boxed.out" 2>&1 || fail "boxed $seconds: exit $?, $(head -1 "$T/boxed.out")"
	contained "$seconds" >"$T/contained.out" 2>&1 || fail "contained $seconds: exit $?, $(head -1 "$T/contained.out")"
done
# While it records: nothing that was removed is kept longer than some seconds.
lets_go() { alive "$recorder" && ! ls -l "/proc/$recorder/fd" 2>/dev/null | grep -q "$apps\|perf-1.map"; }
sleep 1
until_true 10 lets_go && ok "the recorder lets go of what was removed" ||
	fail "the recorder holds: $(ls -l "/proc/$recorder/fd" | grep -m1 "$apps\|perf-1.map")"
kill -INT "$recorder"
wait "$recorder"
is "the recording ends well" $? 0
capture=$T/exit.hotrun

processes=$(sql "$capture" "SELECT count(*) FROM process WHERE name = 'Brief'")
is "all nine are known by their entry assembly" "$processes" 9
whole=0 sampled=0
for tgid in $(sql "$capture" "SELECT tgid FROM process WHERE name = 'Brief' ORDER BY born_ns"); do
	set -- $(facts managed "$capture" "$tgid" | awk "NR == 1")
	life=$(sql "$capture" "SELECT CAST((exit_ns - born_ns) / 1e6 AS INTEGER) FROM process WHERE tgid = $tgid")
	echo "# lived $life ms: $1 of $2 managed frames with a name"
	[ "$2" -gt 0 ] || continue
	sampled=$((sampled + 1))
	[ $((1000 * $1)) -lt $((995 * $2)) ] || whole=$((whole + 1))
done
# A recorder that is kept from the CPU for most of such a life comes too late for it.
within "of nine that lived so briefly, those with samples" $sampled 5 9
within "of these, those with all their names" $whole $((sampled - 2)) $sampled
# A word that the walk took for a caller may name a file that nobody could have looked for.
is "no frame lacks its name for want of a file" "$(for tgid in $(sql "$capture" \
	"SELECT tgid FROM process WHERE name = 'Brief'"); do facts reasons "$capture" "$tgid"; done |
	grep -c 'process-gone\|file-gone\|file-changed\|file-denied')" 0
for pid in $(sql "$capture" "SELECT tgid FROM process WHERE name = 'Brief'"); do tidy "$pid"; done
