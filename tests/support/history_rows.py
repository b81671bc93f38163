#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""history_rows.py FILE DAYS END: fills a history (made by `hotrun watch`) with days of minutes up to END
(Unix time), of which all is known: Shop.Web in shop.service, whose slow share rises from 1.4 CPUs on, with bad
minutes where it is over a tenth; Shop.Mail, which serves fast whatever its CPU; a batch job without requests;
one with a hostile name. Prints what is true of Shop.Web: bad minutes, requests, slow, CPU seconds."""
import math
import random
import sqlite3
import sys

FIGURES = ('observed_ms', 'judged_ms', 'cpu_ms', 'waited_ms', 'throttled_ms', 'available_mcpu', 'requests', 'slow',
           'median_us', 'p99_us', 'stuck', 'hurt_ms', 'bad_minutes', 'verdict')
MOST = {'available_mcpu', 'p99_us', 'stuck', 'verdict', 'median_us'}
STARVED, ELASTIC, HEALTHY = 6, 1, 0
HOSTILE = '</title><script>alert(1)</script>"\x1b[31m\'&'


def row(cpus, requests=0, slow=0, bad=False):
    return dict(zip(FIGURES, (60000, 60000, int(cpus * 60000), int(cpus * 9000), 0, 2000, requests, slow,
                              2100 if requests else 0, 400000 if requests else 0, 0, 20000 if bad else 0, int(bad),
                              STARVED if bad else ELASTIC if cpus > 1.4 else HEALTHY)))


def add(table, key, figures):
    there = table.setdefault(key, dict.fromkeys(FIGURES, 0))
    for name, value in figures.items():
        there[name] = max(there[name], value) if name in MOST else there[name] + value


def put(db, name, rows):
    db.executemany(f'REPLACE INTO {name} VALUES (?, ?{", ?" * len(FIGURES)})',
                   [(when, kind, *(f[n] for n in FIGURES)) for (when, kind), f in rows.items()])


def main(path, days, end):
    random.seed(1)
    db = sqlite3.connect(path)
    end_minute = end // 60
    first = end_minute - days * 1440
    kinds = {}
    for name, place in (('Shop.Web', 'shop.service'), ('Shop.Mail', 'prod/shop/mail'), ('nightly-export', ''),
                        (HOSTILE, HOSTILE)):
        kinds[name] = db.execute('INSERT INTO kind (name, place, first_minute, last_minute, minutes) '
                                 'VALUES (?, ?, ?, ?, ?)', (name, place, first, end_minute, days * 1440)).lastrowid
    minutes, hours = {}, {}
    truth = dict.fromkeys(('bad_minutes', 'requests', 'slow', 'cpu_ms'), 0)
    for minute in range(first, end_minute):
        day = 0.5 - 0.5 * math.cos(2 * math.pi * (minute % 1440) / 1440)
        cpus = 0.1 + 1.8 * min(1, max(0, day + random.gauss(0, 0.06)))
        requests = int(600 + 6000 * cpus)
        share = 0.004 + (0.9 * (cpus - 1.4) if cpus > 1.4 else 0)
        slow = min(requests, max(0, int(requests * share + random.gauss(0, 1 + math.sqrt(requests * share)))))
        # An incident that has nothing to do with CPU, and two hours in which nobody looked.
        if first + 3000 <= minute < first + 3020:
            slow = requests
        if first + 2000 <= minute < first + 2120:
            continue
        web = row(cpus, requests, slow, slow > 0.1 * requests)
        told = {'Shop.Web': web, 'Shop.Mail': row(0.1 + day, int(300 * (1 + day)), 1)}
        if 120 <= minute % 1440 < 180:
            told['nightly-export'] = row(0.6)
        if minute % 100 == 0:
            told[HOSTILE] = row(0.01, 5)
        host = row(sum(f['cpu_ms'] for f in told.values()) / 60000, requests, slow, web['bad_minutes'])
        for kind, figures in [(0, host)] + [(kinds[n], f) for n, f in told.items()]:
            add(minutes, (minute, kind), figures)
            add(hours, (minute // 60, kind), figures)
        for name in truth:
            truth[name] += web[name]
    # As where minutes were given up for room.
    keep = {k: f for k, f in minutes.items() if k[0] >= end_minute - 20 * 1440}
    put(db, 'minute', keep)
    put(db, 'hour', hours)
    for i in range(12):
        when = end - 86400 * (i + 1) + 43200
        capture = f'vm-20261120T1000{i:02}Z-trigger.hotrun'
        db.execute('INSERT INTO decision (time_s, last_s, times, process, verdict, taken, reason, trunk, capture) '
                   'VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)',
                   (when, when + (540 if i % 3 else 0), 1 + 540 * (i % 3 > 0), 'Shop.Web', STARVED, i % 3 == 0,
                    '31.2 % of requests slow (limit 10 %), 1,204 hurt; unusual' if i % 3 == 0 else
                    'the like was taken 4 min ago (cooldown 10 min)', 'Shop.Orders.Checkout.Total',
                    capture if i % 3 == 0 else ''))
        if i % 3 == 0:
            for path_, share, people in (('Shop.Main > Shop.Orders.Checkout.Total', 0.61, 1204),
                                         ('Shop.Main > Shop.Orders.Load (async) > Shop.Tax.Of', 0.2, 1204)):
                db.execute('INSERT INTO trunk (time_s, capture, process, path, share, seconds, people) '
                           'VALUES (?, ?, ?, ?, ?, ?, ?)', (when, capture, 'Shop.Web', path_, share, 31.0, people))
    db.execute('INSERT INTO trunk (time_s, capture, process, path, share, seconds, people) '
               'VALUES (?, ?, ?, ?, ?, ?, ?)', (end - 5000, 'x.hotrun', HOSTILE, HOSTILE, 0.9, 1.0, 1.0))
    db.commit()
    print(truth['bad_minutes'], truth['requests'], truth['slow'], round(truth['cpu_ms'] / 1000))


if __name__ == '__main__':
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
