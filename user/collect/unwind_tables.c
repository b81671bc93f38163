/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/unwind_tables.h"

#include <stdlib.h>

#include "base/grow.h"

void unwind_tables_close(struct unwind_tables *t)
{
	free(t->rows);
	hash_clear(&t->by_content);
}

void unwind_tables_clear(struct unwind_tables *t)
{
	unwind_tables_drop_unused(t);
	t->rows_cnt = 0;
	hash_clear(&t->by_content);
}

static bool content_equal(const void *owner, uint32_t row, const void *key)
{
	const struct unwind_table *table = &((const struct unwind_tables *)owner)->rows[row];

	return !table->is_free && table->content == *(const uint64_t *)key;
}

uint32_t unwind_tables_find(const struct unwind_tables *t, uint64_t content)
{
	return hash_find(&t->by_content, hash_pair(content, 0), content_equal, t, &content);
}

static void drop_table(struct unwind_tables *t, uint32_t row)
{
	struct unwind_table *table = &t->rows[row];

	unwind_maps_drop(t->maps, table->first_page, table->page_cnt);
	table->is_free = true;
}

bool unwind_tables_drop_unused(struct unwind_tables *t)
{
	bool dropped = false;

	for (size_t i = 0; i < t->rows_cnt; i++) {
		if (t->rows[i].is_free || t->rows[i].refs)
			continue;
		drop_table(t, (uint32_t)i);
		dropped = true;
	}
	return dropped;
}

static void index_anew(struct unwind_tables *t)
{
	hash_clear(&t->by_content);
	for (size_t i = 0; i < t->rows_cnt; i++)
		if (!t->rows[i].is_free && t->rows[i].content)
			hash_add(&t->by_content, hash_pair(t->rows[i].content, 0), (uint32_t)i);
}

static uint32_t new_row(struct unwind_tables *t, uint64_t content)
{
	uint32_t row = 0;

	while (row < t->rows_cnt && !t->rows[row].is_free)
		row++;
	if (row == t->rows_cnt) {
		if (GROW(t->rows, t->rows_cnt, t->rows_cap))
			return HASH_NONE;
		t->rows[t->rows_cnt++] = (struct unwind_table){.is_free = true};
	}
	/* Entries of tables that were dropped stay for a while: their content is never given again,
	 * and a row that has another one by now is not equal. */
	if (!content)
		return row; /* nobody looks for it */
	if (t->by_content.cnt > 4 * t->rows_cnt + 64)
		index_anew(t);
	return hash_add(&t->by_content, hash_pair(content, 0), row) ? HASH_NONE : row;
}

uint32_t unwind_tables_add(struct unwind_tables *t, const struct names_unwind *from)
{
	const struct unwind_maps_table to_add = {
		.pages = from->pages,
		.page_base = from->page_base,
		.page_cnt = from->page_cnt,
		.rows = from->rows,
		.row_cnt = from->row_cnt,
	};
	uint32_t first_page, row;

	if (from->page_cnt > UNWIND_TABLE_PAGES_MAX ||
	    unwind_maps_add(t->maps, &to_add, &first_page))
		return HASH_NONE;
	row = new_row(t, from->content);
	if (row == HASH_NONE) {
		unwind_maps_drop(t->maps, first_page, from->page_cnt);
		return HASH_NONE;
	}
	t->rows[row] = (struct unwind_table){
		.content = from->content,
		.first_page = first_page,
		.page_cnt = from->page_cnt,
		.page_base = from->page_base,
	};
	return row;
}

const struct unwind_table *unwind_tables_use(struct unwind_tables *t, uint32_t row)
{
	t->rows[row].refs++;
	return &t->rows[row];
}

void unwind_tables_release(struct unwind_tables *t, const uint32_t *rows, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++)
		if (!--t->rows[rows[i]].refs && !t->rows[rows[i]].content)
			drop_table(t, rows[i]);
}
