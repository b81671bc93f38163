/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <criterion/criterion.h>
#include <string.h>

#include "perfmap/images/native_format.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

Test(perfmap_native_format, numbers)
{
	static const struct {
		const char *name;
		uint8_t bytes[5];
		size_t len; /* 0 = malformed */
		uint32_t value;
		int32_t sign_value;
	} cases[] = {
		{"0", {0}, 1, 0, 0},
		{"12, as the format's page has it", {0x18}, 1, 12, 12},
		{"largest of one byte", {0xfe}, 1, 127, -1},
		{"1000, as the format's page has it", {0xa1, 0x0f}, 2, 1000, 1000},
		{"largest of two", {0xfd, 0xff}, 2, 0x3fff, -1},
		{"smallest of two with a sign", {0x01, 0x80}, 2, 0x2000, -0x2000},
		{"three", {0x0b, 0x00, 0x80}, 3, 0x100001, -0xfffff},
		{"four", {0x17, 0x00, 0x00, 0x80}, 4, 0x8000001, -0x7ffffff},
		{"five", {0x0f, 0xff, 0xff, 0xff, 0xff}, 5, UINT32_MAX, -1},
		{"five with other high bits", {0xef, 1, 0, 0, 0}, 5, 1, 1},
		{"nine are not ours", {0x1f, 1, 0, 0, 0}, 0, 0, 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		for (size_t len = 0; len <= 5; len++) {
			struct perfmap_bytes b = {cases[i].bytes, len};
			bool whole = cases[i].len && len >= cases[i].len;
			size_t at = 0, sign_at = 0;
			uint32_t value = 0;
			int32_t sign_value = 0;

			cr_expect_eq(perfmap_native_uint(b, &at, &value), whole, "%s: %zu",
				     cases[i].name, len);
			cr_expect_eq(perfmap_native_int(b, &sign_at, &sign_value), whole, "%s: %zu",
				     cases[i].name, len);
			cr_expect_eq(at, whole ? cases[i].len : 0, "%s", cases[i].name);
			cr_expect_eq(sign_at, at, "%s", cases[i].name);
			cr_expect_eq(value, whole ? cases[i].value : 0, "%s", cases[i].name);
			cr_expect_eq(sign_value, whole ? cases[i].sign_value : 0, "%s: %d",
				     cases[i].name, sign_value);
		}
	}
}

Test(perfmap_native_format, an_array_of_one_element_a_block)
{
	/* 20 elements, two blocks of a leaf each: index 3 and index 17. */
	static const uint8_t bytes[] = {0x41, 0x01, 2, 4, 3 << 2 << 1, 0x42, 1 << 2 << 1, 0x44};
	struct perfmap_bytes b = {bytes, sizeof(bytes)};
	struct perfmap_native_array a;
	size_t at;

	cr_assert(perfmap_native_array_open(b, &a));
	cr_expect_eq(a.cnt, 20);
	for (uint32_t i = 0; i < 40; i++) {
		bool there = perfmap_native_array_get(&a, i, &at);

		cr_expect_eq(there, i == 3 || i == 17, "%u", i);
		if (there)
			cr_expect_eq(bytes[at], i == 3 ? 0x42 : 0x44, "%u", i);
	}
	for (size_t len = 0; len < sizeof(bytes); len++)
		if (perfmap_native_array_open((struct perfmap_bytes){bytes, len}, &a))
			cr_expect_not(perfmap_native_array_get(&a, 17, &at), "%zu", len);
}

Test(perfmap_native_format, a_table_gives_all_its_entries)
{
	/* The example of the format's page: two buckets, P Q R and S. */
	static const uint8_t bytes[] = {1 << 2, 3,	9,    11,     0x31, 7 << 1, 0x32, 6 << 1,
					0x34,	5 << 1, 0x38, 4 << 1, 'P',  'Q',    'R',  'S'};
	static const char order[] = "PQRS";
	struct perfmap_native_table t;
	size_t at, cnt = 0;

	cr_assert(perfmap_native_table_open((struct perfmap_bytes){bytes, sizeof(bytes)}, &t));
	for (; perfmap_native_table_next(&t, &at); cnt++)
		cr_expect_eq(bytes[at], order[cnt], "%zu: %zu", cnt, at);
	cr_expect_eq(cnt, 4);
	cr_expect_not(t.malformed);
	for (size_t len = 0; len < sizeof(bytes); len++)
		if (perfmap_native_table_open((struct perfmap_bytes){bytes, len}, &t))
			while (perfmap_native_table_next(&t, &at))
				cr_expect_lt(at, len);
}

Test(perfmap_native_format, tables_that_lie_end)
{
	static const struct {
		const char *name;
		uint8_t bytes[8];
		size_t len;
		bool opens;
	} cases[] = {
		{"empty", {0}, 0, false},
		{"no room for the buckets", {2 << 2, 5, 5, 5, 5}, 5, false},
		{"2^31 buckets", {31 << 2, 5, 5, 5, 5}, 5, false},
		{"indices of eight bytes", {3, 5, 5}, 3, false},
		{"bucket past the end", {0, 2, 9, 0, 0}, 5, true},
		{"buckets that overlap", {1 << 2, 3, 7, 4, 1, 0, 1, 0}, 8, true},
		{"entry that ends in its number", {0, 2, 4, 0x31, 0x01}, 5, true},
		{"entry before the table", {0, 2, 4, 0x31, 0x80}, 5, true},
		{"entry behind the table", {0, 2, 4, 0x31, 0x08}, 5, true},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct perfmap_bytes b = {cases[i].bytes, cases[i].len};
		struct perfmap_native_table t;
		bool opens = perfmap_native_table_open(b, &t);
		size_t at, cnt = 0;

		cr_expect_eq(opens, cases[i].opens, "%s", cases[i].name);
		while (opens && perfmap_native_table_next(&t, &at))
			cr_assert_leq(++cnt, cases[i].len / 2, "%s", cases[i].name);
		if (opens)
			cr_expect(t.malformed, "%s", cases[i].name);
	}
}
