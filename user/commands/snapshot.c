/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hotrun snapshot: options; looks at all threads a moment apart, and answers at once. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/urgent.h"
#include "commands/command.h"
#include "commands/options.h"
#include "commands/recorder_words.h"
#include "commands/snapshot_arm.h"
#include "commands/snapshot_take.h"
#include "commands/terminal.h"
#include "kernel/host.h"
#include "kernel/rights.h"
#include "watch/folder.h"

struct arguments {
	struct snapshot_request request;
	unsigned int names; /* enum names_from */
	const char *dir;    /* NULL: the usual ones */
	bool arm, fresh, ignore_hazards;
};

#define IN(field) OPTION_IN(struct arguments, field)

static const struct command_option rows[] = {
	OPTION(0, "repeat", "N",
	       "so many intervals in a row, told as one (default 1): the code of few threads is "
	       "met more often",
	       option_count, .min = 1, .max = SNAPSHOT_REPEAT_MOST, IN(request.repeat)),
	OPTION('n', "lines", "N", "lines of each table at the most (default 20)", option_count,
	       .min = 1, .max = OPTION_MAX_CNT, IN(request.lines)),
	OPTION(0, "brief", NULL, "the ten lines alone", option_true, IN(request.brief)),
	OPTION(0, "width", "COLUMNS", "80 or more (default: the terminal's, else 120)",
	       option_count, .min = SNAPSHOT_MIN_WIDTH, .max = OPTION_MAX_CNT, IN(request.width)),
	OPTION_FORMAT("text (default) or json, which has all rows with their frames",
		      struct arguments, request.json),
	OPTION(0, "arm", NULL,
	       "stay, with everything loaded and memory locked, and answer those who call "
	       "`hotrun snapshot`",
	       option_true, IN(arm)),
	OPTION(0, "dir", "DIR",
	       "the folder of who is armed (default " SNAPSHOT_ARM_DIR "), or of a recorder",
	       option_text, .complete = COMPLETE_FOLDER, IN(dir)),
	OPTION(0, "fresh", NULL, "look itself, whoever is armed or records", option_true,
	       IN(fresh)),
	OPTION_NAMES(struct arguments, names),
	OPTION_IGNORE_HAZARD(struct arguments, ignore_hazards),
	OPTION_VERBOSE,
};

static const struct option_group groups[] = {{OPTION_ROWS(rows)}};

/* What failed, if anything did. */
static int tell(int err)
{
	/* A reader that has seen enough is no failure. */
	if (!err || (err == -EIO && errno == EPIPE))
		return EXIT_OK;
	log_error("snapshot: %s", strerror(err == -EIO ? errno : -err));
	return EXIT_FAILED;
}

static int look(const struct arguments *a, struct urgent *urgent)
{
	const struct snapshot_looks_options options = {.urgent = urgent,
						       .stop = &stop_requested,
						       .names = a->names,
						       .ignore_hazards = a->ignore_hazards,
						       .lock = a->arm};
	struct snapshot_taker taker = {.urgent = urgent, .armed = a->arm};
	char why[1024] = "";
	int rc;

	rights_begin(0);
	if (snapshot_looks_new(&options, why, sizeof(why), &taker.looks)) {
		log_error("%s", why);
		return EXIT_FAILED;
	}
	if (a->arm)
		snapshot_arm_lock();
	rights_loaded(RIGHTS_TABLES | RIGHTS_URGENT);
	log_debug("loaded: %" PRIu64 " us of CPU", snapshot_looks_cpu_ns(taker.looks) / 1000);
	rc = a->arm ? snapshot_arm(&taker, a->dir ?: SNAPSHOT_ARM_DIR)
		    : tell(snapshot_take(&taker, &a->request, stdout));
	snapshot_looks_free(taker.looks);
	return rc;
}

/* Whoever can answer, does. */
static int ask(const struct arguments *a, struct urgent *urgent)
{
	const char *const usual[] = {SNAPSHOT_ARM_DIR, FOLDER_DEFAULT};
	const size_t usual_cnt = sizeof(usual) / sizeof(usual[0]);
	int rc = -ENOENT;

	if (a->arm || a->fresh)
		return look(a, urgent);
	if (a->dir)
		rc = snapshot_ask(a->dir, &a->request, stdout);
	for (size_t i = 0; !a->dir && rc < 0 && !stop_requested && i < usual_cnt; i++)
		rc = snapshot_ask(usual[i], &a->request, stdout);
	if (rc < 0 && a->dir)
		recorder_silent(a->dir, rc);
	else if (rc < 0 && !stop_requested)
		rc = look(a, urgent);
	return rc < 0 ? EXIT_FAILED : rc;
}

static int run(int argc, char **argv)
{
	struct arguments a = {.request = {.repeat = 1}};
	struct urgent urgent;
	int rc = options_parse(&snapshot_command, argc, argv, &a);

	if (!rc && optind < argc) {
		log_error("%s: snapshot shows this host", argv[optind]);
		return command_usage("snapshot");
	}
	if (rc)
		return rc;
	/* Since it was started, and not since it got a CPU. */
	a.request.begun_ns = clock_now_ns() - host_own_age_ns();
	urgent_begin(&urgent);
	if (!a.request.width)
		a.request.width = terminal_columns(SNAPSHOT_MIN_WIDTH);
	return ask(&a, &urgent);
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
		    "  hotrun snapshot --format json\n"
		    "  hotrun snapshot --arm                 ahead, as a service\n",
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
