/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PERFMAP_IMAGES_PE_H
#define PERFMAP_IMAGES_PE_H
/*
 * Headers of a PE file of precompiled .NET code for Linux (x64, arm64): sections and those data
 * directories that image.c needs. The content is hostile: what is read is bounded and checked. For
 * perfmap/ and parse/image_unwind.c. A loaded one is read-only, for any threads.
 *
 * Source: Microsoft PE/COFF specification. The machine is that of COFF XOR 0x7b79 for Linux
 * (dotnet/runtime src/coreclr/tools/Common/Compiler/ObjectWriter).
 */
#include <stddef.h>
#include <stdint.h>

#include "perfmap/bytes.h"
#include "perfmap/images/image.h"
#include "perfmap/work.h"

#define PERFMAP_PE_SECTIONS_MAX 96u /* what Windows' loader takes */

struct perfmap_section {
	uint32_t rva, offset, bytes;
};

struct perfmap_directory {
	uint32_t rva, bytes;
};

/* As two numbers of 32 bits lie in the file. */
static inline struct perfmap_directory perfmap_directory_at(const uint8_t *p)
{
	return (struct perfmap_directory){.rva = perfmap_u32_at(p), .bytes = perfmap_u32_at(p + 4)};
}

struct perfmap_pe {
	uint32_t row_bytes; /* of the table of functions: 12 on x64, 8 on arm64 */
	size_t sections_cnt;
	struct perfmap_section sections[PERFMAP_PE_SECTIONS_MAX];
	struct perfmap_directory exports, exceptions, cli; /* bytes 0 = not there */
};

#define PERFMAP_ROW_BYTES_X64	12u /* begin, end, unwind */
#define PERFMAP_ROW_BYTES_ARM64 8u  /* begin, unwind */
#define PERFMAP_ROW_BYTES_MAX	12u

/* A source of bytes with its pread(), and the work done on what comes from it. */
struct perfmap_reader {
	perfmap_image_read read;
	void *source;
	struct perfmap_work *work;
};

/* Reads exactly len bytes. Returns 0, -EBADMSG where the file ends before, -E2BIG over the limit of
 * work, or what read returned. */
int perfmap_read_all(const struct perfmap_reader *r, void *buf, size_t len, uint64_t offset);

/* Returns 0 or the errors of perfmap_image_load(). Sets the limit of the reader's work: that of an
 * image of this length. */
int perfmap_pe_load(const struct perfmap_reader *r, struct perfmap_pe *ret_pe);

/* Offset in the file of len bytes at an RVA, which must lie in one section. 0 or -EBADMSG. */
int perfmap_pe_locate(const struct perfmap_pe *pe, uint32_t rva, uint32_t len,
		      uint64_t *ret_offset);

/* Reads len bytes at an RVA. 0, -EBADMSG, or what read returned. */
int perfmap_pe_read(const struct perfmap_pe *pe, const struct perfmap_reader *r, uint32_t rva,
		    void *buf, uint32_t len);

/*
 * Reads a whole directory into memory that ret_bytes owns (free()). Returns 0, -E2BIG over
 * bytes_max, -ENOMEM, -EBADMSG or what read returned.
 */
int perfmap_pe_read_owned(const struct perfmap_pe *pe, const struct perfmap_reader *r,
			  struct perfmap_directory directory, uint32_t bytes_max,
			  uint8_t **ret_bytes);
#endif
