/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Call frame information: the first byte says of which kind the section is. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "parse/cfi.h"
#include "parse/elf.h"

static void must(bool condition)
{
	if (!condition)
		abort();
}

static void check(const struct cfi_rows *rows)
{
	for (size_t i = 0; i < rows->cnt; i++) {
		const struct cfi_row *row = &rows->rows[i];

		must(!i || row[-1].vaddr < row->vaddr);
		must(row->row.cfa <= UNWIND_SIGNAL && row->row.fp <= UNWIND_FP_AT_FP);
		must(row->row.cfa >= UNWIND_SP || !row->row.fp);
		must(cfi_at(rows, row->vaddr) == row);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct unwind_bytes section = {.vaddr = 0x200000};
	struct perfmap_work work = {.limit = ELF_WORK_BASE + ELF_WORK_PER_BYTE * (uint64_t)size};
	struct cfi_rows rows = {0};
	uint8_t *bytes;

	if (!size)
		return 0;
	section.len = size - 1;
	section.data = bytes = malloc(section.len + !section.len);
	memcpy(bytes, data + 1, section.len);
	must(cfi_compile(&section, data[0] & 1, &work, &rows) == 0);
	check(&rows);
	cfi_clear(&rows);
	free(bytes);
	return 0;
}
