#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Stacks of code without frame pointers: they reach the root, and where their chains are known, not a frame
# is missing or invented. All programs run at a time, at a lower priority than the workers that read their files.
# quite alone
. "$(dirname "$0")/../support/live.sh"
need_root
need_dotnet Chain
need_tool git git
need_tool xz xz-utils
need_tool openssl openssl

CHAIN=$LOADS/chain
programs=()

# load KIND COMMAND...: what stacks of it look like stands in stacks.py
load() {
	local kind=$1

	shift
	start nice -n 10 "$@"
	programs+=("$started=$kind")
}

# load_child KIND COMMAND...: it is the child that computes
load_child() {
	local kind=$1 child

	shift
	start nice -n 10 "$@"
	until_true 5 eval "child=\$(pgrep -P $started)"
	programs+=("$child=$kind")
}

# history COMMITS: a stream for git fast-import, of a file that changes in every commit
history() {
	python3 -c 'import sys
lines = [f"line {i}\n" for i in range(2000)]
for n in range(int(sys.argv[1])):
	for i in range(20):
		lines[n * 97 + i * 89 & 1023] = f"line {i} of commit {n}\n"
	text = "".join(lines)
	print(f"commit refs/heads/main\nmark :{n + 1}\ncommitter a <a> {n} +0000\ndata 1\nx", end="")
	print(f"from :{n}\n" if n else "", f"M 644 inline file\ndata {len(text)}\n{text}", sep="")' "$1"
}

# Methods that are compiled a second time once they are called often, and such as are optimized at once.
DOTNET_PerfMapEnabled=3 load managed dotnet "$BUILD/dotnet/Chain/Chain.dll" 30 "$CHAIN-first.so"
DOTNET_PerfMapEnabled=3 DOTNET_TieredCompilation=0 \
	load managed-once dotnet "$BUILD/dotnet/Chain/Chain.dll" 30 "$CHAIN-first.so"
once=$started
git init -q "$T/repository" && history 3000 | git -C "$T/repository" fast-import --quiet ||
	fail "no repository for git log"
load chain "$CHAIN-main" 30 chain
load brief "$CHAIN-main" 30 brief
load deep:400 "$CHAIN-main" 30 deep 400
load deep:900 "$CHAIN-main" 30 deep 900
load signal "$CHAIN-main" 30 signal
load signal-brief "$CHAIN-main" 30 signal brief
load signal-brief "$CHAIN-main" 30 signal brief alternate
load forever "$CHAIN-main" 30 forever
load library "$CHAIN-main" 20 library "$CHAIN-first.so" "$CHAIN-second.so"
load throw "$CHAIN-throw" 30
load signal-brief "$CHAIN-static" 30 signal brief
[ -x "$CHAIN-musl" ] || fail "needs musl-gcc (Debian package musl-tools) for programs without tables of their C library"
load musl-signal "$CHAIN-musl" 30 signal alternate
load_child chain "$CHAIN-main" 30 fork
load_child chain "$CHAIN-main" 30 vfork
load any /usr/bin/python3 -c 'while True: sorted({str(i): i for i in range(20000)})'
load any sh -c 'exec xz -c -T1 /dev/zero >/dev/null'
load any openssl speed -seconds 30 sha256
load any git -C "$T/repository" --no-pager log -p main
# .NET compiles its methods first, for which it waits behind all these.
sleep 3
set -- $(python3 tests/support/stacks.py frameless "$once")
within "methods that keep no frame pointer, of $2" "$1" 5 35
# The tables of all these are made in the first seconds, behind all these.
record all -d 12 -F 997 || exit 1
for program in "${programs[@]}"; do stop "${program%%=*}"; done

# Deeper than is kept, by which the middle is left out; and without tables.
start nice -n 10 "$CHAIN-main" 30 deep 3000
deep=$started
start nice -n 10 "$LOADS/native" 30
framed=$started
record fp -d 2 -F 499 --stacks fp -p "$deep" -p "$framed" &
record deep -d 4 -F 499 --stack-depth 2048 -p "$deep"
wait $!
stop "$deep"
stop "$framed"

# One after the other, each of which lives for some 300 ms, or a second and more on a slow machine.
start sh -c 'while :; do git -C "$0" --no-pager log -p -600 main >/dev/null; done' "$T/repository"
record brief -d 10 -F 499
stop "$started"

{
	python3 tests/support/stacks.py "$T/all.hotrun" 5 "${programs[@]}" &&
		python3 tests/support/stacks.py "$T/deep.hotrun" 2 "$deep=deep:3000"
} >"$T/stacks" || fail "stacks.py: exit $?"
while read -r name kind samples whole known unsure wrong; do
	case $name in
	'#') echo "# $kind $samples $whole $known $unsure $wrong" | cut -c 1-2000 ;;
	*)
		least=99
		# In the first moments of a library its rows are not there.
		[ "$kind" = library ] && least=80
		within "$name $kind: $samples samples reach the root, per cent" \
			"$(awk -v w="$whole" -v s="$samples" 'BEGIN { print (s >= 50 ? 100 * w / s : 0) }')" $least 100
		# Methods that were compiled just now are not known yet.
		[ "$kind" = managed ] || within "$name $kind: of these say that callers may be missing, per cent" \
			"$(awk -v u="$unsure" -v w="$whole" 'BEGIN { print (w ? 100 * u / w : 0) }')" 0 1
		# A method that was compiled a moment ago has no rows yet.
		most=0
		case $kind in
		managed*) most=2 ;;
		# libgcc writes the frame in which it lands over its own: for some instructions no unwind data holds.
		throw) most=1 ;;
		esac
		[ "$kind" = any ] || within "$name $kind: of these not by the known chain, per cent" \
			"$(awk -v n="$wrong" -v w="$whole" 'BEGIN { print (w ? 100 * n / w : 0) }')" 0 "$most"
		;;
	esac
done <"$T/stacks"

is "without tables: none is said to reach the root by them" \
	"$(sql "$T/fp.hotrun" 'SELECT count(*) FROM stack WHERE "end" != 0')" 0
is "and code that keeps no frame pointer breaks them" "$(sql "$T/fp.hotrun" "SELECT count(*) FROM stack s
	JOIN process p ON p.id = s.process WHERE p.tgid = $deep AND NOT s.flags & 256")" 0
"$HOTRUN" export "$T/fp.hotrun" -o "$T/folded" 2>"$T/err" || fail "export: $(cat "$T/err")"
set -- $(facts share "$T/folded" native main)
within "but main is at the root of code that keeps them, per cent" \
	"$(awk -v h="$1" -v t="$2" 'BEGIN { print (t >= 50 ? 100 * h / t : 0) }')" 97 100
set -- $(sql "$T/brief.hotrun" 'SELECT count(*), sum(s."end" = 1), count(DISTINCT p.id) FROM sample x
	JOIN stack s ON s.key = x.user_stack JOIN process p ON p.id = s.process WHERE p.comm = "git"' | tr '|' ' ')
within "git, of $3 processes: $1 samples reach the root, per cent" \
	"$(awk -v w="$2" -v s="$1" 'BEGIN { print (s >= 200 ? 100 * w / s : 0) }')" 85 100
