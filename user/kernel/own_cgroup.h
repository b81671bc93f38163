/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_KERNEL_OWN_CGROUP_H
#define HOTRUN_KERNEL_OWN_CGROUP_H
/*
 * The memory limit under which hotrun itself runs: its own cgroup and those above it, v2 or v1
 * (Documentation/admin-guide/cgroup-v2.rst memory.max, cgroup-v1/memory.rst memory.limit_in_bytes).
 */
#include <stdint.h>

#include "base/host_facts.h"

/* Bytes until the tightest limit, file cache that can be dropped counted as free. FACT_UNKNOWN
 * where there is no limit or it cannot be read. */
int64_t own_cgroup_memory_room(void);
#endif
