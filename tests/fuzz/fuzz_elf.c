/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "parse/demangle.h"
#include "parse/elf.h"

/* Loads the input as a program, then adds it to itself as its debug file, and what is packed in
 * it. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	char readable[DEMANGLE_OUTPUT_MAX];
	struct elf_identity identity;
	struct elf_table *table;
	struct elf_place place;

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		return 0;
	if (!elf_identify(fd, &identity) && !elf_load(fd, &identity, &table)) {
		int scratch_fd = memfd_create("scratch", MFD_CLOEXEC);

		elf_add_debug(table, fd);
		/* Counted over all three; what is packed has a length of its own. */
		if (table->work.done > 2 * (ELF_WORK_BASE + ELF_WORK_PER_BYTE * size))
			abort();
		if (table->names_len > 8 * size)
			abort();
		elf_add_debugdata(table, fd, scratch_fd);
		close(scratch_fd);
		for (uint64_t offset = 0; offset < size; offset += 16)
			if (elf_find(table, offset, &place) && place.name)
				demangle_name(place.name, readable);
		elf_free(table);
	}
	close(fd);
	return 0;
}
