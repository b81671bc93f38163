/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hotrun requests: options, then a capture, or what this host serves now. */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "commands/capture.h"
#include "commands/command.h"
#include "commands/live.h"
#include "commands/option_value.h"
#include "commands/slow_option.h"
#include "commands/terminal.h"
#include "commands/time_window.h"
#include "output/requests_table.h"

/* Ticks are not needed here: as few as there may be. */
#define TICKS_HZ     1
#define INTERVAL_SEC 2
#define DEFAULT_ROWS 20

static const char help_text[] =
	"usage: hotrun requests [OPTION]... [FILE]\n\n"
	"Shows how the requests of each process and port that it listens at fare, as the kernel\n"
	"sees them: of this host now (as root; until the duration ends or Ctrl-C), or of FILE, a\n"
	"capture of `hotrun record` (without privileges).\n\n"
	"  -d, --duration SECONDS  how long to look (default: until Ctrl-C)\n"
	"  -i, --interval SECONDS  print as often (default 2; with -d: once, at the end)\n"
	"  -p, --process NAME|PID  this process alone\n" SLOW_OPTION_HELP
	"      --rows N            rows of the table (default 20)\n"
	"      --width COLUMNS     80 or more (default: the terminal's, else "
	"130)\n" TIME_WINDOW_HELP
	"  -v, --verbose           the histogram of times, addresses and bytes, too\n"
	"  -h, --help              this text\n\n"
	"  hotrun requests\n"
	"  hotrun requests -d 10 -p Shop.Api --slow 200ms -v\n"
	"  hotrun requests --slow 8080=50ms --slow 8443=1s\n"
	"  hotrun requests --worst 5s slow.hotrun\n\n"
	"A request begins when data arrives on an accepted connection that has none unanswered;\n"
	"its time ends when the first byte of an answer is handed to the kernel, so that a slow\n"
	"client does not count.\n"
	"answers/s: answered requests. slow: answered after more than the time of --slow, or\n"
	"unanswered for longer, of all of these. score: satisfied by that time, and half of those\n"
	"up to four times it (Apdex). open: unanswered now. oldest: for how long the oldest of\n"
	"these has waited. stuck: those over 10 s. queue: connections that wait to be accepted,\n"
	"and how many may; drops: connections that found no room. Served connections count, not\n"
	"those to other services. HTTP/2, TLS, WebSocket and pipelining blur this; where it is\n"
	"seen, it is said.\n"
	"Exit code: 0; 1 failure, and where this kernel does not tell of requests; 2 usage.\n";

struct arguments {
	struct requests_table_options table;
	struct collector_options collector;
	struct slow_option slow;
	struct time_window window;
	double seconds, interval_s;
	const char *process;
	const char *only_live; /* an option that makes no sense with a capture */
	bool timed;	       /* an option that makes no sense without one */
};

enum { ROWS = 256, WIDTH, SLOW };

static int parse_seconds(struct arguments *a, const char *option, double *ret_seconds)
{
	a->only_live = option;
	return option_seconds("requests", option, optarg, OPTION_MAX_SECS, ret_seconds);
}

static int parse_option(int c, struct arguments *a)
{
	switch (c) {
	case 'd':
		return parse_seconds(a, "-d", &a->seconds);
	case 'i':
		return parse_seconds(a, "-i", &a->interval_s);
	case 'p':
		a->process = optarg;
		return EXIT_OK;
	case SLOW:
		a->only_live = "--slow";
		return slow_option_add(&a->slow, optarg, "requests");
	case ROWS:
		return option_count("requests", "--rows", optarg, 1, &a->table.rows);
	case WIDTH:
		return option_count("requests", "--width", optarg, REQUESTS_TABLE_MIN_WIDTH,
				    &a->table.width);
	case TIME_FROM:
	case TIME_TO:
	case TIME_WORST:
		a->timed = true;
		return time_window_option(&a->window, c, optarg);
	case 'v':
		a->table.verbose = true;
		return EXIT_OK;
	case 'h':
		fputs(help_text, stdout);
		exit(EXIT_OK);
	default:
		return command_usage("requests");
	}
}

static int parse(int argc, char **argv, struct arguments *a)
{
	static const struct option longs[] = {{"duration", required_argument, NULL, 'd'},
					      {"interval", required_argument, NULL, 'i'},
					      {"process", required_argument, NULL, 'p'},
					      {"slow", required_argument, NULL, SLOW},
					      {"rows", required_argument, NULL, ROWS},
					      {"width", required_argument, NULL, WIDTH},
					      TIME_WINDOW_OPTIONS,
					      {"verbose", no_argument, NULL, 'v'},
					      {"help", no_argument, NULL, 'h'},
					      {0}};
	int c, rc;

	while ((c = getopt_long(argc, argv, "d:i:p:vh", longs, NULL)) != -1) {
		rc = parse_option(c, a);
		if (rc)
			return rc;
	}
	if (optind < argc && a->only_live) {
		log_error("%s: only for a look at this host, and %s is a capture", a->only_live,
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
	if (!rc && (m->host.off & OFF_REQUESTS)) {
		log_error("%s: requests n/a: %s", argv[optind], model_off_text(OFF_REQUESTS));
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
	char text[256];
	int rc;

	slow_option_apply(&a->slow, &a->collector);
	a->collector.facts = a->process != NULL;
	if (!a->seconds && !a->interval_s)
		a->interval_s = INTERVAL_SEC;
	rc = live_start(&live, &a->collector, a->interval_s, a->seconds);
	if (!rc && !collector_sees_requests(live.collector)) {
		collector_requests_text(live.collector, text, sizeof(text));
		log_error("n/a: %s", text);
		rc = EXIT_FAILED;
	}
	if (!rc) {
		collector_announce(live.collector, "watching");
		rc = print_slices(&live, a);
	}
	live_end(&live);
	return rc;
}

int command_requests(int argc, char **argv)
{
	struct arguments a = {
		.collector = {.sample_hz = TICKS_HZ, .command = "", .requests = true},
		.table = {.rows = DEFAULT_ROWS},
	};
	int rc = parse(argc, argv, &a);

	if (rc)
		return rc;
	if (!a.table.width)
		a.table.width = terminal_columns(REQUESTS_TABLE_MIN_WIDTH);
	return optind < argc ? show_capture(argc, argv, &a) : show_live(&a);
}
