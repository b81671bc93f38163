/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report_support.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "golden.h"

char *report_text(struct model *m, const struct report_options *options, size_t *ret_len)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	cr_assert(out);
	cr_assert_eq(report_write(out, m, options), 0);
	fclose(out);
	if (ret_len)
		*ret_len = len;
	return text;
}

void report_expect(const char *golden, struct model *m, const struct report_options *options)
{
	size_t len;
	char *text = report_text(m, options, &len);

	golden_expect(golden, text, len);
	free(text);
	model_free(m);
}

void report_says(struct model *m, const struct report_options *options, const char *expected)
{
	char *text = report_text(m, options, NULL);

	cr_expect(strstr(text, expected), "\"%s\" is not in\n%s", expected, text);
	free(text);
}

void report_says_not(struct model *m, const struct report_options *options, const char *unexpected)
{
	char *text = report_text(m, options, NULL);

	cr_expect(!strstr(text, unexpected), "\"%s\" is in\n%s", unexpected, text);
	free(text);
}
