#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A service whose perf map lies on a FUSE file system that never answers a read: the recording ends in
# time, and a SIGKILL leaves nothing of it in the kernel although its helper is stuck there.
# beside others, 25 s
. "$(dirname "$0")/../support/live.sh"
need_root
need_dotnet Split
need_tool bpftool bpftool
[ -c /dev/fuse ] || { echo "skip - needs /dev/fuse"; exit 0; }

# Out of /tmp, which the service does not see.
apps=$(make_folder /var/tmp)
trap 'kill "$(cat "$apps/pid")"; rm -rf "$apps"; finish' EXIT
cp -r "$BUILD/dotnet/Split" "$LOADS/hang_fuse" "$apps"
mkdir "$apps/mount" "$apps/symbols"
for i in 1 2 3 4; do : >"$apps/symbols/lib$i.so"; done
start unshare -m sh -c 'mount --make-rprivate / && "$1/hang_fuse" "$1/mount" >"$1/log" & echo $! >"$1/pid"
	for i in 1 2 3 4 5 6 7 8 9 10; do grep -qs mounted "$1/log" && break; sleep 0.3; done
	for i in 1 2 3 4; do mount --bind "$1/mount/perf-$i" "$1/symbols/lib$i.so"; done
	mount --bind "$1/mount" /tmp && DOTNET_PerfMapEnabled=0 DOTNET_EnableDiagnostics=0 \
		exec dotnet "$1/Split/Split.dll" 200 /dev/null 30' sh "$apps"
until_true 30 grep -qs mounted "$apps/log" || fail "the file system is not mounted"
until_true 30 grep -qs doublemapper "/proc/$started/maps" || fail "the service does not start"
sleep 2

begin=$SECONDS
"$HOTRUN" record -q -d 3 -o "$T/hang.hotrun" 2>"$T/err"
is "the recording ends well" $? 0
# The read hangs for ever; this host may be slow.
within "and in time, seconds" $((SECONDS - begin)) 3 15
check "a read did hang" grep -q "a read hangs" "$apps/log"
begin=$SECONDS
"$HOTRUN" doctor >"$T/doctor" 2>"$T/err"
is "doctor ends well" $? 0
within "and in time, seconds" $((SECONDS - begin)) 0 12
says "having looked at the host" "$T/doctor" "loaded and attached"

begin=$SECONDS
"$HOTRUN" perfmap status --no-sample -v >"$T/status" 2>&1
is "perfmap status ends well" $? 0
within "and in time, seconds" $((SECONDS - begin)) 0 12
check "and says that the service does not answer" grep -q 'Split .* no answer' "$T/status"
hung=$(awk '$2 == "Split" && /no answer/ { print $1; exit }' "$T/status")
"$HOTRUN" perfmap enable "$hung" >"$T/status" 2>&1
is "perfmap enable fails" $? 1
says "and says why" "$T/status" "did not answer in time"

# Symbols of somebody else's, whose files can be opened and never read.
begin=$SECONDS
"$HOTRUN" rename --symbols "/proc/$started/root$apps/symbols" -o "$T/renamed.hotrun" "$T/hang.hotrun" >"$T/out" 2>&1
is "rename with a folder that hangs ends well" $? 0
within "and in time, seconds" $((SECONDS - begin)) 2 30

# A helper of it waits where no signal reaches.
stuck() {
	local nursery helper

	for nursery in $(pgrep -P "$hotrun"); do
		for helper in $(pgrep -P "$nursery"); do
			grep -qs '^State:.*D' "/proc/$helper/status" && return 0
		done
	done
	return 1
}
"$HOTRUN" record -q -o "$T/killed.hotrun" 2>"$T/err" &
hotrun=$!
PIDS+=("$hotrun")
until_true 20 stuck || fail "no helper is stuck"
bpf_of "$hotrun"
within "hotrun holds BPF programs" "$(printf '%s\n' $progs | wc -l)" 3 100
kill -KILL "$hotrun"
{ wait "$hotrun"; } 2>/dev/null
until_true 10 bpf_is_gone
is "soon after SIGKILL no BPF program, map or link of it is left" "$left" ""
