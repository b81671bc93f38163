# SPDX-License-Identifier: GPL-2.0-or-later
# What live tests leave on the machine: told of each test that ends, and swept of runs that were killed. Sourced.
# A test and all that it starts have LIVE_TEST=PID:STARTED:NAME in their environment, of the run that they belong to:
# its run.sh, or the test itself where that was started by hand. Its folders have a file .of that says the same, and
# .pids with the processes that it started; its control groups are called hotrun-live-PID..., by the test's own pid.
. "$(dirname "${BASH_SOURCE[0]}")/pod_group.sh"

# started_at PID: when, in ticks since boot; nothing where it is gone
started_at() { sed -E 's/.*\) //' "/proc/$1/stat" 2>/dev/null | cut -d' ' -f20; }

# live_run PID: the first two words of LIVE_TEST of a run that is this process
live_run() { echo "$1:$(started_at "$1")"; }

# run_lives WORDS: of LIVE_TEST
run_lives() { [ -n "$1" ] && [ "$(live_run "${1%%:*}")" = "$(cut -d: -f1,2 <<<"$1")" ]; }

# of_test PID: LIVE_TEST of a process
of_test() { tr '\0' '\n' 2>/dev/null <"/proc/$1/environ" | sed -n 's/^LIVE_TEST=//p' | head -1; }

# is_dying PID: killed, and in a wait that the kernel does not break off: for a file that does not answer
is_dying() {
	awk '/^State:/ { waits = $2 == "D" } /^(SigPnd|ShdPnd):/ { killed = killed || index("13579bdf", substr($2, length($2) - 2, 1)) }
		END { exit !(waits && killed) }' "/proc/$1/status" 2>/dev/null
}

# left_processes WORDS: pids of what has them in its environment, of WORDS the beginning
left_processes() {
	local file pid

	for file in $(grep -lazsE "^LIVE_TEST=$1(:|\$)" /proc/[0-9]*/environ); do
		pid=${file#/proc/} pid=${pid%/environ}
		# What has ended, and is waited for by nobody yet, has no environment.
		[ "$pid" = $$ ] || [ "$pid" = $BASHPID ] || echo "$pid"
	done
}

left_folders() { grep -lsE "^$1(:|\$)" /tmp/hotrun-live.*/.of /var/tmp/hotrun-live.*/.of | sed 's|/\.of$||'; }

# left_groups PID: of the test with that pid
left_groups() { find /sys/fs/cgroup -maxdepth 6 -type d \( -name "hotrun-live-$1" -o -name "hotrun-live-$1-*" \); }

# left_holders FOLDER: who has it in its command line, and their children: containers, which have an environment of
# their own, below those who watch them
left_holders() {
	local file pid

	for file in $(grep -lasF "$1/" /proc/[0-9]*/cmdline); do
		pid=${file#/proc/} pid=${pid%/cmdline}
		[ "$pid" = $$ ] || [ "$pid" = $BASHPID ] || echo "$pid" $(cat "/proc/$pid/task/"*/children 2>/dev/null)
	done
}

# left_remove_folder FOLDER: with whom holds it, what is mounted below it, and what those that its test started left
# in /tmp
left_remove_folder() {
	local mount pid

	for pid in $(left_holders "$1"); do
		kill -KILL "$pid" 2>/dev/null
	done
	for mount in $(awk -v f="$1/" 'index($2, f) == 1 { print $2 }' /proc/self/mounts | sort -r); do
		umount -l "$mount"
	done
	for pid in $(cat "$1/.pids" 2>/dev/null); do
		[ -e "/proc/$pid" ] || rm -f "/tmp/perf-$pid.map" "/tmp/dotnet-diagnostic-$pid-"* "/tmp/clr-debug-pipe-$pid-"*
	done
	rm -rf "$1"
}

left_remove_group() {
	local pid

	for pid in $(find "$1" -name cgroup.procs -exec cat {} +); do kill -KILL "$pid"; done
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		find "$1" -depth -type d -exec rmdir {} \; 2>/dev/null
		[ -d "$1" ] || return 0
		sleep 0.1
	done
	return 1
}

# left_sweep: what runs left that are no more; says what
left_sweep() {
	local words pid folder group

	for pid in $(left_processes '[0-9]+:[0-9]+'); do
		words=$(of_test "$pid")
		[ -z "$words" ] || run_lives "$words" || { echo "# swept: process $pid, of $words" && kill -KILL "$pid"; }
	done
	for folder in $(left_folders '[0-9]+:[0-9]+'); do
		words=$(cat "$folder/.of")
		run_lives "$words" || { echo "# swept: $folder, of $words" && left_remove_folder "$folder"; }
	done
	for group in $(left_groups '[0-9]*'); do
		pid=${group##*/hotrun-live-} pid=${pid%%-*}
		[ -e "/proc/$pid" ] || [ ! -d "$group" ] || { echo "# swept: $group" && left_remove_group "$group"; }
	done
	# Podman's groups stay when it is killed; no CPU is taken off line while there are any. Only empty ones go.
	find /sys/fs/cgroup/*/libpod_parent /sys/fs/cgroup/libpod_parent -depth -type d -exec rmdir {} \; 2>/dev/null
	remove_pod_group || echo "# processes are in the group of a pod of the tests"
}

# left_told WORDS PID: a line for all that the test with that pid left, which is removed then
left_told() {
	local pid folder group

	# What was killed, and what it had started, is gone in a moment.
	for _ in {1..30}; do
		[ -n "$(left_processes "$1")" ] || break
		sleep 0.1
	done
	for pid in $(left_processes "$1"); do
		is_dying "$pid" && continue
		echo "FAIL - it left process $pid running: $(tr '\0' ' ' <"/proc/$pid/cmdline" | head -c 100)"
		kill -KILL "$pid"
	done 2>/dev/null
	for folder in $(left_folders "$1"); do
		echo "FAIL - it left $folder" && left_remove_folder "$folder"
	done
	for group in $(left_groups "$2"); do
		[ ! -d "$group" ] || { echo "FAIL - it left $group" && left_remove_group "$group"; }
	done
}
