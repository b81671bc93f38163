#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The live tests: the whole binary against real programs, on this host's kernel. As root.
# usage: run.sh [NAME]...     runs test_NAME.sh; without names, all of them
# Those with a line `# beside others` run several at a time, all others alone and before them.
# A line per check; the last line is `N passed, N failed, N skipped`. Under CI=true a skip fails.
# Most look at a machine that others use, too: a test that fails runs once more when all others are done, and
# this second run counts. What failed at first is told again at the end, as `unsteady - ...`.
set -u
cd "$(dirname "$0")/../.."
BUILD=$(realpath -m "${BUILD:-build}")
export BUILD LC_ALL=C
mkdir -p "$BUILD/live"
LANES=${LIVE_LANES:-3}
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
	grep -q '^page: no chromium' "$BUILD/live/page.raw" && echo "skip - needs chromium (Debian package chromium)"
	return $rc
}

# run_one NAME: what it says goes to its log
run_one() {
	local name=$1 log=$BUILD/live/$1.log start=$SECONDS rc

	echo "# $name" >"$log"
	if [ "$name" = page ]; then
		run_page >>"$log" 2>&1
	else
		timeout -k 10 "${LIVE_TIMEOUT:-300}" "tests/live/test_$name.sh" >>"$log" 2>&1
	fi
	rc=$?
	[ $rc -eq 124 ] && echo "FAIL - $name: not done after ${LIVE_TIMEOUT:-300} s" >>"$log"
	[ $rc -ne 0 ] && ! grep -qa '^FAIL - ' "$log" && echo "FAIL - $name: ended with exit code $rc" >>"$log"
	if [ "${CI:-}" = true ]; then
		sed -i -E 's/^skip - (.*)$/FAIL - skipped, which CI does not allow: \1/' "$log"
	fi
	grep -qaE '^(ok|FAIL|skip) - ' "$log" || echo "FAIL - $name: checked nothing" >>"$log"
	echo "# $name: $((SECONDS - start)) s" >>"$log"
}

# failed NAME: its last run has a failure
failed() { grep -qa '^FAIL - ' "$BUILD/live/$1.log"; }

# run_beside_others NAME...: the output of each as it ends
run_beside_others() {
	local name

	for name in "$@"; do
		while [ "$(jobs -rp | wc -l)" -ge "$LANES" ]; do wait -n; done
		{ run_one "$name" && cat "$BUILD/live/$name.log"; } &
	done
	wait
}

if [ $# -eq 0 ]; then
	# Those that leave a capture for others come first; then the longest.
	set -- aspnet watch deploy perfmap $(cd tests/live && ls test_*.sh |
		sed -E 's/^test_//; s/\.sh$//' | grep -vxE 'aspnet|watch|deploy|perfmap')
fi
alone=() beside=()
for name in "$@"; do
	if grep -qs '^# beside others$' "tests/live/test_$name.sh"; then beside+=("$name"); else alone+=("$name"); fi
done
for name in "${alone[@]}"; do
	run_one "$name"
	cat "$BUILD/live/$name.log"
done
run_beside_others "${beside[@]}"
again=()
for name in "$@"; do
	failed "$name" && again+=("$name")
done
unsteady=
for name in "${again[@]}"; do
	unsteady+=$(sed -n "s/^FAIL - /unsteady - $name: /p" "$BUILD/live/$name.log")$'\n'
	echo "# once more:"
	run_one "$name"
	cat "$BUILD/live/$name.log"
done
[ -z "$unsteady" ] || printf '\nfailed when it first ran:\n%s' "$unsteady"
for name in "$@"; do
	log=$BUILD/live/$name.log
	passed=$((passed + $(grep -ca '^ok - ' "$log")))
	failed=$((failed + $(grep -ca '^FAIL - ' "$log")))
	skipped=$((skipped + $(grep -ca '^skip - ' "$log")))
	sed -n "s/^FAIL - /failed again - $name: /p" "$log"
done
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ]
