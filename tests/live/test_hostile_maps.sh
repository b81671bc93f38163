#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Perf maps that are gone, a FIFO, a link out, endless, garbage, cut while they are read, another's:
# that process loses names, with a reason; the others keep theirs, and the recording goes on.
# beside others, 36 s
. "$(dirname "$0")/../support/live.sh"
need_root
need_dotnet Split

# Out of /tmp, which one of them does not see.
apps=$(make_folder /var/tmp)
trap 'rm -rf "$apps"; finish' EXIT
cp -r "$BUILD/dotnet/Split" "$apps"

declare -A pid_of
kinds="good gone fifo link sparse garbage foreign folder off readonly cut"
for kind in $kinds; do
	if [ "$kind" = off ]; then
		DOTNET_PerfMapEnabled=0 start dotnet "$BUILD/dotnet/Split/Split.dll" 200 "$T/truth.$kind" 12
	elif [ "$kind" = readonly ]; then # as in a container without a writable /tmp
		start unshare -m sh -c 'mount --make-rprivate / && mount -t tmpfs -o ro tmpfs /tmp &&
			DOTNET_PerfMapEnabled=3 exec dotnet "$@"' sh "$apps/Split/Split.dll" 200 /dev/null 12
	else
		dotnet_start "$BUILD/dotnet/Split/Split.dll" 200 "$T/truth.$kind" 12
	fi
	pid_of[$kind]=$started
done
for kind in $kinds; do
	[ "$kind" = off ] || [ "$kind" = readonly ] && continue
	# What the runtime compiles later it writes into the garbage, too, and rightly has a name.
	for method in Rank Reprice; do
		until_true 40 grep -qs "$method.*\[OptimizedTier1\]" "/tmp/perf-${pid_of[$kind]}.map" || fail "$kind: the load does not warm up"
	done
done

map() { echo "/tmp/perf-${pid_of[$1]}.map"; }
printf '0x0 7fffffffffffffff secret of another file\n' >"$T/secret"
rm "$(map gone)"
rm "$(map fifo)" && mkfifo "$(map fifo)"
rm "$(map link)" && ln -s "$T/secret" "$(map link)"
truncate -s 10G "$(map sparse)"
head -c 3000000 /dev/urandom >"$T/random" && cat "$T/random" >"$(map garbage)"
rm "$(map foreign)" && cp "$T/secret" "$(map foreign)" && chown nobody "$(map foreign)"
rm "$(map folder)" && mkdir "$(map folder)"

"$HOTRUN" record --names map -d 12 -F 199 -o "$T/maps.hotrun" >"$T/sum" 2>"$T/err" &
hotrun=$!
PIDS+=("$hotrun")
# In the middle, but not before it was read, and names in it: the capture tells of them slice by slice.
has_names() { [ "$(facts jit "$T/maps.hotrun" "${pid_of[$1]}" 2>"$T/none" | cut -d' ' -f1)" -gt 20 ] 2>"$T/none"; }
check "cut: it has names before it is cut" until_true 9 eval 'sleep 0.5; has_names cut'
: >"$(map cut)" # as a runtime does that starts its map anew
watch "$hotrun"
is "the recording goes on: exit code" $? 0
for kind in $kinds; do
	check "$kind: the process runs on" alive "${pid_of[$kind]}"
done
rmdir "$(map folder)"
for kind in $kinds; do
	stop "${pid_of[$kind]}"
done
capture=$T/maps.hotrun
within "for as long as it was asked to, s" "$(sql "$capture" 'SELECT (end_ns - start_ns) / 1e9 FROM host')" 11.9 13.5
within "hotrun stayed small, MiB" "$((peak / 1024))" 1 160

# state KIND: what the capture says of its map
state() {
	sql "$capture" "SELECT coalesce(r.word, p.perf_map) FROM process p LEFT JOIN reason r ON r.id = p.perf_map
		WHERE p.tgid = ${pid_of[$1]}"
}
# named KIND: JIT frames with a name, per cent
named() { facts jit "$capture" "${pid_of[$1]}" | awk '{ print $2 ? 100 * $1 / $2 : "" }'; }

is "good: its map is in use" "$(state good)" named
within "good: its JIT frames have names, per cent" "$(named good)" 99.5 100
for pair in gone:no-perf-map fifo:perf-map-unsafe link:perf-map-unsafe sparse:perf-map-unsafe \
	foreign:perf-map-unsafe folder:perf-map-unsafe off:no-perf-map readonly:no-perf-map; do
	kind=${pair%%:*}
	is "$kind: the reason" "$(state "$kind")" "${pair##*:}"
	within "$kind: no names" "$(named "$kind")" 0 0
	leaf=$(facts reasons "$capture" "${pid_of[$kind]}" | sed -n 1p)
	is "$kind: frames carry it: $leaf" "${leaf#* }" "${pair##*:}"
done
within "garbage: no names, per cent" "$(named garbage)" 0 5
facts reasons "$capture" "${pid_of[cut]}" | sed "s/^/# cut: /"
within "cut: names from before it was cut, per cent" "$(named cut)" 30 100
"$HOTRUN" export "$capture" -o "$T/folded" 2>"$T/err" || fail "export: $(cat "$T/err")"
is "no line of another file was read" "$(grep -c 'secret of another file' "$T/folded")" 0
check "no byte that a terminal obeys" facts clean text "$T/folded" "$T/sum"
"$HOTRUN" report -n 12 "$capture" >"$T/report" 2>"$T/err" || fail "report: $(cat "$T/err")"
says "the report tells the remedy" "$T/report" "hotrun perfmap enable PID"
says "and that of a map it does not trust" "$T/report" "remove what lies at /tmp/perf-PID.map"
