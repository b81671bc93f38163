/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unwind data of a hostile .dll. */
#include <errno.h>
#include <stdlib.h>

#include "held_bytes.h"
#include "parse/image_unwind.h"

static void must(bool condition)
{
	if (!condition)
		abort();
}

static void check(const struct cfi_rows *rows)
{
	for (size_t i = 0; i < rows->cnt; i++) {
		const struct cfi_row *row = &rows->rows[i];

		must(row->vaddr <= UINT32_MAX);
		must(!i || row[-1].vaddr < row->vaddr);
		must(!i || row[-1].row.cfa != row->row.cfa || row[-1].row.fp != row->row.fp ||
		     row[-1].row.cfa_offset != row->row.cfa_offset ||
		     row[-1].row.fp_offset != row->row.fp_offset);
		must(row->row.cfa <= UNWIND_FP && row->row.fp <= UNWIND_FP_LOST);
		must(row->row.cfa < UNWIND_SP || row->row.cfa_offset > 0);
		must(row->row.cfa >= UNWIND_SP || !row->row.fp);
		must(cfi_at(rows, row->vaddr) == row);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct held_bytes in = {.data = data, .len = size};
	struct perfmap_work work = {0};
	struct cfi_rows rows = {0};
	struct elf_segment code;
	int err = image_unwind_compile(held_bytes_read, &in, &work, &rows, &code);

	must(err == 0 || err == -ENOEXEC || err == -ENOTSUP || err == -ENODATA || err == -EBADMSG ||
	     err == -E2BIG);
	/* The last step past the limit may have been to read a window, or all of the file. */
	must(work.done <=
	     PERFMAP_IMAGE_WORK_BASE + (PERFMAP_IMAGE_WORK_PER_BYTE + 2) * (uint64_t)size);
	check(&rows);
	cfi_clear(&rows);
	return 0;
}
