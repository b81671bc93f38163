#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The resident recorder when things go wrong: kill -9 in the middle of a capture, thousands of old files, another
# folder or a file in its folder's place, a folder that goes, a full or read-only disk, also when a capture is due.
# mostly waits, 80 s
. "$(dirname "$0")/../support/live.sh"
. "$(dirname "$0")/../support/servers.sh"
. "$(dirname "$0")/../support/watch.sh"
need_root
need_dotnet Web
need_dotnet Hang
need_tool curl curl
need_tool wrk wrk

port=$(free_port)
dotnet_start "$BUILD/dotnet/Web/Shop.Web.dll" "$port" 200 "$T/truth"
web=$started
until_true 60 grep -q ready "$T/$web.out" || {
	fail "the service does not start: $(head -3 "$T/$web.out")"
	exit 1
}

# --- killed in the middle of a capture ----------------------------------------------------------------
watch_start --ring 10s
until_true 20 answers readyz 200
start "$HOTRUN" trigger --dir "$dir" --before 2s --after 60s
asker=$started
until_true 10 eval 'grep -qs begun "$T/$asker.out" || ls "$dir"/*trigger.hotrun >"$T/out" 2>&1'
sleep 3
cut=$(ls -t "$dir"/*trigger.hotrun | head -1)
stop "$watcher"
until_true 5 gone "$asker" && ok "who asked is told that it died" || fail "trigger waits for a dead recorder"
is "killed: the capture can be read" "$("$HOTRUN" report "$cut" >"$T/cut" 2>&1; echo $?)" 0
is "and says that it was cut short" "$(sql "$cut" 'SELECT complete FROM host')" 0
alive "$web" && ok "the service runs on" || fail "the service ended"
: >"$dir/.x.txt.new"
watch_start --ring 10s
until_true 30 answers readyz 200 && ok "it starts again after that" || fail "no start: $(tail -3 "$T/$watcher.out")"
[ ! -e "$dir/.x.txt.new" ] && ok "and cleans up" || fail "unfinished files stay"

# --- more files than it can remove in one turn --------------------------------------------------------
watch_end
python3 - "$dir" <<'P'
import sys
for i in range(5000):
    open("%s/old-20200101T%02d%02d%02dZ-rotate.hotrun" % (sys.argv[1], i // 3600, i // 60 % 60, i % 60), "w").close()
P
before=$(sed -n 's/^removed //p' "$dir/state")
watch_start --ring 10s --keep-age 30d
until_true 20 at_least hotrun_captures_removed_total $((before + 1))
is "of thousands of old captures it removes some" "$(metric hotrun_captures_removed_total)" $((before + 1000))
until_true 30 at_least hotrun_captures_removed_total $((before + 2000)) && ok "and more later" || fail "no more are removed"
within "without a line for each" "$(grep -c removed "$T/$watcher.out")" 1 60

# --- another folder in its place ----------------------------------------------------------------------
mv "$dir" "$dir.moved"
mkdir -m 700 "$T/elsewhere"
ln -s "$T/elsewhere" "$dir"
kill -USR1 "$watcher"
until_true 20 grep -q "symbolic link" "$T/$watcher.out" && ok "a link in its place is told" || fail "not told: $(tail -2 "$T/$watcher.out")"
is "and nothing is written where it leads" "$(ls -A "$T/elsewhere")" ""
rm "$dir"
mv "$dir.moved" "$dir"
until_true 20 test -S "$dir/control" && ok "it takes its folder again" || fail "the folder is not taken: $(tail -2 "$T/$watcher.out")"

# --- the folder goes, the disk is full ----------------------------------------------------------------
rm -rf "$dir"
"$HOTRUN" trigger --dir "$dir" --before 1s --after 1s >"$T/out" 2>&1
is "without its folder: exit code of trigger" $? 1
kill -USR1 "$watcher"
sleep 1
answers healthz 200 && ok "it stays up without its folder" || fail "it died with its folder"
until_true 75 test -S "$dir/control" && ok "and makes it again" || fail "the folder is not made again: $(tail -2 "$T/$watcher.out")"
rm -rf "$dir"
: >"$dir"
until_true 20 grep -q "not a folder" "$T/$watcher.out" && ok "a file in its place is told" || fail "not told: $(tail -2 "$T/$watcher.out")"
sleep 11
is "once" "$(grep -c "not a folder" "$T/$watcher.out")" 1
rm "$dir"
until_true 20 test -S "$dir/control" && ok "and it mends" || fail "the folder is not made again: $(tail -2 "$T/$watcher.out")"
watch_end
mkdir "$T/small"
mount -t tmpfs -o size=8m,mode=700 none "$T/small" && MOUNTS+=("$T/small")
dir=$T/small
watch_start --ring 10s
until_true 20 answers readyz 200
"$HOTRUN" trigger --dir "$dir" --before 5s --after 60s >"$T/out" 2>&1 &
asker=$!
until_true 10 grep -q "is begun" "$T/out" || fail "no capture is begun: $(tail -1 "$T/out")"
head -c 9m /dev/zero >"$dir/filler" 2>/dev/null
wait "$asker"
is "a full disk: exit code of trigger" $? 1
says "it says so" "$T/out" "space"
answers healthz 200 && ok "it stays up with a full disk" || fail "it died of a full disk"
until_true 5 at_least hotrun_captures_failed_total 1 && ok "and counts it" || fail "the failure is not counted"
watch_end

# --- the same when somebody is hurt -------------------------------------------------------------------
# stall TEXT: makes the service stall until the recorder has said it
stall() {
	start wrk -t1 -c40 -d20s --timeout 20s "http://127.0.0.1:${hang_ports[0]}/slow?ms=1500"
	until_true 15 grep -qE "$1" "$T/$watcher.out" && ok "who stalls: $1" || fail "not told ($1): $(tail -3 "$T/$watcher.out")"
	stop "$started"
	# Two good seconds end a suspicion, behind requests of 1.5 s; where the host is full it is a suspect itself, and stays.
	until_true 8 eval '[ "$(metric hotrun_suspects)" = 0 ]'
}

# A file system that a fault of its disk makes read-only.
truncate -s 150M "$T/image"
mke2fs -q -t ext4 "$T/image"
mkdir "$T/disk"
mount -o loop,errors=remount-ro "$T/image" "$T/disk" && MOUNTS+=("$T/disk") || fail "no ext4 in a file: $(ls /dev/loop* | head -2)"
device=$(losetup -nO NAME -j "$T/image")
dir=$T/disk/watch
hang_name=Shop.Jam hang_start 1 150
itself=
watch_start --ring 10s --before 2s --after 2s --budget 0 --include name=Shop.Jam --include name=Shop.Late --capture-on inelastic
until_true 20 answers readyz 200
head -c 200m /dev/zero >"$dir/filler" 2>/dev/null
stall "no capture of inelastic Shop.Jam $hang .* free .it needs"
answers healthz 200 && ok "it stays up" || fail "it died of it"
rm "$dir/filler"
stall "taking a capture: .*Shop.Jam $hang"
until_true 20 grep -q "done, with report and page: inelastic Shop.Jam" "$T/$watcher.out" && ok "with room again it is captured" ||
	fail "no capture: $(tail -3 "$T/$watcher.out")"
echo 1 >"/sys/fs/ext4/${device##*/}/trigger_fs_error"
# Of the one that was captured just now none would be taken.
hang_name=Shop.Late hang_start 1 60
stall "no capture of inelastic Shop.Late $hang .*read-only"
answers healthz 200 && ok "it stays up" || fail "it died of it"
is "what was captured can be read" "$("$HOTRUN" report "$dir"/*-auto.hotrun >"$T/out" 2>&1; echo $?)" 0
watch_end
