# SPDX-License-Identifier: GPL-2.0-or-later
# Clients of the recorder's HTTP port; ends by itself.
# usage: http_crowd.py flood PORT SECONDS [PATH]   as uid 65534: six that ask without a pause
#        http_crowd.py drip PORT SECONDS           the same: 24 from three addresses that drip bytes
#        http_crowd.py asks PORT SECONDS           a scraper and probes; prints what each got: answers,
#                                                  failures, the longest time in s
import collections
import os
import socket
import sys
import time

REQUEST = 'GET {} HTTP/1.1\r\nHost: x\r\n\r\n'


def dial(port, timeout, source):
    # No name is looked up: Python would load a module for it, and uid 65534 may not read those of root's.
    s = socket.socket()
    s.settimeout(timeout)
    try:
        s.bind((source, 0))
        s.connect(('127.0.0.1', port))
    except OSError:
        s.close()
        raise
    return s


def ask(port, path, timeout, source='127.0.0.1'):
    """The status of the answer, read to its end; 0: none, or none in time."""
    end = time.monotonic() + timeout
    text = b''
    try:
        with dial(port, timeout, source) as s:
            s.sendall(REQUEST.format(path).encode())
            while True:
                s.settimeout(max(end - time.monotonic(), 0.001))
                data = s.recv(65536)
                if not data:
                    break
                text += data
    except OSError:
        return 0
    head, _, body = text.partition(b'\r\n\r\n')
    for line in head.lower().split(b'\r\n'):
        if line.startswith(b'content-length:') and int(line.split(b':')[1]) != len(body):
            return 0
    return int(text[9:12]) if text.startswith(b'HTTP/1.1 ') else 0


def flood(port, path, end):
    while time.monotonic() < end:
        ask(port, path, 5)


def drip(port, source, end):
    while time.monotonic() < end:
        try:
            with dial(port, 5, source) as s:
                s.settimeout(0.2)
                s.sendall(b'GET /healthz HTTP/1.1\r\nX: ')
                while time.monotonic() < end:
                    s.sendall(b'y')
                    try:
                        if not s.recv(1):
                            break
                    except TimeoutError:
                        pass
        except OSError:
            time.sleep(0.01)


# A process each: they have nothing to wait for but the answer.
def attack(kind, port, seconds, path='/healthz'):
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
    end = time.monotonic() + seconds
    work = [(flood, port, path, end)] * 6 if kind == 'flood' else [
        (drip, port, f'127.0.0.{2 + i % 3}', end) for i in range(24)]
    for function, *arguments in work:
        if os.fork() == 0:
            function(*arguments)
            os._exit(0)
    for _ in work:
        os.wait()


def asks(port, seconds):
    end = time.monotonic() + seconds
    wanted = [('metrics', '/metrics', 10), ('healthz', '/healthz', 1), ('readyz', '/readyz', 1)]
    good, failed, longest = collections.Counter(), collections.Counter(), collections.Counter()
    while time.monotonic() < end:
        for name, path, timeout in wanted:
            began = time.monotonic()
            if ask(port, path, timeout) == 200:
                good[name] += 1
            else:
                failed[name] += 1
            longest[name] = max(longest[name], time.monotonic() - began)
            time.sleep(0.3)
    for name, _, _ in wanted:
        print(f'{name} {good[name]} {failed[name]} {longest[name]:.2f}')


if __name__ == '__main__':
    kind, port, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    if kind == 'asks':
        asks(port, seconds)
    else:
        attack(kind, port, seconds, *sys.argv[4:])
