/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <criterion/criterion.h>

#include "build_model.h"
#include "model/policy.h"

static const struct {
	struct model_thread thread;
	const char *text;
	bool realtime;
} classes[] = {
	{{.policy = 0}, "", false},
	{{.policy = 0, .nice = 19}, "nice 19", false},
	{{.policy = 0, .nice = -20}, "nice -20", false},
	{{.policy = 1, .rt_priority = 99}, "fifo 99", true},
	{{.policy = 2, .rt_priority = 1}, "rr 1", true},
	{{.policy = 3}, "batch", false},
	{{.policy = 3, .nice = 5}, "batch 5", false},
	{{.policy = 5}, "idle class", false},
	{{.policy = 6}, "deadline", true},
	{{.policy = 7}, "ext", false},
	{{.policy = 255, .nice = -128, .rt_priority = 255}, "policy 255", false},
};

Test(policy, each_class_is_said_as_what_it_is)
{
	for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++) {
		char buf[POLICY_BYTES];

		policy_text(buf, &classes[i].thread);
		cr_expect_str_eq(buf, classes[i].text);
		cr_expect_eq(policy_is_realtime(&classes[i].thread), classes[i].realtime, "%s",
			     classes[i].text);
	}
}

Test(policy, a_process_has_a_class_when_all_that_matters_of_it_has)
{
	struct model *m = build_model(1, 99);
	uint32_t p = build_process(m, 7, "mixed", 0), q = build_process(m, 8, "other", 0);
	uint32_t a = build_thread(m, p, 7, "a", 80, 'S'), b = build_thread(m, p, 9, "b", 5, 'S');
	char buf[POLICY_BYTES];

	build_thread(m, q, 8, "c", 1000, 'S');
	m->threads[a].nice = 19;
	/* One that hardly runs does not count. */
	cr_expect_eq(policy_of_process(m, p, buf), a);
	cr_expect_str_eq(buf, "nice 19");
	m->threads[b].sched.waited_ns = 10;
	cr_expect_eq(policy_of_process(m, p, buf), MODEL_NONE);
	cr_expect_str_eq(buf, "");
	m->threads[b].nice = 19;
	cr_expect_eq(policy_of_process(m, p, buf), a);
	cr_expect_eq(policy_of_process(m, q, buf), MODEL_NONE);
	cr_expect_str_eq(buf, "");
	model_free(m);
}

Test(policy, a_process_that_wanted_nothing_has_none)
{
	struct model *m = build_model(1, 99);
	uint32_t p = build_process(m, 7, "calm", 0), t = build_thread(m, p, 7, "calm", 0, 'S');
	char buf[POLICY_BYTES] = "x";

	m->threads[t].nice = 19;
	cr_expect_eq(policy_of_process(m, p, buf), MODEL_NONE);
	cr_expect_str_eq(buf, "");
	model_free(m);
}
