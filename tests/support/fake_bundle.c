/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fake_bundle.h"

#include <string.h>

#include "fake_image.h"

static const uint8_t mark[] = {
	0x8b, 0x12, 0x02, 0xb9, 0x6a, 0x61, 0x20, 0x38, 0x72, 0x7b, 0x93,
	0x02, 0x14, 0xd7, 0xa0, 0x32, 0x13, 0xf5, 0xb9, 0xe6, 0xef, 0xae,
	0x33, 0x18, 0xee, 0x3b, 0x2d, 0xce, 0x24, 0xb3, 0x6a, 0xae,
};

void fake_bundle(uint8_t *bytes)
{
	size_t at = FAKE_BUNDLE_ENTRIES;

	memset(bytes, 0, FAKE_BUNDLE_BYTES);
	memcpy(bytes, "\177ELF\2\1\1", 7);
	fake_image_put(bytes, 16, 2, 2); /* a program for x86-64 */
	fake_image_put(bytes, 18, 62, 2);
	fake_image_put(bytes, 20, 1, 4);
	fake_image_put(bytes, 52, 64, 2);
	fake_image_put(bytes, 32, 64, 8); /* one segment, behind the header */
	fake_image_put(bytes, 54, 56, 2);
	fake_image_put(bytes, 56, 1, 2);
	fake_image_put(bytes, 64, 1, 4); /* loaded, readable and writable */
	fake_image_put(bytes, 68, 6, 4);
	fake_image_put(bytes, 72, FAKE_BUNDLE_DATA, 8);
	fake_image_put(bytes, 96, 0x100, 8);
	fake_image_put(bytes, FAKE_BUNDLE_MARK, FAKE_BUNDLE_LIST, 8);
	memcpy(bytes + FAKE_BUNDLE_MARK + 8, mark, sizeof(mark));
	fake_image_put(bytes, FAKE_BUNDLE_LIST, 6, 4);
	fake_image_put(bytes, FAKE_BUNDLE_LIST + 8, 3, 4);
	memcpy(bytes + FAKE_BUNDLE_LIST + 12, "\2id", 3);
	for (int i = 0; i < 3; i++) {
		fake_image_put(bytes, at, FAKE_BUNDLE_FILES + 0x100 * (uint64_t)i, 8);
		fake_image_put(bytes, at + 8, i == 2 ? 0x300 : 0x100, 8);
		fake_image_put(bytes, at + 16, i == 2 ? 0x100 : 0, 8);
		fake_image_put(bytes, at + 24, 1, 1);
		memcpy(bytes + at + 25, "\5A.dll", 6);
		bytes[at + 26] = (uint8_t)('A' + i);
		at += FAKE_BUNDLE_ENTRY;
	}
}
