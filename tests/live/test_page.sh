#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The flame graph page in headless Chromium: driven, asked about its DOM, its picture checked.
# mostly waits, 15 s
# usage: test_page.sh [PAGE.html | CAPTURE]   besides the pages that tests/unit/output makes
set -u
cd "$(dirname "$0")/../.."
BUILD=${BUILD:-build}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
failed=0

fail() {
	echo "FAILED  $*"
	failed=1
}

for tool in chromium nodejs; do
	case $tool in
	chromium) names="chromium chromium-browser google-chrome" ;;
	*) names=node ;;
	esac
	for name in $names; do command -v "$name" >/dev/null && continue 2; done
	echo "page: no $tool (Debian package $tool)"
	[ "${CI:-}" = true ] && exit 1
	exit 0
done

# A picture with fewer than 12 colours, or nearly all of one, is a blank page.
picture() {
	python3 - "$1" <<'P' || fail "$1: blank or missing"
import struct, sys, zlib
data = open(sys.argv[1], 'rb').read()
at, body = 8, b''
while at < len(data):
    length, kind = struct.unpack('>I4s', data[at:at + 8])
    if kind == b'IHDR': width, height, depth, colour = struct.unpack('>IIBB', data[at + 8:at + 18])
    if kind == b'IDAT': body += data[at + 8:at + 8 + length]
    at += 12 + length
assert depth == 8 and colour in (2, 6), (depth, colour)
raw, n = zlib.decompress(body), 3 if colour == 2 else 4
stride, above, pixels = width * n, bytes(width * n), {}
for y in range(height):
    kind, line = raw[y * (stride + 1)], bytearray(raw[y * (stride + 1) + 1:(y + 1) * (stride + 1)])
    for i in range(stride):
        a, b, c = (line[i - n] if i >= n else 0), above[i], (above[i - n] if i >= n else 0)
        if kind == 1: line[i] = line[i] + a & 255
        elif kind == 2: line[i] = line[i] + b & 255
        elif kind == 3: line[i] = line[i] + (a + b >> 1) & 255
        elif kind == 4:
            p, q, r = abs(b - c), abs(a - c), abs(a + b - 2 * c)
            line[i] = line[i] + (a if p <= q and p <= r else b if q <= r else c) & 255
    above = line
    for x in range(0, stride, 4 * n):
        pixel = bytes(line[x:x + 3])
        pixels[pixel] = pixels.get(pixel, 0) + 1
share = max(pixels.values()) / sum(pixels.values())
print(f'ok      {sys.argv[1]}: {len(pixels)} colours, the commonest {share:.0%}')
sys.exit(len(pixels) < 12 or share > 0.95)
P
}

# The Makefile names files below this folder without it.
make -s BUILD="$BUILD" "$(realpath -m --relative-base="$PWD" "$BUILD")/unit/output" || exit 1
mkdir "$tmp/pages"
HOTRUN_TEST_PAGES=$tmp/pages "$BUILD/unit/output" --filter '*/writes_pages' >/dev/null 2>&1 ||
	fail "no test pages"
p=$tmp/pages
set -- "${1:-}" small 1400 800 $p/small.html small 900 600 $p/small.html large 1400 800 $p/large.html \
	blocked 1400 800 $p/blocked.html older 1400 800 $p/older.html gap 1400 800 $p/gap.html empty 900 600 $p/empty.html diff 1400 800 $p/diff.html
shown=$p/small.html
if [ -n "$1" ]; then
	case $1 in
	*.html) shown=$(realpath "$1") ;;
	*)
		shown=$p/given.html
		"$BUILD/hotrun" flame "$1" -o "$shown" || fail "hotrun flame $1"
		;;
	esac
	set -- "$@" any 1400 800 "$shown"
fi
shift
timeout 120 node tests/live/page_test.js "$@" picture "$(realpath "$BUILD")/page.png" "$shown" || failed=1
picture "$(realpath "$BUILD")/page.png"
exit $failed
