/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_KERNEL_PROBE_H
#define HOTRUN_KERNEL_PROBE_H
/*
 * Looks at everything of this host on which a recording depends (base/host_facts.h). Reads /proc
 * and /sys of the host itself, never of a target; tries the system calls rather than guess.
 */
#include "base/host_facts.h"
#include "kernel/host.h"

/* Load and ticks: about 0.1 s each; a CPU is kept busy so long at the most, and only an idle
 * one. */
#define PROBE_WINDOW_NS 50000000ull
#define PROBE_SPIN_NS	20000000ull
#define PROBE_HZ	499

/* What can be read or tried within milliseconds. Never fails. */
void probe_host(const struct host *host, struct host_facts *ret_facts);

/*
 * Loads and attaches the BPF programs as a recording does, lets ticks come for a moment, and takes
 * everything away again; fills the fields session_, ticks_, cpus_ and features of facts. Not tried
 * where host_check() refuses: session_why has its sentence.
 */
void probe_session(const struct host *host, struct host_facts *facts);
#endif
