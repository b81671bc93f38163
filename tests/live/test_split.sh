#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A C# program with a known 60/40 split: names, shares, the thickest trunk, exact cores.
# beside others
. "$(dirname "$0")/../support/live.sh"
need_root
need_dotnet Split

dotnet_start "$BUILD/dotnet/Split/Split.dll" 15 "$T/truth"
split=$started
until_true 20 test -s "$T/truth" || fail "the load does not start"
sleep 1.2 # the methods reach their last tier
record split -d 6 -F 199 || exit 1
capture=$T/split.hotrun
sleep 0.2
stop "$split"
rm -f "/tmp/perf-$split.map"

# Truth over exactly the window of the recording, by the load's own clocks.
set -- $(sql "$capture" 'SELECT start_ns, end_ns FROM host')
set -- $(facts truth "$T/truth" "$1" "$2")
wall=$1 cpu=$2 first=$3 second=$4
true_share=$(awk -v a="$first" -v b="$cpu" 'BEGIN { print 100 * a / b }')
within "the load did split 60/40" "$(awk -v a="$first" -v b="$second" 'BEGIN { print 100 * a / (a + b) }')" 59 61

is "the process is called by its entry assembly" \
	"$(sql "$capture" "SELECT name FROM process WHERE tgid = $split")" Split
cores=$(sql "$capture" "SELECT on_cpu_s FROM process_cpu WHERE tgid = $split")
within "its CPU time by switches is that of its own clock" \
	"$(awk -v a="$cores" -v b="$cpu" 'BEGIN { print a / b }')" 0.97 1.03

"$HOTRUN" export "$capture" -o "$T/folded" 2>"$T/err" || fail "export: $(cat "$T/err")"
check "folded lines are stacks and counts" facts folded "$T/folded"
set -- $(facts share "$T/folded" Split Shop.Pricing.Engine.Reprice)
hits=$1 total=$2
within "as many samples as ticks in its CPU time" "$(awk -v n="$total" -v c="$cpu" 'BEGIN { print n / (c * 199) }')" 0.95 1.05
# Three standard errors of the sampling and 3 points.
spread=$(awk -v p="$true_share" -v n="$total" 'BEGIN { p /= 100; print 300 * sqrt(p * (1 - p) / n) + 3 }')
within "the share of Reprice is the true one ($true_share)" \
	"$(awk -v h="$hits" -v t="$total" 'BEGIN { print 100 * h / t }')" \
	"$(awk -v p="$true_share" -v s="$spread" 'BEGIN { print p - s }')" \
	"$(awk -v p="$true_share" -v s="$spread" 'BEGIN { print p + s }')"
set -- $(facts share "$T/folded" Split 'Shop.Search.Index<T>.Rank')
within "and that of Rank" "$(awk -v h="$1" -v t="$2" 'BEGIN { print 100 * h / t }')" \
	"$(awk -v a="$second" -v b="$cpu" -v s="$spread" 'BEGIN { print 100 * a / b - s }')" \
	"$(awk -v a="$second" -v b="$cpu" -v s="$spread" 'BEGIN { print 100 * a / b + s }')"
set -- $(facts share "$T/folded" Split 'Shop.Search.Service.SearchAsync (async)')
within "an async method reads as it was written" "$(awk -v h="$1" -v t="$2" 'BEGIN { print 100 * h / t }')" 30 50

set -- $(facts jit "$capture" "$split")
within "JIT frames with a name, of $2" "$(awk -v n="$1" -v t="$2" 'BEGIN { print 100 * n / t }')" 99.5 100

"$HOTRUN" report -p "$split" "$capture" >"$T/report" 2>"$T/err" || fail "report: $(cat "$T/err")"
is "start here names the method" \
	"$(sed -n '/^start here/,/^books/p' "$T/report" | grep -A1 "Split $split:" | tail -1 | xargs)" \
	"Shop.Pricing.Engine.Reprice (Split) [j]"
# Of the two methods the thicker trunk stands first in the tree.
trunk=$(sed -n '/call tree/,/^$/p' "$T/report" | grep -oE 'Engine\.Reprice|Index<[^>]*>\.Rank' | head -1)
is "the thickest trunk ends in Reprice" "$trunk" Engine.Reprice
says "its own thread has its role" "$T/report" " pricing"
says "the perf map is in use" "$T/report" "perf map: in use"
says "the recording is complete" "$T/report" "· complete"
"$HOTRUN" report -b -p Split "$capture" >"$T/bottom" 2>"$T/err" || fail "report -b: $(cat "$T/err")"
is "bottom-up begins with the method that burns most" \
	"$(sed -n '/call tree\|methods that burn\|callees\|bottom/,/^$/p' "$T/bottom" | grep -m1 -o 'Shop[^ ]*')" \
	Shop.Pricing.Engine.Reprice
set -- $(facts books "$capture")
within "accounts, idle and unaccounted make CPUs x elapsed" "$(awk -v a="$3" -v b="$1" 'BEGIN { print a / b }')" 0.99 1.01
