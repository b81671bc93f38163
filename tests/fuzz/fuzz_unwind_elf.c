/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows of a whole ELF file, and the way of its table to who asked for it. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "parse/unwind_elf.h"

static void must(bool condition)
{
	if (!condition)
		abort();
}

static bool is_same(struct unwind_row a, struct unwind_row b)
{
	return a.cfa == b.cfa && a.fp == b.fp && a.cfa_offset == b.cfa_offset &&
	       a.fp_offset == b.fp_offset;
}

static void check(const struct cfi_rows *rows, const struct unwind_layout *layout)
{
	const uint64_t end = (uint64_t)UNWIND_PAGES_MAX << UNWIND_PAGE_BITS;
	int fd = memfd_create("table", MFD_CLOEXEC);
	struct unwind_table *t;
	struct stat st;

	must(unwind_table_write(rows, layout, fd) == 0 && fstat(fd, &st) == 0);
	t = unwind_table_read(fd, (size_t)st.st_size);
	must(t);
	for (size_t i = 0; i < rows->cnt; i++) {
		const struct cfi_row *row = &rows->rows[i];

		must(!i || row[-1].vaddr < row->vaddr);
		if (row->vaddr < end)
			must(is_same(unwind_table_row(t, row->vaddr), row->row));
		if (i && row->vaddr < end)
			must(is_same(unwind_table_row(t, row->vaddr - 1), row[-1].row));
	}
	must(t->layout.segments_cnt == layout->segments_cnt);
	unwind_table_free(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("file", MFD_CLOEXEC);
	struct unwind_layout layout = {0};
	struct cfi_rows rows = {0};

	must(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	if (!unwind_elf_compile(fd, &rows, &layout))
		check(&rows, &layout);
	cfi_clear(&rows);
	close(fd);
	return 0;
}
