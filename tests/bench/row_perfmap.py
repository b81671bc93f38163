# SPDX-License-Identifier: GPL-2.0-or-later
"""Row `perfmap`: the figures that perfmap_bench prints, beside their budgets."""
import os

import kit

BUDGETS = {'perfmap_load_million_lines': 0.25, 'perfmap_look_up': 200, 'perfmap_entry': 32}


def measure(results):
    program = os.path.join(kit.BUILD, 'bench', 'perfmap_bench')
    if not os.access(program, os.X_OK):
        raise kit.CannotMeasure(f'{program}: not there; `make bench` builds it')
    figures = {}
    for _ in range(kit.rounds(3)):
        for line in kit.run(['nice', '-n', '-20', 'taskset', '-c', kit.WORK_CPU, program]).splitlines():
            name, value, unit = line.split()
            figures.setdefault((name, unit), []).append(float(value))
    missing = BUDGETS.keys() - {name for name, _ in figures}
    if missing:
        raise kit.CannotMeasure('perfmap_bench does not print ' + ', '.join(sorted(missing)))
    for (name, unit), values in figures.items():
        results.add('perfmap', name.removeprefix('perfmap_').replace('_', ' '), kit.median(values),
                    unit, kit.spread(values), at_most=BUDGETS.get(name))
