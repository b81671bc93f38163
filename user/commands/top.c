/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hotrun top: options, then the screen or plain text. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>

#include "base/log.h"
#include "commands/command.h"
#include "commands/limits.h"
#include "commands/live.h"
#include "commands/options.h"
#include "commands/screen.h"
#include "commands/service_signal.h"
#include "commands/slow_option.h"
#include "commands/stack_options.h"
#include "commands/terminal.h"
#include "commands/top_screen.h"
#include "output/top_text.h"

#define DEFAULT_HZ    99
#define BATCH_ROWS    20
#define BATCH_COLUMNS 130

struct arguments {
	struct collector_options collector;
	struct slow_option slow;
	struct limits limits;
	unsigned int order; /* enum top_order */
	double interval_s, seconds;
	uint64_t count, rows, width;
	bool batch;
};

#define IN(field) OPTION_IN(struct arguments, field)

static const char *const orders[] = {
	[TOP_BY_CPU] = "cpu",	[TOP_BY_WAITING] = "waiting", [TOP_BY_SWITCHES] = "switches",
	[TOP_BY_SLOW] = "slow", [TOP_BY_VERDICT] = "verdict", NULL};

static const struct command_option rows[] = {
	OPTION('i', "interval", "SECONDS", "between two pictures, 0.1 to 60 (default 2)",
	       option_seconds, .max = 60, IN(interval_s)),
	OPTION('s', "sort", "ORDER", "cpu (default), waiting, switches, slow, verdict", option_word,
	       .words = orders, IN(order)),
	OPTION('b', "batch", NULL, "plain text again and again, for pipes and files", option_true,
	       IN(batch)),
	OPTION('n', "count", "N", "pictures, then end", option_number, .min = 1, .max = 1000000000,
	       IN(count)),
	OPTION('d', "duration", "SECONDS", "how long", option_seconds, .max = OPTION_MAX_SECS,
	       IN(seconds)),
	OPTION(0, "rows", "N", "processes of a picture with --batch (default 20)", option_number,
	       .min = 1, .max = OPTION_MAX_CNT, IN(rows)),
	OPTION(0, "width", "COLUMNS", "of --batch, 60 or more (default: the terminal's, else 130)",
	       option_number, .min = TOP_MIN_COLUMNS, .max = 1000, IN(width)),
};

static const struct command_option last_rows[] = {
	OPTION_NAMES(struct arguments, collector.names),
	OPTION_NO_REQUESTS(struct arguments, collector.requests),
	OPTION_FREQUENCY(struct arguments, collector.sample_hz),
	OPTION_IGNORE_HAZARD(struct arguments, collector.ignore_hazards),
	OPTION_VERBOSE,
};

static const struct option_group groups[] = {
	{OPTION_ROWS(rows)},
	OPTION_SHARED(stack_options, struct arguments, collector.stacks),
	OPTION_SHARED(slow_options, struct arguments, slow),
	OPTION_SHARED(service_signal_options, struct arguments, collector.signals),
	OPTION_SHARED(limits_options, struct arguments, limits),
	{OPTION_ROWS(last_rows)},
};

static int parse(int argc, char **argv, struct arguments *a)
{
	int rc = options_parse(&top_command, argc, argv, a);

	if (!rc && optind < argc) {
		log_error("%s: top shows this host; `hotrun report %s` shows a capture",
			  argv[optind], argv[optind]);
		return command_usage("top");
	}
	return rc;
}

/* --- --batch --------------------------------------------------------------------------------- */

static int print_slice(struct collector *c, void *ctx)
{
	const struct arguments *a = ctx;
	struct top_view *v = top_view_new(collector_model(c), &a->limits.policy);
	int err;

	if (!v)
		return -ENOMEM;
	err = top_view_arrange(v, MODEL_NONE, (enum top_order)a->order);
	for (size_t i = 0; !err && i < v->rows_cnt && i < a->rows; i++)
		collector_name_process(c, v->rows[i]);
	if (!err)
		err = top_text_write(stdout, v, a->rows, a->width);
	top_view_free(v);
	return err;
}

static int run_batch(struct live *live, struct arguments *a)
{
	return live_print(live, print_slice, a, a->count,
			  "many processes came and went: begun afresh, a moment between two "
			  "pictures is missing");
}

static int show(struct arguments *a)
{
	struct live live = {0};
	char why[256];
	int rc;

	if (!a->batch && screen_check(why, sizeof(why))) {
		log_error("%s", why);
		return EXIT_FAILED;
	}
	if (!a->width)
		a->width = terminal_columns(TOP_MIN_COLUMNS) ?: BATCH_COLUMNS;
	slow_option_apply(&a->slow, &a->collector);
	/* Limits of a name hold from the first interval on. */
	a->collector.facts = a->limits.policy.sections_cnt > 0;
	rc = live_start(&live, &a->collector, a->interval_s, a->seconds);
	if (!rc && a->batch) {
		collector_announce(live.collector, "watching");
		rc = run_batch(&live, a);
	} else if (!rc) {
		rc = top_screen_run(&live, &a->limits.policy, (enum top_order)a->order, a->count);
	}
	live_end(&live);
	return rc;
}

static int run(int argc, char **argv)
{
	struct arguments a = {
		.collector = {.sample_hz = DEFAULT_HZ,
			      .command = "",
			      .samples = true,
			      .requests = true,
			      .follow_most = COLLECTOR_FOLLOW_USUAL,
			      .take_service_signals = service_signals_take},
		.interval_s = 2,
		.rows = BATCH_ROWS,
	};
	int rc = parse(argc, argv, &a);

	if (!rc)
		rc = limits_read(&a.limits, "top");
	if (!rc)
		rc = service_signals_start(a.collector.signals, "top");
	if (!rc)
		rc = show(&a);
	limits_forget(&a.limits);
	service_signals_free(a.collector.signals);
	return rc;
}

const struct command top_command = {
	.name = "top",
	.job = "watch which processes run and which wait, live",
	.usage = "[OPTION]...",
	.about = "Shows live which processes run and which wait for a CPU, behind whom, and the "
		 "method "
		 "that\n"
		 "is hottest in each. Needs root, as `hotrun record` does; nothing is kept. Keys: "
		 "h tells "
		 "them.\n",
	.groups = groups,
	.groups_cnt = OPTION_COUNT(groups),
	.examples = "  hotrun top\n"
		    "  hotrun top --sort waiting --interval 1\n"
		    "  hotrun top --batch -n 3 --sort switches\n"
		    "  hotrun top --sort verdict --slow 200ms --service-signal "
		    "'Shop.Mail=!mail-backlog -q'\n",
	.notes = "running, waiting: threads on average over the interval, 1.00 is one CPU's worth; "
		 "of "
		 "those\n"
		 "waiting: behind others, behind own threads. delay p99: 99 of 100 waits were "
		 "shorter.\n"
		 "throttled: stopped by a CPU limit of its cgroup, of the time that it wanted. "
		 "slow: of "
		 "the\n"
		 "requests that it answered, or that wait, those over the time of --slow; stuck: "
		 "those "
		 "that\n"
		 "have waited for over 10 s (`hotrun requests` tells more). verdict: of this "
		 "interval "
		 "alone,\n"
		 "as `hotrun report` gives it for a capture. Hottest method: the application's "
		 "method\n"
		 "nearest to the leaf in most samples, else the leaf; n/a when the samples are too "
		 "few to\n"
		 "name one. Exact are all figures but this and percentiles. Narrow terminals show "
		 "fewer\n"
		 "columns: the verdict stands there from 113 on, slow and stuck from 128, others "
		 "and own\n"
		 "from 146.\n"
		 "Exit code: 0; 1 failure; 2 usage.\n\n" LIMITS_HELP_NAMES,
	.put_more = limits_put_help,
	.run = run,
};
