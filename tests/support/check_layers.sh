#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The way of the data, from the #include lines: each room may see only the rooms named here; and no
# circles: of headers that include each other, of files that call each other's functions.
set -eu
cd "$(dirname "$0")/../.."
python3 - <<'P'
import glob, os, re, sys
ALLOWED = {
    'user/base': set(),
    'user/model': {'user/base', 'bpf/events.h'},
    'user/isolate': {'user/base'},
    'user/parse': {'user/base', 'user/isolate', 'user/model', 'perfmap', 'bpf/events.h'},
    'user/opener': {'user/base', 'user/isolate', 'user/model', 'user/parse', 'perfmap'},
    'user/process': {'user/base', 'user/isolate', 'user/model', 'user/parse', 'user/opener', 'perfmap'},
    'user/names': {'user/base', 'user/isolate', 'user/model', 'user/parse', 'user/opener', 'user/process', 'perfmap',
                   'bpf/events.h'},
    'user/store': {'user/base', 'user/model', 'bpf/events.h'},
    'user/judge': {'user/base', 'user/model', 'bpf/events.h'},
    'user/output': {'user/base', 'user/model', 'user/judge', 'bpf/events.h'},
    'user/export': {'user/base', 'user/model', 'user/judge', 'user/output', 'bpf/events.h', 'schema'},
    'user/kernel': {'user/base', 'bpf/events.h', 'bpf/unwind_step.h', 'skeleton'},
    'user/collect': {'user/base', 'user/isolate', 'user/model', 'user/opener', 'user/names', 'user/kernel',
                     'bpf/events.h'},
    'user/watch': {'user/base', 'user/model', 'user/store', 'user/judge', 'user/output', 'user/kernel', 'user/collect',
                   'bpf/events.h'},
    'user/commands': {'user/base', 'user/isolate', 'user/model', 'user/opener', 'user/process', 'user/names', 'user/store', 'user/judge',
                      'user/output', 'user/export', 'user/kernel', 'user/collect', 'user/watch', 'bpf/events.h'},
    # Of perfmap/ the rooms above see all, and its folders what is named here and the headers at its top.
    'perfmap/maps': set(),
    'perfmap/names': {'perfmap/maps'},
    'perfmap/images': {'perfmap/names'},
    'perfmap/memory': {'perfmap/images', 'perfmap/names'},
    'perfmap/socket': set(),
    'bpf': set(),
}
SYSTEM_BANNED = {'bpf/libbpf.h': {'user/kernel'}, 'bpf/bpf.h': {'user/kernel'},
                 'sqlite3.h': {'user/store', 'user/export'}, 'libelf.h': {'user/parse'}, 'gelf.h': {'user/parse'},
                 'lzma.h': {'user/parse'}, 'json-c/json.h': {'user/parse'},
                 'microhttpd.h': {'user/watch'}, 'protobuf-c/protobuf-c.h': {'user/export'}}
bad = []
def room_of(include):
    if include.endswith('.skel.h'): return 'skeleton'
    if include.endswith('.pb-c.h'): return 'schema'
    if include in ('bpf/events.h', 'bpf/unwind_step.h'): return include
    if include.startswith('perfmap/'): return os.path.dirname(include)
    if include.startswith('bpf/'): return 'bpf'
    return 'user/' + include.split('/')[0]
for room, allowed in ALLOWED.items():
    for f in glob.glob(room + '/**/*.[ch]', recursive=True):
        for n, line in enumerate(open(f, encoding='utf-8'), 1):
            m = re.match(r'\s*#\s*include\s+([<"])([^>"]+)[>"]', line)
            if not m: continue
            quoted, inc = m.group(1) == '"', m.group(2)
            if quoted:
                if '/' not in inc:
                    if os.path.exists(os.path.join(room, inc)): continue
                to = room_of(inc)
                if room.startswith('user/') and to.startswith('perfmap/'): to = 'perfmap'
                inside = to == room or room.startswith(to + '/')
                if not inside and to not in allowed and not (room == 'bpf'):
                    bad.append(f'{f}:{n}: {room} must not see {to} ({inc})')
            elif inc in SYSTEM_BANNED and room not in SYSTEM_BANNED[inc] and room != 'bpf':
                bad.append(f'{f}:{n}: only {", ".join(SYSTEM_BANNED[inc])} may include <{inc}>')
def circles(graph):
    """Tarjan's strongly connected components of more than one file."""
    index, low, stack, found = {}, {}, [], []
    def visit(v):
        index[v] = low[v] = len(index)
        stack.append(v)
        for w in graph.get(v, ()):
            if w not in index: visit(w)
            if w in stack: low[v] = min(low[v], low[w])
        if low[v] == index[v]:
            at = stack.index(v)
            if len(stack) - at > 1: found.append(sorted(stack[at:]))
            del stack[at:]
    for v in sorted(graph):
        if v not in index: visit(v)
    return found
def tokens(text):
    text = re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', ' ', text, flags=re.S)
    return re.sub(r'^[ \t]*#\s*include[^\n]*', '', text, flags=re.M)
sources = {f: open(f, encoding='utf-8').read()
           for room in ALLOWED if room != 'bpf' for f in glob.glob(room + '/**/*.[ch]', recursive=True)}
headers = {}
for f, text in sources.items():
    if f.endswith('.h'):
        headers[f] = {at for inc in re.findall(r'^\s*#\s*include "([^"]+)"', text, re.M)
                      for at in ('user/' + inc, inc, os.path.join(os.path.dirname(f), inc)) if at in sources}
bad += ['headers include each other: ' + ', '.join(c) for c in circles(headers)]
# Functions that others can call begin at the left edge and are not static.
DEFINITION = re.compile(r'^(?!static\b|typedef\b|extern\b)[A-Za-z_][\w \t*]*?\b(\w+)\([^;{}]*\)\s*\{', re.M)
code = {f: tokens(text) for f, text in sources.items() if f.endswith('.c')}
owner = {name: f for f, text in code.items() for name in DEFINITION.findall(text)}
calls = {f: {owner[name] for name in set(re.findall(r'\b\w+\b', text)) if owner.get(name, f) != f}
         for f, text in code.items()}
bad += ['files call each other: ' + ', '.join(c) for c in circles(calls)]
print('\n'.join(bad))
if bad: sys.exit(1)
print('layers: every arrow points the right way, and there are no circles')
P
