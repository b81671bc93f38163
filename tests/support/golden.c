/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "golden.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void record(const char *path, const char *text, size_t len)
{
	FILE *file = fopen(path, "w");

	cr_assert(file && fwrite(text, 1, len, file) == len && !fclose(file), "%s: %m", path);
}

static char *read_all(const char *path, size_t *ret_len)
{
	FILE *file = fopen(path, "r");
	size_t cap = 1 << 20;
	char *text = malloc(cap);

	cr_assert(file, "%s: %m (HOTRUN_RECORD=1 writes it)", path);
	*ret_len = fread(text, 1, cap - 1, file);
	text[*ret_len] = '\0';
	fclose(file);
	return text;
}

void golden_expect(const char *name, const char *text, size_t len)
{
	char path[256], *expected;
	size_t expected_len, same = 0, line = 1, start = 0;

	snprintf(path, sizeof(path), "tests/golden/%s", name);
	if (getenv("HOTRUN_RECORD")) {
		record(path, text, len);
		return;
	}
	expected = read_all(path, &expected_len);
	while (same < len && same < expected_len && text[same] == expected[same]) {
		if (text[same++] != '\n')
			continue;
		line++;
		start = same;
	}
	cr_expect(same == len && same == expected_len,
		  "%s:%zu differs\n  is        %.*s\n  expected  %.*s", path, line,
		  (int)strcspn(text + start, "\n"), text + start,
		  (int)strcspn(expected + start, "\n"), expected + start);
	free(expected);
}
