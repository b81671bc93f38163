# SPDX-License-Identifier: GPL-2.0-or-later
"""The busy service: the ASP.NET workload Web under wrk, both on this host, nothing on the network."""
import os
import re
import socket
import subprocess

import kit

CONNECTIONS = 16


def free_port():
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return s.getsockname()[1]


class Web:
    """The service, started with a perf map and warmed up until its hot methods are compiled."""

    def __init__(self, seconds=3600, warm_up=12, load='Web', perf_map=True):
        kit.need('wrk', 'wrk')
        kit.need('dotnet', 'dotnet-sdk-10.0 (of Microsoft)')
        kit.run(['tests/support/dotnet.sh', load], seconds=300, env=os.environ)
        self.port = free_port()
        program = os.path.join(kit.BUILD, 'dotnet', load, 'Shop.Web')
        self.child = kit.start((['dotnet', program + '.dll'] if load == 'Web' else [program])
                               + [self.port, seconds, kit.path('web.truth')],
                               env=dict(os.environ, DOTNET_PerfMapEnabled='3' if perf_map else '0',
                                        DOTNET_NOLOGO='1'))
        self.child.wait_for('ready', 60)
        self.pid = self.child.pid
        if warm_up:
            self.throughput(3 if kit.quick() else warm_up)

    def url(self, what='orders'):
        return f'http://127.0.0.1:{self.port}/{what}'

    def load(self, seconds, what='orders'):
        """wrk in the background."""
        return kit.start(['wrk', '-t', 1, '-c', CONNECTIONS, '-d', f'{seconds}s', self.url(what)])

    def throughput(self, seconds):
        """Requests a second over a window."""
        out = kit.run(['wrk', '-t', 1, '-c', CONNECTIONS, '-d', f'{seconds}s', self.url()])
        bad = re.search(r'Non-2xx|Socket errors', out)
        found = re.search(r'Requests/sec:\s+([0-9.]+)', out)
        if bad or not found or float(found.group(1)) <= 0:
            raise kit.CannotMeasure('wrk: ' + out[-300:])
        return float(found.group(1))

    def end(self):
        self.child.end(kit.signal.SIGKILL)  # it would wait for its time to be over


def without_dotnet():
    return subprocess.call(['sh', '-c', 'command -v dotnet >/dev/null']) != 0
