#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# hotrun on other kernels: 5.10 (too old), 6.1, 6.12 and the newest that Debian has, in emulated
# machines of four CPUs, with the loads of ./init; with one BPF program of each feature refused
# (matrix); and under lockdown. Judges on this host what the guests recorded. Downloads about 130 MB
# of Debian packages the first time; kept in $BUILD/guests. `make guests` runs it.
# usage: run.sh [VERSION]...     GUEST_ONLY=matrix: nothing but that
. "$(dirname "$0")/../../support/live.sh"
. tests/support/guest.sh
G=$BUILD/guests
STATIC=$BUILD/hotrun-static
mkdir -p "$G"
exec 3>&1 > >(tee "$G/checks")

# The guest's own checks, its facts to $T/facts, its files to $T.
unpack() {
	python3 - "$1" "$T" <<'P'
import base64, gzip, sys
log, folder = sys.argv[1:]
name, lines, facts = None, [], open(folder + '/facts', 'w')
for line in open(log, errors='replace'):
    line = line.rstrip('\r\n')
    word, _, rest = line.partition(' ')
    if word == 'FILE':
        name, lines = rest.split('/')[-1], []
    elif name and word == 'END':
        open(f'{folder}/{name}', 'wb').write(gzip.decompress(base64.b64decode(''.join(lines))))
        name = None
    elif name:
        lines.append(line)
    elif word == 'FACT':
        facts.write(rest + '\n')
    elif word == 'KERNEL':
        print('FAIL - the kernel complains:', rest)
    elif line.startswith(('ok - ', 'FAIL - ', '# ')):
        print(line)
P
}

fact() { awk -v n="$1" '$1 == n { print $2 }' "$T/facts"; }

# boot VERSION CPUS SCENARIOS [PARAMETER]...
boot() {
	local version=$1 cpus=$2 scenarios=$3 log limit_s=150

	shift 3
	[ "$scenarios" != matrix ] || limit_s=900
	log=$G/$version-${scenarios//,/-}.log
	rm -f "$T"/*.hotrun "$T/facts"
	guest_kernel "$version" 2>"$T/err" || {
		fail "$version: no kernel to be had: $(cat "$T/err")"
		return 1
	}
	echo "# ${kernel#"$G/"}, $scenarios $*"
	# An emulated machine on a busy host may hang before it has started.
	guest_boot "$cpus" "$limit_s" "$log" guest_scenario="$scenarios" "$@" || grep -q '^.*FACT kernel' "$log" || {
		echo "# did not come up, once more"
		guest_boot "$cpus" "$limit_s" "$log" guest_scenario="$scenarios" "$@"
	}
	unpack "$log"
	check "$version: came to its end" grep -q '^GUEST-END' "$log"
}

# per_cent CAPTURE: time of accounts, idle and unaccounted, of the time of the CPUs that were there
per_cent() {
	sql "$1" 'SELECT round(100.0 * ((SELECT sum(on_cpu_ns) FROM account) + sum(idle_ns + unaccounted_ns))
		/ sum(slice.end_ns - slice.start_ns), 2) FROM cpu JOIN slice ON slice.id = cpu.slice'
}

# of_kernel CAPTURE NAME...: account by hotrun, per cent of what the kernel itself says
of_kernel() {
	local capture=$1 name ours=0 theirs=0

	shift
	for name; do
		ours=$((ours + $(sql "$capture" "SELECT sum(t.on_cpu_ns) FROM thread t WHERE t.comm = '$name'")))
		theirs=$((theirs + $(fact "schedstat_$name")))
	done
	awk -v o="$ours" -v t="$theirs" 'BEGIN { printf "%.2f\n", t ? 100 * o / t : 0 }'
}

samples_of() { sql "$1" "SELECT count(*) FROM sample s JOIN thread t ON t.id = s.thread WHERE t.comm = '$2' ${3:-}"; }

waiters_of() { sql "$1" "SELECT round(avg(s.waiters), 2) FROM sample s JOIN thread t ON t.id = s.thread
	WHERE t.comm LIKE '$2' AND s.cpu = $3"; }

judge_load() {
	local c=$T/load.hotrun name

	within "books make per cent" "$(per_cent "$c")" 98.5 101.5
	# The emulated CPU may be stopped between the two clocks of one switch: that moves time from
	# one of a pair to the other.
	within "all three spinners, per cent of schedstat" "$(of_kernel "$c" alone pair_a pair_b)" 99 102
	for name in alone pair_a pair_b; do
		within "$name, per cent of schedstat" "$(of_kernel "$c" $name)" 92 108
		within "$name: samples" "$(samples_of "$c" $name)" 20 300
	done
	is "ticks taken and samples" "$(sql "$c" 'SELECT abs((SELECT count(*) FROM sample) - sum(ticks_taken)) < 6 FROM cpu')" 1
	within "a pair on one CPU: waiters" "$(waiters_of "$c" 'pair_%' 2)" 0.7 1.4
	within "alone on its CPU: waiters" "$(waiters_of "$c" alone 1)" 0 0.5
	within "kernel frames with a name" "$(sql "$c" 'SELECT count(*) FROM symbol WHERE kind = 1 AND reason = 0')" 20 10000
	is "kernel frames without" "$(sql "$c" 'SELECT count(*) FROM symbol WHERE kind = 1 AND reason != 0')" 0
	is "the load in the kernel reads zeroes" "$(sql "$c" "SELECT count(*) FROM symbol WHERE name = 'read_zero'")" 1
	is "last accounts of 40 short processes" "$(sql "$c" \
		"SELECT count(*) FROM thread WHERE comm = 'sleep' AND exit_ns > 0 AND on_cpu_ns > 0")" 40
	# 10: estimated, not lost.
	is "nothing lost in the kernel (cause:count)" "$(sql "$c" "SELECT group_concat(cause || ':' || count) FROM loss
		WHERE cause < 16 AND cause NOT IN (3, 4, 10, 11)")" ""
	# A thread that wakes while its account is made.
	within "wakeups not seen" "$(sql "$c" 'SELECT total(count) FROM loss WHERE cause = 11')" 0 10
	"$HOTRUN" report "$c" >"$T/here.txt" 2>/dev/null
	check "the same report there and here" cmp "$T/report.txt" "$T/here.txt"
}

# Little's law: the mean number of waiters is the time that all waited, over the time that passed. By
# the kernel's schedstat (its own word for waiting), against what the samples saw.
judge_delayed() {
	local seen told

	seen=$(sql "$T/delayed.hotrun" "SELECT avg(s.waiters) FROM sample s JOIN thread t ON t.id = s.thread
		WHERE (t.comm = 'runs' OR t.comm LIKE 'sleeps_%') AND s.cpu = 2")
	told=$(awk '$1 ~ /^schedstat_(runs|sleeps)/ { wait += $3 } END { print wait / 5e9 }' "$T/facts")
	within "waiters among sleepers, $seen seen for $told told by schedstat: per cent" \
		"$(awk -v s="$seen" -v t="$told" 'BEGIN { printf "%.0f", t ? 100 * s / t : 0 }')" 75 125
}

# sum_of CAPTURE COLUMN NAME: over the threads of that name
sum_of() { sql "$1" "SELECT sum($2) FROM thread WHERE comm GLOB '$3'"; }

per_cent_of() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.1f\n", b ? 100 * a / b : 0 }'; }

# waits_of NAME: what schedstat says that it waited, throttled or not
waits_of() { awk -v n="^schedstat_$1\$" '$1 ~ n { wait += $3 } END { printf "%.0f", wait }' "$T/facts"; }

# The second and third slice lie within the life of the first loads.
judge_waits() {
	local c=$T/waits.hotrun limit_ns

	limit_ns=$(($(fact throttled_us) * 1000))
	within "three on one CPU: waiting for each running, per cent" "$(sql "$c" "SELECT round(100.0 * sum(a.waited_ns) / sum(a.on_cpu_ns))
		FROM account a JOIN thread t ON t.id = a.thread WHERE t.comm GLOB 'queue_*' AND a.slice IN
		(SELECT id FROM slice ORDER BY id LIMIT 2 OFFSET 1)")" 190 210
	within "their waits, per cent of schedstat" "$(per_cent_of "$(sum_of "$c" waited_ns 'queue_*')" "$(waits_of 'queue_.')")" 97 105
	within "two threads beside three: of their waits behind their own, per cent" \
		"$(per_cent_of "$(sum_of "$c" behind_own_ns two)" "$(sum_of "$c" waited_ns two)")" 19 31
	within "three threads beside two: of their waits behind their own, per cent" \
		"$(per_cent_of "$(sum_of "$c" behind_own_ns three)" "$(sum_of "$c" waited_ns three)")" 44 56
	within "half a CPU: throttled, of $((limit_ns / 1000000)) ms by cpu.stat, per cent" \
		"$(per_cent_of "$(sum_of "$c" throttled_ns limited)" "$limit_ns")" 95 105
	within "half a CPU: run delay, per cent of the throttled time" \
		"$(per_cent_of "$(sum_of "$c" waited_ns limited)" "$limit_ns")" 0 15
	within "who naps in a throttled group: throttled and run delay, per cent of schedstat" \
		"$(per_cent_of "$(sum_of "$c" 'throttled_ns + waited_ns' naps)" "$(waits_of naps)")" 95 105
	within "and is throttled, ms" "$(sum_of "$c" throttled_ns naps | awk '{ print $1 / 1e6 }')" 200 2500
}

judge_hidden() {
	is "hidden kallsyms: no kernel name" "$(sql "$T/hidden.hotrun" 'SELECT count(*) FROM symbol WHERE kind = 1 AND reason = 0')" 0
	within "hidden kallsyms: frames that say so" "$(sql "$T/hidden.hotrun" "SELECT count(*) FROM symbol y
		JOIN reason r ON r.id = y.reason WHERE r.word = 'kallsyms-hidden'")" 1 100000
}

judge_hotplug() {
	local c=$T/hotplug.hotrun name

	within "hotplug: books make per cent" "$(per_cent "$c")" 98 102
	is "hotplug: no CPU has more time than passed" "$(sql "$c" 'SELECT count(*) FROM cpu JOIN slice ON slice.id = cpu.slice
		WHERE elapsed_ns > 1.1 * (end_ns - start_ns)')" 0
	is "hotplug: a slice without CPU 1" "$(sql "$c" 'SELECT (SELECT count(*) FROM slice) > count(*) FROM cpu WHERE cpu = 1')" 1
	within "hotplug: all spinners, per cent of schedstat" "$(of_kernel "$c" follower toggled returned)" 99 102
	within "hotplug: samples where it fled to" "$(samples_of "$c" follower 'AND cpu != 1')" 20 500
	within "hotplug: samples on the CPU that came back" "$(samples_of "$c" returned 'AND cpu = 1')" 20 300
	within "hotplug: samples on the CPU that was away for an instant" "$(samples_of "$c" toggled 'AND cpu = 2')" 40 500
}

judge_clock() {
	local c=$T/clock.hotrun

	within "clock step: seconds recorded" "$(sql "$c" 'SELECT (end_ns - start_ns) / 1e9 FROM host')" 3.9 6
	within "clock step: books make per cent" "$(per_cent "$c")" 98.5 101.5
	within "clock step: per cent of schedstat" "$(of_kernel "$c" stepped)" 99 102
	is "clock step: samples out of time" "$(sql "$c" 'SELECT count(*) FROM sample, host WHERE time_ns NOT BETWEEN start_ns - 1e7 AND end_ns + 1e8')" 0
	check "clock step: the report has the day of the start" \
		sh -c "'$HOTRUN' report '$c' 2>/dev/null | sed -n 1p | grep -q ' $(fact clock_start) '"
}

# 100 that took 5 ms; the one of before the session, which waited for these; and the reset one.
judge_requests() {
	is "requests: a listening socket is seen" "$(fact requests_listening)" 1
	is "requests: unanswered since before the session" "$(fact requests_unanswered) $(fact requests_earlier)" "1 1"
	within "requests: its age, ms" "$(fact requests_age_ms)" 40 20000
	is "requests: connections" "$(fact requests_connections)" 4
	is "requests: begun" "$(fact requests_begun)" 102
	is "requests: answered" "$(fact requests_answered)" 101
	is "requests: abandoned" "$(fact requests_abandoned)" 1
	is "requests: joined, pushed" "$(fact requests_joined) $(fact requests_pushed)" "0 0"
	within "requests: ms until all were answered" "$(fact requests_time_ms)" 1000 40000
}

# Off are those that were off before, and those that the table says.
judge_matrix() {
	local row program off want got

	while read -r row program off; do
		got=$(fact "doctor_$program")
		[ -n "$got" ] || { echo "# $row: not on this kernel"; continue; }
		want=$(tr , '\n' <<<"$(fact off),$off" | grep . | sort -u | grep -vxF "$(fact na | tr , '\n')" | paste -sd,)
		is "$row: $program refused: doctor says what is off" "$got" "$want"
		want=$(tr , '\n' <<<"$want" | grep -cvx snapshot)
		is "$row: $program refused: lines of record" "$(fact "record_$program")" "$want"
	done <"$G/feature_rows"
}

judge() {
	local scenario

	for scenario; do
		if [ "$scenario" = requests ] || [ "$scenario" = matrix ] || [ -s "$T/$scenario.hotrun" ]; then
			"judge_$scenario" | sed "s/^\(ok\|FAIL\) - /&$version: /"
		else
			fail "$version: no capture of scenario $scenario"
		fi
	done
}

prepare() {
	gcc -D_GNU_SOURCE -O1 -Wall -Wextra -Werror -fno-omit-frame-pointer -static -pthread -o "$G/spin" tests/live/guest/spin.c &&
		gcc -O1 -Wall -Wextra -Werror -static -o "$G/bpf_objects" tests/live/guest/bpf_objects.c &&
		strip -o "$G/hotrun" "$STATIC" && strip -o "$G/hotrun-refused" "$BUILD/hotrun-refused" &&
		gcc -D_GNU_SOURCE -Iuser -I. -I"$BUILD/gen" -O1 -Wall -Wextra -Werror -static -pthread -o "$G/requests" \
			tests/live/guest/requests.c "$BUILD"/user/kernel/*.o "$BUILD/librooms.a" -lbpf -lelf -lz 2>"$T/err" &&
		strip "$G/requests" &&
		"$LOADS/feature_rows" >"$G/rows" && awk '!row[$1]++ && !program[$2]++' "$G/rows" >"$G/feature_rows" &&
		guest_root tests/live/guest/init "$G/spin" "$G/bpf_objects" "$G/requests" "$G/hotrun" "$G/hotrun-refused" "$G/feature_rows"
}

all() {
	check "an initramfs with the static build" prepare
	guest_qemu 2>"$T/err" || {
		fail "no emulator: $(cat "$T/err")"
		return
	}
	for version; do
		case $version in
		5.10)
			boot 5.10 2 refused,old
			;;
		*)
			[ "${GUEST_ONLY:-}" = matrix ] || {
				boot "$version" 4 doctor,requests,load,delayed,waits,kill,hidden,hotplug,clock
				judge requests load delayed waits hidden hotplug clock
			}
			boot "$version" 2 matrix && judge matrix
			;;
		esac
	done
	case " $* " in
	*" 6.1 "*) boot 6.1 2 refused,locked,blind lockdown=confidentiality ;;
	esac
}

[ $# -gt 0 ] || set -- 5.10 6.1 6.12 newest
start_s=$SECONDS
all "$@"
exec >&3
sleep 0.1
passed=$(grep -c '^ok - ' "$G/checks") failed=$(grep -c '^FAIL - ' "$G/checks")
echo "# $((SECONDS - start_s)) s"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
