/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What workers hand over of code and its rows, as who may have been taken over would: a blob of
 * methods made at run time, which become pages, or one of a file's table. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "names/code_pages.h"
#include "parse/unwind_table.h"

static void must(bool condition)
{
	if (!condition)
		abort();
}

static int fd_of(const uint8_t *data, size_t size)
{
	int fd = memfd_create("blob", MFD_CLOEXEC);

	must(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	return fd;
}

static void read_table(const uint8_t *data, size_t size)
{
	struct unwind_table *t = unwind_table_read(fd_of(data, size), size);
	uint64_t bias;

	if (!t)
		return;
	for (uint64_t i = 0; i < t->page_cnt && i < 64; i++) {
		uint64_t vaddr = ((uint64_t)t->page_base + i) << UNWIND_PAGE_BITS;

		unwind_table_row(t, vaddr);
		unwind_table_row(t, vaddr + UNWIND_PAGE_BYTES - 1);
	}
	unwind_table_row(t, UINT64_MAX);
	unwind_table_bias(t, 0x10000, 0x1000, &bias);
	unwind_table_free(t);
}

static void check(const struct code_pages *p)
{
	for (size_t i = 0; i < p->cnt; i++) {
		const struct code_page *page = &p->pages[i];

		must(!i || page[-1].number < page->number);
		must(page->cnt >= 1 && page->cnt <= UNWIND_PAGE_BYTES && !page->rows[0].at);
		for (size_t k = 1; k < page->cnt; k++)
			must(page->rows[k - 1].at < page->rows[k].at);
	}
}

static void read_code(const uint8_t *data, size_t size)
{
	const struct code_method *methods = NULL;
	size_t methods_cnt = 0, rows_cnt = 0, at = 0;
	const struct cfi_row *rows = NULL;
	struct code_pages pages = {0};
	struct blob *blob =
		code_rows_read(fd_of(data, size), size, &methods, &methods_cnt, &rows, &rows_cnt);

	for (size_t i = 0; blob && i < methods_cnt && pages.cnt < 4096; i++) {
		if (methods[i].cnt > rows_cnt - at ||
		    code_pages_add(&pages, &methods[i], &rows[at]))
			break;
		at += methods[i].cnt;
	}
	check(&pages);
	code_pages_clear(&pages);
	blob_free(blob);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 1)
		return 0;
	(data[0] & 1 ? read_table : read_code)(data + 1, size - 1);
	return 0;
}
