#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Names looked up again: from a runtime that writes its map only now, from saved files when all is
# gone, by another user; and what is refused.
# beside others, 24 s
. "$(dirname "$0")/../support/live.sh"
. "$(dirname "$0")/../support/groups.sh"
need_root
need_dotnet Deep

# rename CAPTURE OPTION...: its answer in $T/out and $T/err
# From maps: from their memory processes of .NET 10 would have had their names at once.
rename() { "$HOTRUN" rename --names map "$@" >"$T/out" 2>"$T/err"; }

# named CAPTURE METHOD: per cent of Deep's samples that have it
named() {
	"$HOTRUN" export "$1" -p Deep -o "$T/folded" 2>"$T/export.err" || fail "export: $(cat "$T/export.err")"
	set -- $(facts share "$T/folded" Deep "$2")
	awk -v n="${1:-0}" -v t="${2:-0}" 'BEGIN { print t ? 100 * n / t : 0 }'
}

# Walk is the method of Deep that is never inlined.
METHOD=Shop.Catalogue.Tree.Walk

# In a group of their own, so that nobody else's code is looked up.
group_make rename 10000000
group=${GROUPS_MADE[0]}
start "${in_group[@]}" dotnet "$BUILD/dotnet/Deep/Deep.dll" 60 10
deep=$started
objcopy --only-keep-debug "$LOADS/native" "$T/native.debug"
strip -s -o "$T/native" "$LOADS/native"
# What ran before the recording has its build id from its file, what starts later from the kernel.
cp "$T/native" "$T/early"
start "${in_group[@]}" "$T/early" 60
early=$started
sleep 1
start "$HOTRUN" record --names map -d 4 -F 199 --cgroup "$group" -o "$T/now.hotrun"
recorder=$started
until_true 5 grep -qs 'recording at' "$T/$recorder.out" || fail "no recording: $(cat "$T/$recorder.out")"
start "${in_group[@]}" "$T/native" 60
native=$started
rename "$T/now.hotrun"
is "a capture that is being recorded is left alone" "$?" 1
says "and it says so" "$T/err" "another program is writing to it"
wait "$recorder"
cp "$T/now.hotrun" "$T/first.hotrun"

within "without a map nothing has the method" "$(named "$T/now.hotrun" $METHOD)" 0 0
rename "$T/now.hotrun"
is "nothing can be named: exit code" "$?" 0
check "and it says so" grep -q "Deep $deep (lives): 0 of" "$T/out"
says "with the way to a map" "$T/out" "hotrun perfmap enable $deep"
check "the runtime is asked for its map" facts enable "$deep"
until_true 5 grep -qs Walk "/tmp/perf-$deep.map" || fail "no map"

# Whoever has the pid now is another process, as far as this copy knows.
cp "$T/first.hotrun" "$T/other.hotrun"
sqlite3 "$T/other.hotrun" "UPDATE process SET start_ns = start_ns - 5000000000 WHERE tgid = $deep"
rename "$T/other.hotrun"
within "a process that got the pid since names nothing" "$(named "$T/other.hotrun" $METHOD)" 0 0

rename "$T/now.hotrun"
is "named from the living process: exit code" "$?" 0
within "per cent of samples with the method" "$(named "$T/now.hotrun" $METHOD)" 90 100
says "as named later" "$T/out" '"named later"'
"$HOTRUN" report "$T/now.hotrun" >"$T/report" 2>"$T/err"
says "the report tells that names were looked up again" "$T/report" "names looked up again"
is "the books of the capture are the same" "$(facts books "$T/now.hotrun")" "$(facts books "$T/first.hotrun")"

# --- all is gone but what was saved --------------------------------------------------------------

mkdir -p "$T/saved/maps"
cp "/tmp/perf-$deep.map" "$T/saved/maps"
stop "$deep"
stop "$native"
stop "$early"
rm "$T/native" "$T/early"
cp "$T/native.debug" "$T/saved"
rename "$T/first.hotrun"
within "with all gone nothing is named" "$(named "$T/first.hotrun" $METHOD)" 0 0
sum=$(sha256sum <"$T/first.hotrun")
chmod 1777 "$T"
chmod 644 "$T/first.hotrun"
check "named from saved files, by a user without privileges" \
	setpriv --reuid 65534 --regid 65534 --clear-groups \
	"$HOTRUN" rename --names map --symbols "$T/saved" -o "$T/copy.hotrun" "$T/first.hotrun"
is "the original is as it was" "$(sha256sum <"$T/first.hotrun")" "$sum"
within "per cent of samples with the method" "$(named "$T/copy.hotrun" $METHOD)" 90 100
for name in native early; do
	"$HOTRUN" export "$T/copy.hotrun" -p $name -o "$T/folded" 2>"$T/err"
	set -- $(facts share "$T/folded" $name inner_hot)
	within "static functions of a stripped program ($name), from its debug file alone" \
		"$(awk -v n="$1" -v t="$2" 'BEGIN { print t ? 100 * n / t : 0 }')" 40 95
done

# --- hostile folders, captures that cannot be written --------------------------------------------

mkdir -p "$T/hostile/deep"
head -c 5000 /dev/urandom >"$T/hostile/perf-$deep.map"
truncate -s 6G "$T/hostile/deep/perf-$native.map"
mkfifo "$T/hostile/perf-1.map"
ln -s / "$T/hostile/root"
ln -s "$T/saved/maps/perf-$deep.map" "$T/hostile/deep/perf-$deep.map"
head -c 900 "$LOADS/native" >"$T/hostile/half"
cp "$T/first.hotrun" "$T/hostile.hotrun"
start_s=$SECONDS
rename --symbols "$T/hostile" "$T/hostile.hotrun"
is "a folder of rubbish: exit code" "$?" 0
within "seconds" $((SECONDS - start_s)) 0 10
within "names nothing" "$(named "$T/hostile.hotrun" $METHOD)" 0 0
says "and tells of the map that does not fit" "$T/out" "names no code of that process"

chmod 444 "$T/first.hotrun"
rename --symbols "$T/saved" "$T/first.hotrun"
is "a read-only capture is left alone" "$?" 1
says "with the way out" "$T/err" "-o RESULT"
for i in $(seq 8); do
	cp --no-preserve=mode "$T/first.hotrun" "$T/killed.hotrun"
	"$HOTRUN" rename --names map --symbols "$T/saved" "$T/killed.hotrun" >"$T/out" 2>&1 &
	sleep "0.0$i"
	kill -KILL $! 2>/dev/null
	{ wait $!; } 2>/dev/null
	"$HOTRUN" report "$T/killed.hotrun" >"$T/out" 2>&1 || fail "killed after 0.0$i s: $(head -1 "$T/out")"
	rm -f "$T/killed.hotrun"*
done
ok "killed at any instant the capture can be read"
rename
is "without a capture: exit code" "$?" 2
rename --symbols "$T/none" "$T/now.hotrun"
is "a folder that is not there: exit code" "$?" 1
