#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The commands that the README names do what it says: make run, make install, and its questions in
# SQL on the capture that make run leaves. (make test is what runs this.)
# beside others, 28 s
. "$(dirname "$0")/../support/live.sh"
need_root

for command in "make run" "make test" "hotrun record -d 10" "make guests" "hotrun perfmap status" "hotrun doctor" "hotrun recover"; do
	grep -qF "$command" README.md && ok "the README names: $command" || fail "the README names: $command"
done

RUN_SECONDS=4 make BUILD="$BUILD" run >"$T/run" 2>&1
is "make run: exit code" $? 0
says "it prints the report" "$T/run" "start here"
says "with .NET in the first picture" "$T/run" "Reprice"
for file in first.hotrun first.html; do
	says "it names $file" "$T/run" "$file"
	test -s "$BUILD/$file" && ok "$file is there" || fail "$file is there"
done

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
