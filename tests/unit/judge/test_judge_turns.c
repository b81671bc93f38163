/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Turns of threads on CPUs, out of single switches. */
#include <criterion/criterion.h>

#include "build_model.h"
#include "judge/turns.h"

#define MS 1000000ull

struct host {
	struct model *m;
	uint32_t a, b, c; /* threads, each of a process of its own */
};

/* Two CPUs for three seconds, without switches. */
static struct host make(void)
{
	struct host h = {.m = build_model(2, 99)};

	h.a = build_thread(h.m, build_process(h.m, 100, "a", 0), 100, "a", 0, 'R');
	h.b = build_thread(h.m, build_process(h.m, 200, "b", 0), 200, "b", 0, 'R');
	h.c = build_thread(h.m, build_process(h.m, 300, "c", 0), 300, "c", 0, 'R');
	build_books(h.m, 3);
	return h;
}

static void begins(const struct host *h, uint64_t ms, uint32_t cpu, uint32_t thread)
{
	build_switch(h->m, ms * MS,
		     (struct model_switch){.cpu = cpu,
					   .thread = thread,
					   .other = MODEL_NONE,
					   .state = '-',
					   .flags = SWITCH_BEGINS});
}

static void turn(const struct host *h, uint64_t ms, uint32_t cpu, uint32_t to, uint32_t from,
		 uint8_t flags)
{
	build_switch(
		h->m, ms * MS,
		(struct model_switch){.cpu = cpu, .thread = to, .other = from, .flags = flags});
}

static void wakeup(const struct host *h, uint64_t ms, uint32_t cpu, uint32_t woken, uint32_t by,
		   uint8_t flags)
{
	build_switch(h->m, ms * MS,
		     (struct model_switch){.cpu = cpu,
					   .thread = woken,
					   .other = by,
					   .kind = SWITCH_WAKEUP,
					   .flags = flags});
}

static struct turns *made(const struct host *h, uint64_t from_ms, uint64_t to_ms)
{
	struct turns *t =
		turns_new(h->m, BUILD_START_NS + from_ms * MS, BUILD_START_NS + to_ms * MS);

	cr_assert(t);
	return t;
}

static void done(struct host *h, struct turns *t)
{
	turns_free(t);
	model_free(h->m);
}

Test(turns, of_a_capture_without_switches_there_are_none)
{
	struct host h = make();
	struct turns *t = made(&h, 0, 3000);

	cr_expect_eq(t->windows, 0);
	cr_expect_eq(t->turns_cnt, 0);
	done(&h, t);
}

/* a runs, is preempted by b, which was woken by an interrupt while a ran; then c comes. */
static void fill(const struct host *h)
{
	begins(h, 2000, 0, h->a);
	begins(h, 2000, 1, MODEL_NONE);
	wakeup(h, 2100, 0, h->b, h->a, SWITCH_IN_IRQ);
	turn(h, 2110, 0, h->b, h->a, SWITCH_PREEMPTED);
	wakeup(h, 2200, 0, h->c, h->b, 0);
	turn(h, 2300, 0, h->c, h->b, 0);
	turn(h, 2350, 0, h->a, h->c, SWITCH_PREEMPTED);
	turn(h, 2900, 0, MODEL_NONE, h->a, 0);
}

Test(turns, each_cpu_is_whole)
{
	struct host h = make();
	struct turns *t;

	fill(&h);
	t = made(&h, 0, 3000);
	cr_expect_eq(t->windows, 1);
	cr_expect_eq(t->from_ns, BUILD_START_NS + 2000 * MS);
	cr_expect_eq(t->length_ns, 1000 * MS);
	cr_expect_eq(t->wakeups, 2);
	cr_expect_eq(t->cpus[0].busy_ns, 900 * MS);
	cr_expect_eq(t->cpus[0].idle_ns, 100 * MS);
	cr_expect_eq(t->cpus[0].turns, 4);
	cr_expect_eq(t->cpus[1].idle_ns, 1000 * MS);
	cr_expect_eq(t->threads[h.a].ran_ns, (110 + 550) * MS);
	cr_expect_eq(t->threads[h.b].ran_ns, 190 * MS);
	cr_expect_eq(t->threads[h.c].ran_ns, 50 * MS);
	done(&h, t);
}

Test(turns, who_waited_for_how_long_and_behind_whom)
{
	struct turn_behind behind[4];
	struct host h = make();
	const struct turn *b, *c, *a;
	struct turns *t;

	fill(&h);
	t = made(&h, 0, 3000);
	/* In the order of their beginnings: a, idle, b, c, a, idle. */
	cr_assert_eq(t->turns_cnt, 6);
	b = &t->turns[2], c = &t->turns[3], a = &t->turns[4];
	cr_expect_eq(turn_waited(b), 10 * MS);
	cr_expect(b->woken && b->by_irq);
	cr_expect_eq(turn_waited(c), 100 * MS);
	cr_expect(c->woken && !c->by_irq);
	cr_expect_eq(c->waker, h.b);
	cr_expect_eq(c->waker_turn, 2);
	cr_expect(c->preempted);
	/* Preempted, it waited for two others. */
	cr_expect_eq(turn_waited(a), 240 * MS);
	cr_expect(!a->woken);
	cr_expect_eq(turns_behind(t, 4, behind, 4), 2);
	cr_expect_eq(behind[0].thread, h.b);
	cr_expect_eq(behind[0].ns, 190 * MS);
	cr_expect_eq(behind[1].thread, h.c);
	cr_expect_eq(behind[1].ns, 50 * MS);
	cr_expect_eq(t->threads[h.a].longest, 4);
	cr_expect_eq(turns_behind(t, 0, behind, 4), 0, "since when it waited is not known");
	done(&h, t);
}

Test(turns, of_a_part_only_what_lies_in_it_counts)
{
	struct host h = make();
	struct turns *t;

	fill(&h);
	t = made(&h, 2320, 2400);
	cr_expect_eq(t->length_ns, 80 * MS);
	cr_expect_eq(t->cpus[0].busy_ns, 80 * MS);
	cr_expect_eq(t->threads[h.c].ran_ns, 30 * MS);
	cr_expect_eq(t->threads[h.c].waits, 0, "it ended before");
	cr_expect_eq(t->threads[h.a].waits, 1);
	cr_expect_eq(t->threads[h.b].ran_ns, 0);
	done(&h, t);
}

Test(turns, who_is_woken_on_its_way_to_sleep_waits_from_there_on)
{
	struct host h = make();
	struct turns *t;

	begins(&h, 2000, 0, h.a);
	begins(&h, 2000, 1, h.b);
	build_switch(h.m, 2101 * MS - 50000,
		     (struct model_switch){
			     .cpu = 1, .thread = h.a, .other = h.b, .kind = SWITCH_WAKEUP});
	turn(&h, 2101, 0, h.c, h.a, 0);
	turn(&h, 2150, 0, h.a, h.c, 0);
	t = made(&h, 0, 3000);
	cr_assert_eq(t->turns_cnt, 4);
	cr_expect_eq(turn_waited(&t->turns[3]), 49 * MS);
	cr_expect_eq(t->turns[3].waker, h.b);
	done(&h, t);
}

Test(turns, who_was_woken_while_it_ran_and_slept_later_waits_from_its_next_wakeup_on)
{
	struct host h = make();
	struct turns *t;

	begins(&h, 2000, 0, h.a);
	begins(&h, 2000, 1, h.b);
	wakeup(&h, 2010, 1, h.a, h.b, 0);
	turn(&h, 2050, 0, MODEL_NONE, h.a, 0);
	wakeup(&h, 2450, 1, h.a, h.b, 0);
	turn(&h, 2451, 0, h.a, MODEL_NONE, 0);
	/* Woken twice without a switch that was seen, the second one counts. */
	turn(&h, 2500, 0, MODEL_NONE, h.a, 0);
	wakeup(&h, 2600, 1, h.a, h.b, SWITCH_IN_IRQ);
	wakeup(&h, 2700, 1, h.a, h.b, 0);
	turn(&h, 2702, 0, h.a, MODEL_NONE, 0);
	t = made(&h, 0, 3000);
	cr_assert_eq(t->turns_cnt, 6);
	cr_expect_eq(turn_waited(&t->turns[3]), MS);
	cr_expect_eq(turn_waited(&t->turns[5]), 2 * MS);
	cr_expect(!t->turns[5].by_irq);
	done(&h, t);
}

Test(turns, an_idle_cpu_is_not_nobody)
{
	struct turn_behind behind[4];
	struct host h = make();
	struct turns *t;

	begins(&h, 2000, 0, MODEL_NONE);
	wakeup(&h, 2100, 0, h.a, MODEL_NONE, SWITCH_IN_IRQ);
	turn(&h, 2103, 0, h.a, MODEL_NONE, 0);
	t = made(&h, 0, 3000);
	cr_expect_eq(turns_behind(t, 1, behind, 4), 1);
	cr_expect(behind[0].idle);
	cr_expect_eq(behind[0].ns, 3 * MS);
	done(&h, t);
}

/* A million windows cost what a million rows do. */
Test(turns, many_windows, .timeout = 20)
{
	struct host h = make();
	struct turns *t;

	for (uint32_t i = 0; i < 100000; i++)
		build_thread(h.m, 0, 1000 + i, "t", 0, 'S');
	for (uint64_t i = 0; i < 200000; i++)
		build_switch(h.m, 2000 * MS + i,
			     (struct model_switch){.cpu = 60000,
						   .thread = h.a,
						   .other = MODEL_NONE,
						   .flags = SWITCH_BEGINS});
	t = made(&h, 0, 3000);
	cr_expect_eq(t->windows, 200000);
	done(&h, t);
}

Test(turns, a_part_of_a_capture_knows_whose_turn_it_is)
{
	struct host h = make();
	struct turns *t;

	begins(&h, 500, 0, h.a);
	begins(&h, 500, 1, h.b);
	turn(&h, 800, 0, h.c, h.a, SWITCH_PREEMPTED);
	turn(&h, 2500, 0, h.a, h.c, 0);
	model_keep_slices(h.m, 2, 2);
	t = made(&h, 0, 3000);
	cr_expect_eq(t->length_ns, 1000 * MS);
	cr_expect_eq(t->threads[h.b].ran_ns, 1000 * MS);
	cr_expect_eq(t->threads[h.c].ran_ns, 500 * MS);
	cr_expect_eq(t->threads[h.a].ran_ns, 500 * MS);
	done(&h, t);
}

Test(turns, windows_do_not_flow_into_each_other)
{
	struct host h = make();
	struct turns *t;

	begins(&h, 500, 0, h.a);
	turn(&h, 600, 0, h.b, h.a, SWITCH_PREEMPTED);
	begins(&h, 2500, 0, h.a);
	turn(&h, 2600, 0, h.b, h.a, SWITCH_PREEMPTED);
	t = made(&h, 0, 3000);
	cr_expect_eq(t->windows, 2);
	cr_expect_eq(t->length_ns, 1000 * MS);
	cr_expect_eq(t->cpus[0].busy_ns, 1000 * MS);
	cr_expect_eq(t->threads[h.a].waits, 0);
	done(&h, t);
}

static bool everybody(void *ctx, const struct turn *turn)
{
	(void)ctx;
	(void)turn;
	return true;
}

static bool not_that_one(void *ctx, const struct turn *turn)
{
	return turn->thread != *(const uint32_t *)ctx;
}

Test(turns, the_longest_waits_come_first)
{
	uint32_t longest[8];
	struct host h = make();
	struct turns *t;

	fill(&h);
	t = made(&h, 0, 3000);
	cr_expect_eq(turns_longest(t, everybody, NULL, longest, 8), 3);
	cr_expect_eq(longest[0], 4);
	cr_expect_eq(longest[1], 3);
	cr_expect_eq(longest[2], 2);
	cr_expect_eq(turns_longest(t, everybody, NULL, longest, 2), 2);
	cr_expect_eq(longest[1], 3);
	cr_expect_eq(turns_longest(t, not_that_one, &h.a, longest, 1), 1);
	cr_expect_eq(longest[0], 3);
	done(&h, t);
}
