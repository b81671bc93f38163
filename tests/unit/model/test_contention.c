/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who ran while others waited. */
#include <criterion/criterion.h>

#include "build_model.h"
#include "model/contention.h"

/* Processes 10, 20, 30, 40 are rows 3, 2, 1, 0: order by row is not order by pid. */
enum { PID_40, PID_30, PID_20, PID_10 };

static struct model *four_processes(void)
{
	struct model *m = build_model(1, 99);

	for (uint32_t tgid = 40; tgid; tgid -= 10)
		build_process(m, tgid, "p", 0);
	return m;
}

static struct contention *pairs(const struct model *m)
{
	struct contention *c = contention_new(m);

	cr_assert(c);
	return c;
}

static void expect_rows(const char *name, const struct contention_list *list,
			const struct contention_row *rows, size_t cnt)
{
	uint64_t weight = 0;

	cr_assert_eq(list->rows_cnt, cnt, "%s: %zu rows", name, list->rows_cnt);
	for (size_t i = 0; i < cnt; i++) {
		cr_expect_eq(list->rows[i].process, rows[i].process, "%s, row %zu: %u", name, i,
			     list->rows[i].process);
		cr_expect_eq(list->rows[i].weight, rows[i].weight, "%s, row %zu", name, i);
		weight += rows[i].weight;
	}
	cr_expect_eq(list->weight, weight, "%s", name);
}

Test(contention, pairs_are_summed_over_the_slices)
{
	struct model *m = four_processes();
	struct contention *c;

	build_contention(m, 0, PID_10, PID_20, 1000);
	build_contention(m, 0, PID_20, PID_10, 500);
	build_contention(m, 1, PID_10, PID_20, 2000);
	build_contention(m, 1, PID_10, PID_10, 100);
	build_contention(m, 2, PID_10, MODEL_NONE, 700);
	c = pairs(m);
	cr_assert_eq(c->pairs_cnt, 4);
	cr_expect(c->pairs[0].runner == PID_10 && c->pairs[0].waiter == PID_20 &&
		  c->pairs[0].weight == 3000);
	cr_expect(c->pairs[1].waiter == MODEL_NONE && c->pairs[1].weight == 700);
	cr_expect(c->pairs[2].runner == PID_20 && c->pairs[2].weight == 500);
	cr_expect(c->pairs[3].runner == c->pairs[3].waiter && c->pairs[3].weight == 100);
	cr_expect_eq(c->weight, 4300);
	cr_expect_eq(c->behind_others, 3500, "neither own threads nor the unknown");
	contention_free(c);
	model_free(m);
}

Test(contention, among_equals_the_order_is_by_pid_and_the_unknown_come_last)
{
	static const struct {
		uint32_t runner, waiter;
	} order[] = {{PID_10, PID_30}, {PID_10, MODEL_NONE}, {PID_20, PID_10}, {PID_30, PID_10}};
	struct model *m = four_processes();
	struct contention *c;

	build_contention(m, 0, PID_30, PID_10, 5);
	build_contention(m, 0, PID_10, MODEL_NONE, 5);
	build_contention(m, 0, PID_20, PID_10, 5);
	build_contention(m, 0, PID_10, PID_30, 5);
	c = pairs(m);
	cr_assert_eq(c->pairs_cnt, 4);
	for (size_t i = 0; i < 4; i++) {
		cr_expect_eq(c->pairs[i].runner, order[i].runner, "%zu", i);
		cr_expect_eq(c->pairs[i].waiter, order[i].waiter, "%zu", i);
	}
	contention_free(c);
	model_free(m);
}

Test(contention, names_aggressors_and_victims_without_the_process_itself)
{
	struct model *m = four_processes();
	struct contention_list list = {0};
	struct contention *c;

	build_contention(m, 0, PID_10, PID_20, 10);
	build_contention(m, 0, PID_10, PID_30, 30);
	build_contention(m, 0, PID_10, MODEL_NONE, 20);
	build_contention(m, 0, PID_10, PID_10, 99);
	build_contention(m, 0, PID_30, PID_20, 10);
	build_contention(m, 0, PID_20, PID_10, 1);
	c = pairs(m);
	cr_assert_eq(contention_victims(c, m, PID_10, &list), 0);
	expect_rows("victims of 10", &list,
		    (struct contention_row[]){{PID_30, 30}, {MODEL_NONE, 20}, {PID_20, 10}}, 3);
	contention_list_clear(&list);
	cr_assert_eq(contention_aggressors(c, m, PID_20, &list), 0);
	expect_rows("aggressors of 20", &list,
		    (struct contention_row[]){{PID_10, 10}, {PID_30, 10}}, 2);
	contention_list_clear(&list);
	cr_assert_eq(contention_aggressors(c, m, PID_10, &list), 0);
	expect_rows("aggressors of 10", &list, (struct contention_row[]){{PID_20, 1}}, 1);
	contention_list_clear(&list);
	cr_assert_eq(contention_victims(c, m, PID_40, &list), 0);
	expect_rows("victims of one that never ran", &list, NULL, 0);
	contention_list_clear(&list);
	contention_free(c);
	model_free(m);
}

Test(contention, a_capture_without_waiting_has_no_pairs)
{
	struct model *m = four_processes();
	struct contention *c = pairs(m);

	cr_expect_eq(c->pairs_cnt + c->weight + c->behind_others, 0);
	contention_free(c);
	contention_free(NULL);
	model_free(m);
}

Test(contention, waits_behind_own_threads_are_estimated_by_the_pairs)
{
	struct model *m = four_processes();
	struct sched_sum sums[4] = {0};
	struct sched s = {.processes = sums};
	struct contention *c;

	build_contention(m, 0, PID_10, PID_10, 300);
	build_contention(m, 0, PID_20, PID_10, 100);
	build_contention(m, 0, PID_10, PID_20, 50);
	build_contention(m, 0, PID_10, MODEL_NONE, 999);
	sums[PID_10].sched.waited_ns = 8000;
	sums[PID_20].sched.waited_ns = 8000;
	sums[PID_30].sched.waited_ns = 8000;
	c = pairs(m);
	cr_assert_eq(contention_estimate_own(c, m, &s), 0);
	cr_expect_eq(sums[PID_10].sched.behind_own_ns, 6000u);
	cr_expect_eq(sums[PID_20].sched.behind_own_ns, 0u);
	cr_expect_eq(sums[PID_30].sched.behind_own_ns, 0u, "without pairs");
	contention_free(c);
	model_free(m);
}
