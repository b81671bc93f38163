/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unwind tables alone: the first two bytes say where the header ends and the frame entries
 * begin. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "parse/unwind.h"

static void must(bool condition)
{
	if (!condition)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct unwind_bytes header = {0}, frames = {0};
	struct perfmap_work work = {.limit = UINT64_MAX};
	struct elf_extent *extents = NULL;
	size_t cnt = 0, cap = 0;
	uint8_t *first, *second;
	int err;

	if (size < 2)
		return 0;
	header.len = (size_t)(data[0] | data[1] << 8) % (size - 1);
	frames.len = size - 2 - header.len;
	/* Each in memory of its own, so that a read past the end is noticed. */
	header.data = first = malloc(header.len + !header.len);
	frames.data = second = malloc(frames.len + !frames.len);
	memcpy(first, data + 2, header.len);
	memcpy(second, data + 2 + header.len, frames.len);
	if (!unwind_frames_vaddr(&header, &frames.vaddr)) {
		err = unwind_read(&header, &frames, &work, &extents, &cnt, &cap);
		must(err == 0 || err == -ENOTSUP);
		must(cnt <= header.len / 8 && work.done <= ELF_WORK_PER_BYTE * header.len);
		for (size_t i = 0; i < cnt; i++)
			must(extents[i].size > 0);
	}
	free(extents);
	free(first);
	free(second);
	return 0;
}
