#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Runs criterion binaries one after the other; any failure or leak fails the run.
# criterion runs each test in a child: without abort_on_error a leak would be printed and pass.
# TEST_JOBS: tests at a time (2). What a test could not do here it prints as "skipped: reason".
# TEST_AGAIN=1, for those that look at a machine that others use, too: a test that fails runs once more, and this
# second run counts. What failed at first is told, as `unsteady - ...`.
set -u
export ASAN_OPTIONS=abort_on_error=1:detect_leaks=1 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
failed=0
[ $# -gt 0 ] || { echo "no test binaries" >&2; exit 1; }

# run BINARY OPTION...: its output, without colours, in $out
run() {
	local rc

	out=$("$1" --timeout "${TEST_TIMEOUT:-120}" "${@:2}" 2>&1)
	rc=$?
	out=$(sed 's/\x1b\[[0-9;]*m//g' <<<"$out")
	return $rc
}

synthesis() { grep Synthesis <<<"$out" | tail -1; }

# again BINARY: those that failed, once more; fails where one of them does
again() {
	local names name rc=0 first=$out

	names=$(sed -nE 's/^\[FAIL\] ([a-z0-9_]+)::([a-z0-9_]+):.*/\1\/\2/p' <<<"$out" | sort -u)
	[ -n "$names" ] || return 1
	for name in $names; do
		run "$1" --jobs 1 --filter "$name" && [[ $(synthesis) == *'Tested: 1 | Passing: 1 '* ]] || rc=1
	done
	[ $rc -ne 0 ] || sed 's/^/unsteady - /' <<<"$names"
	out=$first
	[ $rc -eq 0 ] && out=$(sed -E 's/(Tested: )([0-9]+) \| Passing: [0-9]+ \| Failing: [0-9]+ \| Crashing: [0-9]+/\1\2 | Passing: \2 | Failing: 0 | Crashing: 0/' <<<"$out")
	return $rc
}

for binary in "$@"; do
	run "$binary" --jobs "${TEST_JOBS:-2}"
	rc=$?
	if [ $rc -ne 0 ] && [ "${TEST_AGAIN:-}" = 1 ]; then
		said=$out
		again "$binary" && { rc=0; grep -A6 '^\[----\].*Assertion' <<<"$said" | head -60; }
	fi
	printf '%-28s %s\n' "$(basename "$binary")" "$(synthesis)"
	grep '^skipped: ' <<<"$out" | sort -u
	if [ $rc -ne 0 ]; then
		printf '%s\n' "$out"
		failed=1
	fi
done
exit $failed
