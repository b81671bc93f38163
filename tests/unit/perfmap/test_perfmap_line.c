/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "perfmap/maps/line.h"

#define TEXT(s) (s), sizeof(s) - 1

Test(perfmap_line, reads_an_entry)
{
	static const struct {
		const char *what;
		const char *line;
		size_t len;
		uint64_t start, size;
		const char *name;
		size_t skipped;
		bool has_0x;
	} rows[] = {
		{"with 0x", TEXT("0x7f833e071860 a4d void [names] P::Main(string[])[QuickJitted]"),
		 0x7f833e071860, 0xa4d, "void [names] P::Main(string[])[QuickJitted]", 0, true},
		{"without 0x", TEXT("3ef414c0 398 RegExp:bar"), 0x3ef414c0, 0x398, "RegExp:bar", 0,
		 false},
		{"0x before both, as JDK 17 writes it",
		 TEXT("0x00007f00e8000120 0x0000000000000048 java.lang.Object::hashCode"),
		 0x7f00e8000120, 0x48, "java.lang.Object::hashCode", 0, true},
		{"capitals", TEXT("0X7F00ABCD A x"), 0x7f00abcd, 0xa, "x", 0, true},
		{"no name", TEXT("0x7f0000001000 10 "), 0x7f0000001000, 0x10, "", 0, true},
		{"name of spaces", TEXT("0x7f0000001000 10   a  b"), 0x7f0000001000, 0x10, "  a  b",
		 0, true},
		{"lowest address", TEXT("0x1000 1 x"), 0x1000, 1, "x", 0, true},
		{"highest address", TEXT("0xfffffffffffffffe 1 x"), 0xfffffffffffffffe, 1, "x", 0,
		 true},
		{"largest block", TEXT("0x7f0000000000 10000000 stub B<C>"), 0x7f0000000000,
		 0x10000000, "stub B<C>", 0, true},
		{"entry in the name of a sound line is text",
		 TEXT("0x7f0000001000 10 odd 0x7f0000002000 20 x"), 0x7f0000001000, 0x10,
		 "odd 0x7f0000002000 20 x", 0, true},
		{"16 bytes of garbage, next line glued on",
		 TEXT("\x10\0\0\0\0\0\0\0\xa0\x12\x55\x34\x12\x7f\0\0 void [a] Gr\xc3\xb6\xc3\x9f"
		      "e::L(int32)[QuickJit0x7f0000002000 20 void [a] B::C()"),
		 0x7f0000002000, 0x20, "void [a] B::C()", 52, true},
		{"two damaged lines before the good one",
		 TEXT("\1\2\3 void [a] X::Y()\4\5\6 void [a] X::Z()0x7f0000002000 20 n"),
		 0x7f0000002000, 0x20, "n", 38, true},
		{"a 0 before the 0x", TEXT("\1\2x00x7f0000002000 20 n"), 0x7f0000002000, 0x20, "n",
		 4, true},
		{"an MT comment is no entry",
		 TEXT("\1 T /* MT: 0x7fc455fb6050 */ [A] d::l()0x7f0000002000 20 n"),
		 0x7f0000002000, 0x20, "n", 39, true},
	};
	struct perfmap_line line;
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		cr_assert_eq(perfmap_line_parse(rows[i].line, rows[i].len, &line), 0, "%s",
			     rows[i].what);
		cr_expect_eq(line.start, rows[i].start, "%s: start %lx", rows[i].what, line.start);
		cr_expect_eq(line.size_bytes, rows[i].size, "%s", rows[i].what);
		cr_expect_eq(line.skipped, rows[i].skipped, "%s: skipped %zu", rows[i].what,
			     line.skipped);
		cr_expect_eq(line.has_0x, rows[i].has_0x, "%s", rows[i].what);
		cr_expect_eq(line.name_offset + line.name_len, rows[i].len, "%s", rows[i].what);
		cr_expect(line.name_len == strlen(rows[i].name) &&
				  !memcmp(rows[i].line + line.name_offset, rows[i].name,
					  line.name_len),
			  "%s: name", rows[i].what);
	}
}

Test(perfmap_line, rejects_what_is_no_entry)
{
	static const struct {
		const char *what;
		const char *line;
		size_t len;
	} rows[] = {
		{"empty", TEXT("")},
		{"text", TEXT("newline(object)[Optimized]")},
		{"no size", TEXT("0x7f0000001000")},
		{"no space after size", TEXT("0x7f0000001000 10")},
		{"size 0", TEXT("0x7f0000001000 0 x")},
		{"size over the bound", TEXT("0x7f0000001000 10000001 x")},
		{"size of 17 digits", TEXT("0x7f0000001000 00000000000000010 x")},
		{"address of 17 digits", TEXT("0x00000007f00000000 10 x")},
		{"address 0", TEXT("0x0 10 x")},
		{"first page", TEXT("0xfff 10 x")},
		{"end overflows", TEXT("0xfffffffffffffff0 11 x")},
		{"tab instead of space", TEXT("0x7f0000001000\t10\tx")},
		{"space before", TEXT(" 0x1000 10 x")},
		{"0x alone", TEXT("0x 10 x")},
		{"words of hex digits", TEXT("added 5 more")},
		{"short bare address", TEXT("abcdef 10 x")},
		{"resync needs a credible address", TEXT("\1\1 garbage 0x12 34 x")},
		{"minus", TEXT("-0x7f0000001000 10")},
		{"NULs", TEXT("\0\0\0\0")},
	};
	struct perfmap_line line = {.start = 42};
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		cr_expect_eq(perfmap_line_parse(rows[i].line, rows[i].len, &line), -ENOMSG, "%s",
			     rows[i].what);
		cr_expect_eq(line.start, 42, "%s: result touched", rows[i].what);
	}
}

Test(perfmap_line, never_reads_past_the_length)
{
	static const char whole[] = "0x7f833e071860 a4d void [names] P::Main()";
	struct perfmap_line line;
	size_t len;

	/* Each prefix in a block of its own size, so that the sanitizer sees any step beyond. */
	for (len = 0; len < sizeof(whole); len++) {
		char *copy = malloc(len ? len : 1);
		int err;

		memcpy(copy, whole, len);
		err = perfmap_line_parse(copy, len, &line);
		cr_expect_eq(err, len < strlen("0x7f833e071860 a4d ") ? -ENOMSG : 0, "%zu", len);
		free(copy);
	}
}

Test(perfmap_line, knows_stubs_by_their_name)
{
	cr_expect(perfmap_line_is_stub(TEXT("stub GenerateLookupStub<GenerateLookupStub>")));
	cr_expect(perfmap_line_is_stub(TEXT("stub<17> GenerateLookupStub<GenerateLookupStub>")));
	cr_expect_not(perfmap_line_is_stub(TEXT("stub")));
	cr_expect_not(perfmap_line_is_stub(TEXT("stubborn [a] X::Y()")));
	cr_expect_not(perfmap_line_is_stub(TEXT("void [stub] stub::stub()")));
}

Test(perfmap_line, knows_the_stubs_that_keep_the_stack)
{
	cr_expect(perfmap_line_keeps_stack(TEXT("stub ReportStubBlock<MethodCallThunk>")));
	cr_expect(perfmap_line_keeps_stack(TEXT("stub Link<UnboxingStub>")));
	cr_expect(perfmap_line_keeps_stack(
		TEXT("stub<9> AllocateTemporaryEntryPoints<PRECODE_STUB>")));
	/* These push what they look up. */
	cr_expect_not(perfmap_line_keeps_stack(TEXT("stub ReportStubBlock<VSD_ResolveStub>")));
	cr_expect_not(perfmap_line_keeps_stack(TEXT("stub ReportStubBlock<VSD_LookupStub>")));
	cr_expect_not(
		perfmap_line_keeps_stack(TEXT("stub<17> GenerateLookupStub<GenerateLookupStub>")));
	cr_expect_not(perfmap_line_keeps_stack(TEXT("stub Novelty<Novelty>")));
	/* A method can have any name. */
	cr_expect_not(perfmap_line_keeps_stack(TEXT("void [a] X::stub<PRECODE_STUB>")));
	cr_expect_not(perfmap_line_keeps_stack(TEXT("<PRECODE_STUB>")));
	cr_expect_not(perfmap_line_keeps_stack(TEXT("stub")));
}

/* Each 0x in a line may begin an entry, each hexadecimal digit behind it may be one of its
 * address. */
Test(perfmap_line, work_is_bounded_by_the_length)
{
	static const char *const patterns[] = {"0x",	       "0",
					       "0x0",	       "0xaaaaaaaaaaaaaaaaa ",
					       "0x12345 6 7 ", "0xfffff 0xfffff ",
					       "00000x00000x"};
	enum { LEN = 64 << 10 };
	char *text = malloc(LEN);
	struct perfmap_line line;

	for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
		struct perfmap_work work = {.limit = UINT64_MAX};
		size_t n = strlen(patterns[i]);

		for (size_t at = 0; at < LEN; at++)
			text[at] = at ? patterns[i][at % n] : '?';
		perfmap_line_parse_counted(text, LEN, &work, &line);
		cr_expect_leq(work.done, PERFMAP_LINE_WORK_PER_BYTE * LEN, "%s: %lu", patterns[i],
			      work.done);
		work = (struct perfmap_work){.limit = 100};
		if (i < 3)
			cr_expect_eq(perfmap_line_parse_counted(text, LEN, &work, &line), -ENOMSG);
		cr_expect_leq(work.done, LEN, "%s", patterns[i]);
	}
	free(text);
}
