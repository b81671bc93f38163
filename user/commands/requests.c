/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hotrun requests: options, then a capture, or what this host serves now. */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "commands/capture.h"
#include "commands/command.h"
#include "commands/live.h"
#include "commands/options.h"
#include "commands/slow_option.h"
#include "commands/terminal.h"
#include "commands/time_window.h"
#include "output/requests_table.h"

/* Ticks are not needed here: as few as there may be. */
#define TICKS_HZ     1
#define INTERVAL_SEC 2
#define DEFAULT_ROWS 20

struct arguments {
	struct requests_table_options table;
	struct collector_options collector;
	struct slow_option slow;
	struct time_window window;
	double seconds, interval_s;
	const char *process;
	const char *only_live; /* an option that makes no sense with a capture */
	const char *timed;     /* one that makes no sense without */
};

#define IN(field) OPTION_IN(struct arguments, field)

static const struct command_option live_rows[] = {
	OPTION_LOOK(struct arguments, seconds),
	OPTION('i', "interval", "SECONDS", "print as often (default 2; with -d: once, at the end)",
	       option_seconds, .max = OPTION_MAX_SECS, IN(interval_s)),
	OPTION_IGNORE_HAZARD(struct arguments, collector.ignore_hazards),
};

static const struct command_option rows[] = {
	OPTION('p', "process", "NAME|PID", "this process alone", option_text, IN(process)),
	OPTION(0, "rows", "N", "rows of the table (default 20)", option_count, .min = 1,
	       .max = OPTION_MAX_CNT, IN(table.rows)),
	OPTION(0, "width", "COLUMNS", "80 or more (default: the terminal's, else 130)",
	       option_count, .min = REQUESTS_TABLE_MIN_WIDTH, .max = OPTION_MAX_CNT,
	       IN(table.width)),
};

static const struct command_option last_rows[] = {
	OPTION('v', "verbose", NULL, "the histogram of times, addresses and bytes, too",
	       option_true, IN(table.verbose)),
};

static const struct option_group groups[] = {
	{OPTION_ROWS(live_rows), .given = offsetof(struct arguments, only_live)},
	OPTION_SHARED(slow_options, struct arguments, slow,
		      .given = offsetof(struct arguments, only_live)),
	{OPTION_ROWS(rows)},
	OPTION_SHARED(time_window_options, struct arguments, window,
		      .given = offsetof(struct arguments, timed)),
	{OPTION_ROWS(last_rows)},
};

static int parse(int argc, char **argv, struct arguments *a)
{
	int rc = options_parse(&requests_command, argc, argv, a);

	if (rc)
		return rc;
	if (optind < argc && a->only_live) {
		log_error("--%s: only for a look at this host, and %s is a capture", a->only_live,
			  argv[optind]);
		return command_usage("requests");
	}
	if (optind >= argc && a->timed) {
		log_error("--from, --to and --worst: name a capture");
		return command_usage("requests");
	}
	return time_window_check(&a->window, "requests");
}

/* --- a capture ------------------------------------------------------------------------------- */

static int show_capture(int argc, char **argv, struct arguments *a)
{
	_cleanup_free_ uint32_t *rows = NULL;
	struct result *result = NULL;
	struct model *m = NULL;
	int rc;

	rc = capture_argument(argc, argv, a->process, &a->window, &m, &rows, &a->table.process_cnt);
	if (!rc && (model_off(m) & OFF_REQUESTS)) {
		log_error("%s: requests n/a: %s", argv[optind], model_requests_why(m));
		rc = EXIT_FAILED;
	}
	a->table.processes = a->process ? rows : NULL;
	result = rc ? NULL : result_open(NULL);
	if (result)
		rc = result_close(result, requests_table_write(result_file(result), m, &a->table));
	else if (!rc)
		rc = EXIT_FAILED;
	model_free(m);
	return rc;
}

/* --- this host, now -------------------------------------------------------------------------- */

/* The names of those that are listed. 0 or -ENOMEM. */
static int name_listed(struct collector *c, const struct arguments *a)
{
	const struct model *m = collector_model(c);
	struct requests *r = requests_new(m);
	_cleanup_free_ uint32_t *rows = NULL;
	size_t cnt = 0, all;

	if (r)
		rows = requests_table_endpoints(r, a->table.processes, a->table.process_cnt,
						a->table.rows, &cnt, &all);
	for (size_t i = 0; i < cnt; i++)
		collector_name_process(c, m->endpoints[rows[i]].process);
	requests_free(r);
	return rows ? 0 : -ENOMEM;
}

static int print_slice(struct collector *c, void *ctx)
{
	static const uint32_t nobody = MODEL_NONE;
	struct arguments *a = ctx;
	_cleanup_free_ uint32_t *rows = NULL;
	int err = 0;

	if (a->process) {
		err = live_find(c, a->process, &rows, &a->table.process_cnt);
		if (!err && !rows)
			log_warn("%s: no such process", a->process);
	}
	a->table.processes = rows ? rows : a->process ? &nobody : NULL;
	if (!err)
		err = name_listed(c, a);
	if (!err)
		err = requests_table_write(stdout, collector_model(c), &a->table);
	return err;
}

static int print_slices(struct live *live, struct arguments *a)
{
	return live_print(live, print_slice, a, 0,
			  "many processes came and went: this interval ended early, and a moment "
			  "between it and the next is missing");
}

static int show_live(struct arguments *a)
{
	struct live live = {0};
	int rc;

	slow_option_apply(&a->slow, &a->collector);
	a->collector.facts = a->process != NULL;
	if (!a->seconds && !a->interval_s)
		a->interval_s = INTERVAL_SEC;
	rc = live_start(&live, &a->collector, a->interval_s, a->seconds);
	if (!rc && !collector_sees_requests(live.collector)) {
		struct feature_set features;

		collector_features(live.collector, &features);
		log_error("request tracking is off: %s", feature_why(&features, FEATURE_REQUESTS));
		rc = EXIT_FAILED;
	}
	if (!rc) {
		collector_announce(live.collector, "watching");
		rc = print_slices(&live, a);
	}
	live_end(&live);
	return rc;
}

static int run(int argc, char **argv)
{
	struct arguments a = {
		.collector = {.sample_hz = TICKS_HZ,
			      .command = "",
			      .requests = true,
			      .follow_most = COLLECTOR_FOLLOW_USUAL},
		.table = {.rows = DEFAULT_ROWS},
	};
	int rc = parse(argc, argv, &a);

	if (rc)
		return rc;
	if (!a.table.width)
		a.table.width = terminal_columns(REQUESTS_TABLE_MIN_WIDTH);
	return optind < argc ? show_capture(argc, argv, &a) : show_live(&a);
}

const struct command requests_command = {
	.name = "requests",
	.job = "show how requests of services fare, live or of a capture",
	.usage = "[OPTION]... [FILE]",
	.about = "Shows how the requests of each process and port that it listens at fare, as the "
		 "kernel\n"
		 "sees them: of this host now (as root; until the duration ends or Ctrl-C), or of "
		 "FILE, a\n"
		 "capture of `hotrun record` (without privileges).\n",
	.groups = groups,
	.groups_cnt = OPTION_COUNT(groups),
	.operand = COMPLETE_FILE,
	.examples = "  hotrun requests\n"
		    "  hotrun requests -d 10 -p Shop.Api --slow 200ms -v\n"
		    "  hotrun requests --slow 8080=50ms --slow 8443=1s\n"
		    "  hotrun requests --worst 5s slow.hotrun\n",
	.notes = "A request begins when data arrives on an accepted connection that has none "
		 "unanswered;\n"
		 "its time ends when the first byte of an answer is handed to the kernel, so that "
		 "a slow\n"
		 "client does not count.\n"
		 "answers/s: answered requests. slow: answered after more than the time of --slow, "
		 "or\n"
		 "unanswered for longer, of all of these. score: satisfied by that time, and half "
		 "of those\n"
		 "up to four times it (Apdex). open: unanswered now. oldest: for how long the "
		 "oldest of\n"
		 "these has waited. stuck: those over 10 s. queue: connections that wait to be "
		 "accepted,\n"
		 "and how many may; refused: connections that found no room. Served connections "
		 "count, not\n"
		 "those to other services. HTTP/2, TLS, WebSocket and pipelining blur this; where "
		 "it is\n"
		 "seen, it is said.\n"
		 "Exit code: 0; 1 failure, and where this kernel does not tell of requests; 2 "
		 "usage.\n",
	.run = run,
};
