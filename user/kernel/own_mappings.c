/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/own_mappings.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/cleanup.h"

/*
 * libbpf maps ring buffers and the sections of variables for itself and tells where from 1.3 on
 * only: what the kernel tells is complete in any version. Names: bpf_map_new_fd() of
 * kernel/bpf/syscall.c, perf_event_open() of kernel/events/core.c. Perf rings are kept from
 * children by the kernel itself since 3.10 (VM_DONTCOPY in perf_mmap()); not counting on that costs
 * nothing.
 */
static bool is_held_in_kernel(const char *line)
{
	return strstr(line, " anon_inode:bpf-map") || strstr(line, " anon_inode:[perf_event]");
}

int own_mappings_withhold(void)
{
	_cleanup_fclose_ FILE *file = fopen("/proc/self/maps", "re");
	_cleanup_free_ char *line = NULL;
	size_t cap = 0;

	if (!file)
		return -errno;
	while (getline(&line, &cap, file) > 0) {
		unsigned long start, end;

		if (!is_held_in_kernel(line))
			continue;
		if (sscanf(line, "%lx-%lx ", &start, &end) != 2)
			return -EIO;
		if (madvise((void *)start, end - start, MADV_DONTFORK))
			return -errno;
	}
	return ferror(file) ? -EIO : 0;
}
