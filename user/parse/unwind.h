/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_PARSE_UNWIND_H
#define HOTRUN_PARSE_UNWIND_H
/*
 * Bounds of functions from the search table of .eh_frame_hdr, which stripped files keep (Linux
 * Standard Base Core, "Exception Frames"; DWARF 5, 6.4.1). Pure, by length.
 */
#include <stddef.h>
#include <stdint.h>

#include "parse/elf.h"

#define UNWIND_ENTRIES_MAX   4000000u
#define UNWIND_CIE_BYTES_MAX 4096u /* what entries have in common; compilers write 20 to 30 */
#define UNWIND_AUGMENTATION_MAX \
	32u /* bytes of its text, NUL included; "zPLR" is the longest usual */

/* Bytes of the file that lie at vaddr. */
struct unwind_bytes {
	const uint8_t *data;
	size_t len;
	uint64_t vaddr;
};

/*
 * Appends the extent of each function in the header's table whose frame entry lies in frames, in
 * the order of the table (by start). Entries that make no sense are left out. Each costs a
 * constant, whatever it points at; counted in work. 0, -ENOTSUP (no table, or an encoding other
 * than the usual one), -E2BIG (the work's limit) or -ENOMEM.
 */
int unwind_read(const struct unwind_bytes *header, const struct unwind_bytes *frames,
		struct perfmap_work *work, struct elf_extent **extents, size_t *cnt, size_t *cap);

/* The vaddr of .eh_frame that the header points to. 0 or -ENOTSUP. */
int unwind_frames_vaddr(const struct unwind_bytes *header, uint64_t *ret_vaddr);
#endif
