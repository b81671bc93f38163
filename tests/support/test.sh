#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What `make test` does when the packages are there: style, layers, build, unit tests, BPF programs,
# a short fuzz of each parser, and the whole binary against real programs.
#
# The tests of the BPF programs wait for most of their time. What only computes (the builds of the tests, the unit
# tests) runs beside them at a lower priority; the fuzz targets, which know no time, beside the live tests that run
# beside others.
#
# The BPF and live tests need root: run as a user they go through sudo; without it they are skipped,
# which fails the run under CI=true. The last line is `N passed, N failed`.
set -u
cd "$(dirname "$0")/../.."
export BUILD=${BUILD:-build}
MAKE=${MAKE:-make}
work=$(mktemp -d)
log=$work/log
trap 'rm -rf "$work"' EXIT
passed=0 failed=0 skipped=0
total_start=$SECONDS

heading() { printf '\n== %s\n' "$1"; }

# tally NAME PASSED FAILED RC [LOG]: adds a part; one that fails without naming a failure is one. The failures that its
# log names are shown again at the end.
tally() {
	local bad=$3

	[ "$4" -eq 0 ] || [ "$bad" -gt 0 ] || bad=1
	passed=$((passed + $2))
	failed=$((failed + bad))
	[ "$bad" -eq 0 ] && return
	echo "FAILED: $1" | tee -a "$work/failures"
	[ -z "${5:-}" ] || grep -aE '^(failed again - |\[FAIL\]|.* FAILED)' "$5" >>"$work/failures"
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

# criterion NAME LOG RC: sums of criterion's closing lines, as unit.sh shows them: passing, and failing or crashing
criterion() {
	local sums

	sums=$(sed 's/\x1b\[[0-9;]*m//g' "$2" |
		sed -nE 's/^[a-z_]+ .*Passing: ([0-9]+) \| Failing: ([0-9]+) \| Crashing: ([0-9]+).*/\1 \2 \3/p' |
		awk '{ p += $1; f += $2 + $3 } END { print p + 0, f + 0 }')
	tally "$1" ${sums% *} ${sums#* } "$3" "$2"
}

# aside NAME COMMAND...: what it says goes to $work/NAME.log, its exit code to $work/NAME.rc, its time to $work/NAME.s
aside() {
	local name=$1 start=$SECONDS

	shift
	"$@" >"$work/$name.log" 2>&1
	echo $? >"$work/$name.rc"
	echo $((SECONDS - start)) >"$work/$name.s"
}

# told NAME: what it said; its exit code
told() {
	cat "$work/$1.log"
	return "$(cat "$work/$1.rc")"
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
# Those that take long begin first: what is last runs alone.
long='watch isolate store names'
unit=$(printf "$BUILD/unit/%s\n" $long $(ls tests/unit | grep -vxF "$(printf '%s\n' $long)"))
step "make" "$MAKE" -j"$(nproc)" all || {
	echo "$passed passed, $failed failed"
	exit 1
}
step "make a second time: nothing to do" "$MAKE" -q all
step check-page "$MAKE" check-page
step "programs that drive the kernel" "$MAKE" -j"$(nproc)" "$BUILD/bpf-tests/bpf" workloads \
	"$BUILD/bench/image_names" "$BUILD/bench/image_rows" "$BUILD/bench/fake_recorder" \
	"$BUILD/bench/metrics_host"

# What only computes, at a low priority; two at a time, since unit tests wait, too.
nice=(nice -n 5)
{
	aside unit-build "${nice[@]}" "$MAKE" -j"$(nproc)" $unit
	# Some hold times against bounds, beside all this.
	aside unit "${nice[@]}" env TEST_AGAIN=1 tests/support/unit.sh $unit
} &
units=$!
{
	if command -v dotnet >/dev/null; then
		aside dotnet "${nice[@]}" tests/support/dotnet.sh
		# The test that needs them says what is wrong with them.
		aside dotnet-others "${nice[@]}" tests/support/dotnet.sh others
	fi
} &
others=$!

heading "BPF programs, loaded and driven"
if [ $root = yes ]; then
	"${as_root[@]}" bash -c '. tests/support/left.sh && left_sweep'
	aside bpf-tests "${as_root[@]}" env TEST_JOBS=1 TEST_AGAIN=1 tests/support/unit.sh "$BUILD/bpf-tests/bpf"
	told bpf-tests
	criterion bpf-tests "$work/bpf-tests.log" $?
else
	echo "skipped: needs root, and there is no sudo"
	skipped=$((skipped + 1))
fi
wait $units $others
for part in unit-build unit dotnet dotnet-others; do
	[ -e "$work/$part.s" ] && printf 'beside it: %-17s %d s\n' $part "$(cat "$work/$part.s")"
done

heading "programs of the tests"
step "of the unit tests" told unit-build
if [ -e "$work/dotnet.rc" ]; then
	step "in C#" told dotnet
else
	echo "no dotnet: the tests with .NET cannot run (install a .NET 10 SDK)"
fi

heading "unit tests, with address and undefined-behaviour sanitizers"
told unit
criterion unit "$work/unit.log" $?

# fuzz: at a low priority, but not one at which an input would take longer than libFuzzer lets it
fuzz() { FUZZ_SECONDS=${FUZZ_SECONDS:-1} aside fuzz-short nice -n 10 "$MAKE" -j"$(nproc)" fuzz-short; }

heading "live: the whole binary against real programs"
if [ $root = yes ]; then
	mkdir -p "$BUILD/live"
	"${as_root[@]}" rm -f "$BUILD/live/beside"
	{
		until [ -e "$BUILD/live/beside" ] || [ -e "$work/live.rc" ]; do sleep 1; done
		fuzz
	} &
	fuzzing=$!
	"${as_root[@]}" tests/live/run.sh 2>&1 | tee "$log"
	rc=${PIPESTATUS[0]}
	echo "$rc" >"$work/live.rc"
	wait $fuzzing
	# shellcheck disable=SC2046
	set -- $(sed -nE 's/^([0-9]+) passed, ([0-9]+) failed, ([0-9]+) skipped$/\1 \2 \3/p' "$log" | tail -1)
	tally live "${1:-0}" "${2:-0}" "$rc" "$log"
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
	fuzz
fi

heading "fuzz targets, a few seconds each"
told fuzz-short
rc=$?
tally fuzz-short "$(grep -c ' executions$' "$work/fuzz-short.log")" "$(grep -c ' FAILED' "$work/fuzz-short.log")" $rc "$work/fuzz-short.log"

heading "all"
if [ "${CI:-}" = true ] && [ $skipped -gt 0 ]; then
	echo "FAILED: $skipped skipped, which CI does not allow"
	failed=$((failed + 1))
fi
[ $skipped -eq 0 ] || echo "$skipped skipped, for the reasons given above"
echo "$((SECONDS - total_start)) s"
[ ! -e "$work/failures" ] || cat "$work/failures"
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
