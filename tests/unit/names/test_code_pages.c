/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "names/code_pages.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define PAGE	      ((uint64_t)UNWIND_PAGE_BYTES)
#define CODE	      (0x7f00000 * PAGE)

/* As the kernel looks it up; the offset tells rows apart, 0 = nothing is known. */
static int16_t offset_at(const struct code_pages *p, uint64_t address)
{
	for (size_t i = 0; i < p->cnt; i++) {
		const struct code_page *page = &p->pages[i];
		size_t low = 0, high = page->cnt;

		if (page->number != address / PAGE)
			continue;
		while (low + 1 < high) {
			size_t middle = (low + high) / 2;

			if (page->rows[middle].at <= address % PAGE)
				low = middle;
			else
				high = middle;
		}
		cr_assert_leq(page->rows[low].at, address % PAGE, "no row at the page's start");
		return page->rows[low].cfa ? page->rows[low].cfa_offset : 0;
	}
	return 0;
}

static struct cfi_row row(uint64_t at, int16_t offset)
{
	return (struct cfi_row){CODE + at, {.cfa = UNWIND_SP, .cfa_offset = offset}};
}

static int add(struct code_pages *p, uint64_t start, uint32_t size, const struct cfi_row *rows,
	       uint32_t cnt)
{
	const struct code_method method = {CODE + start, size, cnt};

	return code_pages_add(p, &method, rows);
}

Test(code_pages, a_newer_method_stands_in_place_of_what_was_there)
{
	const struct cfi_row older[] = {row(100, 1), row(150, 2)}, newer[] = {row(120, 7)};
	struct code_pages p = {0};

	cr_assert_eq(add(&p, 100, 100, older, 2), 0);
	cr_assert_eq(add(&p, 120, 60, newer, 1), 0);
	cr_expect_eq(offset_at(&p, CODE + 99), 0);
	cr_expect_eq(offset_at(&p, CODE + 119), 1);
	cr_expect_eq(offset_at(&p, CODE + 120), 7);
	cr_expect_eq(offset_at(&p, CODE + 179), 7);
	cr_expect_eq(offset_at(&p, CODE + 180), 2, "what is left of the older one");
	cr_expect_eq(offset_at(&p, CODE + 200), 0);
	cr_expect_gt(p.bytes, 0);
	code_pages_clear(&p);
	cr_expect_eq(p.bytes + p.cnt, 0);
}

/* What holds at the end of a page holds at the beginning of the next one. */
Test(code_pages, a_method_goes_on_over_the_borders_of_pages)
{
	const struct cfi_row rows[] = {row(PAGE - 8, 3), row(PAGE + 16, 4), row(3 * PAGE + 2, 5)};
	struct code_pages p = {0};

	cr_assert_eq(add(&p, PAGE - 16, (uint32_t)(2 * PAGE + 32), rows, 3), 0);
	cr_expect_eq(offset_at(&p, CODE + PAGE - 16), 0, "before its first row");
	cr_expect_eq(offset_at(&p, CODE + PAGE - 1), 3);
	cr_expect_eq(offset_at(&p, CODE + PAGE), 3);
	cr_expect_eq(offset_at(&p, CODE + PAGE + 15), 3);
	cr_expect_eq(offset_at(&p, CODE + PAGE + 16), 4);
	cr_expect_eq(offset_at(&p, CODE + 2 * PAGE), 4);
	cr_expect_eq(offset_at(&p, CODE + 3 * PAGE + 1), 4);
	cr_expect_eq(offset_at(&p, CODE + 3 * PAGE + 2), 5);
	cr_expect_eq(offset_at(&p, CODE + 3 * PAGE + 16), 0);
	cr_expect_eq(p.cnt, 4);
	code_pages_clear(&p);
}

Test(code_pages, rows_that_are_not_the_methods_own_are_left_out)
{
	static const struct {
		const char *name;
		uint64_t second; /* where the second of three rows is */
	} cases[] = {{"before it", 50}, {"behind it", 200}, {"not behind the first", 110}};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct cfi_row rows[] = {row(110, 1), row(cases[i].second, 2), row(150, 3)};
		struct code_pages p = {0};

		cr_assert_eq(add(&p, 100, 100, rows, 3), 0);
		cr_expect_eq(offset_at(&p, CODE + 50), 0, "%s", cases[i].name);
		cr_expect_eq(offset_at(&p, CODE + 110), 1, "%s", cases[i].name);
		cr_expect_eq(offset_at(&p, CODE + 199), 1, "%s", cases[i].name);
		cr_expect_eq(offset_at(&p, CODE + 200), 0, "%s", cases[i].name);
		code_pages_clear(&p);
	}
}

Test(code_pages, methods_out_of_bounds_are_refused)
{
	const struct cfi_row rows[] = {row(0, 1)};
	struct code_pages p = {0};

	cr_expect_eq(add(&p, 0, CODE_METHOD_BYTES_MAX + 1, rows, 1), -E2BIG);
	cr_expect_eq(add(&p, 0, 100, rows, CODE_ROWS_MAX + 1), -E2BIG);
	cr_expect_eq(add(&p, UINT64_MAX - 10 - CODE, 100, rows, 1), -E2BIG);
	cr_expect_eq(add(&p, UINT64_MAX - 100 - CODE, 50, rows, 1), -E2BIG, "the last page of all");
	cr_expect_eq(add(&p, (1ull << 47) - 50 - CODE, 51, rows, 1), -E2BIG);
	cr_expect_eq(p.cnt, 0);
	cr_expect_eq(add(&p, 0, 0, rows, 1), 0);
	cr_expect_eq(p.cnt, 0);
	code_pages_clear(&p);
}

#define BYTES ((uint32_t)(3 * PAGE))

Test(code_pages, any_order_of_methods_is_as_a_list_of_all_bytes_says)
{
	static int16_t wanted[BYTES];
	struct code_pages p = {0};

	srand(4711);
	for (int step = 1; step <= 2000; step++) {
		uint32_t start = (uint32_t)rand() % (BYTES - 1), cnt = 0, at;
		uint32_t size = (uint32_t)rand() % (step % 50 ? 300 : 100000) + 1;
		struct cfi_row rows[8];

		if (size > BYTES - start)
			size = BYTES - start;
		memset(&wanted[start], 0, size * sizeof(*wanted));
		at = start + (uint32_t)rand() % 3;
		for (; cnt < 8 && at < start + size; at += (uint32_t)rand() % size + 1) {
			rows[cnt] = row(at, (int16_t)(step * 8 + (int)cnt));
			for (uint32_t i = at; i < start + size; i++)
				wanted[i] = rows[cnt].row.cfa_offset;
			cnt++;
		}
		cr_assert_eq(add(&p, start, size, rows, cnt), 0);
	}
	for (uint32_t i = 0; i < BYTES; i++)
		cr_assert_eq(offset_at(&p, CODE + i), wanted[i], "+0x%x: %d, wanted %d", i,
			     offset_at(&p, CODE + i), wanted[i]);
	for (size_t i = 0; i < p.cnt; i++)
		for (size_t k = 1; k < p.pages[i].cnt; k++)
			cr_assert_lt(p.pages[i].rows[k - 1].at, p.pages[i].rows[k].at);
	code_pages_clear(&p);
}
