#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Runs criterion binaries one after the other; any failure or leak fails the run.
# criterion runs each test in a child: without abort_on_error a leak would be printed and pass.
# TEST_JOBS: tests at a time (2). What a test could not do here it prints as "skipped: reason".
set -u
export ASAN_OPTIONS=abort_on_error=1:detect_leaks=1 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
failed=0
[ $# -gt 0 ] || { echo "no test binaries" >&2; exit 1; }
for binary in "$@"; do
	out=$("$binary" --jobs "${TEST_JOBS:-2}" --timeout "${TEST_TIMEOUT:-120}" 2>&1)
	rc=$?
	printf '%-28s %s\n' "$(basename "$binary")" "$(printf '%s\n' "$out" | grep -E 'Synthesis' | tail -1)"
	printf '%s\n' "$out" | grep '^skipped: ' | sort -u
	if [ $rc -ne 0 ]; then
		printf '%s\n' "$out"
		failed=1
	fi
done
exit $failed
