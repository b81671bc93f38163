#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Native programs: static functions, C++ names, a stripped file, a file that was deleted.
# beside others
. "$(dirname "$0")/../support/live.sh"
need_root

cat >"$T/shop.cpp" <<'C'
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <vector>
namespace shop {
template <typename T> struct Basket {
	std::vector<T> items;
	[[gnu::noinline]] T total(int rounds) const
	{
		T sum = 0;
		for (int i = 0; i < rounds; i++)
			for (T item : items)
				sum = sum * 3 + item;
		return sum;
	}
};
}
int main(int, char **argv)
{
	shop::Basket<std::uint64_t> basket{std::vector<std::uint64_t>(1000, 7)};
	std::time_t end = std::time(nullptr) + std::atoi(argv[1]);
	std::uint64_t sum = 0;
	while (std::time(nullptr) < end)
		sum += basket.total(100);
	return sum == 1;
}
C
check "a C++ program for the test" g++ -O2 -fno-omit-frame-pointer -o "$T/shop" "$T/shop.cpp"
cp "$LOADS/native" "$T/removed"
# One stripped copy that has lost its identity, too, and one that has the build id of the full file.
strip -s -R .note.gnu.build-id -o "$T/stripped" "$LOADS/native"
strip -s -o "$T/twin" "$LOADS/native"

start "$T/twin" 12
twin=$started
start "$LOADS/native" 12
native=$started
start "$T/shop" 12
shop=$started
start "$T/stripped" 12
stripped=$started
start "$T/removed" 12
removed=$started
sleep 0.3
rm "$T/removed"
# Five spinners on few CPUs: a higher rate for as many samples of each.
record native -d 6 -F 399 || exit 1
stop "$native"
stop "$twin"
stop "$shop"
stop "$stripped"
stop "$removed"
capture=$T/native.hotrun
"$HOTRUN" export "$capture" -o "$T/folded" 2>"$T/err" || fail "export: $(cat "$T/err")"
check "folded lines are stacks and counts" facts folded "$T/folded"

# The split of one slot, by the same rule as the load: 70/30 of main's time.
set -- $(facts share "$T/folded" native inner_hot)
spread=$(awk -v n="$2" 'BEGIN { print 300 * sqrt(0.21 / n) + 3 }')
within "inner_hot has 70 % of $2 samples" "$(awk -v h="$1" -v t="$2" 'BEGIN { print 100 * h / t }')" \
	"$(awk -v s="$spread" 'BEGIN { print 70 - s }')" "$(awk -v s="$spread" 'BEGIN { print 70 + s }')"
set -- $(facts share "$T/folded" native inner_cold)
within "inner_cold has 30 %" "$(awk -v h="$1" -v t="$2" 'BEGIN { print 100 * h / t }')" \
	"$(awk -v s="$spread" 'BEGIN { print 30 - s }')" "$(awk -v s="$spread" 'BEGIN { print 30 + s }')"
set -- $(facts share "$T/folded" native main)
within "main is at the root of them, per cent" "$(awk -v h="$1" -v t="$2" 'BEGIN { print 100 * h / t }')" 97 100
check "callers stand before callees, static functions have names" \
	grep -q '^native;.*main;outer;inner_hot ' "$T/folded"

check "a C++ name reads as it was written" \
	grep -q ';shop::Basket<unsigned long>::total ' "$T/folded"

leaf=$(facts reasons "$capture" "$stripped" | sed -n 1p)
is "a stripped file says so: $leaf" "${leaf#* }" no-symbol
set -- $leaf
within "for nearly all of its samples" "$(awk -v h="$1" \
	-v t="$(sql "$capture" "SELECT samples FROM process_cpu WHERE tgid = $stripped")" 'BEGIN { print 100 * h / t }')" 90 100
check "and shows the file instead of a name" grep -q '^stripped;.*;stripped ' "$T/folded"
is "the report tells the remedy" "$("$HOTRUN" report "$capture" 2>/dev/null |
	grep -A1 'no-symbol: file has no symbol there' | grep -c 'dbgsym')" 1

# Deleted while it runs: its file can still be read through the process.
set -- $(facts share "$T/folded" removed inner_hot)
leaf=$(facts reasons "$capture" "$removed" | sed -n 1p)
case ${leaf#* } in
named) within "a deleted file keeps its names: $leaf" "$(awk -v h="$1" -v t="$2" 'BEGIN { print 100 * h / t }')" 55 85 ;;
*) is "a deleted file says so: $leaf" "${leaf#* }" file-gone ;;
esac
