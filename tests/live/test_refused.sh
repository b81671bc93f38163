#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A kernel that refuses one BPF program of a feature (tests/support/refuse_bpf.h), for each row of the table of
# features: that row is off and those that need it, with one reason wherever it is asked; all else has its figures.
# tests/bpf/test_refused.c refuses every program of every row.
# quite alone, 90 s
. "$(dirname "$0")/../support/live.sh"
. "$(dirname "$0")/../support/watch.sh"
need_root
need_tool bpftool bpftool
need_tool sqlite3 sqlite3
need_tool jq jq
need_tool curl curl
[ -x "$LOADS/feature_rows" ] && [ -e "$LOADS/refuse_bpf.so" ] || skip "needs make workloads"

# Requests and CPU time that are known: 20, one a connection; prints both.
cat >"$T/load.py" <<'P'
import resource, socket, sys, time
for _ in range(20):
    with socket.create_connection(('127.0.0.1', int(sys.argv[1]))) as s:
        s.sendall(b'GET /nothing HTTP/1.0\r\n\r\n')
        while s.recv(4096):
            pass
while time.process_time() < 0.6:
    pass
u = resource.getrusage(resource.RUSAGE_SELF)
print(int(1e9 * (u.ru_utime + u.ru_stime)))
P
port=$(free_port)
mkdir "$T/empty"
start python3 -m http.server -d "$T/empty" --bind 127.0.0.1 "$port"
server=$started
until_true 20 grep -q "Serving HTTP" "$T/$server.out" || until_true 10 sh -c "echo | nc -z 127.0.0.1 $port"

# refusing COMMAND...: on a kernel that refuses $program
refusing() { env LD_PRELOAD="$LOADS/refuse_bpf.so" REFUSE_BPF="$program" "$@"; }

# has OFF ID: whether a list with commas has it
has() { [[ ,$1, == *,$2,* ]]; }

# off_of CAPTURE, asked_of CAPTURE: the rows that are off, and those that were asked for
off_of() { sql "$1" "SELECT coalesce(group_concat(name), '') FROM (SELECT name FROM feature WHERE status > 1 ORDER BY id)"; }
asked_of() { sql "$1" "SELECT group_concat(name) FROM (SELECT name FROM feature WHERE status > 0 ORDER BY id)"; }

# Those of $off that were asked for, in the order of the table
expected() {
	local id out=

	for id in ${off//,/ }; do has "$asked" "$id" && out+=,$id; done
	echo "${out#,}"
}

# Into $c, with the load; its messages in $T/err. The recorder's BPF objects are gone when it has ended.
record_load() {
	local pid

	rm -f "$c"
	start sh -c 'exec "$@" 2>"$0"' "$T/err" env LD_PRELOAD="$LOADS/refuse_bpf.so" REFUSE_BPF="$program" \
		"$HOTRUN" record -q --wakers --switches 3s -o "$c"
	pid=$started
	until_true 30 grep -q 'recording at' "$T/err" || { fail "$program: recording did not start: $(head -3 "$T/err")"; return 1; }
	python3 "$T/load.py" "$port" >"$T/load" &
	load=$!
	wait $load
	bpf_of $pid
	kill -INT $pid
	wait $pid
	is "$program: record ends well" $? 0
	check "$program: nothing of it stays in the kernel" until_true 10 bpf_is_gone
}

# What the load did, by what is not off
truth() {
	local truth_ns cpu_ns samples of="SELECT t.id FROM thread t JOIN process p ON p.id = t.process WHERE p.tgid = $load"

	truth_ns=$(cat "$T/load")
	cpu_ns=$(sql "$c" "SELECT total(on_cpu_ns) FROM account WHERE thread IN ($of)")
	samples=$(sql "$c" "SELECT count(*) FROM sample WHERE thread IN ($of)")
	if has "$off" scheduler-counters; then
		is "$program: no counters" "$cpu_ns" 0.0
	else
		within "$program: CPU time by counters, per cent of the load's own" \
			"$(awk -v a="$cpu_ns" -v t="$truth_ns" 'BEGIN { printf "%.1f", 100 * a / t }')" 93 107
	fi
	if has "$off" samples; then
		is "$program: no samples" "$(sql "$c" "SELECT count(*) FROM sample")" 0
	else
		within "$program: CPU time by samples, per cent of the load's own" \
			"$(awk -v s="$samples" -v t="$truth_ns" 'BEGIN { printf "%.1f", 100 * s / 99 * 1e9 / t }')" 75 125
	fi
	if has "$off" requests; then
		is "$program: no requests" "$(sql "$c" "SELECT count(*) FROM service")" 0
	else
		is "$program: requests" "$(sql "$c" "SELECT sum(s.answered) FROM service s JOIN endpoint e ON e.id = s.endpoint
			WHERE e.port = $port")" 20
	fi
	has "$off" switches || within "$program: single switches" "$(sql "$c" "SELECT count(*) FROM switch")" 100 100000000
	has "$off" wakers || within "$program: wakers" "$(sql "$c" "SELECT count(*) FROM waker")" 1 100000000
	has "$off" blocked-stacks || within "$program: blocked threads" "$(sql "$c" "SELECT count(*) FROM stand")" 1 100000000
}

# The reason, wherever it is asked for
reasons() {
	local id why="the kernel refused BPF program $program (EPERM)" title

	"$HOTRUN" report "$c" >"$T/report" 2>"$T/report.err"
	is "$program: report: exit code" $? 0
	"$HOTRUN" report --format json "$c" >"$T/report.json" 2>/dev/null
	is "$program: report as JSON: exit code" $? 0
	tr -s '\n ' ' ' <"$T/report" >"$T/report.line"
	for id in $(expected | tr , ' '); do
		check "$program: $id: the capture names it" grep -qF "$why" <(sql "$c" "SELECT why FROM feature WHERE name = '$id'")
		title=$(sed -n "s/^  *warn  $id  *\(.*\) is off: .*/\1/p; s/^  *fail  $id  *\(.*\) is off: .*/\1/p" "$T/doctor.txt")
		is "$program: $id: one line at the start" "$(grep -cF "$title is off: " "$T/err")" 1
		check "$program: $id: which names it" grep -qF "$why" <(grep -F "$title is off: " "$T/err")
		check "$program: $id: the report" grep -qE "off: $title: (it needs [A-Za-z -]+: )*the kernel refused BPF program $program \(EPERM\);" "$T/report.line"
		is "$program: $id: JSON" "$(jq -r --arg id "$id" --arg why "$why" \
			'[.features[] | select(.id == $id and (.status == "off" or .status == "refused" or .status == "needs")) | .why | endswith($why)] | all and length == 1' \
			"$T/report.json")" true
	done
	is "$program: no other line says that something is off" "$(grep -c ' is off: ' "$T/err")" "$(expected | tr , '\n' | grep -c .)"
	is "$program: nor does the report" "$(grep -c '^off: ' "$T/report")" "$(expected | tr , '\n' | grep -c .)"
}

# doctor says the same as record
doctor_agrees() {
	local off_all

	refusing "$HOTRUN" doctor --format json >"$T/doctor.json" 2>/dev/null
	refusing "$HOTRUN" doctor >"$T/doctor.txt" 2>/dev/null
	python3 - "$T/doctor.json" >"$T/doctor" <<'P'
import json, sys
for f in json.load(open(sys.argv[1]))['findings']:
    if f['id'].startswith('feature.'):
        print(f['id'][8:], f['level'], f['text'])
P
	off_all=$(awk '$2 != "ok" { printf "%s%s", n++ ? "," : "", $1 }' "$T/doctor")
	is "$program: doctor: what is off" "$off_all" "$off"
	is "$program: doctor: the reason of each" "$(grep -cF "the kernel refused BPF program $program (EPERM)" "$T/doctor")" \
		"$(tr , '\n' <<<"$off" | grep -c .)"
}

# Reports hold without it, and nobody is called healthy whose waits and requests are not known.
reports() {
	as_schema "$T/report.json"
	"$HOTRUN" flame -o "$T/page.html" "$c" 2>"$T/flame.err"
	is "$program: flame: exit code" $? 0
	if has "$off" samples; then
		says_not "$program: report: no samples are missed" "$T/report" "are missing"
		says_not "$program: report: no share is made up" "$T/report" " % ±"
		says_not "$program: no guess why there are none" "$T/err" "no tick has arrived"
	fi
	if has "$off" scheduler-counters; then
		says_not "$program: report: CPU time is not 0" "$T/report" "  0.00  "
		says_not "$program: report: nor is it used by none" "$T/report" "used no CPU"
		says "$program: report: where it comes from" "$T/report.line" "threads: estimated from samples, because the kernel refused"
	fi
	if has "$off" scheduler-counters || has "$off" requests; then
		is "$program: the server is not called healthy" "$(python3 - "$T/report.json" $server <<'P'
import json, sys
def walk(x):
    if isinstance(x, dict):
        if x.get('pid') == int(sys.argv[2]) and x.get('verdict') == 'healthy':
            yield x
        x = list(x.values())
    if isinstance(x, list):
        for y in x:
            yield from walk(y)
print(len(list(walk(json.load(open(sys.argv[1]))))))
P
)" 0
	fi
}

# Commands that are of no use without a row fail, and say why.
commands() {
	local want=0

	has "$off" snapshot && want=1
	refusing "$HOTRUN" snapshot --fresh --brief >"$T/out" 2>"$T/snapshot.err"
	is "$program: snapshot: exit code" $? $want
	[ $want = 0 ] || says "$program: snapshot: why" "$T/snapshot.err" "the kernel refused BPF program $program (EPERM)"
	want=0
	has "$off" thread-stacks && want=1
	refusing "$HOTRUN" threads >"$T/out" 2>"$T/threads.err"
	is "$program: threads: exit code" $? $want
	[ $want = 0 ] || says "$program: threads: why" "$T/threads.err" "the kernel refused BPF program $program (EPERM)"
}

# The resident recorder, which says it to those who ask.
watched() {
	local id

	LD_PRELOAD=$LOADS/refuse_bpf.so REFUSE_BPF=$program watch_start --wakers --switches 3
	until_true 20 answers readyz 200 && ok "$program: watch is ready" || fail "$program: watch: $(tail -3 "$T/$watcher.out")"
	until_true 20 at_least 'hotrun_feature_enabled{feature="program-names"}' 0 || fail "$program: watch: no slice ended"
	"$HOTRUN" watch --dir "$dir" --status >"$T/status" 2>&1
	curl -s -m 5 "http://127.0.0.1:$http/metrics" >"$T/metrics"
	for id in $(awk '{ print $1 }' "$T/doctor"); do
		[ "$id" != snapshot ] || continue
		if has "$off" "$id"; then
			check "$program: $id: watch --status" grep -qE "^feature_off $id: .*refused BPF program $program \(EPERM\);" "$T/status"
			says "$program: $id: metrics" "$T/metrics" "hotrun_feature_enabled{feature=\"$id\"} 0"
		else
			says_not "$program: $id: watch --status" "$T/status" "feature_off $id"
		fi
	done
	check "$program: watch: the log" grep -qF "the kernel refused BPF program $program (EPERM)" "$T/$watcher.out"
	watch_end
}

c=$T/c.hotrun program=
"$LOADS/feature_rows" >"$T/rows"
record_load && is "nothing is refused: nothing is off" "$(off_of "$c")" "" && off= && truth
asked=$(asked_of "$c")
# Of each row the first program, which all kernels have.
for program in $(sort -u -k1,1 "$T/rows" | awk '!seen[$2]++ { print $2 }'); do
	off=$(awk -v p="$program" '$2 == p { print $3; exit }' "$T/rows")
	doctor_agrees
	record_load || continue
	is "$program: what is off in the capture" "$(off_of "$c")" "$(expected)"
	is "$program: the same is asked for" "$(asked_of "$c")" "$asked"
	reasons
	truth
	case $off in *samples* | *scheduler-counters* | *full-mode* | *requests*) reports ;; esac
	case $off in low-overhead | requests | *samples*) watched ;; esac
	case $off in *snapshot* | *thread-stacks* | *samples* | *scheduler-counters*) commands ;; esac
done
