#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# usage: soak.sh [record|watch|stalls|calm]...     without a name all, one after the other
# record  records a host under churn for SOAK_SECONDS (600) and checks that hotrun stays small, that its books
#         balance, and that the file can be read at the end
# watch   the same for the resident recorder
# stalls  100 stalls of services, each to be captured by itself: half an hour (soak_stalls.py)
# calm    busy services that are fast, of which nothing is to be captured: half an hour (soak_calm.py)
# Needs root; BUILD names the build folder.
# SOAK_RATE=N: short processes a second (200). Exit code: 0 sound, 1 not, 2 could not be tried.
set -eu
cd "$(dirname "$0")/../.."
BUILD=$(realpath -m "${BUILD:-build}")
export BUILD PATH="$PATH:/usr/sbin:/sbin" LC_ALL=C PYTHONDONTWRITEBYTECODE=1
[ "$(id -u)" = 0 ] || {
	echo "recording loads BPF programs: run as root" >&2
	exit 2
}
for file in "$BUILD/hotrun" "$BUILD/workloads/bench_churn"; do
	[ -x "$file" ] || {
		echo "$file: not there; run \`make all workloads\` first" >&2
		exit 2
	}
done
[ $# -gt 0 ] || set -- record watch stalls calm
rc=0
for part in "$@"; do
	case $part in
	record) python3 tests/bench/soak.py || rc=$? ;;
	watch) python3 tests/bench/soak_watch.py || rc=$? ;;
	stalls | calm) python3 "tests/bench/soak_$part.py" || rc=$? ;;
	*)
		echo "$part: not one of record, watch, stalls, calm" >&2
		exit 2
		;;
	esac
done
exit $rc
