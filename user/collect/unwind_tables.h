/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_COLLECT_UNWIND_TABLES_H
#define HOTRUN_COLLECT_UNWIND_TABLES_H
/*
 * The tables that the BPF maps hold, each content once however many processes use it, and who
 * counts on them. No threads.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "kernel/unwind_maps.h"
#include "names/names.h"

/* Of a table: 2 GiB of code. */
#define UNWIND_TABLE_PAGES_MAX (UNWIND_PAGES_MAX / 8)

struct unwind_table {
	uint64_t content; /* 0: of one process alone */
	uint32_t first_page, page_cnt, page_base;
	uint32_t refs; /* processes, each once */
	bool is_free;
};

/* Begins with zeroes, and the maps, borrowed. */
struct unwind_tables {
	struct unwind_maps *maps;
	struct unwind_table *rows;
	size_t rows_cnt, rows_cap;
	struct hash_index by_content;
};

void unwind_tables_close(struct unwind_tables *t);
/* The maps hold none, after all were released. */
void unwind_tables_clear(struct unwind_tables *t);

/* A row; HASH_NONE: there is none of that content, there is no room. Nobody uses a new one yet. */
uint32_t unwind_tables_find(const struct unwind_tables *t, uint64_t content);
uint32_t unwind_tables_add(struct unwind_tables *t, const struct names_unwind *from);
/* Somebody uses it, once more. Borrowed until the next call. */
const struct unwind_table *unwind_tables_use(struct unwind_tables *t, uint32_t row);
/* No more of these uses. What nobody uses any more goes at once, where it is of one process alone;
 * else with the next one: */
void unwind_tables_release(struct unwind_tables *t, const uint32_t *rows, size_t cnt);
/* Drops those that no process has; they may be used again after the grace. Returns whether there
 * were any. */
bool unwind_tables_drop_unused(struct unwind_tables *t);
#endif
