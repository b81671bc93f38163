#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# run.sh SECONDS BINARY...: runs libFuzzer targets with their corpus; any crash fails the run and
# leaves its input under $BUILD/fuzz-crashes.
set -u
[ $# -ge 2 ] || { echo "usage: run.sh SECONDS BINARY..." >&2; exit 2; }
seconds=$1
shift
root=$(cd "$(dirname "$0")/../.." && pwd)
crashes=${BUILD:-build}/fuzz-crashes
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$crashes"
failed=0
for binary in "$@"; do
	name=$(basename "$binary")
	# What the fuzzer adds goes to a copy, so that the tree stays clean.
	corpus=$scratch/$name
	mkdir -p "$corpus"
	seeds=$root/tests/corpus/${name#fuzz_}
	if [ -d "$seeds" ]; then
		cp -r "$seeds/." "$corpus/"
	else
		echo "$name: no corpus: tests/corpus/${name#fuzz_} is not there" >&2
		failed=1
	fi
	"$binary" -max_total_time="$seconds" -timeout=25 -rss_limit_mb=2048 -print_final_stats=1 \
		-artifact_prefix="$crashes/$name-" "$corpus" >"$scratch/$name.log" 2>&1
	rc=$?
	runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$scratch/$name.log" | tail -1)
	if [ $rc -ne 0 ]; then
		failed=1
		printf '%-28s FAILED (exit %d)\n' "$name" $rc
		tail -60 "$scratch/$name.log"
		grep -o 'Test unit written to .*' "$scratch/$name.log"
	elif [ "${runs:-0}" -lt 1 ]; then
		failed=1
		printf '%-28s FAILED: executed nothing\n' "$name"
		tail -20 "$scratch/$name.log"
	else
		printf '%-28s %s executions\n' "$name" "$runs"
	fi
done
exit $failed
