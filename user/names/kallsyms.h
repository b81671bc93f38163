/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_NAMES_KALLSYMS_H
#define HOTRUN_NAMES_KALLSYMS_H
/*
 * The kernel's functions from /proc/kallsyms (kernel/kallsyms.c): core, modules and BPF programs.
 * The file has no sizes, so a function ends where the next symbol of any type begins. One thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KALLSYMS_BYTES_MAX   (256u << 20) /* this machine's has 5 MB; debug kernels have 20 */
#define KALLSYMS_SYMBOLS_MAX 4000000u
#define KALLSYMS_MODULES_MAX 65535u

struct kallsyms;

struct kallsyms_place {
	const char *name;   /* borrowed until kallsyms_free() */
	const char *module; /* "ext4", "[bpf]", or "[kernel]" */
	uint64_t start;
};

/*
 * Reads the file at path. Returns owned, or NULL with errno: EACCES where it cannot be read or
 * all addresses are 0 (kernel.kptr_restrict, no CAP_SYSLOG); ENOMEM; EFBIG; or another of open.
 */
struct kallsyms *kallsyms_read(const char *path);
/* The same from text, in pieces of any size; for kallsyms_read() and tests. */
struct kallsyms *kallsyms_new(void);
int kallsyms_feed(struct kallsyms *k, const char *text, size_t len);
/* Sorts. 0, or -EACCES when all addresses are 0. */
int kallsyms_finish(struct kallsyms *k);
void kallsyms_free(struct kallsyms *k);

/* Address of _text, 0 = not listed. */
uint64_t kallsyms_text(const struct kallsyms *k);
size_t kallsyms_count(const struct kallsyms *k);

/* Finds the function that covers address. */
bool kallsyms_find(const struct kallsyms *k, uint64_t address, struct kallsyms_place *ret_place);
#endif
