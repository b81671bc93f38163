# SPDX-License-Identifier: GPL-2.0-or-later
# What the live tests share; sourced by tests/live/test_*.sh. Each check prints a line, `ok - ...`,
# `FAIL - ...` or `skip - ...`; tests/live/run.sh counts them. Only pids that were started here are
# ever signalled, and everything that was made is removed, whichever way a test ends.
set -u
export LC_ALL=C
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
HERE=$PWD
BUILD=$(realpath -m "${BUILD:-build}")
HOTRUN=$BUILD/hotrun
LOADS=$BUILD/workloads
PATH=$PATH:/usr/sbin:/sbin
. tests/support/left.sh
export LIVE_TEST=${LIVE_TEST:-$(live_run $$):${0##*/}}
[ -z "${LIVE_PID:-}" ] || echo $$ >"$LIVE_PID"

# make_folder PARENT: one of this test's
make_folder() {
	local folder

	folder=$(mktemp -d "$1/hotrun-live.XXXXXX")
	echo "$LIVE_TEST" >"$folder/.of"
	echo "$folder"
}

# Every file of a test lies here, readable by the nobody user as well.
T=$(make_folder /tmp)
chmod 755 "$T"
PIDS=()
MOUNTS=()
unset SUDO_UID SUDO_GID
export DOTNET_NOLOGO=1 DOTNET_CLI_TELEMETRY_OPTOUT=1

# tidy PID: what a killed runtime leaves in /tmp
tidy() { rm -f "/tmp/perf-$1.map" "/tmp/dotnet-diagnostic-$1-"* "/tmp/clr-debug-pipe-$1-"*; }

finish() {
	local pid mount

	for pid in "${PIDS[@]}"; do
		kill -KILL "$pid" 2>/dev/null
		{ wait "$pid"; } 2>/dev/null
		tidy "$pid"
	done
	for mount in "${MOUNTS[@]}"; do
		umount "$mount" 2>/dev/null || umount -l "$mount"
	done
	rm -rf "$T"
}
trap finish EXIT
trap 'exit 130' INT TERM HUP

ok() { echo "ok - $*"; }

fail() { echo "FAIL - $*"; }

# Says what is missing; run.sh fails on it under CI.
skip() {
	echo "skip - $*"
	exit 0
}

# is NAME GOT WANT: whether it is
is() {
	if [ "$2" = "$3" ]; then ok "$1"; else fail "$1: got '$2', not '$3'" && return 1; fi
}

# within NAME VALUE LOW HIGH
within() {
	if awk -v v="$2" -v l="$3" -v h="$4" 'BEGIN { exit !(v != "" && v + 0 >= l && v + 0 <= h) }'; then
		ok "$1 ($2)"
	else
		fail "$1: $2 is not in $3 .. $4"
	fi
}

# check NAME COMMAND...: the command succeeds
check() {
	local name=$1 out rc

	shift
	out=$("$@" 2>&1)
	rc=$?
	if [ $rc -eq 0 ]; then
		ok "$name"
	else
		fail "$name: exit $rc of $*: $(printf '%s' "$out" | tail -3 | tr '\n\033' '| ')"
	fi
}

# says NAME FILE TEXT: the fixed text stands in the file
says() {
	if grep -qaF -- "$3" "$2"; then ok "$1"; else fail "$1: no '$3' in: $(head -c 400 "$2" | tr '\n\033' '| ')"; fi
}

# says_not NAME FILE TEXT
says_not() {
	if grep -qaF -- "$3" "$2"; then fail "$1: '$(grep -aF -m1 -- "$3" "$2" | head -c 200)'"; else ok "$1"; fi
}

# until_true SECONDS COMMAND...
until_true() {
	local begin=$SECONDS end=$((SECONDS + $1))

	shift
	until "$@"; do
		[ $SECONDS -lt $end ] || return 1
		# What takes longer need not be known at once.
		[ $SECONDS -le $((begin + 1)) ] && sleep 0.05 || sleep 0.15
	done
}

alive() { kill -0 "$1" 2>/dev/null; }

gone() { ! alive "$1"; }

# start COMMAND...: in the background; its pid in $started, its output in $T/$started.out
start() {
	local out

	# Opened here: a child that comes to it late would make another file of that name.
	exec {out}>"$T/starting"
	"$@" >&"$out" 2>&1 {out}>&- &
	started=$!
	echo $started >>"$T/.pids"
	exec {out}>&-
	mv "$T/starting" "$T/$started.out"
	PIDS+=("$started")
}

# stop PID: ends what start() began, quietly
stop() {
	kill -KILL "$1" 2>/dev/null
	{ wait "$1"; } 2>/dev/null
	tidy "$1"
}

# dotnet_start DLL ARGUMENT...: with a perf map
dotnet_start() { DOTNET_PerfMapEnabled=3 start dotnet "$@"; }

# free_ports COUNT: that nobody listens on, all different
free_ports() {
	python3 -c 'import socket, sys
held = [socket.socket() for _ in range(int(sys.argv[1]))]
for s in held:
	s.bind(("127.0.0.1", 0))
print(*(s.getsockname()[1] for s in held))' "$1"
}
free_port() { free_ports 1; }

sql() { sqlite3 -batch -noheader -separator ' ' "file:$1?mode=ro" "$2"; }

facts() { python3 tests/support/facts.py "$@"; }

# managed NAME CAPTURE PID [LEAST [EXE]]: the managed frames of a process have names, in per cent at least (99.5). Where
# it has no map, what its memory cannot tell of any more, since it was read too late on a full host, is told as that and
# is little: in per cent at most $late (0).
managed() {
	local name=$1 least=${4:-99.5}

	facts managed "$2" "$3" ${5:+"$5"} >"$T/managed"
	tail -n +2 "$T/managed" | sed 's/^/#   without: /'
	set -- $(head -1 "$T/managed") $(awk 'NR > 1 && $3 == "memory-late" { n = $1 } END { print n + 0 }' "$T/managed")
	within "$name: managed frames" "$2" 300 10000000
	within "$name: of these, with a name or read too late, per cent" \
		"$(awk -v n="$1" -v t="$2" -v l="$3" 'BEGIN { printf "%.2f", (t > 0 ? 100 * (n + l) / t : 0) }')" "$least" 100
	within "$name: read too late, per cent" "$(awk -v t="$2" -v l="$3" 'BEGIN { printf "%.2f", (t > 0 ? 100 * l / t : 0) }')" 0 "${late:-0}"
}

# as_schema FILE: it is JSON as deploy/hotrun.schema.json documents it
as_schema() {
	local wrong

	wrong=$(cd "$HERE" && tests/support/check_schema.py "$1" 2>&1) && ok "JSON as the schema has it: ${1##*/}" ||
		fail "JSON that the schema does not have: $(head -3 <<<"$wrong" | tr '\n' '|')"
}

# record NAME OPTION...: into $T/NAME.hotrun; messages in $T/NAME.err, summary in $T/NAME.sum
record() {
	local name=$1 rc

	shift
	"$HOTRUN" record -o "$T/$name.hotrun" "$@" >"$T/$name.sum" 2>"$T/$name.err"
	rc=$?
	[ $rc -eq 0 ] || echo "FAIL - record $*: exit $rc: $(head -3 "$T/$name.err" | tr '\n' '|')"
	return $rc
}

# watch PID: waits for a child; the most memory that it was seen to hold, in KiB, in $peak. Returns its
# exit code.
watch() {
	local now

	peak=0
	while alive "$1"; do
		now=$(awk '/^VmHWM/ { print $2 }' "/proc/$1/status" 2>/dev/null)
		[ "${now:-0}" -gt "$peak" ] && peak=$now
		sleep 0.1
	done
	wait "$1"
}

# bpf_of PID: numbers of the BPF objects that it holds, in $progs, $maps and $links. The kernel uses none twice.
bpf_of() {
	local all

	all=$(cat "/proc/$1/fdinfo/"* 2>/dev/null)
	progs=$(awk '$1 == "prog_id:" && $2 { print $2 }' <<<"$all" | sort -nu)
	maps=$(awk '$1 == "map_id:" && $2 { print $2 }' <<<"$all" | sort -nu)
	links=$(awk '$1 == "link_id:" && $2 { print $2 }' <<<"$all" | sort -nu)
}

# bpf_is_gone: of those none is there; which are, in $left
bpf_is_gone() {
	local id

	left=
	for id in $progs; do bpftool prog show id "$id" >/dev/null 2>&1 && left+=" prog:$id"; done
	for id in $maps; do bpftool map show id "$id" >/dev/null 2>&1 && left+=" map:$id"; done
	for id in $links; do bpftool link show id "$id" 2>/dev/null | grep -q . && left+=" link:$id"; done
	[ -z "$left" ]
}

need_root() {
	[ "$(id -u)" = 0 ] || skip "needs root"
}

need_dotnet() {
	command -v dotnet >/dev/null || skip "needs a .NET 10 SDK"
	BUILD=$BUILD tests/support/dotnet.sh "$@" >"$T/dotnet.log" 2>&1 || {
		cat "$T/dotnet.log"
		fail "the C# loads do not build"
		exit 1
	}
}

need_tool() {
	command -v "$1" >/dev/null || skip "needs $1 (Debian package $2)"
}

[ -x "$HOTRUN" ] || {
	fail "$HOTRUN: not there; run make"
	exit 1
}
