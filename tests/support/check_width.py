# SPDX-License-Identifier: GPL-2.0-or-later
"""Lines of sources have at most 100 columns: the formatter leaves comments as they are, since it
cannot tell a table from a sentence."""
import sys

COLUMNS = 100
wide = 0
for path in sys.argv[1:]:
    with open(path, encoding="utf-8") as source:
        for number, line in enumerate(source, 1):
            columns = len(line.rstrip("\n").expandtabs(8))
            if columns > COLUMNS:
                print(f"{path}:{number}: {columns} columns, {COLUMNS} may be")
                wide += 1
sys.exit(wide > 0)
