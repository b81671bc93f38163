#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What `make test` does when the packages are there: style, layers, build, unit tests, BPF programs,
# a short fuzz of each parser, and the whole binary against real programs.
#
# The BPF and live tests need root: run as a user they go through sudo; without it they are skipped,
# which fails the run under CI=true. The last line is `N passed, N failed`.
set -u
cd "$(dirname "$0")/../.."
export BUILD=${BUILD:-build}
MAKE=${MAKE:-make}
log=$(mktemp)
trap 'rm -f "$log"' EXIT
passed=0 failed=0 skipped=0
total_start=$SECONDS

heading() { printf '\n== %s\n' "$1"; }

# tally NAME PASSED FAILED RC: adds a part; one that fails without naming a failure is one
tally() {
	local bad=$3

	[ "$4" -eq 0 ] || [ "$bad" -gt 0 ] || bad=1
	passed=$((passed + $2))
	failed=$((failed + bad))
	[ "$bad" -eq 0 ] || echo "FAILED: $1"
}

# step NAME COMMAND...: one check, its output shown when it fails
step() {
	local name=$1 start=$SECONDS rc

	shift
	"$@" >"$log" 2>&1
	rc=$?
	[ $rc -eq 0 ] || cat "$log"
	[ $rc -eq 0 ] && printf '%-28s ok (%d s)\n' "$name" "$((SECONDS - start))"
	tally "$name" $((rc == 0)) 0 $rc
	return $rc
}

# Sums of criterion's closing lines, as unit.sh shows them: passing, and failing or crashing.
criterion() {
	local name=$1 rc

	shift
	"$@" 2>&1 | tee "$log"
	rc=${PIPESTATUS[0]}
	# shellcheck disable=SC2046
	set -- $(sed -nE 's/^[a-z_]+ .*Passing: ([0-9]+) \| Failing: ([0-9]+) \| Crashing: ([0-9]+).*/\1 \2 \3/p' \
		<(sed 's/\x1b\[[0-9;]*m//g' "$log") | awk '{ p += $1; f += $2 + $3 } END { print p + 0, f + 0 }')
	tally "$name" "$1" "$2" "$rc"
}

# --- as whom ---
as_root=()
root=yes
if [ "$(id -u)" != 0 ]; then
	if command -v sudo >/dev/null && { sudo -n true 2>/dev/null || { [ -t 0 ] && sudo -v; }; }; then
		as_root=(sudo env "PATH=$PATH" "BUILD=$BUILD" "CI=${CI:-}" "DOTNET_ROOT=${DOTNET_ROOT:-}")
	else
		root=no
	fi
fi

heading "style and layers"
if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
	step check-format "$MAKE" check-format
else
	echo "check-format               not a git checkout: not applicable"
fi
step check-layers "$MAKE" check-layers
step check-schema "$MAKE" check-schema

heading "build"
unit=$(ls -d tests/unit/*/ | sed "s|^tests/unit/\(.*\)/$|$BUILD/unit/\1|")
bpf=$BUILD/bpf-tests/bpf
step "make" "$MAKE" -j"$(nproc)" all || {
	echo "$passed passed, $failed failed"
	exit 1
}
step "make a second time: nothing to do" "$MAKE" -q all
step "programs of the tests" "$MAKE" -j"$(nproc)" workloads "$BUILD/bench/image_names" \
	"$BUILD/bench/fake_recorder" "$BUILD/bench/metrics_host" $unit $bpf
if command -v dotnet >/dev/null; then
	step "C# programs of the tests" tests/support/dotnet.sh
else
	echo "no dotnet: the tests with .NET cannot run (install a .NET 10 SDK)"
fi

heading "unit tests, with address and undefined-behaviour sanitizers"
criterion unit tests/support/unit.sh $unit

if [ -n "$bpf" ]; then
	heading "BPF programs, loaded and driven"
	if [ $root = yes ]; then
		criterion bpf-tests "${as_root[@]}" env TEST_JOBS=1 tests/support/unit.sh $bpf
	else
		echo "skipped: needs root, and there is no sudo"
		skipped=$((skipped + 1))
	fi
fi

heading "fuzz targets, a few seconds each"
FUZZ_SECONDS=${FUZZ_SECONDS:-3} "$MAKE" -j"$(nproc)" fuzz-short 2>&1 | tee "$log"
rc=${PIPESTATUS[0]}
tally fuzz-short "$(grep -c ' executions$' "$log")" "$(grep -c ' FAILED' "$log")" "$rc"

heading "live: the whole binary against real programs"
if [ $root = yes ]; then
	"${as_root[@]}" tests/live/run.sh 2>&1 | tee "$log"
	rc=${PIPESTATUS[0]}
	# shellcheck disable=SC2046
	set -- $(sed -nE 's/^([0-9]+) passed, ([0-9]+) failed, ([0-9]+) skipped$/\1 \2 \3/p' "$log" | tail -1)
	tally live "${1:-0}" "${2:-0}" "$rc"
	skipped=$((skipped + ${3:-0}))
	# What root made there must not be in the way of the user's next `make`.
	if [ ${#as_root[@]} -gt 0 ]; then
		sudo chown -R "$(id -u):$(id -g)" "$BUILD"
	elif [ -n "${SUDO_UID:-}" ]; then
		chown -R "$SUDO_UID:${SUDO_GID:-$SUDO_UID}" "$BUILD"
	fi
else
	echo "skipped: needs root, and there is no sudo"
	skipped=$((skipped + 1))
fi

heading "all"
if [ "${CI:-}" = true ] && [ $skipped -gt 0 ]; then
	echo "FAILED: $skipped skipped, which CI does not allow"
	failed=$((failed + 1))
fi
[ $skipped -eq 0 ] || echo "$skipped skipped, for the reasons given above"
echo "$((SECONDS - total_start)) s"
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
