#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Installs the npm packages named, NAME@VERSION, with no script of theirs run, into $BUILD/npm: readers that the tests
# of the export formats open files with.
set -eu
cd "$(dirname "$0")/../.."
folder=$(realpath -m "${BUILD:-build}")/npm
wanted="$*"
[ "$(cat "$folder/.wanted" 2>/dev/null)" = "$wanted" ] && exit 0
command -v npm >/dev/null || tests/support/install.sh npm
echo "installing: $wanted"
mkdir -p "$folder"
echo '{"private": true}' >"$folder/package.json"
npm install --prefix "$folder" --silent --ignore-scripts --no-audit --no-fund --no-package-lock --no-save "$@" >"$folder/.log" 2>&1 || {
	cat "$folder/.log" >&2
	exit 1
}
echo "$wanted" >"$folder/.wanted"
