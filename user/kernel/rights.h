/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_KERNEL_RIGHTS_H
#define HOTRUN_KERNEL_RIGHTS_H
/*
 * Which capabilities a process that records needs, and when; the rest it lets go of, for good,
 * whoever started it. Tried on Linux 6.18 by taking each away, before the start
 * (tests/live/test_deploy.sh has the six of a service) and after it; what is held in the end is
 * looked at by tests/live/test_rights.sh.
 *
 * capability           until    for
 * PERFMON              the end  events of CPUs that come on line: those of a CPU go with it
 * SYS_PTRACE           the end  /proc/PID/root, maps, exe of processes that start
 * DAC_READ_SEARCH      the end  their programs and perf maps
 * CHECKPOINT_RESTORE   the end  /proc/PID/map_files
 * SYSLOG               the end  /proc/kallsyms, read again for modules that come
 * BPF                  loaded   programs and maps; after it all goes by descriptors: links of
 *                               events of new CPUs, readings of maps, iterators. `watch` keeps it
 *                               (RIGHTS_RELOAD), since it loads anew when it gives up or takes back
 *                               a part; so does who walks stacks by tables (RIGHTS_TABLES), whose
 *                               maps are made as they are needed; and so does everybody before
 *                               Linux 5.19, whose bpf(2) asks for it at every call
 * SYS_ADMIN            loaded   network namespaces of others, entered for what was accepted before;
 *                               in a session of `watch` that is loaded anew, those who hold the
 *                               files tell. Kept where the kernel opens events of CPUs for it alone
 *                               (Debian's, with kernel.perf_event_paranoid at 3)
 * SYS_RESOURCE         loaded   the limit of locked memory
 * IPC_LOCK             loaded   the same; kept where that limit could not be raised
 * SYS_NICE             begun    its own priority; kept by who goes ahead of all others again and
 *                               again, and sends a child of it to a CPU (RIGHTS_URGENT)
 * NET_BIND_SERVICE     begun    `watch --listen` below port 1024; only in the thread that serves
 * DAC_OVERRIDE, CHOWN, FOWNER   a capture in another user's folder, or for who called sudo; and
 *                               perf maps of others, switched on (RIGHTS_FILES); else never
 *
 * What was there already is no reason to keep more: without BPF or PERFMON it is SYS_ADMIN that
 * stands for them, and stays; without DAC_READ_SEARCH it is DAC_OVERRIDE.
 */
#include <stdbool.h>
#include <stdint.h>

enum rights_use {
	RIGHTS_RELOAD = 1 << 0, /* the programs may be loaded anew */
	RIGHTS_FILES = 1 << 1,	/* others' files are written */
	RIGHTS_TABLES = 1 << 2, /* stacks are walked by tables */
	RIGHTS_URGENT = 1 << 3, /* base/urgent.h, after the programs are loaded */
};

/* Before anything is opened; one thread. use: enum rights_use. What cannot be dropped is logged. */
void rights_begin(unsigned int use);
/* When the programs are loaded, and before there are threads that are to have less. */
void rights_loaded(unsigned int use);
/* The same for who loads none: looks names up, and writes a capture. */
void rights_names(void);

/* What this kernel allows without a capability that was needed to load. */
struct rights_kernel {
	bool bpf;    /* bpf(2) works without CAP_BPF */
	bool events; /* events of CPUs open without CAP_SYS_ADMIN */
	bool memory; /* locked memory has no limit */
};

/* The sets, for these two: held is what there is. loaded: false = what rights_begin() keeps. */
uint64_t rights_kept(uint64_t held, unsigned int use, bool loaded,
		     const struct rights_kernel *kernel);
#endif
