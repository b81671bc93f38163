/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <criterion/criterion.h>
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

/* Length of a literal that may hold NUL bytes. */
#define BYTES(s) s, sizeof(s) - 1

struct shown {
	const char *name;
	const char *bytes;
	size_t len;
	const char *safe;
	const char *json; /* without the quotes */
};

static const struct shown shown[] = {
	{"plain", BYTES("dotnet Shop.Api"), "dotnet Shop.Api", "dotnet Shop.Api"},
	{"empty", BYTES(""), "", ""},
	{"backslash", BYTES("a\\x1b"), "a\\\\x1b", "a\\\\x1b"},
	{"quote", BYTES("a\"b"), "a\"b", "a\\\"b"},
	{"escape sequence", BYTES("\x1b[2J"), "\\x1b[2J", "\\u001b[2J"},
	{"newline and tab", BYTES("a\n\tb\r"), "a\\x0a\\x09b\\x0d", "a\\u000a\\u0009b\\u000d"},
	{"NUL inside", BYTES("a\0b"), "a\\x00b", "a\\u0000b"},
	{"delete", BYTES("\x7f"), "\\x7f", "\\u007f"},
	{"end of a script", BYTES("</script><!--"), "</script><!--",
	 "\\u003c/script\\u003e\\u003c!--"},
	{"entity", BYTES("&lt;"), "&lt;", "\\u0026lt;"},
	{"two to four bytes a character", BYTES("\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"),
	 "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"},
	{"least and greatest of each length",
	 BYTES("\xc2\xa0\xdf\xbf\xe0\xa0\x80\xef\xbf\xbd\xf0\x90\x80\x80\xf4\x8f\xbf\xbf"),
	 "\xc2\xa0\xdf\xbf\xe0\xa0\x80\xef\xbf\xbd\xf0\x90\x80\x80\xf4\x8f\xbf\xbf",
	 "\xc2\xa0\xdf\xbf\xe0\xa0\x80\xef\xbf\xbd\xf0\x90\x80\x80\xf4\x8f\xbf\xbf"},
	{"continuation alone", BYTES("\x80z\xbf"), "\\x80z\\xbf", "\\ufffdz\\ufffd"},
	{"overlong slash of two", BYTES("\xc0\xaf"), "\\xc0\\xaf", "\\ufffd\\ufffd"},
	{"overlong of two, highest", BYTES("\xc1\xbf"), "\\xc1\\xbf", "\\ufffd\\ufffd"},
	{"overlong of three", BYTES("\xe0\x9f\xbf"), "\\xe0\\x9f\\xbf", "\\ufffd\\ufffd\\ufffd"},
	{"overlong of four", BYTES("\xf0\x8f\xbf\xbf"), "\\xf0\\x8f\\xbf\\xbf",
	 "\\ufffd\\ufffd\\ufffd\\ufffd"},
	{"overlong NUL", BYTES("\xc0\x80"), "\\xc0\\x80", "\\ufffd\\ufffd"},
	{"lowest surrogate", BYTES("\xed\xa0\x80"), "\\xed\\xa0\\x80", "\\ufffd\\ufffd\\ufffd"},
	{"highest surrogate", BYTES("\xed\xbf\xbf"), "\\xed\\xbf\\xbf", "\\ufffd\\ufffd\\ufffd"},
	{"before the surrogates", BYTES("\xed\x9f\xbf"), "\xed\x9f\xbf", "\xed\x9f\xbf"},
	{"past U+10FFFF", BYTES("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80",
	 "\\ufffd\\ufffd\\ufffd\\ufffd"},
	{"lead bytes of no length", BYTES("\xf5\xf8\xfe\xff"), "\\xf5\\xf8\\xfe\\xff",
	 "\\ufffd\\ufffd\\ufffd\\ufffd"},
	{"cut after one of two", BYTES("a\xc3"), "a\\xc3", "a\\ufffd"},
	{"cut after two of three", BYTES("\xe2\x82"), "\\xe2\\x82", "\\ufffd\\ufffd"},
	{"cut after three of four", BYTES("\xf0\x9f\x98"), "\\xf0\\x9f\\x98",
	 "\\ufffd\\ufffd\\ufffd"},
	{"character broken by another", BYTES("\xe2\x82z"), "\\xe2\\x82z", "\\ufffd\\ufffdz"},
	{"C1 control, a terminal's CSI", BYTES("\xc2\x9b"), "\\xc2\\x9b", "\\u009b"},
	{"first and last of C1", BYTES("\xc2\x80\xc2\x9f"), "\\xc2\\x80\\xc2\\x9f",
	 "\\u0080\\u009f"},
	{"line separators", BYTES("\xe2\x80\xa8\xe2\x80\xa9"), "\\xe2\\x80\\xa8\\xe2\\x80\\xa9",
	 "\\u2028\\u2029"},
	{"right-to-left override", BYTES("\xe2\x80\xae"), "\\xe2\\x80\\xae", "\\u202e"},
	{"directional isolates", BYTES("\xe2\x81\xa6\xe2\x81\xa9"),
	 "\\xe2\\x81\\xa6\\xe2\\x81\\xa9", "\\u2066\\u2069"},
	{"marks and Arabic letter mark", BYTES("\xe2\x80\x8f\xd8\x9c"), "\\xe2\\x80\\x8f\\xd8\\x9c",
	 "\\u200f\\u061c"},
	{"byte order mark, zero width", BYTES("\xef\xbb\xbf\xe2\x80\x8b"),
	 "\\xef\\xbb\\xbf\\xe2\\x80\\x8b", "\\ufeff\\u200b"},
};

typedef void (*put_fn)(FILE *out, const char *s, size_t len);

/* Runs put on a copy of its own size, so that ASan sees each byte read beyond. */
static char *put_text(put_fn put, const char *bytes, size_t len)
{
	char *copy = malloc(len ? len : 1), *text = NULL;
	size_t text_len;
	FILE *out = open_memstream(&text, &text_len);

	cr_assert(copy && out);
	memcpy(copy, bytes, len);
	put(out, copy, len);
	fclose(out);
	free(copy);
	return text;
}

Test(text, shows_bytes_of_strangers_as_one_harmless_line)
{
	for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++) {
		char *text = put_text(text_put_safe, shown[i].bytes, shown[i].len);

		cr_expect_str_eq(text, shown[i].safe, "%s: %s", shown[i].name, text);
		free(text);
	}
}

Test(text, copies_as_it_puts)
{
	for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++) {
		char buf[128];
		size_t n = text_copy_safe(buf, sizeof(buf), shown[i].bytes, shown[i].len);

		cr_expect_str_eq(buf, shown[i].safe, "%s: %s", shown[i].name, buf);
		cr_expect_eq(n, strlen(shown[i].safe), "%s: length", shown[i].name);
	}
}

Test(text, writes_json_that_may_stand_in_a_page)
{
	for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++) {
		char *text = put_text(text_put_json, shown[i].bytes, shown[i].len);
		size_t len = strlen(text);

		cr_assert(len >= 2 && text[0] == '"' && text[len - 1] == '"', "%s: quotes",
			  shown[i].name);
		text[len - 1] = '\0';
		cr_expect_str_eq(text + 1, shown[i].json, "%s: %s", shown[i].name, text);
		free(text);
	}
}

Test(text, no_byte_pair_leaves_a_control_or_a_bad_sequence)
{
	for (unsigned int pair = 0; pair < 0x10000; pair++) {
		char bytes[2] = {(char)(pair >> 8), (char)pair}, once[16], twice[32];
		size_t n = text_copy_safe(once, sizeof(once), bytes, 2);

		cr_assert_lt(n, sizeof(once) - 1, "%04x: cut", pair);
		for (size_t i = 0; i < n; i++)
			cr_assert((unsigned char)once[i] >= 0x20 && once[i] != 0x7f, "%04x", pair);
		/* What is left of a second pass is the doubling of backslashes alone. */
		text_copy_safe(twice, sizeof(twice), once, n);
		for (size_t i = 0, k = 0; i < n; i++, k++) {
			cr_assert_eq(once[i], twice[k], "%04x: %s", pair, once);
			k += once[i] == '\\';
		}
	}
}

Test(text, cuts_a_copy_at_whole_characters_and_escapes)
{
	static const struct {
		const char *name;
		size_t buf_bytes;
		const char *bytes, *expected;
	} rows[] = {
		{"room for nothing but the end", 1, "abc", ""},
		{"exact room", 4, "abc", "abc"},
		{"one less", 3, "abc", "ab"},
		{"escape fits", 6, "a\x1b", "a\\x1b"},
		{"escape cut whole", 5, "a\x1b", "a"},
		{"escape cut whole by one byte left", 2, "a\x1b", "a"},
		{"backslash pair cut whole", 3, "a\\", "a"},
		{"character fits", 5, "a\xe2\x82\xac", "a\xe2\x82\xac"},
		{"character cut whole", 4, "a\xe2\x82\xac", "a"},
		{"nothing after the cut", 4,
		 "a\xe2\x82\xac"
		 "bc",
		 "a"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *buf = malloc(rows[i].buf_bytes);
		size_t n;

		cr_assert(buf);
		n = text_copy_safe(buf, rows[i].buf_bytes, rows[i].bytes, strlen(rows[i].bytes));
		cr_expect_str_eq(buf, rows[i].expected, "%s: %s", rows[i].name, buf);
		cr_expect_eq(n, strlen(rows[i].expected), "%s: length", rows[i].name);
		free(buf);
	}
}

/* What is no plain UTF-8 becomes U+FFFD, byte by byte; twice copied is once copied; cut anywhere it
 * is the whole characters that fit. */
Test(text, copies_as_plain_utf8)
{
	char whole[256], again[256], cut[256];

	for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++) {
		size_t len;

		cr_assert_eq(text_copy_utf8(whole, sizeof(whole), shown[i].bytes, shown[i].len),
			     shown[i].len, "%s", shown[i].name);
		len = strlen(whole);
		text_copy_utf8(again, sizeof(again), whole, len);
		cr_expect_str_eq(again, whole, "%s", shown[i].name);
		for (size_t bytes = 1; bytes <= len + 1; bytes++) {
			text_copy_utf8(cut, bytes, shown[i].bytes, shown[i].len);
			cr_assert_lt(strlen(cut), bytes);
			cr_expect(!strncmp(cut, whole, strlen(cut)), "%s", shown[i].name);
			text_copy_utf8(again, sizeof(again), cut, strlen(cut));
			cr_expect_str_eq(again, cut, "%s cut at %zu", shown[i].name, bytes);
		}
	}
	text_copy_utf8(whole, sizeof(whole), "a\x1b\xff\xe2\x80\xae", 6);
	cr_expect_str_eq(whole, "a\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
}

Test(text, touches_no_buffer_of_no_bytes)
{
	char buf = 'x';

	cr_expect_eq(text_copy_safe(&buf, 0, "abc", 3), 0);
	cr_expect_eq(buf, 'x');
}

Test(text, reads_whole_decimal_numbers_only)
{
	static const struct {
		const char *text;
		uint64_t min, max;
		int err;
		uint64_t value;
	} rows[] = {
		{"0", 0, 10, 0, 0},
		{"007", 0, 10, 0, 7},
		{"18446744073709551615", 0, UINT64_MAX, 0, UINT64_MAX},
		{"18446744073709551616", 0, UINT64_MAX, -ERANGE, 0},
		{"99999999999999999999999", 0, UINT64_MAX, -ERANGE, 0},
		{"28446744073709551615", 0, UINT64_MAX, -ERANGE, 0},
		{"1", 2, 3, -ERANGE, 0},
		{"4", 2, 3, -ERANGE, 0},
		{"2", 2, 3, 0, 2},
		{"3", 2, 3, 0, 3},
		{"", 0, 10, -EINVAL, 0},
		{"+1", 0, 10, -EINVAL, 0},
		{"-1", 0, UINT64_MAX, -EINVAL, 0},
		{" 1", 0, 10, -EINVAL, 0},
		{"1 ", 0, 10, -EINVAL, 0},
		{"1\n", 0, 10, -EINVAL, 0},
		{"0x10", 0, 100, -EINVAL, 0},
		{"1e5", 0, UINT64_MAX, -EINVAL, 0},
		{"1.0", 0, 10, -EINVAL, 0},
		{"1,000", 0, 10000, -EINVAL, 0},
		{"\xd9\xa1", 0, 10, -EINVAL, 0}, /* Arabic-Indic digit one */
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t value = 4711;
		int err = text_parse_u64(rows[i].text, rows[i].min, rows[i].max, &value);

		cr_expect_eq(err, rows[i].err, "\"%s\": %d", rows[i].text, err);
		cr_expect_eq(value, err ? 4711 : rows[i].value, "\"%s\": %llu", rows[i].text,
			     (unsigned long long)value);
	}
}

struct number {
	const char *text;
	double min, max;
	int err;
	double value;
};

static const struct number numbers[] = {
	{"0", 0, 1, 0, 0},
	{"0.5", 0, 1, 0, 0.5},
	{".25", 0, 1, 0, 0.25},
	{"3.", 0, 10, 0, 3},
	{"10.125", 0, 100, 0, 10.125},
	{"00.5", 0, 1, 0, 0.5},
	{"0.1", 0, 1, 0, 0.1},
	{"2", 0, 1, -ERANGE, 0},
	{"0.4", 0.5, 1, -ERANGE, 0},
	{".", 0, 1, -EINVAL, 0},
	{"", 0, 1, -EINVAL, 0},
	{"1..5", 0, 10, -EINVAL, 0},
	{"1.5.2", 0, 10, -EINVAL, 0},
	{"1,5", 0, 10, -EINVAL, 0},
	{"+1", 0, 10, -EINVAL, 0},
	{"-1", -10, 10, -EINVAL, 0},
	{" 1", 0, 10, -EINVAL, 0},
	{"1 ", 0, 10, -EINVAL, 0},
	{"1e5", 0, 1e9, -EINVAL, 0},
	{"0x10", 0, 100, -EINVAL, 0},
	{"nan", 0, 1, -EINVAL, 0},
	{"inf", 0, INFINITY, -EINVAL, 0},
	{"1s", 0, 10, -EINVAL, 0},
};

static void expect_numbers(const char *locale)
{
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		const struct number *row = &numbers[i];
		double value = 4711;
		int err = text_parse_double(row->text, row->min, row->max, &value);

		cr_expect_eq(err, row->err, "%s \"%s\": %d", locale, row->text, err);
		cr_expect_float_eq(value, err ? 4711 : row->value, 1e-12, "%s \"%s\": %f", locale,
				   row->text, value);
	}
}

Test(text, reads_numbers_with_a_fraction)
{
	expect_numbers("C");
}

Test(text, reads_numbers_alike_where_the_locale_writes_a_comma)
{
	static const char *const locales[] = {"de_DE.UTF-8", "de_DE", "fr_FR.UTF-8", "C.UTF-8"};

	bool any = false;

	/* Whichever this machine has; C.UTF-8 always. */
	for (size_t i = 0; i < sizeof(locales) / sizeof(locales[0]); i++) {
		if (!setlocale(LC_ALL, locales[i]))
			continue;
		any = true;
		expect_numbers(locales[i]);
	}
	cr_expect(any);
	setlocale(LC_ALL, "C");
}

Test(text, refuses_a_number_too_long_for_a_double)
{
	char digits[401] = {0};
	double value = 1;

	memset(digits, '9', 400);
	cr_expect_eq(text_parse_double(digits, 0, INFINITY, &value), -ERANGE);
	cr_expect_eq(value, 1);
	digits[0] = '.'; /* a fraction may be as long as it likes */
	cr_expect_eq(text_parse_double(digits, 0, 2, &value), 0);
	cr_expect_float_eq(value, 1, 1e-9);
}

static const struct quantity {
	const char *text;
	uint64_t min, max;
	int err;
	uint64_t value;
} times[] =
	{
		{"20ms", 0, UINT64_MAX, 0, 20000000},
		{"1.5s", 0, UINT64_MAX, 0, 1500000000},
		{"750us", 0, UINT64_MAX, 0, 750000},
		{"5 m", 0, UINT64_MAX, 0, 300000000000},
		{"2h", 0, UINT64_MAX, 0, 7200000000000},
		{"7d", 0, UINT64_MAX, 0, 604800000000000},
		{"1s", 1000000000, 1000000000, 0, 1000000000},
		{"0.999s", 1000000000, 2000000000, -ERANGE, 0},
		{"3s", 1000000000, 2000000000, -ERANGE, 0},
		{"99999999999999d", 0, UINT64_MAX, -ERANGE, 0},
		{"20", 0, UINT64_MAX, -EINVAL, 0},
		{"ms", 0, UINT64_MAX, -EINVAL, 0},
		{"", 0, UINT64_MAX, -EINVAL, 0},
		{"-1s", 0, UINT64_MAX, -EINVAL, 0},
		{"1.2.3s", 0, UINT64_MAX, -EINVAL, 0},
		{"1 s s", 0, UINT64_MAX, -EINVAL, 0},
		{"1S", 0, UINT64_MAX, -EINVAL, 0},
		{"00000000000000000000000000000000000001s", 0, UINT64_MAX, -EINVAL, 0},
},
  amounts[] = {
	  {"4096", 0, UINT64_MAX, 0, 4096},
	  {"4096B", 0, UINT64_MAX, 0, 4096},
	  {"1K", 0, UINT64_MAX, 0, 1024},
	  {"1Ki", 0, UINT64_MAX, 0, 1024},
	  {"1.5M", 0, UINT64_MAX, 0, 1572864},
	  {"2MB", 0, UINT64_MAX, 0, 2097152},
	  {"2 GiB", 0, UINT64_MAX, 0, 2147483648},
	  {"1T", 0, UINT64_MAX, 0, 1099511627776},
	  {"1T", 0, 1024, -ERANGE, 0},
	  {"1G", 2147483648, UINT64_MAX, -ERANGE, 0},
	  {"9999999999T", 0, UINT64_MAX, -ERANGE, 0},
	  {"i", 0, UINT64_MAX, -EINVAL, 0},
	  {"B", 0, UINT64_MAX, -EINVAL, 0},
	  {"1Bi", 0, UINT64_MAX, -EINVAL, 0},
	  {"1X", 0, UINT64_MAX, -EINVAL, 0},
	  {"1k", 0, UINT64_MAX, -EINVAL, 0},
	  {"-1", 0, UINT64_MAX, -EINVAL, 0},
	  {"00000000000000000000000000000000000000001K", 0, UINT64_MAX, -EINVAL, 0},
};

Test(text, reads_times)
{
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		const struct quantity *row = &times[i];
		uint64_t value = 4711;
		int err = text_parse_time(row->text, row->min, row->max, &value);

		cr_expect_eq(err, row->err, "\"%s\": %d", row->text, err);
		cr_expect_eq(value, err ? 4711 : row->value, "\"%s\": %llu", row->text,
			     (unsigned long long)value);
	}
}

Test(text, reads_amounts_of_memory)
{
	for (size_t i = 0; i < sizeof(amounts) / sizeof(amounts[0]); i++) {
		const struct quantity *row = &amounts[i];
		uint64_t value = 4711;
		int err = text_parse_bytes(row->text, row->min, row->max, &value);

		cr_expect_eq(err, row->err, "\"%s\": %d", row->text, err);
		cr_expect_eq(value, err ? 4711 : row->value, "\"%s\": %llu", row->text,
			     (unsigned long long)value);
	}
}
