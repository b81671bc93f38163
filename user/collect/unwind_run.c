/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/unwind_run.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/compare.h"
#include "base/grow.h"

/* Of one process. */
#define MAPPINGS_MAX 8192u

static int compare_bounds(const void *a, const void *b)
{
	return COMPARE(*(const uint64_t *)a, *(const uint64_t *)b);
}

/* Where code of the process begins or ends now. Mappings may overlap: newer ones lie on top. */
static int collect_bounds(struct unwind_run *r, const struct model_process *p)
{
	r->bounds_cnt = 0;
	for (size_t i = 0; i < p->mapping_cnt; i++) {
		const struct model_mapping *map = &p->mappings[i];

		if (map->to_ns)
			continue;
		if (r->bounds_cnt >= 2 * MAPPINGS_MAX)
			break;
		for (int end = 0; end < 2; end++) {
			if (GROW(r->bounds, r->bounds_cnt, r->bounds_cap))
				return -1;
			r->bounds[r->bounds_cnt++] = end ? map->end : map->start;
		}
	}
	if (r->bounds_cnt)
		qsort(r->bounds, r->bounds_cnt, sizeof(*r->bounds), compare_bounds);
	return 0;
}

/* Takes a table of the process's own, or one more use of a table. */
static bool keep_table(struct unwind_tables *tables, struct unwind_made *made, uint32_t row,
		       struct unwind_mapping *to)
{
	const struct unwind_table *t;

	if (row == HASH_NONE || GROW(made->tables, made->tables_cnt, made->tables_cap))
		return false;
	made->tables[made->tables_cnt++] = row;
	t = unwind_tables_use(tables, row);
	to->first_page = t->first_page;
	to->page_cnt = t->page_cnt;
	to->page_base = t->page_base;
	return true;
}

/* Index of the first page of code from a number on. */
static size_t code_page_from(const struct names *names, uint32_t process, uint64_t number)
{
	size_t low = 0, high = names_code_pages(names, process);

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (names_code_page(names, process, middle).number < number)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Code that was made at run time, as far as it is known there: a table of its own. */
static void describe_code(struct unwind_run *r, struct unwind_tables *tables, struct names *names,
			  uint32_t process, struct unwind_made *made, struct unwind_mapping *to)
{
	size_t first = code_page_from(names, process, to->start >> UNWIND_PAGE_BITS);
	size_t until = code_page_from(names, process, ((to->end - 1) >> UNWIND_PAGE_BITS) + 1);
	struct names_unwind from = {0};
	uint64_t base;

	if (first >= until)
		return;
	base = names_code_page(names, process, first).number;
	from.page_cnt = (uint32_t)(names_code_page(names, process, until - 1).number - base) + 1;
	if (from.page_cnt > UNWIND_TABLE_PAGES_MAX - made->code_pages || base > UINT32_MAX)
		return;
	r->code_pages_cnt = r->code_rows_cnt = 0;
	for (size_t i = first; i < until; i++) {
		struct names_code_page page = names_code_page(names, process, i);

		while (r->code_pages_cnt <= page.number - base) {
			if (GROW(r->code_pages, r->code_pages_cnt, r->code_pages_cap))
				return;
			r->code_pages[r->code_pages_cnt++] = (struct unwind_page){0};
		}
		r->code_pages[page.number - base] =
			(struct unwind_page){(uint32_t)r->code_rows_cnt, page.cnt};
		for (uint32_t k = 0; k < page.cnt; k++) {
			if (GROW(r->code_rows, r->code_rows_cnt, r->code_rows_cap))
				return;
			r->code_rows[r->code_rows_cnt++] = page.rows[k];
		}
	}
	from.page_base = (uint32_t)base;
	from.pages = r->code_pages;
	from.rows = r->code_rows;
	from.row_cnt = (uint32_t)r->code_rows_cnt;
	if (keep_table(tables, made, unwind_tables_add(tables, &from), to))
		made->code_pages += from.page_cnt;
	else
		made->is_short = true;
}

/* What the kernel is told of a mapping; made is what the process has by now. */
static struct unwind_mapping describe(struct unwind_tables *tables, struct model *m,
				      struct names *names, uint32_t process,
				      const struct model_mapping *map, bool is_expected,
				      struct unwind_made *made)
{
	struct unwind_mapping to = {.kind = UNWIND_BY_FP};
	enum model_reason reason;
	struct names_unwind from;
	bool is_later;
	uint32_t row;

	if (map->kind != MAPPING_FILE && map->kind != MAPPING_VDSO)
		return to;
	/* For who was not sampled yet others' names are not held up. */
	is_later = is_expected && names_unwind_can_wait(m->modules[map->module].path);
	made->is_brief |= is_later;
	reason = is_later ? REASON_PENDING : names_unwind(names, m, process, map, &from);
	if (reason == REASON_PENDING) {
		made->is_pending |= !is_later;
		to.kind = UNWIND_NOT_YET;
		return to;
	}
	to.kind = UNWIND_NO_TABLE;
	if (reason || !from.page_cnt || from.page_cnt > UNWIND_TABLE_PAGES_MAX)
		return to;
	row = unwind_tables_find(tables, from.content);
	if (row == HASH_NONE)
		row = unwind_tables_add(tables, &from);
	to.kind = UNWIND_NO_MEMORY;
	if (!keep_table(tables, made, row, &to)) {
		made->is_short = true;
		return to;
	}
	to.kind = UNWIND_BY_TABLE;
	to.bias = from.bias;
	return to;
}

static bool may_join(const struct unwind_mapping *a, const struct unwind_mapping *b)
{
	return a->end == b->start && a->kind == b->kind && a->first_page == b->first_page &&
	       a->page_cnt == b->page_cnt && a->bias == b->bias;
}

/* Has those files read first without which walks break at once. */
static void begin_reading(struct model *m, struct names *names, uint32_t process)
{
	const struct model_process *p = &m->processes[process];
	struct names_unwind from;

	for (size_t i = 0; i < p->mapping_cnt && i < MAPPINGS_MAX; i++) {
		struct model_mapping map = p->mappings[i];

		if (!map.to_ns && map.kind == MAPPING_FILE &&
		    !names_unwind_can_wait(m->modules[map.module].path))
			names_unwind(names, m, process, &map, &from);
	}
}

/* Fills the run. */
static void make_run(struct unwind_run *r, struct unwind_tables *tables, struct model *m,
		     struct names *names, uint32_t process, bool is_expected,
		     struct unwind_made *made)
{
	uint64_t now_ns = clock_now_ns();
	bool is_reading = made->is_pending; /* more of its code will be known */

	r->run_cnt = 0;
	for (size_t i = 0; i + 1 < r->bounds_cnt && r->run_cnt < MAPPINGS_MAX; i++) {
		const struct model_mapping *map;
		struct unwind_mapping to;

		if (r->bounds[i] == r->bounds[i + 1])
			continue;
		map = model_mapping_find(m, process, r->bounds[i], now_ns);
		if (!map || map->to_ns || r->bounds[i] < map->start || r->bounds[i] >= map->end)
			continue;
		to = describe(tables, m, names, process, map, is_expected, made);
		to.start = r->bounds[i];
		to.end = r->bounds[i + 1];
		made->mapped += to.kind == UNWIND_BY_TABLE;
		if (r->run_cnt && may_join(&r->run[r->run_cnt - 1], &to))
			r->run[r->run_cnt - 1].end = to.end;
		else if (!GROW(r->run, r->run_cnt, r->run_cap))
			r->run[r->run_cnt++] = to;
	}
	for (size_t i = 0; i < r->run_cnt; i++) {
		if (r->run[i].kind != UNWIND_BY_FP)
			continue;
		describe_code(r, tables, names, process, made, &r->run[i]);
		if (is_reading)
			r->run[i].kind = UNWIND_NOT_YET;
	}
}

int unwind_run_make(struct unwind_run *r, struct unwind_tables *tables, struct model *m,
		    struct names *names, uint32_t process, bool is_expected,
		    struct unwind_made *ret_made)
{
	struct unwind_made made = {0};

	if (collect_bounds(r, &m->processes[process]))
		return -ENOMEM;
	begin_reading(m, names, process);
	made.is_pending = names_unwind_code(names, m, process) == REASON_PENDING;
	made.code = names_code_generation(names, process);
	make_run(r, tables, m, names, process, is_expected, &made);
	*ret_made = made;
	return 0;
}

void unwind_run_close(struct unwind_run *r)
{
	free(r->run);
	free(r->bounds);
	free(r->code_pages);
	free(r->code_rows);
}

void unwind_made_release(struct unwind_made *made, struct unwind_tables *tables)
{
	unwind_tables_release(tables, made->tables, made->tables_cnt);
	free(made->tables);
	*made = (struct unwind_made){0};
}

void unwind_made_keep_tables(struct unwind_made *made, const struct unwind_made *former,
			     struct unwind_tables *tables)
{
	unwind_tables_release(tables, made->tables, made->tables_cnt);
	free(made->tables);
	made->tables = former->tables;
	made->tables_cnt = former->tables_cnt;
	made->tables_cap = former->tables_cap;
	made->code_pages = former->code_pages;
}
