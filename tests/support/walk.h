/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_TESTS_WALK_H
#define HOTRUN_TESTS_WALK_H
/*
 * The twin of the kernel's walk (bpf/unwind.bpf.h): the same steps, the same order of decisions,
 * over whatever memory its caller shows it.
 */
#include <stdint.h>

#include <linux/types.h>

#include "bpf/events.h"
#include "parse/unwind_table.h"

#define WALK_FRAMES_MAX 1024u

struct walk_mapping {
	uint64_t start, end, bias;
	enum unwind_mapping_kind kind;
	const struct unwind_table *table; /* borrowed; NULL = none */
};

struct walk {
	const struct walk_mapping *mappings; /* borrowed; by address */
	size_t mappings_cnt;
	/* 0 = all the bytes from at on were there. */
	long (*read)(void *memory, void *to, uint32_t bytes, uint64_t at);
	void *memory;
	uint64_t ip, sp, fp;
	/* What it leads to. */
	uint64_t frames[WALK_FRAMES_MAX];
	size_t frames_cnt;
	uint64_t last_sp, last_fp;
	size_t signals, unsure;
	enum stack_end end;
};

/* One thread. Ends after WALK_FRAMES_MAX frames, with STACK_END_DEPTH. */
void walk_run(struct walk *w);
#endif
