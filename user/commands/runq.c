/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hotrun runq: options, then a capture, or the host as it is now. */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/text.h"
#include "commands/capture.h"
#include "commands/command.h"
#include "commands/live.h"
#include "commands/options.h"
#include "commands/terminal.h"
#include "commands/time_window.h"
#include "output/runq.h"

#define DEFAULT_HZ 99

struct arguments {
	struct runq_options runq;
	struct collector_options collector;
	struct time_window window;
	double seconds, interval_s;
	const char *process;
	const char *only_live; /* an option that makes no sense with a capture */
	const char *timed;     /* one that makes no sense without */
	bool cgroups;
};

#define IN(field) OPTION_IN(struct arguments, field)

static const struct command_option live_rows[] = {
	OPTION_LOOK(struct arguments, seconds),
	OPTION('i', "interval", "SECONDS", "print as often (default: once, at the end)",
	       option_seconds, .max = OPTION_MAX_SECS, IN(interval_s)),
	OPTION('F', "frequency", "HZ",
	       "looks at the run queues a second and CPU, 1..10000 (default 99)", option_hz,
	       IN(collector.sample_hz)),
	OPTION_IGNORE_HAZARD(struct arguments, collector.ignore_hazards),
};

static const struct command_option rows[] = {
	OPTION('p', "process", "NAME|PID",
	       "run delay of this process, instead of the table of processes", option_text,
	       IN(process)),
	OPTION('n', "processes", "N", "run delay of the N processes that waited most",
	       option_number, .min = 1, .max = OPTION_MAX_CNT, IN(runq.process_cnt)),
	OPTION(0, "cgroups", NULL,
	       "run delay of the cgroups that waited most, with those below them", option_true,
	       IN(cgroups)),
	OPTION(0, "rows", "N", "processes of the table, cgroups of --cgroups (default 10)",
	       option_count, .min = 1, .max = OPTION_MAX_CNT, IN(runq.rows)),
	OPTION(0, "cpus", "N", "CPUs to list, those with most waiting threads (default 32)",
	       option_count, .min = 1, .max = OPTION_MAX_CNT, IN(runq.cpus)),
	OPTION(0, "width", "COLUMNS", "80 or more (default: the terminal's, else 100)",
	       option_count, .min = RUNQ_MIN_WIDTH, .max = OPTION_MAX_CNT, IN(runq.width)),
};

static const struct command_option last_rows[] = {OPTION_VERBOSE};

static const struct option_group groups[] = {
	{OPTION_ROWS(live_rows), .given = offsetof(struct arguments, only_live)},
	{OPTION_ROWS(rows)},
	OPTION_SHARED(time_window_options, struct arguments, window,
		      .given = offsetof(struct arguments, timed)),
	{OPTION_ROWS(last_rows)},
};

static int parse(int argc, char **argv, struct arguments *a)
{
	int rc = options_parse(&runq_command, argc, argv, a);

	if (rc)
		return rc;
	if (optind < argc && a->only_live) {
		log_error("--%s: only for a look at this host, and %s is a capture", a->only_live,
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

static int run(int argc, char **argv)
{
	struct arguments a = {.collector = {.sample_hz = DEFAULT_HZ, .command = ""}};
	int rc = parse(argc, argv, &a);

	if (rc)
		return rc;
	if (!a.runq.width)
		a.runq.width = terminal_columns(RUNQ_MIN_WIDTH);
	return optind < argc ? show_capture(argc, argv, &a) : show_live(&a);
}

const struct command runq_command = {
	.name = "runq",
	.job = "show run-queue lengths and run delay, live or of a capture",
	.usage = "[OPTION]... [FILE]",
	.about = "Shows how long the run queues are and how long threads wait in them: of this "
		 "host now\n"
		 "(as root; until the duration ends or Ctrl-C), or of FILE, a capture of `hotrun "
		 "record`\n"
		 "(without privileges).\n",
	.groups = groups,
	.groups_cnt = OPTION_COUNT(groups),
	.operand = COMPLETE_FILE,
	.examples = "  hotrun runq -d 10\n"
		    "  hotrun runq --interval 1\n"
		    "  hotrun runq -p Shop.Api -d 30\n"
		    "  hotrun runq --cgroups slow.hotrun\n",
	.notes = "Known from bcc and bpftrace: the table of run queues is that of runqlen (-C; "
		 "column 0 is\n"
		 "100 less what runqlen -O calls occupancy), the histograms are those of runqlat "
		 "(-p, "
		 "--pids,\n"
		 "--cgroups). Threads that run do not count as waiting, and neither do those that "
		 "their "
		 "own\n"
		 "cgroup's limit stops.\n"
		 "Run queues are looked at by ticks of busy CPUs; shares are of all time: idle "
		 "time has\n"
		 "nobody waiting. Run delay is measured at each context switch, its percentiles "
		 "are read\n"
		 "from the histogram.\n"
		 "Exit code: 0; 1 failure; 2 usage.\n",
	.run = run,
};
