/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_KERNEL_ITERATE_H
#define HOTRUN_KERNEL_ITERATE_H
/* Runs BPF iterators, which hand over records of one size each. Private to this room. */
#include <stddef.h>

/* Runs the iterator of that link to its end, in the network namespace of the calling thread where
 * that matters; take (may be NULL) gets each record, borrowed until it returns. 0 or negative
 * errno. */
int iterate(int link_fd, size_t record_bytes, void (*take)(void *ctx, const void *record),
	    void *ctx);
#endif
