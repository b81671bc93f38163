/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether a capture is taken by itself: each question, its figures, and a day of them. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "watch/policy.h"

#define NOW    1800000000
#define MINUTE 60
#define HOUR   3600

/* A case that is taken; tests change what they are about. */
struct fixture {
	struct policy p;
	struct policy_options options;
	struct verdict_result result;
	struct policy_case c;
	struct policy_means means;
	struct policy_past past;
	const char *trunk;
	unsigned int asked_past, asked_trunk;
	struct policy_reply reply;
};

static void past_of(void *ctx, struct policy_past *ret_past)
{
	struct fixture *f = ctx;

	f->asked_past++;
	*ret_past = f->past;
}

static const char *trunk_of(void *ctx)
{
	struct fixture *f = ctx;

	f->asked_trunk++;
	return f->trunk;
}

static void fixture_init(struct fixture *f)
{
	*f = (struct fixture){
		.options = {.on = UINT32_MAX, .cooldown_s = 600, .per_hour = 6},
		.result = {.verdict = VERDICT_INELASTIC,
			   .hurt = true,
			   .evidence = {{FIGURE_SLOW_SHARE, 0.9, 0.1, true}},
			   .evidence_cnt = 1},
		.means = {.free_bytes = 1ull << 40},
		.trunk = "Shop.Load (Shop.Web)",
	};
	f->c = (struct policy_case){.identity = "Shop.Web",
				    .tenant = 7,
				    .result = &f->result,
				    .evidence = "90.0 % of 412 requests slow (limit 10 %)",
				    .people = 371,
				    .past = past_of,
				    .trunk = trunk_of,
				    .ctx = f};
}

static enum policy_answer ask(struct fixture *f, int64_t now_s)
{
	policy_ask(&f->p, &f->options, &f->c, &f->means, now_s, &f->reply);
	return f->reply.answer;
}

/* Asks, and takes it where that is the answer. */
static enum policy_answer ask_and_take(struct fixture *f, int64_t now_s)
{
	enum policy_answer answer = ask(f, now_s);

	if (answer == POLICY_TAKEN)
		policy_taken(&f->p, &f->reply, f->c.tenant, f->result.verdict, now_s);
	return answer;
}

#define EXPECT(f, now_s, want)                                                   \
	do {                                                                     \
		enum policy_answer is_ = ask_and_take(f, now_s);                 \
                                                                                 \
		cr_expect_eq(is_, want, "%s, not %s: %s", policy_answer_id(is_), \
			     policy_answer_id(want), (f)->reply.text);           \
	} while (0)

static void expect_told(const struct fixture *f, const char *words)
{
	cr_expect(strstr(f->reply.text, words), "%s is not in: %s", words, f->reply.text);
}

Test(policy, writes_down_each_answer_with_its_figures)
{
	struct fixture f;

	fixture_init(&f);
	EXPECT(&f, NOW, POLICY_TAKEN);
	cr_expect_str_eq(f.reply.text,
			 "significant: yes, 371 requests hurt, 90.0 % of 412 requests slow (limit "
			 "10 %), 800 % beyond it; unusual: its past is not known; lately: nothing "
			 "like it (Shop.Load (Shop.Web)); budget: yes, 0 of 6 captures in an hour, "
			 "1099.5 GB free (it needs 67.1 MB), 0 us of CPU; running: none");
}

Test(policy, names_of_strangers_are_safe_and_bounded)
{
	struct fixture f;
	char name[3000];

	memset(name, 'a', sizeof(name));
	memcpy(name, "\x1b[31m\n", 6);
	name[sizeof(name) - 1] = '\0';
	fixture_init(&f);
	f.trunk = name;
	EXPECT(&f, NOW, POLICY_TAKEN);
	cr_expect_null(strchr(f.reply.text, '\x1b'));
	cr_expect_null(strchr(f.reply.text, '\n'));
	expect_told(&f, "running: none");
}

Test(policy, takes_what_is_wanted_alone)
{
	struct fixture f;

	fixture_init(&f);
	f.options.on = VERDICT_BIT(VERDICT_STARVED);
	EXPECT(&f, NOW, POLICY_OFF);
	expect_told(&f, "not one of capture-on");
	f.result.verdict = VERDICT_STARVED;
	f.c.no_capture = true;
	EXPECT(&f, NOW, POLICY_OFF);
	expect_told(&f, "capture = off");
	cr_expect_eq(f.asked_past + f.asked_trunk, 0, "the first no decides");
}

static const struct significance {
	double people, value;
	enum policy_answer want;
} significances[] = {
	{0, 0.101, POLICY_SMALL}, {4.9, 0.12, POLICY_SMALL}, {5, 0.101, POLICY_TAKEN},
	{0, 0.126, POLICY_TAKEN}, {1, 0.9, POLICY_TAKEN},
};

Test(policy, takes_what_is_significant)
{
	for (size_t i = 0; i < sizeof(significances) / sizeof(significances[0]); i++) {
		const struct significance *s = &significances[i];
		struct fixture f;

		fixture_init(&f);
		f.c.people = s->people;
		f.result.evidence[0].value = s->value;
		EXPECT(&f, NOW, s->want);
	}
}

static const struct usual {
	struct policy_past past;
	double value;
	enum policy_answer want;
	const char *told;
} usuals[] = {
	{{false, 0, 0, 0}, 0.9, POLICY_TAKEN, "its past is not known"},
	{{true, 1, 0.9, 0.9}, 0.9, POLICY_TAKEN, "its past is not known"},
	{{true, 4, 0.9, 0.9}, 0.9, POLICY_USUAL, "no, so in 90.0 % of the minutes of 4 such hours"},
	{{true, 4, 0.49, 0.9}, 0.9, POLICY_TAKEN, "yes, so in 49.0 %"},
	{{true, 4, 0.9, 0.2}, 0.9, POLICY_TAKEN, "and worse than then"},
	{{true, 4, 0.9, 0.7}, 0.9, POLICY_USUAL, "no, so in"},
};

Test(policy, takes_what_is_unusual)
{
	for (size_t i = 0; i < sizeof(usuals) / sizeof(usuals[0]); i++) {
		struct fixture f;

		fixture_init(&f);
		f.past = usuals[i].past;
		f.result.evidence[0].value = usuals[i].value;
		EXPECT(&f, NOW, usuals[i].want);
		expect_told(&f, usuals[i].told);
		cr_expect_eq(f.asked_past, 1);
	}
}

/* Of progress less is worse. */
Test(policy, a_figure_that_falls_is_worse_when_it_is_lower)
{
	struct fixture f;

	fixture_init(&f);
	f.past = (struct policy_past){true, 4, 0.9, 0.6};
	f.result.evidence[0] = (struct verdict_evidence){FIGURE_PROGRESS, 0.5, 0.8, true};
	EXPECT(&f, NOW, POLICY_USUAL);
	f.result.evidence[0].value = 0.3;
	EXPECT(&f, NOW, POLICY_TAKEN);
}

Test(policy, the_like_rests_and_longer_each_time)
{
	struct fixture f;
	int64_t at = NOW;

	fixture_init(&f);
	f.options.per_hour = POLICY_HOUR_MAX;
	EXPECT(&f, at, POLICY_TAKEN);
	for (int64_t rest = 600; rest < POLICY_COOLDOWN_MOST_S; rest *= 2) {
		EXPECT(&f, at + rest - 1, POLICY_LATELY);
		at += rest;
		EXPECT(&f, at, POLICY_TAKEN);
	}
	for (int i = 0; i < 3; i++) {
		EXPECT(&f, at + POLICY_COOLDOWN_MOST_S - 1, POLICY_LATELY);
		at += POLICY_COOLDOWN_MOST_S;
		EXPECT(&f, at, POLICY_TAKEN);
	}
	at += POLICY_FORGET_S;
	EXPECT(&f, at, POLICY_TAKEN);
	EXPECT(&f, at + 600, POLICY_TAKEN);
}

Test(policy, another_trunk_or_a_worse_verdict_does_not_wait)
{
	struct fixture f;

	fixture_init(&f);
	f.result.verdict = VERDICT_STARVED;
	EXPECT(&f, NOW, POLICY_TAKEN);
	EXPECT(&f, NOW + 40, POLICY_LATELY);
	f.trunk = "Shop.Save (Shop.Web)";
	EXPECT(&f, NOW + 41, POLICY_TAKEN);
	f.trunk = "Shop.Load (Shop.Web)";
	f.result.verdict = VERDICT_INELASTIC;
	EXPECT(&f, NOW + 80, POLICY_TAKEN);
	expect_told(&f, "but starved then");
	EXPECT(&f, NOW + 120, POLICY_LATELY);
	f.result.verdict = VERDICT_STARVED;
	EXPECT(&f, NOW + 121, POLICY_LATELY);
	f.c.identity = "Shop.Mail";
	EXPECT(&f, NOW + 122, POLICY_TAKEN);
}

Test(policy, trunks_that_the_capture_shows_are_not_new)
{
	struct fixture f;

	fixture_init(&f);
	EXPECT(&f, NOW, POLICY_TAKEN);
	policy_seen(&f.p, "Shop.Web", "Shop.Save (Shop.Web)", f.result.verdict, NOW);
	f.trunk = "Shop.Save (Shop.Web)";
	EXPECT(&f, NOW + 40, POLICY_LATELY);
	policy_seen(&f.p, "Shop.Web", policy_evidence(&f.result), f.result.verdict, NOW);
	f.trunk = "";
	EXPECT(&f, NOW + 40, POLICY_LATELY);
	f.c.identity = "Shop.Mail";
	EXPECT(&f, NOW + 41, POLICY_TAKEN);
}

/* A hang uses no CPU. */
Test(policy, without_a_trunk_the_evidence_tells_what_is_alike)
{
	struct fixture f;

	fixture_init(&f);
	f.trunk = "";
	EXPECT(&f, NOW, POLICY_TAKEN);
	expect_told(&f, "nothing like it (requests)");
	EXPECT(&f, NOW + 40, POLICY_LATELY);
	f.result.evidence[0] = (struct verdict_evidence){FIGURE_STUCK, 20e9, 10e9, true};
	EXPECT(&f, NOW + 41, POLICY_LATELY);
	f.result.evidence[0] = (struct verdict_evidence){FIGURE_PROGRESS, 0.2, 0.8, true};
	EXPECT(&f, NOW + 42, POLICY_TAKEN);
	expect_told(&f, "nothing like it (waits)");
}

Test(policy, keeps_to_captures_an_hour)
{
	struct fixture f;
	char trunk[16];

	fixture_init(&f);
	f.trunk = trunk;
	for (int i = 0; i < 8; i++) {
		snprintf(trunk, sizeof(trunk), "%d", i);
		EXPECT(&f, NOW + i * MINUTE, i < 4 ? POLICY_TAKEN : POLICY_HOUR);
	}
	expect_told(
		&f,
		"budget: no, 4 of 6 captures in an hour (the rest is for tenants that had none)");
	EXPECT(&f, NOW + HOUR - 1, POLICY_HOUR);
	EXPECT(&f, NOW + HOUR, POLICY_TAKEN);
	EXPECT(&f, NOW + HOUR + 1, POLICY_LATELY);
	f.options.per_hour = 0;
	snprintf(trunk, sizeof(trunk), "other");
	EXPECT(&f, NOW + 9 * HOUR, POLICY_HOUR);
}

/* Four services of one user do not take the captures of a fifth of another's; nor does one that has
 * its name. */
Test(policy, a_quarter_is_kept_for_tenants_that_had_none)
{
	static const uint64_t tenants[] = {7, 7, 7, 7, 7, 8, 8, 9, 10};
	static const enum policy_answer want[] = {
		POLICY_TAKEN, POLICY_TAKEN, POLICY_TAKEN, POLICY_TAKEN, POLICY_HOUR,
		POLICY_TAKEN, POLICY_HOUR,  POLICY_TAKEN, POLICY_HOUR,
	};
	struct fixture f;
	char identity[32];

	fixture_init(&f);
	f.c.identity = identity;
	for (int i = 0; i < 9; i++) {
		f.c.tenant = tenants[i];
		snprintf(identity, sizeof(identity), "Shop.Web\nuid %d", i);
		EXPECT(&f, NOW + i * MINUTE, want[i]);
	}
	f.options.per_hour = 1;
	EXPECT(&f, NOW + 2 * HOUR, POLICY_TAKEN);
}

Test(policy, keeps_to_room_on_the_disk)
{
	struct fixture f;

	fixture_init(&f);
	f.means.free_bytes = POLICY_ROOM_BYTES - 1;
	EXPECT(&f, NOW, POLICY_DISK);
	expect_told(&f, "67.1 MB free (it needs 67.1 MB)");
	f.means = (struct policy_means){.free_bytes = 399ull << 20, .last_bytes = 100ull << 20};
	EXPECT(&f, NOW, POLICY_DISK);
	f.means.free_bytes = 400ull << 20;
	EXPECT(&f, NOW, POLICY_TAKEN);
	fixture_init(&f);
	f.means.free_bytes = UINT64_MAX;
	EXPECT(&f, NOW, POLICY_TAKEN);
	expect_told(&f, "free space not known");
}

Test(policy, keeps_to_CPU_time_of_reports)
{
	struct fixture f;

	fixture_init(&f);
	f.means.cpu_granted_ns = 36000000000;
	policy_spent(&f.p, 30000000000, NOW);
	policy_spent(&f.p, 5999999999, NOW + 10 * MINUTE);
	EXPECT(&f, NOW + 11 * MINUTE, POLICY_TAKEN);
	policy_spent(&f.p, 1, NOW + 12 * MINUTE);
	f.trunk = "other";
	EXPECT(&f, NOW + 13 * MINUTE, POLICY_CPU);
	expect_told(&f, "36.0 s of 36.0 s of CPU");
	EXPECT(&f, NOW + HOUR + MINUTE, POLICY_TAKEN);
}

Test(policy, what_runs_holds_who_comes_later)
{
	struct fixture f;

	fixture_init(&f);
	f.means.running = "web-20261121T190000Z-auto.hotrun";
	f.means.running_left_s = POLICY_HELD_S;
	EXPECT(&f, NOW, POLICY_RUNNING);
	cr_expect(policy_holds(&f.means));
	policy_held(&f.p, &f.reply, f.result.verdict, NOW);
	f.means.running = NULL;
	EXPECT(&f, NOW + 30, POLICY_LATELY);
	EXPECT(&f, NOW + 600, POLICY_TAKEN);
	EXPECT(&f, NOW + 1799, POLICY_LATELY);
	EXPECT(&f, NOW + 1800, POLICY_TAKEN);
	f.means.running = "x";
	f.means.running_left_s = POLICY_HELD_S - 1;
	cr_expect_not(policy_holds(&f.means));
}

Test(policy, memory_is_bounded_and_the_latest_stay)
{
	struct fixture f;
	char trunk[16];

	fixture_init(&f);
	f.trunk = trunk;
	for (int i = 0; i <= POLICY_LIKES; i++) {
		snprintf(trunk, sizeof(trunk), "%d", i);
		ask(&f, NOW + i);
		policy_held(&f.p, &f.reply, f.result.verdict, NOW + i);
	}
	EXPECT(&f, NOW + POLICY_LIKES + 1, POLICY_LATELY);
	snprintf(trunk, sizeof(trunk), "1");
	EXPECT(&f, NOW + POLICY_LIKES + 1, POLICY_LATELY);
	snprintf(trunk, sizeof(trunk), "0");
	EXPECT(&f, NOW + POLICY_LIKES + 1, POLICY_TAKEN);
}

/* 200 stalls of one kind in a day, one each 432 s: with 600 s of rest, then 1,200, ... up to 21,600
 * those at 0, 864, 2160, 4752, 9936, 19872, 39312, 60912 and 82512 s. */
Test(policy, a_day_with_200_like_stalls)
{
	static const int64_t want[] = {0, 864, 2160, 4752, 9936, 19872, 39312, 60912, 82512};
	struct fixture f;
	size_t taken = 0;

	fixture_init(&f);
	for (int64_t i = 0; i < 200; i++) {
		/* Each lasts for 5 s, and is asked about in each. */
		for (int64_t s = 0; s < 5; s++) {
			if (ask_and_take(&f, NOW + i * 432 + s) != POLICY_TAKEN)
				continue;
			cr_assert_lt(taken, sizeof(want) / sizeof(want[0]));
			cr_expect_eq(i * 432 + s, want[taken], "at %lld s",
				     (long long)(i * 432 + s));
			taken++;
		}
	}
	cr_expect_eq(taken, sizeof(want) / sizeof(want[0]));
}

/* The worst that a process can do: a trunk of its own in each second. */
Test(policy, a_day_of_ever_new_trunks_keeps_to_the_budget)
{
	struct fixture f;
	unsigned int taken = 0;
	char trunk[32];

	fixture_init(&f);
	f.trunk = trunk;
	for (int64_t s = 0; s < 24 * HOUR; s++) {
		snprintf(trunk, sizeof(trunk), "%lld", (long long)s);
		taken += ask_and_take(&f, NOW + s) == POLICY_TAKEN;
	}
	cr_expect_eq(taken, 24 * 4);
}

Test(policy, answers_have_ids)
{
	for (int i = 0; i < POLICY_ANSWER_CNT; i++)
		for (int k = 0; k < i; k++)
			cr_expect_neq(strcmp(policy_answer_id((enum policy_answer)i),
					     policy_answer_id((enum policy_answer)k)),
				      0);
}
