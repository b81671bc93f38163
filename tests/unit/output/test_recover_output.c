/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "golden.h"
#include "output/recover.h"

static const struct recover_row stopped = {
	.found = {.tgid = 4711,
		  .name = "Shop.Web",
		  .unit = "shop.service",
		  .state = 'T',
		  .parent = {.tgid = 1, .comm = "systemd", .state = 'S'},
		  .session = 4711,
		  .threads_cnt = 31,
		  .stopped_cnt = 31},
};
static const struct recover_row hostile = {
	.found = {.tgid = 99,
		  .name = "evil\033[31m\n\xff<b>",
		  .container = "0123\n456789ab",
		  .threads_cnt = 2,
		  .trace_stop_cnt = 2,
		  .traced_cnt = 2,
		  .tracers_cnt = 1,
		  .tracers = {{{.tgid = 98, .comm = "\033[2Jgdb\n1. run", .state = 'T'}, 98, 2}},
		  .freeze = {.frozen = LEFT_FROZEN_V2,
			     .found = true,
			     .group = "/sys/fs/cgroup/\xff\n\"x",
			     .processes_cnt = 2},
		  .dotnet = {.is = true,
			     .ports_cnt = 1,
			     .ports = {{.path = "/tmp/\n\033]0;x"}},
			     .map = DOTNET_MAP_UNKNOWN,
			     .profiler = "lib\"Other\\\n.so"}},
};
static const struct recover_row healthy = {.found = {.tgid = 7, .name = "nginx", .threads_cnt = 1}};
static const struct recover_row resumed = {
	.found = {.tgid = 4711, .name = "Shop.Web", .threads_cnt = 31, .stopped_cnt = 31},
	.done = {{.act = RECOVER_CONTINUE, .ok = true, .text = "SIGCONT sent; it runs"}},
	.done_cnt = 1,
	.acted = true,
	.after = {.tgid = 4711, .name = "Shop.Web", .threads_cnt = 31},
};
static const struct recover_row in_vain = {
	.found = {.tgid = 4712, .name = "Shop.Api", .threads_cnt = 3, .stopped_cnt = 3},
	.done = {{.act = RECOVER_CONTINUE,
		  .in_vain = true,
		  .text = "SIGCONT sent; but it does not run"}},
	.done_cnt = 1,
	.acted = true,
	.after = {.tgid = 4712, .name = "Shop.Api", .threads_cnt = 3, .stopped_cnt = 3},
};
static const struct recover_row spared = {
	.found = {.tgid = 4713,
		  .name = "Shop.Pay",
		  .threads_cnt = 1,
		  .trace_stop_cnt = 1,
		  .traced_cnt = 1,
		  .tracers_cnt = 1,
		  .tracers = {{{.tgid = 98, .comm = "gdb", .state = 'S'}, 98, 1}}},
	.acted = true,
	.tracer_spared = true,
	.after = {.tgid = 4713,
		  .name = "Shop.Pay",
		  .threads_cnt = 1,
		  .trace_stop_cnt = 1,
		  .traced_cnt = 1,
		  .tracers_cnt = 1,
		  .tracers = {{{.tgid = 98, .comm = "gdb", .state = 'S'}, 98, 1}}},
};
static const struct recover_row ended = {
	.found = {.tgid = 4714, .name = "Shop.Old", .threads_cnt = 1, .stopped_cnt = 1},
	.done = {{.act = RECOVER_CONTINUE,
		  .ok = true,
		  .text = "SIGCONT sent; it ran, and has ended"}},
	.done_cnt = 1,
	.acted = true,
	.ended = true,
};

/* Nothing was done that could have helped: that is no reason to restart it. */
static const struct recover_row no_right = {
	.found = {.tgid = 4715, .name = "Shop.Job", .threads_cnt = 1, .stopped_cnt = 1},
	.done = {{.act = RECOVER_CONTINUE, .text = "SIGCONT not sent: no permission; run as root"}},
	.done_cnt = 1,
	.acted = true,
	.after = {.tgid = 4715, .name = "Shop.Job", .threads_cnt = 1, .stopped_cnt = 1},
};
static const struct recover_row broken_off = {
	.found = {.tgid = 4716, .name = "Shop.Cart", .threads_cnt = 1, .stopped_cnt = 1},
	.done = {{.act = RECOVER_CONTINUE,
		  .text = "SIGCONT sent; interrupted: whether it runs was not waited for"}},
	.done_cnt = 1,
	.acted = true,
	.after = {.tgid = 4716, .name = "Shop.Cart", .threads_cnt = 1, .stopped_cnt = 1},
};
/* It went on by itself before its turn came. */
static const struct recover_row by_itself = {
	.found = {.tgid = 4717, .name = "Shop.Log", .threads_cnt = 1, .stopped_cnt = 1},
	.acted = true,
	.after = {.tgid = 4717, .name = "Shop.Log", .threads_cnt = 1},
};

static const struct recover_row *const found[] = {&stopped, &hostile, &healthy};
static const struct recover_row *const done[] = {&resumed,  &in_vain,	 &spared,   &ended,
						 &no_right, &broken_off, &by_itself};

static struct recover_report report_of(const struct recover_row *const *rows, size_t cnt)
{
	return (struct recover_report){.hotrun_version = "0.1.0",
				       .host_name = "vm\033[1m",
				       .time = 1795277000,
				       .rows = rows,
				       .rows_cnt = cnt,
				       .looked_at = 812,
				       .freeze_unseen = rows == done ? 3 : 0,
				       .interrupted = rows == done,
				       .resume = rows == done};
}

static void expect(const char *golden, const struct recover_report *report, bool json, bool color)
{
	size_t len;
	char *text = NULL;
	FILE *out = open_memstream(&text, &len);

	cr_assert(out);
	cr_assert_eq(
		json ? recover_json_write(out, report) : recover_text_write(out, report, color), 0);
	fclose(out);
	golden_expect(golden, text, len);
	for (size_t i = 0; i < len && !color; i++)
		cr_assert((unsigned char)text[i] >= ' ' || text[i] == '\n', "byte %zu", i);
	free(text);
}

Test(recover_output, what_was_found_with_its_steps_and_strange_names_escaped)
{
	struct recover_report report = report_of(found, 3);

	report.unreadable = 36;
	report.hung = 1;
	report.cut = true;
	expect("recover_found.txt", &report, false, false);
	expect("recover_found.json", &report, true, false);
}

Test(recover_output, what_was_done_and_what_came_of_it)
{
	struct recover_report report = report_of(done, 7);
	struct recover_counts counts;

	expect("recover_done.txt", &report, false, true);
	expect("recover_done.json", &report, true, false);
	recover_count(&report, &counts);
	cr_expect_eq(counts.stand, 4, "in vain, held by the tracer, not done, broken off");
	cr_expect_eq(counts.failed, 3);
}

Test(recover_output, a_healthy_host_is_one_line)
{
	struct recover_report report = report_of(NULL, 0);

	expect("recover_healthy.txt", &report, false, true);
}

Test(recover_output, a_full_disk_is_an_error)
{
	struct recover_report report = report_of(found, 3);
	FILE *full = fopen("/dev/full", "w");

	cr_assert(full);
	cr_expect_eq(recover_text_write(full, &report, false), -EIO);
	cr_expect_eq(recover_json_write(full, &report), -EIO);
	fclose(full);
}
