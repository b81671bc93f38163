/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unwind tables made to keep their reader busy. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "parse/unwind.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

enum {
	ROWS = 20000,
	HEADER_BYTES = 12 + 8 * ROWS,
	FRAMES_AT = 0x100000, /* vaddr; the header's is 0 */
	CIE_BYTES = 4 << 20,  /* room for each of the two */
};

static void put32(uint8_t *p, uint32_t value)
{
	memcpy(p, &value, 4);
}

/* Two CIEs, each with an entry behind it of 16 bytes of code, to which the table's rows
 * alternate. */
struct fake_frames {
	uint8_t *header, *frames;
	size_t frames_len;
};

static void put_common(uint8_t *at, const uint8_t *common, size_t len, uint8_t fill,
		       uint32_t claimed)
{
	put32(at, claimed - 4);
	put32(at + 4, 0);
	at[8] = 1;
	memset(at + 9, fill, CIE_BYTES - 9);
	if (len)
		memcpy(at + 9, common, len);
}

static struct fake_frames make(const uint8_t *common, size_t len, uint8_t fill, uint32_t claimed)
{
	struct fake_frames f = {calloc(1, HEADER_BYTES), calloc(1, 2 * CIE_BYTES + 64),
				2 * CIE_BYTES + 64};
	uint8_t *entries = f.frames + 2 * CIE_BYTES;

	cr_assert(f.header && f.frames);
	memcpy(f.header, "\1\x1b\3\x3b", 4);
	put32(f.header + 4, FRAMES_AT - 4);
	put32(f.header + 8, ROWS);
	for (uint32_t i = 0; i < 2; i++) {
		put_common(f.frames + i * CIE_BYTES, common, len, fill, claimed);
		put32(entries + i * 32, 28);
		put32(entries + i * 32 + 4, (2 - i) * CIE_BYTES + i * 32 + 4);
		put32(entries + i * 32 + 12, 16); /* bytes of code, in 4 bytes or in 8 */
		put32(entries + i * 32 + 16, 16);
	}
	for (uint32_t i = 0; i < ROWS; i++) {
		put32(f.header + 12 + 8 * i, 0x1000 + 16 * i);
		put32(f.header + 12 + 8 * i + 4, FRAMES_AT + 2 * CIE_BYTES + i % 2 * 32);
	}
	return f;
}

Test(unwind, an_entry_costs_a_constant_whatever_it_points_at)
{
	static const uint8_t usual[] = {'z', 'R', 0, 1, 0x78, 16, 1, 0x1b};
	static const uint8_t pointers[] = "zPPPPPPPPPPPPPPPPPPPPPPPPPPPPP";
	static const uint8_t numbers[] = {'z', 'R', 0, 0xff};
	static const struct {
		const char *name;
		const uint8_t *common;
		size_t len;
		uint32_t claimed; /* bytes of a CIE */
		uint8_t fill;
		size_t extents;
	} rows[] = {
		{"usual", usual, sizeof(usual), 32, 0, ROWS},
		{"4 MB without a NUL", NULL, 0, CIE_BYTES, 'A', 0},
		{"4 KB without a NUL", NULL, 0, UNWIND_CIE_BYTES_MAX, 'A', 0},
		{"longer than any", usual, sizeof(usual), UNWIND_CIE_BYTES_MAX + 5, 0, 0},
		{"as many pointers as fit", pointers, sizeof(pointers), UNWIND_CIE_BYTES_MAX, 0, 0},
		{"numbers without an end", numbers, sizeof(numbers), UNWIND_CIE_BYTES_MAX, 0xff, 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct fake_frames f =
			make(rows[i].common, rows[i].len, rows[i].fill, rows[i].claimed);
		struct unwind_bytes header = {f.header, HEADER_BYTES, 0};
		struct unwind_bytes frames = {f.frames, f.frames_len, FRAMES_AT};
		struct perfmap_work work = {.limit = UINT64_MAX};
		struct elf_extent *extents = NULL;
		size_t cnt = 0, cap = 0;

		cr_expect_eq(unwind_read(&header, &frames, &work, &extents, &cnt, &cap), 0, "%s",
			     rows[i].name);
		if (rows[i].extents)
			cr_expect_eq(cnt, rows[i].extents, "%s: %zu", rows[i].name, cnt);
		cr_expect_leq(work.done, ELF_WORK_PER_BYTE * HEADER_BYTES, "%s: %lu", rows[i].name,
			      work.done);
		cr_expect_geq(work.done, 8 * ROWS, "%s", rows[i].name);
		work = (struct perfmap_work){.limit = 1000};
		cr_expect_eq(unwind_read(&header, &frames, &work, &extents, &cnt, &cap), -E2BIG,
			     "%s", rows[i].name);
		free(extents);
		free(f.header);
		free(f.frames);
	}
}
