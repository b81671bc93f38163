/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hotrun threads: options, then one look at where threads stand, or that of a capture's end. */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "commands/capture.h"
#include "commands/command.h"
#include "commands/live.h"
#include "commands/options.h"
#include "commands/terminal.h"
#include "commands/time_window.h"
#include "model/frame_view.h"
#include "model/stand.h"
#include "output/threads.h"

#define SAMPLE_HZ 99
/* For tables and names: of some processes, and of all of a host. */
#define LOOK_NS	    4000000000ull
#define LOOK_ALL_NS 6000000000ull

struct arguments {
	struct threads_options threads;
	struct collector_options collector;
	struct time_window window;
	const char *process;
	bool json;
};

#define IN(field) OPTION_IN(struct arguments, field)

static const struct command_option rows[] = {
	OPTION('p', "process", "NAME|PID", "threads of this process alone", option_text,
	       IN(process)),
	OPTION('n', "lines", "N", "lines at the most (default 40)", option_count, .min = 1,
	       .max = OPTION_MAX_CNT, IN(threads.lines)),
	OPTION(0, "idle", NULL,
	       "idle waits, too: workers without work, loops over files, timers, kernel threads",
	       option_true, IN(threads.idle)),
	OPTION(0, "all", NULL, "everything: all lines, idle ones and hotrun itself", option_true,
	       IN(threads.all)),
	OPTION('v', "verbose", NULL, "the whole stack and the thread ids below each line, too",
	       option_verbose, IN(threads.verbose)),
	OPTION(0, "width", "COLUMNS", "80 or more (default: the terminal's, else 130)",
	       option_count, .min = THREADS_MIN_WIDTH, .max = OPTION_MAX_CNT, IN(threads.width)),
	OPTION_FORMAT("text (default) or json, which has all groups with their frames",
		      struct arguments, json),
	OPTION_NAMES(struct arguments, collector.names),
	OPTION_IGNORE_HAZARD(struct arguments, collector.ignore_hazards),
};

static const struct option_group groups[] = {
	{OPTION_ROWS(rows)},
	OPTION_SHARED(time_window_options, struct arguments, window),
};

/* Whose threads are meant; *ret_rows NULL: those of all. Returns an enum exit_code. */
static int find_processes(struct collector *c, const char *what, uint32_t **ret_rows,
			  size_t *ret_cnt)
{
	struct feature_set features;
	int err;

	*ret_rows = NULL;
	*ret_cnt = 0;
	if (!what)
		return EXIT_OK;
	err = live_find(c, what, ret_rows, ret_cnt);
	if (!err && *ret_cnt)
		return EXIT_OK;
	collector_features(c, &features);
	if (err)
		log_error("out of memory");
	else if (feature_why(&features, FEATURE_COUNTERS))
		log_error("%s: not found; without %s hotrun knows only processes that have run",
			  what, feature_rows[FEATURE_COUNTERS].title);
	else
		log_error("%s: no such process", what);
	return EXIT_FAILED;
}

/* Takes standing; NULL: it could not be made. */
static int put(struct model *m, const struct stands *stands, struct standing *standing,
	       const struct arguments *a)
{
	int err;

	if (!standing)
		return -ENOMEM;
	if (a->json)
		err = threads_json_write(stdout, m, stands, standing, &a->threads);
	else
		err = threads_text_write(stdout, m, stands, standing, &a->threads);
	standing_free(standing);
	return err;
}

/* A reader that has seen enough is no failure. */
static int exit_code(int err)
{
	if (!err || (err == -EIO && errno == EPIPE))
		return EXIT_OK;
	log_error("threads: %s", strerror(err == -EIO ? errno : -err));
	return EXIT_FAILED;
}

static int look(struct live *live, struct arguments *a)
{
	struct model *m = collector_model(live->collector);
	_cleanup_free_ uint32_t *processes = NULL;
	struct stands stands = {0};
	size_t cnt;
	int err, rc;

	rc = find_processes(live->collector, a->process, &processes, &cnt);
	if (rc)
		return rc;
	/* Nobody hides from who asks for it by name. */
	a->threads.own = a->process != NULL;
	a->threads.time = time(NULL);
	err = collector_read_stands(live->collector, processes, cnt, cnt ? LOOK_NS : LOOK_ALL_NS,
				    &stands);
	if (!err)
		err = frame_view_mark_code(m, NULL, 0);
	if (!err)
		err = put(m, &stands, standing_new(m, &stands), a);
	stands_clear(&stands);
	return exit_code(err);
}

/* --- a capture ------------------------------------------------------------------------------- */

struct asked {
	const uint32_t *processes;
	size_t cnt; /* 0 = all */
	uint32_t slice;
};

static bool is_asked(const struct model *m, const struct model_stand *s, const void *ctx)
{
	const struct asked *asked = ctx;

	for (size_t i = 0; i < asked->cnt; i++)
		if (m->threads[s->at.thread].process == asked->processes[i])
			return s->now && s->slice == asked->slice;
	return s->now && s->slice == asked->slice && !asked->cnt;
}

/* Why a capture does not tell, or NULL. */
static const char *what_is_missing(const struct model *m, bool window)
{
	if (model_off(m) & OFF_STANDS)
		return model_off_text(m, OFF_STANDS);
	if (stands_now_slice(m) != MODEL_NONE)
		return NULL;
	return window ? "nobody looked at every thread in that time"
		      : "nobody looked at every thread as it ended";
}

static bool is_window(const struct time_window *w)
{
	return w->from_text || w->to_text || w->worst_ns;
}

static int64_t end_of(const struct model_slice *slice)
{
	int64_t ns;

	if (__builtin_add_overflow((int64_t)slice->end_ns, slice->wall_offset_ns, &ns))
		return 0;
	return ns / 1000000000;
}

/* Where threads stood at the end of a capture, or at the last look at all of them in a part of it:
 * an operand, as of the other commands. */
static int show_capture(int argc, char **argv, struct arguments *a)
{
	_cleanup_free_ uint32_t *processes = NULL;
	struct stands stands = {0};
	struct model *m = NULL;
	struct asked asked = {0};
	const char *missing;
	int rc = capture_argument(argc, argv, a->process, &a->window, &m, &processes, &asked.cnt);

	if (rc)
		goto out;
	a->threads.window = is_window(&a->window);
	missing = what_is_missing(m, a->threads.window);
	if (missing) {
		log_error("n/a: %s", missing);
		rc = EXIT_FAILED;
		goto out;
	}
	asked.processes = processes;
	asked.slice = stands_now_slice(m);
	stands.rows = m->stands;
	stands.cnt = m->stands_cnt;
	a->threads.own = a->process != NULL;
	a->threads.time = end_of(&m->slices[asked.slice]);
	rc = exit_code(put(m, &stands, standing_new_of(m, &stands, is_asked, &asked), a));
out:
	model_free(m);
	return rc;
}

static int run(int argc, char **argv)
{
	struct arguments a = {
		.collector = {.sample_hz = SAMPLE_HZ,
			      .gear = {.quiet = true},
			      .command = "",
			      .samples = true,
			      .stands = true},
	};
	struct feature_set features;
	struct live live = {0};
	int rc = options_parse(&threads_command, argc, argv, &a);

	if (rc)
		return rc;
	if (!a.threads.width)
		a.threads.width = terminal_columns(THREADS_MIN_WIDTH);
	if (optind < argc)
		return show_capture(argc, argv, &a);
	if (is_window(&a.window)) {
		log_error("--from, --to and --worst are of a capture: name it");
		return command_usage("threads");
	}
	a.collector.facts = true;
	rc = live_start(&live, &a.collector, 0, 0);
	if (!rc)
		collector_features(live.collector, &features);
	if (!rc && !feature_is_on(&features, FEATURE_THREAD_STACKS)) {
		log_error("thread stacks are off: %s",
			  feature_why(&features, FEATURE_THREAD_STACKS));
		rc = EXIT_FAILED;
	}
	if (!rc) {
		collector_warn(live.collector);
		rc = look(&live, &a);
	}
	live_end(&live);
	return rc;
}

const struct command threads_command = {
	.name = "threads",
	.job = "show where every thread stands now, and since when: what hangs waits for what",
	.usage = "[OPTION]... [FILE]",
	.about = "Shows where the threads of this host, or of a process, stand now: those at the "
		 "same place\n"
		 "are one line, with their number and for how long. Also of threads that blocked "
		 "long before\n"
		 "hotrun was started. Nothing is stopped: no ptrace, no signal. Needs root, as "
		 "`hotrun\n"
		 "record` does. With FILE, a capture: where they stood as it ended, without any "
		 "privileges.\n",
	.groups = groups,
	.groups_cnt = OPTION_COUNT(groups),
	.operand = COMPLETE_FILE,
	.examples = "  hotrun threads -p Shop.Api\n"
		    "  hotrun threads -p 5986 -v\n"
		    "  hotrun threads --idle -n 200\n"
		    "  hotrun threads -p Shop.Api --format json\n"
		    "  hotrun threads slow.hotrun -p Shop.Api\n"
		    "  hotrun threads slow.hotrun --to 10\n",
	.notes = "A line: how many threads, what they are for, for how long they have been in "
		 "their state (the\n"
		 "shortest and the longest, where they differ), the application's method that "
		 "waits → what it\n"
		 "called → what that led to → what they wait for in the kernel. -v shows the whole "
		 "stack.\n"
		 "Idle waits are left out but with --idle: workers of the pool without work, the "
		 "runtime's own\n"
		 "threads at rest, loops over many files (epoll, poll) without the application's "
		 ".NET code,\n"
		 "shells and service managers that wait for children, kernel threads. Where the "
		 "stack is not\n"
		 "whole (stack cut), or .NET code in it has no name, a wait counts as none of "
		 "these.\n"
		 "A stack is read out of the memory of a thread that does not run, and believed "
		 "only if the\n"
		 "thread did not run meanwhile, by the kernel's count of its switches. Of threads "
		 "that run the\n"
		 "stack is that of their last tick, up to a second ago, or there is none. Where "
		 "threads wait\n"
		 "for a mutex of glibc, or a monitor or Lock of .NET, who holds it is told; of "
		 "other locks it is\n"
		 "not known.\n"
		 "Exit code: 0; 1 failure, and where this kernel (before 5.18) cannot do it; 2 "
		 "usage.\n",
	.run = run,
};
