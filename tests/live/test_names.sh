#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Every construct of C# reads as the source has it and has its share, plainly, with --just-my-code and
# with --raw-names. NAMES_LOAD: another build of the load, like Names@net8.0 (tests/support/dotnet.sh).
# beside others, 18 s
. "$(dirname "$0")/../support/live.sh"
need_root
NAMES_LOAD=${NAMES_LOAD:-Names}
need_dotnet "$NAMES_LOAD"
program=$BUILD/dotnet/$NAMES_LOAD/Names
[ -x "$program" ] || program="dotnet $program.dll"

# export_folded NAME OPTION...: folded stacks into $T/NAME
export_folded() {
	local name=$1

	shift
	"$HOTRUN" export "$@" "$T/names.hotrun" >"$T/$name" 2>"$T/err" || fail "export $*: $(cat "$T/err")"
}

# shares NAME HOW: each caller has the samples that its CPU time asks for
shares() {
	local hits low high name

	facts names "$T/truth" "$T/$1" Names "$2" >"$T/$1.rows" || fail "$1: no rows"
	while IFS=$'\t' read -r hits low high name; do
		within "$1: $name" "$hits" "$low" "$high"
	done <"$T/$1.rows"
}

export DOTNET_PerfMapEnabled=3
# shellcheck disable=SC2086
record names --names map -F 499 -- $program 8 "$T/truth" || exit 1
unset DOTNET_PerfMapEnabled
tidy "$(sql "$T/names.hotrun" "SELECT tgid FROM process WHERE name = 'Names'")"
within "constructs in the load" "$(wc -l <"$T/truth")" 60 100

export_folded display
export_folded mine --just-my-code
export_folded raw --raw-names
shares display display
shares mine mine
shares raw raw

# Calls of a method by itself are frames; the body that replaced another one on the stack is not.
is "a recursion of four calls" "$(facts calls "$T/display" Names Shop.Names.Bodies.Recurse | sed -n '1s/ .*//p')" 4
is "a replaced body is one frame" "$(facts calls "$T/display" Names Shop.Names.Bodies.Replaced | cut -d' ' -f1)" 1
check "though it was replaced" test "$(sql "$T/names.hotrun" \
	"SELECT count(*) FROM location WHERE tier = 'OptimizedTier1OSR'")" -gt 0

# Native code of the runtime, whose file has no symbols: caller and callee, shares of the caller.
inside() {
	awk -v caller=";Shop.Names.Bodies.$1_[j];" -v callee="$2" 'index($0, caller) { t += $NF; if ($0 ~ callee) n += $NF }
		END { printf "%.1f %d", (t ? 100 * n / t : 0), t }' "$T/display"
}
set -- $(inside Waited ';ThreadNative_SpinWait[; ]')
within "a QCall of the runtime has its name, per cent of $2 samples" "$1" 90 100
set -- $(inside Copied ';System[.]Buffer[.]_*BulkMoveWithWriteBarrier[A-Za-z]*[; ]')
within "an FCall has its name, per cent of $2 samples" "$1" \
	"$(awk -v n="$2" 'BEGIN { print 80 - 300 * sqrt(0.8 * 0.2 / n) }')" 100

# What is folded is not lost.
total() { facts share "$T/$1" Names "$2" | cut -d' ' -f"${3:-2}"; }
is "just my code counts every sample" "$(total mine x)" "$(total display x)"
is "raw names count every sample" "$(total raw x)" "$(total display x)"
says_not "no kernel frame stands below an application frame" "$T/mine" "Spin_[j];do_syscall_64"
grep -v '\[framework\];' "$T/mine" >"$T/mine.called"
says_not "no framework frame is left" "$T/mine.called" ";System."
# Also where it was not known yet how its stacks are walked.
within "work without application code has its row, samples" "$(awk '/;\[framework\];/ { n += $NF } END { print n + 0 }' "$T/mine")" 1 100000
export_folded foreign --just-my-code --not-my-code 'Names'
is "a list makes the application foreign" "$(facts share "$T/foreign" Names Load.Burn.Spin | cut -d' ' -f1)" 0
export_folded linq --just-my-code --my-code 'System.Linq*'
check "and a framework one's own" grep -q ';System.Linq.Enumerable' "$T/linq"
"$HOTRUN" report --just-my-code -p Names "$T/names.hotrun" >"$T/report" 2>"$T/err" || fail "report: $(cat "$T/err")"
says "the report says how it is to be read" "$T/report" "just my code: what application methods call"
"$HOTRUN" report --just-my-code --raw-names -p Names "$T/names.hotrun" >"$T/report" 2>"$T/err" || fail "report"
says "raw names in the report" "$T/report" "Load.Burn::Spin("
"$HOTRUN" flame --just-my-code -o "$T/page.html" "$T/names.hotrun" 2>"$T/err" || fail "flame: $(cat "$T/err")"
tests/support/page_block.py "$T/page.html" >"$T/page.json"
says "the page tells it, too" "$T/page.json" '"justMyCode": true'
"$HOTRUN" export --my-code a/b "$T/names.hotrun" >"$T/out" 2>"$T/err"
is "a path is no module" $? 2
