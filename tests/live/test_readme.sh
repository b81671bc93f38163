#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The commands that the README names do what it says: make run, make install, and its questions in
# SQL on the capture that make run leaves. (make test is what runs this.)
# quite alone
. "$(dirname "$0")/../support/live.sh"
need_root
need_tool jq jq
command -v dotnet >/dev/null || skip "needs a .NET 10 SDK"

for command in "make run" "make test" "hotrun record -d 10" "make guests" "hotrun perfmap status" "hotrun doctor" "hotrun recover"; do
	grep -qF "$command" README.md && ok "the README names: $command" || fail "the README names: $command"
done

# Where what make run starts puts its files; nobody else's are there.
mkdir "$T/tmp"
export TMPDIR=$T/tmp
leaves_nothing() {
	is "nothing that it started runs on" "$(pgrep -fa "$TMPDIR/|/first.hotrun")" ""
	is "no temporary file is left" "$(ls -A "$TMPDIR")" ""
}

# demonstrates SERVICE METHOD [PATH]: make run says who starves whom, from when on, and in which code; what it says is
# in $T/run
demonstrates() {
	local service=$1 method=$2 name

	rm -f "$BUILD/first.hotrun" "$BUILD/first.html"
	PATH=${3:+$3:}$PATH make BUILD="$BUILD" run >"$T/run" 2>&1
	is "make run: exit code" $? 0
	leaves_nothing
	tr -s ' \n' '  ' <"$T/run" >"$T/words"
	check "the report says that $service is starved by nightly-export" \
		grep -qE "starved $service [0-9]+: .* of [0-9,]+ requests slow .*: nightly-export [0-9]+ [0-9.]+ %.* from " "$T/words"
	check "and which method takes its CPU" grep -qF "$method" <<<"$(sed -n '/start here/,/^books/p' "$T/run")"
	says "it says so in its own words" "$T/run" "starves $service."
	for name in first.hotrun first.html; do
		says "it names $name" "$T/run" "$name"
		test -s "$BUILD/$name" && ok "$name is there" || fail "$name is there"
	done
	says "it names a next command" "$T/run" "hotrun report -p $service"

	"$HOTRUN" report --format json "$BUILD/first.hotrun" >"$T/json" 2>"$T/err" || fail "report: $(cat "$T/err")"
	set -- $(jq -r --arg name "$service" '.processes[] | select(.name == $name) |
		[.verdict, .hurt, .requests, .slow_share, .from_s, .waited_behind[0].name, .pid] | map(tostring) | join(" ")' "$T/json")
	is "verdict, and whom it is behind" "$1 $2 $6" "starved true nightly-export"
	within "requests that were counted" "$3" 50 1000000
	within "share of them that were slow" "$4" 0.1 1
	within "seconds until it was hurt: not before the job began" "$5" 2.8 8
	is "its runtime left nothing in /tmp" "$(compgen -G "/tmp/*-$7[-.]*")" ""
}

# Built anew, for what the SDK leaves in /tmp
rm -f "$BUILD/dotnet/Web/.built"
demonstrates Shop.Web "Shop.Orders.Checkout.Total (Shop.Web)"
# Whoever has no .NET SDK
mkdir "$T/bin"
printf '#!/bin/sh\nexit 1\n' >"$T/bin/dotnet"
chmod +x "$T/bin/dotnet"
demonstrates shop-web "checkout_total (shop)" "$T/bin"

# Ctrl-C while it records: to all of its group, as a terminal does
env --default-signal=INT setsid make BUILD="$BUILD" run >"$T/broken" 2>&1 &
PIDS+=($!)
broken=$!
until_true 60 grep -q "recording this host" "$T/broken" || fail "it does not record: $(cat "$T/broken")"
until_true 60 pgrep -g "$broken" -f "hotrun record" >/dev/null || fail "no recorder"
kill -INT -- "-$broken"
wait "$broken"
is "make run, at Ctrl-C: exit code" $? 130
leaves_nothing

check "hotrun perfmap status" "$HOTRUN" perfmap status
check "hotrun doctor" "$HOTRUN" doctor

make BUILD="$BUILD" install PREFIX=/usr DESTDIR="$T/package" >/dev/null 2>&1
is "make install: exit code" $? 0
is "what is installed says its version" "$("$T/package/usr/bin/hotrun" --version | cut -d' ' -f1)" hotrun

for file in man/man1/hotrun.1 man/man1/hotrun-report.1 man/man1/hotrun-help.1 zsh/site-functions/_hotrun \
	bash-completion/completions/hotrun fish/vendor_completions.d/hotrun.fish; do
	check "and lays $file" test -s "$T/package/usr/share/$file"
done
make BUILD="$BUILD" uninstall PREFIX=/usr DESTDIR="$T/package" >/dev/null 2>&1
is "make uninstall leaves nothing" "$(find "$T/package" -type f | wc -l)" 0

# Each SQL line of the README gives rows.
sed -n '/^```sql/,/^```/p' README.md | grep -i '^select' | while read -r question; do
	within "${question%%;*}" "$(sqlite3 "$BUILD/first.hotrun" "$question" | wc -l)" 1 1000
done
make BUILD="$BUILD" help >"$T/help"
for target in run test static install bench guests; do
	says "make help tells $target" "$T/help" "make $target"
done
