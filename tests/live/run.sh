#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The live tests: the whole binary against real programs, on this host's kernel. As root.
# What runs that were killed have left is swept first; a test that leaves something fails.
# usage: run.sh [NAME]...     runs test_NAME.sh; without names, all of them
# Those with a line `# quite alone` come first; then those with `# mostly waits` begin, in lanes of their own; beside
# these all others run alone, and after them those with `# beside others`, several at a time. The longest begin first:
# `..., 60 s` behind it says that one is long.
# LIVE_LANES: tests at a time (3), and half as many of those that mostly wait; with 1 all run one after the other.
# $BUILD/live/beside is there once those run that run beside others: then test.sh runs there what only computes.
# A line per check; the last line is `N passed, N failed, N skipped`. Under CI=true a skip fails.
# Most look at a machine that others use, too: a test that fails runs once more, alone, when all others are done, and
# one that fails then, too, a third time, when all second runs are; the last run counts. What failed before it is told
# again at the end, as `unsteady - ...`, or `unsteady twice - ...`.
set -u
cd "$(dirname "$0")/../.."
BUILD=$(realpath -m "${BUILD:-build}")
export BUILD LC_ALL=C
mkdir -p "$BUILD/live"
. tests/support/left.sh
# What is called python3 may be a script that looks for it each time (pyenv), for longer than most of what is asked here.
python=$(python3 -c 'import sys; print(sys.executable)' 2>/dev/null) && PATH=$(dirname "$python"):$PATH
LANES=${LIVE_LANES:-3}
RUN=$(live_run $$)
passed=0 failed=0 skipped=0

# The page test speaks of `ok` and `FAILED`; its page is that of the capture of the web service.
run_page() {
	local rc

	if [ ! -e "$BUILD/live/aspnet.hotrun" ]; then
		tests/live/test_page.sh
	else
		tests/live/test_page.sh "$BUILD/live/aspnet.hotrun"
	fi >"$BUILD/live/page.raw" 2>&1
	rc=$?
	sed -E 's/^(.*[ ])?ok +/ok - \1/; s/^(.*[ ])?FAILED +/FAIL - \1/' "$BUILD/live/page.raw"
	sed -n 's|^page: no |skip - needs |p' "$BUILD/live/page.raw"
	return $rc
}

# run_it NAME: its exit code
run_it() {
	if [ "$1" = page ]; then run_page; else timeout -k 10 "${LIVE_TIMEOUT:-300}" "tests/live/test_$1.sh"; fi
}

# run_one NAME: what it says goes to its log; with the CPU time of what it started and waited for, and when it began,
# in seconds since this run did
run_one() {
	local name=$1 log=$BUILD/live/$1.log TIMEFORMAT='%R %U %S' rc began=$SECONDS

	echo "# $name" >"$log"
	rm -f "$log.pid"
	{ time LIVE_TEST=$RUN:$name LIVE_PID=$log.pid run_it "$name" >>"$log" 2>&1; } 2>"$log.time"
	rc=$?
	left_told "$RUN:$name" "$(cat "$log.pid" 2>/dev/null || echo none)" >>"$log"
	[ $rc -eq 124 ] && echo "FAIL - $name: not done after ${LIVE_TIMEOUT:-300} s" >>"$log"
	[ $rc -ne 0 ] && ! grep -qa '^FAIL - ' "$log" && echo "FAIL - $name: ended with exit code $rc" >>"$log"
	if [ "${CI:-}" = true ]; then
		sed -i -E 's/^skip - (.*)$/FAIL - skipped, which CI does not allow: \1/' "$log"
	fi
	grep -qaE '^(ok|FAIL|skip) - ' "$log" || echo "FAIL - $name: checked nothing" >>"$log"
	awk -v n="$name" -v b="$began" 'END { printf "# %s: %.0f s, %.0f s of a CPU, begun at %d s\n", n, $1, $2 + $3, b }' \
		"$log.time" >>"$log"
}

# failed NAME: its last run has a failure
failed() { grep -qa '^FAIL - ' "$BUILD/live/$1.log"; }

# run_and_tell NAME...: one after the other, the output of each as it ends
run_and_tell() {
	local name

	for name in "$@"; do
		run_one "$name"
		cat "$BUILD/live/$name.log"
	done
}

# run_in_lanes COUNT NAME...: so many at a time
run_in_lanes() {
	local lanes=$1 name running=()

	shift
	for name in "$@"; do
		while running=($(jobs -rp)) && [ ${#running[@]} -ge "$lanes" ]; do wait -n "${running[@]}"; done
		run_and_tell "$name" &
	done
	wait
}

# marked LINE NAME...: those of the tests that have the line `# LINE`, the longest first
marked() {
	local line=$1 name

	shift
	for name; do
		sed -nE "s/^# $line(, ([0-9]+) s)?\$/\2 $name/p" "tests/live/test_$name.sh" 2>/dev/null
	done | sed 's/^ /0 /' | sort -srn -k1,1 | cut -d' ' -f2
}

left_sweep
rm -f "$BUILD/live/beside"
if [ $# -eq 0 ]; then
	# The one that leaves a capture for others comes first.
	set -- aspnet $(cd tests/live && ls test_*.sh | sed -E 's/^test_//; s/\.sh$//' | grep -vx aspnet)
fi
beside=($(marked 'beside others' "$@"))
waiting=($(marked 'mostly waits' "$@"))
first=($(marked 'quite alone' "$@"))
alone=()
for name in "$@"; do
	[[ " ${beside[*]} ${waiting[*]} ${first[*]} " == *" $name "* ]] || alone+=("$name")
done
run_and_tell "${first[@]}"
if [ "$LANES" -gt 1 ]; then
	run_in_lanes $(((LANES + 1) / 2)) "${waiting[@]}" &
else
	alone+=("${waiting[@]}")
fi
run_and_tell "${alone[@]}"
: >"$BUILD/live/beside"
run_in_lanes "$LANES" "${beside[@]}" &
wait
unsteady=
for how in unsteady 'unsteady twice'; do
	again=()
	for name in "$@"; do
		failed "$name" || continue
		again+=("$name")
		unsteady+=$(sed -n "s/^FAIL - /$how - $name: /p" "$BUILD/live/$name.log")$'\n'
	done
	[ ${#again[@]} -gt 0 ] || break
	echo "# once more: ${again[*]}"
	run_and_tell "${again[@]}"
done
[ -z "$unsteady" ] || printf '\nfailed before their last run:\n%s' "$unsteady"
for name in "$@"; do
	log=$BUILD/live/$name.log
	passed=$((passed + $(grep -ca '^ok - ' "$log")))
	failed=$((failed + $(grep -ca '^FAIL - ' "$log")))
	skipped=$((skipped + $(grep -ca '^skip - ' "$log")))
	sed -n "s/^FAIL - /failed again - $name: /p" "$log"
done
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ]
