/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <criterion/criterion.h>
#include <linux/types.h>

#include "model/fair.h"

/* So many processes of one cgroup. */
static void add_processes(struct model *m, uint64_t cgroup_id, uint32_t cnt)
{
	model_cgroup_get(m, cgroup_id);
	for (uint32_t i = 0; i < cnt; i++) {
		uint32_t row = model_process_get(m, (uint32_t)m->processes_cnt + 10, 1000);

		m->processes[row].cgroup_id = cgroup_id;
	}
}

/* As much as it gets; returns how much. */
static uint32_t take_all(struct fair *fair, const struct model *m, uint32_t process)
{
	uint32_t taken = 0;

	while (taken < 1000000 && fair_take(fair, m, process))
		taken++;
	return taken;
}

Test(fair, nobody_has_more_than_its_most)
{
	struct fair fair = {.most = 100000, .most_of_cgroup = 1000, .most_of_process = 200};
	struct model *m = model_new();

	add_processes(m, 5, 2);
	cr_expect_eq(take_all(&fair, m, 0), 200);
	cr_expect_eq(take_all(&fair, m, 1), 200);
	fair_begin_anew(&fair);
	cr_expect_eq(take_all(&fair, m, 0), 200);
	fair_clear(&fair);
	model_free(m);
}

Test(fair, who_comes_late_finds_some)
{
	struct fair fair = {.most = 4096, .most_of_cgroup = 1024, .most_of_process = 1024};
	struct model *m = model_new();

	for (uint64_t cgroup = 1; cgroup <= 6; cgroup++)
		add_processes(m, cgroup, 5);
	for (uint32_t i = 0; i < 30; i++)
		cr_expect_geq(take_all(&fair, m, i), 5, "%u", i);
	cr_expect_leq(fair.held, 4096);
	fair_clear(&fair);
	model_free(m);
}

Test(fair, the_least_is_there_until_all_is_gone)
{
	struct fair fair = {.most = 100, .most_of_cgroup = 40, .most_of_process = 40, .least = 10};
	struct model *m = model_new();

	add_processes(m, 5, 20);
	for (uint32_t i = 0; i < 8; i++)
		cr_expect_geq(take_all(&fair, m, i), 10, "%u", i);
	for (uint32_t i = 8; i < 20; i++)
		take_all(&fair, m, i);
	cr_expect_eq(fair.held, 100);
	fair_clear(&fair);
	model_free(m);
}
