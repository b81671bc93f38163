/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_NAMES_CODE_PAGES_H
#define HOTRUN_NAMES_CODE_PAGES_H
/*
 * The rows of code that is made at run time, in pages as the kernel takes them: method by method, a
 * newer one in place of what was there. Pure; what workers say of methods is hostile. One thread.
 */
#include <stddef.h>
#include <stdint.h>

#include "parse/code_rows.h"

/* 512 MiB of code; each page that comes is put between the others. */
#define CODE_PAGES_MAX 8192u

/* Rows of a page of code (UNWIND_PAGE_BYTES); the first is at 0. */
struct code_page {
	uint64_t number; /* its address in pages */
	struct unwind_row *rows;
	size_t cnt, cap;
};

struct code_pages {
	struct code_page *pages; /* owned; by number */
	size_t cnt, cap;
	size_t bytes; /* of pages and their rows */
};

/* rows are the method's cnt; from the first that lies outside of it or out of order on they are
 * left out. Of its code before the first nothing is known. 0, -E2BIG (a method of too many rows or
 * bytes, or beyond all addresses: nothing was done) or -ENOMEM (also for more than CODE_PAGES_MAX
 * pages), with a part of it done. */
int code_pages_add(struct code_pages *p, const struct code_method *method,
		   const struct cfi_row *rows);
void code_pages_clear(struct code_pages *p);
#endif
