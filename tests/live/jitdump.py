#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""jitdump.py PID IMAGE_NAMES: compares names of precompiled methods with the runtime's own words.

Asks the runtime of PID over its diagnostics socket for a jitdump, which lists the precompiled methods
in use ([PreJIT], .NET 8 and later), finds the image that each address lies in, and asks IMAGE_NAMES
(tests/bench/image_names.c) for the name there. Prints the differences and one line of counts; exit
code 1 where a name differs. Leaves the dump switched off and removes it.

Sources: dotnet/runtime docs (diagnostics IPC), linux tools/perf/Documentation/jitdump-specification.txt.
"""
import glob
import os
import socket
import struct
import subprocess
import sys
import time

MAGIC = b"DOTNET_IPC_V1\0"
ENABLE, DISABLE = 5, 6  # commands of set 4
JITDUMP = 2


def ask(path, command, payload=b""):
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(30)
        s.connect(path)
        s.sendall(MAGIC + struct.pack("<HBBH", 20 + len(payload), 4, command, 0) + payload)
        reply = s.recv(64)
    if reply[16:17] != b"\xff" or reply[17:18] != b"\0":
        sys.exit("the runtime refused: %s" % reply.hex())


def records(data):
    """(address, name) of every piece of code in a jitdump."""
    at = struct.unpack_from("<I", data, 8)[0]
    while at + 16 <= len(data):
        kind, size = struct.unpack_from("<II", data, at)
        if size < 16 or at + size > len(data):
            break
        if kind == 0:
            address = struct.unpack_from("<Q", data, at + 32)[0]
            name = data[at + 56 : data.index(b"\0", at + 56)]
            yield address, name.decode("utf-8", "replace")
        at += size


def mappings(pid):
    with open("/proc/%d/maps" % pid) as f:
        for line in f:
            fields = line.split(None, 5)
            if "x" in fields[1] and len(fields) == 6 and fields[5].startswith("/"):
                start, end = (int(x, 16) for x in fields[0].split("-"))
                yield start, end, int(fields[2], 16), fields[5].rstrip("\n")


def display(tool, names):
    out = subprocess.run([tool, "parse"], input="".join(n + "\n" for n in names), text=True,
                         stdout=subprocess.PIPE, check=True).stdout
    return out.splitlines()


def look_up(tool, path, offsets):
    out = subprocess.run([tool, "at", path], input="".join("%x\n" % o for o in offsets), text=True,
                         stdout=subprocess.PIPE)
    return out.stdout.splitlines() if out.returncode == 0 else ["- not read"] * len(offsets)


def main():
    pid, tool = int(sys.argv[1]), sys.argv[2]
    sockets = glob.glob("/tmp/dotnet-diagnostic-%d-*-socket" % pid)
    dump = "/tmp/jit-%d.dump" % pid
    start = open("/proc/%d/stat" % pid).read().rsplit(")", 1)[1].split()[19]
    sockets = [s for s in sockets if s.endswith("-%s-socket" % start)]
    if not sockets:
        sys.exit("%d: no diagnostics socket" % pid)
    ask(sockets[0], ENABLE, struct.pack("<I", JITDUMP))
    time.sleep(0.2)
    ask(sockets[0], DISABLE)
    data = open(dump, "rb").read()
    os.unlink(dump)

    maps = list(mappings(pid))
    by_path = {}
    outside = 0
    for address, name in records(data):
        if not name.endswith(("[PreJIT]", "[PreJit-cold]")):
            continue
        for begin, end, offset, path in maps:
            if begin <= address < end:
                by_path.setdefault(path, []).append((address - begin + offset, name))
                break
        else:
            outside += 1
    same = differ = 0
    for path, wanted in sorted(by_path.items()):
        answers = look_up(tool, path, [o for o, _ in wanted])
        theirs = display(tool, [n for _, n in wanted])
        for (offset, name), answer, read in zip(wanted, answers, theirs):
            where, _, rest = answer.partition(" ")
            raw, _, shown = rest.partition("\t")
            if where == "%x" % offset and raw == name.replace("[PreJit-cold]", "[PreJIT]") and shown == read:
                same += 1
                continue
            differ += 1
            if differ <= 40:
                print("%s+%x\n  runtime %s\n  shown   %s\n  image   %s" %
                      (os.path.basename(path), offset, name, read, answer))
    print("%d of %d precompiled methods in %d images have the runtime's name; %d outside images" %
          (same, same + differ, len(by_path), outside))
    sys.exit(1 if differ or not same else 0)


main()
