#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Installs the Debian packages named that are not there yet; asks for root only when it must.
set -eu
missing=()
for p in "$@"; do
	dpkg-query -W -f '${Status}' "$p" 2>/dev/null | grep -q 'ok installed' || missing+=("$p")
done
[ ${#missing[@]} -gt 0 ] || exit 0
command -v apt-get >/dev/null || {
	echo "not a Debian system; please install what corresponds to: ${missing[*]}" >&2
	exit 1
}
as_root=()
if [ "$(id -u)" != 0 ]; then
	command -v sudo >/dev/null || {
		echo "missing packages: ${missing[*]}; run as root: apt-get install ${missing[*]}" >&2
		exit 1
	}
	as_root=(sudo)
fi
echo "installing: ${missing[*]}"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
export DEBIAN_FRONTEND=noninteractive
"${as_root[@]}" apt-get update -qq >"$log" 2>&1 || true
"${as_root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >"$log" 2>&1 || {
	cat "$log" >&2
	exit 1
}
