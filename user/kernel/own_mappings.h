/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_KERNEL_OWN_MAPPINGS_H
#define HOTRUN_KERNEL_OWN_MAPPINGS_H
/*
 * A mapping of a BPF map or of a perf ring keeps that map or event in the kernel as a descriptor
 * does. A child that inherits one and outlives a killed recorder (a helper that hangs in a target's
 * file system does) would keep the recorder's maps there. Called by the thread that forks, before
 * it does.
 */

/* Children forked from now on get none of the mappings of BPF maps and perf rings that are there:
 * whoever made them, libbpf included. 0 or negative errno. */
int own_mappings_withhold(void);
#endif
