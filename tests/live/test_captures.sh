#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# `hotrun trigger` and `hotrun captures` against a recorder that records nothing: needs neither BPF nor root.
# mostly waits, 25 s
. "$(dirname "$0")/../support/live.sh"
FAKE=$BUILD/bench/fake_recorder
[ -x "$FAKE" ] || skip "needs $FAKE (make $BUILD/bench/fake_recorder)"
cd "$T" || exit 1
D=$T/dir

# code NAME WANT COMMAND...: exit code; stdout in $T/out, stderr in $T/err
code() {
	local name=$1 want=$2 rc

	shift 2
	timeout 60 "$@" >"$T/out" 2>"$T/err" </dev/null
	rc=$?
	if [ $rc = "$want" ]; then ok "$name"; else fail "$name: exit $rc, not $want: $(head -2 "$T/err" | tr '\n' '|')"; fi
}

# serve MODE: a recorder in $D; its pid in $recorder
serve() {
	start "$FAKE" "$D" "${1:-}"
	recorder=$started
	until_true 10 grep -q ready "$T/$recorder.out" || fail "no recorder: $(cat "$T/$recorder.out")"
}

# --- usage ---
for bad in "--before soon" "--after 2d" "--after -1s" "--before" "now" "--no-such"; do
	code "trigger $bad" 2 "$HOTRUN" trigger $bad
done
for bad in "--format xml" "keep" "get" "get a b" "remove" "list all" "-o x" "remove a -o x" "--no-such"; do
	code "captures $bad" 2 "$HOTRUN" captures $bad
done

# --- nobody there ---
code "trigger without a folder" 1 "$HOTRUN" trigger --dir "$D"
says "tells whose folder is meant" "$T/err" "--dir names that of"
code "captures without a folder" 1 "$HOTRUN" captures --dir "$D"
says "tells it, too" "$T/err" "no such folder"
mkdir -m 700 "$D"
code "trigger without a recorder" 1 "$HOTRUN" trigger --dir "$D"
says "tells what to do" "$T/err" "start one with \`hotrun watch --dir $D\`"
mkfifo "$D/control"
code "a FIFO in place of its socket" 1 "$HOTRUN" trigger --dir "$D"
says "is no recorder" "$T/err" "no recorder runs there"
rm "$D/control"
code "captures of an empty folder" 0 "$HOTRUN" captures --dir "$D"
says "there are none" "$T/out" "0 captures in $D"

# --- a trigger, from begun to done ---
serve
code "trigger waits" 0 "$HOTRUN" trigger --dir "$D" --before 15s --after 300ms
path=$(cat "$T/out")
name=${path##*/}
is "prints the path" "$path" "$D/$name"
is "of a capture that is there" "$(stat -c %a "$path")" 600
says "progress is on stderr" "$T/err" "$name is begun"
code "captures lists it" 0 "$HOTRUN" captures list --dir "$D/"
says "with all that it has" "$T/out" "trigger  text        complete       $name"
says "length" "$T/out" "15.0 s"
says "and the sum" "$T/out" "1 capture in $D"
code "as JSON" 0 "$HOTRUN" captures --dir "$D" --format json
as_schema "$T/out"
is "that others read" "$(python3 -c 'import json,sys; d = json.load(sys.stdin); c = d["captures"][0]
print(len(d["captures"]), c["name"], c["state"], c["text"], c["page"], c["length_ns"], d["size_bytes"] == c["size_bytes"])' <"$T/out")" \
	"1 $name complete True False 15000000000 True"
code "trigger --no-wait" 0 "$HOTRUN" trigger --dir "$D" --after 60s --no-wait
live=$(cat "$T/out")
code "captures tells that it is being written" 0 "$HOTRUN" captures --dir "$D"
says "in its state" "$T/out" "being written  ${live##*/}"
code "another one meanwhile" 1 "$HOTRUN" trigger --dir "$D"
says "is refused by the recorder, in its words" "$T/err" "one at a time"

# --- get ---
mkdir -m 700 got
code "get to a file" 0 "$HOTRUN" captures get "$name" --dir "$D" -o got/a.hotrun
is "the same bytes" "$(cmp "$path" got/a.hotrun 2>&1)" ""
is "for us alone" "$(stat -c %a got/a.hotrun)" 600
(cd got && "$HOTRUN" captures --dir "$D" get "${name%.hotrun}.txt") || fail "get of an artifact"
is "the artifact, under its name" "$(cat "got/${name%.hotrun}.txt")" "a report"
code "an existing file" 1 "$HOTRUN" captures get "$name" --dir "$D" -o got/a.hotrun
says "is left alone" "$T/err" "exists; choose another name"
is "as it was" "$(cmp "$path" got/a.hotrun 2>&1)" ""
ln -s nowhere got/link
code "a link" 1 "$HOTRUN" captures get "$name" --dir "$D" -o got/link
is "is not followed" "$(ls got | grep -cx nowhere)" 0
code "get -o -" 0 "$HOTRUN" captures get "$name" --dir "$D" -o -
is "writes it to stdout" "$(cmp "$path" "$T/out" 2>&1)" ""
code "get of one that is being written" 0 "$HOTRUN" captures get "${live##*/}" --dir "$D" -o got/live.hotrun
says "says so" "$T/err" "still being written"
is "a database that is whole" "$(sql got/live.hotrun 'PRAGMA integrity_check; SELECT complete FROM host' | xargs)" "ok 0"
code "the same to stdout" 0 "$HOTRUN" captures get "${live##*/}" --dir "$D" -o -
is "whole as well" "$(sql "$T/out" 'PRAGMA integrity_check; SELECT count(*) FROM slice' | xargs)" "ok 1"
is "no file is left of it" "$(ls -A "$D" | grep -vxE "control|lock|fake-.*-trigger(-2)?\.(hotrun|txt)")" ""
code "a full disk" 1 sh -c "'$HOTRUN' captures get $name --dir $D -o - >/dev/full"
says "is told" "$T/err" "no space left"
"$HOTRUN" captures get "$name" --dir "$D" -o - 2>"$T/err" | head -c 1 >/dev/null
is "a reader that has seen enough: quiet" "$(cat "$T/err")" ""
script -qec "'$HOTRUN' captures get $name --dir $D -o -" /dev/null >"$T/out" 2>&1
is "refused on a terminal" $? 2
says "says what to do" "$T/out" "name a file with -o"
echo precious >precious-20261121T190000Z-rotate.hotrun
for bad in ../precious-20261121T190000Z-rotate.hotrun "$T/precious-20261121T190000Z-rotate.hotrun" lock state control . .. \
 "" "a b" "%s" "$name/" "./$name"; do
	code "get '$bad'" 1 "$HOTRUN" captures get "$bad" --dir "$D" -o got/bad
	code "remove '$bad'" 1 "$HOTRUN" captures remove "$bad" --dir "$D"
done
ln -s "$T/precious-20261121T190000Z-rotate.hotrun" "$D/link-20261121T190000Z-rotate.hotrun"
code "get of a link in the folder" 1 "$HOTRUN" captures get link-20261121T190000Z-rotate.hotrun --dir "$D" -o got/bad
code "remove of one" 1 "$HOTRUN" captures remove link-20261121T190000Z-rotate.hotrun --dir "$D"
code "get of what is not there" 1 "$HOTRUN" captures get gone-20261121T190000Z-rotate.hotrun --dir "$D" -o got/bad
says "says so, and where to look" "$T/err" "no such capture or artifact"
cp precious-20261121T190000Z-rotate.hotrun "$D/bad-20261121T190000Z-rotate.hotrun"
code "get of what is no capture" 1 "$HOTRUN" captures get bad-20261121T190000Z-rotate.hotrun --dir "$D" -o got/bad
says "says why" "$T/err" "not a hotrun capture"
is "nothing is left of all these" "$(ls got | grep -c bad)" 0
is "precious is as it was" "$(cat precious-20261121T190000Z-rotate.hotrun)" precious
code "the list goes on with it" 0 "$HOTRUN" captures --dir "$D"
says "and says which is unreadable" "$T/out" "unreadable     bad-20261121T190000Z-rotate.hotrun"

# --- remove ---
code "remove of one that is being written" 1 "$HOTRUN" captures remove "${live##*/}" --dir "$D"
says "is refused" "$T/err" "still being written"
code "remove of several, one of which is not there" 1 "$HOTRUN" captures remove --dir "$D" \
	gone-20261121T190000Z-rotate.hotrun "$name" bad-20261121T190000Z-rotate.hotrun
is "removes the others, with their artifacts" "$(cd "$D" && ls *.hotrun *.txt 2>/dev/null | grep -v ^link | xargs)" "${live##*/}"

# --- two recorders, one that is killed, one that hangs, fails, ends ---
"$FAKE" "$D" 2>"$T/err"
is "a second recorder is refused" $? 1
says "the first is named" "$T/err" "hotrun $recorder already records"
stop "$recorder"
code "captures after its kill" 0 "$HOTRUN" captures --dir "$D"
says "cut short" "$T/out" "cut short      ${live##*/}"
code "trigger after its kill" 1 "$HOTRUN" trigger --dir "$D"
says "no recorder" "$T/err" "no recorder runs there"
serve fail
code "a capture that fails" 1 "$HOTRUN" trigger --dir "$D" --after 0s
says "why, and of which" "$T/err" ": No space left on device; what was written can be read"
stop "$recorder"
serve end
code "a recorder that ends" 1 "$HOTRUN" trigger --dir "$D"
says "is told" "$T/err" "has ended before it was done"
serve hang
code "a recorder that hangs" 1 "$HOTRUN" trigger --dir "$D"
says "is told, after a while" "$T/err" "does not answer"
stop "$recorder"

# Ctrl-C ends the waiting, not the capture.
serve
start env --default-signal=INT "$HOTRUN" trigger --dir "$D" --after 3s
caller=$started
until_true 10 grep -q begun "$T/$caller.out" || fail "not begun"
kill -INT "$caller"
wait "$caller"
is "an interrupted caller" $? 1
says "says that it goes on" "$T/$caller.out" "the recorder goes on with it"
until_true 20 sh -c "'$HOTRUN' captures --dir '$D' | grep -q complete" && ok "and so it does" || fail "it does not go on"
stop "$recorder"

# --- whose folder ---
chmod 770 "$D"
code "a folder that others may write to" 1 "$HOTRUN" captures --dir "$D"
says "is refused, with what to do" "$T/err" "chmod go-w"
chmod 700 "$D"
ln -s "$D" link
code "a link to it" 1 "$HOTRUN" trigger --dir link/
says "is not followed" "$T/err" "name the folder itself"
if [ "$(id -u)" = 0 ]; then
	cp "$HOTRUN" hotrun && chmod 755 hotrun
	code "captures as nobody" 1 setpriv --reuid=nobody --regid=nogroup --clear-groups "$T/hotrun" captures --dir "$D"
	says "tells who may" "$T/err" "be that user or root"
fi
