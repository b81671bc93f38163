/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_BASE_PRIVILEGES_H
#define HOTRUN_BASE_PRIVILEGES_H
/*
 * Letting go of capabilities (capabilities(7)), for good: of the process that records, of what it
 * no longer needs; of its children, of all. They belong to a thread: what is dropped here, the
 * calling thread drops, and threads and processes that it makes later begin without. Who shares
 * memory with a thread that holds more holds as much. Nothing but system calls: also between fork()
 * and exec, in a program with threads.
 *
 * a child that executes a program, or works on what others wrote:
 *         if (privileges_drop_all())
 *                 _exit(125);
 * a process that needs a few:
 *         privileges_keep(PRIVILEGE(HOST_CAP_SYS_PTRACE) | PRIVILEGE(HOST_CAP_DAC_READ_SEARCH));
 *
 * Other users' files and processes are then out of reach; the user's own are not: uid 0 without
 * capabilities still owns the files of root. Who is to be another user becomes it before.
 */
#include <stdint.h>

#include "base/host_facts.h"

/* The bit of a capability: enum host_capability, or CAP_* of <linux/capability.h>. */
#define PRIVILEGE(capability) (1ull << (capability))

/* What the calling thread holds: its permitted set. */
uint64_t privileges_held(void);

/*
 * Drops what is not in the mask from permitted and effective; what is in it stays as it is, nothing
 * is gained. Inheritable and ambient are emptied, and so is the bounding set where the thread holds
 * CAP_SETPCAP (as root does; services in containers do not): no program that it executes has any.
 * 0, or negative errno: -EPERM where a seccomp filter refuses capset(2).
 */
int privileges_keep(uint64_t mask);

/* Uses those in the mask only of what is held (the effective set), until called again; for a trial.
 * 0 or negative errno. */
int privileges_use(uint64_t mask);

/*
 * The first half of privileges_drop_all(), for who becomes another user in between: sets
 * no_new_privs and, with CAP_SETPCAP, what makes uid 0 an ordinary user and lets capabilities
 * outlast a change of uid until they are dropped (SECBIT_NOROOT, SECBIT_NO_SETUID_FIXUP, locked). 0
 * or negative errno.
 */
int privileges_lock(void);

/*
 * Drops all of them and sets no_new_privs: no program that is executed from here on has more, be it
 * setuid, with capabilities in its file, or executed by uid 0. That holds where the bounding set
 * cannot be emptied (no CAP_SETPCAP), too (kernel: cap_bprm_creds_from_file() of
 * security/commoncap.c). 0 or negative errno: then some may still be held, and the child is not to
 * go on.
 */
int privileges_drop_all(void);
#endif
