#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs a program in the sandbox of a systemd unit, as far as that can be had without systemd.

as_unit.py UNIT STATE PROGRAM [ARGUMENT]...

From the unit: CapabilityBoundingSet, NoNewPrivileges, SystemCallFilter (with the groups that
systemd-analyze knows), ProtectSystem=strict, ReadOnlyPaths, PrivateTmp, ProtectHome, StateDirectory (the
folder STATE, which the program finds at /mnt/state), WorkingDirectory, UMask, Limit*, Nice. Not:
PrivateDevices, RestrictAddressFamilies, RestrictNamespaces, MemoryDenyWriteExecute and the Protect*
that repeat what is above. As root; needs gcc for the numbers of system calls.
"""
import ctypes
import os
import re
import resource
import subprocess
import sys

MS_RDONLY, MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 1, 32, 4096, 16384, 1 << 18
CLONE_NEWNS = 0x20000
AUDIT_ARCH = {'x86_64': 0xc000003e, 'aarch64': 0xc00000b7}
PR_SET_SECCOMP, PR_CAPBSET_READ, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 22, 23, 24, 38
ALLOW, KILL, EPERM = 0x7fff0000, 0x80000000, 0x50001

libc = ctypes.CDLL(None, use_errno=True)


def read_unit(path):
    """name → values, in order; a name that comes again adds to it"""
    settings = {}
    with open(path) as file:
        for line in file:
            if '=' in line and not line.startswith('#'):
                name, value = line.strip().split('=', 1)
                settings.setdefault(name, []).append(value)
    return settings


def mount(source, target, kind, flags, data=None):
    if libc.mount(*(x and x.encode() for x in (source, target, kind)), flags, data and data.encode()):
        raise OSError(ctypes.get_errno(), target)


def see_to_files(unit, state, program):
    """A mount namespace with STATE and PROGRAM below /mnt, all else read-only."""
    if libc.unshare(CLONE_NEWNS):
        raise OSError(ctypes.get_errno(), 'unshare')
    mount('none', '/', None, MS_REC | MS_PRIVATE)
    mount('tmpfs', '/mnt', 'tmpfs', 0, 'mode=755')
    os.mkdir('/mnt/state')
    open('/mnt/program', 'w').close()
    mount(state, '/mnt/state', None, MS_BIND)
    mount(program, '/mnt/program', None, MS_BIND)
    assert unit['ProtectSystem'] == ['strict'] and unit['PrivateTmp'] == ['yes']
    for path in ('/tmp', '/var/tmp'):
        mount('tmpfs', path, 'tmpfs', 0, 'mode=1777')
    for path in ('/root', '/home') if unit['ProtectHome'] == ['yes'] else ():
        mount('tmpfs', path, 'tmpfs', MS_RDONLY, 'mode=000')
    for path in ' '.join(unit['ReadOnlyPaths']).split():
        mount(path, path, None, MS_BIND | MS_REC)
    with open('/proc/self/mounts') as file:
        mounted = [line.split()[1] for line in file]
    for path in mounted:
        free = path in ('/mnt/state', '/tmp', '/var/tmp') or re.match('/(dev|proc|sys)(/|$)', path)
        if not free or path in ' '.join(unit['ReadOnlyPaths']).split():
            # What is hidden below another mount is out of reach as it is.
            try:
                mount('none', path, None, MS_REMOUNT | MS_BIND | MS_RDONLY)
            except OSError:
                pass
    os.chdir('/mnt/state')


def group(name):
    """The system calls of @name."""
    out = subprocess.run(['systemd-analyze', 'syscall-filter', name], capture_output=True, text=True, check=True)
    calls = set()
    for word in out.stdout.split('\n')[1:]:
        word = word.strip()
        if word.startswith('@'):
            calls |= group(word)
        elif word and not word.startswith('#'):
            calls.add(word)
    return calls


def allowed(unit):
    """systemd.exec(5): a list of what passes, as its first line is one; @default always passes."""
    calls = group('@default')
    for line in unit['SystemCallFilter']:
        named = set()
        for word in line.lstrip('~').split():
            named |= group(word) if word.startswith('@') else {word}
        calls = calls - named if line.startswith('~') else calls | named
    return calls


def numbers(header, prefix):
    """name → number of the macros of a header"""
    out = subprocess.run([os.environ.get('CC', 'gcc'), '-E', '-dM', '-include', header, '-x', 'c', '/dev/null'],
                         capture_output=True, text=True, check=True).stdout
    return {m[1]: int(m[2]) for m in re.finditer(rf'#define {prefix}(\w+) (\d+)\n', out)}


def program_filter(calls):
    """The steps of a seccomp filter: native calls of these names pass, others get EPERM."""
    known = numbers('sys/syscall.h', '__NR_')
    steps = [(0x20, 0, 0, 4), (0x15, 1, 0, AUDIT_ARCH[os.uname().machine]), (6, 0, 0, KILL), (0x20, 0, 0, 0)]
    for name in sorted(calls & known.keys()):
        steps += [(0x15, 0, 1, known[name]), (6, 0, 0, ALLOW)]
    return steps + [(6, 0, 0, EPERM)]


class Step(ctypes.Structure):
    _fields_ = [('code', ctypes.c_ushort), ('jt', ctypes.c_ubyte), ('jf', ctypes.c_ubyte), ('k', ctypes.c_uint)]


class Program(ctypes.Structure):
    _fields_ = [('len', ctypes.c_ushort), ('steps', ctypes.POINTER(Step))]


def drop_capabilities(keep):
    """From the bounding set; the exec that follows drops them from the others."""
    for name, number in numbers('linux/capability.h', '').items():
        if name.startswith('CAP_') and name not in keep and libc.prctl(PR_CAPBSET_READ, number, 0, 0, 0) == 1 \
                and libc.prctl(PR_CAPBSET_DROP, number, 0, 0, 0):
            raise OSError(ctypes.get_errno(), name)


def confine(steps):
    array = (Step * len(steps))(*(Step(*s) for s in steps))
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or \
            libc.prctl(PR_SET_SECCOMP, 2, ctypes.byref(Program(len(steps), array)), 0, 0):
        raise OSError(ctypes.get_errno(), 'seccomp')


def main():
    unit = read_unit(sys.argv[1])
    state, program = map(os.path.realpath, sys.argv[2:4])
    steps = program_filter(allowed(unit))
    drop_capabilities(unit['CapabilityBoundingSet'][0].split())
    see_to_files(unit, state, program)
    os.umask(int(unit['UMask'][0], 8))
    files = min(int(unit['LimitNOFILE'][0]), resource.getrlimit(resource.RLIMIT_NOFILE)[1])
    resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
    os.setpriority(os.PRIO_PROCESS, 0, int(unit['Nice'][0]))
    confine(steps)
    os.execv('/mnt/program', ['hotrun'] + sys.argv[4:])


if __name__ == '__main__':
    main()
