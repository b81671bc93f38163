#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Runs criterion binaries, some at a time; what they say comes in the order of the arguments. Any failure or leak
# fails the run. criterion runs each test in a child: without abort_on_error a leak would be printed and pass.
# TEST_JOBS: binaries at a time, and tests at a time of each (2): the last of many binaries is alone for a while, and
# tests wait. What a test could not do here it prints as "skipped: reason".
# TEST_AGAIN=1, for those that look at a machine that others use, too: a test that fails runs up to twice more, and the
# last run counts. What failed at first is told, as `unsteady - ...`.
set -u
export ASAN_OPTIONS=abort_on_error=1:detect_leaks=1 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
JOBS=${TEST_JOBS:-2}
[ $# -gt 0 ] || { echo "no test binaries" >&2; exit 1; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# run BINARY OPTION...: its output, without colours, in $out
run() {
	local rc

	out=$("$1" --timeout "${TEST_TIMEOUT:-120}" "${@:2}" 2>&1)
	rc=$?
	out=$(sed 's/\x1b\[[0-9;]*m//g' <<<"$out")
	return $rc
}

synthesis() { grep Synthesis <<<"$out" | tail -1; }

# passes BINARY NAME: that test, alone
passes() { run "$1" --jobs 1 --filter "$2" && [[ $(synthesis) == *'Tested: 1 | Passing: 1 '* ]]; }

# again BINARY: those that failed, up to twice more; fails where one of them does each time
again() {
	local names name rc=0 first=$out

	names=$(sed -nE 's/^\[FAIL\] ([a-z0-9_]+)::([a-z0-9_]+):.*/\1\/\2/p' <<<"$out" | sort -u)
	[ -n "$names" ] || return 1
	for name in $names; do
		passes "$1" "$name" || passes "$1" "$name" || rc=1
	done
	[ $rc -ne 0 ] || sed 's/^/unsteady - /' <<<"$names"
	out=$first
	[ $rc -eq 0 ] && out=$(sed -E 's/(Tested: )([0-9]+) \| Passing: [0-9]+ \| Failing: [0-9]+ \| Crashing: [0-9]+/\1\2 | Passing: \2 | Failing: 0 | Crashing: 0/' <<<"$out")
	return $rc
}

# test_one BINARY: what is said of it; fails where a test of it does
test_one() {
	local rc said

	run "$1" --jobs "$JOBS"
	rc=$?
	if [ $rc -ne 0 ] && [ "${TEST_AGAIN:-}" = 1 ]; then
		said=$out
		again "$1" && { rc=0; grep -A6 '^\[----\].*Assertion' <<<"$said" | head -60; }
	fi
	printf '%-28s %s\n' "$(basename "$1")" "$(synthesis)"
	grep '^skipped: ' <<<"$out" | sort -u
	[ $rc -eq 0 ] || printf '%s\n' "$out"
	return $rc
}

for binary in "$@"; do
	while [ "$(jobs -rp | wc -l)" -ge "$JOBS" ]; do wait -n; done
	name=$(basename "$binary")
	{ test_one "$binary" >"$scratch/$name" || : >"$scratch/$name.failed"; } &
done
wait
for binary in "$@"; do
	cat "$scratch/$(basename "$binary")"
done
! ls "$scratch"/*.failed >/dev/null 2>&1
