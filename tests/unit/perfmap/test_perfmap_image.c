/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fake_image.h"
#include "held_bytes.h"
#include "perfmap/images/image.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define NONE	      UINT64_MAX

static int load(const uint8_t *data, size_t len, struct perfmap_image **ret_image)
{
	struct held_bytes b = {.data = data, .len = len};

	return perfmap_image_load(held_bytes_read, &b, ret_image);
}

/* Start of the function at an offset, or NONE. */
static uint64_t start_at(const struct perfmap_image *image, uint64_t offset)
{
	struct perfmap_image_place place;

	return perfmap_image_find(image, offset, &place) ? NONE : place.start;
}

/* RVA = offset + 0x10000. */
static const uint32_t rows[][2] = {
	{0x10300, 0x10335},
	{0x10340, 0x10390},
	{0x10400, 0x10480},
	{0x10480, 0x104a0},
};

static void make(uint16_t machine, uint8_t *image)
{
	struct fake_image what = {.machine = machine, .rows = rows, .rows_cnt = ARRAY_SIZE(rows)};

	fake_image(&what, image);
}

Test(perfmap_image, offsets_find_the_start_of_their_function)
{
	static const struct {
		const char *name;
		uint64_t offset, x64, arm64;
		uint32_t function;
	} cases[] = {
		{"first byte", 0x300, 0x300, 0x300, 0},
		{"a call site", 0x321, 0x300, 0x300, 0},
		{"alignment goes with the function before", 0x33f, 0x300, 0x300, 0},
		{"the next one", 0x340, 0x340, 0x340, 1},
		{"its last byte", 0x38f, 0x340, 0x340, 1},
		{"other code between functions, where ends are told", 0x390, NONE, 0x340, 1},
		{"just before a function", 0x3ff, NONE, 0x340, 1},
		{"after the gap", 0x400, 0x400, 0x400, 2},
		{"last byte of the last", 0x49f, 0x480, 0x480, 3},
		{"after the last", 0x4a0, NONE, NONE, 0},
		{"before the first", 0x2ff, NONE, NONE, 0},
		{"headers", 0x10, NONE, NONE, 0},
		{"another section", FAKE_IMAGE_DATA_OFFSET, NONE, NONE, 0},
		{"beyond the image", 0x100000, NONE, NONE, 0},
		{"the same low bits 4 GiB on", 0x100000300, NONE, NONE, 0},
	};
	static const uint16_t machines[] = {FAKE_IMAGE_X64, FAKE_IMAGE_ARM64};

	for (size_t m = 0; m < ARRAY_SIZE(machines); m++) {
		uint8_t bytes[FAKE_IMAGE_BYTES];
		struct perfmap_image *image;

		make(machines[m], bytes);
		cr_assert_eq(load(bytes, sizeof(bytes), &image), 0);
		cr_expect_eq(perfmap_image_functions(image), ARRAY_SIZE(rows));
		for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
			uint64_t start = m ? cases[i].arm64 : cases[i].x64;
			struct perfmap_image_place place = {NONE, 77};
			int err = perfmap_image_find(image, cases[i].offset, &place);

			cr_expect_eq(err, start == NONE ? -ENOENT : 0, "%zu: %s", m, cases[i].name);
			cr_expect_eq(place.start, start, "%zu: %s", m, cases[i].name);
			cr_expect_eq(place.function, start == NONE ? 77 : cases[i].function,
				     "%zu: %s", m, cases[i].name);
		}
		perfmap_image_free(image);
	}
}

struct patch {
	const char *name;
	size_t offset, len;
	uint64_t value;
	int err;
};

static void expect_patched(uint16_t machine, const struct patch *cases, size_t cnt)
{
	uint8_t bytes[FAKE_IMAGE_BYTES];

	for (size_t i = 0; i < cnt; i++) {
		struct perfmap_image *image = NULL;
		int err;

		make(machine, bytes);
		fake_image_put(bytes, cases[i].offset, cases[i].value, cases[i].len);
		err = load(bytes, sizeof(bytes), &image);
		cr_expect_eq(err, cases[i].err, "%s: %d", cases[i].name, err);
		cr_expect_eq(!err, image != NULL, "%s", cases[i].name);
		perfmap_image_free(image);
	}
}

#define ROW(i)	      (FAKE_IMAGE_DATA_OFFSET + 12 * (i))
#define ROW_ARM64(i)  (FAKE_IMAGE_DATA_OFFSET + 8 * (i))
#define UNWIND_ARM64  ROW_ARM64(ARRAY_SIZE(rows))
#define TABLE_BYTES   (FAKE_IMAGE_EXCEPTION + 4)
#define SECTION_RVA   12
#define SECTION_BYTES 16
#define SECTION_FILE  20

Test(perfmap_image, damaged_images_are_refused)
{
	static const struct patch cases[] = {
		{"no DOS header", 0, 2, 0x457f, -ENOEXEC},
		{"PE header past the end", FAKE_IMAGE_NEW_HEADER, 4, FAKE_IMAGE_BYTES, -EBADMSG},
		{"PE header at the end of 32 bits", FAKE_IMAGE_NEW_HEADER, 4, 0xffffffff, -EBADMSG},
		{"no PE signature", FAKE_IMAGE_PE, 4, 0x4550ff, -ENOEXEC},
		{"code for Windows", FAKE_IMAGE_MACHINE, 2, 0x8664, -ENOEXEC},
		{"32 bit", FAKE_IMAGE_OPTIONAL, 2, 0x10b, -ENOEXEC},
		{"optional header too short", FAKE_IMAGE_PE + 20, 2, 143, -ENODATA},
		{"no exception directory", FAKE_IMAGE_DIRECTORIES, 4, 3, -ENODATA},
		{"sections past the end", FAKE_IMAGE_PE + 20, 2, 0xffff, -EBADMSG},
		{"no section", FAKE_IMAGE_SECTION_CNT, 2, 0, -EBADMSG},
		{"97 sections", FAKE_IMAGE_SECTION_CNT, 2, 97, -E2BIG},
		{"section wraps", FAKE_IMAGE_SECTION(0) + SECTION_BYTES, 4, 0xfffffe00, -EBADMSG},
		{"section wraps in the file", FAKE_IMAGE_SECTION(0) + SECTION_FILE, 4, 0xfffffe00,
		 -EBADMSG},
		{"table in no section", FAKE_IMAGE_EXCEPTION, 4, 0x20000, -EBADMSG},
		{"table leaves its section", TABLE_BYTES, 4, FAKE_IMAGE_DATA_BYTES + 12, -EBADMSG},
		{"table past the end of the file", FAKE_IMAGE_SECTION(1) + SECTION_FILE, 4, 0x10000,
		 -EBADMSG},
		{"empty table", TABLE_BYTES, 4, 0, -ENODATA},
		{"less than a row", TABLE_BYTES, 4, 11, -ENODATA},
		{"the most rows are not in the section", TABLE_BYTES, 4,
		 12u * PERFMAP_IMAGE_FUNCTIONS_MAX, -EBADMSG},
		{"too many rows", TABLE_BYTES, 4, 12u * (PERFMAP_IMAGE_FUNCTIONS_MAX + 1), -E2BIG},
		{"rows out of order", ROW(2), 4, 0x10310, -EBADMSG},
		{"two rows of one begin", ROW(1), 4, 0x10300, -EBADMSG},
		{"function of no length", ROW(1) + 4, 4, 0x10340, -EBADMSG},
		{"function that ends before it begins", ROW(3) + 4, 4, 0x10470, -EBADMSG},
		{"end mark before the end", ROW(2), 4, 0xffffffff, -EBADMSG},
		{"end mark", ROW(3), 4, 0xffffffff, 0},
		{"half a row more", TABLE_BYTES, 4, 12 * ARRAY_SIZE(rows) + 6, 0},
		{"functions may overlap", ROW(0) + 4, 4, 0x10350, 0},
	};

	expect_patched(FAKE_IMAGE_X64, cases, ARRAY_SIZE(cases));
}

Test(perfmap_image, damaged_unwind_data_of_arm64_is_refused)
{
	static const struct patch cases[] = {
		{"compact form", ROW_ARM64(3) + 4, 4, 0x1001, -EBADMSG},
		{"in no section", ROW_ARM64(3) + 4, 4, 0x20000, -EBADMSG},
		{"leaves its section", ROW_ARM64(3) + 4, 4,
		 FAKE_IMAGE_DATA_RVA + FAKE_IMAGE_DATA_BYTES - 2, -EBADMSG},
		{"of no length", UNWIND_ARM64, 4, 0x10200000, -EBADMSG},
		{"function past 4 GiB", ROW_ARM64(3), 4, 0xfffffffc, -EBADMSG},
		{"of other functions is not read", ROW_ARM64(2) + 4, 4, 0x20000, 0},
	};

	expect_patched(FAKE_IMAGE_ARM64, cases, ARRAY_SIZE(cases));
}

Test(perfmap_image, an_image_cut_short_anywhere_is_refused)
{
	size_t table_end = ROW(ARRAY_SIZE(rows));
	uint8_t bytes[FAKE_IMAGE_BYTES];
	struct perfmap_image *image = NULL;

	make(FAKE_IMAGE_X64, bytes);
	for (size_t len = 0; len < table_end; len++) {
		/* On the heap, so that a read past the end is noticed. */
		uint8_t *cut = malloc(len + 1);

		memcpy(cut, bytes, len);
		cr_expect_eq(load(cut, len, &image), -EBADMSG, "%zu", len);
		free(cut);
	}
	cr_expect_null(image);
	cr_expect_eq(load(bytes, table_end, &image), 0);
	perfmap_image_free(image);
}

Test(perfmap_image, a_read_error_is_passed_on)
{
	uint8_t bytes[FAKE_IMAGE_BYTES];
	struct held_bytes b = {.data = bytes, .len = sizeof(bytes)};
	struct perfmap_image *image = NULL;

	make(FAKE_IMAGE_X64, bytes);
	for (b.fail_at = 1; b.fail_at < ROW(ARRAY_SIZE(rows)); b.fail_at++)
		cr_expect_eq(perfmap_image_load(held_bytes_read, &b, &image), -EIO, "%zu",
			     (size_t)b.fail_at);
	cr_expect_null(image);
}

Test(perfmap_image, an_end_mark_ends_the_table)
{
	static const uint32_t one[][2] = {{0xffffffff, 0xffffffff}};
	struct fake_image what = {.machine = FAKE_IMAGE_X64, .rows = one, .rows_cnt = 1};
	uint8_t bytes[FAKE_IMAGE_BYTES];
	struct perfmap_image *image;

	fake_image(&what, bytes);
	cr_expect_eq(load(bytes, sizeof(bytes), &image), -ENODATA);

	make(FAKE_IMAGE_X64, bytes);
	fake_image_put(bytes, ROW(3), 0xffffffff, 4);
	cr_assert_eq(load(bytes, sizeof(bytes), &image), 0);
	cr_expect_eq(perfmap_image_functions(image), 3);
	cr_expect_eq(start_at(image, 0x47f), 0x400);
	cr_expect_eq(start_at(image, 0x480), NONE);
	perfmap_image_free(image);
}

Test(perfmap_image, a_function_does_not_reach_into_another_section)
{
	uint8_t bytes[FAKE_IMAGE_BYTES];
	struct perfmap_image *image;

	make(FAKE_IMAGE_X64, bytes);
	fake_image_put(bytes, ROW(3) + 4, FAKE_IMAGE_DATA_RVA + 0x100, 4);
	cr_assert_eq(load(bytes, sizeof(bytes), &image), 0);
	cr_expect_eq(start_at(image, FAKE_IMAGE_DATA_OFFSET - 1), 0x480);
	cr_expect_eq(start_at(image, FAKE_IMAGE_DATA_OFFSET + 1), NONE);
	perfmap_image_free(image);
}

#define MANY_ROWS   20000u
#define MANY_STRIDE 0x100u
#define MANY_OFFSET 0x1000u /* of the table */

/* The table is read in pieces: gaps at every row, over all seams. */
Test(perfmap_image, a_long_table_is_read_whole)
{
	size_t len = MANY_OFFSET + 12 * MANY_ROWS;
	struct fake_image what = {.machine = FAKE_IMAGE_X64};
	uint8_t *bytes = calloc(1, len);
	struct held_bytes b = {.data = bytes, .len = len};
	struct perfmap_image *image;

	cr_assert_not_null(bytes);
	fake_image(&what, bytes);
	fake_image_put(bytes, TABLE_BYTES, 12 * MANY_ROWS, 4);
	fake_image_put(bytes, FAKE_IMAGE_EXCEPTION, 0x1000000, 4);
	fake_image_put(bytes, FAKE_IMAGE_SECTION(0) + SECTION_BYTES, MANY_ROWS * MANY_STRIDE, 4);
	fake_image_put(bytes, FAKE_IMAGE_SECTION(1) + SECTION_RVA, 0x1000000, 4);
	fake_image_put(bytes, FAKE_IMAGE_SECTION(1) + SECTION_BYTES, 12 * MANY_ROWS, 4);
	fake_image_put(bytes, FAKE_IMAGE_SECTION(1) + SECTION_FILE, MANY_OFFSET, 4);
	for (uint32_t i = 0; i < MANY_ROWS; i++) {
		uint32_t begin = FAKE_IMAGE_CODE_RVA + i * MANY_STRIDE;

		fake_image_put(bytes, MANY_OFFSET + 12 * i, begin, 4);
		fake_image_put(bytes, MANY_OFFSET + 12 * i + 4, begin + 0x40 + i % 0x40, 4);
	}
	cr_assert_eq(perfmap_image_load(held_bytes_read, &b, &image), 0);
	cr_expect_eq(perfmap_image_functions(image), MANY_ROWS);
	cr_expect_lt(b.reads, 100, "%zu", b.reads);
	for (uint32_t i = 0; i < MANY_ROWS; i++) {
		uint64_t start = FAKE_IMAGE_CODE_OFFSET + (uint64_t)i * MANY_STRIDE;

		cr_assert_eq(start_at(image, start + 0x3f + i % 0x40), start, "%u", i);
		cr_assert_eq(start_at(image, start + 0x40 + i % 0x40), NONE, "%u", i);
	}
	perfmap_image_free(image);
	free(bytes);
}
