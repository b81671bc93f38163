/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_KERNEL_BPF_START_H
#define HOTRUN_KERNEL_BPF_START_H
/* What everybody does who loads BPF programs: limits before it, and words for what fails. Private
 * to this room. */
#include <stdbool.h>
#include <stddef.h>

/* Open files that it takes; measured on 2 CPUs: 40 and 4 a CPU (two rings, a tick, its link), and
 * some to open files with. */
#define BPF_START_FILES		48
#define BPF_START_FILES_PER_CPU 4

/* Raises the limits of locked memory and open files, as far as they can be; libbpf's lines go to
 * the log from here on. */
void bpf_start_prepare(void);

/* What libbpf said last of a program, or else a map, that the kernel did not take; "" = nothing. */
struct bpf_refusal {
	char program[64], map[64];
	char detail[160]; /* the verifier's last line, or libbpf's reason */
};

/* From now on libbpf's warnings of this thread are kept there as well; NULL: no longer. */
void bpf_start_watch(struct bpf_refusal *refusal);
/* So few that what got no descriptor may look like a program that is wrong. */
bool bpf_start_has_few_files(void);

/* A sentence for people in why. Both return -EPERM for what was not permitted, else err. what: what
 * was being done. */
int explain(int err, const char *what, char *why, size_t why_bytes);
/* Of a load that failed. */
int explain_load(int err, char *why, size_t why_bytes);
/* A clause to go behind a reason; "" where lockdown can be asked about. Static. */
const char *bpf_start_suspects_lockdown(void);
#endif
