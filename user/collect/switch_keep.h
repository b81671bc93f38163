/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_COLLECT_SWITCH_KEEP_H
#define HOTRUN_COLLECT_SWITCH_KEEP_H
/*
 * Keeps single switches in the kernel beside a session, and adds the window of them that a slice
 * ends with (switch_take.h) where somebody wants it. Without them all else is as it was. No
 * threads.
 */
#include <stdbool.h>
#include <stdint.h>

#include "collect/books.h"
#include "collect/rooms.h"
#include "kernel/switch_ring.h"

/* Begins with zeroes, and these two, borrowed. */
struct switch_keep {
	const struct rooms *rooms;
	const struct books *books;
	struct switch_ring *ring; /* NULL: nobody asked, or this kernel cannot */
	char why[256];		  /* it cannot, as a clause for people; or "" */
	uint64_t lost;
	bool is_wanted; /* in the slice that ends next */
};

/* As the rooms' options say. */
void switch_keep_open(struct switch_keep *k);
void switch_keep_close(struct switch_keep *k);
size_t switch_keep_bytes(const struct switch_keep *k);

/* The slice that ends next has them, as the last one always has. */
void switch_keep_want(struct switch_keep *k);
/* It ends then, and the clocks were read for it. */
void switch_keep_end_slice(struct switch_keep *k, uint64_t end_ns);
#endif
