#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The flame graph page in headless Chromium: driven, asked about its DOM, its picture checked.
# mostly waits, 30 s
# usage: test_page.sh [PAGE.html | CAPTURE]   besides the pages that tests/unit/output/test_flame.c makes
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

browser=
for b in chromium chromium-browser google-chrome; do
	command -v "$b" >/dev/null && { browser=$b; break; }
done
if [ -z "$browser" ]; then
	echo "page: no chromium (Debian package chromium)"
	[ "${CI:-}" = true ] && exit 1
	exit 0
fi

chrome() {
	timeout 60 "$browser" --headless --no-sandbox --disable-gpu --disable-quic --no-first-run \
		--disable-background-networking --disable-component-update --disable-sync \
		--user-data-dir="$tmp/profile" "$@" 2>"$tmp/chrome.err"
}

# A copy of page $1 with the driver in it; the nonce of the page lets it run. $2 = TEST_PAGE.
with_driver() {
	PAGE=$1 KIND=$2 python3 - <<'P'
import os, re, sys
page = open(os.environ['PAGE'], encoding='utf-8').read()
nonce = re.search(r"script-src 'nonce-([0-9a-f]{32})'", page).group(1)
# Within a JavaScript string, <\\/ is </ and does not end the block.
script = lambda text: '<script nonce="' + nonce + '">' + text.replace('</', '<\\/') + '</script>\n'
watch = '''const testErrors = [];
addEventListener('error', (e) => testErrors.push(e.message));
'''
driver = open('tests/live/page_test.js', encoding='utf-8').read()
page = page.replace('<title>', script(watch) + '<title>', 1)
end = page.rindex('</body>')
sys.stdout.write(page[:end] + script(f'const TEST_PAGE = "{os.environ["KIND"]}";\n{driver}') + page[end:])
P
}

# drive PAGE KIND WINDOW
drive() {
	with_driver "$1" "$2" >"$tmp/driven.html" || { fail "$1: not a page"; return; }
	chrome --window-size="$3" --dump-dom "file://$tmp/driven.html" >"$tmp/dom.html"
	python3 -c 'import html, re, sys
found = re.search(r"<pre id=\"test-results\">(.*?)</pre>", sys.stdin.read(), re.S)
print(html.unescape(found.group(1)).strip() if found else "")' <"$tmp/dom.html" >"$tmp/results"
	sed "/^done\$/d; s|^|$2 $3  |" "$tmp/results"
	grep -q '^FAILED' "$tmp/results" && failed=1
	grep -qx done "$tmp/results" || fail "$2 $3: the driver did not finish: $(tail -3 "$tmp/chrome.err")"
}

# A picture with fewer than 12 colours, or nearly all of one, is a blank page.
picture() {
	chrome --window-size=1400,800 --screenshot="$2" "file://$1" >/dev/null
	python3 - "$2" <<'P' || fail "$2: blank or missing"
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
HOTRUN_TEST_PAGES=$tmp/pages "$BUILD/unit/output" --filter 'flame/writes_pages' >/dev/null 2>&1 ||
	fail "no test pages"
drive "$tmp/pages/small.html" small 1400,800
drive "$tmp/pages/small.html" small 900,600
drive "$tmp/pages/large.html" large 1400,800
drive "$tmp/pages/blocked.html" blocked 1400,800
drive "$tmp/pages/gap.html" gap 1400,800
drive "$tmp/pages/empty.html" empty 900,600
shown=$tmp/pages/small.html
if [ $# -gt 0 ]; then
	case $1 in
	*.html) shown=$(realpath "$1") ;;
	*)
		shown=$tmp/pages/given.html
		"$BUILD/hotrun" flame "$1" -o "$shown" || fail "hotrun flame $1"
		;;
	esac
	drive "$shown" any 1400,800
fi
picture "$shown" "$(realpath "$BUILD")/page.png"
exit $failed
