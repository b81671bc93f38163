#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Installs the Debian packages named that are missing; says beforehand which, and how large. Asks for root only then.
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
apt=("${as_root[@]}" env LC_ALL=C DEBIAN_FRONTEND=noninteractive apt-get)
echo "these Debian packages are missing and will be installed${as_root:+ (through sudo)}: ${missing[*]}"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
"${apt[@]}" update -qq >"$log" 2>&1 || true
"${apt[@]}" install --assume-no --no-install-recommends "${missing[@]}" 2>/dev/null |
	sed -n 's/^\(Need to get\|After this operation\)/  &/p' || true
"${apt[@]}" install -y -qq --no-install-recommends "${missing[@]}" >"$log" 2>&1 || {
	cat "$log" >&2
	exit 1
}
