#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Measures the budgets beside peers, in the same run, and says `within` or `OVER` for each.
#
#   tests/bench/run.sh             all rows, about 25 minutes
#   tests/bench/run.sh switch      one row or several; `run.sh --list` names them
#
# ROUNDS=N in the environment: N interleaved rounds instead of each row's own number (2 is a smoke
# test). Needs root, a quiet machine, `make all workloads` done; BUILD names the build folder. The
# table is on stdout, what happens on stderr, and $BUILD/bench.tsv has the figures for machines.
# Exit code: 0 all within, 1 a budget is broken, 2 a row could not be measured.
set -eu
cd "$(dirname "$0")/../.."
BUILD=$(realpath -m "${BUILD:-build}")
export BUILD PATH="$PATH:/usr/sbin:/sbin" LC_ALL=C PYTHONDONTWRITEBYTECODE=1
[ "${1:-}" = --list ] || [ "$(id -u)" = 0 ] || {
	echo "the measurements load BPF programs: run as root" >&2
	exit 2
}
[ "${1:-}" = --list ] || [ -x "$BUILD/hotrun" ] || {
	echo "$BUILD/hotrun: not there; run \`make all workloads\` first" >&2
	exit 2
}
exec python3 tests/bench/main.py "$@"
