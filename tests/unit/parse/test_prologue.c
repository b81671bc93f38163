/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The methods are of .NET 8 and 10, as their runtimes compiled them. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "parse/prologue.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define START	      0x7f0000001000u
#define ROWS_MAX      32u

struct wanted {
	unsigned at; /* in the method */
	enum unwind_cfa cfa;
	int offset;
	int saved; /* where the caller's frame pointer is, below the CFA; 0: in its register */
};

/* Code in memory of its own, so that a read past its end is noticed. */
static uint8_t *code_of(const char *hex, size_t *ret_len)
{
	size_t len = (strlen(hex) + 1) / 3;
	uint8_t *code = malloc(len + !len);

	for (size_t i = 0; i < len; i++)
		code[i] = (uint8_t)strtoul(hex + 3 * i, NULL, 16);
	*ret_len = len;
	return code;
}

static size_t rows_of(const char *hex, struct cfi_row *rows, size_t max)
{
	size_t len, cnt;
	uint8_t *code = code_of(hex, &len);

	cnt = prologue_rows(code, len, START, len, rows, max);
	free(code);
	return cnt;
}

static void expect(const char *name, const char *hex, const struct wanted *wanted, size_t cnt)
{
	struct cfi_row rows[ROWS_MAX];
	size_t is_cnt = rows_of(hex, rows, ROWS_MAX);

	cr_expect_eq(is_cnt, cnt, "%s: %zu rows", name, is_cnt);
	for (size_t i = 0; i < cnt && i < is_cnt; i++) {
		const struct unwind_row *is = &rows[i].row;
		const struct wanted *be = &wanted[i];

		cr_expect_eq(rows[i].vaddr, START + be->at, "%s, row %zu: at 0x%lx", name, i,
			     rows[i].vaddr - START);
		cr_expect(is->cfa == be->cfa && is->cfa_offset == be->offset &&
				  is->fp == (be->saved ? UNWIND_FP_SAVED : UNWIND_FP_SAME) &&
				  is->fp_offset == be->saved,
			  "%s, row %zu: cfa %u %+d, fp %u %+d", name, i, is->cfa, is->cfa_offset,
			  is->fp, is->fp_offset);
	}
}

#define EXPECT(name, hex, ...)                                        \
	do {                                                          \
		static const struct wanted wanted_[] = {__VA_ARGS__}; \
		expect(name, hex, wanted_, ARRAY_SIZE(wanted_));      \
	} while (0)

Test(prologue, a_method_without_a_frame_has_a_row_for_each_push_and_each_epilogue)
{
	/* object SqlInt64Storage::ConvertValue(object) */
	EXPECT("two ways out",
	       "41 57 53 50 48 85 f6 75 0c 48 8b 47 30 48 83 c4 08 5b 41 5f c3 48 8b fe ff 15 32 "
	       "0a "
	       "f6 ff 8b d8 4c 8b fa 48 bf f8 18 61 25 e0 7f 00 00 e8 9e 62 72 7a 88 58 08 4c 89 "
	       "78 "
	       "10 48 83 c4 08 5b 41 5f c3",
	       {0, UNWIND_SP, 1, 0}, {2, UNWIND_SP, 2, 0}, {3, UNWIND_SP, 3, 0},
	       {4, UNWIND_SP, 4, 0}, {0x11, UNWIND_SP, 3, 0}, {0x12, UNWIND_SP, 2, 0},
	       {0x14, UNWIND_SP, 1, 0}, {0x15, UNWIND_SP, 4, 0}, {0x3d, UNWIND_SP, 3, 0},
	       {0x3e, UNWIND_SP, 2, 0}, {0x40, UNWIND_SP, 1, 0});
	/* mov eax, [rdi+8]; ret */
	EXPECT("leaf", "8b 47 08 c3", {0, UNWIND_SP, 1, 0});
	/* jmp [rip+N] */
	EXPECT("tail call", "48 8b 7f 08 ff 25 10 20 30 00", {0, UNWIND_SP, 1, 0});
	/* push rax; call; add rsp, 8; jmp rax */
	EXPECT("tail call behind an epilogue", "50 e8 00 00 00 01 48 83 c4 08 48 ff e0",
	       {0, UNWIND_SP, 1, 0}, {1, UNWIND_SP, 2, 0}, {0xa, UNWIND_SP, 1, 0});
	/* A jump within the body to an address from a table: its blocks have the body's state. */
	EXPECT("switch", "50 ff e0 33 c0 eb 02 8b c7 48 83 c4 08 c3", {0, UNWIND_SP, 1, 0},
	       {1, UNWIND_SP, 2, 0}, {0xd, UNWIND_SP, 1, 0});
}

Test(prologue, a_method_with_a_frame_pointer_has_one_row_from_its_setting_to_its_restoring)
{
	/* push rbp; push r15; push rbx; sub rsp, 16; lea rbp, [rsp+32]; ... */
	EXPECT("usual",
	       "55 41 57 53 48 83 ec 10 48 8d 6c 24 20 48 8b df 85 f6 74 0c ff 15 00 00 00 01 48 "
	       "83 "
	       "c4 10 eb 04 48 83 c4 10 5b 41 5f 5d c3",
	       {0, UNWIND_SP, 1, 0}, {1, UNWIND_SP, 2, -2}, {3, UNWIND_SP, 3, -2},
	       {4, UNWIND_SP, 4, -2}, {8, UNWIND_SP, 6, -2}, {0xd, UNWIND_FP, 2, -2},
	       {0x28, UNWIND_SP, 1, 0});
	/* string X509Certificate::GetCertHashString(...): allocates 64 bytes on the stack */
	EXPECT("localloc",
	       "55 53 50 48 8d 6c 24 10 48 c7 45 f0 25 2a 6e 01 85 24 24 48 83 ec 40 48 8d 1c 24 "
	       "48 "
	       "8b cb 41 b8 40 00 00 00 ff 15 e6 f0 f6 ff 83 f8 40 77 22 48 8b fb 8b f0 ff 15 46 "
	       "e7 "
	       "f0 ff 48 81 7d f0 25 2a 6e 01 74 05 e8 d7 95 8d 7b 90 48 8d 65 f8 5b 5d c3 ff 15 "
	       "49 "
	       "f4 15 fe cc",
	       {0, UNWIND_SP, 1, 0}, {1, UNWIND_SP, 2, -2}, {2, UNWIND_SP, 3, -2},
	       {3, UNWIND_SP, 4, -2}, {8, UNWIND_FP, 2, -2}, {0x50, UNWIND_SP, 1, 0},
	       {0x51, UNWIND_FP, 2, -2});
	/* push rbp; mov rbp, rsp; ...; leave; ret */
	EXPECT("leave", "55 48 8b ec e8 00 00 00 01 c9 c3", {0, UNWIND_SP, 1, 0},
	       {1, UNWIND_SP, 2, -2}, {4, UNWIND_FP, 2, -2}, {0xa, UNWIND_SP, 1, 0});
	EXPECT("vectors are cleared first", "55 c5 f8 77 48 8b ec 62 f1 7c 48 10 07 5d c3",
	       {0, UNWIND_SP, 1, 0}, {1, UNWIND_SP, 2, -2}, {7, UNWIND_FP, 2, -2},
	       {0xe, UNWIND_SP, 1, 0});
}

Test(prologue, a_large_frame_is_seen_through_the_probe_of_its_pages)
{
	/* push rbx; lea r11, [rsp-12016]; call; mov rsp, r11; ...; add rsp, 12016; pop rbx; ret */
	EXPECT("by stack pointer",
	       "53 4c 8d 9c 24 10 d1 ff ff e8 72 7f 55 7e 49 8b e3 48 c7 84 24 e8 2e 00 00 3d ee "
	       "6d "
	       "01 8b df 48 81 c4 f0 2e 00 00 5b c3",
	       {0, UNWIND_SP, 1, 0}, {1, UNWIND_SP, 2, 0}, {0x11, UNWIND_SP, 1504, 0},
	       {0x26, UNWIND_SP, 2, 0}, {0x27, UNWIND_SP, 1, 0});
	/* Beyond what a row can say, until the frame pointer is set. */
	EXPECT("by frame pointer",
	       "55 4c 8d 9c 24 00 00 c0 ff e8 f2 81 55 7e 49 8b e3 48 8d ac 24 00 00 40 00 48 81 "
	       "c4 "
	       "00 00 40 00 5d c3",
	       {0, UNWIND_SP, 1, 0}, {1, UNWIND_SP, 2, -2}, {0x11, UNWIND_INEXPRESSIBLE, 0, 0},
	       {0x19, UNWIND_FP, 2, -2}, {0x21, UNWIND_SP, 1, 0});
}

Test(prologue, funclets_behind_the_body_are_functions_of_their_own)
{
	/* .NET 10: the frame pointer is the method's own when they are called. */
	EXPECT("behind a return",
	       "55 48 83 ec 10 48 8d 6c 24 10 48 8b 7f 20 33 c0 48 83 c4 10 5d c3 50 48 8b 7d f8 "
	       "ff "
	       "15 78 f4 02 00 48 8d 05 e6 ff ff ff 48 83 c4 08 c3",
	       {0, UNWIND_SP, 1, 0}, {1, UNWIND_SP, 2, -2}, {5, UNWIND_SP, 4, -2},
	       {0xa, UNWIND_FP, 2, -2}, {0x15, UNWIND_SP, 1, 0}, {0x17, UNWIND_SP, 2, 0},
	       {0x2c, UNWIND_SP, 1, 0});
	EXPECT("behind a trap, with more on its stack",
	       "55 48 8b ec ff 15 24 ed fd ff cc 48 83 ec 18 33 c0 48 83 c4 18 c3",
	       {0, UNWIND_SP, 1, 0}, {1, UNWIND_SP, 2, -2}, {4, UNWIND_FP, 2, -2},
	       {0xb, UNWIND_SP, 1, 0}, {0xf, UNWIND_SP, 4, 0}, {0x15, UNWIND_SP, 1, 0});
	/* .NET 8, void DbCommand::CancelIgnoreFailure(): they load it. */
	EXPECT("with a frame",
	       "55 48 83 ec 10 48 8d 6c 24 10 48 89 65 f0 48 8b 07 48 8b 40 60 ff 50 08 90 48 83 "
	       "c4 "
	       "10 5d c3 55 48 83 ec 10 48 8b 2f 48 89 2c 24 48 8d 6d 10 48 8d 05 e3 ff ff ff 48 "
	       "83 "
	       "c4 10 5d c3",
	       {0, UNWIND_SP, 1, 0}, {1, UNWIND_SP, 2, -2}, {5, UNWIND_SP, 4, -2},
	       {0xa, UNWIND_FP, 2, -2}, {0x1e, UNWIND_SP, 1, 0}, {0x20, UNWIND_SP, 2, -2},
	       {0x24, UNWIND_SP, 4, -2}, {0x3a, UNWIND_SP, 2, -2}, {0x3b, UNWIND_SP, 1, 0});
}

Test(prologue, a_method_that_takes_over_keeps_the_frame_of_its_predecessor)
{
	/* long P::Osr(int): the predecessor's frame has 104 bytes, return address included. */
	EXPECT("its epilogue removes both",
	       "48 8b 45 00 50 48 8b ec 8b 45 34 48 8b 55 28 8b 4d 24 3b c8 7c 10 48 8b c2 48 83 "
	       "c4 "
	       "60 5d c3 90 ff c1 3b c8 7d f0 48 63 f9 48 8d 34 12 48 33 fe 48 03 d7 f7 c1 ff 03 "
	       "00 "
	       "00 75 e5 48 03 15 d6 80 fc fe eb dc",
	       {0, UNWIND_SP, 13, -2}, {5, UNWIND_SP, 14, -2}, {8, UNWIND_FP, 14, -2},
	       {0x1e, UNWIND_SP, 1, 0}, {0x1f, UNWIND_FP, 14, -2});
	/* The first part of void GateThread::GateThreadStart() */
	EXPECT("an endless loop: by where registers are saved",
	       "48 8b 45 00 50 48 81 ec 90 00 00 00 4c 89 bc 24 98 01 00 00 4c 89 b4 24 90 01 00 "
	       "00 "
	       "c5 f8 77 48 8d ac 24 90 00 00 00 90 eb fd",
	       {0, UNWIND_SP, 35, -2}, {5, UNWIND_SP, 36, -2}, {0xc, UNWIND_SP, 54, -2},
	       {0x27, UNWIND_FP, 36, -2});
	/* void CastHelpers::StelemRef(object[], nint, object) */
	EXPECT("without a frame pointer",
	       "50 48 8b 74 24 30 48 8b 7c 24 28 48 83 c4 70 5d e9 fb 27 54 7e",
	       {0, UNWIND_SP, 15, -2}, {1, UNWIND_SP, 16, -2}, {0xf, UNWIND_SP, 2, -2},
	       {0x10, UNWIND_SP, 1, 0});
	EXPECT("nothing tells how much that is", "48 8b 45 00 50 48 8b ec 90 eb fd",
	       {0, UNWIND_UNKNOWN, 0, 0});
	EXPECT("what is saved and what is removed differ",
	       "48 8b 45 00 50 48 83 ec 10 4c 89 7c 24 68 48 8d 6c 24 10 48 83 c4 60 5d c3",
	       {0, UNWIND_UNKNOWN, 0, 0});
}

/* What no compiler of .NET writes, or what lies: nothing is said rather than something wrong. */
Test(prologue, what_does_not_add_up_is_unknown)
{
	static const struct {
		const char *name, *hex;
	} cases[] = {
		{"a return with more on the stack", "50 c3"},
		{"epilogues of different heights", "50 50 48 83 c4 10 c3 58 58 58 c3"},
		{"an epilogue jumps into the body", "50 33 c0 48 83 c4 08 75 fb c3"},
		{"a jump over a push", "75 01 50 33 c0 48 83 c4 08 c3"},
		{"a jump back before a push", "50 33 c0 50 75 fa 48 83 c4 10 c3"},
		{"a jump into what seems to be a funclet", "85 c0 75 01 c3 50 58 c3"},
		{"a jump away with a frame", "50 e9 00 00 00 01"},
		{"a frame pointer restored twice", "50 58 5d 5d c3"},
		{"a frame pointer not restored", "55 48 8b ec 58 c3"},
		{"a frame pointer set anew", "55 48 8b ec 48 8b 6f 10 5d c3"},
		{"a frame pointer lost, and not saved", "48 8b ef c3"},
		{"a frame pointer that points elsewhere", "55 50 48 8b ec 48 8b 07 58 58 c3"},
		{"the stack pointer from memory", "50 48 8b 27 58 c3"},
		{"a stack aligned anew", "48 83 e4 e0 c3"},
		{"the stack pointer from a register", "50 4c 8b dc 49 8b e3 58 c3"},
		{"pop rsp", "50 5c c3"},
		{"half the stack pointer", "50 83 c4 08 c3"},
		{"an endless fall of the stack pointer",
		 "48 81 ec 00 00 00 0f 48 81 ec 00 00 00 0f c3"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct cfi_row rows[ROWS_MAX];
		size_t cnt = rows_of(cases[i].hex, rows, ROWS_MAX);

		cr_expect(cnt == 1 && rows[0].row.cfa == UNWIND_UNKNOWN && rows[0].vaddr == START,
			  "%s: %zu rows, cfa %u", cases[i].name, cnt, rows[0].row.cfa);
	}
}

Test(prologue, what_is_not_understood_leaves_what_lies_before_it)
{
	EXPECT("no instruction", "50 06 58 c3", {0, UNWIND_SP, 1, 0}, {1, UNWIND_UNKNOWN, 0, 0});
	EXPECT("cut off", "50 48 81 ec 00", {0, UNWIND_SP, 1, 0}, {1, UNWIND_UNKNOWN, 0, 0});
	EXPECT("prefixes without end", "50 66 66 66 66 66 66 66 66 66 66 66 66 66 66 66 66 66 90",
	       {0, UNWIND_SP, 1, 0}, {1, UNWIND_UNKNOWN, 0, 0});
	EXPECT("prefixes to the end", "2e 2e 2e", {0, UNWIND_UNKNOWN, 0, 0});
	EXPECT("a funclet that does not add up", "33 c0 c3 50 c3", {0, UNWIND_SP, 1, 0},
	       {3, UNWIND_UNKNOWN, 0, 0});
}

Test(prologue, bytes_that_are_not_there_and_rows_without_place_are_unknown)
{
	static const uint8_t code[] = {0x55, 0x48, 0x8b, 0xec, 0x33, 0xc0, 0x5d, 0xc3};
	struct cfi_row rows[8];
	uint8_t *endless;

	cr_expect_eq(prologue_rows(code, sizeof(code), START, 0, rows, 8), 0);
	cr_expect_eq(prologue_rows(code, sizeof(code), START, sizeof(code), rows, 0), 0);
	cr_expect_eq(prologue_rows(NULL, 0, START, 100, rows, 8), 1);
	cr_expect_eq(rows[0].row.cfa, UNWIND_UNKNOWN);

	/* Less is there than the method has, or more. */
	cr_expect_eq(prologue_rows(code, 4, START, 100, rows, 8), 3);
	cr_expect(rows[2].vaddr == START + 4 && rows[2].row.cfa == UNWIND_UNKNOWN);
	cr_expect_eq(prologue_rows(code, sizeof(code), START, 6, rows, 8), 3);
	cr_expect_eq(rows[2].row.cfa, UNWIND_FP);

	cr_expect_eq(prologue_rows(code, sizeof(code), START, sizeof(code), rows, 5), 4);
	cr_expect_eq(prologue_rows(code, sizeof(code), START, sizeof(code), rows, 3), 3);
	cr_expect(rows[2].vaddr == START + 4 && rows[2].row.cfa == UNWIND_UNKNOWN);

	/* One longer than is looked at. */
	endless = calloc(1, 2 * (size_t)PROLOGUE_BYTES_MAX);
	memset(endless, 0x90, 2 * (size_t)PROLOGUE_BYTES_MAX);
	cr_expect_eq(prologue_rows(endless, 2 * (size_t)PROLOGUE_BYTES_MAX, START,
				   2 * (uint64_t)PROLOGUE_BYTES_MAX, rows, 8),
		     2);
	cr_expect(rows[1].vaddr == START + PROLOGUE_BYTES_MAX && rows[1].row.cfa == UNWIND_UNKNOWN);
	free(endless);
}
