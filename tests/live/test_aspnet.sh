#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# An ASP.NET service under load: hot method, roles of threads, books that balance.
. "$(dirname "$0")/../support/live.sh"
need_root
need_dotnet Web
need_tool wrk wrk

port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
dotnet_start "$BUILD/dotnet/Web/Shop.Web.dll" "$port" 30 "$T/truth"
web=$started
until_true 60 grep -q ready "$T/$web.out" || {
	fail "the service does not start: $(head -3 "$T/$web.out")"
	exit 1
}
start wrk -t1 -c4 -d 25s "http://127.0.0.1:$port/price"
price=$started
start wrk -t1 -c4 -d 25s "http://127.0.0.1:$port/orders"
orders=$started
sleep 3 # the methods reach their last tier
record aspnet -d 6 || exit 1
sleep 0.3
stop "$price"
stop "$orders"
stop "$web"
capture=$T/aspnet.hotrun
cp "$capture" "$BUILD/live/aspnet.hotrun"

set -- $(sql "$capture" 'SELECT start_ns, end_ns FROM host')
set -- $(facts truth "$T/truth" "$1" "$2")
wall=$1 cpu=$2 first=$3 second=$4
is "the process is called by its entry assembly" \
	"$(sql "$capture" "SELECT name FROM process WHERE tgid = $web")" Shop.Web
within "its CPU time by switches is that of its own clock" \
	"$(awk -v a="$(sql "$capture" "SELECT on_cpu_s FROM process_cpu WHERE tgid = $web")" -v b="$cpu" 'BEGIN { print a / b }')" 0.97 1.03

"$HOTRUN" export "$capture" -p "$web" -o "$T/folded" 2>"$T/err" || fail "export: $(cat "$T/err")"
check "folded lines are stacks and counts" facts folded "$T/folded"
set -- $(facts share "$T/folded" Shop.Web Shop.Orders.Checkout.Total)
true_share=$(awk -v a="$first" -v b="$cpu" 'BEGIN { print 100 * a / b }')
spread=$(awk -v p="$true_share" -v n="$2" 'BEGIN { p /= 100; print 300 * sqrt(p * (1 - p) / n) + 3 }')
within "the share of the hot method is the true one ($true_share)" \
	"$(awk -v h="$1" -v t="$2" 'BEGIN { print 100 * h / t }')" \
	"$(awk -v p="$true_share" -v s="$spread" 'BEGIN { print p - s }')" \
	"$(awk -v p="$true_share" -v s="$spread" 'BEGIN { print p + s }')"
set -- $(facts jit "$capture" "$web")
within "JIT frames with a name, of $2" "$(awk -v n="$1" -v t="$2" 'BEGIN { print 100 * n / t }')" 99.5 100
check "the JSON of the other requests is seen" grep -q 'Shop.Orders.Export.Write\|System.Text.Json' "$T/folded"

"$HOTRUN" report -p Shop.Web "$capture" >"$T/report" 2>"$T/err" || fail "report: $(cat "$T/err")"
is "start here names the method" \
	"$(sed -n '/^start here/,/^books/p' "$T/report" | grep -A1 "Shop.Web.* $web:" | tail -1 | xargs)" \
	"Shop.Orders.Checkout.Total (Shop.Web) [j]" || sed -n '/^start here/,/^books/s/^/# /p' "$T/report"
workers=$(awk '/threads by role/ { on = 1 } on && /thread-pool workers/ { print $2; exit }' "$T/report")
within "pool workers took most of the CPU, per cent" "$workers" 50 100

# The loss table: expected = taken + missed, taken = reported + dropped.
line=$(grep -m1 '^samples ' "$T/report" | tr -d ,)
set -- $(printf '%s\n' "$line" | grep -oE '[0-9]+')
expected=$1 taken=$2 missed=$3 reported=$4 dropped=$5
sign=$(case $line in *surplus*) echo -1 ;; *) echo 1 ;; esac)
is "expected ticks = taken + missed ($line)" "$((taken + sign * missed))" "$expected"
is "ticks taken = reported + dropped" "$((reported + dropped))" "$taken"
is "samples in the file = reported" "$(sql "$capture" 'SELECT count(*) FROM sample')" "$reported"
within "dropped samples, per cent" "$(awk -v d="$dropped" -v t="$taken" 'BEGIN { print 100 * d / t }')" 0 1
set -- $(facts books "$capture")
within "accounts, idle and unaccounted make CPUs x elapsed" "$(awk -v a="$3" -v b="$1" 'BEGIN { print a / b }')" 0.99 1.01
