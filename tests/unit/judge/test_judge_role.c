/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <criterion/criterion.h>
#include <linux/types.h>
#include <stdio.h>
#include <string.h>

#include "bpf/events.h"
#include "build_model.h"
#include "judge/remedy.h"
#include "judge/role.h"

struct role_case {
	const char *comm;
	bool main;
	enum role role;
};

static const struct role_case cases[] = {
	{".NET TP Worker", false, ROLE_POOL_WORKER},
	{".NET TP Gate", false, ROLE_POOL_GATE},
	{".NET TP Wait", false, ROLE_POOL_WAIT},
	{".NET Timer", false, ROLE_TIMER},
	{".NET Finalizer", false, ROLE_FINALIZER},
	{".NET Server GC", false, ROLE_GC_SERVER},
	{".NET BGC", false, ROLE_GC_BACKGROUND},
	{".NET Tiered Com", false, ROLE_TIERING},
	{".NET Tiered JIT", false, ROLE_TIERING},
	{".NET Sockets", false, ROLE_SOCKETS},
	{".NET EventPipe", false, ROLE_DIAGNOSTICS},
	{".NET SynchManag", false, ROLE_SIGNALS},
	{"Console logger ", false, ROLE_CONSOLE_LOGGER},
	{"Shop.Api", true, ROLE_MAIN},
	{".NET TP Worker", true, ROLE_MAIN},
	{"Shop.Api", false, ROLE_OWN},
	{".NET", false, ROLE_OWN},
	{"", false, ROLE_OWN},
};

Test(role, is_told_by_the_name_of_the_thread)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		cr_expect_eq(role_of(cases[i].comm, cases[i].main), cases[i].role, "%s",
			     cases[i].comm);
}

struct fold_case {
	const char *comm, *folded;
};

static const struct fold_case folds[] = {
	{"outbox-1", "outbox-#"},
	{"outbox-1234", "outbox-#"},
	{"7", "#"},
	{"a1b22c", "a#b#c"},
	{"plain", "plain"},
	{"", ""},
	{"#1", "#"},
};

Test(role, own_names_fold_their_digits)
{
	for (size_t i = 0; i < sizeof(folds) / sizeof(folds[0]); i++) {
		char buf[32];

		role_fold_digits(buf, sizeof(buf), folds[i].comm);
		cr_expect_str_eq(buf, folds[i].folded);
	}
}

Test(role, folding_stays_inside_its_buffer)
{
	char buf[4] = "zzz";

	role_fold_digits(buf, 3, "abcdef");
	cr_expect_str_eq(buf, "ab");
	cr_expect_eq(buf[3], '\0');
}

Test(role, sums_exact_time_by_role_with_most_first)
{
	struct model *m = build_model(2, 99);
	uint32_t p = build_process(m, 100, "app", PROCESS_DOTNET);
	uint32_t other = build_process(m, 200, "other", 0);
	struct roles *roles;

	build_thread(m, p, 100, "app", BUILD_SECOND, 'S');
	build_thread(m, p, 101, ".NET TP Worker", 3 * BUILD_SECOND, 'S');
	build_thread(m, p, 102, ".NET TP Worker", 2 * BUILD_SECOND, 'S');
	build_thread(m, p, 103, ".NET TP Worker", 0, 'S');
	build_thread(m, p, 104, "lane 1", 1, 'S');
	build_thread(m, p, 105, "lane 23", 1, 'S');
	build_thread(m, other, 200, ".NET TP Worker", 9 * BUILD_SECOND, 'S');
	roles = roles_new(m, p);
	cr_assert(roles);
	cr_assert_eq(roles->rows_cnt, 3);
	cr_expect_eq(roles->on_cpu_ns, 6 * BUILD_SECOND + 2);
	cr_expect_eq(roles->rows[0].role, ROLE_POOL_WORKER);
	cr_expect_eq(roles->rows[0].on_cpu_ns, 5 * BUILD_SECOND);
	cr_expect_eq(roles->rows[0].threads, 3);
	cr_expect_eq(roles->rows[0].threads_ran, 2);
	cr_expect_eq(roles->rows[1].role, ROLE_MAIN);
	cr_expect_str_eq(roles->rows[2].label, "lane #");
	cr_expect_eq(roles->rows[2].threads, 2);
	roles_free(roles);
	model_free(m);
}

Test(role, a_thread_that_takes_the_name_of_a_role_stays_apart_from_it)
{
	struct model *m = build_model(2, 99);
	uint32_t p = build_process(m, 100, "app", 0);
	struct roles *roles;

	build_thread(m, p, 101, "timers", 1, 'S');
	build_thread(m, p, 102, ".NET Timer", 1, 'S');
	roles = roles_new(m, p);
	cr_expect_eq(roles->rows_cnt, 2);
	roles_free(roles);
	model_free(m);
}

Test(remedy, is_there_for_what_a_person_can_change)
{
	cr_expect(strstr(remedy_reason(REASON_NO_PERF_MAP), "DOTNET_PerfMapEnabled=3"));
	cr_expect(strstr(remedy_reason(REASON_TRUNCATED), "kernel.perf_event_max_stack"));
	cr_expect(strstr(remedy_reason(REASON_KALLSYMS_HIDDEN), "kernel.kptr_restrict"));
	cr_expect(remedy_loss(LOSS_SAMPLE_RING_FULL)[0]);
	for (enum stack_end end = 0; end < STACK_END_CNT; end++)
		cr_expect_eq(!remedy_end(end)[0], end == STACK_END_ROOT);
	cr_expect_str_eq(remedy_reason(REASON_NAMED), "");
	cr_expect_str_eq(remedy_reason(REASON_CNT), "");
	cr_expect_str_eq(remedy_loss(LOSS_CAUSE_CNT), "");
}
