/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "names_support.h"
#include "parse/unwind_table.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define PAGE	      UNWIND_PAGE_BYTES

/* There and back, as a worker hands it over. */
static struct unwind_table *through_blob(const struct cfi_row *rows, size_t cnt,
					 const struct unwind_layout *layout)
{
	const struct cfi_rows in = {.rows = (struct cfi_row *)rows, .cnt = cnt};
	int fd = memfd_create("table", MFD_CLOEXEC);
	struct unwind_table *t;
	struct stat st;

	cr_assert_eq(unwind_table_write(&in, layout, fd), 0);
	cr_assert_eq(fstat(fd, &st), 0);
	t = unwind_table_read(fd, (size_t)st.st_size);
	cr_assert(t);
	return t;
}

static uint8_t kind_at(const struct unwind_table *t, uint64_t vaddr)
{
	return unwind_table_row(t, vaddr).cfa;
}

/* Each page begins with the row that holds there, and those of which nothing is known have none. */
Test(unwind_table, pages_say_at_each_address_what_the_rows_say)
{
	static const struct cfi_row rows[] = {
		{2 * PAGE + 100, {.cfa = UNWIND_SP, .cfa_offset = 1}},
		{2 * PAGE + 200, {.cfa = UNWIND_FP, .cfa_offset = 2}},
		{4 * PAGE, {.cfa = UNWIND_PLT}},
		{4 * PAGE + 10, {.cfa = UNWIND_UNKNOWN}},
		{7 * PAGE - 1, {.cfa = UNWIND_END}},
		{7 * PAGE + 5, {.cfa = UNWIND_UNKNOWN}},
	};
	static const struct {
		uint64_t vaddr;
		uint8_t cfa;
	} wanted[] = {
		{0, UNWIND_UNKNOWN},
		{2 * PAGE - 1, UNWIND_UNKNOWN},
		{2 * PAGE, UNWIND_UNKNOWN},
		{2 * PAGE + 99, UNWIND_UNKNOWN},
		{2 * PAGE + 100, UNWIND_SP},
		{2 * PAGE + 199, UNWIND_SP},
		{2 * PAGE + 200, UNWIND_FP},
		{3 * PAGE - 1, UNWIND_FP},
		{3 * PAGE, UNWIND_FP},
		{4 * PAGE - 1, UNWIND_FP},
		{4 * PAGE, UNWIND_PLT},
		{4 * PAGE + 9, UNWIND_PLT},
		{4 * PAGE + 10, UNWIND_UNKNOWN},
		{5 * PAGE, UNWIND_UNKNOWN},
		{7 * PAGE - 2, UNWIND_UNKNOWN},
		{7 * PAGE - 1, UNWIND_END},
		{7 * PAGE, UNWIND_END},
		{7 * PAGE + 4, UNWIND_END},
		{7 * PAGE + 5, UNWIND_UNKNOWN},
		{8 * PAGE, UNWIND_UNKNOWN},
		{2 * PAGE + 100 + (1ull << 32) * PAGE, UNWIND_UNKNOWN},
		{UINT64_MAX, UNWIND_UNKNOWN},
	};
	const struct unwind_layout layout = {.identity = {.build_id = {7, 8}, .build_id_len = 2}};
	struct unwind_table *t = through_blob(rows, ARRAY_SIZE(rows), &layout);

	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++)
		cr_expect_eq(kind_at(t, wanted[i].vaddr), wanted[i].cfa, "0x%lx: %u",
			     wanted[i].vaddr, kind_at(t, wanted[i].vaddr));
	cr_expect_eq(t->page_base, 2);
	cr_expect_eq(t->page_cnt, 6);
	cr_expect_eq(t->pages[3].cnt, 0, "nothing is known of the fifth page");
	for (uint32_t i = 0; i < t->page_cnt; i++)
		if (t->pages[i].cnt)
			cr_expect_eq(t->rows[t->pages[i].first].at, 0, "page %u", i);
	cr_expect_eq(t->layout.identity.build_id_len, 2);
	cr_expect_eq(t->layout.identity.build_id[1], 8);
	unwind_table_free(t);
}

Test(unwind_table, the_last_row_holds_to_the_end_of_its_segment)
{
	static const struct cfi_row row = {PAGE + 9, {.cfa = UNWIND_SP}};
	struct unwind_table *t = through_blob(&row, 1, &(struct unwind_layout){0});

	cr_expect_eq(kind_at(t, PAGE + 8), UNWIND_UNKNOWN);
	cr_expect_eq(kind_at(t, 2 * PAGE + 9), UNWIND_SP);
	unwind_table_free(t);
}

Test(unwind_table, a_file_without_rows_or_with_far_ones_alone_has_no_pages)
{
	static const struct cfi_row far[] = {
		{(uint64_t)UNWIND_PAGES_MAX << UNWIND_PAGE_BITS, {.cfa = UNWIND_SP}},
		{UINT64_MAX, {.cfa = UNWIND_SP}}};
	static const struct cfi_row near_and_far[] = {{16, {.cfa = UNWIND_SP}},
						      {32, {.cfa = UNWIND_UNKNOWN}},
						      {UINT64_MAX - 5, {.cfa = UNWIND_FP}}};
	struct unwind_table *t = through_blob(NULL, 0, &(struct unwind_layout){0});

	cr_expect_eq(t->page_cnt, 0);
	cr_expect_eq(kind_at(t, 0), UNWIND_UNKNOWN);
	unwind_table_free(t);
	t = through_blob(far, 2, &(struct unwind_layout){0});
	cr_expect_eq(t->page_cnt, 0);
	unwind_table_free(t);
	t = through_blob(near_and_far, 3, &(struct unwind_layout){0});
	cr_expect_eq(t->page_cnt, 1);
	cr_expect_eq(kind_at(t, 20), UNWIND_SP);
	unwind_table_free(t);
}

Test(unwind_table, a_mapping_is_found_in_the_segment_that_it_is_of)
{
	static const struct unwind_layout layout = {
		.segments = {{.offset = 0x1a40, .size = 0x3000, .vaddr = 0x2a40},
			     {.offset = 0x200, .size = 0x600, .vaddr = 0x101000},
			     {.offset = 0x8000, .size = 0x2000, .vaddr = 0x208000}},
		.segments_cnt = 3};
	static const struct {
		const char *name;
		uint64_t start, offset;
		bool is_found;
		uint64_t bias;
	} cases[] = {
		{"first page shared with another segment", 0x7f0000001000, 0x1000, true,
		 0x7f0000001000 - 0x2000},
		{"a mapping in mid-segment", 0x7f0000003000, 0x3000, true, 0x7f0000003000 - 0x4000},
		{"a section at 0x200 mapped from 0", 0x7f0000100000, 0, true,
		 0x7f0000100000 - 0x100e00},
		{"from its very beginning", 0x10000, 0x8000, true, 0x10000 - 0x208000},
		{"its last page", 0x10000, 0x9000, true, 0x10000 - 0x209000},
		{"the page in which it ends", 0x10000, 0x4000, true, 0x10000 - 0x5000},
		{"behind it", 0x10000, 0xa000, false, 0},
		{"between two", 0x10000, 0x7000, false, 0},
		{"far behind all", 0x10000, UINT64_MAX - 0xfff, false, 0},
	};
	struct unwind_table *t = through_blob(NULL, 0, &layout);

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t bias = 1;
		bool found = unwind_table_bias(t, cases[i].start, cases[i].offset, &bias);

		cr_expect_eq(found, cases[i].is_found, "%s", cases[i].name);
		cr_expect_eq(bias, found ? cases[i].bias : 1, "%s: 0x%lx", cases[i].name, bias);
	}
	unwind_table_free(t);
}

/* Of a worker that was taken over: any bytes in place of those that were written. */
Test(unwind_table, a_blob_that_lies_is_refused_or_has_no_rows_there)
{
	static const struct cfi_row rows[] = {{16, {.cfa = UNWIND_SP}},
					      {PAGE + 32, {.cfa = UNWIND_FP}},
					      {PAGE + 64, {.cfa = UNWIND_UNKNOWN}}};
	const struct cfi_rows in = {.rows = (struct cfi_row *)rows, .cnt = 3};
	const struct unwind_layout layout = {.segments = {{.size = 0x1000}}, .segments_cnt = 1};
	int fd = memfd_create("table", MFD_CLOEXEC);
	uint8_t *bytes, *forged;
	size_t read_cnt = 0, len;
	struct stat st;

	cr_assert_eq(unwind_table_write(&in, &layout, fd), 0);
	cr_assert_eq(fstat(fd, &st), 0);
	len = (size_t)st.st_size;
	bytes = malloc(len);
	forged = malloc(len);
	cr_assert_eq(pread(fd, bytes, len, 0), (ssize_t)len);
	close(fd);
	for (size_t at = 0; at < len; at++)
		for (int k = 0; k < 2; k++) {
			struct unwind_table *t;
			uint64_t bias;

			memcpy(forged, bytes, len);
			forged[at] = k ? 0xff : (uint8_t)(forged[at] + 1);
			t = unwind_table_read(fake_fd(forged, len), len);
			read_cnt += t != NULL;
			for (uint64_t vaddr = 0; t && vaddr < 4 * PAGE; vaddr += 16)
				unwind_table_row(t, vaddr);
			if (t)
				unwind_table_bias(t, 0x10000, 0, &bias);
			unwind_table_free(t);
		}
	cr_expect_gt(read_cnt, len, "most of it is no structure");
	for (size_t cut = 0; cut < len; cut += 8)
		unwind_table_free(unwind_table_read(fake_fd(bytes, cut), cut));
	free(bytes);
	free(forged);
}
