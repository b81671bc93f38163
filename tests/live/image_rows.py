#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""image_rows.py IMAGE IMAGE_ROWS [FUNCTIONS]: rows of a precompiled .NET image against its code.

An independent referee: each function's instructions as objdump shows them, followed along all
branches with what they do to rsp and rbp. Nothing of the unwind data is read. At each instruction,
and at the last byte of each call, where a caller is looked up, the row must tell the same CFA and
the same place of the caller's rbp. Ends with a line "AGREED OF COMPARED".
"""
import bisect, re, struct, subprocess, sys, tempfile

UNWIND_SP, UNWIND_FP = 3, 4
UNWIND_FP_SAME, UNWIND_FP_SAVED = 0, 1
ELSEWHERE = 'of another frame'    # rbp in handlers of .NET 8 and 9: that of their method


def read_image(path):
    data = open(path, 'rb').read()
    pe = struct.unpack_from('<I', data, 0x3c)[0]
    sections, optional = struct.unpack_from('<H', data, pe + 6)[0], struct.unpack_from('<H', data, pe + 20)[0]
    table, size = struct.unpack_from('<II', data, pe + 24 + 136)
    places = [struct.unpack_from('<IIII', data, pe + 24 + optional + 40 * i + 8) for i in range(sections)]

    def at(rva):
        return next(offset + rva - start for _, start, size, offset in places if start <= rva < start + size)
    rows = [struct.unpack_from('<II', data, at(table) + 12 * i) for i in range(size // 12)]
    return data, at, [row for row in rows if row[0] != 0xffffffff]


def disassemble(data, at, low, high):
    with tempfile.NamedTemporaryFile() as f:
        f.write(data[at(low):at(low) + high - low])
        f.flush()
        p = subprocess.run(['objdump', '-D', '-b', 'binary', '-mi386:x86-64', '-Mintel', '-w',
                            f'--adjust-vma={low}', f.name], capture_output=True, text=True, check=True)
    for line in p.stdout.splitlines():
        parts = line.split('\t')
        if len(parts) == 3:
            text = parts[2].split('#')[0].split()
            yield int(parts[0].strip()[:-1], 16), bytes.fromhex(parts[1]), text


def signed(text):
    value = int(text, 16)
    return value - (1 << 64) if value >> 63 else value


LEA = re.compile(r'(rsp|rbp|r11),\[(rsp|rbp)([+-]0x[0-9a-f]+)?\]$')


def step(state, text):
    """State (CFA - rsp, CFA - rbp, CFA - place of the caller's rbp, CFA - r11), None = not known;
    of rbp: the caller's still."""
    sp, fp, saved, r11 = state
    op, arg = text[0], ''.join(text[1:])
    if op == 'push':
        sp = None if sp is None else sp + 8
        if arg == 'rbp' and fp is None and saved is None:
            saved = sp
    elif op == 'pop':
        if arg == 'rbp':
            if saved is None or saved != sp:
                raise ValueError('pop of what is no frame pointer')
            fp = saved = None
        sp = None if sp is None else sp - 8
    elif op in ('sub', 'add') and arg.startswith('rsp,'):
        if not arg[4:].startswith('0x') or sp is None:
            sp = None
        else:
            sp += signed(arg[4:]) if op == 'sub' else -signed(arg[4:])
    elif op == 'lea' and LEA.match(arg):
        to, base, offset = LEA.match(arg).groups()
        value = sp if base == 'rsp' else fp
        if value not in (None, ELSEWHERE):
            value -= int(offset, 16) if offset else 0
        sp, fp, r11 = (value if to == r else old for r, old in (('rsp', sp), ('rbp', fp), ('r11', r11)))
    elif op == 'mov' and arg == 'rbp,rsp':
        fp = sp
    elif op == 'mov' and arg == 'rsp,rbp':
        sp = fp
    elif op == 'mov' and arg == 'rsp,r11':    # a frame whose pages were touched first
        sp = r11
    elif op == 'mov' and arg.startswith('rbp,QWORD'):
        fp = ELSEWHERE
    elif op == 'mov' and arg.startswith('rsp,r'):    # stackalloc of a variable size
        sp = None
    elif op == 'leave':
        sp, fp, saved = fp - 8, None, None
    elif arg.startswith(('rsp,', 'rbp,')) and op not in ('cmp', 'test'):
        raise ValueError(f'{op} {arg}')
    return sp, fp, saved, r11


def successors(i, code, index, begin, end):
    """Instructions that follow within the function; None = a switch."""
    address, raw, text = code[i]
    op, target = text[0], text[-1]
    inside = len(text) == 2 and target.startswith('0x') and begin <= int(target, 16) < end
    if op in ('ret', 'int3', 'ud2', 'hlt') or op.startswith('rex.W') or (op == 'jmp' and raw[0] == 0x48):
        return []
    if op == 'jmp':
        return [index[int(target, 16)]] if inside else None
    if op[0] == 'j' and inside:
        return [index[int(target, 16)], i + 1]
    return [i + 1]


class Referee:
    def __init__(self, code, rows):
        self.code, self.rows = code, rows
        self.index = {c[0]: i for i, c in enumerate(code)}
        self.starts = [row[0] for row in rows]
        self.agreed, self.wrong = 0, []

    def compare(self, address, state, what):
        sp, fp, saved, _ = state
        _, cfa, offset, caller, place = self.rows[bisect.bisect_right(self.starts, address) - 1]
        good = (cfa == UNWIND_SP and offset * 8 == sp) or (cfa == UNWIND_FP and offset * 8 == fp)
        if saved is None:
            good = good and caller == UNWIND_FP_SAME
        else:
            good = good and caller == UNWIND_FP_SAVED and place * 8 == -saved
        if good:
            self.agreed += 1
        else:
            self.wrong.append(f'{address:x} {what}: row {cfa} {offset} {caller} {place}, code {state}')

    def follow(self, begin, end):
        first, last = self.index[begin], bisect.bisect_left(self.code, (end,))
        seen, body = set(), None
        todo = [(first, (8, None, None, None))]
        while True:
            if not todo:
                # What only a switch or a handler leads to has the frame of the body.
                rest = next((i for i in range(first, last) if i not in seen
                             and self.code[i][2][0] not in ('int3', 'nop')), None)
                if body is None or rest is None:
                    return
                todo.append((rest, body))
            i, state = todo.pop()
            if i in seen or i >= last:
                continue
            seen.add(i)
            address, raw, text = self.code[i]
            self.compare(address, state, ' '.join(text))
            if text[0] == 'call':
                self.compare(address + len(raw) - 1, state, 'call')
                body = state
            after = successors(i, self.code, self.index, begin, end)
            if after is None:
                body, after = state, []
            try:
                state = step(state, text)
            except ValueError as e:
                self.wrong.append(f'{address:x}: not understood: {e}')
                continue
            todo += [(k, state) for k in after]


def main():
    image, image_rows = sys.argv[1:3]
    data, at, functions = read_image(image)
    functions = functions[:int(sys.argv[3])] if len(sys.argv) > 3 else functions
    out = subprocess.run([image_rows, image], capture_output=True, text=True, check=True).stdout
    rows = []
    for line in out.splitlines():
        rva, *rest = line.split()
        rows.append((int(rva, 16), *map(int, rest)))
    referee = Referee(list(disassemble(data, at, functions[0][0], functions[-1][1])), rows)
    for begin, end in functions:
        referee.follow(begin, end)
    for line in referee.wrong[:20]:
        print(line)
    print(referee.agreed, 'of', referee.agreed + len(referee.wrong))


main()
