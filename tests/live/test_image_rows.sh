#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Rows by which stacks are walked in .NET's own precompiled images, against their code.
# usage: test_image_rows.sh [IMAGE]...   other images than those of the installed runtime
# beside others, 12 s
. "$(dirname "$0")/../support/live.sh"
rows=$BUILD/bench/image_rows
[ -x "$rows" ] || { fail "$rows is not there: make $rows"; exit 1; }
command -v objdump >/dev/null || skip "objdump is not there: it is in binutils"

# compare IMAGE LEAST [FUNCTIONS]: places that were compared, at least so many
compare() {
	local out counts name

	name=$(basename "$1")
	out=$(python3 tests/live/image_rows.py "$1" "$rows" ${3:+"$3"} 2>&1)
	counts=$(printf '%s\n' "$out" | tail -1)
	if [ -n "${counts##[0-9]*}" ]; then
		fail "$name: $counts"
		return
	fi
	set -- "$name" "$2" $counts
	is "$1: $3 of $5 places are as the code has them" "$3" "$5"
	[ "$3" = "$5" ] || printf '%s\n' "$out" | head -20
	within "$1: places that were compared" "$5" "$2" 100000000
}

if [ $# -gt 0 ]; then
	for image in "$@"; do compare "$image" 1; done
	exit 0
fi
host=$(readlink -f "$(command -v dotnet)") || skip "dotnet is not there"
runtime=$(ls -d "$(dirname "$host")"/shared/Microsoft.NETCore.App/* 2>/dev/null | sort -V | tail -1)
[ -n "$runtime" ] || skip "dotnet has no runtime"
compare "$runtime/System.Private.CoreLib.dll" 200000 10000
compare "$runtime/System.Text.Json.dll" 100000
