/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hotrun timeline: single switches of a capture. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/text.h"
#include "commands/capture.h"
#include "commands/command.h"
#include "commands/options.h"
#include "commands/terminal.h"
#include "judge/turns.h"
#include "output/timeline.h"

struct arguments {
	struct timeline_options timeline;
	const char *process;
	double from_s, to_s;
	uint64_t cpu, tid;
};

#define CPU_NONE UINT64_MAX

#define IN(field) OPTION_IN(struct arguments, field)

/* Into a double. */
static int take_time(void *at, const struct command_option *option, const char *value)
{
	if (!text_parse_double(value, 0, OPTION_MAX_SECS, at))
		return EXIT_OK;
	return option_refuse(option, value, "not a number of seconds, 0 or more");
}

static const struct command_option rows[] = {
	OPTION('p', "process", "NAME|PID", "of this process alone", option_text, IN(process)),
	OPTION('t', "tid", "TID", "of this thread alone", option_number, .min = 1,
	       .max = OPTION_MAX_PID, IN(tid)),
	OPTION(0, "cpu", "N", "of this CPU alone", option_number, .min = 0, .max = OPTION_MAX_CNT,
	       IN(cpu)),
	OPTION(0, "from", "SECONDS", "from there on, in seconds of the recording", take_time,
	       IN(from_s)),
	OPTION(0, "to", "SECONDS", "up to there", take_time, IN(to_s)),
	OPTION(0, "turns", NULL,
	       "every turn of a thread on a CPU, in their order, instead of the tables",
	       option_true, IN(timeline.turns)),
	OPTION('n', "rows", "N", "of each table (default 10)", option_count, .min = 1,
	       .max = OPTION_MAX_CNT, IN(timeline.rows)),
	OPTION(0, "width", "COLUMNS", "80 or more (default: the terminal's, else 130)",
	       option_count, .min = TIMELINE_MIN_WIDTH, .max = OPTION_MAX_CNT, IN(timeline.width)),
	OPTION_VERBOSE,
};

static const struct option_group groups[] = {{OPTION_ROWS(rows)}};

static uint64_t time_at(const struct model *m, double s)
{
	return m->host.start_ns + (uint64_t)(s * 1e9);
}

/* Whether there is such a thread, and such a CPU. */
static bool are_there(const struct model *m, const struct turns *t, const struct arguments *a)
{
	bool tid = !a->tid, cpu = a->cpu == CPU_NONE || a->cpu < t->cpus_cnt;

	for (size_t i = 0; !tid && i < m->threads_cnt; i++)
		tid = m->threads[i].tid == a->tid;
	if (!tid)
		log_error("--tid %" PRIu64 ": no such thread in this capture", a->tid);
	else if (!cpu)
		log_error("--cpu %" PRIu64 ": there is nothing of that CPU", a->cpu);
	return tid && cpu;
}

static int show(const struct model *m, const struct arguments *a)
{
	struct result *result;
	struct turns *t;
	int rc;

	t = turns_new(m, time_at(m, a->from_s), a->to_s > 0 ? time_at(m, a->to_s) : UINT64_MAX);
	if (!t) {
		log_error("out of memory");
		return EXIT_FAILED;
	}
	if (!t->windows) {
		log_error(
			m->switches_cnt
				? "no single switches in that time; without --from and --to "
				  "`hotrun timeline` says of which there are"
				: "this capture has no single switches; `hotrun record --switches "
				  "5s` keeps those of the last 5 seconds");
		turns_free(t);
		return EXIT_FAILED;
	}
	if (!are_there(m, t, a)) {
		turns_free(t);
		return EXIT_FAILED;
	}
	result = result_open_last(NULL);
	rc = result ? result_close(result, timeline_write(result_file(result), m, t, &a->timeline))
		    : EXIT_FAILED;
	turns_free(t);
	return rc;
}

static int run(int argc, char **argv)
{
	const struct time_window all = {0};
	struct arguments a = {.cpu = CPU_NONE};
	_cleanup_free_ uint32_t *found = NULL;
	struct model *m = NULL;
	int rc = options_parse(&timeline_command, argc, argv, &a);

	if (!rc && a.to_s > 0 && a.to_s <= a.from_s) {
		log_error("--to: not behind --from");
		return command_usage("timeline");
	}
	if (!rc)
		rc = capture_argument(argc, argv, a.process, &all, &m, &found,
				      &a.timeline.processes_cnt);
	if (rc)
		return rc;
	a.timeline.processes = found;
	if (!a.process)
		a.timeline.processes_cnt = 0;
	a.timeline.tid = (uint32_t)a.tid;
	a.timeline.one_cpu = a.cpu != CPU_NONE;
	a.timeline.cpu = (uint32_t)a.cpu;
	if (!a.timeline.width)
		a.timeline.width = terminal_columns(TIMELINE_MIN_WIDTH);
	rc = show(m, &a);
	model_free(m);
	return rc;
}

const struct command timeline_command = {
	.name = "timeline",
	.job = "show single switches: who ran where, who waited behind whom, who woke whom",
	.usage = "[OPTION]... [FILE]",
	.about = "Shows the single switches and wakeups that FILE has, a capture of `hotrun record "
		 "--switches 5s`\n"
		 "(without a name: the newest of this folder): what each CPU did, who ran and "
		 "waited, and the\n"
		 "longest waits with who ran meanwhile and who woke the thread.\n",
	.groups = groups,
	.groups_cnt = OPTION_COUNT(groups),
	.operand = COMPLETE_FILE,
	.examples = "  hotrun record -d 30 --switches 5s -o slow.hotrun\n"
		    "  hotrun timeline slow.hotrun\n"
		    "  hotrun timeline -p Shop.Api -n 30 slow.hotrun\n"
		    "  hotrun timeline --turns --from 27.250 --to 27.260 slow.hotrun\n"
		    "  hotrun export --format perfetto slow.hotrun -o slow.pftrace\n",
	.notes =
		"Known from perf sched: the tables are those of `perf sched latency`, --turns is "
		"`timehist`.\n"
		"A wait is counted with its end, and who ran meanwhile is told of the CPU on which "
		"the thread\n"
		"came to run: before it was moved there it may have waited behind others. An "
		"interrupt\n"
		"that wakes a thread is not the work of who ran just then. Times in interrupts are "
		"those in\n"
		"handlers of devices; of the CPU's timer and of other CPUs' calls they are not "
		"known.\n"
		"Exit code: 0; 1 failure, or no single switches; 2 usage.\n",
	.run = run,
};
