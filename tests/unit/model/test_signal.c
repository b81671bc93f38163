/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The operator's own numbers: texts, and their means. */
#include <criterion/criterion.h>
#include <errno.h>
#include <math.h>
#include <string.h>

#include "build_model.h"
#include "model/signal.h"
#include "model/window.h"

Test(signal, one_number)
{
	static const struct {
		const char *name, *text;
		int err;
		double value;
	} cases[] = {
		{"share", "0.25", 0, 0.25},
		{"percent", "25%", 0, 0.25},
		{"a fraction of a percent", "12.5%", 0, 0.125},
		{"nothing slow", "0", 0, 0},
		{"all slow", "1", 0, 1},
		{"100 %", "100%", 0, 1},
		{"an end of line", "0.5\n", 0, 0.5},
		{"blanks around", " \t0.5 \r\n\n", 0, 0.5},
		{"nothing", "", -ENODATA, 0},
		{"blanks alone", " \n", -ENODATA, 0},
		{"a word", "fast", -EINVAL, 0},
		{"a number and a word", "0.5 slow", -EINVAL, 0},
		{"two numbers", "0.5\n0.6", -EINVAL, 0},
		{"a percent sign alone", "%", -EINVAL, 0},
		{"a sign", "-0.5", -EINVAL, 0},
		{"no number", "nan", -EINVAL, 0},
		{"endless", "inf", -EINVAL, 0},
		{"the comma of a locale", "0,5", -EINVAL, 0},
		{"more than all", "1.5", -ERANGE, 0},
		{"more than 100 %", "101%", -ERANGE, 0},
		{"too long", "0.0000000000000000000000000000000000000001", -EINVAL, 0},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		double value = 7;

		cr_expect_eq(signal_parse_value(cases[i].text, strlen(cases[i].text), &value),
			     cases[i].err, "%s", cases[i].name);
		cr_expect_float_eq(value, cases[i].err ? 7 : cases[i].value, 1e-9, "%s",
				   cases[i].name);
	}
	cr_expect_eq(signal_parse_value("0\0.5", 4, &(double){0}), -EINVAL, "a NUL byte");
}

static const char lines_text[] = "# slow shares\n"
				 "Shop.Api 0.25\n"
				 "\n"
				 "  shop db.service\t 3% \r\n"
				 "4711 0";

Test(signal, lines_of_names_and_numbers)
{
	struct signal_entry entries[8];
	unsigned int line = 0;
	size_t cnt = 0;

	cr_assert_eq(
		signal_parse_lines(lines_text, sizeof(lines_text) - 1, entries, 8, &cnt, &line), 0);
	cr_assert_eq(cnt, 3);
	cr_expect_str_eq(entries[0].name, "Shop.Api");
	cr_expect_float_eq(entries[0].value, 0.25, 1e-9);
	cr_expect_str_eq(entries[1].name, "shop db.service");
	cr_expect_float_eq(entries[1].value, 0.03, 1e-9);
	cr_expect_str_eq(entries[2].name, "4711");
	cr_expect_float_eq(entries[2].value, 0, 1e-9);
}

Test(signal, lines_that_are_none)
{
	char longest[300];
	struct {
		const char *name, *text;
		int err;
		unsigned int line;
	} cases[] = {
		{"a name alone", "Shop.Api\n", -EINVAL, 1},
		{"a number alone", "a 0.5\n0.5\n", -EINVAL, 2},
		{"not a number", "a 0.5\n\nb fast\n", -EINVAL, 3},
		{"out of range", "a 2\n", -ERANGE, 1},
		{"too many", "a 0\nb 0\nc 0\n", -E2BIG, 3},
		{"a name that is too long", longest, -E2BIG, 1},
	};

	memset(longest, 'x', sizeof(longest));
	strcpy(longest + sizeof(longest) - 5, " 0.5");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct signal_entry entries[2];
		unsigned int line = 0;
		size_t cnt = 7;

		cr_expect_eq(signal_parse_lines(cases[i].text, strlen(cases[i].text), entries, 2,
						&cnt, &line),
			     cases[i].err, "%s", cases[i].name);
		cr_expect_eq(line, cases[i].line, "%s: line %u", cases[i].name, line);
		cr_expect_eq(cnt, 7, "%s", cases[i].name);
	}
}

/* Cut anywhere, it is read or refused, never more than is there. */
Test(signal, truncated_at_every_byte)
{
	for (size_t len = 0; len < sizeof(lines_text); len++) {
		char *text = malloc(len ? len : 1); /* not a byte more: ASan looks on */
		struct signal_entry entries[8];
		unsigned int line = 0;
		size_t cnt = 0;

		cr_assert(text);
		memcpy(text, lines_text, len);
		signal_parse_lines(text, len, entries, 8, &cnt, &line);
		cr_expect(cnt <= 3);
		free(text);
	}
}

static void add(struct model *m, uint32_t slice, uint32_t process, uint32_t ppm)
{
	struct model_signal row = {slice, process, ppm};

	cr_assert_eq(model_signal_add(m, &row), 0);
}

Test(signal, means_are_over_the_slices_that_have_one)
{
	struct model *m = build_model(2, 99);
	uint32_t a = build_process(m, 1, "a", 0), b = build_process(m, 2, "b", 0);
	struct window last = {1, 2};
	double *means;

	for (int i = 0; i < 3; i++)
		build_slice(m, BUILD_SECOND, 0, 0, 0);
	add(m, 0, a, 900000);
	add(m, 1, a, 200000);
	add(m, 2, a, 100000);
	means = signal_means(m);
	cr_assert(means);
	cr_expect_float_eq(means[a], 0.4, 1e-9);
	cr_expect(isnan(means[b]));
	free(means);
	cr_assert_eq(window_cut(m, &last), 0);
	means = signal_means(m);
	cr_assert(means);
	cr_expect_float_eq(means[a], 0.15, 1e-9);
	free(means);
	model_forget_slice(m);
	cr_expect_eq(m->signals_cnt, 0);
	model_free(m);
}
