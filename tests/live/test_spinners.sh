#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# 64 threads that never sleep on few CPUs: hotrun gets its turn, loses next to nothing, ends at Ctrl-C.
# quite alone
. "$(dirname "$0")/../support/live.sh"
need_root

start "$LOADS/spinners" 64 40
spinners=$started
sleep 0.5
# A script's background commands ignore SIGINT, and hotrun leaves that as it is.
env --default-signal=INT "$HOTRUN" record -o "$T/spin.hotrun" >"$T/sum" 2>"$T/err" &
hotrun=$!
PIDS+=("$hotrun")
until_true 10 grep -qs recording "$T/err" || fail "no start-up line after 10 s"
sleep 5
kill -INT "$hotrun"
asked=$(date +%s%N)
until_true 20 gone "$hotrun"
ended=$(date +%s%N)
kill -KILL "$hotrun" 2>/dev/null
wait "$hotrun"
is "Ctrl-C gives exit code 0" $? 0
within "it ends, with its summary, ms" "$(((ended - asked) / 1000000))" 0 2000
stop "$spinners"
capture=$T/spin.hotrun
is "the recording is kept and complete" "$(sql "$capture" 'SELECT complete FROM host')" 1
within "for as long as it ran, s" "$(sql "$capture" 'SELECT (end_ns - start_ns) / 1e9 FROM host')" 4.5 7
says "the summary names the process" "$T/sum" spinners

# Ticks that the CPU time asks for, against samples in the file. While the hypervisor has the CPU none come.
expected=$(sql "$capture" 'SELECT sum(accounted_ns + unaccounted_ns - steal_ns) * 99 / 1e9 FROM cpu')
samples=$(sql "$capture" 'SELECT count(*) FROM sample')
taken=$(sql "$capture" 'SELECT sum(ticks_taken) FROM cpu')
within "samples in the file, of $taken ticks taken, per cent" "$(awk -v s="$samples" -v t="$taken" 'BEGIN { print 100 * s / t }')" 99.01 100
within "ticks taken, of $expected expected, per cent" "$(awk -v s="$taken" -v t="$expected" 'BEGIN { print 100 * s / t }')" 97 103
spun=$(sql "$capture" "SELECT samples FROM process_cpu WHERE tgid = $spinners")
exact=$(sql "$capture" "SELECT 100 * on_cpu_s / (SELECT sum(accounted_ns + unaccounted_ns) / 1e9 FROM cpu)
	FROM process_cpu WHERE tgid = $spinners")
within "their share of samples is that of their CPU time ($exact)" "$(awk -v s="$spun" -v t="$samples" 'BEGIN { print 100 * s / t }')" \
	"$(awk -v e="$exact" 'BEGIN { print e - 5 }')" "$(awk -v e="$exact" 'BEGIN { print e + 5 }')"
is "each of the 64 has CPU time" \
	"$(sql "$capture" "SELECT count(*) FROM thread t JOIN process p ON p.id = t.process
		WHERE p.tgid = $spinners AND t.on_cpu_ns > 0")" 64
set -- $(facts books "$capture")
within "accounts, idle and unaccounted make CPUs x elapsed" "$(awk -v a="$3" -v b="$1" 'BEGIN { print a / b }')" 0.99 1.01
within "waiters of a CPU were seen" "$(sql "$capture" 'SELECT avg(waiters) FROM sample')" 10 64
