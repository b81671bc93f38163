/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_TESTS_REFUSE_BPF_H
#define HOTRUN_TESTS_REFUSE_BPF_H
/*
 * A kernel that refuses BPF programs: stands in for syscall(2), by which libbpf loads, and answers
 * EPERM to the load of each program that the environment variable REFUSE_BPF names
 * ("on_data,find_owners"). The kernel is not asked. Linked into a test program, or preloaded into
 * hotrun (build/workloads/refuse_bpf.so).
 */
extern unsigned int refuse_bpf_refused; /* loads that were refused; libbpf tries one twice */
extern unsigned int refuse_bpf_objects; /* BPF objects whose load was begun */
#endif
