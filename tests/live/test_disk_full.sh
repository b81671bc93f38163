#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The disk fills up while a recording runs: an error at that slice, all before it can be read.
# beside others
. "$(dirname "$0")/../support/live.sh"
need_root

mkdir "$T/small"
mount -t tmpfs -o size=8m,mode=755 tmpfs "$T/small" || skip "cannot mount a tmpfs here"
MOUNTS+=("$T/small")
start "$LOADS/spinners" 2 40
spinners=$started

"$HOTRUN" record -d 20 -F 199 -o "$T/small/full.hotrun" >"$T/sum" 2>"$T/err.full" &
hotrun=$!
PIDS+=("$hotrun")
until_true 20 grep -qs recording "$T/err.full" || fail "no start-up line"
began=$SECONDS
sleep 3.4
slices=$(sql "$T/small/full.hotrun" 'SELECT count(*) FROM slice')
cat /dev/zero >"$T/small/filler" 2>/dev/null
until_true 15 gone "$hotrun"
wait "$hotrun"
is "exit code" $? 1
within "it ends at that slice, s" "$((SECONDS - began))" 3 10
says "it says why" "$T/err.full" "no space left"
says "and that the rest can be read" "$T/err.full" "can be read"
within "slices before the disk was full" "$slices" 2 4
rm "$T/small/filler"
within "all of them are in the file" "$(sql "$T/small/full.hotrun" 'SELECT count(*) FROM slice')" "$slices" 5
is "it passes SQLite's own check" "$(sql "$T/small/full.hotrun" 'PRAGMA integrity_check')" ok
"$HOTRUN" report "$T/small/full.hotrun" >"$T/report" 2>"$T/err"
is "the report reads it" $? 0
says "and says that it ended early" "$T/report" "ended early"
says "with what was recorded" "$T/report" spinners

# No room from the start: refused before anything is recorded.
cat /dev/zero >"$T/small/filler" 2>/dev/null
"$HOTRUN" record -d 5 -o "$T/small/none.hotrun" >"$T/sum" 2>"$T/err"
is "no room from the start: exit code" $? 1
says_not "nothing was attached" "$T/err" recording
is "nothing is left of it" "$(find "$T/small" -name '*none*' | wc -l)" 0
