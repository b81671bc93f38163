#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Kernels that lock up under a profiler: commands refuse them, name the remedy, and go on where they are told to. uname(2)
# is replaced; what is loaded after an override is loaded into the real kernel.
# beside others, 10 s
. "$(dirname "$0")/../support/live.sh"
need_root

cat >"$T/uname.c" <<'C'
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

int uname(struct utsname *name)
{
	memset(name, 0, sizeof(*name));
	strcpy(name->sysname, "Linux");
	strcpy(name->nodename, "fake");
	strcpy(name->release, "6.1.0-13-amd64");
	strcpy(name->version, "#1 SMP PREEMPT_DYNAMIC Debian 6.1.20-1 (2023-03-19)");
	strcpy(name->machine, MACHINE);
	return 0;
}
C
gcc -shared -fPIC -DMACHINE="\"$(uname -m)\"" -o "$T/libuname.so" "$T/uname.c" || fail "no library"

# fake WANT COMMAND...: its exit code on that kernel is WANT; what it says is in $T/out
fake() {
	local want=$1 rc

	shift
	LD_PRELOAD="$T/libuname.so" timeout 60 "$HOTRUN" "$@" >"$T/out" 2>&1 </dev/null
	rc=$?
	[ $rc = "$want" ] && ok "$*: exit code $want" || fail "$*: exit code $rc, not $want: $(tail -2 "$T/out")"
}
# says WORDS...: each is there
says() {
	local word

	for word in "$@"; do
		grep -qF -- "$word" "$T/out" && ok "says '$word'" || fail "no '$word': $(head -3 "$T/out")"
	done
}

fake 1 record --event cycles -d 1 -o "$T/cycles"
says hazard.user_read "boot 6.1.36" --ignore-kernel-hazard "Debian 6.1.20-1"
fake 1 record -d 1 -o "$T/clock"
says hazard.user_read "--stacks fp"
[ ! -e "$T/clock" ] && ok "no capture is left" || fail "there is a capture"
fake 1 top -b -n 1
says hazard.user_read

# Told to, it warns and records.
fake 0 record --ignore-kernel-hazard -q -d 1 -o "$T/told"
says "is affected" hazard.user_read
fake 0 report "$T/told"
if [ "$(uname -m)" = x86_64 ]; then
	fake 0 record --stacks fp -q -d 1 -o "$T/fp"
	! grep -q hazard "$T/out" && ok "no word about it with --stacks fp" || fail "$(grep hazard "$T/out")"
fi

fake 1 doctor
says hazard.user_read "not tried: the probe could lock up this kernel"

# This kernel has none.
"$HOTRUN" doctor --format json >"$T/json" 2>&1
python3 - "$T/json" <<'P' && ok "none known for this kernel" || fail "doctor on $(uname -r -v)"
import json, sys
levels = {f['id']: f['level'] for f in json.load(open(sys.argv[1]))['findings']}
assert levels['kernel.hazards'] == 'ok' and not [i for i in levels if i.startswith('hazard.')], levels
P
