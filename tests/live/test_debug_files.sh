#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Symbols kept apart from a stripped program: debug files by build id and by link, in the program's
# root and the host's, and those packed into it. None comes from the network.
# beside others, 14 s
. "$(dirname "$0")/../support/live.sh"
need_root
need_tool xz xz-utils

# variant NAME: a stripped copy of the load, with a build id of its own, in $T/NAME; its symbols in
# $T/NAME.full
variant() {
	cc -O2 -fno-omit-frame-pointer -Wl,--build-id="0x$(printf %s "$1" | sha1sum | cut -c1-40)" \
		-o "$T/$1.full" tests/workloads/native.c && strip -s -o "$T/$1" "$T/$1.full" || exit 1
}

debug_file() { objcopy --only-keep-debug "$T/$1.full" "$2" 2>/dev/null; }

# by_id FOLDER NAME: the debug file of NAME in its place below FOLDER
by_id() {
	local id

	id=$(printf %s "$2" | sha1sum | cut -c1-40)
	mkdir -p "$1/.build-id/${id:0:2}"
	debug_file "$2" "$1/.build-id/${id:0:2}/${id:2}.debug"
}

# in a root of its own: by build id there
variant rooted
mkdir -p "$T/root"
by_id "$T/root/usr/lib/debug" rooted
cp --parents $(ldd "$T/rooted" | grep -o '/[^ ]*') "$T/root/"
cp "$T/rooted" "$T/root/rooted"
# by build id on the host, as hotrun sees it
variant hosted
by_id "$T/debug" hosted
# by link: beside it (as .NET has libcoreclr.so.dbg), in .debug, in the mirror below /usr/lib/debug
variant beside
debug_file beside "$T/beside.dbg"
objcopy --add-gnu-debuglink="$T/beside.dbg" "$T/beside"
variant dotted
mkdir "$T/.debug"
debug_file dotted "$T/.debug/dotted.dbg"
objcopy --add-gnu-debuglink="$T/.debug/dotted.dbg" "$T/dotted"
variant mirrored
mkdir -p "$T/debug$T"
debug_file mirrored "$T/debug$T/mirrored.dbg"
objcopy --add-gnu-debuglink="$T/debug$T/mirrored.dbg" "$T/mirrored"
# without a build id the CRC of the link decides
for name in crc stale; do
	variant $name
	objcopy -R .note.gnu.build-id "$T/$name"
	debug_file $name "$T/$name.dbg"
	objcopy -R .note.gnu.build-id "$T/$name.dbg" 2>/dev/null
	objcopy --add-gnu-debuglink="$T/$name.dbg" "$T/$name"
done
printf x >>"$T/stale.dbg"
# packed into it, as Fedora does (gdb manual, "MiniDebugInfo")
variant packed
debug_file packed "$T/packed.dbg"
nm "$T/packed.full" --format=posix --defined-only | awk '$2 == "T" || $2 == "t" { print $1 }' >"$T/keep"
objcopy -S -R .comment --keep-symbols="$T/keep" "$T/packed.dbg" "$T/mini" 2>/dev/null
xz "$T/mini"
objcopy --add-section .gnu_debugdata="$T/mini.xz" "$T/packed"
rm "$T/packed.dbg"
# and one whose packed symbols are zeros without an end
variant bomb
head -c 100000000 /dev/zero | xz -1 >"$T/zeros.xz"
objcopy --add-section .gnu_debugdata="$T/zeros.xz" "$T/bomb"

set -- rooted hosted beside dotted mirrored crc stale packed bomb
for name; do
	if [ "$name" = rooted ]; then
		start "$(command -v chroot)" "$T/root" /rooted 12
	else
		start "$T/$name" 12
	fi
	pids="${pids:-} $started"
done
sleep 0.3
# /usr/lib/debug is another one for hotrun alone: what the host has installed is not touched.
mkdir -p /usr/lib/debug
unshare -m --propagation private sh -c "mount --bind '$T/debug' /usr/lib/debug &&
	DEBUGINFOD_URLS=http://127.0.0.1:9/ exec '$HOTRUN' record -d 4 -F 499 -o '$T/names.hotrun'" \
	>"$T/sum" 2>"$T/err"
is "record: exit code" $? 0
for pid in $pids; do
	stop "$pid"
done
"$HOTRUN" export "$T/names.hotrun" -o "$T/folded" 2>"$T/err" || fail "export: $(cat "$T/err")"

# named NAME WHAT: its samples have both functions
named() {
	set -- "$1" "$2" $(facts share "$T/folded" "$1" inner_hot) $(facts share "$T/folded" "$1" inner_cold)
	within "$2: functions are named, per cent" \
		"$(awk -v h="${3:-0}" -v c="${5:-0}" -v t="${4:-0}" 'BEGIN { print t ? 100 * (h + c) / t : 0 }')" 90 100
}

named rooted "by build id in the program's root"
named hosted "by build id on the host"
named beside "by link, beside it"
named dotted "by link, in .debug"
named mirrored "by link, below /usr/lib/debug"
named crc "by link and CRC, without a build id"
named packed "by .gnu_debugdata"
is "a link whose CRC is wrong: no names" "$(facts share "$T/folded" stale inner_hot | cut -d' ' -f1)" 0
check "but the file" grep -q '^stale;.*;stale ' "$T/folded"
check "a bomb costs its own names only" grep -q '^bomb;.*;bomb ' "$T/folded"
is "no library of hotrun looks things up in the network" \
	"$(ldd "$HOTRUN" | grep -cE 'debuginfod|curl|ssl')" 0
