/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Machine code of a method: the first byte says how much of it is missing, the second how many rows
 * there is place for. */
#include <stdlib.h>
#include <string.h>

#include "parse/prologue.h"

#define START 0x7f0000001000u

static void must(bool condition)
{
	if (!condition)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t len, method, max, cnt;
	struct cfi_row *rows;
	uint8_t *code;

	if (size < 2)
		return 0;
	len = size - 2;
	method = len + data[0];
	max = data[1] ? data[1] : len + 2;
	code = malloc(len + !len);
	rows = malloc(max * sizeof(*rows));
	memcpy(code, data + 2, len);
	cnt = prologue_rows(code, len, START, method, rows, max);
	must(cnt <= max && !cnt == !method);
	for (size_t i = 0; i < cnt; i++) {
		const struct unwind_row *row = &rows[i].row;

		must(i ? rows[i].vaddr > rows[i - 1].vaddr : rows[i].vaddr == START);
		must(rows[i].vaddr < START + method);
		must(row->cfa == UNWIND_UNKNOWN || row->cfa == UNWIND_INEXPRESSIBLE ||
		     ((row->cfa == UNWIND_SP || row->cfa == UNWIND_FP) && row->cfa_offset > 0));
		must(row->fp == UNWIND_FP_SAME ||
		     (row->fp == UNWIND_FP_SAVED && row->fp_offset < 0));
		must(!i || memcmp(row, &rows[i - 1].row, sizeof(*row)));
	}
	free(rows);
	free(code);
	return 0;
}
