# SPDX-License-Identifier: GPL-2.0-or-later
"""Row `images`: the precompiled images of a running web service, read with all that names need."""
import os
import re

import kit
from web import Web


def measure(results):
    program = os.path.join(kit.BUILD, 'bench', 'image_names')
    if not os.access(program, os.X_OK):
        raise kit.CannotMeasure(f'{program}: not there; `make bench` builds it')
    web = Web(warm_up=2)
    with open(f'/proc/{web.pid}/maps') as maps:
        files = sorted({line.split(None, 5)[5].strip() for line in maps
                        if line.rstrip().endswith('.dll') and line.split()[1][2] == 'x'})
    web.end()
    if not files:
        raise kit.CannotMeasure('the service has no precompiled image mapped')
    took, last = [], None
    for _ in range(kit.rounds(7)):
        lines = kit.run(['taskset', '-c', kit.WORK_CPU, program, 'share'] + files).splitlines()
        last = re.search(r'(\d+) images: (\d+) functions, (\d+) named .*loaded in ([0-9.]+) ms, '
                         r'(\d+) KiB', lines[-1])
        if not last:
            raise kit.CannotMeasure('image_names: ' + lines[-1][-200:])
        took.append(float(last.group(4)))
    images, functions, named, _, kib = last.groups()
    results.add('images', f'{images} images of a web service, read', kit.median(took), 'ms',
                kit.spread(took), below=100)
    results.add('images', 'memory', int(kib) / 1024, 'MiB')
    results.add('images', 'functions with a name', 100 * int(named) / int(functions), '%',
                at_least=99.5)
