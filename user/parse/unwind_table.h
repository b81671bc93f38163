/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_PARSE_UNWIND_TABLE_H
#define HOTRUN_PARSE_UNWIND_TABLE_H
/*
 * The rows of one file by which its code is unwound (bpf/events.h), page by page, as workers make
 * them (isolate/blob.h) of an ELF file's frame entries or of a precompiled .NET image's unwind
 * data. What is read may say anything. One thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "isolate/blob.h"
#include "parse/cfi.h"
#include "parse/elf.h"

/* The code of a file, and where its addresses lie. Other parts may share a page with it: they are
 * not here. */
struct unwind_layout {
	struct elf_segment segments[ELF_SEGMENTS_MAX];
	size_t segments_cnt;
	struct elf_identity identity; /* of an ELF file; its build id */
};

struct unwind_table {
	struct blob *blob; /* owned: the rest lies in it, but the layout */
	struct unwind_layout layout;
	uint32_t page_base, page_cnt;
	const struct unwind_page *pages; /* page_cnt; first counts from 0 */
	const struct unwind_row *rows;
	size_t rows_cnt;
};

/* The worker's side. A file without rows has a table without pages. 0 or -errno. */
int unwind_table_write(const struct cfi_rows *rows, const struct unwind_layout *layout, int fd);

/* Takes fd. Owned, or NULL with errno. */
struct unwind_table *unwind_table_read(int fd, size_t bytes);
void unwind_table_free(struct unwind_table *table);
size_t unwind_table_bytes(const struct unwind_table *table);

/* Address less the file's own, of code that is mapped at start from an offset of the file on.
 * False: the file has no code there. */
bool unwind_table_bias(const struct unwind_table *table, uint64_t start, uint64_t file_offset,
		       uint64_t *ret_bias);

/* As the kernel looks it up; UNWIND_UNKNOWN where there is none. */
struct unwind_row unwind_table_row(const struct unwind_table *table, uint64_t vaddr);
#endif
