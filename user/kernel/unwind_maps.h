/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_KERNEL_UNWIND_MAPS_H
#define HOTRUN_KERNEL_UNWIND_MAPS_H
/*
 * The tables by which the kernel walks stacks (bpf/unwind.bpf.h), in BPF maps that are written in
 * memory. What is dropped is used again only UNWIND_MAPS_GRACE_NS later, when no walk can be in it:
 * one takes some 50 us. No threads.
 */
#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/events.h"

#define UNWIND_MAPS_GRACE_NS 20000000ull

struct bpf_map;
struct unwind_maps;

/* What the maps are, and where the programs look whether anything changed. */
struct unwind_maps_in {
	struct bpf_map *chunks, *pages, *mappings, *processes;
	uint32_t *generation;
	size_t bytes_max; /* of all maps; at least UNWIND_MAPS_LEAST */
};
/* Pages, mappings and processes are there from the start; and one chunk. */
#define UNWIND_MAPS_LEAST (8u << 20)

/* Before the load, where no tables are wanted: next to no room for them. */
void unwind_maps_omit(const struct unwind_maps_in *in);
/* After the load. 0 or negative errno. */
int unwind_maps_open(const struct unwind_maps_in *in, struct unwind_maps **ret_maps);
void unwind_maps_free(struct unwind_maps *u);

/* Rows of a file, page by page: pages[i] tells which of rows are of page base + i. Hostile: what
 * does not fit together is no row. */
struct unwind_maps_table {
	const struct unwind_page *pages;
	uint32_t page_base, page_cnt;
	const struct unwind_row *rows;
	uint32_t row_cnt;
};

/* Takes a copy; its pages begin at *ret_first_page. 0, -ENOSPC (no room: drop others, and wait for
 * the grace) or -ENOMEM. */
int unwind_maps_add(struct unwind_maps *u, const struct unwind_maps_table *table,
		    uint32_t *ret_first_page);
/* No process's mappings tell of it any more. */
void unwind_maps_drop(struct unwind_maps *u, uint32_t first_page, uint32_t page_cnt);

/* From now on stacks of that process are walked by these mappings, which are in the order of their
 * addresses. 0, or -ENOSPC: it is as it was. */
int unwind_maps_set_process(struct unwind_maps *u, uint32_t tgid, uint64_t start_ns,
			    const struct unwind_mapping *mappings, uint32_t cnt);
/* They are walked along frame pointers again, unless the id is another process's by now. */
void unwind_maps_forget_process(struct unwind_maps *u, uint32_t tgid, uint64_t start_ns);

/* The same for a walk on this side (walk_piece.h). False: there are no tables of that process. */
bool unwind_maps_find_process(const struct unwind_maps *u, uint32_t tgid, uint64_t start_ns,
			      struct unwind_process *ret_process);
/* The row that holds at an address of that process, and what is known of the code there; none:
 * UNWIND_UNKNOWN, and outside of all its mappings UNWIND_NOT_YET. */
struct unwind_row unwind_maps_row(const struct unwind_maps *u, const struct unwind_process *process,
				  uint64_t address, enum unwind_mapping_kind *ret_kind);

/* Bytes of rows that are used, and of all maps as they are. */
size_t unwind_maps_used(const struct unwind_maps *u);
size_t unwind_maps_bytes(const struct unwind_maps *u);
#endif
