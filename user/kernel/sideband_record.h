/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_KERNEL_SIDEBAND_RECORD_H
#define HOTRUN_KERNEL_SIDEBAND_RECORD_H
/*
 * One record of the rings of sideband.h taken apart, by its length: processes choose names and
 * paths in it. Pure.
 */
#include <linux/perf_event.h>

#include "kernel/sideband.h"

/* Bytes of the shortest record: its head, and its time as the last word. */
#define SIDEBAND_RECORD_MIN (sizeof(struct perf_event_header) + 8)

/* Hands a record of header->size bytes, at least SIDEBAND_RECORD_MIN, to ops. False: it is shorter
 * than its type says. */
bool sideband_take(const struct perf_event_header *header, uint64_t time_ns,
		   const struct sideband_ops *ops);
#endif
