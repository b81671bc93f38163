#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The data block of a flame graph page (format: user/output/flame.h), read apart from the page's own code.

page_block.py PAGE                  its JSON document
page_block.py PAGE sum [FROM TO]    weight of the on-CPU samples, of all or of the slices that overlap these seconds
"""
import base64
import json
import re
import struct
import sys
import zlib

RISING = {'cpu.slot', 'slice.startNs', 'slice.lengthNs', 'slice.cpuFrom', 'slice.cpuTo'}


def read(path):
    page = open(path, encoding='utf-8').read()
    text = re.search(r'<script type="text/plain" id="data">([^<]*)</script>', page).group(1)
    block = zlib.decompress(base64.b64decode(text))
    length = struct.unpack('<I', block[:4])[0]
    return json.loads(block[4:4 + length]), block[4 + length:]


def column(document, tail, wanted):
    at = 0
    for name, count, size in document['columns']:
        if name == wanted:
            break
        at += size
    values, value, shift, last = [], 0, 0, 0
    for byte in tail[at:at + size]:
        value |= (byte & 0x7f) << shift
        shift += 7
        if byte < 0x80:
            if wanted in RISING:
                last += -(value + 1) // 2 if value & 1 else value // 2
                value = last
            values.append(value)
            value = shift = 0
    assert len(values) == count, (wanted, len(values), count)
    return values


def total(document, tail, *span):
    weight = column(document, tail, 'cpu.weight')
    if span:
        start, length = column(document, tail, 'slice.startNs'), column(document, tail, 'slice.lengthNs')
        first, last = (float(s) * 1e9 for s in span)
        within = [i for i, s in enumerate(start) if s < last and s + length[i] > first]
        weight = weight[column(document, tail, 'slice.cpuFrom')[within[0]]:column(document, tail, 'slice.cpuTo')[within[-1]]]
    return sum(weight)


if __name__ == '__main__':
    block = read(sys.argv[1])
    print(total(*block, *sys.argv[3:]) if len(sys.argv) > 2 else json.dumps(block[0], ensure_ascii=False))
