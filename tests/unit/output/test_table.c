/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tables from rows of columns: which columns are there, how wide they are, how values are
 * written. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "output/json.h"
#include "output/table.h"

struct row {
	const char *name;
	char place[16];
	uint64_t cnt, time_ns;
	int64_t room;
	int error;
	bool on;
	double share;
};

#define ROW(member) FIELD(struct row, member)
static const struct figure name = {"name", "name", AS_TEXT, ROW(name)};
static const struct figure place = {"place", "place", AS_TEXT, ROW(place)};
static const struct figure cnt = {"things", "cnt", AS_COUNT, true, ROW(cnt)};
static const struct figure elapsed = {"time_ns", "time", AS_TIME, ROW(time_ns)};
static const struct figure room = {"room_bytes", "room", AS_BYTES, ROW(room)};
static const struct figure error = {"errno", "errno", AS_ID, ROW(error)};
static const struct figure on = {"on", "on", AS_TEXT, ROW(on)};
static const struct figure share = {"used_share", "used", AS_SHARE, ROW(share)};

static const struct row full = {
	.name = "a\x1b[31mb",
	.place = "here",
	.cnt = 12345678,
	.time_ns = 1500000,
	.room = -5,
	.error = -2,
	.on = true,
	.share = 0.125,
};
static const struct row empty = {.name = "", .time_ns = UINT64_MAX, .room = -1, .share = NAN};

static void expect_row(const struct column *columns, size_t columns_cnt, size_t width,
		       unsigned int when, const struct row *row, const char *expected)
{
	struct subject s = {.item = row};
	char line[TABLE_LINE_BYTES];
	struct table t;

	table_lay_out(&t, columns, columns_cnt, width, when);
	if (row)
		table_line(&t, &s, line);
	else
		table_titles(&t, line);
	cr_expect_str_eq(line, expected);
}
#define EXPECT(columns, width, when, row, expected) \
	expect_row(columns, sizeof(columns) / sizeof((columns)[0]), width, when, row, expected)

Test(table, each_unit_and_what_is_missing)
{
	const struct column columns[] = {
		{&cnt, .width = 8},    {&elapsed, .width = 8},
		{&error, .width = 6},  {&on, .width = 4},
		{&share, .width = 8},  {&place, .left = true, .gap = 2, .width = 6},
		{&name, .left = true},
	};

	EXPECT(columns, 60, 0, NULL, "     cnt    time errno  on    used  place name");
	EXPECT(columns, 60, 0, &full, " 12,345k  1.5 ms    -2 yes  12.5 %  here  a\\x1b[31mb");
	EXPECT(columns, 60, 0, &empty, "       -     n/a     0  no       -  n/a   n/a");
}

Test(table, columns_come_by_rank_as_long_as_names_have_room)
{
	const struct column columns[] = {
		{&cnt, .width = 6},
		{&elapsed, .width = 8, .rank = 2},
		{&share, .width = 8, .rank = 1},
		{&name, .left = true, .gap = 2, .least = 10},
		{&place, .left = true, .gap = 2, .width = 6, .when = 4},
	};

	EXPECT(columns, 34, 0, NULL, "   cnt    time    used  name");
	EXPECT(columns, 33, 0, NULL, "   cnt    used  name");
	EXPECT(columns, 26, 0, NULL, "   cnt    used  name");
	EXPECT(columns, 25, 0, NULL, "   cnt  name");
	EXPECT(columns, 25, 6, NULL, "   cnt  name       place");
	/* Narrower than the least, it is what there is. */
	EXPECT(columns, 12, 0, &(struct row){.name = "abcdefgh"}, "     -  abc…");
}

Test(table, what_is_left_is_shared_as_asked)
{
	const struct column parts[] = {
		{&name, .left = true, .least = 4, .most = 12, .pct = 40},
		{&place, .left = true, .gap = 2, .least = 6},
	};
	const struct row row = {.name = "abcdefghijklmnop", .place = "here and there."};

	EXPECT(parts, 12, 0, &row, "abc…  here …");
	EXPECT(parts, 22, 0, &row, "abcdefg…  here and th…");
	EXPECT(parts, 60, 0, &row, "abcdefghijk…  here and there.");
}

Test(table, more_stands_below_the_names)
{
	const struct column columns[] = {
		{&cnt, .width = 6},
		{&elapsed, .width = 8, .when = 1},
		{&name, .left = true, .gap = 2},
	};
	char *text = NULL;
	struct table t;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	cr_assert(out);
	table_lay_out(&t, columns, 3, 40, 0);
	cr_expect(table_shows(&t, &cnt));
	cr_expect_not(table_shows(&t, &elapsed));
	table_put_more(out, &t, 0);
	table_put_more(out, &t, 1234);
	fclose(out);
	cr_expect_str_eq(text, "        … 1,234 more\n");
	free(text);
}

Test(table, numbers_stay_within_their_columns)
{
	static const struct {
		uint64_t n;
		size_t columns;
		const char *text;
	} cases[] = {
		{0, 6, "0"},
		{99999, 6, "99,999"},
		{100000, 6, "100k"},
		{12345678, 6, "12M"},
		{1234567, 9, "1,234,567"},
		{UINT64_MAX, 6, "18E"},
		{UINT64_MAX, 1, "18E"},
		{1000000000000, 8, "1,000G"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		cr_expect_str_eq(number_short(cases[i].n, cases[i].columns).text, cases[i].text);
	cr_expect_str_eq(number_rate(9.94, 6).text, "9.9");
	cr_expect_str_eq(number_rate(9.96, 6).text, "10");
	cr_expect_str_eq(number_rate(1e300, 6).text, "1,000P");
	cr_expect_str_eq(number_long_time(3600000000000).text, "1.0 h");
	cr_expect_str_eq(number_long_time(UINT64_MAX).text, "> 1 year");
}

/* The keys and values of the same rows. */
Test(json, figures_and_nesting)
{
	static const struct figure *const keys[] = {&name, &place, &cnt, &elapsed,
						    &room, &error, &on,	 &share};
	struct subject s = {.item = &full};
	struct json j;
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	cr_assert(out);
	json_begin(&j, out, "test");
	json_array(&j, "rows");
	json_object(&j, NULL);
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		json_figure(&j, keys[i], &s);
	json_end(&j);
	json_object(&j, NULL);
	s.item = &empty;
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		json_figure(&j, keys[i], &s);
	json_end(&j);
	json_end(&j);
	json_array(&j, "none");
	json_end(&j);
	json_real(&j, "r", 0.9999996);
	json_real(&j, "s", -1.25);
	json_utc(&j, "t", 1795288500);
	json_utc(&j, "u", 0);
	cr_expect_eq(json_finish(&j), 0);
	fclose(out);
	cr_expect_str_eq(
		text, "{\"format\": 2,\n\"kind\": \"test\",\n\"rows\": [\n"
		      "{\"name\": \"a\\u001b[31mb\", \"place\": \"here\", \"things\": 12345678, "
		      "\"time_ns\": 1500000, \"room_bytes\": -5, \"errno\": -2, \"on\": true, "
		      "\"used_share\": 0.125000},\n"
		      "{\"name\": null, \"place\": null, \"things\": 0, \"time_ns\": null, "
		      "\"room_bytes\": null, \"errno\": 0, \"on\": false, \"used_share\": null}],\n"
		      "\"none\": [],\n\"r\": 1,\n\"s\": -1.250000,\n"
		      "\"t\": \"2026-11-21T19:15:00Z\",\n\"u\": null}\n");
	free(text);
}
