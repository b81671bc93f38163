#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What is shown of blocked time: the report, its JSON, flame graphs and folded stacks of programs that wait in known
# shares or stand at known places, and where all stood as the recording ended.
# beside others, 30 s
. "$(dirname "$0")/../support/live.sh"
need_root
need_dotnet Stands

start "$LOADS/wait_shares" 120
shares=$started
start "$LOADS/stands" 7 5 3 120
native=$started
DOTNET_PerfMapEnabled=0 start dotnet "$BUILD/dotnet/Stands/Shop.Stands.dll" 40 6 120
net=$started
for pid in $native $net; do
	until_true 20 grep -qs ready "$T/$pid.out" || fail "a load does not start"
done
sleep 1
record blocked -d 12 || exit 1
for pid in $shares $native $net; do stop "$pid"; done
capture=$T/blocked.hotrun

"$HOTRUN" report --blocked --format json "$capture" >"$T/blocked.json" 2>"$T/err"
is "the report of blocked time ends well" $? 0
as_schema "$T/blocked.json"

# of PID METHOD FIELD: summed over the groups of that process with a frame so named
of() {
	python3 - "$T/blocked.json" "$@" <<'P'
import json, sys
path, pid, method, field = sys.argv[1:]
print(sum(g[field] or 0 for p in json.load(open(path))['processes'] if p['pid'] == int(pid)
          for g in p['groups'] if any(f['name'] == method for f in g['frames'])))
P
}

# --- shares ---
python3 - "$T/blocked.json" "$shares" >"$T/shares" <<'P'
import json, sys
process = [p for p in json.load(open(sys.argv[1]))['processes'] if p['pid'] == int(sys.argv[2])][0]
kinds = {k['wait']: k for k in process['kinds'] if not k['idle']}
for name, true in {'lock': 0.5, 'sleep': 0.3, 'network': 0.2}.items():
    k = kinds.get(name)
    print(name, *([f'{k[key]:.3f}' for key in ('share_of_waits', 'share_of_waits_error')] if k else 'missing'), true)
P
# Three intervals of 95 % are held together, nearly always, by twice their width.
while read -r name share error true; do
	within "share of waits, $name: $share ±$error, truth" "$true" \
		"$(awk -v s="$share" -v e="$error" 'BEGIN { print s - 2 * e }')" \
		"$(awk -v s="$share" -v e="$error" 'BEGIN { print s + 2 * e }')"
	within "and how sure, $name" "$error" 0.001 0.6
done <"$T/shares"

# --- sums: so many threads stand there all the time; before tables come stacks may break ---
kind() {
	python3 - "$T/blocked.json" "$@" <<'P'
import json, sys
path, pid, wait = sys.argv[1:]
print(sum(k['blocked_threads'] for p in json.load(open(path))['processes'] if p['pid'] == int(pid)
          for k in p['kinds'] if k['wait'] == wait))
P
}
within "threads that wait for a mutex, mean" "$(kind "$native" lock)" 6.6 7.4
within "of these, in that method" "$(of "$native" take_turn blocked_threads)" 5 7.4
within "threads that sleep, mean" "$(kind "$native" sleep)" 6.6 7.4
within "threads that read a pipe, mean" "$(kind "$native" pipe)" 2.8 3.2
is "none of the one that spins" "$(of "$native" turn_wheel blocked_threads)" 0
within "workers that wait sync over async, mean" "$(of "$net" Shop.Pay.Client.Get blocked_threads)" 28 42

# --- what people read ---
"$HOTRUN" report --blocked -p "$net" "$capture" >"$T/text" 2>"$T/err"
says "the method, and what it waits in" "$T/text" "Shop.Pay.Client.Get → "
says "how many of how many, and why" "$T/text" "at the end 40 of "
says "that it is sync over async" "$T/text" "(sync over async)"
says_not "idle waits are folded away" "$T/text" "(idle)"
says "and counted" "$T/text" "(--idle shows them)"
"$HOTRUN" report -p "$net" "$capture" >"$T/text" 2>"$T/err"
says "the whole report has it, too" "$T/text" "thread-seconds in waits"
"$HOTRUN" report --blocked -p "$native" "$capture" >"$T/text" 2>"$T/err"
says "who holds the mutex" "$T/text" "held by thread $(sed -n 's/^ready //p' "$T/$native.out")"

# --- as samples ---
"$HOTRUN" export --weight blocked -p "$native" "$capture" >"$T/folded" 2>"$T/err"
is "an export of it ends well" $? 0
within "thread-seconds in the mutex, in ms" \
	"$(awk '/;take_turn;/ { ms += $NF } END { print ms }' "$T/folded")" 50000 100000
"$HOTRUN" flame --blocked -o "$T/page.html" "$capture" 2>"$T/err"
is "a page of it ends well" $? 0
tests/support/page_block.py "$T/page.html" >"$T/page.json"
says "it knows what it is of" "$T/page.json" '"weight": "blocked"'

# --- where all stood as it ended ---
"$HOTRUN" threads "$capture" -p "$net" --format json >"$T/end.json" 2>"$T/err"
is "where threads stood at its end" $? 0
as_schema "$T/end.json"
is "workers in that method" "$(python3 - "$T/end.json" <<'P'
import json, sys
print(sum(g['threads'] for g in json.load(open(sys.argv[1]))['groups']
          if any(f['name'] == 'Shop.Pay.Client.Get' for f in g['frames'])))
P
)" 40
"$HOTRUN" threads "$capture" -p "$native" >"$T/text" 2>"$T/err"
says "as text" "$T/text" "as the recording ended"
