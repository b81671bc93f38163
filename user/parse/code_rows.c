/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "parse/code_rows.h"

#include <errno.h>

#include "parse/prologue.h"

#define CODE_BLOB 0x646f6368u

enum section { METHODS, ROWS };

/* Code that is not there any more has no rows. */
static size_t read_method(struct target_memory *memory, const struct code_range *range,
			  struct cfi_row *rows)
{
	static uint8_t code[PROLOGUE_BYTES_MAX];
	size_t wanted = range->size < sizeof(code) ? range->size : sizeof(code);
	ssize_t len;

	if (range->keeps_stack) {
		rows[0] = (struct cfi_row){range->start, {.cfa = UNWIND_SP, .cfa_offset = 1}};
		return 1;
	}
	len = target_memory_read(memory, code, wanted, range->start);
	if (len <= 0)
		return 0;
	return prologue_rows(code, (size_t)len, range->start, range->size, rows, CODE_ROWS_MAX);
}

int code_rows_write(struct target_memory *memory, const struct code_range *ranges, size_t cnt,
		    int fd)
{
	static struct cfi_row rows[CODE_ROWS_MAX];
	static struct code_method methods[4096];
	static struct blob_writer w;
	size_t methods_cnt = 0;

	blob_begin(&w, fd, CODE_BLOB);
	blob_stream(&w, ROWS);
	for (size_t i = 0; i < cnt && methods_cnt < sizeof(methods) / sizeof(methods[0]); i++) {
		size_t rows_cnt = read_method(memory, &ranges[i], rows);

		if (!rows_cnt)
			continue;
		blob_add(&w, rows, rows_cnt * sizeof(rows[0]));
		methods[methods_cnt++] =
			(struct code_method){ranges[i].start, ranges[i].size, (uint32_t)rows_cnt};
	}
	blob_stream_end(&w);
	blob_put(&w, METHODS, methods, methods_cnt * sizeof(methods[0]));
	return blob_end(&w);
}

struct blob *code_rows_read(int fd, size_t bytes, const struct code_method **ret_methods,
			    size_t *ret_methods_cnt, const struct cfi_row **ret_rows,
			    size_t *ret_rows_cnt)
{
	struct blob *blob = blob_open(fd, bytes, CODE_BLOB);

	if (!blob)
		return NULL;
	*ret_methods = blob_rows(blob, METHODS, sizeof(**ret_methods), ret_methods_cnt);
	*ret_rows = blob_rows(blob, ROWS, sizeof(**ret_rows), ret_rows_cnt);
	if (!*ret_methods || !*ret_rows)
		*ret_methods_cnt = *ret_rows_cnt = 0;
	return blob;
}
