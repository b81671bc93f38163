# SPDX-License-Identifier: GPL-2.0-or-later
"""Results: one figure a line, with its spread, its budget and the verdict."""
import os

COLUMNS = ('row', 'figure', 'value', 'unit', 'low', 'high', 'budget', 'verdict')


class Results:
    def __init__(self):
        self.lines = []

    def add(self, row, figure, value, unit, spread=None, at_most=None, at_least=None, below=None):
        """A figure; `spread` = (10th, 90th percentile); with a budget it gets a verdict."""
        budget, good = '', None
        if at_most is not None:
            budget, good = f'<= {at_most:g}', value <= at_most
        if at_least is not None:
            budget, good = f'>= {at_least:g}', value >= at_least
        if below is not None:
            budget, good = f'< {below:g}', value < below
        low, high = spread if spread else ('', '')
        verdict = '' if good is None else 'within' if good else 'OVER'
        self.lines.append((row, figure, value, unit, low, high, budget, verdict))

    def cannot(self, row, why):
        self.lines.append((row, 'not measured: ' + ' '.join(why.split()), '', '', '', '', '',
                           'NOT MEASURED'))

    def exit_code(self):
        verdicts = {line[-1] for line in self.lines}
        return 2 if 'NOT MEASURED' in verdicts else 1 if 'OVER' in verdicts else 0

    def print(self):
        cells = [('row', 'figure', 'value', 'unit', '10 % .. 90 %', 'budget', 'verdict')]
        for row, figure, value, unit, low, high, budget, verdict in self.lines:
            between = f'{number(low)} .. {number(high)}' if low != '' else ''
            cells.append((row, figure, number(value), unit, between, budget, verdict))
        widths = [max(len(c[i]) for c in cells if i != 1 or c[6] != 'NOT MEASURED')
                  for i in range(len(cells[0]))]
        last = ''
        for line in cells:
            shown = ('' if line[0] == last else line[0],) + line[1:]
            last = line[0]
            text = '  '.join(c.rjust(w) if i == 2 else c.ljust(w)
                             for i, (c, w) in enumerate(zip(shown, widths)))
            print(text.rstrip())

    def keep(self, file):
        """Writes the table for machines; rows that were not measured now keep their old lines."""
        measured = {line[0] for line in self.lines}
        old = []
        if os.path.exists(file):
            with open(file) as f:
                old = [line.rstrip('\n').split('\t') for line in f][1:]
        with open(file + '.new', 'w') as f:
            f.write('\t'.join(COLUMNS) + '\n')
            for line in [o for o in old if o[0] not in measured] + self.lines:
                f.write('\t'.join(f'{c:.6g}' if isinstance(c, float) else str(c) for c in line) + '\n')
        os.replace(file + '.new', file)


def number(value):
    if value == '' or isinstance(value, str):
        return value
    if isinstance(value, int):
        return f'{value:,}'
    size = abs(value)
    return f'{value:,.0f}' if size >= 1000 else f'{value:.1f}' if size >= 100 else \
        f'{value:.2f}' if size >= 10 else f'{value:.3f}'
