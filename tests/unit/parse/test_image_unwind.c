/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fake_image.h"
#include "held_bytes.h"
#include "parse/image_unwind.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define CODE	      FAKE_IMAGE_CODE_RVA
#define ROWS_MAX      4u
/* Behind the table, RVA and offset in the file. */
#define INFO(i)	      (FAKE_IMAGE_DATA_RVA + INFO_AT(i))
#define INFO_AT(i)    (12 * ROWS_MAX + 48 * (i))
#define DATA(at)      (FAKE_IMAGE_DATA_OFFSET + (at))
#define ROW_UNWIND(i) DATA(12 * (i) + 8)

#define CALLER(...)                                \
	{                                          \
		0, UNWIND_SP, UNWIND_FP_SAME, 1, 0 \
	}
#define NOTHING                            \
	{                                  \
		0, UNWIND_UNKNOWN, 0, 0, 0 \
	}

/* An image of up to ROWS_MAX functions, each of which has UNWIND_INFO of its own. */
struct image {
	uint8_t bytes[FAKE_IMAGE_BYTES];
	size_t len;
};

static void make(struct image *image, uint16_t machine, const uint32_t (*functions)[2], size_t cnt)
{
	struct fake_image what = {.machine = machine, .rows = functions, .rows_cnt = cnt};

	fake_image(&what, image->bytes);
	image->len = sizeof(image->bytes);
	for (size_t i = 0; i < cnt && machine == FAKE_IMAGE_X64; i++) {
		fake_image_put(image->bytes, ROW_UNWIND(i), INFO(i), 4);
		image->bytes[DATA(INFO_AT(i))] = 0x19; /* version 1, handlers as all of .NET's */
	}
}

/* codes: as they lie there; slots of two bytes. */
static void put_info(struct image *image, size_t i, uint8_t frame, const uint8_t *codes, size_t len)
{
	uint8_t *info = image->bytes + DATA(INFO_AT(i));

	info[1] = len ? codes[0] : 0;
	info[2] = (uint8_t)(len / 2);
	info[3] = frame;
	memcpy(info + 4, codes, len);
}

static void put_code(struct image *image, uint32_t rva, const uint8_t *code, size_t len)
{
	memcpy(image->bytes + FAKE_IMAGE_CODE_OFFSET + (rva - CODE), code, len);
}

static int compile(const struct image *image, struct cfi_rows *rows)
{
	/* In memory of its own, so that a read past the end is noticed. */
	uint8_t *bytes = malloc(image->len + 1);
	struct held_bytes held = {.data = bytes, .len = image->len};
	struct perfmap_work work = {0};
	struct elf_segment code;
	int err;

	memcpy(bytes, image->bytes, image->len);
	err = image_unwind_compile(held_bytes_read, &held, &work, rows, &code);
	if (!err) {
		cr_expect_eq(code.vaddr, CODE);
		cr_expect_eq(code.offset, FAKE_IMAGE_CODE_OFFSET);
		cr_expect_eq(code.size, FAKE_IMAGE_CODE_BYTES);
	}
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

/* An image of these functions that is compiled as it is. */
static void expect_image(const char *name, const struct image *image, const struct wanted *wanted,
			 size_t cnt)
{
	struct cfi_rows rows = {0};

	cr_expect_eq(compile(image, &rows), 0, "%s", name);
	expect(name, &rows, wanted, cnt);
	cfi_clear(&rows);
}

static const uint32_t one[][2] = {{CODE, CODE + 0x40}};

/* --- unwind data ------------------------------------------------------------------------------ */

Test(image_unwind, each_code_of_a_prolog_has_its_row)
{
	static const struct {
		const char *name;
		uint8_t frame;
		uint8_t codes[8];
		size_t len;
		struct unwind_row row; /* behind the code at 4 */
	} cases[] = {
		{"push rbx", 0, {4, 0x30}, 2, {0, UNWIND_SP, UNWIND_FP_SAME, 2, 0}},
		{"push rbp", 0, {4, 0x50}, 2, {0, UNWIND_SP, UNWIND_FP_SAVED, 2, -2}},
		{"sub rsp, 40", 0, {4, 0x42}, 2, {0, UNWIND_SP, UNWIND_FP_SAME, 6, 0}},
		{"sub rsp, 136", 0, {4, 0x01, 17, 0}, 4, {0, UNWIND_SP, UNWIND_FP_SAME, 18, 0}},
		{"sub rsp, 65544",
		 0,
		 {4, 0x11, 8, 0, 1, 0},
		 6,
		 {0, UNWIND_SP, UNWIND_FP_SAME, 8194, 0}},
		{"a frame of megabytes",
		 0,
		 {4, 0x11, 0, 0, 0x40, 0},
		 6,
		 {0, UNWIND_INEXPRESSIBLE, 0, 0, 0}},
		{"an odd frame", 0, {4, 0x11, 4, 0, 0, 0}, 6, {0, UNWIND_INEXPRESSIBLE, 0, 0, 0}},
		{"push rbp; lea rbp, [rsp]",
		 5,
		 {4, 0x03, 1, 0x50},
		 4,
		 {0, UNWIND_FP, UNWIND_FP_SAVED, 2, -2}},
		{"push rbp; sub rsp, 48; lea rbp, [rsp + 32]",
		 0x25,
		 {4, 0x03, 4, 0x52, 1, 0x50},
		 6,
		 {0, UNWIND_FP, UNWIND_FP_SAVED, 4, -2}},
		{"push rbp; sub rsp, 256; lea rbp, [rsp + 256]",
		 0xf5,
		 {4, 0x0b, 16, 0, 0, 0, 1, 0x50},
		 8,
		 /* 256 bytes more than there are: no such frame */
		 {0, UNWIND_INEXPRESSIBLE, 0, 0, 0}},
		{"a frame by rbx", 3, {4, 0x03}, 2, {0, UNWIND_INEXPRESSIBLE, 0, 0, 0}},
		{"mov [rsp + 8], rbp; sub rsp, 16 before",
		 0,
		 {4, 0x54, 1, 0, 4, 0x12},
		 6,
		 {0, UNWIND_SP, UNWIND_FP_SAVED, 3, -2}},
		{"the same with 32 bits",
		 0,
		 {4, 0x55, 8, 0, 0, 0, 4, 0x12},
		 8,
		 {0, UNWIND_SP, UNWIND_FP_SAVED, 3, -2}},
		{"rbp above the CFA",
		 0,
		 {4, 0x54, 9, 0, 4, 0x12},
		 6,
		 {0, UNWIND_SP, UNWIND_FP_LOST, 3, 0}},
		{"rbp at the CFA",
		 0,
		 {4, 0x54, 3, 0, 4, 0x12},
		 6,
		 {0, UNWIND_SP, UNWIND_FP_LOST, 3, 0}},
		{"another register moved, xmm6 too",
		 0,
		 {4, 0x34, 1, 0, 4, 0x68, 1, 0},
		 8,
		 CALLER()},
		{"xmm6 far", 0, {4, 0x69, 0, 0, 0, 0}, 6, CALLER()},
		{"a frame of the machine", 0, {4, 0x0a}, 2, {0, UNWIND_INEXPRESSIBLE, 0, 0, 0}},
		{"an epilogue's code", 0, {4, 0x06, 0, 0}, 4, {0, UNWIND_INEXPRESSIBLE, 0, 0, 0}},
		{"a code that nobody knows", 0, {4, 0x0c}, 2, {0, UNWIND_INEXPRESSIBLE, 0, 0, 0}},
		{"a code without its number", 0, {4, 0x01}, 2, {0, UNWIND_INEXPRESSIBLE, 0, 0, 0}},
		{"offsets that rise", 0, {4, 0x30, 5, 0x30}, 4, {0, UNWIND_INEXPRESSIBLE, 0, 0, 0}},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct cfi_row *row;
		struct cfi_rows rows = {0};
		struct image image;

		make(&image, FAKE_IMAGE_X64, one, 1);
		put_info(&image, 0, cases[i].frame, cases[i].codes, cases[i].len);
		cr_expect_eq(compile(&image, &rows), 0, "%s", cases[i].name);
		row = cfi_at(&rows, CODE + 4);
		cr_assert_not_null(row);
		cr_expect(row->row.cfa == cases[i].row.cfa && row->row.fp == cases[i].row.fp &&
				  row->row.cfa_offset == cases[i].row.cfa_offset &&
				  row->row.fp_offset == cases[i].row.fp_offset,
			  "%s: cfa %u %d, fp %u %d", cases[i].name, row->row.cfa,
			  row->row.cfa_offset, row->row.fp, row->row.fp_offset);
		cr_expect_null(cfi_at(&rows, CODE - 1));
		cr_expect_eq(cfi_at(&rows, CODE + 0x40)->row.cfa, UNWIND_UNKNOWN);
		cfi_clear(&rows);
	}
}

/* push rbp; push rbx; sub rsp, 24 */
static const uint8_t pushes[] = {6, 0x22, 2, 0x30, 1, 0x50};

Test(image_unwind, a_prolog_holds_from_each_of_its_instructions_on)
{
	static const struct wanted wanted[] = {
		{CODE, CALLER()},
		{CODE + 1, {0, UNWIND_SP, UNWIND_FP_SAVED, 2, -2}},
		{CODE + 2, {0, UNWIND_SP, UNWIND_FP_SAVED, 3, -2}},
		{CODE + 6, {0, UNWIND_SP, UNWIND_FP_SAVED, 6, -2}},
		{CODE + 0x40, NOTHING},
	};
	struct image image;

	make(&image, FAKE_IMAGE_X64, one, 1);
	put_info(&image, 0, 0, pushes, sizeof(pushes));
	expect_image("prolog", &image, wanted, ARRAY_SIZE(wanted));
}

/* What lies behind codes where the flag says so: a function, of which the unwind data counts. */
static void chain(struct image *image, size_t from, size_t to)
{
	size_t at = DATA(INFO_AT(from));

	image->bytes[at] = 0x21;
	fake_image_put(image->bytes, at + 4 + (image->bytes[at + 2] + 1u) / 2 * 4 + 8, INFO(to), 4);
}

Test(image_unwind, what_is_chained_to_was_done_before)
{
	static const uint32_t functions[][2] = {{CODE, CODE + 0x20}, {CODE + 0x20, CODE + 0x40}};
	static const uint8_t one_more[] = {4, 0x30};
	static const struct wanted wanted[] = {
		{CODE, CALLER()},
		{CODE + 1, {0, UNWIND_SP, UNWIND_FP_SAVED, 2, -2}},
		{CODE + 2, {0, UNWIND_SP, UNWIND_FP_SAVED, 3, -2}},
		{CODE + 6, {0, UNWIND_SP, UNWIND_FP_SAVED, 6, -2}},
		{CODE + 0x24, {0, UNWIND_SP, UNWIND_FP_SAVED, 7, -2}},
		{CODE + 0x40, NOTHING},
	};
	struct image image;

	make(&image, FAKE_IMAGE_X64, functions, 2);
	put_info(&image, 0, 0, pushes, sizeof(pushes));
	put_info(&image, 1, 0, one_more, sizeof(one_more));
	chain(&image, 1, 0);
	expect_image("chain", &image, wanted, ARRAY_SIZE(wanted));
}

Test(image_unwind, data_that_makes_no_sense_makes_a_row_that_says_so)
{
	static const struct wanted wanted[] = {
		{CODE, {0, UNWIND_INEXPRESSIBLE, 0, 0, 0}},
		{CODE + 0x20, CALLER()},
		{CODE + 0x40, NOTHING},
	};
	static const uint32_t functions[][2] = {{CODE, CODE + 0x20}, {CODE + 0x20, CODE + 0x40}};
	static const struct {
		const char *name;
		size_t at, len;
		uint64_t value;
	} cases[] = {
		{"version 2", DATA(INFO_AT(0)), 1, 0x1a},
		{"version 0", DATA(INFO_AT(0)), 1, 0x18},
		{"odd address", ROW_UNWIND(0), 4, INFO(0) + 1},
		{"data in no section", ROW_UNWIND(0), 4, 0x500000},
		{"cut off by the section", ROW_UNWIND(0), 4,
		 FAKE_IMAGE_DATA_RVA + FAKE_IMAGE_DATA_BYTES - 2},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct image image;

		make(&image, FAKE_IMAGE_X64, functions, 2);
		put_info(&image, 0, 0, pushes, sizeof(pushes));
		fake_image_put(image.bytes, cases[i].at, cases[i].value, cases[i].len);
		expect_image(cases[i].name, &image, wanted, ARRAY_SIZE(wanted));
	}
}

Test(image_unwind, a_chain_in_a_ring_ends)
{
	static const struct wanted wanted[] = {
		{CODE, {0, UNWIND_INEXPRESSIBLE, 0, 0, 0}},
		{CODE + 0x40, NOTHING},
	};
	static const uint32_t functions[][2] = {{CODE, CODE + 0x20}, {CODE + 0x20, CODE + 0x40}};
	struct image image;

	make(&image, FAKE_IMAGE_X64, functions, 2);
	chain(&image, 0, 1);
	chain(&image, 1, 0);
	expect_image("of two", &image, wanted, ARRAY_SIZE(wanted));
	make(&image, FAKE_IMAGE_X64, one, 1);
	chain(&image, 0, 0);
	expect_image("of one", &image, wanted, ARRAY_SIZE(wanted));
}

/* --- code ------------------------------------------------------------------------------------- */

Test(image_unwind, a_method_with_a_frame_pointer_is_one_row_but_for_its_returns)
{
	static const uint8_t code[] = {
		0x55, 0x53, 0x48, 0x83, 0xec, 0x18,	  /* push rbp; push rbx; sub rsp, 24 */
		0x48, 0x8d, 0x6c, 0x24, 0x20,		  /* lea rbp, [rsp + 32] */
		0x90,					  /* nop */
		0x48, 0x83, 0xc4, 0x18, 0x5b, 0x5d, 0xc3, /* add rsp, 24; ...; ret */
		0x90,					  /* nop */
		0x48, 0x8d, 0x65, 0xf8, 0x5b, 0x5d,	  /* lea rsp, [rbp - 8]; ... */
		0x48, 0xff, 0x25, 0x00, 0x10, 0x00, 0x00, /* jmp [rip + 0x1000] */
		0x5b, 0x5d, 0xe9, 0x00, 0x10, 0x00, 0x00, /* a jump that .NET does not write */
	};
	static const struct wanted wanted[] = {
		{CODE, CALLER()},
		{CODE + 1, {0, UNWIND_SP, UNWIND_FP_SAVED, 2, -2}},
		{CODE + 2, {0, UNWIND_SP, UNWIND_FP_SAVED, 3, -2}},
		{CODE + 6, {0, UNWIND_SP, UNWIND_FP_SAVED, 6, -2}},
		{CODE + 11, {0, UNWIND_FP, UNWIND_FP_SAVED, 2, -2}},
		{CODE + 18, CALLER()},
		{CODE + 19, {0, UNWIND_FP, UNWIND_FP_SAVED, 2, -2}},
		{CODE + 26, CALLER()},
		{CODE + 33, {0, UNWIND_FP, UNWIND_FP_SAVED, 2, -2}},
		{CODE + 0x40, NOTHING},
	};
	struct image image;

	make(&image, FAKE_IMAGE_X64, one, 1);
	put_info(&image, 0, 0, pushes, sizeof(pushes));
	put_code(&image, CODE, code, sizeof(code));
	expect_image("framed", &image, wanted, ARRAY_SIZE(wanted));
}

/* A method that is handed a frame pointer may use the register for anything else. */
Test(image_unwind, a_register_that_points_elsewhere_is_no_frame_pointer)
{
	static const uint8_t code[] = {0x55, 0x53, 0x48, 0x83, 0xec, 0x18,
				       0x48, 0x8d, 0x6c, 0x24, 0x18};
	struct cfi_rows rows = {0};
	struct image image;

	make(&image, FAKE_IMAGE_X64, one, 1);
	put_info(&image, 0, 0, pushes, sizeof(pushes));
	put_code(&image, CODE, code, sizeof(code));
	cr_assert_eq(compile(&image, &rows), 0);
	cr_expect_eq(cfi_at(&rows, CODE + 0x20)->row.cfa, UNWIND_SP);
	cfi_clear(&rows);
}

Test(image_unwind, epilogues_without_a_frame_pointer_have_a_row_for_each_instruction)
{
	/* push r15; push rbx; sub rsp, 136 */
	static const uint8_t codes[] = {10, 0x01, 17, 0, 3, 0x30, 2, 0xf0};
	static const uint8_t code[] = {
		0x41, 0x57, 0x53, 0x48, 0x81, 0xec, 0x88, 0,	0, 0, 0x48, 0x81, 0xc4, 0x88, 0,
		0,    0,			       /* add rsp, 136 */
		0x5b, 0x41, 0x5f,		       /* pop rbx; pop r15 */
		0x48, 0xff, 0xe0,		       /* jmp rax */
		0x48, 0x81, 0xc4, 0x88, 0,    0,    0, /* without its end: none */
		0x5b, 0x41, 0x5f, 0x90, 0x48, 0x81, 0xc4, 0x88, 0, 0, 0,    0x5b, 0x41, 0x5f, 0xc3,
	};
	static const uint32_t functions[][2] = {{CODE, CODE + sizeof(code)},
						{CODE + 0x30, CODE + 0x40}};
	static const struct wanted wanted[] = {
		{CODE, CALLER()},
		{CODE + 2, {0, UNWIND_SP, UNWIND_FP_SAME, 2, 0}},
		{CODE + 3, {0, UNWIND_SP, UNWIND_FP_SAME, 3, 0}},
		{CODE + 10, {0, UNWIND_SP, UNWIND_FP_SAME, 20, 0}},
		{CODE + 17, {0, UNWIND_SP, UNWIND_FP_SAME, 3, 0}},
		{CODE + 18, {0, UNWIND_SP, UNWIND_FP_SAME, 2, 0}},
		{CODE + 20, CALLER()},
		{CODE + 23, {0, UNWIND_SP, UNWIND_FP_SAME, 20, 0}},
		{CODE + 41, {0, UNWIND_SP, UNWIND_FP_SAME, 3, 0}},
		{CODE + 42, {0, UNWIND_SP, UNWIND_FP_SAME, 2, 0}},
		/* The next function's first row says what the return's does. */
		{CODE + 44, CALLER()},
		{CODE + 0x40, NOTHING},
	};
	struct image image;

	make(&image, FAKE_IMAGE_X64, functions, 2);
	put_info(&image, 0, 0, codes, sizeof(codes));
	put_code(&image, CODE, code, sizeof(code));
	expect_image("frameless", &image, wanted, ARRAY_SIZE(wanted));
}

/* mov and call as they are in FSharp.Compiler.Service: push rbx; ...; call [rip + 0x1a1e95b]. */
Test(image_unwind, a_distance_that_looks_like_an_epilogue_is_none)
{
	static const uint8_t codes[] = {1, 0x30};
	static const uint8_t code[] = {0x53, 0xff, 0x15, 0x5b, 0xe9, 0xa1, 0x01, 0x48, 0x8b, 0xd8};
	static const struct wanted wanted[] = {
		{CODE, CALLER()},
		{CODE + 1, {0, UNWIND_SP, UNWIND_FP_SAME, 2, 0}},
		{CODE + 0x40, NOTHING},
	};
	struct image image;

	make(&image, FAKE_IMAGE_X64, one, 1);
	put_info(&image, 0, 0, codes, sizeof(codes));
	put_code(&image, CODE, code, sizeof(code));
	expect_image("call", &image, wanted, ARRAY_SIZE(wanted));
}

/* As crossgen writes them: xor eax, eax; push 3; push [rip + ...]; jmp [rip + ...]. */
Test(image_unwind, thunks_have_rows_though_no_function_has_them)
{
	static const uint8_t code[] = {
		0xff, 0x25, 0, 0, 0, 0,	   0xcc, 0xcc, 0x33, 0xc0, 0x6a, 3,    0xff,
		0x35, 0,    0, 0, 0, 0xff, 0x25, 0,    0,    0,	   0,	 0xf4, /* is of no thunk */
	};
	static const struct wanted wanted[] = {
		{CODE, CALLER()},
		{CODE + 0x40, NOTHING},
		{CODE + 0x100, CALLER()},
		{CODE + 0x10c, {0, UNWIND_SP, UNWIND_FP_SAME, 2, 0}},
		{CODE + 0x112, {0, UNWIND_SP, UNWIND_FP_SAME, 3, 0}},
		{CODE + 0x118, NOTHING},
	};
	const size_t cli = 0x100, native = 0x180;
	struct image image;

	make(&image, FAKE_IMAGE_X64, one, 1);
	put_code(&image, CODE + 0x100, code, sizeof(code));
	fake_image_put(image.bytes, FAKE_IMAGE_DIRECTORIES + 4 + 8 * 14, FAKE_IMAGE_DATA_RVA + cli,
		       4);
	fake_image_put(image.bytes, FAKE_IMAGE_DIRECTORIES + 4 + 8 * 14 + 4, 72, 4);
	fake_image_put(image.bytes, DATA(cli + 64), FAKE_IMAGE_DATA_RVA + native, 4);
	fake_image_put(image.bytes, DATA(cli + 68), 28, 4);
	fake_image_put(image.bytes, DATA(native), 0x00525452, 4);
	fake_image_put(image.bytes, DATA(native + 12), 1, 4);
	fake_image_put(image.bytes, DATA(native + 16), 106, 4);
	fake_image_put(image.bytes, DATA(native + 20), CODE + 0x100, 4);
	fake_image_put(image.bytes, DATA(native + 24), sizeof(code) + 8, 4);
	expect_image("thunks", &image, wanted, ARRAY_SIZE(wanted));
	/* Overlapped by a function, which begins later, they end there. */
	fake_image_put(image.bytes, DATA(native + 20), CODE - 1, 4);
	expect_image("outside of the section", &image, wanted, 2);
	fake_image_put(image.bytes, DATA(native + 20), CODE, 4);
	expect_image("where a function is", &image, wanted, 2);
}

/* --- the image -------------------------------------------------------------------------------- */

Test(image_unwind, of_functions_that_overlap_the_later_one_holds)
{
	static const uint32_t functions[][2] = {{CODE, CODE + 0x80},
						{CODE + 3, CODE + 0x20},
						{CODE + 0x5f, CODE + 0x80},
						{CODE + 0xc0, CODE + 0xd0}};
	static const struct wanted wanted[] = {
		{CODE, CALLER()},
		{CODE + 1, {0, UNWIND_SP, UNWIND_FP_SAVED, 2, -2}},
		{CODE + 2, {0, UNWIND_SP, UNWIND_FP_SAVED, 3, -2}},
		/* From here on the others, and 63 bytes of padding. */
		{CODE + 3, CALLER()},
		{CODE + 0x80, NOTHING},
		{CODE + 0xc0, CALLER()},
		{CODE + 0xd0, NOTHING},
	};
	struct image image;

	make(&image, FAKE_IMAGE_X64, functions, 4);
	put_info(&image, 0, 0, pushes, sizeof(pushes));
	expect_image("overlap", &image, wanted, ARRAY_SIZE(wanted));
}

Test(image_unwind, functions_out_of_order_or_in_no_section_are_left_out)
{
	static const struct {
		const char *name;
		uint32_t functions[4][2];
	} cases[] = {
		{"out of order",
		 {{CODE, CODE + 0x20}, {CODE + 0x40, CODE + 0x60}, {CODE + 0x20, CODE + 0x40}}},
		{"twice",
		 {{CODE, CODE + 0x20}, {CODE + 0x40, CODE + 0x60}, {CODE + 0x40, CODE + 0x50}}},
		{"of no length",
		 {{CODE, CODE + 0x20}, {CODE + 0x30, CODE + 0x30}, {CODE + 0x40, CODE + 0x60}}},
		{"in another section",
		 {{CODE, CODE + 0x20},
		  {CODE + 0x40, CODE + 0x60},
		  {FAKE_IMAGE_DATA_RVA, FAKE_IMAGE_DATA_RVA + 8}}},
		{"beyond the section",
		 {{CODE, CODE + 0x20},
		  {CODE + 0x40, CODE + 0x60},
		  {CODE + 0x80, CODE + FAKE_IMAGE_CODE_BYTES + 1}}},
		{"in none",
		 {{0x900000, 0x900010}, {CODE, CODE + 0x20}, {CODE + 0x40, CODE + 0x60}}},
	};
	static const struct wanted wanted[] = {
		{CODE, CALLER()},
		{CODE + 0x60, NOTHING},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct cfi_rows rows = {0};
		struct image image;

		make(&image, FAKE_IMAGE_X64, cases[i].functions, 3);
		cr_expect_eq(compile(&image, &rows), 0, "%s", cases[i].name);
		expect(cases[i].name, &rows, wanted, ARRAY_SIZE(wanted));
		cr_expect_eq(rows.left_out, 1, "%s: %zu", cases[i].name, rows.left_out);
		cfi_clear(&rows);
	}
}

Test(image_unwind, images_of_other_machines_and_damaged_ones_have_no_rows)
{
	static const struct {
		const char *name;
		uint16_t machine;
		size_t at, len;
		uint64_t value;
		int err;
	} cases[] = {
		{"arm64", FAKE_IMAGE_ARM64, 0, 2, 0x5a4d, -ENOTSUP},
		{"32 bit", FAKE_IMAGE_X64, FAKE_IMAGE_OPTIONAL, 2, 0x10b, -ENOEXEC},
		{"for Windows", FAKE_IMAGE_X64, FAKE_IMAGE_MACHINE, 2, 0x8664, -ENOEXEC},
		{"no code", FAKE_IMAGE_X64, FAKE_IMAGE_EXCEPTION + 4, 4, 0, -ENODATA},
		{"an end mark alone", FAKE_IMAGE_X64, DATA(0), 4, UINT32_MAX, -ENODATA},
		{"code in no section", FAKE_IMAGE_X64, DATA(0), 4, 0x900000, -EBADMSG},
		{"code past the end of the file", FAKE_IMAGE_X64, FAKE_IMAGE_SECTION(0) + 20, 4,
		 0x10000, -EBADMSG},
		{"too many functions", FAKE_IMAGE_X64, FAKE_IMAGE_EXCEPTION + 4, 4, UINT32_MAX,
		 -E2BIG},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct cfi_rows rows = {0};
		struct image image;

		make(&image, cases[i].machine, one, 1);
		if (cases[i].machine == FAKE_IMAGE_X64)
			put_info(&image, 0, 0, pushes, sizeof(pushes));
		fake_image_put(image.bytes, cases[i].at, cases[i].value, cases[i].len);
		cr_expect_eq(compile(&image, &rows), cases[i].err, "%s", cases[i].name);
		cfi_clear(&rows);
	}
	for (size_t len = 0; len < FAKE_IMAGE_BYTES; len += 7) {
		struct cfi_rows rows = {0};
		struct image image;

		make(&image, FAKE_IMAGE_X64, one, 1);
		put_info(&image, 0, 0, pushes, sizeof(pushes));
		image.len = len;
		cr_expect_lt(compile(&image, &rows), 0, "cut to %zu bytes", len);
		cfi_clear(&rows);
	}
}

/* 90,000 functions of a byte, each with the longest data that there is. */
Test(image_unwind, who_makes_the_image_does_not_decide_how_long_it_is_worked_on)
{
	const uint32_t cnt = 90000, rva = 0x1000000, info = 12 * cnt;
	struct held_bytes held = {.len = FAKE_IMAGE_DATA_OFFSET + info + 1024};
	struct perfmap_work work = {0};
	struct cfi_rows rows = {0};
	struct elf_segment code;
	struct image image;
	uint8_t *bytes;

	make(&image, FAKE_IMAGE_X64, one, 1);
	held.data = bytes = calloc(1, held.len);
	cr_assert_not_null(bytes);
	memcpy(bytes, image.bytes, FAKE_IMAGE_DATA_OFFSET);
	fake_image_put(bytes, FAKE_IMAGE_SECTION(0) + 12, rva, 4);
	fake_image_put(bytes, FAKE_IMAGE_SECTION(0) + 16, cnt, 4);
	fake_image_put(bytes, FAKE_IMAGE_SECTION(1) + 16, info + 1024, 4);
	fake_image_put(bytes, FAKE_IMAGE_EXCEPTION + 4, 12 * cnt, 4);
	for (uint32_t i = 0; i < cnt; i++) {
		fake_image_put(bytes, DATA(12 * i), rva + i, 4);
		fake_image_put(bytes, DATA(12 * i + 4), rva + i + 1, 4);
		fake_image_put(bytes, DATA(12 * i + 8), FAKE_IMAGE_DATA_RVA + info, 4);
	}
	bytes[DATA(info)] = 1;
	bytes[DATA(info) + 2] = 255;
	cr_expect_eq(image_unwind_compile(held_bytes_read, &held, &work, &rows, &code), -E2BIG);
	cr_expect_geq(rows.cnt, 1, "what was found is kept");
	cr_expect_lt(work.done, work.limit + held.len);
	cfi_clear(&rows);
	free(bytes);
}
