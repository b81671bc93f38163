/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which captures go, over simulated days; when a rotating one ends. */
#include <criterion/criterion.h>
#include <string.h>

#include "watch/retention.h"

#define SECOND 1000000000ull
#define MINUTE (60 * SECOND)
#define DAY    (86400 * SECOND)
#define NOW    1795000000ll
#define MB     1000000ull

#define FILES_MAX 8

struct plan_case {
	const char *name;
	struct retention r;
	struct retention_file files[FILES_MAX]; /* until bytes 0 */
	const char *removed;			/* a letter a file: x goes, . stays */
};

static const struct plan_case plans[] = {
	{"no bounds", {0}, {{NOW - 9, MB, 0, 0}, {1, MB, 0, 0}}, ".."},
	{"nothing at all", {.count = 1, .bytes = 1, .age_s = 1}, {{0}}, ""},
	{"as many as are allowed", {.count = 2}, {{NOW, 1, 0, 0}, {NOW - 5, 1, 0, 0}}, ".."},
	{"the oldest of too many",
	 {.count = 2},
	 {{NOW - 5, 1, 0, 0}, {NOW, 1, 0, 0}, {NOW - 9, 1, 0, 0}},
	 "..x"},
	{"rotated ones before an older one that was asked for",
	 {.count = 1},
	 {{NOW - 900, 1, 1, 0}, {NOW - 5, 1, 0, 0}, {NOW, 1, 0, 0}},
	 ".xx"},
	{"then those taken by itself",
	 {.count = 1},
	 {{NOW - 5, 1, 1, 0}, {NOW - 900, 1, 2, 0}, {NOW, 1, 1, 0}},
	 "x.x"},
	{"of those that were asked for the oldest",
	 {.count = 2},
	 {{NOW - 7, 1, 1, 0}, {NOW - 9, 1, 1, 0}, {NOW - 8, 1, 1, 0}},
	 ".x."},
	{"what is being written counts, and stays",
	 {.count = 1},
	 {{NOW - 50, 1, 0, 1}, {NOW, 1, 0, 0}, {NOW, 1, 1, 0}},
	 ".xx"},
	{"all are being written", {.count = 1}, {{1, 1, 0, 1}, {2, 1, 0, 1}}, ".."},
	{"too large by a byte",
	 {.bytes = 3 * MB - 1},
	 {{NOW - 1, MB, 0, 0}, {NOW - 2, MB, 0, 0}, {NOW - 3, MB, 0, 0}},
	 "..x"},
	{"just large enough",
	 {.bytes = 3 * MB},
	 {{NOW - 1, MB, 0, 0}, {NOW - 2, MB, 0, 0}, {NOW - 3, MB, 0, 0}},
	 "..."},
	{"one that is larger than all that is allowed", {.bytes = MB}, {{NOW, 9 * MB, 0, 0}}, "x"},
	{"old ones make room, others stay",
	 {.bytes = 3 * MB, .age_s = 100},
	 {{NOW - 101, MB, 1, 0}, {NOW - 50, 2 * MB, 0, 0}, {NOW, MB, 0, 0}},
	 "x.."},
	{"age does not ask who wanted it",
	 {.age_s = 100},
	 {{NOW - 100, 1, 0, 0}, {NOW - 101, 1, 0, 0}, {NOW - 101, 1, 1, 0}, {NOW - 101, 1, 0, 1}},
	 ".xx."},
	{"times in the future are an age of 0",
	 {.age_s = 1},
	 {{NOW + 86400, 1, 0, 0}, {INT64_MAX, 1, 0, 0}, {NOW - 2, 1, 0, 0}},
	 "..x"},
	{"and the newest of too many",
	 {.count = 1},
	 {{NOW + 86400, 1, 0, 0}, {NOW, 1, 0, 0}},
	 ".x"},
	{"times before all times", {.age_s = 1}, {{INT64_MIN, 1, 0, 0}, {-5, 1, 0, 0}}, "xx"},
	{"sizes beyond all numbers",
	 {.bytes = MB},
	 {{1, UINT64_MAX, 0, 0}, {2, UINT64_MAX, 0, 0}, {3, 1, 0, 1}},
	 "xx."},
	{"of the same second the first",
	 {.count = 1},
	 {{NOW, 1, 0, 0}, {NOW, 1, 0, 0}, {NOW, 1, 0, 0}},
	 "xx."},
};

Test(retention, which_have_to_go)
{
	for (size_t i = 0; i < sizeof(plans) / sizeof(plans[0]); i++) {
		const struct plan_case *p = &plans[i];
		bool removed[FILES_MAX];
		char got[FILES_MAX + 1] = "";
		size_t cnt = 0;

		while (cnt < FILES_MAX && p->files[cnt].bytes)
			cnt++;
		memset(removed, 0xff, sizeof(removed));
		cr_assert_eq(retention_plan(&p->r, p->files, cnt, NOW, removed), 0);
		for (size_t n = 0; n < cnt; n++)
			got[n] = removed[n] ? 'x' : '.';
		cr_expect_str_eq(got, p->removed, "%s: %s", p->name, got);
	}
}

/* --- days of a recorder that rotates every five minutes --------------------------------------- */

#define DAYS_FILES 4096

struct days {
	struct retention r;
	struct retention_file files[DAYS_FILES];
	size_t cnt;
};

static void tidy(struct days *d, int64_t now_s)
{
	bool removed[DAYS_FILES];
	size_t n = 0;

	cr_assert_eq(retention_plan(&d->r, d->files, d->cnt, now_s, removed), 0);
	for (size_t i = 0; i < d->cnt; i++) {
		cr_assert(!removed[i] || !d->files[i].busy);
		if (!removed[i])
			d->files[n++] = d->files[i];
	}
	d->cnt = n;
}

static void add(struct days *d, int64_t time_s, uint64_t bytes, bool trigger)
{
	cr_assert_lt(d->cnt, DAYS_FILES);
	if (d->cnt)
		d->files[d->cnt - 1].busy = false;
	d->files[d->cnt++] = (struct retention_file){time_s, bytes, trigger, true};
}

static size_t count_triggers(const struct days *d)
{
	size_t n = 0;

	for (size_t i = 0; i < d->cnt; i++)
		n += d->files[i].worth;
	return n;
}

Test(retention, a_week_within_its_bounds)
{
	static struct days d = {.r = {.count = 100, .bytes = 90 * MB, .age_s = 2 * 86400}};
	uint64_t bytes;

	for (int64_t t = 0; t < 7 * 86400; t += 300) {
		/* Small by day, large by night; a trigger every six hours. */
		add(&d, NOW + t, t / 43200 % 2 ? 2 * MB : MB / 2, t % 21600 == 0);
		tidy(&d, NOW + t);
		bytes = 0;
		for (size_t i = 0; i < d.cnt; i++) {
			bytes += d.files[i].bytes;
			cr_assert_leq(NOW + t - d.files[i].time_s, 2 * 86400);
		}
		cr_assert_leq(d.cnt, 100);
		cr_assert_leq(bytes, 90 * MB);
		/* Those that were asked for outlive the others, until they are too old. */
		cr_assert_eq(count_triggers(&d),
			     (size_t)(t < 2 * 86400 ? t / 21600 + 1 : 8 + (t % 21600 == 0)),
			     "%zu at %lld", count_triggers(&d), (long long)t);
	}
	cr_expect_gt(d.cnt, 40);
}

Test(retention, a_clock_that_is_set_back_a_month_loses_nothing_by_age)
{
	static struct days d = {.r = {.age_s = 86400}};

	for (int i = 0; i < 10; i++)
		add(&d, NOW + i * 300, MB, false);
	tidy(&d, NOW - 30 * 86400);
	cr_expect_eq(d.cnt, 10);
	add(&d, NOW - 30 * 86400, MB, false);
	tidy(&d, NOW - 30 * 86400);
	cr_expect_eq(d.cnt, 11);
	/* Set right again. */
	tidy(&d, NOW + 3000);
	cr_expect_eq(d.cnt, 11, "the one that is being written stays");
	d.files[10].busy = false;
	tidy(&d, NOW + 3000);
	cr_expect_eq(d.cnt, 10);
}

/* --- rotation --------------------------------------------------------------------------------- */

struct end_case {
	const char *name;
	uint64_t every_ns, start_ns;
	int64_t wall_offset_ns;
	uint64_t length_ns;
};

/* Clocks: wall = start + offset; 2026-11-21 00:00 is a whole number of days since the epoch. */
#define DAY_START ((int64_t)(20778 * DAY))

static const struct end_case ends[] = {
	{"on the dot", 5 * MINUTE, 100 * SECOND, DAY_START - 100 * (int64_t)SECOND, 5 * MINUTE},
	{"at 12:03:20", 5 * MINUTE, 7 * SECOND,
	 DAY_START + (int64_t)(12 * 60 * MINUTE + 3 * MINUTE + 13 * SECOND), 100 * SECOND},
	{"30 s before: a tenth is enough", 5 * MINUTE, 0, DAY_START - 30 * (int64_t)SECOND,
	 30 * SECOND},
	{"29 s before: joined with the next", 5 * MINUTE, 0, DAY_START - 29 * (int64_t)SECOND,
	 5 * MINUTE + 29 * SECOND},
	{"a ns before", 5 * MINUTE, 0, DAY_START - 1, 5 * MINUTE + 1},
	{"a ns after", 5 * MINUTE, 0, DAY_START + 1, 5 * MINUTE - 1},
	{"7 minutes do not divide a day", 7 * MINUTE, 55, DAY_START + 1, 7 * MINUTE},
	{"a day", DAY, 0, DAY_START + (int64_t)(DAY / 4), DAY / 4 * 3},
	{"two days", 2 * DAY, 3, DAY_START + 1, 2 * DAY},
	{"wall time before the epoch", 5 * MINUTE, 0, -(int64_t)MINUTE, MINUTE},
	{"and the host's own zero", MINUTE, MINUTE / 2, -(int64_t)(MINUTE / 4), MINUTE / 4 * 3},
	{"a slice", SECOND, 5, 0, SECOND - 5},
};

Test(rotation, ends_at_round_times)
{
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		const struct end_case *c = &ends[i];
		uint64_t end_ns = rotation_end_ns(c->every_ns, c->start_ns, c->wall_offset_ns);

		cr_expect_eq(end_ns - c->start_ns, c->length_ns, "%s: %llu", c->name,
			     (unsigned long long)(end_ns - c->start_ns));
	}
	cr_expect_eq(rotation_end_ns(0, 5, 5), UINT64_MAX, "never");
	cr_expect_eq(rotation_end_ns(7 * MINUTE, UINT64_MAX - 5, 0), UINT64_MAX);
	cr_expect_eq(rotation_end_ns(MINUTE, UINT64_MAX - 5, INT64_MIN), UINT64_MAX);
}

Test(rotation, a_day_of_slices_gives_288_captures)
{
	int64_t offset = DAY_START + 12345678;
	uint64_t at = 0, day_end = DAY - 12345678;
	int cnt = 0;

	while (at < day_end) {
		at = rotation_end_ns(5 * MINUTE, at, offset);
		cr_assert_eq((at + (uint64_t)offset) % (5 * MINUTE), 0);
		cnt++;
		/* The slice that ends it is over a little later. */
		at += at < day_end ? 40000000 : 0;
	}
	cr_expect_eq(cnt, 288);
}

Test(rotation, a_clock_step_moves_the_end_of_the_next_only)
{
	uint64_t first = rotation_end_ns(5 * MINUTE, 0, DAY_START), second;

	/* Set ahead by 1000 s while the first runs; its end is on the monotonic clock. */
	second = rotation_end_ns(5 * MINUTE, first, DAY_START + 1000 * (int64_t)SECOND);
	cr_expect_eq(second - first, 200 * SECOND);
}
