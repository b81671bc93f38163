/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "parse/unwind_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define UNWIND_BLOB 0x77756e68u
/* Code of one file: what its pages can number. */
#define VADDR_MAX ((uint64_t)UNWIND_PAGES_MAX << UNWIND_PAGE_BITS)
/* Files are mapped page by page, whatever their segments say. */
#define MAPPED_PAGE 4096u

enum section { HEAD, PAGES, ROWS };

struct head {
	struct elf_segment segments[ELF_SEGMENTS_MAX];
	uint32_t segments_cnt;
	uint32_t page_base;
	uint8_t build_id[BUILD_ID_MAX];
	uint8_t build_id_len, rsvd[3];
};

/* --- the worker's side ------------------------------------------------------------------------ */

/* Number of the page that holds the address. */
static uint64_t page_of(uint64_t vaddr)
{
	return vaddr >> UNWIND_PAGE_BITS;
}

/* Whether the rows from i on have nothing to tell. */
static bool is_end(const struct cfi_rows *rows, size_t i)
{
	return i + 1 >= rows->cnt && rows->rows[i].row.cfa == UNWIND_UNKNOWN;
}

struct pages {
	struct unwind_page *pages;
	struct unwind_row *rows;
	size_t rows_cnt;
};

static void put_row(struct pages *p, struct unwind_page *page, uint16_t at, struct unwind_row row)
{
	row.at = at;
	p->rows[p->rows_cnt++] = row;
	page->cnt++;
}

/* A page of which all is one UNKNOWN needs no rows. */
static void close_page(struct pages *p, struct unwind_page *page)
{
	if (page->cnt == 1 && p->rows[page->first].cfa == UNWIND_UNKNOWN) {
		p->rows_cnt--;
		page->cnt = 0;
	}
}

/* Each page begins with the row that holds at its start. */
static void fill(struct pages *p, const struct cfi_rows *rows, uint64_t base, uint32_t page_cnt)
{
	struct unwind_row before = {0};
	size_t i = 0;

	for (uint32_t n = 0; n < page_cnt; n++) {
		struct unwind_page *page = &p->pages[n];

		page->first = (uint32_t)p->rows_cnt;
		if (i >= rows->cnt || page_of(rows->rows[i].vaddr) != base + n ||
		    rows->rows[i].vaddr & (UNWIND_PAGE_BYTES - 1))
			put_row(p, page, 0, before);
		for (; i < rows->cnt && page_of(rows->rows[i].vaddr) == base + n; i++) {
			before = rows->rows[i].row;
			put_row(p, page, (uint16_t)rows->rows[i].vaddr, before);
		}
		close_page(p, page);
	}
}

int unwind_table_write(const struct cfi_rows *rows, const struct unwind_layout *layout, int fd)
{
	_cleanup_free_ struct unwind_page *pages = NULL;
	_cleanup_free_ struct unwind_row *out = NULL;
	struct head head = {.segments_cnt = (uint32_t)layout->segments_cnt};
	struct cfi_rows in = *rows;
	struct pages p = {0};
	struct blob_writer w;
	uint32_t page_cnt = 0;

	memcpy(head.segments, layout->segments, sizeof(head.segments));
	memcpy(head.build_id, layout->identity.build_id, sizeof(head.build_id));
	head.build_id_len = layout->identity.build_id_len;
	/* Addresses that no program has: what a forged entry says. */
	while (in.cnt && in.rows[in.cnt - 1].vaddr >= VADDR_MAX)
		in.cnt--;
	if (in.cnt) {
		uint64_t last = page_of(in.rows[in.cnt - 1].vaddr);

		head.page_base = (uint32_t)page_of(in.rows[0].vaddr);
		/* The last row holds to the end of its segment. */
		if (!is_end(&in, in.cnt - 1))
			last++;
		page_cnt = (uint32_t)(last - head.page_base) + 1;
		pages = calloc(page_cnt, sizeof(*pages));
		out = calloc(in.cnt + page_cnt, sizeof(*out));
		if (!pages || !out)
			return -ENOMEM;
		p = (struct pages){.pages = pages, .rows = out};
		fill(&p, &in, head.page_base, page_cnt);
	}
	blob_begin(&w, fd, UNWIND_BLOB);
	blob_put(&w, HEAD, &head, sizeof(head));
	blob_put(&w, PAGES, pages, page_cnt * sizeof(*pages));
	blob_put(&w, ROWS, out, p.rows_cnt * sizeof(*out));
	return blob_end(&w);
}

/* --- reading ---------------------------------------------------------------------------------- */

struct unwind_table *unwind_table_read(int fd, size_t bytes)
{
	struct blob *blob = blob_open(fd, bytes, UNWIND_BLOB);
	struct unwind_table *t = blob ? calloc(1, sizeof(*t)) : NULL;
	const struct head *head;
	size_t cnt;

	if (!t) {
		blob_free(blob);
		return NULL;
	}
	t->blob = blob;
	head = blob_rows(blob, HEAD, sizeof(*head), &cnt);
	if (cnt != 1) {
		unwind_table_free(t);
		errno = EBADMSG;
		return NULL;
	}
	memcpy(t->layout.segments, head->segments, sizeof(t->layout.segments));
	t->layout.segments_cnt =
		head->segments_cnt < ELF_SEGMENTS_MAX ? head->segments_cnt : ELF_SEGMENTS_MAX;
	memcpy(t->layout.identity.build_id, head->build_id, BUILD_ID_MAX);
	t->layout.identity.build_id_len =
		head->build_id_len <= BUILD_ID_MAX ? head->build_id_len : BUILD_ID_MAX;
	t->page_base = head->page_base;
	t->pages = blob_rows(blob, PAGES, sizeof(*t->pages), &cnt);
	t->page_cnt = cnt <= UNWIND_PAGES_MAX ? (uint32_t)cnt : 0;
	t->rows = blob_rows(blob, ROWS, sizeof(*t->rows), &t->rows_cnt);
	if (!t->rows || t->rows_cnt > CFI_ROWS_MAX + UNWIND_PAGES_MAX)
		t->rows_cnt = 0;
	return t;
}

void unwind_table_free(struct unwind_table *table)
{
	if (!table)
		return;
	blob_free(table->blob);
	free(table);
}

size_t unwind_table_bytes(const struct unwind_table *table)
{
	return sizeof(*table) + blob_bytes(table->blob);
}

bool unwind_table_bias(const struct unwind_table *table, uint64_t start, uint64_t file_offset,
		       uint64_t *ret_bias)
{
	for (size_t i = 0; i < table->layout.segments_cnt; i++) {
		const struct elf_segment *s = &table->layout.segments[i];
		uint64_t before = s->offset % MAPPED_PAGE;

		if (file_offset < s->offset - before ||
		    file_offset - (s->offset - before) >= before + s->size)
			continue;
		*ret_bias = start - (s->vaddr + (file_offset - s->offset));
		return true;
	}
	return false;
}

struct unwind_row unwind_table_row(const struct unwind_table *table, uint64_t vaddr)
{
	uint64_t number = page_of(vaddr) - table->page_base;
	struct unwind_row found = {0};
	struct unwind_page page;
	uint32_t low, high;

	if (page_of(vaddr) < table->page_base || number >= table->page_cnt)
		return found;
	page = table->pages[number];
	if (page.first > table->rows_cnt || page.cnt > table->rows_cnt - page.first)
		return found;
	for (low = page.first, high = page.first + page.cnt; low < high;) {
		uint32_t middle = low + (high - low) / 2;

		if (table->rows[middle].at <= (uint16_t)vaddr) {
			found = table->rows[middle];
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return found;
}
