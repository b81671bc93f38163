#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The static build: one file that works where there is nothing else, not even /etc or a locale.
# beside others
. "$(dirname "$0")/../support/live.sh"
need_root
check "make static" make -s BUILD="$BUILD" static
STATIC=$BUILD/hotrun-static
is "the linker says nothing" "$(rm -f "$STATIC" && make BUILD="$BUILD" static 2>&1 | grep -v LINK)" ""
is "no shared library, no loader" "$(readelf -lW "$STATIC" | grep -cE 'INTERP|DYNAMIC')" 0
is "ldd agrees" "$(ldd "$STATIC" 2>&1 | grep -cE 'not a dynamic executable|statically linked')" 1

# A root with proc and sysfs, as an initramfs has, and one with nothing at all to read it in.
mkdir -p "$T/root/proc" "$T/root/sys" "$T/bare"
cp "$STATIC" "$T/root/hotrun"
cp "$STATIC" "$T/bare/hotrun"
start "$LOADS/spinners" 1 20
spinner=$started
start dd if=/dev/zero of=/dev/null bs=1M # lives in the kernel, so that there are frames of it
kernel=$started
unshare -m --propagation private sh -c "mount -t proc proc '$T/root/proc' && mount -t sysfs sysfs '$T/root/sys' &&
	exec env -i $(command -v chroot) '$T/root' /hotrun record -d 2 -o /alone.hotrun" >"$T/sum" 2>"$T/err"
is "record in an empty root: exit code 0" $? 0
stop "$spinner"
stop "$kernel"
[ -s "$T/root/alone.hotrun" ] || {
	fail "no capture: $(head -c 400 "$T/err")"
	exit 1
}
mv "$T/root/alone.hotrun" "$T/bare/"
set -- $(facts books "$T/bare/alone.hotrun")
within "its books balance, per cent" "$(awk -v c="$1" -v a="$3" 'BEGIN { print 100 * a / c }')" 98 102
within "samples of the spinner" "$(sql "$T/bare/alone.hotrun" \
	"SELECT samples FROM process_cpu WHERE tgid = $spinner")" 15 400
within "kernel frames with a name" "$(sql "$T/bare/alone.hotrun" \
	"SELECT count(*) FROM symbol WHERE kind = 1 AND reason = 0")" 1 100000

bare() { env -i "$(command -v chroot)" "$T/bare" /hotrun "$@" >"$T/out" 2>"$T/err"; }

bare report alone.hotrun
is "report, with neither proc nor sys: exit code 0" $? 0
says "its first line names the kernel" "$T/out" "$(uname -r)"
"$HOTRUN" report "$T/bare/alone.hotrun" >"$T/want" 2>/dev/null
check "and it is the report of the other build" cmp "$T/out" "$T/want"
bare export alone.hotrun --format folded
is "export: exit code 0" $? 0
check "and what it writes is folded stacks" facts folded "$T/out"
bare flame alone.hotrun -o page.html
is "flame: exit code 0" $? 0
says "and the page is whole" "$T/bare/page.html" "</html>"
bare record -d 1 -o no.hotrun
is "record without proc: exit code 1" $? 1
is "and a line that says why" "$(wc -l <"$T/err")" 1
is "and no file" "$(ls "$T/bare" | grep -c no.hotrun)" 0

# On a screen: the terminal is looked up where the distribution keeps its terminals.
need_tool tmux tmux
tmux -S "$T/tmux" -f /dev/null new-session -d -x 100 -y 20 "exec env LC_ALL=C.UTF-8 '$STATIC' top -i 0.5"
PIDS+=("$(tmux -S "$T/tmux" display-message -p '#{pid}')")
check "top, on a screen" until_true 10 eval "tmux -S '$T/tmux' capture-pane -p | grep -q 'active processes'"
