/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "names/code_pages.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

#define PAGE UNWIND_PAGE_BYTES
/* Processes have no code beyond. */
#define ADDRESSES (1ull << 47)

/* The page of that number, made where it is not there: all of it is unknown. NULL: no
 * room. */
static struct code_page *page_of(struct code_pages *p, uint64_t number)
{
	size_t low = 0, high = p->cnt;
	struct code_page *page;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (p->pages[middle].number < number)
			low = middle + 1;
		else
			high = middle;
	}
	if (low < p->cnt && p->pages[low].number == number)
		return &p->pages[low];
	if (p->cnt >= CODE_PAGES_MAX || GROW(p->pages, p->cnt, p->cap))
		return NULL;
	page = &p->pages[low];
	memmove(page + 1, page, (p->cnt - low) * sizeof(*page));
	*page = (struct code_page){.number = number};
	if (GROW(page->rows, page->cnt, page->cap)) {
		memmove(page, page + 1, (p->cnt - low) * sizeof(*page));
		return NULL;
	}
	page->rows[page->cnt++] = (struct unwind_row){0};
	p->cnt++;
	return page;
}

/* First row of the page from at on. */
static size_t row_from(const struct code_page *page, uint32_t at)
{
	size_t low = 0, high = page->cnt;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (page->rows[middle].at < at)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Puts rows in place of what [from, to) of the page said; what comes behind goes on. */
static int put_in_page(struct code_page *page, uint32_t from, uint32_t to,
		       const struct unwind_row *rows, size_t cnt)
{
	size_t first = row_from(page, from), end = row_from(page, to);
	bool goes_on = to < PAGE && (end == page->cnt || page->rows[end].at != to);
	struct unwind_row behind = end ? page->rows[end - 1] : (struct unwind_row){0};
	size_t added = cnt + goes_on;

	while (page->cap < page->cnt + added)
		if (grow_array((void **)&page->rows, page->cap, &page->cap, sizeof(*page->rows)))
			return -1;
	memmove(&page->rows[first + added], &page->rows[end],
		(page->cnt - end) * sizeof(*page->rows));
	memcpy(&page->rows[first], rows, cnt * sizeof(*rows));
	behind.at = (uint16_t)to;
	if (goes_on)
		page->rows[first + cnt] = behind;
	page->cnt = page->cnt - (end - first) + added;
	return 0;
}

/* What a method's rows say of one page, from its first byte there on. */
static size_t rows_within(const struct code_method *method, const struct cfi_row *rows,
			  uint64_t from, uint64_t to, struct unwind_row *ret_rows)
{
	struct unwind_row at_from = {0}; /* what goes on from before */
	uint64_t last = 0;
	size_t cnt = 0;

	for (uint32_t i = 0; i < method->cnt; i++) {
		uint64_t vaddr = rows[i].vaddr;

		if (vaddr < method->start || vaddr >= method->start + method->size ||
		    (i && vaddr <= last) || vaddr >= to)
			break;
		last = vaddr;
		if (vaddr < from) {
			at_from = rows[i].row;
			continue;
		}
		if (!cnt && vaddr > from)
			ret_rows[cnt++] = at_from;
		ret_rows[cnt] = rows[i].row;
		ret_rows[cnt++].at = (uint16_t)vaddr;
	}
	if (!cnt)
		ret_rows[cnt++] = at_from;
	ret_rows[0].at = (uint16_t)from;
	return cnt;
}

int code_pages_add(struct code_pages *p, const struct code_method *method,
		   const struct cfi_row *rows)
{
	static struct unwind_row within[CODE_ROWS_MAX + 1];
	uint64_t at = method->start, end = method->start + method->size;

	if (method->cnt > CODE_ROWS_MAX || method->size > CODE_METHOD_BYTES_MAX ||
	    at >= ADDRESSES || end > ADDRESSES)
		return -E2BIG;
	while (at < end) {
		uint64_t page_end = (at / PAGE + 1) * PAGE, to = end < page_end ? end : page_end;
		size_t pages_cnt = p->cnt, was, cnt;
		struct code_page *page = page_of(p, at / PAGE);

		if (!page)
			return -ENOMEM;
		was = p->cnt == pages_cnt ? page->cap * sizeof(*page->rows) : 0;
		cnt = rows_within(method, rows, at, to, within);
		if (put_in_page(page, (uint32_t)(at % PAGE),
				(uint32_t)(to - (at & ~(uint64_t)(PAGE - 1))), within, cnt))
			return -ENOMEM;
		p->bytes += page->cap * sizeof(*page->rows) - was;
		if (p->cnt > pages_cnt)
			p->bytes += sizeof(*page);
		at = to;
	}
	return 0;
}

void code_pages_clear(struct code_pages *p)
{
	for (size_t i = 0; i < p->cnt; i++)
		free(p->pages[i].rows);
	free(p->pages);
	*p = (struct code_pages){0};
}
