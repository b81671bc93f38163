/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <criterion/criterion.h>
#include <errno.h>

#include "build_model.h"
#include "model/moment.h"

#define MS     (BUILD_SECOND / 1000)
#define MINUTE (60 * BUILD_SECOND)
#define HOUR   (60 * MINUTE)

struct written {
	const char *text;
	bool clock;
	uint64_t ns;
};

static const struct written good[] = {
	{"0", false, 0},
	{"12", false, 12 * BUILD_SECOND},
	{"12.5", false, 12500 * MS},
	{"0.000000001", false, 1},
	{"12.1234567899", false, 12 * BUILD_SECOND + 123456789},
	{"90s", false, 90 * BUILD_SECOND},
	{"1.5s", false, 1500 * MS},
	{"2m", false, 2 * MINUTE},
	{"1m30s", false, 90 * BUILD_SECOND},
	{"1m30", false, 90 * BUILD_SECOND},
	{"1m0.25s", false, MINUTE + 250 * MS},
	{"1h", false, HOUR},
	{"1h2m3s", false, HOUR + 2 * MINUTE + 3 * BUILD_SECOND},
	{"1h3s", false, HOUR + 3 * BUILD_SECOND},
	{"00:00", true, 0},
	{"14:03", true, 14 * HOUR + 3 * MINUTE},
	{"14:03:07", true, 14 * HOUR + 3 * MINUTE + 7 * BUILD_SECOND},
	{"4:03:07.250", true, 4 * HOUR + 3 * MINUTE + 7250 * MS},
	{"23:59:59.999", true, 23 * HOUR + 59 * MINUTE + 59999 * MS},
};

static const char *const bad[] = {
	"",	  " 1",	   "-1",      "+1",	   "s",	       "m",	      "1x",   "1s30m",
	"1m1m",	  "1.5m",  "1.",      ".5",	   "1..5",     "1e3",	      "0x10", "5 s",
	"1s2",	  "12,5",  "24:00",   "12:60",	   "12:00:60", "12:",	      ":12",  "12:00:00:00",
	"123:00", "12:5:", "12:00.5", "12:00:00.", "noon",     "99999999999", "1h2",  "1:2:3:4",
};

Test(moment, reads_what_people_write)
{
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		struct moment moment = {0};

		cr_expect_eq(moment_parse(good[i].text, &moment), 0, "%s", good[i].text);
		cr_expect_eq(moment.clock, good[i].clock, "%s", good[i].text);
		cr_expect_eq(moment.ns, good[i].ns, "%s: %llu", good[i].text,
			     (unsigned long long)moment.ns);
	}
}

Test(moment, refuses_what_is_no_time)
{
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct moment moment = {.ns = 7};

		cr_expect_eq(moment_parse(bad[i], &moment), -EINVAL, "%s", bad[i]);
		cr_expect_eq(moment.ns, 7, "%s left something", bad[i]);
	}
}

Test(moment, a_length_is_a_span_and_not_nothing)
{
	uint64_t ns = 7;

	cr_expect_eq(moment_parse_length("0", &ns), -EINVAL);
	cr_expect_eq(moment_parse_length("14:03", &ns), -EINVAL);
	cr_expect_eq(moment_parse_length("x", &ns), -EINVAL);
	cr_expect_eq(ns, 7);
	cr_expect_eq(moment_parse_length("2m", &ns), 0);
	cr_expect_eq(ns, 2 * MINUTE);
}

/* Thirty seconds that begin at that clock time. */
static struct model *recording(uint64_t clock_ns)
{
	struct model *m = build_model(1, 99);

	for (int i = 0; i < 30; i++)
		build_slice(m, BUILD_SECOND, 0, 0, 0);
	/* The builder's captures begin at 10:00. */
	for (size_t i = 0; i < m->slices_cnt; i++)
		m->slices[i].wall_offset_ns += (int64_t)clock_ns - (int64_t)(10 * HOUR);
	return m;
}

struct resolved {
	const char *name;
	uint64_t start_ns; /* clock time of the recording */
	const char *text;
	uint64_t not_before_ns;
	int err;
	uint64_t ns;
};

static const struct resolved resolved[] = {
	{"since the start", 10 * HOUR, "12.5", 0, 0, 12500 * MS},
	{"beyond the end is left to the caller", 10 * HOUR, "99", 0, 0, 99 * BUILD_SECOND},
	{"clock", 10 * HOUR, "10:00:05", 0, 0, 5 * BUILD_SECOND},
	{"clock with a fraction", 10 * HOUR, "10:00:05.250", 0, 0, 5250 * MS},
	{"clock of the start, which is shown in whole seconds", 10 * HOUR + 400 * MS, "10:00:00", 0,
	 0, 0},
	{"clock of the end", 10 * HOUR, "10:00:30.5", 0, 0, 30 * BUILD_SECOND},
	{"clock before", 10 * HOUR, "09:59:58", 0, -ERANGE, 0},
	{"clock after", 10 * HOUR, "10:00:31", 0, -ERANGE, 0},
	{"before midnight", 24 * HOUR - 10 * BUILD_SECOND, "23:59:55", 0, 0, 5 * BUILD_SECOND},
	{"after midnight", 24 * HOUR - 10 * BUILD_SECOND, "00:00:05", 0, 0, 15 * BUILD_SECOND},
	{"earlier than the other end", 10 * HOUR, "10:00:05", 10 * BUILD_SECOND, -ERANGE, 0},
};

Test(moment, clock_times_fall_into_the_recording)
{
	for (size_t i = 0; i < sizeof(resolved) / sizeof(resolved[0]); i++) {
		const struct resolved *c = &resolved[i];
		struct model *m = recording(c->start_ns);
		struct moment moment;
		uint64_t ns = 0;

		cr_assert_eq(moment_parse(c->text, &moment), 0);
		cr_expect_eq(moment_resolve(m, &moment, c->not_before_ns, &ns), c->err, "%s",
			     c->name);
		cr_expect_eq(ns, c->ns, "%s: %llu", c->name, (unsigned long long)ns);
		model_free(m);
	}
}

Test(moment, a_capture_without_slices_has_no_clock)
{
	struct model *m = build_model(1, 99);
	struct moment moment = {.clock = true};
	uint64_t ns;

	cr_expect_eq(moment_resolve(m, &moment, 0, &ns), -ERANGE);
	cr_expect_eq(moment_length_ns(m), 0);
	model_free(m);
}
