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
	wakeup(&h, 2100, 1, h.a, h.b, 0);
	turn(&h, 2101, 0, h.c, h.a, 0);
	turn(&h, 2150, 0, h.a, h.c, 0);
	t = made(&h, 0, 3000);
	cr_assert_eq(t->turns_cnt, 4);
	cr_expect_eq(turn_waited(&t->turns[3]), 49 * MS);
	cr_expect_eq(t->turns[3].waker, h.b);
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
