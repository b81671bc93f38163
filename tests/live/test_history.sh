#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The recorder's memory: a hang and a load of known length are in it, also after kill -9; on a full disk and beside a
# file of a later version it records on; what `hotrun history` tells of a month that is known is true.
. "$(dirname "$0")/../support/live.sh"
. "$(dirname "$0")/../support/watch.sh"
need_root

# A server that reads requests and never answers, until it is told to; and its 40 clients.
cat >"$T/hang.py" <<'P'
import signal, socket, sys, threading, time
open('/proc/self/comm', 'w').write('history-hang')
answer = threading.Event()
signal.signal(signal.SIGUSR1, lambda *_: answer.set())
server = socket.create_server(('127.0.0.1', int(sys.argv[1])))
def serve(s):
    s.recv(1000)
    answer.wait()
    s.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n')
    time.sleep(60)
def accept():
    while True:
        threading.Thread(target=serve, args=(server.accept()[0],), daemon=True).start()
threading.Thread(target=accept, daemon=True).start()
print('ready', flush=True)
while True:
    time.sleep(0.1)
P
cat >"$T/clients.py" <<'P'
import socket, sys, time
held = [socket.create_connection(('127.0.0.1', int(sys.argv[1]))) for _ in range(40)]
for s in held:
    s.sendall(b'GET / HTTP/1.1\r\nHost: x\r\n\r\n')
time.sleep(60)
P
port=$(free_port)
start python3 "$T/hang.py" "$port"
server=$started
start "$LOADS/spinners" 1 60
spinner=$started
clock_of() { awk '{ print ($14 + $15) / 100 }' "/proc/$1/stat"; }

# --- a recorder on a disk that is full, beside the one that the truth is held against -----------------------
mkdir "$T/small"
mount -t tmpfs -o size=1m,mode=755 tmpfs "$T/small" || skip "cannot mount a tmpfs here"
MOUNTS+=("$T/small")
mkdir -m 700 "$T/small/w"
start "$HOTRUN" watch --dir "$T/small/w" --listen off --budget 0 --capture-on off
full=$started
until_true 15 grep -q watching "$T/$full.out" && until_true 5 test -s "$T/small/w/history"
cat /dev/zero >"$T/small/filler" 2>/dev/null
"$HOTRUN" trigger --dir "$T/small/w" --no-wait >"$T/out" 2>&1

# --- killed ------------------------------------------------------------------------------------------------
watch_start --budget 0 --ring 30s --frequency 99
until_true 20 grep -q watching "$T/$watcher.out"
"$HOTRUN" trigger --dir "$dir" --before 1s --after 1s >"$T/asked" 2>&1
is "trigger: exit code" $? 0
sleep 0.5
stop "$watcher"
"$HOTRUN" history --dir "$dir" >"$T/out" 2>"$T/err"
is "history of a file without a minute: exit code" $? 1
is "after kill -9 the file is whole" "$(sql "$dir/history" 'PRAGMA integrity_check')" ok
is "and the capture is in it, with the reason" "$(sql "$dir/history" 'SELECT taken, reason, capture FROM decision')" \
	"1 somebody asked for it $(basename "$(tail -1 "$T/asked")")"
is "with its thickest trunk" "$(sql "$dir/history" "SELECT process, path LIKE '%spin%', share > 0.4 FROM trunk ORDER BY share DESC LIMIT 1")" \
	"spinners 1 1"

# --- a hang and a load of known length ---------------------------------------------------------------------
# Whoever else is short of something here is none of this test's.
watch_start --budget 0 --ring 30s --capture-on all --include name=history-hang --include name=spinners
until_true 20 grep -q watching "$T/$watcher.out"
began=$SECONDS
cpu=$(clock_of "$spinner")
sleep 1
start python3 "$T/clients.py" "$port"
sleep 6
kill -USR1 "$server"
# Slices are judged each ten seconds.
sleep $((12 - (SECONDS - began)))
# What it takes until it has ended is in no minute.
kill -STOP "$spinner"
watch_end
kill -CONT "$spinner"
used=$(awk -v a="$cpu" -v b="$(clock_of "$spinner")" 'BEGIN { print b - a }')
"$HOTRUN" history --dir "$dir" --days 1 --format json >"$T/history.json" 2>"$T/err"
is "history: exit code" $? 0
as_schema "$T/history.json"
told() { python3 -c 'import json,sys; d = json.load(open(sys.argv[1]))
print(*[eval(e, {"d": d, "p": {p["name"]: p for p in d["processes"]}}) for e in sys.argv[2:]])' "$T/history.json" "$@"; }
within "CPU seconds of a spinner, of those of its own clock" \
	"$(awk -v a="$(sql "$dir/history" "SELECT sum(cpu_ms) / 1000.0 FROM minute WHERE kind = (SELECT id FROM kind WHERE name = 'spinners')")" -v b="$used" 'BEGIN { print a / b }')" 0.8 1.1
within "a hang of 6 s, seconds degraded" "$(told 'p["history-hang"]["hurt_s"]')" 3.9 7.5
is "its verdict, and a bad minute" "$(told 'p["history-hang"]["verdict"] in ("inelastic", "starved")' '1 <= p["history-hang"]["bad_minutes"] <= 2')" "True True"
is "the capture that was taken of it, and why" \
	"$(sql "$dir/history" "SELECT taken, verdict > 0, capture LIKE '%-auto.hotrun', reason LIKE '%unusual: its past is not known%' FROM decision WHERE process = 'history-hang' ORDER BY taken DESC LIMIT 1")" "1 1 1 1"
within "its requests" "$(told 'p["history-hang"]["requests"]')" 40 80
within "all of them slow" "$(told 'p["history-hang"]["slow_share"]')" 0.99 1

# --- the full disk -----------------------------------------------------------------------------------------
alive "$full" && ok "on a full disk it records on" || fail "it ended: $(tail -2 "$T/$full.out")"
is "and says so once" "$(grep -c 'history: no space left' "$T/$full.out")" 1
rm "$T/small/filler"
kill -TERM "$full"
until_true 20 gone "$full"
is "with room again all is written" "$(sql "$T/small/w/history" 'PRAGMA integrity_check; SELECT count(*) > 0 FROM minute; SELECT taken FROM decision' | tr '\n' ' ')" "ok 1 0 "
"$HOTRUN" history --dir "$T/small/w" >"$T/out" 2>"$T/err"
is "what was not taken is told" "$(grep -c 'not taken' "$T/out")" 2

# --- a month that is known ---------------------------------------------------------------------------------
read -r bad requests slow seconds < <(python3 tests/support/history_rows.py "$dir/history" 30 $(($(date +%s) / 60 * 60 - 86400)))
"$HOTRUN" history Shop.Web --dir "$dir" --days 40 --format json >"$T/history.json"
is "bad minutes, requests" "$(told 'd["bad_minutes"]' 'd["requests"]')" "$bad $requests"
within "slow share" "$(told 'd["slow_share"]')" "$(awk -v a="$slow" -v b="$requests" 'BEGIN { print a / b - 1e-5 }')" "$(awk -v a="$slow" -v b="$requests" 'BEGIN { print a / b + 1e-5 }')"
is "the knee is found" "$(told 'd["knee"]["answer"]')" found
within "where it is" "$(told 'd["knee"]["at_cpus"]')" 1.33 1.47
within "and known to" "$(told 'd["knee"]["high_cpus"] - d["knee"]["low_cpus"]')" 0.01 0.3
is "what to fix first" "$(told 'd["trunks"][0]["path"]' 'd["trunks"][0]["captures"]')" "Shop.Main > Shop.Orders.Checkout.Total 4"
"$HOTRUN" history --dir "$dir" --days 40 >"$T/out"
says "who serves fast has none" <(grep Shop.Mail "$T/out") "none seen"
is "names stay text" "$(grep -c $'\x1b' "$T/out")" 0
"$HOTRUN" history --dir "$dir" --days 40 --format html -o "$T/page.html"
is "the page is for its owner alone" "$(stat -c %a "$T/page.html")" 600
is "it runs no script, and asks nobody" "$(grep -ciE '<script|https?:|<img|<link|url\(' "$T/page.html")" 0
says "its policy" "$T/page.html" "default-src 'none'; style-src 'nonce-"
"$HOTRUN" history nobody --dir "$dir" >"$T/out" 2>"$T/err"
is "an unknown name: exit code" $? 1
"$HOTRUN" history --from soon --dir "$dir" >"$T/out" 2>"$T/err"
is "a wrong time: exit code" $? 2

# --- a file of a later version -----------------------------------------------------------------------------
sqlite3 "$dir/history" 'PRAGMA user_version=9'
before=$(cksum "$dir/history")
watch_start --budget 0
until_true 20 grep -q "watching" "$T/$watcher.out"
until_true 5 grep -q "written by a newer hotrun; left alone" "$T/$watcher.out" && ok "a later version's file is told" || fail "not told: $(cat "$T/$watcher.out")"
watch_end
is "and left as it is" "$(cksum "$dir/history")" "$before"
is "nothing is moved aside" "$(ls "$dir" | grep -c damaged)" 0
