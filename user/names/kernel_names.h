/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_NAMES_KERNEL_NAMES_H
#define HOTRUN_NAMES_KERNEL_NAMES_H
/*
 * Names addresses of the kernel, by kallsyms of now: modules and BPF programs come and go, so it is
 * read again for an address that is not known, seldom. One thread.
 */
#include <stdbool.h>
#include <stdint.h>

#include "model/model.h"
#include "names/kallsyms.h"

/* Begins with zeroes, and the path, borrowed. */
struct kernel_names {
	const char *proc_path;
	struct kallsyms *kallsyms; /* NULL = not read, or hidden */
	bool is_read;
	uint64_t again_ns, interval_ns;
};

void kernel_names_close(struct kernel_names *k);
/* names_kernel_text(). */
uint64_t kernel_names_text(struct kernel_names *k);
/* Adds the location of an address, less kernel_text of the model; time_ns: of its sample. */
void kernel_names_add(struct kernel_names *k, struct model *m, uint64_t address, uint64_t time_ns);
#endif
