/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_TESTS_FAKE_IMAGE_H
#define HOTRUN_TESTS_FAKE_IMAGE_H
/*
 * Precompiled .NET images made to measure: headers, a section of code and one with the table, laid
 * out as crossgen's are for Linux.
 */
#include <stddef.h>
#include <stdint.h>

#define FAKE_IMAGE_X64	 0xfd1du /* COFF machine */
#define FAKE_IMAGE_ARM64 0xd11du

#define FAKE_IMAGE_CODE_RVA    0x10200u /* at offset 0x200 */
#define FAKE_IMAGE_CODE_OFFSET 0x200u
#define FAKE_IMAGE_CODE_BYTES  0x600u
#define FAKE_IMAGE_DATA_RVA    0x11000u /* at offset 0x800: the table, then unwind data */
#define FAKE_IMAGE_DATA_OFFSET 0x800u
#define FAKE_IMAGE_DATA_BYTES  0x200u
#define FAKE_IMAGE_BYTES       0xa00u

/* Offsets in the file of what tests spoil. */
#define FAKE_IMAGE_NEW_HEADER  0x3c
#define FAKE_IMAGE_PE	       0x80
#define FAKE_IMAGE_MACHINE     (FAKE_IMAGE_PE + 4)
#define FAKE_IMAGE_SECTION_CNT (FAKE_IMAGE_PE + 6)
#define FAKE_IMAGE_OPTIONAL    (FAKE_IMAGE_PE + 24)
#define FAKE_IMAGE_DIRECTORIES (FAKE_IMAGE_OPTIONAL + 108)
#define FAKE_IMAGE_EXCEPTION   (FAKE_IMAGE_OPTIONAL + 136)
#define FAKE_IMAGE_SECTION(i)  (FAKE_IMAGE_OPTIONAL + 240 + 40 * (i))

struct fake_image {
	uint16_t machine;
	const uint32_t (*rows)[2]; /* begin and end, RVAs; arm64 has the last one's end only */
	size_t rows_cnt;
};

/* Writes a value of len bytes, little-endian. */
void fake_image_put(uint8_t *image, size_t offset, uint64_t value, size_t len);
/* Fills image[FAKE_IMAGE_BYTES]. */
void fake_image(const struct fake_image *what, uint8_t *image);
#endif
