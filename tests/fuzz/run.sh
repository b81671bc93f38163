#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# run.sh SECONDS BINARY...: runs libFuzzer targets with their corpus, one on each CPU; any crash fails the run
# and leaves its input under $BUILD/fuzz-crashes.
set -u
[ $# -ge 2 ] || { echo "usage: run.sh SECONDS BINARY..." >&2; exit 2; }
seconds=$1
shift
root=$(cd "$(dirname "$0")/../.." && pwd)
crashes=${BUILD:-build}/fuzz-crashes
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$crashes"

# fuzz BINARY: what is said of it, one line if all is well; fails where it does
fuzz() {
	local name rc runs corpus seeds

	name=$(basename "$1")
	# What the fuzzer adds goes to a copy, so that the tree stays clean.
	corpus=$scratch/$name
	seeds=$root/tests/corpus/${name#fuzz_}
	if ! cp -r "$seeds" "$corpus" 2>/dev/null; then
		printf '%-28s FAILED: no corpus: tests/corpus/%s is not there\n' "$name" "${name#fuzz_}"
		return 1
	fi
	"$1" -max_total_time="$seconds" -timeout=25 -rss_limit_mb=2048 -print_final_stats=1 -print_funcs=0 \
		-artifact_prefix="$crashes/$name-" "$corpus" >"$scratch/$name.log" 2>&1
	rc=$?
	runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$scratch/$name.log" | tail -1)
	if [ $rc -ne 0 ]; then
		printf '%-28s FAILED (exit %d)\n' "$name" $rc
		tail -60 "$scratch/$name.log"
		grep -o 'Test unit written to .*' "$scratch/$name.log"
		return 1
	fi
	if [ "${runs:-0}" -lt 1 ]; then
		printf '%-28s FAILED: executed nothing\n' "$name"
		tail -20 "$scratch/$name.log"
		return 1
	fi
	printf '%-28s %s executions\n' "$name" "$runs"
}

for binary in "$@"; do
	while [ "$(jobs -rp | wc -l)" -ge "$(nproc)" ]; do wait -n; done
	{ fuzz "$binary" >"$scratch/said.$(basename "$binary")" || : >"$scratch/failed"; } &
done
wait
for binary in "$@"; do
	cat "$scratch/said.$(basename "$binary")"
done
[ ! -e "$scratch/failed" ]
