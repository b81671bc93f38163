/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hotrun runq: options, then a capture, or the host as it is now. */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/text.h"
#include "commands/capture.h"
#include "commands/command.h"
#include "commands/live.h"
#include "commands/option_value.h"
#include "commands/terminal.h"
#include "commands/time_window.h"
#include "output/runq.h"

#define DEFAULT_HZ 99

static const char help_text[] =
	"usage: hotrun runq [OPTION]... [FILE]\n\n"
	"Shows how long the run queues are and how long threads wait in them: of this host now\n"
	"(as root; until the duration ends or Ctrl-C), or of FILE, a capture of `hotrun record`\n"
	"(without privileges).\n\n"
	"  -d, --duration SECONDS  how long to look (default: until Ctrl-C)\n"
	"  -i, --interval SECONDS  print as often (default: once, at the end)\n"
	"  -F, --frequency HZ      looks at the run queues a second and CPU, 1..10000 (default "
	"99)\n"
	"  -p, --process NAME|PID  run delay of this process, instead of the table of processes\n"
	"  -n, --processes N       run delay of the N processes that waited most\n"
	"      --cgroups           run delay of the cgroups that waited most, with those below "
	"them\n"
	"      --rows N            processes of the table, cgroups of --cgroups (default 10)\n"
	"      --cpus N            CPUs to list, those with most waiting threads (default 32)\n"
	"      --width COLUMNS     80 or more (default: the terminal's, else "
	"100)\n" TIME_WINDOW_HELP "  -v, --verbose           more about what happens\n"
	"  -h, --help              this text\n\n"
	"  hotrun runq -d 10\n"
	"  hotrun runq --interval 1\n"
	"  hotrun runq -p Shop.Api -d 30\n"
	"  hotrun runq --cgroups slow.hotrun\n\n"
	"Known from bcc and bpftrace: the table of run queues is that of runqlen (-C; column 0 is\n"
	"100 less what runqlen -O calls occupancy), the histograms are those of runqlat (-p, "
	"--pids,\n"
	"--cgroups). Threads that run do not count as waiting, and neither do those that their "
	"own\n"
	"cgroup's limit stops.\n"
	"Run queues are looked at by ticks of busy CPUs; shares are of all time: idle time has\n"
	"nobody waiting. Run delay is measured at each context switch, its percentiles are read\n"
	"from the histogram.\n"
	"Exit code: 0; 1 failure; 2 usage.\n";

struct arguments {
	struct runq_options runq;
	struct collector_options collector;
	struct time_window window;
	double seconds, interval_s;
	const char *process;
	const char *only_live; /* an option that makes no sense with a capture */
	bool timed;	       /* an option that makes no sense without one */
	bool cgroups;
};

enum { CGROUPS = 256, ROWS, CPUS, WIDTH };

static int parse_seconds(struct arguments *a, const char *option, const char *value,
			 double *ret_seconds)
{
	a->only_live = option;
	return option_seconds("runq", option, value, OPTION_MAX_SECS, ret_seconds);
}

static int parse_option(int c, struct arguments *a)
{
	unsigned int n = 0;
	int rc;

	switch (c) {
	case 'd':
		return parse_seconds(a, "-d", optarg, &a->seconds);
	case 'i':
		return parse_seconds(a, "-i", optarg, &a->interval_s);
	case 'F':
		a->only_live = "-F";
		return option_frequency("runq", optarg, &a->collector.sample_hz);
	case 'p':
		a->process = optarg;
		return EXIT_OK;
	case 'n':
		rc = option_count("runq", "-n", optarg, 1, &n);
		a->runq.process_cnt = n;
		return rc;
	case CGROUPS:
		a->cgroups = true;
		return EXIT_OK;
	case ROWS:
		return option_count("runq", "--rows", optarg, 1, &a->runq.rows);
	case CPUS:
		return option_count("runq", "--cpus", optarg, 1, &a->runq.cpus);
	case WIDTH:
		return option_count("runq", "--width", optarg, RUNQ_MIN_WIDTH, &a->runq.width);
	case TIME_FROM:
	case TIME_TO:
	case TIME_WORST:
		a->timed = true;
		return time_window_option(&a->window, c, optarg);
	case 'v':
		log_max_level = LOG_LEVEL_DEBUG;
		return EXIT_OK;
	case 'h':
		fputs(help_text, stdout);
		exit(EXIT_OK);
	default:
		return command_usage("runq");
	}
}

static int parse(int argc, char **argv, struct arguments *a)
{
	static const struct option longs[] = {{"duration", required_argument, NULL, 'd'},
					      {"interval", required_argument, NULL, 'i'},
					      {"frequency", required_argument, NULL, 'F'},
					      {"process", required_argument, NULL, 'p'},
					      {"processes", required_argument, NULL, 'n'},
					      {"cgroups", no_argument, NULL, CGROUPS},
					      {"rows", required_argument, NULL, ROWS},
					      {"cpus", required_argument, NULL, CPUS},
					      {"width", required_argument, NULL, WIDTH},
					      TIME_WINDOW_OPTIONS,
					      {"verbose", no_argument, NULL, 'v'},
					      {"help", no_argument, NULL, 'h'},
					      {0}};
	int c, rc;

	while ((c = getopt_long(argc, argv, "d:i:F:p:n:vh", longs, NULL)) != -1) {
		rc = parse_option(c, a);
		if (rc)
			return rc;
	}
	if (optind < argc && a->only_live) {
		log_error("%s: only for a look at this host, and %s is a capture", a->only_live,
			  argv[optind]);
		return command_usage("runq");
	}
	if (optind >= argc && a->timed) {
		log_error("--from, --to and --worst: name a capture");
		return command_usage("runq");
	}
	if (a->process && a->runq.process_cnt) {
		log_error("-p and -n: one of them");
		return command_usage("runq");
	}
	if (a->cgroups)
		a->runq.cgroups = a->runq.rows ?: 10;
	return time_window_check(&a->window, "runq");
}

/* --- a capture ------------------------------------------------------------------------------- */

static int show_capture(int argc, char **argv, struct arguments *a)
{
	_cleanup_free_ uint32_t *rows = NULL;
	struct result *result = NULL;
	struct model *m = NULL;
	size_t cnt = 0;
	uint64_t n;
	int rc;

	/* `runqlat 1 10` is how it is called elsewhere. */
	if (access(argv[optind], F_OK) && !text_parse_u64(argv[optind], 1, UINT32_MAX, &n)) {
		log_error("%s: no such capture; `-i %s` prints every %s s", argv[optind],
			  argv[optind], argv[optind]);
		return command_usage("runq");
	}
	rc = capture_argument(argc, argv, a->process, &a->window, &m, &rows, &cnt);
	if (a->process && !rc) {
		a->runq.processes = rows;
		a->runq.process_cnt = cnt;
	}
	result = rc ? NULL : result_open(NULL);
	if (result)
		rc = result_close(result, runq_write(result_file(result), m, &a->runq));
	model_free(m);
	return rc;
}

/* --- this host, now -------------------------------------------------------------------------- */

/* Names are read of those that are shown. 0 or -ENOMEM. */
static int choose(struct collector *c, struct arguments *a, uint32_t **ret_rows)
{
	size_t cnt = a->runq.process_cnt ? a->runq.process_cnt : a->runq.rows ? a->runq.rows : 10;
	_cleanup_free_ uint32_t *worst = NULL;

	if (a->process) {
		int err = live_find(c, a->process, ret_rows, &cnt);

		if (!err && !cnt)
			log_warn("%s: no such process", a->process);
		a->runq.processes = *ret_rows;
		a->runq.process_cnt = err ? 0 : cnt;
		return err;
	}
	worst = runq_worst(collector_model(c), cnt, &cnt);
	for (size_t i = 0; worst && i < cnt; i++)
		collector_name_process(c, worst[i]);
	return worst ? 0 : -ENOMEM;
}

static int print_slice(struct collector *c, void *ctx)
{
	struct arguments *a = ctx;
	_cleanup_free_ uint32_t *rows = NULL;
	int err = choose(c, a, &rows);

	if (!err)
		err = runq_write(stdout, collector_model(c), &a->runq);
	return err;
}

static int show_live(struct arguments *a)
{
	struct live live = {0};
	int rc;

	a->collector.facts = a->process != NULL;
	rc = live_start(&live, &a->collector, a->interval_s, a->seconds);
	if (!rc) {
		collector_announce(live.collector, "watching");
		rc = live_print(&live, print_slice, a, 0,
				"many processes came and went: this interval ended early, and a "
				"moment between it and the next is missing");
	}
	live_end(&live);
	return rc;
}

int command_runq(int argc, char **argv)
{
	struct arguments a = {.collector = {.sample_hz = DEFAULT_HZ, .command = ""}};
	int rc = parse(argc, argv, &a);

	if (rc)
		return rc;
	if (!a.runq.width)
		a.runq.width = terminal_columns(RUNQ_MIN_WIDTH);
	return optind < argc ? show_capture(argc, argv, &a) : show_live(&a);
}
