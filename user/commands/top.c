/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hotrun top: options, then the screen or plain text. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "commands/command.h"
#include "commands/limits.h"
#include "commands/live.h"
#include "commands/option_value.h"
#include "commands/screen.h"
#include "commands/service_signal.h"
#include "commands/slow_option.h"
#include "commands/terminal.h"
#include "commands/top_screen.h"
#include "output/top_text.h"

#define DEFAULT_HZ    99
#define BATCH_ROWS    20
#define BATCH_COLUMNS 130

static const char help_text[] =
	"usage: hotrun top [OPTION]...\n\n"
	"Shows live which processes run and which wait for a CPU, behind whom, and the method "
	"that\n"
	"is hottest in each. Needs root, as `hotrun record` does; nothing is kept. Keys: h tells "
	"them.\n\n"
	"  -i, --interval SECONDS  between two pictures, 0.1 to 60 (default 2)\n"
	"  -s, --sort ORDER        cpu (default), waiting, switches, slow, verdict\n"
	"  -b, --batch             plain text again and again, for pipes and files\n"
	"  -n, --count N           pictures, then end\n"
	"  -d, --duration SECONDS  how long\n"
	"      --rows N            processes of a picture with --batch (default 20)\n"
	"      --width COLUMNS     of --batch, 60 or more (default: the terminal's, else "
	"130)\n" SLOW_OPTION_HELP SERVICE_SIGNAL_HELP LIMITS_HELP
	"      --no-requests       do not look at the requests that services answer\n"
	"  -F, --frequency HZ      samples a second and CPU, 1..10000 (default 99)\n"
	"  -v, --verbose           more about what happens\n"
	"  -h, --help              this text\n\n"
	"  hotrun top\n"
	"  hotrun top --sort waiting --interval 1\n"
	"  hotrun top --batch -n 3 --sort switches\n"
	"  hotrun top --sort verdict --slow 200ms --service-signal 'Shop.Mail=!mail-backlog -q'\n\n"
	"running, waiting: threads on average over the interval, 1.00 is one CPU's worth; of "
	"those\n"
	"waiting: behind others, behind own threads. delay p99: 99 of 100 waits were shorter.\n"
	"throttled: stopped by a CPU limit of its cgroup, of the time that it wanted. slow: of "
	"the\n"
	"requests that it answered, or that wait, those over the time of --slow; stuck: those "
	"that\n"
	"have waited for over 10 s (`hotrun requests` tells more). verdict: of this interval "
	"alone,\n"
	"as `hotrun report` gives it for a capture. Hottest method: the application's method\n"
	"nearest to the leaf in most samples, else the leaf; n/a when the samples are too few to\n"
	"name one. Exact are all figures but this and percentiles. Narrow terminals show fewer\n"
	"columns: the verdict stands there from 113 on, slow and stuck from 128, others and own\n"
	"from 146.\n"
	"Exit code: 0; 1 failure; 2 usage.\n\n" LIMITS_HELP_NAMES;

struct arguments {
	struct collector_options collector;
	struct slow_option slow;
	struct limits limits;
	enum top_order order;
	double interval_s, seconds;
	uint64_t count, rows, width;
	bool batch;
};

enum { ROWS = 256, WIDTH, SLOW, NO_REQUESTS, SIGNAL, SIGNAL_USER };

static int parse_order(const char *value, enum top_order *ret_order)
{
	static const char *const orders[] = {[TOP_BY_CPU] = "cpu",
					     [TOP_BY_WAITING] = "waiting",
					     [TOP_BY_SWITCHES] = "switches",
					     [TOP_BY_SLOW] = "slow",
					     [TOP_BY_VERDICT] = "verdict"};

	for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
		if (strcmp(value, orders[i]))
			continue;
		*ret_order = (enum top_order)i;
		return EXIT_OK;
	}
	return option_bad_value("top", "--sort", value,
				"not cpu, waiting, switches, slow or verdict");
}

static int parse_option(int c, struct arguments *a)
{
	switch (c) {
	case 'i':
		return option_seconds("top", "-i", optarg, 60, &a->interval_s);
	case 'd':
		return option_seconds("top", "-d", optarg, OPTION_MAX_SECS, &a->seconds);
	case 's':
		return parse_order(optarg, &a->order);
	case 'b':
		a->batch = true;
		return EXIT_OK;
	case 'n':
		return option_number("top", "-n", optarg, 1, 1000000000, &a->count);
	case ROWS:
		return option_number("top", "--rows", optarg, 1, 1000000, &a->rows);
	case WIDTH:
		return option_number("top", "--width", optarg, TOP_MIN_COLUMNS, 1000, &a->width);
	case SLOW:
		return slow_option_add(&a->slow, optarg, "top");
	case SIGNAL:
		return service_signals_add(&a->collector.signals, optarg, "top");
	case SIGNAL_USER:
		return service_signals_set_user(&a->collector.signals, optarg, "top");
	case LIMITS_LIMIT:
	case LIMITS_CONFIG:
		return limits_option(&a->limits, c, optarg);
	case NO_REQUESTS:
		a->collector.requests = false;
		return EXIT_OK;
	case 'F':
		return option_frequency("top", optarg, &a->collector.sample_hz);
	case 'v':
		log_max_level = LOG_LEVEL_DEBUG;
		return EXIT_OK;
	case 'h':
		fputs(help_text, stdout);
		limits_put_help(stdout);
		exit(EXIT_OK);
	default:
		return command_usage("top");
	}
}

static int parse(int argc, char **argv, struct arguments *a)
{
	static const struct option longs[] = {{"interval", required_argument, NULL, 'i'},
					      {"sort", required_argument, NULL, 's'},
					      {"batch", no_argument, NULL, 'b'},
					      {"count", required_argument, NULL, 'n'},
					      {"duration", required_argument, NULL, 'd'},
					      {"rows", required_argument, NULL, ROWS},
					      {"width", required_argument, NULL, WIDTH},
					      {"slow", required_argument, NULL, SLOW},
					      LIMITS_OPTIONS,
					      {"no-requests", no_argument, NULL, NO_REQUESTS},
					      {"service-signal", required_argument, NULL, SIGNAL},
					      {"signal-user", required_argument, NULL, SIGNAL_USER},
					      {"frequency", required_argument, NULL, 'F'},
					      {"verbose", no_argument, NULL, 'v'},
					      {"help", no_argument, NULL, 'h'},
					      {0}};
	int c, rc;

	while ((c = getopt_long(argc, argv, "i:s:bn:d:F:vh", longs, NULL)) != -1) {
		rc = parse_option(c, a);
		if (rc)
			return rc;
	}
	if (optind < argc) {
		log_error("%s: top shows this host; `hotrun report %s` shows a capture",
			  argv[optind], argv[optind]);
		return command_usage("top");
	}
	return EXIT_OK;
}

/* --- --batch --------------------------------------------------------------------------------- */

static int print_slice(struct collector *c, void *ctx)
{
	const struct arguments *a = ctx;
	struct top_view *v = top_view_new(collector_model(c), &a->limits.policy);
	int err;

	if (!v)
		return -ENOMEM;
	err = top_view_arrange(v, MODEL_NONE, a->order);
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

static int run(struct arguments *a)
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
		rc = top_screen_run(&live, &a->limits.policy, a->order, a->count);
	}
	live_end(&live);
	return rc;
}

int command_top(int argc, char **argv)
{
	struct arguments a = {
		.collector = {.sample_hz = DEFAULT_HZ,
			      .command = "",
			      .samples = true,
			      .requests = true,
			      .take_signals = service_signals_take},
		.interval_s = 2,
		.rows = BATCH_ROWS,
	};
	int rc = parse(argc, argv, &a);

	if (!rc)
		rc = limits_read(&a.limits, "top");
	if (!rc)
		rc = service_signals_start(a.collector.signals, "top");
	if (!rc)
		rc = run(&a);
	limits_forget(&a.limits);
	service_signals_free(a.collector.signals);
	return rc;
}
