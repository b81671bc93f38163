/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "parse/cfi.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define VADDR	      0x200000u /* of the section */
#define CODE	      0x1000u

/* A section that is written from its beginning. */
struct section {
	uint8_t bytes[4096];
	size_t len;
};

static void put(struct section *s, uint64_t value, size_t bytes)
{
	cr_assert(s->len + bytes <= sizeof(s->bytes));
	memcpy(s->bytes + s->len, &value, bytes);
	s->len += bytes;
}

static void put_bytes(struct section *s, const uint8_t *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		put(s, bytes[i], 1);
}

/* The usual CIE at the section's beginning: CFA = rsp + 8, return address below it; addresses of 32
 * bits relative to where they are. */
static void put_cie(struct section *s)
{
	static const uint8_t usual[] = {1,    'z',  'R', 0, 1,	       0x78, 16, 1,
					0x1b, 0x0c, 7,	 8, 0x80 | 16, 1,    0,	 0};

	put(s, 4 + sizeof(usual), 4);
	put(s, 0, 4);
	put_bytes(s, usual, sizeof(usual));
}

static void put_fde(struct section *s, uint64_t start, uint32_t size, const uint8_t *program,
		    size_t len)
{
	put(s, 13 + len, 4);
	put(s, s->len, 4); /* back to the CIE at 0 */
	put(s, start - (VADDR + s->len), 4);
	put(s, size, 4);
	put(s, 0, 1); /* no data of its own */
	put_bytes(s, program, len);
}

static int compile(const struct section *s, struct cfi_rows *rows)
{
	/* In memory of its own, so that a read past the end is noticed. */
	uint8_t *bytes = malloc(s->len);
	struct unwind_bytes section = {bytes, s->len, VADDR};
	struct perfmap_work work = {.limit = 64 * s->len + 4096};
	int err;

	memcpy(bytes, s->bytes, s->len);
	err = cfi_compile(&section, false, &work, rows);
	free(bytes);
	return err;
}

struct wanted {
	uint64_t vaddr;
	struct unwind_row row;
};

static void expect(const char *name, const struct cfi_rows *rows, const struct wanted *wanted,
		   size_t cnt)
{
	cr_expect_eq(rows->cnt, cnt, "%s: %zu rows", name, rows->cnt);
	for (size_t i = 0; i < cnt && i < rows->cnt; i++) {
		const struct unwind_row *is = &rows->rows[i].row, *be = &wanted[i].row;

		cr_expect_eq(rows->rows[i].vaddr, wanted[i].vaddr, "%s, row %zu: at 0x%lx", name, i,
			     rows->rows[i].vaddr);
		cr_expect(is->cfa == be->cfa && is->cfa_offset == be->cfa_offset &&
				  is->fp == be->fp && is->fp_offset == be->fp_offset,
			  "%s, row %zu: cfa %u %d, fp %u %d", name, i, is->cfa, is->cfa_offset,
			  is->fp, is->fp_offset);
	}
}

/* push rbp; mov rbp, rsp; ... leave; ret: the end restores the state that the middle had. */
Test(cfi, a_function_with_a_frame_pointer_has_a_row_for_each_of_its_parts)
{
	static const uint8_t program[] = {0x41, 0x0e, 16,   0x86, 2, 0x43, 0x0d, 6,
					  0x0a, 0x50, 0x0c, 7,	  8, 0x41, 0x0b};
	static const struct wanted wanted[] = {
		{CODE, {0, UNWIND_SP, UNWIND_FP_SAME, 1, 0}},
		{CODE + 1, {0, UNWIND_SP, UNWIND_FP_SAVED, 2, -2}},
		{CODE + 4, {0, UNWIND_FP, UNWIND_FP_SAVED, 2, -2}},
		{CODE + 20, {0, UNWIND_SP, UNWIND_FP_SAVED, 1, -2}},
		{CODE + 21, {0, UNWIND_FP, UNWIND_FP_SAVED, 2, -2}},
		{CODE + 64, {0}},
	};
	struct section s = {.len = 0};
	struct cfi_rows rows = {0};

	put_cie(&s);
	put_fde(&s, CODE, 64, program, sizeof(program));
	cr_assert_eq(compile(&s, &rows), 0);
	expect("usual", &rows, wanted, ARRAY_SIZE(wanted));
	cr_expect_null(cfi_at(&rows, CODE - 1));
	cr_expect_eq(cfi_at(&rows, CODE + 19)->row.cfa, UNWIND_FP);
	cr_expect_eq(cfi_at(&rows, CODE + 1000)->row.cfa, UNWIND_UNKNOWN);
	cfi_clear(&rows);
}

Test(cfi, each_kind_of_rule_has_its_row)
{
	static const struct {
		const char *name;
		uint8_t program[40];
		size_t len;
		struct unwind_row row;
	} rules[] = {
		{"rsp + 136", {0x0e, 0x88, 1}, 3, {0, UNWIND_SP, UNWIND_FP_SAME, 17, 0}},
		{"no caller", {0x07, 16}, 2, {0, UNWIND_END, 0, 0, 0}},
		{"return address in a register",
		 {0x09, 16, 3},
		 3,
		 {0, UNWIND_INEXPRESSIBLE, 0, 0, 0}},
		{"return address elsewhere", {0x90, 2}, 2, {0, UNWIND_INEXPRESSIBLE, 0, 0, 0}},
		{"by rbx", {0x0c, 3, 16}, 3, {0, UNWIND_INEXPRESSIBLE, 0, 0, 0}},
		{"an odd offset", {0x0e, 12}, 2, {0, UNWIND_INEXPRESSIBLE, 0, 0, 0}},
		{"a frame of gigabytes",
		 {0x0e, 0x80, 0x80, 0x80, 0x80, 8},
		 6,
		 {0, UNWIND_INEXPRESSIBLE, 0, 0, 0}},
		{"frame pointer lost", {0x07, 6}, 2, {0, UNWIND_SP, UNWIND_FP_LOST, 1, 0}},
		{"realigned: CFA at [rbp - 8], rbp at [rbp]",
		 {0x0f, 3, 0x76, 0x78, 0x06, 0x10, 6, 2, 0x76, 0},
		 10,
		 {0, UNWIND_FP_DEREF, UNWIND_FP_AT_FP, -1, 0}},
		{"CFA at [rsp + 40]",
		 {0x0f, 3, 0x77, 40, 0x06},
		 5,
		 {0, UNWIND_SP_DEREF, UNWIND_FP_SAME, 5, 0}},
		{"by an expression of one register",
		 {0x0f, 2, 0x76, 16},
		 4,
		 {0, UNWIND_FP, UNWIND_FP_SAME, 2, 0}},
		{"an expression of another kind",
		 {0x0f, 3, 0x76, 16, 0x12},
		 5,
		 {0, UNWIND_INEXPRESSIBLE, 0, 0, 0}},
		{"PLT",
		 {0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22},
		 13,
		 {0, UNWIND_PLT, UNWIND_FP_SAME, 11, 0}},
		{"the kernel's frame of a signal",
		 {0x0f, 4, 0x77, 0xa0, 1, 0x06, 0x10, 6, 3, 0x77, 0xf8, 0, 0x10, 16, 3, 0x77, 0xa8,
		  1},
		 18,
		 {0, UNWIND_SIGNAL, UNWIND_FP_SAME, 20, 0}},
		{"an instruction that nobody knows",
		 {0x0e, 24, 0x3d, 1},
		 4,
		 {0, UNWIND_INEXPRESSIBLE, 0, 0, 0}},
		{"nothing to be restored", {0x0b}, 1, {0, UNWIND_INEXPRESSIBLE, 0, 0, 0}},
		{"an offset behind an expression",
		 {0x0f, 3, 0x77, 40, 0x06, 0x0e, 16},
		 7,
		 {0, UNWIND_INEXPRESSIBLE, 0, 0, 0}},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
		struct wanted wanted[] = {{CODE, rules[i].row}, {CODE + 32, {0}}};
		struct section s = {.len = 0};
		struct cfi_rows rows = {0};

		put_cie(&s);
		put_fde(&s, CODE, 32, rules[i].program, rules[i].len);
		cr_expect_eq(compile(&s, &rows), 0, "%s", rules[i].name);
		expect(rules[i].name, &rows, wanted, ARRAY_SIZE(wanted));
		cfi_clear(&rows);
	}
}

Test(cfi, functions_come_in_the_order_of_their_addresses_and_what_is_between_is_not_known)
{
	static const uint8_t by_fp[] = {0x0c, 6, 16};
	static const struct wanted wanted[] = {
		{CODE, {0, UNWIND_SP, UNWIND_FP_SAME, 1, 0}},
		/* Padding of 15 bytes before it is nobody's; the one behind it says the same. */
		{CODE + 0x100, {0}},
		{CODE + 0x200, {0, UNWIND_FP, UNWIND_FP_SAME, 2, 0}},
		/* Overlaps: begins later, and holds. */
		{CODE + 0x220, {0, UNWIND_SP, UNWIND_FP_SAME, 1, 0}},
		{CODE + 0x230, {0}},
	};
	struct section s = {.len = 0};
	struct cfi_rows rows = {0};

	put_cie(&s);
	put_fde(&s, CODE + 0x200, 0x100, by_fp, sizeof(by_fp));
	put_fde(&s, CODE, 0x71, NULL, 0);
	put_fde(&s, CODE + 0x80, 0x80, NULL, 0);
	put_fde(&s, CODE + 0x220, 0x10, NULL, 0);
	put_fde(&s, CODE + 0x400, 0, NULL, 0); /* of no length */
	cr_assert_eq(compile(&s, &rows), 0);
	expect("order", &rows, wanted, ARRAY_SIZE(wanted));
	cr_expect_eq(rows.left_out, 1);
	cfi_clear(&rows);
}

/* A program of the entry that goes on behind its end makes no rows there. */
Test(cfi, an_entry_says_nothing_of_code_behind_its_end)
{
	static const uint8_t program[] = {0x7f, 0x0e, 16, 0x7f, 0x0e, 24};
	static const struct wanted wanted[] = {
		{CODE, {0, UNWIND_SP, UNWIND_FP_SAME, 1, 0}},
		{CODE + 16, {0}},
	};
	struct section s = {.len = 0};
	struct cfi_rows rows = {0};

	put_cie(&s);
	put_fde(&s, CODE, 16, program, sizeof(program));
	cr_assert_eq(compile(&s, &rows), 0);
	expect("end", &rows, wanted, ARRAY_SIZE(wanted));
	cfi_clear(&rows);
}

Test(cfi, who_makes_the_section_does_not_decide_how_long_it_is_worked_on)
{
	static const uint8_t rows_without_end[] = {0x41, 0x0e, 16, 0x41, 0x0e, 24};
	struct section s = {.len = 0};
	struct unwind_bytes section = {s.bytes, 0, VADDR};
	struct cfi_rows rows = {0};
	struct perfmap_work work = {.limit = 100};

	put_cie(&s);
	for (uint32_t i = 0; i < 100; i++)
		put_fde(&s, CODE + 16 * i, 16, rows_without_end, sizeof(rows_without_end));
	section.len = s.len;
	cr_expect_eq(cfi_compile(&section, false, &work, &rows), -E2BIG);
	cr_expect_gt(rows.cnt, 0, "what was found is kept");
	cr_expect_lt(rows.cnt, 100);
	cfi_clear(&rows);
	/* An entry without a CIE, a record that is longer than the section, the 64-bit form. */
	for (size_t i = 0; i < 3; i++) {
		static const uint32_t records[][2] = {{8, 0x7fffffff}, {100, 0}, {UINT32_MAX, 0}};

		memset(&s, 0, sizeof(s));
		put(&s, records[i][0], 4);
		put(&s, records[i][1], 4);
		put(&s, 0, 8);
		cr_expect_eq(compile(&s, &rows), 0);
		cr_expect_eq(rows.cnt, 0, "%zu", i);
		cfi_clear(&rows);
	}
}
