#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Wrong usage, outputs that cannot be written, exit codes, signals, reading without privileges.
# beside others, 50 s
. "$(dirname "$0")/../support/live.sh"
need_root
need_tool setpriv util-linux

# code NAME WANT COMMAND...: exit code; stdout in $T/out, stderr in $T/err
code() {
	local name=$1 want=$2 rc

	shift 2
	timeout 60 "$@" >"$T/out" 2>"$T/err" </dev/null
	rc=$?
	if [ $rc = "$want" ]; then ok "$name"; else fail "$name: exit $rc, not $want: $(head -2 "$T/err" | tr '\n' '|')"; fi
}
nobody=(setpriv --reuid=nobody --regid=nogroup --clear-groups)
cd "$T" || exit 1

# --- usage ---
code "no command" 2 "$HOTRUN"
says "tells how to use it" "$T/err" "usage: hotrun"
code "--help" 0 "$HOTRUN" --help
says "on stdout" "$T/out" "usage: hotrun"
code "--version" 0 "$HOTRUN" --version
code "an unknown command" 2 "$HOTRUN" recrod
says "names it" "$T/err" "recrod"
for command in record report export flame diff query runq top requests threads snapshot doctor recover perfmap trigger captures history seccomp; do
	code "$command --help" 0 "$HOTRUN" $command --help
	says "$command --help is on stdout" "$T/out" "usage: hotrun $command"
	code "$command: unknown option" 2 "$HOTRUN" $command --no-such-option
	says "$command: names the option" "$T/err" "no-such-option"
done
# Manual and completion are made of the same rows as --help: no option is missing in any.
code "help names no other command" 2 "$HOTRUN" help recrod
code "a shell that is none of them" 2 "$HOTRUN" help --completion csh
says "names those that are" "$T/err" "bash, zsh or fish"
for shell in bash zsh fish; do
	"$HOTRUN" help --completion $shell >"$T/completion.$shell"
	is "completion for $shell: exit code" $? 0
done
"$HOTRUN" help --manual >"$T/pages.1"
python3 - "$HOTRUN" "$T" >"$T/missing" <<'P'
import re, subprocess, sys
said = lambda *words: subprocess.run([sys.argv[1], *words], stdout=subprocess.PIPE, text=True).stdout
script = {shell: open(f'{sys.argv[2]}/completion.{shell}').read() for shell in ('bash', 'zsh', 'fish')}
has = lambda pattern, text: re.search(pattern, text, re.M)
for command in re.findall(r'^  ([a-z]+) ', said('--help'), re.M):
    if command == 'hotrun':
        continue
    page = said('help', '--manual', command).replace(r'\-', '-')
    missing = []
    for option in re.findall(r'^ +(?:-., )?(--[a-z-]+)', said('help', command), re.M):
        for where, found in (('man', has(option + r'\\fR', page)),
                             ('bash', has(rf'words=".*{option}[ "]', script['bash'])),
                             ('zsh', has(rf"{option}([=}}']|$)", script['zsh'])),
                             ('fish', has(rf"from {command}'.* -l {option[2:]} ", script['fish']))):
            if not found:
                missing.append(f'{option}({where})')
    print(command, *missing)
P
within "commands with a manual page" "$(wc -l <"$T/missing")" 15 50
while read -r command missing; do
	is "$command: no option is missing in manual and completion" "$missing" ""
	grep -q "^\.BR hotrun.*-$command (1)" "$T/pages.1" && ok "$command: hotrun(1) names its page" ||
		fail "$command: hotrun(1) names its page"
done <"$T/missing"
# completes WANT WORD...: what bash offers for the last word
completes() {
	local want=$1

	shift
	is "bash completes: $*" "$(bash -c '. "$1"; shift
		COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)); _hotrun; echo "${COMPREPLY[*]}"' - "$T/completion.bash" "$@")" \
		"$want"
}
completes "record report rename requests recover" hotrun re
completes "--format --force" hotrun report --fo
completes "text json" hotrun report --format ""
completes json hotrun report --format = j
completes "list get remove" hotrun captures ""
completes "cpu waiting switches slow verdict" hotrun top -s ""
completes "" hotrun report -p ""
code "a word for a number of seconds" 2 "$HOTRUN" record -d soon
says "calls the option as it was written" "$T/err" "-d soon"
code "a negative duration" 2 "$HOTRUN" record --duration -1
says "so, too" "$T/err" "--duration -1"
code "no frequency" 2 "$HOTRUN" record -F 0
code "a frequency with a tail" 2 "$HOTRUN" record -F 99x
code "a frequency beyond all bounds" 2 "$HOTRUN" record -F 99999999999999999999
code "a pid that is no number" 2 "$HOTRUN" record -p self
code "an event that does not exist" 2 "$HOTRUN" record --event cache-misses
for value in "" x 500 0ms 61s 500msec =1s 0=1s 65536=1s 80= -1s 1e3ms; do
	code "--slow '$value'" 2 "$HOTRUN" record --slow "$value"
	says "--slow '$value': says what is wanted" "$T/err" "8080=200ms"
done
code "a threshold for too many ports" 2 "$HOTRUN" record $(seq -f "--slow %g=1s" 17)
code "thresholds that are fine, before a value that is not" 2 "$HOTRUN" record --slow 1us --slow 60s \
	--slow 0.5s --slow 8080=1.5ms --slow 8080=2ms -F 0
says "only that one is told" "$T/err" "-F 0"
code "a command without --" 2 "$HOTRUN" record sleep 1
code "a pid that does not exist" 1 "$HOTRUN" record -d 1 -p 4194304
says "says so" "$T/err" "no such process"
code "a cgroup that does not exist" 1 "$HOTRUN" record -d 1 --cgroup /no/such/group
says "says so, too" "$T/err" "no such cgroup"
code "an unknown format" 2 "$HOTRUN" export --format pprof2 x.hotrun
code "a limit that does not exist" 2 "$HOTRUN" report --limit progres=80% x.hotrun
says "names it" "$T/err" "progres: no such limit"
printf '[Shop.Push]\nstuck = soon\n' >limits.conf
code "a configuration file with a wrong line" 1 "$HOTRUN" report --config limits.conf x.hotrun
says "names file, line and what is wanted" "$T/err" "limits.conf:2: stuck = soon: a time"
code "a configuration file that is not there" 1 "$HOTRUN" report --config no.conf x.hotrun
is "nothing was recorded by any of them" "$(ls | grep -c hotrun)" 0

# --- outputs: refused before anything is recorded ---
# The command must not have run either: it would have left a file.
mkdir -m 755 dir
printf 'precious\n' >foreign
ln -s foreign link
ln -s nowhere dangling
for pair in "no/such/folder/x.hotrun:folder that does not exist" "dir:folder" "foreign:file of somebody else" \
	"link:symbolic link" "dangling:dangling link" "/proc/x.hotrun:file system that takes no files"; do
	code "record -o a ${pair##*:}" 125 "$HOTRUN" record -q -o "${pair%%:*}" -- touch "$T/ran"
	is "a ${pair##*:}: nothing ran" "$(ls "$T" | grep -cx ran)" 0
	says_not "a ${pair##*:}: nothing was attached" "$T/err" "recording"
done
is "the foreign file is as it was" "$(cat foreign)" precious
is "no link was followed" "$(ls | grep -cx nowhere)" 0
is "no temporary file stays" "$(find . -name '*hotrun*' | wc -l)" 0

# --- record -- CMD ---
code "the command's own exit code" 7 "$HOTRUN" record -q -o cmd.hotrun -- sh -c 'exit 7'
is "a capture of root belongs to root alone" "$(stat -c %a cmd.hotrun)" 600
code "a command that a signal ended" 143 "$HOTRUN" record -q -o cmd.hotrun -- sh -c 'kill -TERM $$'
code "an own earlier capture is replaced" 0 "$HOTRUN" record -q -o cmd.hotrun -- true
code "a command that is not there" 127 "$HOTRUN" record -q -o none.hotrun -- /no/such/program
printf 'not a program' >plain
code "a file that cannot be executed" 126 "$HOTRUN" record -q -o none.hotrun -- "$T/plain"
code "the command reads stdin and writes stdout as it would alone" 0 \
	"$HOTRUN" record -q -o cmd.hotrun -- sh -c 'cat /dev/stdin; echo out; echo err >&2'
is "its output is untouched" "$(cat "$T/out")" out
SUDO_UID=$(id -u nobody) SUDO_GID=$(id -g nobody) "$HOTRUN" record -q -d 0.5 -o sudo.hotrun 2>/dev/null
is "under sudo the capture belongs to the user" "$(stat -c %U sudo.hotrun 2>&1)" nobody

# CMD outlives a killed hotrun (the shell tells of its end on stderr).
"$HOTRUN" record -q -o killed.hotrun -- sh -c "echo \$\$ >'$T/child'; exec sleep 60" 2>"$T/err.killed" &
hotrun=$!
PIDS+=("$hotrun")
until_true 10 test -s "$T/child" || fail "the command does not start"
child=$(cat "$T/child")
PIDS+=("$child")
kill -KILL "$hotrun"
{ wait "$hotrun"; } 2>/dev/null
sleep 0.5
check "the command outlives a killed hotrun" alive "$child"
is "and is not a zombie" "$(awk '{ print $3 }' "/proc/$child/stat")" S
kill -KILL "$child"

# --- signals end a recording and keep it ---
start "$LOADS/spinners" 1 60
spinner=$started
for signal in INT TERM HUP; do
	# A script's background commands ignore SIGINT, and hotrun leaves that as it is.
	env --default-signal=INT "$HOTRUN" record -o "$signal.hotrun" >"$T/out" 2>"$T/err.$signal" &
	hotrun=$!
	PIDS+=("$hotrun")
	until_true 20 grep -qs recording "$T/err.$signal" || fail "no start-up line"
	sleep 1.2
	kill -"$signal" "$hotrun"
	until_true 20 gone "$hotrun" || kill -KILL "$hotrun"
	wait "$hotrun"
	is "SIG$signal: exit code" $? 0
	is "SIG$signal: complete" "$(sql "$signal.hotrun" 'SELECT complete FROM host')" 1
	says "SIG$signal: the summary comes" "$T/out" spinners
done
stop "$spinner"

nohup "$HOTRUN" record -q -d 2.5 -o nohup.hotrun >/dev/null 2>"$T/err.nohup" &
hotrun=$!
PIDS+=("$hotrun")
until_true 10 grep -qs recording "$T/err.nohup" || fail "no start-up line"
kill -HUP "$hotrun"
wait "$hotrun"
within "what nohup ignores stays ignored, s" "$(sql nohup.hotrun 'SELECT (end_ns - start_ns) / 1e9 FROM host')" 2.4 5
rm nohup.hotrun

# --- reading ---
head -c 20000 /dev/urandom >garbage
printf 'SQLite format 3\0' >half && head -c 500 INT.hotrun | tail -c 484 >>half
sqlite3 other.db 'CREATE TABLE x (y); INSERT INTO x VALUES (1)'
: >empty
head -c $(($(stat -c %s INT.hotrun) / 2)) INT.hotrun >torn
for file in garbage half other.db empty torn foreign dir no-such-file; do
	for command in "report" "export" "flame -o out.html"; do
		code "$command $file" 1 "$HOTRUN" $command "$file"
		says "$command $file: names the file" "$T/err" "$file"
	done
done
is "no page is left of them" "$(ls | grep -c html)" 0
mkdir bare
code "report in a folder without captures" 1 sh -c "cd bare && '$HOTRUN' report"
says "tells what to do" "$T/err" "hotrun record"
code "report without a name takes the newest" 0 "$HOTRUN" report
says "and says which" "$T/err" "HUP.hotrun"
code "a process that is not there" 1 "$HOTRUN" report -p no-such-process INT.hotrun
code "flame without a file name for the page" 0 "$HOTRUN" flame -o page.html INT.hotrun

# What a capture tells is as secret as the capture: nobody else reads it, and a umask takes away what it says.
for mask in 022 077 277; do
	for command in "flame -o f.out INT.hotrun" "export -o f.out INT.hotrun" "doctor -o f.out" \
		"record -q -d 0.1 -o f.out" "rename -o f.out INT.hotrun"; do
		# A capture is written in several steps, by who has let go of the right to write what is read-only.
		[ "$mask:${command%% *}" != 277:record ] || continue
		rm -f f.out
		(umask $mask && "$HOTRUN" $command >/dev/null 2>&1)
		is "umask $mask, $command: mode" "$(stat -c %a f.out 2>&1)" "$(printf %o $((0600 & ~0$mask)))"
	done
done
rm -f f.out
touch f.out && chmod 644 f.out
"$HOTRUN" export -o f.out INT.hotrun
is "a file that others could read is replaced by one that they cannot" "$(stat -c %a f.out)" 600
rm -f f.out
mkfifo pipe
cat pipe >read &
"$HOTRUN" export -o pipe INT.hotrun
{ wait $!; } 2>/dev/null
check "a pipe is written as it is" test -p pipe -a -s read

# Of what only reads nothing is to be kept: SIGINT and SIGTERM end it at once, not when it has noticed. Here
# nobody reads its result.
sleep 60 <>pipe &
PIDS+=("$!")
catches() { [ $((0x$(awk '/^SigCgt/ { print $2 }' "/proc/$1/status") & 0x4002)) != 0 ]; }
leaves_signals() { ! catches "$1"; }
"$HOTRUN" flame INT.hotrun >pipe &
hotrun=$!
PIDS+=("$hotrun")
check "signals are left to the kernel while it writes" until_true 10 leaves_signals "$hotrun"
kill -INT "$hotrun"
{ wait "$hotrun"; } 2>/dev/null
is "SIGINT ends it" $? 130
mkdir ended
for when in 0.01 0.02 0.03 0.04 0.05 0.06 0.08 0.1; do
	for signal in INT TERM; do
		"$HOTRUN" flame -o ended/page.html INT.hotrun 2>/dev/null &
		hotrun=$!
		sleep $when
		kill -$signal "$hotrun" 2>/dev/null
		{ wait "$hotrun"; } 2>/dev/null
		case $?:$signal in 0:* | 130:INT | 143:TERM) ;; *) fail "SIG$signal after $when s: neither done nor ended by it" ;; esac
		[ ! -e ended/page.html ] || tail -c 100 ended/page.html | grep -q '</html>' ||
			fail "SIG$signal after $when s: half a page"
	done
done
is "whenever it was ended, nothing else is left" "$(ls ended | grep -vcx page.html)" 0

# A reader that has seen enough: no message of a failure, no signal.
"$HOTRUN" report --all INT.hotrun 2>"$T/err" | head -1 >/dev/null
is "report | head -1: quiet" "$(cat "$T/err")" ""
"$HOTRUN" export INT.hotrun 2>"$T/err" | head -c 1 >/dev/null
is "export | head: quiet" "$(cat "$T/err")" ""
code "a full disk for the result" 1 sh -c "'$HOTRUN' export INT.hotrun >/dev/full"
says "is told" "$T/err" "No space left"

# --- without privileges ---
chmod 755 "$T"
mkdir -m 755 copy
cp INT.hotrun copy/copy.hotrun
chmod 644 copy/copy.hotrun
cp "$HOTRUN" copy/hotrun
code "record as nobody" 1 "${nobody[@]}" "$T/copy/hotrun" record -d 1 -o /tmp/nobody.hotrun
says "tells what it needs" "$T/err" "root"
says "and which capability" "$T/err" "missing: BPF PERFMON"
is "it left nothing" "$(ls /tmp | grep -c '^nobody.hotrun')" 0
sum=$(md5sum <copy/copy.hotrun)
code "report as nobody from a copy without write access" 0 "${nobody[@]}" "$T/copy/hotrun" report copy/copy.hotrun
says "reads it" "$T/out" spinners
code "export as nobody" 0 "${nobody[@]}" "$T/copy/hotrun" export copy/copy.hotrun
within "has stacks" "$(grep -c '^spinners;' "$T/out")" 1 1000
code "flame as nobody" 0 "${nobody[@]}" "$T/copy/hotrun" flame copy/copy.hotrun -o -
says "is a page" "$T/out" "<html"
is "the copy is as it was" "$(md5sum <copy/copy.hotrun)" "$sum"
is "nothing lies beside it" "$(ls copy | xargs)" "copy.hotrun hotrun"
chmod 600 copy/copy.hotrun
code "report as nobody of a file that only root may read" 1 "${nobody[@]}" "$T/copy/hotrun" report copy/copy.hotrun
says "says why" "$T/err" "ermission"
