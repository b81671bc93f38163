/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <criterion/criterion.h>
#include <linux/types.h>
#include <stdio.h>
#include <string.h>

#include "bpf/events.h"
#include "names/exec_names.h"

static struct event_exec exec_at(uint64_t time_ns, uint32_t tgid, const char *args, size_t bytes)
{
	struct event_exec exec = {.time_ns = time_ns, .tgid = tgid, .args_bytes = (__u32)bytes};

	memcpy(exec.args, args, bytes);
	return exec;
}

static struct model *model_with(uint32_t tgid, uint64_t born_ns)
{
	struct model *m = model_new();

	cr_assert_eq(model_process_born(m, tgid, born_ns), 0);
	m->processes[0].name = m->processes[0].comm = model_str(m, "dotnet");
	return m;
}

#define ARGS "dotnet\0/srv/Shop.Api.dll"

Test(exec_names, named_when_its_life_is_known_to_that_time)
{
	struct event_exec exec = exec_at(200, 7, ARGS, sizeof(ARGS));
	struct model *m = model_with(7, 100);
	struct exec_names e = {0};

	exec_names_add(&e, &exec);
	exec_names_apply(&e, m, 199);
	cr_expect_str_eq(m->processes[0].name, "dotnet", "it may have called exec since");
	exec_names_apply(&e, m, 200);
	cr_expect_str_eq(m->processes[0].name, "Shop.Api");
	cr_expect_eq(e.cnt, 0);
	exec_names_clear(&e);
	model_free(m);
}

Test(exec_names, what_proc_told_stays)
{
	struct event_exec exec = exec_at(200, 7, ARGS, sizeof(ARGS));
	struct model *m = model_with(7, 100);
	struct exec_names e = {0};

	m->processes[0].name = model_str(m, "Other");
	exec_names_add(&e, &exec);
	exec_names_apply(&e, m, 300);
	cr_expect_str_eq(m->processes[0].name, "Other");
	exec_names_clear(&e);
	model_free(m);
}

Test(exec_names, a_program_that_was_executed_since_is_another)
{
	struct event_exec first = exec_at(200, 7, ARGS, sizeof(ARGS));
	struct event_exec second = exec_at(210, 7, "dotnet\0/srv/Other.dll", 22);
	struct model *m = model_with(7, 100);
	struct exec_names e = {0};

	exec_names_add(&e, &first);
	m->processes[0].name = m->processes[0].comm = model_str(m, "sleep");
	exec_names_apply(&e, m, 300);
	cr_expect_str_eq(m->processes[0].name, "sleep");

	m->processes[0].name = m->processes[0].comm = model_str(m, "dotnet");
	exec_names_add(&e, &first);
	exec_names_add(&e, &second);
	exec_names_apply(&e, m, 300);
	cr_expect_str_eq(m->processes[0].name, "Other");
	exec_names_clear(&e);
	model_free(m);
}

Test(exec_names, who_had_the_id_before_is_not_named)
{
	struct event_exec exec = exec_at(200, 7, ARGS, sizeof(ARGS));
	struct model *m = model_with(7, 100);
	struct exec_names e = {0};

	m->processes[0].start_ns = 99;
	m->processes[0].start_exact = true;
	exec.process_start_ns = 150;
	exec_names_add(&e, &exec);
	exec_names_apply(&e, m, 300);
	cr_expect_str_eq(m->processes[0].name, "dotnet");
	exec_names_clear(&e);
	model_free(m);
}

Test(exec_names, an_argument_that_was_cut_is_none)
{
	/* Whole, it would end otherwise. */
	struct event_exec exec = exec_at(200, 7, ARGS, sizeof(ARGS) - 1);
	struct event_exec none = exec_at(200, 7, "dotnet", 6);
	struct model *m = model_with(7, 100);
	struct exec_names e = {0};

	exec_names_add(&e, &none);
	cr_expect_eq(e.cnt, 0);
	exec_names_add(&e, &exec);
	exec_names_apply(&e, m, 300);
	cr_expect_str_eq(m->processes[0].name, "dotnet");
	exec_names_clear(&e);
	model_free(m);
}

Test(exec_names, those_of_unknown_processes_and_of_a_storm_are_let_go)
{
	struct event_exec exec = exec_at(200, 8, ARGS, sizeof(ARGS));
	struct model *m = model_with(7, 100);
	struct exec_names e = {0};

	for (int i = 0; i < 100000; i++)
		exec_names_add(&e, &exec);
	cr_expect_leq(e.cnt, 1024);
	exec_names_apply(&e, m, 300);
	cr_expect_eq(e.cnt, 0);
	cr_expect_str_eq(m->processes[0].name, "dotnet");
	exec_names_clear(&e);
	model_free(m);
}
