# SPDX-License-Identifier: GPL-2.0-or-later
"""Clients that no load generator has: of 127.0.0.1, many at a time, in one thread.

clients.py hold PORT CLIENTS PATH SECONDS          each asks once and waits so long
clients.py socket PORT CLIENTS PATH SECONDS MS     WebSocket: each sends a message every so many ms (0 = never)
                                                   and reads what comes
clients.py sip PORT CLIENTS PATH SECONDS           each asks again and again, and reads 64 KiB of the answers
                                                   every 20 ms
clients.py pace PORT CLIENTS PATH SECONDS MS       each asks every so many ms, after an answer at the earliest; says
                                                   of each answer that took over 500 ms: "slow FROM TO", Unix time

Prints "ready" when all have asked, and in the end what it sent and received: "sent N received N bytes N".
Received are answers, or messages of a WebSocket.
"""
import asyncio
import os
import random
import socket
import sys
import time

sent = received = got_bytes = 0


def request(path, upgrade=False):
    more = ''
    if upgrade:
        more = ('Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n'
                'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n')
    return f'GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{more}\r\n'.encode()


async def dial(port, buffer_bytes=None):
    s = socket.socket()
    s.setblocking(False)
    if buffer_bytes:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer_bytes)
    await asyncio.get_running_loop().sock_connect(s, ('127.0.0.1', port))
    return await asyncio.open_connection(sock=s, limit=1 << 16)


def tell_slow(began):
    """A line for an answer that took over half a second; returns what it took."""
    took = time.time() - began
    if took > 0.5:
        print(f'slow {began:.3f} {began + took:.3f}', flush=True)
    return took


async def hold(port, path, _):
    global sent, received, got_bytes
    reader, writer = await dial(port)
    writer.write(request(path))
    sent += 1
    asked()
    data = await reader.read(65536)
    received += 1
    while data:
        got_bytes += len(data)
        data = await reader.read(65536)


async def read_messages(reader):
    """Frames of a server: never masked; at most 64 KiB here."""
    global received, got_bytes
    while True:
        _, length = await reader.readexactly(2)
        if length == 126:
            length = int.from_bytes(await reader.readexactly(2), 'big')
        await reader.readexactly(length)
        received += 1
        got_bytes += length


async def talk(port, path, every_ms):
    global sent
    reader, writer = await dial(port)
    began = time.time()
    writer.write(request(path, upgrade=True))
    head = await reader.readuntil(b'\r\n\r\n')
    tell_slow(began)
    if b' 101 ' not in head.split(b'\r\n')[0]:
        sys.exit(f'no WebSocket: {head!r}')
    asked()
    reading = asyncio.ensure_future(read_messages(reader))
    while every_ms:
        mask, text = os.urandom(4), b'a message of the client'
        writer.write(bytes([0x81, 0x80 | len(text)]) + mask
                     + bytes(b ^ mask[i % 4] for i, b in enumerate(text)))
        sent += 1
        await asyncio.sleep(every_ms / 1000)
    await reading


async def sip(port, path, _):
    global sent, received, got_bytes
    reader, writer = await dial(port, 1 << 16)
    while True:
        writer.write(request(path))
        sent += 1
        asked()
        head = await reader.readuntil(b'\r\n\r\n')
        left = int(next(line.split(b':')[1] for line in head.lower().split(b'\r\n')
                        if line.startswith(b'content-length')))
        while left:
            data = await reader.read(min(left, 65536))
            if not data:
                return
            left -= len(data)
            got_bytes += len(data)
            await asyncio.sleep(0.02)
        received += 1


async def pace(port, path, every_ms):
    global sent, received
    reader, writer = await dial(port)
    await asyncio.sleep(every_ms / 1000 * random.random())
    asked()
    while True:
        began = time.time()
        writer.write(request(path))
        sent += 1
        head = await reader.readuntil(b'\r\n\r\n')
        left = int(next((line.split(b':')[1] for line in head.lower().split(b'\r\n')
                         if line.startswith(b'content-length')), 0))
        if b'chunked' in head.lower():
            await reader.readuntil(b'0\r\n\r\n')
        await reader.readexactly(left)
        received += 1
        await asyncio.sleep(max(0, every_ms / 1000 - tell_slow(began)))


waiting = 0


def asked():
    global waiting
    waiting -= 1
    if waiting == 0:
        print('ready', flush=True)


async def main(kind, port, clients, path, seconds, every_ms='0'):
    global waiting
    waiting = int(clients)
    work = {'hold': hold, 'socket': talk, 'sip': sip, 'pace': pace}[kind]
    tasks = [asyncio.ensure_future(work(int(port), path, int(every_ms))) for _ in range(int(clients))]
    await asyncio.wait(tasks, timeout=float(seconds))
    for task in tasks:
        if task.done() and task.exception():
            print(f'{kind}: {task.exception()!r}')
            break
    print(f'sent {sent} received {received} bytes {got_bytes}', flush=True)
    os._exit(0)


if __name__ == '__main__':
    asyncio.run(main(*sys.argv[1:]))
