/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fake_image.h"

#include <string.h>

#define OPTIONAL_BYTES 240

void fake_image_put(uint8_t *image, size_t offset, uint64_t value, size_t len)
{
	for (size_t i = 0; i < len; i++)
		image[offset + i] = (uint8_t)(value >> 8 * i);
}

static void put_section(uint8_t *image, int i, uint32_t rva, uint32_t offset, uint32_t bytes)
{
	size_t at = FAKE_IMAGE_SECTION(i);

	fake_image_put(image, at + 8, bytes, 4);
	fake_image_put(image, at + 12, rva, 4);
	fake_image_put(image, at + 16, bytes, 4);
	fake_image_put(image, at + 20, offset, 4);
}

void fake_image(const struct fake_image *what, uint8_t *image)
{
	size_t row_bytes = what->machine == FAKE_IMAGE_ARM64 ? 8 : 12;
	size_t unwind = what->rows_cnt * row_bytes;

	memset(image, 0, FAKE_IMAGE_BYTES);
	memcpy(image, "MZ", 2);
	fake_image_put(image, FAKE_IMAGE_NEW_HEADER, FAKE_IMAGE_PE, 4);
	memcpy(image + FAKE_IMAGE_PE, "PE\0\0", 4);
	fake_image_put(image, FAKE_IMAGE_MACHINE, what->machine, 2);
	fake_image_put(image, FAKE_IMAGE_SECTION_CNT, 2, 2);
	fake_image_put(image, FAKE_IMAGE_PE + 20, OPTIONAL_BYTES, 2);
	fake_image_put(image, FAKE_IMAGE_OPTIONAL, 0x20b, 2);
	fake_image_put(image, FAKE_IMAGE_DIRECTORIES, 16, 4);
	fake_image_put(image, FAKE_IMAGE_EXCEPTION, FAKE_IMAGE_DATA_RVA, 4);
	fake_image_put(image, FAKE_IMAGE_EXCEPTION + 4, what->rows_cnt * row_bytes, 4);
	put_section(image, 0, FAKE_IMAGE_CODE_RVA, FAKE_IMAGE_CODE_OFFSET, FAKE_IMAGE_CODE_BYTES);
	put_section(image, 1, FAKE_IMAGE_DATA_RVA, FAKE_IMAGE_DATA_OFFSET, FAKE_IMAGE_DATA_BYTES);
	for (size_t i = 0; i < what->rows_cnt; i++) {
		size_t at = FAKE_IMAGE_DATA_OFFSET + i * row_bytes;

		fake_image_put(image, at, what->rows[i][0], 4);
		if (row_bytes == 12)
			fake_image_put(image, at + 4, what->rows[i][1], 4);
		fake_image_put(image, at + row_bytes - 4, FAKE_IMAGE_DATA_RVA + unwind, 4);
	}
	/* Of the last function, with bits above the 18 of its length set. */
	if (row_bytes == 8 && what->rows_cnt) {
		const uint32_t *last = what->rows[what->rows_cnt - 1];

		fake_image_put(image, FAKE_IMAGE_DATA_OFFSET + unwind,
			       0x10200000u | (last[1] - last[0]) / 4, 4);
	}
}
