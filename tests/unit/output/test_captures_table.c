/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `hotrun captures`: its table and its JSON. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "golden.h"
#include "output/captures_table.h"

#define SECOND 1000000000ull

static const struct captures_row rows[] = {
	{.name = "web1-20261121T191500Z-rotate.hotrun",
	 .time_s = 1795288500,
	 .by = "rotate",
	 .state = CAPTURES_WRITING,
	 .length_ns = 61 * SECOND,
	 .bytes = 812345},
	{.name = "web1-20261121T191202Z-trigger.hotrun",
	 .time_s = 1795288322,
	 .by = "trigger",
	 .text = true,
	 .page = true,
	 .state = CAPTURES_COMPLETE,
	 .length_ns = 45 * SECOND,
	 .bytes = 3141592},
	{.name = "web1-20261121T191130Z-auto.hotrun",
	 .time_s = 1795288290,
	 .by = "auto",
	 .taken = "inelastic Shop.Web 4242 since 19:11:27 UTC\x1b[31m; significant: yes, 371 "
		  "requests hurt",
	 .text = true,
	 .page = true,
	 .state = CAPTURES_COMPLETE,
	 .length_ns = 45 * SECOND,
	 .bytes = 2141592},
	{.name = "web1-20261121T191000Z-rotate.hotrun",
	 .time_s = 1795288200,
	 .by = "rotate",
	 .text = true,
	 .state = CAPTURES_CUT,
	 .bytes = 1999},
	{.name = "web1-20261121T190500Z-rotate.hotrun",
	 .time_s = 1795287900,
	 .by = "rotate",
	 .state = CAPTURES_UNREADABLE,
	 .why = "the capture is damaged; copy it again",
	 .bytes = 0},
	{.name = "web1-20261121T190000Z-rotate.hotrun",
	 .time_s = 1795287600,
	 .by = "rotate",
	 .page = true,
	 .state = CAPTURES_GONE,
	 .bytes = 123456789012},
	{.name = "web1-20261121T185500Z-rotate.hotrun",
	 .time_s = 1795287300,
	 .by = "rotate",
	 .state = CAPTURES_NOT_LOOKED,
	 .bytes = 5000},
};

static void expect(const char *golden, const char *folder, size_t cnt, bool json)
{
	const struct captures_table table = {folder, rows, cnt};
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	cr_assert(out);
	cr_assert_eq(json ? captures_table_json(out, &table) : captures_table_write(out, &table),
		     0);
	fclose(out);
	cr_expect_null(memchr(text, '\x1b', len));
	golden_expect(golden, text, len);
	free(text);
}

Test(captures_table, for_people)
{
	expect("captures.txt", "/var/lib/hotrun", sizeof(rows) / sizeof(rows[0]), false);
}

Test(captures_table, for_machines)
{
	expect("captures.json", "/var/\x1b[31m\"lib", sizeof(rows) / sizeof(rows[0]), true);
}

Test(captures_table, of_an_empty_folder)
{
	expect("captures_none.txt", "/var/\x1b[31m\nlib", 0, false);
	expect("captures_none.json", "", 0, true);
}

Test(captures_table, a_full_disk_is_told)
{
	const struct captures_table table = {"d", rows, 1};
	FILE *out = fopen("/dev/full", "w");

	cr_assert(out);
	cr_expect_lt(captures_table_write(out, &table), 0);
	fclose(out);
}
