/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_KERNEL_SWITCH_RING_H
#define HOTRUN_KERNEL_SWITCH_RING_H
/*
 * Single switches and wakeups of the last seconds (bpf/switches.bpf.c): loaded and attached beside
 * a session, in an object of its own, so that what it cannot do takes nothing else down. The
 * programs write into memory that is read here, when somebody wants it; until then it costs no
 * system call. Nothing is pinned. No threads.
 */
#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/events.h"

struct switch_ring;

/* Of all CPUs on line together; where these are more than 64, a MiB of each. Where the rows of a
 * window need more, it is shorter. */
#define SWITCH_RING_BYTES (64u << 20)
/* Rows a second and CPU that there is room for: some 25,000 switches, each with a wakeup. */
#define SWITCH_RING_RATE 50000u

struct switch_ring_options {
	uint32_t cpus_possible;
	const bool *online; /* by CPU; only until switch_ring_new() returns. Others have no ring */
	uint64_t window_ns; /* that is to be kept */
	size_t bytes_max;   /* 0 = SWITCH_RING_BYTES */
};

/* From here on switches are kept. On failure a sentence for people is in why. 0 or negative errno;
 * *ret_ring owned. */
int switch_ring_new(const struct switch_ring_options *options, char *why, size_t why_bytes,
		    struct switch_ring **ret_ring);
/* Takes NULL. */
void switch_ring_free(struct switch_ring *r);

/* Rows of one CPU at this moment, first to last; none where first is behind last. They go on to be
 * written, the oldest first: some of those are left out, so that there is time to read the rest. */
struct switch_reading {
	uint64_t first, last;
	uint64_t since_ns; /* nothing is missing from here on */
	bool is_full;	   /* older ones are overwritten */
};
void switch_ring_look(const struct switch_ring *r, uint32_t cpu,
		      struct switch_reading *ret_reading);
/* False: it is overwritten by now. */
bool switch_ring_row(const struct switch_ring *r, uint32_t cpu, uint64_t n,
		     struct switch_row *ret_row);
/* Rows of CPUs that have no ring, so far. */
uint64_t switch_ring_lost(const struct switch_ring *r);

/* Bytes of all. */
size_t switch_ring_bytes(const struct switch_ring *r);
#endif
