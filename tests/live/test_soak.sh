#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The long run under churn (`make soak`) in twelve seconds: its books balance, its names are there, its memory is
# what the processes that came are worth.
# beside others, 15 s
. "$(dirname "$0")/../support/live.sh"
need_root
need_tool bpftool bpftool

SOAK_SECONDS=12 timeout 120 tests/bench/soak.sh record >"$T/said" 2>&1
code=$?
sed -n 's/^ok  */ok - /p; s/^FAILED  */FAIL - /p' "$T/said"
[ $code = 0 ] || fail "exit code $code: $(tail -1 "$T/said")"
within "checks" "$(grep -c '^ok ' "$T/said")" 15 20
