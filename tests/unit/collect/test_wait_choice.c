/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whose waits are looked at. */
#include <criterion/criterion.h>
#include <string.h>

#include "build_model.h"
#include "collect/collector.h"
#include "collect/wait_choice.h"

struct fixture {
	struct collector_options options;
	struct rooms rooms;
	struct wait_choice waits;
};

static void make(struct fixture *f)
{
	memset(f, 0, sizeof(*f));
	f->rooms.options = &f->options;
	f->rooms.model = build_model(1, 99);
	f->waits.rooms = &f->rooms;
}

static void drop(struct fixture *f)
{
	wait_choice_close(&f->waits);
	model_free(f->rooms.model);
}

Test(wait_choice, who_may_serve_or_ran_or_is_asked_about_is_looked_at)
{
	static const struct {
		const char *name;
		uint32_t flags;
		bool is_chosen;
	} rows[] = {
		{"it waits alone", 0, false},
		{"it may serve", PROCESS_DOTNET, true},
		{"it ran", PROCESS_SAMPLED, true},
		{"it is asked about", PROCESS_SELECTED, true},
		{"the kernel's", PROCESS_KERNEL | PROCESS_SAMPLED, false},
		{"our own", PROCESS_SELF | PROCESS_SAMPLED, false},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct fixture f;
		uint32_t process;

		make(&f);
		process = build_process(f.rooms.model, 100, "it", rows[i].flags);
		cr_expect_eq(wait_choice_has(&f.waits, process), rows[i].is_chosen, "%s",
			     rows[i].name);
		drop(&f);
	}
}

Test(wait_choice, looks_are_at_all_at_who_is_asked_about_or_at_those_that_are_chosen)
{
	const uint32_t asked[] = {7, 8};
	uint32_t tgids[FILTER_TGIDS_MAX];
	struct fixture f;
	uint32_t ended;

	make(&f);
	build_process(f.rooms.model, 100, "alone", 0);
	build_process(f.rooms.model, 101, "serves", PROCESS_DOTNET);
	ended = build_process(f.rooms.model, 102, "served", PROCESS_DOTNET);
	f.rooms.model->processes[ended].exit_ns = 1;
	cr_expect_eq(wait_choice_tgids(&f.waits, tgids), 0);
	f.options.stacks.is_calm = true;
	cr_expect_eq(wait_choice_tgids(&f.waits, tgids), 1);
	cr_expect_eq(tgids[0], 101);
	f.options.tgids = asked;
	f.options.tgid_cnt = 2;
	cr_expect_eq(wait_choice_tgids(&f.waits, tgids), 2);
	cr_expect_eq(tgids[1], 8);
	drop(&f);
}

/* Their rows are those of other processes then, or of none. */
Test(wait_choice, another_model_has_none_of_those_that_hung)
{
	struct fixture f;
	uint32_t process;

	make(&f);
	process = build_process(f.rooms.model, 100, "hangs", PROCESS_DOTNET);
	build_slice(f.rooms.model, BUILD_SECOND, BUILD_SECOND, 0, 0);
	build_service(f.rooms.model,
		      &(struct model_service){
			      .endpoint = build_endpoint(f.rooms.model, process, "0.0.0.0", 80),
			      .open = 1,
			      .stuck = 1,
		      });
	wait_choice_hung(&f.waits);
	cr_assert_eq(f.waits.hung.cnt, 1);
	cr_expect_eq(f.waits.hung.processes[0], process);
	wait_choice_forget(&f.waits);
	cr_expect_eq(f.waits.hung.cnt, 0);
	drop(&f);
}
