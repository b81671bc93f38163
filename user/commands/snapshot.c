/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hotrun snapshot: options; looks at all threads a moment apart, and answers at once. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/urgent.h"
#include "commands/command.h"
#include "commands/options.h"
#include "commands/snapshot_take.h"
#include "commands/terminal.h"
#include "kernel/rights.h"

struct arguments {
	struct snapshot_ask ask;
	unsigned int names; /* enum names_from */
};

#define IN(field) OPTION_IN(struct arguments, field)

static const struct command_option rows[] = {
	OPTION(0, "repeat", "N",
	       "so many intervals in a row, told as one (default 1): the code of few threads is "
	       "met more often",
	       option_count, .min = 1, .max = SNAPSHOT_REPEAT_MOST, IN(ask.repeat)),
	OPTION('n', "lines", "N", "lines of each table at the most (default 20)", option_count,
	       .min = 1, .max = OPTION_MAX_CNT, IN(ask.lines)),
	OPTION(0, "brief", NULL, "the ten lines alone", option_true, IN(ask.brief)),
	OPTION(0, "width", "COLUMNS", "80 or more (default: the terminal's, else 120)",
	       option_count, .min = SNAPSHOT_MIN_WIDTH, .max = OPTION_MAX_CNT, IN(ask.width)),
	OPTION_FORMAT("text (default) or json, which has all rows with their frames",
		      struct arguments, ask.json),
	OPTION_NAMES(struct arguments, names),
	OPTION_VERBOSE,
};

static const struct option_group groups[] = {{OPTION_ROWS(rows)}};

static int look(const struct arguments *a, uint64_t begun_ns)
{
	struct urgent urgent;
	struct looks_options options = {.urgent = &urgent, .names = a->names};
	struct looks *looks = NULL;
	char why[1024] = "";
	int err;

	log_debug("begun: %" PRIu64 " us of CPU", clock_ns(CLOCK_PROCESS_CPUTIME_ID) / 1000);
	urgent_begin(&urgent);
	rights_begin(0);
	err = looks_new(&options, why, sizeof(why), &looks);
	if (err) {
		log_error("%s", why);
		return EXIT_FAILED;
	}
	rights_loaded(RIGHTS_TABLES);
	log_debug("loaded: after %" PRIu64 " ms, %" PRIu64 " us of CPU",
		  (clock_now_ns() - begun_ns) / 1000000, looks_cpu_ns(looks) / 1000);
	err = snapshot_take(looks, &a->ask, &urgent, begun_ns, stdout);
	looks_free(looks);
	/* A reader that has seen enough is no failure. */
	if (err && !(err == -EIO && errno == EPIPE)) {
		log_error("snapshot: %s", strerror(err == -EIO ? errno : -err));
		return EXIT_FAILED;
	}
	return EXIT_OK;
}

static int run(int argc, char **argv)
{
	struct arguments a = {.ask = {.repeat = 1}};
	uint64_t begun_ns = clock_now_ns();
	int rc = options_parse(&snapshot_command, argc, argv, &a);

	if (!rc && optind < argc) {
		log_error("%s: snapshot shows this host", argv[optind]);
		return command_usage("snapshot");
	}
	if (rc)
		return rc;
	if (!a.ask.width)
		a.ask.width = terminal_columns(SNAPSHOT_MIN_WIDTH);
	return look(&a, begun_ns);
}

const struct command snapshot_command = {
	.name = "snapshot",
	.job = "the host is drowning: who takes the CPUs with which code, and who waits, within "
	       "seconds",
	.usage = "[OPTION]...",
	.about = "For a host so overloaded that a recording is in vain. Takes two looks at every "
		 "thread, a\n"
		 "moment apart, and tells in ten lines which processes took the CPUs in between, "
		 "in which\n"
		 "code, on how many threads, and who waited; then all of it, with all names. "
		 "Nothing is\n"
		 "stopped: no ptrace, no signal. Needs root, as `hotrun record` does.\n",
	.groups = groups,
	.groups_cnt = OPTION_COUNT(groups),
	.examples = "  hotrun snapshot\n"
		    "  hotrun snapshot --repeat 5 -n 50\n"
		    "  hotrun snapshot --format json\n",
	.notes = "CPU and waiting times are exact differences of the kernel's own counters, to a "
		 "tick of its\n"
		 "clock. Code: where those stood at the second look that ran or wanted a CPU, with "
		 "what they\n"
		 "ran in between; each thread was met once, with --repeat as often. Who slept then "
		 "has no row\n"
		 "of code.\n"
		 "hotrun itself takes precedence over ordinary threads for that time (SCHED_RR, "
		 "else the\n"
		 "lowest nice value that is allowed: the first line tells), never on all CPUs of "
		 "several, and\n"
		 "no longer than seconds.\n"
		 "Exit code: 0; 1 failure; 2 usage.\n",
	.run = run,
};
