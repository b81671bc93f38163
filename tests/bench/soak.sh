#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# usage: soak.sh [record|watch]...     without a name both, one after the other
# Records a host under churn for SOAK_SECONDS (600) and checks that hotrun stays small, that its books
# balance, and that the file can be read at the end; then the same for the resident recorder. Needs root;
# BUILD names the build folder.
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
[ $# -gt 0 ] || set -- record watch
rc=0
for part in "$@"; do
	case $part in
	record) python3 tests/bench/soak.py || rc=$? ;;
	watch) python3 tests/bench/soak_watch.py || rc=$? ;;
	*)
		echo "$part: neither record nor watch" >&2
		exit 2
		;;
	esac
done
exit $rc
