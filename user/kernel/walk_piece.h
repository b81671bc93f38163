/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_KERNEL_WALK_PIECE_H
#define HOTRUN_KERNEL_WALK_PIECE_H
/*
 * The walk of a piece of a user stack that was read out of a thread which does not run: the steps
 * and decisions of the kernel's walk (bpf/unwind.bpf.h), by the same tables. The piece is hostile:
 * each step leads up in it, or ends the walk. No threads.
 */
#include <linux/types.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/events.h"

struct unwind_maps;

struct walk_piece {
	const struct unwind_maps *maps; /* borrowed; NULL = along frame pointers alone */
	uint32_t tgid;
	uint64_t process_start_ns;
	uint64_t ip, sp, fp;
	const uint8_t *bytes; /* of the stack, from sp on; borrowed */
	size_t bytes_cnt;
	/* What it leads to: flags as of struct event_stack, and frames, leaf first. */
	uint16_t flags;
	enum stack_end end;
	uint32_t frames_cnt;
	uint64_t frames[STACK_MAX_FRAMES];
};

void walk_piece_run(struct walk_piece *w);
#endif
