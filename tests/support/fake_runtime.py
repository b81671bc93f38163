# SPDX-License-Identifier: GPL-2.0-or-later
"""Plays a .NET runtime that misbehaves: it maps a libcoreclr.so, listens for diagnostics requests, writes
and ends a perf map as it is told, and prints "on" and "off".

usage: fake_runtime.py FOLDER late|mute|silent
  late    listens 1.9 s after its start
  mute    switches its map on and hangs up without an answer
  silent  accepts, and never says anything
"""
import mmap
import os
import socket
import sys
import time

REPLY = b"DOTNET_IPC_V1\0" + bytes([24, 0, 0xFF, 0, 0, 0, 0, 0, 0, 0])

folder, manner = sys.argv[1:]
with open(os.path.join(folder, "libcoreclr.so"), "w+b") as library:
    library.truncate(65536)
    code = mmap.mmap(library.fileno(), 65536, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC)
with open("/proc/self/stat", encoding="ascii") as stat:
    key = stat.read().rsplit(")", 1)[1].split()[19]
if manner == "late":
    time.sleep(1.9)
address = f"/tmp/dotnet-diagnostic-{os.getpid()}-{key}-socket"
listener = socket.socket(socket.AF_UNIX)
listener.bind(address)
os.chmod(address, 0o600)
listener.listen(8)
print("listens", flush=True)
held, perf_map = [], None
while True:
    connection = listener.accept()[0]
    if manner == "silent":
        held.append(connection)
        continue
    request = connection.recv(64)
    if len(request) >= 20 and request[17] == 5:
        perf_map = open(f"/tmp/perf-{os.getpid()}.map", "w", encoding="ascii")
        perf_map.write("0x7f0000001000 40 void [a] A::B()[QuickJitted]\n")
        perf_map.flush()
        print("on", flush=True)
    elif len(request) >= 20 and request[17] == 6 and perf_map:
        perf_map.close()
        perf_map = None
        print("off", flush=True)
    if manner != "mute" or request[17:18] != b"\5":
        connection.sendall(REPLY)
    connection.close()
